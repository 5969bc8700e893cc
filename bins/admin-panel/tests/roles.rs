//! Every route for every role, for the whole deployment and for one merchant, about that merchant and about another: what the table of roles says is what
//! happens. New routes and roles are walked by themselves.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use actix_web::http::{Method, StatusCode};
use admin_panel::{Access, PanelRoute, ROUTES};
use common::World;
use dropin_access::operator::{ActionReach, OperatorRole, PanelAction};
use dropin_access::{EndpointSettings, Permission};
use dropin_kernel::{EndpointId, EventId, MerchantId, OrderId, SessionId};
use dropin_ports::{NotificationFilter, NotificationQuery};

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

impl Expected {
    /// The same about something that there is not.
    fn min_there(self) -> Self {
        if self == Self::Allowed { Self::NotThere } else { self }
    }
}
