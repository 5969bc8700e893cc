//! The static side of the shop: its pages, its style, its script, and the headers they go out with.

use actix_web::HttpResponse;
use actix_web::http::header;

/// The files of `bins/demo-shop/page`, part of the program.
const INDEX: &str = include_str!("../page/index.html");
const APPEARANCE: &str = include_str!("../page/appearance.html");
const APPEARANCE_SCRIPT: &str = include_str!("../page/appearance.js");
const STYLE: &str = include_str!("../page/shop.css");
const SHOP: &str = include_str!("../page/shop.js");
const CART: &str = include_str!("../page/cart.js");
const CHECKOUT: &str = include_str!("../page/checkout.js");
const BACK_OFFICE: &str = include_str!("../page/backoffice.js");
const KIT: &str = include_str!("../page/kit.js");
const LANGUAGE: &str = include_str!("../page/language.js");
const MONEY: &str = include_str!("../page/money.js");
const PAY_LATER: &str = include_str!("../page/paylater.js");
const SUBSCRIPTION: &str = include_str!("../page/subscription.js");
const THANKS: &str = include_str!("../page/thanks.js");
const WALLET: &str = include_str!("../page/wallet.js");
const MOTIFS: &str = include_str!("../page/motifs.svg");
const ICON: &str = include_str!("../page/icon.svg");

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
/// Where `index.html` wants the address of the drop-in's script.
const ASSET_URL: &str = "{asset_url}";
/// Where it wants the drawings: inside the page, so that the style sheet reaches them.
const DRAWINGS: &str = "{motifs}";

/// The finished pages and what the shop is called by browsers.
#[derive(Debug)]
pub(super) struct Site {
    index: String,
    policy: String,
    appearance: String,
    appearance_policy: String,
    origin: String,
}

/// A file of the shop.
#[derive(Debug, Clone, Copy)]
pub(super) enum File {
    Style,
    Shop,
    Cart,
    Checkout,
    BackOffice,
    Kit,
    Language,
    Money,
    PayLater,
    Subscription,
    Thanks,
    Wallet,
    Appearance,
    Icon,
}

impl Site {
    /// `asset_url` and the origins have been checked: they are plain http(s) addresses.
    pub(super) fn new(asset_url: &str, asset_origin: &str, services: &[String], public_origin: &str) -> Self {
        let filled = |page: &str| page.replace(DRAWINGS, MOTIFS).replace(ASSET_URL, &escape(asset_url));
        Self {
            index: filled(INDEX),
            policy: policy(asset_origin, services, ""),
            appearance: filled(APPEARANCE),
            appearance_policy: policy(asset_origin, services, asset_origin),
            origin: public_origin.to_owned(),
        }
    }

    /// Scheme, host and port of the shop.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The Content-Security-Policy of every answer. The drop-in needs its script and its frame allowed, and nothing else; the currency selector needs
    /// getRates, and the messages about paying later need getPaymentMethods and their provider's script, which the sandbox serves beside the service.
    pub(super) fn policy(&self) -> &str {
        &self.policy
    }

    /// The one page; its script reads the path and shows the shelf, the checkout or a return page.
    pub(super) fn page(&self) -> HttpResponse {
        file("text/html; charset=utf-8", self.index.clone())
    }

    /// The page on which the look of the drop-in is tried. It has the presets' style sheet of the service, so its policy admits that.
    pub(super) fn appearance(&self) -> HttpResponse {
        let mut page = file("text/html; charset=utf-8", self.appearance.clone());
        let policy = header::HeaderValue::from_str(&self.appearance_policy).expect("an origin is printable");
        page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        page
    }
}

impl File {
    /// The file's response.
    pub(super) fn response(self) -> HttpResponse {
        match self {
            Self::Style => file("text/css; charset=utf-8", STYLE),
            Self::Shop => file(JAVASCRIPT, SHOP),
            Self::Cart => file(JAVASCRIPT, CART),
            Self::Checkout => file(JAVASCRIPT, CHECKOUT),
            Self::BackOffice => file(JAVASCRIPT, BACK_OFFICE),
            Self::Kit => file(JAVASCRIPT, KIT),
            Self::Language => file(JAVASCRIPT, LANGUAGE),
            Self::Money => file(JAVASCRIPT, MONEY),
            Self::PayLater => file(JAVASCRIPT, PAY_LATER),
            Self::Subscription => file(JAVASCRIPT, SUBSCRIPTION),
            Self::Thanks => file(JAVASCRIPT, THANKS),
            Self::Wallet => file(JAVASCRIPT, WALLET),
            Self::Appearance => file(JAVASCRIPT, APPEARANCE_SCRIPT),
            Self::Icon => file("image/svg+xml", ICON),
        }
    }
}

fn file(kind: &'static str, body: impl Into<String>) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, kind)).body(body.into())
}

/// `styles` is an origin whose style sheets are admitted too; "" for none.
fn policy(asset_origin: &str, services: &[String], styles: &str) -> String {
    let mut services = services.to_vec();
    services.dedup();
    let connect = services.join(" ");
    services.retain(|origin| origin != asset_origin);
    let scripts: String = services.iter().map(|origin| format!(" {origin}")).collect();
    let styles = if styles.is_empty() { String::new() } else { format!(" {styles}") };
    format!(
        "default-src 'none'; script-src 'self' {asset_origin}{scripts}; frame-src {asset_origin}; style-src 'self'{styles}; \
         connect-src 'self' {connect}; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}
