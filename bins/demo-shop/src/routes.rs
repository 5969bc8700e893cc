//! The routes of the shop.

use std::collections::BTreeMap;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::{Next, from_fn};
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use serde::Serialize;
use uuid::Uuid;

use super::api::{ApiClient, ApiError, Attempt, Order, Session};
use super::catalogue::{BASE_CURRENCY, MAX_QUANTITY, MINOR_UNIT_EXCEPTIONS, PRODUCTS, Product, SHIPPING};
use super::checkout::{Basket, CheckoutRequest, SessionRequest};
use super::customers::{COUNTRIES, Country};
use super::pages::File;
use super::pricing::Pricing;
use super::purchases::{CartSession, DeliveryOutcome, Stage};
use super::refusal::Refusal;
use super::stream;
use super::subscriptions::{self, Subscription};
use super::webhook::VerificationError;
use super::{ShopState, TestCard};

/// Largest basket that is read.
const MAX_BASKET: usize = 16 * 1024;
/// Largest notification that is read.
const MAX_NOTIFICATION: usize = 64 * 1024;

pub(super) type Api = web::Data<ApiClient>;
pub(super) type Shop = web::Data<ShopState>;

pub(super) fn configure(app: &mut web::ServiceConfig) {
    let json = web::JsonConfig::default().limit(MAX_BASKET).error_handler(|error, _request| {
        log::debug!("unreadable basket: {error}");
        Refusal::Invalid("The shop did not understand the basket; reload the page.".to_owned()).into()
    });
    app.app_data(json)
        .service(
            web::resource("/webhook")
                .app_data(web::PayloadConfig::new(MAX_NOTIFICATION))
                .wrap(from_fn(headers))
                .route(web::post().to(webhook)),
        )
        .service(
            web::scope("")
                .wrap(from_fn(own_name_only))
                .wrap(from_fn(headers))
                .route("/", web::get().to(page))
                .route("/paid", web::get().to(page))
                .route("/pay", web::get().to(page))
                .route("/appearance", web::get().to(appearance))
                .route("/appearance.js", web::get().to(|| async { File::Appearance.response() }))
                .route("/shop.css", web::get().to(|| async { File::Style.response() }))
                .route("/shop.js", web::get().to(|| async { File::Shop.response() }))
                .route("/cart.js", web::get().to(|| async { File::Cart.response() }))
                .route("/checkout.js", web::get().to(|| async { File::Checkout.response() }))
                .route("/backoffice.js", web::get().to(|| async { File::BackOffice.response() }))
                .route("/.well-known/apple-developer-merchantid-domain-association", web::get().to(association))
                .route("/kit.js", web::get().to(|| async { File::Kit.response() }))
                .route("/language.js", web::get().to(|| async { File::Language.response() }))
                .route("/money.js", web::get().to(|| async { File::Money.response() }))
                .route("/paylater.js", web::get().to(|| async { File::PayLater.response() }))
                .route("/subscription.js", web::get().to(|| async { File::Subscription.response() }))
                .route("/thanks.js", web::get().to(|| async { File::Thanks.response() }))
                .route("/wallet.js", web::get().to(|| async { File::Wallet.response() }))
                .route("/icon.svg", web::get().to(|| async { File::Icon.response() }))
                .route("/api/catalogue", web::get().to(catalogue))
                .route("/api/notifications", web::get().to(notifications))
                .route("/api/payment/{session}", web::get().to(payment))
                .service(web::resource("/api/checkout").wrap(from_fn(json_only)).route(web::post().to(checkout)))
                .service(
                    web::resource("/api/payment/{session}/capture")
                        .wrap(from_fn(json_only))
                        .route(web::post().to(capture)),
                )
                .service(
                    web::resource("/api/payment/{session}/charge")
                        .wrap(from_fn(json_only))
                        .route(web::post().to(subscriptions::charge)),
                )
                .service(
                    web::resource("/api/payment/{session}/end")
                        .wrap(from_fn(json_only))
                        .route(web::post().to(subscriptions::end)),
                )
                .default_service(web::to(|| async { Err::<HttpResponse, _>(Refusal::NoSuchPage) })),
        );
}

/// What proves to the sandbox's wallet provider that this is the shop.
async fn association() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body(crate::ASSOCIATION)
}

async fn page(shop: Shop) -> HttpResponse {
    shop.site.page()
}

async fn appearance(shop: Shop) -> HttpResponse {
    shop.site.appearance()
}

/// Everything that the page shows, and where it asks the service by itself.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CatalogueResponse<'a> {
    /// The currency of `Price` and `Shipping`, which are in cents and for showing: the checkout prices by itself.
    home: &'static str,
    /// Decimals of the currencies that have other than two.
    minor_units: BTreeMap<&'static str, u32>,
    countries: &'static [Country],
    max_pieces: u32,
    things: &'static [Product],
    shipping: u64,
    rates_url: &'a str,
    methods_url: &'a str,
    test_cards: &'a [TestCard],
}

async fn catalogue(shop: Shop) -> HttpResponse {
    HttpResponse::Ok().json(CatalogueResponse {
        home: BASE_CURRENCY,
        minor_units: BTreeMap::from(MINOR_UNIT_EXCEPTIONS),
        countries: &COUNTRIES,
        max_pieces: MAX_QUANTITY,
        things: &PRODUCTS,
        shipping: SHIPPING,
        rates_url: &shop.rates_url,
        methods_url: &shop.methods_url,
        test_cards: &shop.test_cards,
    })
}

/// What the page may know of a payment: no billing details, no credentials.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Payment {
    session_id: Uuid,
    merchant_reference: String,
    state: String,
    auto_capture: bool,
    currency: String,
    /// Text, so that no float comes near it.
    total_amount: String,
    /// What the API says about the Order now.
    order: Option<Order>,
    /// Of a payment that opened a contract.
    subscription: Option<Subscription>,
    payment_method: Option<String>,
    attempts: Vec<Attempt>,
    /// What the shop believes, from notifications alone; absent when it has forgotten the purchase.
    stage: Option<Stage>,
    /// The cart holds something else by now, and this payment is too far to be changed.
    outdated: bool,
}

impl Payment {
    fn new(session: Session, stage: Option<Stage>) -> Self {
        Self {
            session_id: session.session_id,
            merchant_reference: session.merchant_reference,
            state: session.state,
            auto_capture: session.auto_capture,
            currency: session.currency,
            total_amount: session.total_amount.get().to_owned(),
            order: session.order,
            subscription: None,
            payment_method: session.payment_method,
            attempts: session.attempts,
            stage,
            outdated: false,
        }
    }
}

/// Gives the cart its Session and tells the browser its id: the only thing the drop-in needs.
///
/// A cart has one Session until that is over. Asked again, by a reload, another tab or the way back, this reads it again; a basket that changed
/// meanwhile replaces it; and what is being paid, or was, stays as it is. So nothing is paid twice.
async fn checkout(shop: Shop, api: Api, request: web::Json<CheckoutRequest>) -> Result<HttpResponse, Refusal> {
    let CheckoutRequest { cart_id, session_id, again, basket } = request.into_inner();
    basket.check()?;
    let slot = shop.purchases.cart(cart_id);
    // Two clicks, or two tabs, come one after the other.
    let mut cart = slot.lock().await;
    let known = cart.take().or(session_id.map(|session| CartSession { session, basket: None }));
    if let Some(known) = known {
        let found = match api.session(known.session).await {
            Ok(session) => Some(session),
            Err(error) if error.code() == "SESSION_NOT_FOUND" => None,
            Err(error) => {
                *cart = Some(known);
                return Err(error.into());
            }
        };
        let is_same = known.basket.as_ref() == Some(&basket);
        match found {
            Some(session) if session.state == "CREATED" && (!is_same || again) => {
                *cart = Some(known);
                if let Some(replaced) = replace(&shop, &api, &basket, &session).await? {
                    shop.purchases.add(replaced.session_id);
                    *cart = Some(CartSession { session: replaced.session_id, basket: Some(basket) });
                    return Ok(shown(&shop, replaced, false));
                }
                // The shopper was faster.
                let session = api.session(session.session_id).await?;
                return Ok(shown(&shop, session, !is_same));
            }
            Some(session) if !matches!(session.state.as_str(), "CANCELLED" | "FAILED") => {
                let is_outdated = !is_same && known.basket.is_some();
                *cart = Some(known);
                return Ok(shown(&shop, session, is_outdated));
            }
            // It is over without money: the cart may be paid by another one.
            _ => {}
        }
    }
    let request = session_request(&shop, &api, &basket, None).await?;
    let session = api.create_session(&request).await?;
    remember(&shop, &basket);
    shop.purchases.add(session.session_id);
    *cart = Some(CartSession { session: session.session_id, basket: Some(basket) });
    Ok(shown(&shop, session, false))
}

/// Replaces a Session that nobody pays yet; `None` when somebody does.
async fn replace(shop: &Shop, api: &Api, basket: &Basket, session: &Session) -> Result<Option<Session>, Refusal> {
    let request = session_request(shop, api, basket, Some(session.merchant_reference.clone())).await?;
    match api.replace_session(session.session_id, &request).await {
        Ok(replaced) => {
            remember(shop, basket);
            Ok(Some(replaced))
        }
        Err(error) if error.code() == "INVALID_SESSION_STATE" => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The request for a basket's Session, at the price of now.
async fn session_request(
    shop: &Shop,
    api: &Api,
    basket: &Basket,
    reference: Option<String>,
) -> Result<SessionRequest, Refusal> {
    let pricing = price(shop, api, basket).await?;
    let is_known = basket.country().is_some_and(|country| shop.purchases.is_known(&country.customer_reference()));
    basket.request(&pricing, shop.site.origin(), reference, is_known)
}

/// The payment service knows the customer from now on.
fn remember(shop: &Shop, basket: &Basket) {
    if let Some(country) = basket.country() {
        shop.purchases.remember(country.customer_reference());
    }
}

async fn price(shop: &Shop, api: &Api, basket: &Basket) -> Result<Pricing, Refusal> {
    match basket.foreign_currency()? {
        None => Ok(Pricing::in_base_currency()),
        Some(currency) => {
            let rates = api.rates(&shop.merchant_id).await?;
            Pricing::by(&rates, currency).ok_or(Refusal::NoRate)
        }
    }
}

fn shown(shop: &Shop, session: Session, outdated: bool) -> HttpResponse {
    let stage = shop.purchases.purchase(session.session_id).map(|purchase| purchase.stage);
    HttpResponse::Ok().json(Payment { outdated, ..Payment::new(session, stage) })
}

async fn payment(shop: Shop, api: Api, session: web::Path<String>) -> Result<HttpResponse, Refusal> {
    let id = session_id(&session)?;
    let session = api.session(id).await.map_err(missing_session)?;
    let stage = shop.purchases.purchase(id).map(|purchase| purchase.stage);
    let subscription = subscriptions::read(&shop, &api, &session).await;
    Ok(HttpResponse::Ok().json(Payment { subscription, ..Payment::new(session, stage) }))
}

/// The parcel leaves: now the money may be taken.
async fn capture(shop: Shop, api: Api, session: web::Path<String>) -> Result<HttpResponse, Refusal> {
    let id = session_id(&session)?;
    let known = shop.purchases.purchase(id).and_then(|purchase| purchase.order_id);
    let order = match known {
        Some(order) => order,
        None => api.session(id).await.map_err(missing_session)?.order.ok_or(Refusal::NothingToShip)?.order_id,
    };
    Ok(HttpResponse::Ok().json(api.capture(order).await?))
}

async fn notifications(shop: Shop, request: HttpRequest) -> HttpResponse {
    // A browser that lost the connection says which event it saw last.
    let last = request.headers().get("Last-Event-ID").and_then(|id| id.to_str().ok()?.parse().ok()).unwrap_or(0);
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .streaming(stream::notifications(shop, last))
}

/// Takes notifications. 200 only when it is stored; anything else makes the service send it again later.
async fn webhook(shop: Shop, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let notification = match shop.verifier.read(request.headers(), &body) {
        Ok(notification) => notification,
        Err(error) => {
            log::warn!("refused a notification: {error}");
            return match error {
                VerificationError::BadSignature | VerificationError::TimestampOutOfRange => {
                    HttpResponse::Unauthorized().body(error.to_string())
                }
                VerificationError::Malformed => HttpResponse::BadRequest().body(error.to_string()),
            };
        }
    };
    let (kind, sequence) = (notification.event.event_type.clone(), notification.sequence);
    match shop.purchases.receive(notification) {
        DeliveryOutcome::Stored => log::info!("notification {sequence} {kind:?} stored"),
        DeliveryOutcome::Duplicate => log::info!("notification {sequence} {kind:?} came again; nothing to do"),
    }
    HttpResponse::Ok().finish()
}

/// Only a real UUID goes into an address of the API.
pub(super) fn session_id(raw: &str) -> Result<Uuid, Refusal> {
    raw.parse().map_err(|_not_a_uuid| Refusal::NoSuchPayment)
}

pub(super) fn missing_session(error: ApiError) -> Refusal {
    match error.code() {
        "SESSION_NOT_FOUND" => Refusal::NoSuchPayment,
        _ => error.into(),
    }
}

/// Puts the policy on every answer that has none of its own, refusals included.
async fn headers(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let shop = request.app_data::<Shop>().cloned().expect("the shop is part of every app");
    let mut answer = next.call(request).await?;
    let policy = header::HeaderValue::from_str(shop.site.policy()).expect("an origin is printable");
    let headers = answer.headers_mut();
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "strict-origin-when-cross-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    Ok(answer)
}

/// Pages live under one name, the registered origin; any other loopback name is led there. A foreign name that resolves to
/// this machine (DNS rebinding) gets nothing.
async fn own_name_only(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let shop = request.app_data::<Shop>().cloned().expect("the shop is part of every app");
    let origin = shop.site.origin();
    // The header as it came, not what a forwarding header claims: a page can write those.
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
    if origin.split_once("://").is_some_and(|(_, own)| own.eq_ignore_ascii_case(&host)) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _port)| name);
    if !matches!(name, "127.0.0.1" | "[::1]" | "localhost") {
        let refusal = Refusal::Foreign(format!("This shop is called {origin}; open it there."));
        return Ok(request.into_response(refusal.error_response()));
    }
    if matches!(request.path(), "/" | "/pay" | "/paid" | "/appearance") {
        let target = format!("{origin}{}", request.uri());
        let answer = HttpResponse::TemporaryRedirect().insert_header((header::LOCATION, target)).finish();
        return Ok(request.into_response(answer));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// JSON only: a form of a foreign page cannot send it without asking first, and nobody here says yes.
async fn json_only(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if request.method() == actix_web::http::Method::POST && !kind.starts_with("application/json") {
        let refusal = Refusal::Foreign("Send Content-Type: application/json.".to_owned());
        return Ok(request.into_response(refusal.error_response()));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}
