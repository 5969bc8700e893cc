//! What is created: two items, a parcel, a profile without a reference; about one kilobyte of documents.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dropin_kernel::{BillingProfileId, MerchantId, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_ports::{Actor, AnswerKey, History, KeyUse, NewSession, Remember, StoredAnswer, Subject};
use dropin_session::{BillingChoice, Session, SessionTerms};
use dropin_validation::{
    Address, BillingDetails, BillingProfile, Country, Email, Item, Phone, Region, ShippingDetails, Text, UrlPolicy,
    WebUrl,
};
use uuid::{Builder, Uuid};

/// 128 random bits.
fn bits() -> [u8; 16] {
    let draw = || RandomState::new().build_hasher().finish();
    Uuid::from_u64_pair(draw(), draw().rotate_left(17)).into_bytes()
}

/// A random id.
pub(crate) fn random() -> Uuid {
    Builder::from_random_bytes(bits()).into_uuid()
}

/// An id in the order of time.
fn ordered() -> Uuid {
    let millis = u64::try_from(now().micros() / 1_000).unwrap();
    Builder::from_unix_timestamp_millis(millis, bits().first_chunk().unwrap()).into_uuid()
}

fn now() -> Timestamp {
    Timestamp::from_micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros().try_into().unwrap())
}

fn text(raw: &str) -> Text {
    Text::parse("Text", raw).unwrap()
}

fn address() -> Address {
    Address {
        street: text("1 Main Street"),
        city: text("San Francisco"),
        region: Region::restore("US-CA"),
        country: Country::parse("Country", "US").unwrap(),
        postcode: Some(text("94105")),
        phone: None,
    }
}

/// Another Session like `known`, asked for with a key on request.
pub(crate) fn like(known: &NewSession, with_key: bool) -> NewSession {
    let mut new = known.clone();
    new.session.id = SessionId::new(random());
    new.session.terms.merchant_reference = text(&format!("order-{}", random()));
    new.session.terms.billing.id = BillingProfileId::new(ordered());
    new.history.subject = Subject::Session(new.session.id);
    new.remember = with_key.then(|| {
        let mut digest = [0; 32];
        digest[..16].copy_from_slice(&bits());
        let key = AnswerKey { merchant_id: new.session.merchant_id, digest };
        let key_use = KeyUse { key, fingerprint: [0; 32], at: new.session.created_at, until: new.session.expires_at };
        Remember { key_use, answer: StoredAnswer { status: 201, etag: None, body: vec![b' '; 1_000] } }
    });
    new
}

/// A Session.
pub(crate) fn session(merchant: MerchantId) -> NewSession {
    let usd = |minor| Amount::from_minor(Currency::Usd, minor).unwrap();
    let url = |raw| WebUrl::parse("Url", raw, UrlPolicy::Sandbox).unwrap();
    let details = BillingDetails {
        reference: None,
        name: text("Ana Shopper"),
        email: Email::parse("Email", "ana@shop.example").unwrap(),
        phone: Phone::restore("+1 555 123 4567"),
        birth_date: None,
        national_identifier: None,
        company: None,
        address: address(),
    };
    let shipping = ShippingDetails {
        shipping_amount: usd(500),
        duty_amount: usd(0),
        name: text("Ana Shopper"),
        email: Email::parse("Email", "ana@shop.example").unwrap(),
        phone: Phone::restore("+1 555 123 4567").unwrap(),
        address: address(),
    };
    let terms = SessionTerms {
        merchant_reference: text(&format!("order-{}", random())),
        auto_capture: true,
        complete_url: url("https://shop.example/paid?session={SessionId}"),
        cancel_url: url("https://shop.example/cart"),
        currency: Currency::Usd,
        items: vec![
            Item { name: text("Shirt"), amount: usd(2_990), quantity: 1 },
            Item { name: text("Socks"), amount: usd(499), quantity: 2 },
        ],
        via_agent: false,
        shipping: Some(shipping),
        tax: Some(usd(100)),
        discounts: None,
        allow_contract: None,
        open_contract: None,
        rate: None,
        total: usd(2_990 + 499 + 500 + 100),
        billing_choice: BillingChoice::Supplied,
        billing: BillingProfile { id: BillingProfileId::new(ordered()), details },
    };
    let at = now();
    let session = Session::create(SessionId::new(random()), merchant, terms, at, at.plus(Duration::from_secs(86_400)));
    let history = History {
        merchant_id: merchant,
        subject: Subject::Session(session.id),
        actor: Actor::Merchant("bench".to_owned()),
        what: "CREATE",
        at,
        before: None,
        after: "CREATED",
    };
    NewSession { session, history, remember: None }
}
