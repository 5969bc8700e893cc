//! Every form of the panel that changes something leaves its entry in the audit log. A route that is added without one fails here.

use std::collections::BTreeSet;

use crate::common::{ASSOCIATION, PASSWORD, Page, World, request, session_of};
use actix_web::http::{Method, StatusCode};
use admin_panel::ROUTES;
use dropin_access::operator::OperatorRole;
use dropin_ports::{AuditLog, AuditQuery, DeliveryState, NotificationFilter, NotificationQuery, WalletCredentials};
use dropin_usecases::wallet::SetWallet;

/// Forms that change nothing which anybody but their own browser sees, or whose entry other tests prove, and where.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/sign-in/code", "OPERATOR_SIGN_IN: crates/application/usecases/tests/usecases/operators"),
    ("/accept", "the first half of joining: nothing is changed before the second"),
    ("/accept/authenticator", "OPERATOR_JOIN: crates/application/usecases/tests/usecases/operators"),
    ("/account/authenticator", "the first half of a new authenticator"),
    ("/account/authenticator/confirm", "OPERATOR_AUTHENTICATOR_CHANGE, by the step that /account/password takes too"),
    ("/account/language", "a cookie of one browser"),
    ("/ledger", "a comparison reads"),
    ("/merchants/{id}/screening/try", "nothing is saved"),
    ("/merchants/{id}/wallet/domains/check", "a look at a domain: what was found stands beside it, as by command"),
    ("/orders/{id}/capture", "ORDER_CAPTURE, by the use case of the API: tests/tests/e2e/audit_log.rs"),
    ("/orders/{id}/cancel", "ORDER_CANCEL, by the use case of the API: tests/tests/e2e/audit_log.rs"),
    ("/orders/{id}/review", "REVIEW_APPROVE, by the use case of the command: bins/dropin/tests/cli/audit_log.rs"),
    ("/orders/{id}/dispute", "DISPUTE_ACCEPT and DISPUTE_EVIDENCE: bins/admin-panel/tests/admin/money.rs"),
    ("/contracts/{id}/close", "CONTRACT_CLOSE, by the use case of the API: tests/tests/e2e/audit_log.rs"),
];

/// Who sends forms, and the routes whose entry was seen.
struct Acts<'a> {
    world: &'a World,
    session: &'a str,
    seen: BTreeSet<&'static str>,
}

impl Acts<'_> {
    async fn count(&self, action: &str) -> usize {
        let query = AuditQuery { action: Some(action.to_owned()), limit: 1_000, ..AuditQuery::default() };
        self.world.store.search_audit_log(query).await.unwrap().entries.len()
    }

    /// Sends a form to an address of the route; its entry stands in the log then.
    async fn act(&mut self, route: &'static str, ids: &[&str], fields: &[(&str, &str)], action: &str) -> Page {
        self.act_by(self.session, route, ids, fields, action).await
    }

    async fn act_by(
        &mut self,
        session: &str,
        route: &'static str,
        ids: &[&str],
        fields: &[(&str, &str)],
        action: &str,
    ) -> Page {
        let mut path = route.to_owned();
        for id in ids {
            let (start, end) = (path.find('{').unwrap(), path.find('}').unwrap());
            path.replace_range(start..=end, id);
        }
        let before = self.count(action).await;
        let page = self.world.post(session, &path, fields).await;
        assert!(matches!(page.status, StatusCode::OK | StatusCode::SEE_OTHER), "{path}: {} {}", page.status, page.text);
        assert_eq!(
            self.count(action).await,
            before + 1,
            "{path} leaves one {action}: {} {}",
            page.location(),
            page.text
        );
        self.seen.insert(route);
        page
    }

    async fn settings_seen(&self, merchant: &str) -> String {
        self.world.get(Some(self.session), &format!("/merchants/{merchant}/settings")).await.field("seen")
    }
}

#[actix_web::test]
async fn every_form_leaves_its_entry() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let mut acts = Acts { world: &world, session: &owner, seen: BTreeSet::new() };
    of_merchants(&mut acts).await;
    of_orders(&mut acts).await;
    of_notifications(&mut acts).await;
    of_operators(&mut acts).await;
    let elsewhere: BTreeSet<_> = ELSEWHERE.iter().map(|(route, _)| *route).collect();
    assert!(acts.seen.is_disjoint(&elsewhere), "what is seen here needs no other proof");
    let forms: BTreeSet<_> =
        ROUTES.iter().filter(|route| route.method == Method::POST).map(|route| route.path).collect();
    let told: BTreeSet<_> = acts.seen.union(&elsewhere).copied().collect();
    assert_eq!(told, forms, "each form leaves an entry, or says why not");
}

async fn of_merchants(acts: &mut Acts<'_>) {
    let (world, ana) = (acts.world, acts.world.ana.to_string());
    acts.act("/merchants", &[], &[("name", "Cleo")], "MERCHANT_CREATE").await;
    let origins = [("origins", "https://ana.example")];
    acts.act("/merchants/{id}/origins", &[&ana], &origins, "MERCHANT_CHANGE").await;
    acts.act("/merchants/{id}/limits", &[&ana], &[("limits", "0.50 USD")], "MERCHANT_CHANGE").await;
    let seen = acts.settings_seen(&ana).await;
    let settings = [
        ("seen", seen.as_str()),
        ("name", "Ana's shop"),
        ("currency[]", "USD"),
        ("lifetime", "2h"),
        ("attempts", "3"),
        ("saved_card_kind", "ONE_CLICK"),
    ];
    acts.act("/merchants/{id}/settings", &[&ana], &settings, "MERCHANT_CHANGE").await;
    let seen = acts.settings_seen(&ana).await;
    let methods = [("seen", seen.as_str()), ("method[]", "PAYPAL:off")];
    acts.act("/merchants/{id}/methods", &[&ana], &methods, "MERCHANT_CHANGE").await;
    let seen = acts.settings_seen(&ana).await;
    let limits = [("seen", seen.as_str()), ("method_limits", "[IDEAL]\ncountries = [\"NL\"]")];
    acts.act("/merchants/{id}/method-limits", &[&ana], &limits, "MERCHANT_CHANGE").await;
    let seen = acts.settings_seen(&ana).await;
    let rules = [("seen", seen.as_str()), ("processor_rules", "stripe-us,sandbox currencies=USD\r\nsandbox")];
    acts.act("/merchants/{id}/processors", &[&ana], &rules, "MERCHANT_CHANGE").await;
    let seen = acts.settings_seen(&ana).await;
    let rates = [("seen", seen.as_str()), ("form", "GUARANTEED"), ("settlement", "USD")];
    acts.act("/merchants/{id}/rates", &[&ana], &rates, "RATES_CHANGE").await;
    let screening = [("seen", "0"), ("screening", "on"), ("days", "7")];
    acts.act("/merchants/{id}/screening", &[&ana], &screening, "MERCHANT_CHANGE").await;
    let domain = [("domain", "shop.example"), ("file", ASSOCIATION)];
    acts.act("/merchants/{id}/wallet/domains", &[&ana], &domain, "WALLET_DOMAIN_ADD").await;
    let credentials = WalletCredentials { certificate: "certificate".to_owned(), key: "key".to_owned().into() };
    let wallet = SetWallet { identifier: "merchant.ana".to_owned(), country: "US".to_owned(), credentials };
    world.deps.wallets.set(world.ana, wallet).await.unwrap();
    acts.act("/merchants/{id}/wallet/remove", &[&ana], &[], "WALLET_REMOVE").await;
    acts.act("/merchants/{id}/events", &[&ana], &[("event", "ORDER_PROCESSED")], "EVENT_TRIGGER").await;
    acts.act("/merchants/{id}/users", &[&ana], &[("permission[]", "order:read")], "USER_ADD").await;
    let users = world.deps.access.list_users(world.ana).await.unwrap();
    let user = users.iter().find(|user| user.permissions.iter().count() == 1).unwrap().username.clone();
    let permissions = [("permission[]", "session:read")];
    let (ids, user_route) = ([ana.as_str(), &user], "/merchants/{id}/users/{user}/permissions");
    acts.act(user_route, &ids, &permissions, "USER_PERMISSIONS_CHANGE").await;
    acts.act("/merchants/{id}/users/{user}/password", &ids, &[("overlap", "0")], "USER_PASSWORD_ROTATE").await;
    acts.act("/merchants/{id}/users/{user}/revoke", &ids, &[], "USER_REVOKE").await;
    let url = [("url", "http://127.0.0.1:9/hook")];
    acts.act("/merchants/{id}/endpoints", &[&ana], &url, "ENDPOINT_ADD").await;
    let endpoints = world.deps.access.list_endpoints(world.ana).await.unwrap();
    let endpoint = endpoints.iter().find(|endpoint| endpoint.url == url[0].1).unwrap().id.to_string();
    let ids = [ana.as_str(), &endpoint];
    let moved = [("url", "http://127.0.0.1:9/other")];
    acts.act("/merchants/{id}/endpoints/{endpoint}", &ids, &moved, "ENDPOINT_CHANGE").await;
    acts.act("/merchants/{id}/endpoints/{endpoint}/test", &ids, &[], "ENDPOINT_TEST").await;
    let secret = "/merchants/{id}/endpoints/{endpoint}/secret";
    acts.act(secret, &ids, &[("overlap", "0")], "ENDPOINT_SECRET_ROTATE").await;
    acts.act("/merchants/{id}/endpoints/{endpoint}/remove", &ids, &[], "ENDPOINT_REMOVE").await;
}

/// With Ana's refunds above half a dollar waiting for a second operator.
async fn of_orders(acts: &mut Acts<'_>) {
    let world = acts.world;
    let order = world.order_of_ana.to_string();
    let key = || world.deps.ids.random().to_string();
    let refund = async |acts: &mut Acts<'_>, key: &str, amount: &str, action: &str| {
        let fields = [("key", key), ("amount", amount), ("note", "lost parcel")];
        acts.act("/orders/{id}/refund", &[&order], &fields, action).await
    };
    refund(acts, &key(), "0.10", "ORDER_REFUND").await;
    let (refused, taken_back) = (key(), key());
    for key in [&refused, &taken_back] {
        refund(acts, key, "1.00", "APPROVAL_REQUEST").await;
    }
    let reviewer = world.operator(OperatorRole::Reviewer, None).await;
    acts.act_by(&reviewer, "/approvals/{id}", &[&refused], &[("decision", "refuse")], "APPROVAL_REFUSE").await;
    acts.act("/approvals/{id}/withdraw", &[&taken_back], &[], "APPROVAL_REFUSE").await;
}

async fn of_notifications(acts: &mut Acts<'_>) {
    let (world, ana) = (acts.world, acts.world.ana);
    let add = async || world.deps.merchants.add_endpoint(ana, "http://127.0.0.1:9/hook", Default::default()).await;
    let gone = add().await.unwrap().endpoint_id;
    for _ in 0..2 {
        world.harness.authorized(ana).await;
    }
    world.deps.merchants.remove_endpoint(gone).await.unwrap();
    let filter = NotificationFilter {
        merchant: Some(ana),
        endpoint: Some(gone),
        state: Some(DeliveryState::Parked),
        ..NotificationFilter::default()
    };
    let query = NotificationQuery { filter, after: None, oldest_first: true, limit: 10 };
    let parked = world.deps.notifications.list(query).await.unwrap().notifications;
    let event = parked[0].event_id.to_string();
    let (gone, heir) = (gone.to_string(), add().await.unwrap().endpoint_id.to_string());
    let at = [("endpoint", gone.as_str())];
    acts.act("/notifications/{id}/discard", &[&event], &at, "NOTIFICATION_DISCARD").await;
    let to = [("endpoint", heir.as_str())];
    acts.act("/notifications/{id}/replay", &[&event], &to, "NOTIFICATION_REPLAY").await;
    let merchant = ana.to_string();
    let one_payment = parked[3].payment_id.to_string();
    let again = [("merchant", merchant.as_str()), ("to", &heir), ("payment", &one_payment)];
    acts.act("/notifications/replay", &[], &again, "NOTIFICATION_REPLAY").await;
    acts.act("/notifications/discard", &[], &[("merchant", &merchant)], "NOTIFICATION_DISCARD").await;
}

async fn of_operators(acts: &mut Acts<'_>) {
    let world = acts.world;
    let invited = [("name", "Eve"), ("email", "eve@shop.example"), ("role[]", "viewer"), ("scope", "deployment")];
    acts.act("/operators", &[], &invited, "OPERATOR_INVITE").await;
    let session = world.operator(OperatorRole::Viewer, None).await;
    let other = world.deps.operators.current(&session).await.unwrap().operator;
    let id = other.id.to_string();
    let rights = [("role[]", "support"), ("scope", "deployment")];
    acts.act("/operators/{id}/rights", &[&id], &rights, "OPERATOR_CHANGE").await;
    // It signs in a second time, and ends that session from the first.
    let before = acts.count("OPERATOR_SIGN_IN").await;
    let sign_in = request(Method::POST, "/sign-in", None)
        .insert_header(("origin", "https://panel.example"))
        .set_form([("email", other.email.as_str()), ("password", PASSWORD)]);
    let entered = session_of(&world.send(sign_in).await).unwrap();
    assert_eq!(acts.count("OPERATOR_SIGN_IN").await, before + 1);
    acts.seen.insert("/sign-in");
    let second = world.deps.operators.current(&entered).await.unwrap().session.id.to_string();
    acts.act_by(&session, "/account/sessions/{id}/end", &[&second], &[], "OPERATOR_SIGN_OUT").await;
    let new = [("old", PASSWORD), ("new", "ten green frogs sing at night")];
    let changed = acts.act_by(&session, "/account/password", &[], &new, "OPERATOR_PASSWORD_CHANGE").await;
    let session = session_of(&changed).unwrap();
    acts.act_by(&session, "/sign-out", &[], &[], "OPERATOR_SIGN_OUT").await;
    acts.act("/operators/{id}/state", &[&id], &[("state", "disabled")], "OPERATOR_REMOVE").await;
    acts.act("/operators/{id}/state", &[&id], &[("state", "active")], "OPERATOR_CHANGE").await;
    acts.act("/operators/{id}/reset", &[&id], &[], "OPERATOR_PASSWORD_CHANGE").await;
}
