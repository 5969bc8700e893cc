//! Every route for every role, for the whole deployment and for one merchant, about that merchant and about another: what the table of roles says is what
//! happens. New routes and roles are walked by themselves. And what a developer does for a merchant: events of a sandbox, domains of the wallet.

use crate::common::{ASSOCIATION, World};
use actix_web::http::{Method, StatusCode};
use admin_panel::{Access, PanelRoute, ROUTES};
use dropin_access::operator::{ActionReach, OperatorRole, PanelAction};
use dropin_access::{EndpointSettings, Permission, TargetPolicy};
use dropin_kernel::{EndpointId, EventId, MerchantId, OrderId, SessionId};
use dropin_money::Currency;
use dropin_ports::{NotificationFilter, NotificationQuery};
use dropin_usecases::access::{CreateMerchant, Merchants};

/// A merchant's things, of which addresses name one.
struct Things {
    merchant: MerchantId,
    order: OrderId,
    session: SessionId,
    notification: EventId,
    endpoint: EndpointId,
    user: String,
}

impl World {
    async fn things(&self, merchant: MerchantId) -> Things {
        let payment = self.harness.processed(merchant).await;
        let filter = NotificationFilter { merchant: Some(merchant), ..NotificationFilter::default() };
        let query = NotificationQuery { filter, after: None, oldest_first: false, limit: 1 };
        let notification = self.deps.notifications.list(query).await.unwrap().notifications[0].event_id;
        let url = "http://127.0.0.1:9/hook";
        let added = self.deps.merchants.add_endpoint(merchant, url, EndpointSettings::default()).await.unwrap();
        // One that moves no money: others are an owner's alone to see to, whatever the route says.
        let permissions = [Permission::OrderRead].into_iter().collect();
        let user = self.deps.merchants.add_user(merchant, permissions).await.unwrap();
        Things {
            merchant,
            order: payment.order.id,
            session: payment.order.session_id.unwrap(),
            notification,
            endpoint: added.endpoint_id,
            user: user.username,
        }
    }

    /// The address of the route about these things, and whether there is what it names.
    fn address(&self, route: &PanelRoute, things: &Things) -> (String, bool) {
        let random = self.deps.ids.random().to_string();
        let (id, is_there) = match route.path.trim_start_matches("/live").split('/').nth(1).unwrap_or_default() {
            "orders" => (things.order.to_string(), true),
            "sessions" => (things.session.to_string(), true),
            "merchants" => (things.merchant.to_string(), true),
            "notifications" => (things.notification.to_string(), true),
            _ => (random, false),
        };
        let path = route.path.replace("{id}", &id).replace("{user}", &things.user);
        let path = path.replace("{endpoint}", &things.endpoint.to_string());
        let names_merchant = route.method == Method::GET && route.fields.contains(&"merchant");
        let query = if names_merchant { format!("?merchant={}", things.merchant) } else { String::new() };
        (path + &query, is_there || !route.path.contains('{'))
    }
}

/// What has to come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Refused,
    NotThere,
    Allowed,
}

fn expected(
    action: PanelAction,
    role: OperatorRole,
    is_scoped: bool,
    is_other: bool,
    names_merchant: bool,
) -> Expected {
    let rule = action.rule();
    match rule.reach {
        _ if !rule.roles.contains(&role) => Expected::Refused,
        ActionReach::Deployment if is_scoped => Expected::Refused,
        ActionReach::Merchant if is_scoped && is_other && names_merchant => Expected::NotThere,
        _ => Expected::Allowed,
    }
}

#[actix_web::test]
async fn every_role_does_what_the_table_says_and_to_no_other_merchant() {
    let world = World::new().await;
    let mut walked = 0;
    for (role, is_scoped) in OperatorRole::ALL.into_iter().flat_map(|role| [(role, false), (role, true)]) {
        let operator = world.operator(role, is_scoped.then_some(world.ana)).await;
        let app = world.app().await;
        for (merchant, is_other) in [(world.ana, false), (world.bob, true)] {
            let mut things = world.things(merchant).await;
            for route in ROUTES {
                let Access::Allowed(action) = route.access else { continue };
                if route.path.ends_with("/remove") || route.path.ends_with("/revoke") {
                    // It is gone then.
                    things = world.things(merchant).await;
                }
                let (path, is_there) = world.address(route, &things);
                let (merchant_id, endpoint) = (things.merchant.to_string(), things.endpoint.to_string());
                let own = [("merchant", merchant_id.as_str()), ("endpoint", endpoint.as_str())];
                let own: Vec<_> = own.into_iter().filter(|(name, _)| route.fields.contains(name)).collect();
                let page = match route.method == Method::POST {
                    true => world.post_of(&app, &operator, &path, &own).await,
                    false => world.get_of(&app, &operator, &path).await,
                };
                let names_merchant = route.path.contains('{') || route.fields.contains(&"merchant");
                let expected = expected(action, role, is_scoped, is_other, names_merchant);
                let came = match page.status {
                    StatusCode::FORBIDDEN => Expected::Refused,
                    StatusCode::NOT_FOUND => Expected::NotThere,
                    _ => Expected::Allowed,
                };
                let found = if is_there { expected } else { expected.min_there() };
                let told =
                    format!("{} {path} by {} (scoped {is_scoped}, other {is_other})", route.method, role.as_str());
                assert_eq!(came, found, "{told}: {} {}", page.status, page.text);
                assert!(!page.status.is_server_error(), "{told}: {}", page.text);
                walked += 1;
            }
        }
    }
    let allowed = ROUTES.iter().filter(|route| matches!(route.access, Access::Allowed(_))).count();
    assert_eq!(walked, allowed * OperatorRole::ALL.len() * 4);
}

/// Neither the page nor the way to it is there in production, for a merchant whose payments are real, and without the services' addresses.
#[actix_web::test]
async fn events_are_made_to_happen_in_a_sandbox_alone() {
    let mut world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let ana = world.ana;
    let offers = async |world: &World, merchant: MerchantId| {
        let page = world.get(Some(&owner), &format!("/merchants/{merchant}")).await.text;
        let path = format!("/merchants/{merchant}/events");
        let status = world.get(Some(&owner), &path).await.status;
        let pressed = world.post(&owner, &path, &[("event", "ORDER_PROCESSED")]).await.status;
        (page.contains(&path), status, pressed)
    };
    assert_eq!(offers(&world, ana).await, (true, StatusCode::OK, StatusCode::SEE_OTHER));
    let absent = (false, StatusCode::NOT_FOUND, StatusCode::NOT_FOUND);
    let targets = TargetPolicy::production();
    let wanted = CreateMerchant {
        name: "Live".to_owned(),
        webhook_url: None,
        origins: Vec::new(),
        currencies: vec![Currency::Usd],
    };
    let live = Merchants { targets, ..world.deps.merchants.clone() }.create(wanted).await;
    let live = live.map_err(|error| error.to_string()).unwrap().merchant_id;
    assert_eq!(offers(&world, live).await, absent, "a merchant of production");
    world.deps.sandbox = false;
    assert_eq!(offers(&world, ana).await, absent, "production");
    world.deps.sandbox = true;
    world.deps.sandbox_services = None;
    assert_eq!(offers(&world, ana).await, absent, "no services");
}

impl Expected {
    /// The same about something that there is not.
    fn min_there(self) -> Self {
        if self == Self::Allowed { Self::NotThere } else { self }
    }
}

/// The services answer nothing here: the page says so, the user that asked them is in the list, and it is revoked like any other.
#[actix_web::test]
async fn an_event_that_does_not_happen_says_why() {
    let world = World::new().await;
    let developer = world.operator(OperatorRole::Developer, Some(world.ana)).await;
    let (app, path) = (world.app().await, format!("/merchants/{}/events", world.ana));
    let invented = world.post_of(&app, &developer, &path, &[("event", "ORDER_PAID")]).await;
    assert_eq!(invented.status, StatusCode::BAD_REQUEST, "{}", invented.text);
    for _ in 0..2 {
        let pressed = world.post_of(&app, &developer, &path, &[("event", "ORDER_PROCESSED")]).await;
        assert_eq!((pressed.status, pressed.location()), (StatusCode::SEE_OTHER, path.as_str()));
    }
    let page = world.get_of(&app, &developer, &path).await.text;
    assert_eq!(page.matches("see that the service runs").count(), 2, "{page}");
    assert!(!page.contains("Look again"), "none runs: {page}");
    let users = world.deps.access.list_users(world.ana).await.unwrap();
    let asking: Vec<_> = users.iter().filter(|user| user.username.starts_with("trigger-")).collect();
    assert_eq!(asking.len(), 1, "one for all events");
    let name = &asking[0].username;
    let merchant = world.get_of(&app, &developer, &format!("/merchants/{}", world.ana)).await.text;
    assert!(merchant.contains(name.as_str()), "{merchant}");
    let revoke = format!("/merchants/{}/users/{name}/revoke", world.ana);
    let revoked = world.post_of(&app, &developer, &revoke, &[]).await;
    assert_eq!(revoked.status, StatusCode::SEE_OTHER, "{}", revoked.text);
}

/// A domain is registered and checked on the merchant's page, by an operator of the whole deployment; what was refused stays as it was typed.
#[actix_web::test]
async fn domains_of_the_wallet_are_registered_and_checked() {
    let world = World::new().await;
    let developer = world.operator(OperatorRole::Developer, None).await;
    let merchant = format!("/merchants/{}", world.ana);
    let (add, check) = (format!("{merchant}/wallet/domains"), format!("{merchant}/wallet/domains/check"));
    // The deployment's own host is one of these addresses, and every merchant's pages may use it.
    let own = world.operator(OperatorRole::Developer, Some(world.ana)).await;
    let refused = world.post(&own, &add, &[("domain", "shop.example"), ("file", ASSOCIATION)]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let wrong = world.post(&developer, &add, &[("domain", "https://shop.example"), ("file", ASSOCIATION)]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        wrong.text.contains("value=\"https://shop.example\"") && wrong.text.contains(ASSOCIATION),
        "{}",
        wrong.text
    );
    for (domain, file) in [("shop.example", ASSOCIATION), ("other.example", "another file")] {
        let added = world.post(&developer, &add, &[("domain", domain), ("file", file)]).await;
        assert_eq!(added.location(), format!("{merchant}?done=domain-added"), "{}", added.text);
    }
    for (domain, done) in [("shop.example", "domain-verified"), ("other.example", "domain-not-verified")] {
        let checked = world.post(&developer, &check, &[("domain", domain)]).await;
        assert_eq!(checked.location(), format!("{merchant}?done={done}"), "{}", checked.text);
    }
    let page = world.get(Some(&developer), &merchant).await.text;
    assert!(page.contains("Verified") && page.contains("another file stands there"), "{page}");
    let unknown = world.post(&developer, &check, &[("domain", "third.example")]).await;
    assert_eq!(unknown.status, StatusCode::CONFLICT, "{}", unknown.text);
    let nothing = world.post(&developer, &format!("{merchant}/wallet/remove"), &[]).await;
    assert_eq!(nothing.status, StatusCode::CONFLICT, "there is no certificate: {}", nothing.text);
}
