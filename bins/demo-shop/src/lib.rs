#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod api;
mod catalogue;
mod checkout;
mod credentials;
mod customers;
mod pages;
mod pricing;
mod program;
mod purchases;
mod refusal;
mod routes;
mod stream;
mod subscriptions;
#[cfg(test)]
mod tests;
mod tls;
mod webhook;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::dev::Server;
use actix_web::http::Uri;
use actix_web::{App, HttpServer, web};
use serde::Serialize;
use tokio::sync::watch;

use api::ApiClient;
use pages::Site;
use purchases::Purchases;
use webhook::Verifier;

pub use credentials::{Credentials, CredentialsError};
pub use program::{Arguments, RunError, run};
pub use tls::client_config;

/// How long running requests may take to finish after a stop, in seconds.
const STOP_SECONDS: u64 = 3;
/// More open connections than any demonstration needs.
const MAX_CONNECTIONS: usize = 256;

/// What proves the shop's domain to the sandbox's wallet provider; the shop serves it.
pub const ASSOCIATION: &str = "This is the demo shop of a Dropin sandbox.\n";

/// A number that shoppers of this sandbox may pay with.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TestCard {
    /// Without spaces.
    pub number: &'static str,
    /// As people call it.
    pub scheme: &'static str,
    /// What paying with it does.
    pub does: &'static str,
}

/// What a merchant's program has to know: where the service is, who it is, and where it is itself.
#[derive(Clone)]
pub struct ShopConfig {
    /// `{base_url}` of the Session and Order APIs, e.g. `http://127.0.0.1:8080`.
    pub base_url: String,
    /// `{asset_url}`, under which `/v1/dropin.js` lies; may carry a path, e.g. `http://127.0.0.1:8080/asset`.
    pub asset_url: String,
    /// `{checkout_url}`, where pages read which payment methods there are and the shop charges subscriptions, e.g. `http://127.0.0.1:8080/checkout`.
    pub checkout_url: String,
    /// The merchant's public id, which pages ask with.
    pub merchant_id: String,
    /// Where to listen; loopback only. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Scheme, host and port that shoppers type, e.g. `http://localhost:8081`: one of the merchant's registered origins.
    pub public_origin: String,
    /// API user of the merchant; needs `session:write`, `session:read` and `order:capture`; to charge and end subscriptions
    /// `contract:read`, `checkout` and `contract:write` too.
    pub username: String,
    /// Password of that user. Never leaves the server side.
    pub password: String,
    /// `whsec_…`, the secret that notifications to `{public_origin}/webhook` are signed with. Never leaves the server side.
    pub webhook_secret: String,
    /// Shown beside the checkout; a real shop has none.
    pub test_cards: Vec<TestCard>,
}

impl ShopConfig {
    /// The shop of the merchant with these credentials; `urls` are `{base_url}`, `{asset_url}` and `{checkout_url}`. Shoppers find it at `here`, unless the
    /// merchant was made for another address.
    ///
    /// # Errors
    /// The merchant has no webhook secret.
    pub fn new(credentials: &Credentials, urls: [String; 3], listen: SocketAddr, here: String) -> io::Result<Self> {
        let [base_url, asset_url, checkout_url] = urls;
        let Credentials { merchant_id, username, password, webhook_secret, shop_url } = credentials.clone();
        let webhook_secret = webhook_secret
            .ok_or_else(|| wrong("the shop's merchant has no webhook URL; create it with --webhook-url"))?;
        let (public_origin, test_cards) = (shop_url.unwrap_or(here), Vec::new());
        Ok(Self {
            base_url,
            asset_url,
            checkout_url,
            merchant_id,
            listen,
            public_origin,
            username,
            password,
            webhook_secret,
            test_cards,
        })
    }
}

impl fmt::Debug for ShopConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShopConfig")
            .field("base_url", &self.base_url)
            .field("asset_url", &self.asset_url)
            .field("checkout_url", &self.checkout_url)
            .field("merchant_id", &self.merchant_id)
            .field("listen", &self.listen)
            .field("public_origin", &self.public_origin)
            .field("username", &self.username)
            .field("password", &"***")
            .field("webhook_secret", &"***")
            .finish()
    }
}

/// A shop that holds its address and answers requests as soon as [`Shop::run`] is awaited.
pub struct Shop {
    address: SocketAddr,
    server: Server,
    stop: watch::Receiver<bool>,
}

impl Shop {
    /// Where it listens; tells the port when the configuration said 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the stop channel says `true` or its sender is gone, then lets running requests finish.
    ///
    /// # Errors
    /// What the system said when the server broke.
    pub async fn run(mut self) -> io::Result<()> {
        let handle = self.server.handle();
        tokio::pin! {
            let serving = self.server;
        }
        tokio::select! {
            ended = &mut serving => return ended,
            _ = self.stop.wait_for(|stop| *stop) => {}
        }
        tokio::join!(handle.stop(true), serving).1
    }
}

/// Everything the handlers share. One per shop.
struct ShopState {
    site: Site,
    merchant_id: String,
    /// Where the page reads rates and payment methods.
    rates_url: String,
    methods_url: String,
    test_cards: Vec<TestCard>,
    purchases: Purchases,
    verifier: Verifier,
    stop: watch::Receiver<bool>,
}

/// Takes the address and makes the shop; await [`Shop::run`] to serve.
///
/// # Errors
/// `InvalidInput` for a configuration that cannot work (the text says which member and what it should look like), and what the
/// system says when the address cannot be taken.
pub async fn serve(config: ShopConfig, stop: watch::Receiver<bool>) -> io::Result<Shop> {
    if !config.listen.ip().is_loopback() {
        return Err(wrong(format!(
            "the demo shop has no sign-in and therefore listens on loopback only, not on {}; use 127.0.0.1 or [::1]",
            config.listen
        )));
    }
    let base_url = service_url("base_url", &config.base_url)?;
    let asset_url = service_url("asset_url", &config.asset_url)?;
    let checkout_url = service_url("checkout_url", &config.checkout_url)?;
    let service_origins = [origin_of("base_url", &base_url)?, origin_of("checkout_url", &checkout_url)?];
    let public_origin = origin_of("public_origin", &config.public_origin)?;
    let asset_origin = origin_of("asset_url", &asset_url)?;
    let verifier = Verifier::new(&config.webhook_secret)
        .map_err(|_not_base64| wrong("webhook_secret must look like whsec_<base64>; it is shown when it is made"))?;
    let state = web::Data::new(ShopState {
        site: Site::new(&asset_url, &asset_origin, &service_origins, &public_origin),
        rates_url: format!("{base_url}/v2.2/getRates?merchantId={}", config.merchant_id),
        test_cards: config.test_cards,
        methods_url: format!("{checkout_url}/v2.22/getPaymentMethods?MerchantId={}", config.merchant_id),
        merchant_id: config.merchant_id,
        purchases: Purchases::default(),
        verifier,
        stop: stop.clone(),
    });
    // Both are of one service: where one is https, so is the other.
    let tls = client_config(&base_url)?.map_or_else(|| client_config(&checkout_url), |tls| Ok(Some(tls)))?;
    let (username, password): (Arc<str>, Arc<str>) = (config.username.into(), config.password.into());

    let listener = TcpListener::bind(config.listen)?;
    let address = listener.local_addr()?;
    let server = HttpServer::new(move || {
        // awc's client belongs to one thread, so that every worker makes its own.
        let api = ApiClient::new([&base_url, &checkout_url], &username, &password, tls.clone());
        App::new().app_data(state.clone()).app_data(web::Data::new(api)).configure(routes::configure)
    })
    .workers(1)
    .max_connections(MAX_CONNECTIONS)
    .shutdown_timeout(STOP_SECONDS)
    .disable_signals()
    .listen(listener)?
    .run();
    log::info!("demo shop for {public_origin} listens on http://{address}");
    Ok(Shop { address, server, stop })
}

fn wrong(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

/// An absolute http(s) address without its trailing slash, so that paths can be appended.
fn service_url(member: &str, raw: &str) -> io::Result<String> {
    origin_of(member, raw)?;
    Ok(raw.trim_end_matches('/').to_owned())
}

/// Scheme, host and port of an absolute http(s) address.
fn origin_of(member: &str, raw: &str) -> io::Result<String> {
    let unusable = || wrong(format!("{member} must be an absolute http or https address, not {raw:?}"));
    let uri: Uri = raw.parse().map_err(|_not_an_address| unusable())?;
    match (uri.scheme_str(), uri.authority()) {
        (Some(scheme @ ("http" | "https")), Some(authority)) if !authority.as_str().contains('@') => {
            Ok(format!("{scheme}://{authority}"))
        }
        _ => Err(unusable()),
    }
}
