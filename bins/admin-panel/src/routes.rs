//! Every route of the panel: one table, of which the routes themselves, the guard, the navigation and the tests of roles and tenants are made.

use actix_web::http::Method;
use actix_web::{HttpRequest, Route, web};
use dropin_access::operator::PanelAction;
use dropin_http::BodyLimit;

use crate::guard::{FILES, to, to_anybody};
use crate::screens::merchants::{endpoints, events, routing, screening, settings, wallet};
use crate::screens::{
    accept, account, approvals, audit, bulk, contracts, disputes, export, ledger, merchants, notifications, operations,
    operators, orders, overview, rates, review, search, sessions, sign_in,
};
use crate::texts::Texts;
use crate::{assets, live, page};

/// Whose requests a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody's.
    Anybody,
    /// Those of an operator who is signed in.
    SignedIn,
    /// Those of an operator whose roles allow it; about a merchant's thing, of one whose scope has the merchant.
    Allowed(PanelAction),
}

/// A row of the table.
#[derive(Debug)]
pub struct PanelRoute {
    /// HTTP method: GET shows, POST does.
    pub method: Method,
    /// Address, with what stands for an identifier in braces.
    pub path: &'static str,
    /// Who may.
    pub access: Access,
    /// The parameters of its query, or the fields of its form; any other one is refused. A name in `[]` may come several times.
    pub fields: &'static [&'static str],
    handler: fn() -> Route,
}

/// An item of the navigation.
pub(crate) struct NavigationItem {
    pub(crate) path: &'static str,
    pub(crate) name: fn(&Texts) -> &'static str,
    pub(crate) action: PanelAction,
}

const fn item(path: &'static str, name: fn(&Texts) -> &'static str, action: PanelAction) -> NavigationItem {
    NavigationItem { path, name, action }
}

/// The navigation, as far as the operator's roles reach.
pub(crate) const NAVIGATION: &[NavigationItem] = &[
    item("/", |t| t.overview, PanelAction::ViewPayments),
    item("/orders", |t| t.orders, PanelAction::ViewPayments),
    item("/sessions", |t| t.sessions, PanelAction::ViewPayments),
    item("/review", |t| t.reviews, PanelAction::ReviewOrder),
    item("/disputes", |t| t.disputes, PanelAction::ViewPayments),
    item("/approvals", |t| t.approvals, PanelAction::ApproveMoney),
    item("/operations", |t| t.open_operations, PanelAction::ViewPayments),
    item("/notifications", |t| t.notifications, PanelAction::ViewNotifications),
    item("/merchants", |t| t.merchants, PanelAction::ViewMerchants),
    item("/rates", |t| t.rates, PanelAction::ViewPayments),
    item("/ledger", |t| t.ledger, PanelAction::VerifyLedger),
    item("/audit", |t| t.audit_log, PanelAction::ViewAuditLog),
    item("/operators", |t| t.operators, PanelAction::ManageOperators),
];

const fn get(
    path: &'static str,
    access: Access,
    fields: &'static [&'static str],
    handler: fn() -> Route,
) -> PanelRoute {
    PanelRoute { method: Method::GET, path, access, fields, handler }
}

const fn post(
    path: &'static str,
    access: Access,
    fields: &'static [&'static str],
    handler: fn() -> Route,
) -> PanelRoute {
    PanelRoute { method: Method::POST, path, access, fields, handler }
}

/// The fields of an answer to a dispute, which may have files.
const DISPUTE_FIELDS: &[&str] = &["csrf", "dispute", "answer", "text", FILES, "note"];

use Access::{Allowed, Anybody, SignedIn};
use PanelAction as A;

/// Every route.
pub const ROUTES: &[PanelRoute] = &[
    get("/sign-in", Anybody, &["next", "why"], || to_anybody(sign_in::show)),
    post("/sign-in", Anybody, &["email", "password", "next"], || to_anybody(sign_in::enter)),
    get("/sign-in/code", Anybody, &["next"], || to_anybody(sign_in::show_code)),
    post("/sign-in/code", Anybody, &["code", "next"], || to_anybody(sign_in::enter_code)),
    get("/accept", Anybody, &["token"], || to_anybody(accept::show)),
    post("/accept", Anybody, &["token", "name", "email", "password"], || to_anybody(accept::begin)),
    post("/accept/authenticator", Anybody, &["token", "sealed", "secret", "uri", "code", "without"], || {
        to_anybody(accept::finish)
    }),
    post("/sign-out", SignedIn, &["csrf"], || to(sign_in::leave)),
    get("/account", SignedIn, &["done"], || to(account::show)),
    post("/account/password", SignedIn, &["csrf", "old", "new"], || to(account::change_password)),
    post("/account/authenticator", SignedIn, &["csrf", "password"], || to(account::begin_authenticator)),
    post("/account/authenticator/confirm", SignedIn, &["csrf", "sealed", "secret", "uri", "code"], || {
        to(account::replace_authenticator)
    }),
    post("/account/language", SignedIn, &["csrf", "language"], || to(account::set_language)),
    post("/account/sessions/{id}/end", SignedIn, &["csrf"], || to(account::end_session)),
    get("/", Allowed(A::ViewPayments), &["merchant", "days", "currency"], || to(overview::show)),
    get("/live/overview", Allowed(A::ViewPayments), &["merchant"], || to(live::overview)),
    get("/live/review", Allowed(A::ReviewOrder), &["merchant"], || to(live::reviews)),
    get("/live/notifications", Allowed(A::ViewNotifications), &["merchant"], || to(live::notifications)),
    get("/live/orders/{id}", Allowed(A::ViewPayments), &[], || to(live::order)),
    get("/find", Allowed(A::ViewPayments), &["q"], || to(search::find)),
    get("/orders", Allowed(A::ViewPayments), orders::FILTERS, || to(orders::list)),
    get("/orders.csv", Allowed(A::ExportPayments), orders::FILTERS, || to(export::orders)),
    get("/orders/{id}", Allowed(A::ViewPayments), &["done"], || to(orders::show)),
    post("/orders/{id}/refund", Allowed(A::RefundOrder), &["csrf", "key", "amount", "note"], || to(orders::refund)),
    post("/orders/{id}/capture", Allowed(A::CaptureOrder), &["csrf", "revision", "amount", "note"], || {
        to(orders::capture)
    }),
    post("/orders/{id}/cancel", Allowed(A::CancelOrder), &["csrf", "revision", "note"], || to(orders::cancel)),
    post("/orders/{id}/review", Allowed(A::ReviewOrder), &["csrf", "revision", "decision", "note"], || {
        to(review::decide)
    }),
    post("/orders/{id}/dispute", Allowed(A::AnswerDispute), DISPUTE_FIELDS, || to(orders::answer_dispute)),
    get("/disputes", Allowed(A::ViewPayments), &["merchant"], || to(disputes::list)),
    get("/sessions", Allowed(A::ViewPayments), sessions::FILTERS, || to(sessions::list)),
    get("/sessions/{id}", Allowed(A::ViewPayments), &["done"], || to(sessions::show)),
    get("/review", Allowed(A::ReviewOrder), &["merchant", "after", "done"], || to(review::list)),
    get("/approvals", Allowed(A::ApproveMoney), &["done"], || to(approvals::list)),
    post("/approvals/{id}", Allowed(A::ApproveMoney), &["csrf", "decision"], || to(approvals::decide)),
    post("/approvals/{id}/withdraw", Allowed(A::RefundOrder), &["csrf"], || to(approvals::withdraw)),
    get("/contracts/{id}", Allowed(A::ViewPayments), &["done", "merchant"], || to(contracts::show)),
    post("/contracts/{id}/close", Allowed(A::CloseContract), &["csrf", "merchant", "note"], || to(contracts::close)),
    get("/operations", Allowed(A::ViewPayments), &[], || to(operations::list)),
    get("/notifications", Allowed(A::ViewNotifications), notifications::FILTERS, || to(notifications::list)),
    get("/notifications/replay", Allowed(A::ReplayNotifications), bulk::REPLAY_CHOICE, || to(bulk::estimate_replay)),
    post("/notifications/replay", Allowed(A::ReplayNotifications), bulk::REPLAY_FIELDS, || to(bulk::replay)),
    get("/notifications/discard", Allowed(A::DiscardNotifications), bulk::DISCARD_CHOICE, || {
        to(bulk::estimate_discard)
    }),
    post("/notifications/discard", Allowed(A::DiscardNotifications), bulk::DISCARD_FIELDS, || to(bulk::discard)),
    get("/notifications/{id}", Allowed(A::ViewNotifications), &["done"], || to(notifications::show)),
    post("/notifications/{id}/replay", Allowed(A::ReplayNotifications), &["csrf", "endpoint", "note"], || {
        to(notifications::replay)
    }),
    post("/notifications/{id}/discard", Allowed(A::DiscardNotifications), &["csrf", "endpoint", "note"], || {
        to(notifications::discard)
    }),
    get("/merchants", Allowed(A::ViewMerchants), &["done"], || to(merchants::list)),
    get("/merchants/new", Allowed(A::CreateMerchant), &[], || to(merchants::new)),
    post("/merchants", Allowed(A::CreateMerchant), merchants::NEW_FIELDS, || to(merchants::create)),
    get("/merchants/{id}", Allowed(A::ViewMerchants), &["done"], || to(merchants::show)),
    post("/merchants/{id}/origins", Allowed(A::ManageOrigins), &["csrf", "origins", "note"], || {
        to(merchants::set_origins)
    }),
    post("/merchants/{id}/limits", Allowed(A::ChangeMerchant), &["csrf", "limits", "note"], || {
        to(merchants::set_limits)
    }),
    get("/merchants/{id}/settings", Allowed(A::ChangeMerchant), &["done"], || to(settings::show)),
    post("/merchants/{id}/settings", Allowed(A::ChangeMerchant), settings::FIELDS, || to(settings::set)),
    post("/merchants/{id}/methods", Allowed(A::ChangeMerchant), settings::METHOD_FIELDS, || to(settings::set_methods)),
    post("/merchants/{id}/method-limits", Allowed(A::ChangeMerchant), settings::METHOD_LIMIT_FIELDS, || {
        to(settings::set_method_limits)
    }),
    post("/merchants/{id}/processors", Allowed(A::ChangeMerchant), routing::FIELDS, || to(routing::set)),
    post("/merchants/{id}/rates", Allowed(A::ChangeMerchant), settings::RATE_FIELDS, || to(settings::set_rates_of)),
    get("/merchants/{id}/screening", Allowed(A::ManageScreening), &["done"], || to(screening::show)),
    post("/merchants/{id}/screening", Allowed(A::ManageScreening), screening::FIELDS, || to(screening::set)),
    post("/merchants/{id}/screening/try", Allowed(A::ManageScreening), screening::FIELDS, || to(screening::test)),
    post("/merchants/{id}/users", Allowed(A::ManageApiUsers), &["csrf", "permission[]", "note"], || {
        to(merchants::add_user)
    }),
    post(
        "/merchants/{id}/users/{user}/permissions",
        Allowed(A::ManageApiUsers),
        &["csrf", "permission[]", "note"],
        || to(merchants::set_permissions),
    ),
    post("/merchants/{id}/users/{user}/password", Allowed(A::ManageApiUsers), &["csrf", "overlap", "note"], || {
        to(merchants::rotate_password)
    }),
    post("/merchants/{id}/users/{user}/revoke", Allowed(A::ManageApiUsers), &["csrf", "note"], || {
        to(merchants::revoke_user)
    }),
    post("/merchants/{id}/endpoints", Allowed(A::ManageEndpoints), &["csrf", "url", "events", "note"], || {
        to(endpoints::add)
    }),
    get("/merchants/{id}/endpoints/{endpoint}", Allowed(A::ViewNotifications), &["done"], || to(endpoints::show)),
    post(
        "/merchants/{id}/endpoints/{endpoint}",
        Allowed(A::ManageEndpoints),
        &["csrf", "url", "events", "retry", "note"],
        || to(endpoints::set),
    ),
    post("/merchants/{id}/endpoints/{endpoint}/test", Allowed(A::ReplayNotifications), &["csrf", "note"], || {
        to(endpoints::test)
    }),
    post(
        "/merchants/{id}/endpoints/{endpoint}/secret",
        Allowed(A::ManageEndpoints),
        &["csrf", "overlap", "note"],
        || to(endpoints::rotate_secret),
    ),
    post("/merchants/{id}/endpoints/{endpoint}/remove", Allowed(A::ManageEndpoints), &["csrf", "note"], || {
        to(endpoints::remove)
    }),
    post("/merchants/{id}/wallet/remove", Allowed(A::ManageWallet), &["csrf", "note"], || to(wallet::remove)),
    post("/merchants/{id}/wallet/domains", Allowed(A::ManageWallet), &["csrf", "domain", "file", "note"], || {
        to(wallet::add_domain)
    }),
    post("/merchants/{id}/wallet/domains/check", Allowed(A::ManageWallet), &["csrf", "domain"], || {
        to(wallet::check_domain)
    }),
    get("/merchants/{id}/events", Allowed(A::TriggerEvents), &["done"], || to(events::show)),
    post("/merchants/{id}/events", Allowed(A::TriggerEvents), &["csrf", "event"], || to(events::make_happen)),
    get("/ledger", Allowed(A::VerifyLedger), &["done"], || to(ledger::show)),
    post("/ledger", Allowed(A::VerifyLedger), &["csrf", "books"], || to(ledger::start)),
    get("/rates", Allowed(A::ViewPayments), &[], || to(rates::show)),
    get(
        "/audit",
        Allowed(A::ViewAuditLog),
        &["merchant", "action", "actor", "subject", "since", "until", "after"],
        || to(audit::list),
    ),
    get("/operators", Allowed(A::ManageOperators), &["done"], || to(operators::list)),
    post("/operators", Allowed(A::ManageOperators), operators::FIELDS, || to(operators::invite)),
    get("/operators/{id}", Allowed(A::ManageOperators), &["done"], || to(operators::show)),
    post("/operators/{id}/rights", Allowed(A::ManageOperators), operators::RIGHTS_FIELDS, || to(operators::set_rights)),
    post("/operators/{id}/state", Allowed(A::ManageOperators), &["csrf", "state"], || to(operators::set_state)),
    post("/operators/{id}/reset", Allowed(A::ManageOperators), &["csrf"], || to(operators::reset)),
];

/// The rows of one address; stands in the app data of its resource.
struct ResourceRoutes(Vec<&'static PanelRoute>);

/// The row of a request.
pub(crate) fn current_route(request: &HttpRequest) -> Option<&'static PanelRoute> {
    let ResourceRoutes(rows) = request.app_data::<ResourceRoutes>()?;
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    rows.iter().find(|row| row.method == method).copied()
}

/// Mounts the table: one resource for each address, and a page that says so where there is none.
pub(crate) fn mount(config: &mut web::ServiceConfig) {
    let mut scope = web::scope("").wrap(page::headers()).configure(assets::mount);
    let mut paths: Vec<&str> = Vec::new();
    for route in ROUTES {
        if !paths.contains(&route.path) {
            paths.push(route.path);
        }
    }
    for path in paths {
        let rows = || ROUTES.iter().filter(|route| route.path == path);
        let resource = web::resource(path).app_data(ResourceRoutes(rows().collect()));
        let takes_rules = rows().any(|route| route.fields == screening::FIELDS);
        let resource = if takes_rules { resource.app_data(BodyLimit(screening::MAX_FORM_BYTES)) } else { resource };
        let resource = rows().fold(resource, |resource, route| {
            let resource = resource.route((route.handler)().method(route.method.clone()));
            match route.method == Method::GET {
                true => resource.route((route.handler)().method(Method::HEAD)),
                false => resource,
            }
        });
        scope = scope.service(resource);
    }
    config.service(scope.default_service(web::to(crate::screens::no_page)));
}
