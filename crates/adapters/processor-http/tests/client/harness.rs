//! A sandbox processor on a free port, our client for it, and what to ask.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use actix_web::{App, HttpServer, rt};
use dropin_card::Card;
use dropin_kernel::{MerchantId, OpId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_order::OpKind;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, IssuerChecks, OperationQuery, PaymentMethodData, Processor, ProcessorReply,
    StatusReply, Waiting,
};
use dropin_processor_http::{HttpProcessor, ProcessorConfig};
use sandbox_processor::{Config, Hosting, SandboxProcessor, Waits};
use uuid::Uuid;

pub(crate) const KEY: &str = "key-of-this-test";
/// Longer than anything here takes.
pub(crate) const PATIENT: Duration = Duration::from_secs(5);
pub(crate) const PLAIN: &str = "4242424242424242";

/// A sandbox processor on a free port, and our client for it.
pub(crate) struct Harness {
    pub(crate) processor: HttpProcessor,
    pub(crate) base: String,
    _data: tempfile::TempDir,
}

pub(crate) async fn harness(deadline: Duration) -> Harness {
    harness_with(deadline, Waits::default()).await
}

pub(crate) async fn harness_with(deadline: Duration, waits: Waits) -> Harness {
    let data = tempfile::tempdir().unwrap();
    let config = Config {
        database: data.path().join("processor.db"),
        key: KEY.to_owned(),
        capture_delay: Duration::from_millis(200),
        silence: Duration::from_secs(60),
    };
    let sandbox = SandboxProcessor::open_with(config, Hosting { waits, ..Hosting::default() }).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = HttpServer::new(move || App::new().configure(sandbox.configure()))
        .workers(1)
        .disable_signals()
        .listen(listener)
        .unwrap()
        .run();
    rt::spawn(server);
    Harness { processor: HttpProcessor::start(config_for(&base, deadline)).unwrap(), base, _data: data }
}

pub(crate) fn config_for(base: &str, deadline: Duration) -> ProcessorConfig {
    ProcessorConfig::new(base, KEY.to_owned(), deadline).unwrap()
}

pub(crate) fn key() -> OpId {
    OpId::new(Uuid::new_v4())
}

/// A merchant that has asked for nothing yet.
pub(crate) fn merchant() -> MerchantId {
    MerchantId::new(Uuid::new_v4())
}

/// A question about an authorization.
pub(crate) fn about(key: OpId) -> OperationQuery {
    question(key, OpKind::Authorize)
}

pub(crate) fn question(key: OpId, kind: OpKind) -> OperationQuery {
    OperationQuery { processor: None, key, merchant_id: merchant(), kind, reference: None }
}

pub(crate) fn eur(minor: i64) -> Amount {
    Amount::from_minor(Currency::Eur, minor).unwrap()
}

/// Pays with a card; the shopper can be sent to a page.
pub(crate) fn card(key: OpId, number: &str, minor: i64) -> AuthorizeRequest {
    asking(key, PaymentMethodData::Card(Card::new("Ana", number, "123", "2031", "12")), minor)
}

/// Pays with a method of the catalogue.
pub(crate) fn method(key: OpId, id: &str, minor: i64) -> AuthorizeRequest {
    asking(key, PaymentMethodData::Method(id.to_owned()), minor)
}

pub(crate) fn asking(key: OpId, method_data: PaymentMethodData, minor: i64) -> AuthorizeRequest {
    let order_id = OrderId::new(Uuid::new_v4());
    let return_url = Some("https://shop.example/back".to_owned());
    AuthorizeRequest {
        processor: None,
        merchant_reference: "order-1".to_owned(),
        payment_method: "VISA".to_owned(),
        payment_reference: None,
        key,
        merchant_id: merchant(),
        reference: None,
        order_id,
        amount: eur(minor),
        method_data,
        scheme: None,
        store: None,
        return_url,
        country: Some("NL".to_owned()),
        postcode: None,
        challenge: false,
        exemption: None,
    }
}

pub(crate) fn capture(authorization: OpId, minor: i64) -> CaptureRequest {
    CaptureRequest {
        processor: None,
        key: key(),
        merchant_id: merchant(),
        authorization,
        reference: None,
        amount: eur(minor),
    }
}

pub(crate) fn approved(minor: i64) -> ProcessorReply {
    checked(minor, IssuerChecks::default())
}

/// An authorization of a card, as [`card`] sends it, whose shopper had to authenticate or not.
pub(crate) fn authorized(minor: i64, authenticated: bool) -> ProcessorReply {
    checked(minor, IssuerChecks { authenticated: Some(authenticated), ..CODE_MATCHES })
}

/// An authorization of a card of which the issuer says this.
pub(crate) fn checked(minor: i64, checks: IssuerChecks) -> ProcessorReply {
    let amount = Some(eur(minor));
    ProcessorReply::Approved { amount, captured: false, under_review: false, credential: None, checks }
}

/// What is known of a card whose code is right, and whose shopper was asked for nothing.
pub(crate) const CODE_MATCHES: IssuerChecks = IssuerChecks {
    address_matches: None,
    code_matches: Some(true),
    authenticated: Some(false),
    card_country: None,
    funding: None,
};

impl Harness {
    /// Asks until the operation is no longer pending, and gives what became of it.
    pub(crate) async fn outcome(&self, key: OpId, kind: OpKind) -> ProcessorReply {
        let begun = Instant::now();
        loop {
            match self.processor.status(question(key, kind)).await {
                StatusReply::Known(ProcessorReply::Pending(_)) => {}
                StatusReply::Known(answer) => return answer,
                other => panic!("{other:?}"),
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "still pending");
            rt::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Begins an authorization that sends the shopper to a page, and gives the page.
    pub(crate) async fn page_of(&self, request: AuthorizeRequest) -> String {
        match self.processor.authorize(request).await {
            ProcessorReply::Pending(Waiting::Shopper { page, until: Some(_) }) => page,
            other => panic!("{other:?}"),
        }
    }
}

/// Opens a hosted page and presses one of its buttons, as a shopper does.
pub(crate) async fn press(page: &str, choice: &str) {
    let client = awc::Client::builder().disable_redirects().finish();
    let text = client.get(page).send().await.unwrap().body().await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    let (_, rest) = text.split_once("name=\"form\" value=\"").unwrap_or_else(|| panic!("no form: {text}"));
    let form = [("form", rest.split_once('"').unwrap().0), ("choice", choice)];
    let pressed = client.post(page).send_form(&form).await.unwrap();
    assert_eq!(pressed.status().as_u16(), 303, "{choice}");
}
