//! Values for cases: each new id once, instants from one fixed start, and terms that use every field.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dropin_access::{
    ApiUser, AuditAction, Endpoint, Merchant, MerchantParts, Origin, PasswordHash, Permissions, SealedSecret,
};
use dropin_card::{Scheme, StashedKind};
use dropin_kernel::{
    ApiUserId, BillingProfileId, ContractId, EndpointId, EventId, LedgerTransactionId, MerchantId, OpId, OrderId,
    RateOfferId, SessionId, Timestamp,
};
use dropin_money::{Amount, Currency};
use dropin_order::{BankDetails, NewOrder, Operation, Order, OrderParts};
use dropin_ports::{
    Acting, Actor, AuditSubject, KeyUse, NewAuditEntry, NewEvent, NewHistoryEntry, NewMerchant, NewSession,
    ReplaceSession, RequestKey, SealedCard, StashEntry, StashFound, StashKey, StashSummary, Subject,
};
use dropin_rates::ExchangeRate;
use dropin_session::{BillingChoice, SaleRate, SaleRateParts, Session, SessionParts, SessionTerms, SessionTermsParts};
use dropin_validation::{
    Address, BillingDetails, BillingProfile, BirthDate, Country, Discount, Email, Item, Phone, Region, ShippingDetails,
    Text, Totals, UrlPolicy, WebUrl, total_amount,
};
use time::macros::date;
use uuid::Uuid;

/// When every case begins.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_790_000_000_123_456);

/// An id that was never given before, in this process or another.
pub fn fresh() -> Uuid {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    static COUNT: AtomicU64 = AtomicU64::new(1);
    Uuid::from_u64_pair(*PROCESS, COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// `count` seconds after the start.
pub(crate) fn at(count: u64) -> Timestamp {
    START.plus(seconds(count))
}

/// A text as a row may hold it, hidden characters of before they were refused included.
pub(crate) fn text(raw: &str) -> Text {
    Text::restore(raw).unwrap()
}

pub(crate) fn minor(currency: Currency, minor: i64) -> Amount {
    Amount::from_minor(currency, minor).unwrap()
}

/// An entry of the audit log, by a command.
pub fn audit_entry(
    action: AuditAction,
    merchant: Option<MerchantId>,
    subject: impl Into<AuditSubject>,
) -> NewAuditEntry {
    let by = Acting::new(Actor::CommandLine("root".to_owned()), None);
    NewAuditEntry::new(fresh(), at(0), by, merchant, action, subject)
}

/// An entry of the audit log where it does not matter which.
pub fn audited() -> NewAuditEntry {
    audit_entry(AuditAction::MerchantChange, None, AuditSubject::deployment())
}

/// A merchant with a user, and an endpoint on request.
pub fn new_merchant(endpoint: bool) -> NewMerchant {
    let id = MerchantId::new(fresh());
    let parts = MerchantParts {
        id,
        name: "Café Größe 🛍️ 商店".to_owned(),
        currencies: vec![Currency::Usd, Currency::Kwd, Currency::Jpy, Currency::Eur],
        origins: ["https://shop.example", "http://localhost:8081"].map(|raw| Origin::parse(raw).unwrap()).to_vec(),
        session_lifetime: Duration::from_micros(86_400_000_001),
        attempts_allowed: 5,
        saved_cards: Default::default(),
        screening: Default::default(),
        processors: Default::default(),
        methods: Default::default(),
        sandbox: true,
        created_at: START,
    };
    let merchant = Merchant::restore(parts).unwrap();
    let audit = audit_entry(AuditAction::MerchantCreate, Some(id), id);
    NewMerchant { merchant, user: new_user(id), endpoint: endpoint.then(|| new_endpoint(id)), audit }
}

/// A user with every permission.
pub(crate) fn new_user(merchant: MerchantId) -> ApiUser {
    let password = PasswordHash(vec![0, 255, 1, 254]);
    ApiUser::new(ApiUserId::new(fresh()), merchant, format!("user-{}", fresh()), password, Permissions::all())
}

pub(crate) fn new_endpoint(merchant: MerchantId) -> Endpoint {
    let secret = SealedSecret((0..=255).collect());
    Endpoint::new(EndpointId::new(fresh()), merchant, "https://shop.example/hook?a=b".to_owned(), secret)
}

fn address() -> Address {
    Address {
        street: text("12 Rue de l'Église 🏠"),
        city: text("Saint-Étienne"),
        region: None,
        country: Country::parse("Country", "FR").unwrap(),
        postcode: Some(text("42000")),
        phone: Phone::restore("+33 1 23 45 67 89"),
    }
}

/// A profile with every field.
pub(crate) fn profile(reference: Option<&str>) -> BillingProfile {
    BillingProfile {
        id: BillingProfileId::new(fresh()),
        details: BillingDetails {
            reference: reference.map(text),
            name: text("Ana \"Quote\" O\u{2019}Neill \\ 🙂"),
            email: Email::parse("Email", "ana@shop.example").unwrap(),
            phone: Phone::restore("(555) 123-4567"),
            birth_date: BirthDate::restore(date!(2000 - 02 - 29)),
            national_identifier: Some(text("ABCDE1234F")),
            company: Some(text("Ana & Söhne <GmbH>")),
            address: Address {
                region: Region::restore("US-CA"),
                country: Country::parse("Country", "US").unwrap(),
                ..address()
            },
        },
    }
}

/// A profile with no field that may be absent.
pub(crate) fn bare_profile() -> BillingProfile {
    let mut profile = profile(None);
    profile.details.phone = None;
    profile.details.birth_date = None;
    profile.details.national_identifier = None;
    profile.details.company = None;
    profile.details.address = Address { region: None, postcode: None, phone: None, ..address() };
    profile
}

fn web_url(raw: &str) -> WebUrl {
    WebUrl::parse("Url", raw, UrlPolicy::Sandbox).unwrap()
}

/// With the sum of the rest as their total.
fn summed(mut terms: SessionTermsParts) -> SessionTerms {
    terms.total = total_amount(Totals {
        currency: terms.currency,
        items: &terms.items,
        tax: terms.tax.as_ref(),
        shipping_and_duty: terms.shipping.as_ref().map(|to| (&to.shipping_amount, &to.duty_amount)),
        discounts: terms.discounts.as_deref().unwrap_or_default(),
        open_contract: false,
    })
    .unwrap();
    SessionTerms::restore(terms).unwrap()
}

/// The fewest terms there can be, for 29.90 USD, under a reference of their own.
pub(crate) fn terms() -> SessionTerms {
    let usd = Currency::Usd;
    summed(SessionTermsParts {
        merchant_reference: text(&format!("order-{}", fresh())),
        auto_capture: false,
        complete_url: web_url("https://shop.example/paid?session={SessionId}"),
        cancel_url: web_url("http://127.0.0.1:8081/cart"),
        currency: usd,
        items: vec![Item { name: text("Shirt"), amount: minor(usd, 2_990), quantity: 1 }],
        via_agent: false,
        shipping: None,
        tax: None,
        discounts: None,
        allow_contract: None,
        contract_id: None,
        open_contract: None,
        total: Amount::zero(usd),
        rate: None,
        billing_choice: BillingChoice::Supplied,
        billing: bare_profile(),
    })
}

/// The guaranteed rate of a sale in `currency`, whatever it settles for.
pub(crate) fn sale_rate(currency: Currency) -> SaleRate {
    let parts = SaleRateParts {
        offer_id: RateOfferId::new(fresh()),
        rate: ExchangeRate::new(Currency::Bhd, currency, "0.000000010203040506".parse().unwrap()).unwrap(),
        settlement: minor(Currency::Bhd, 999_999_999_999_999),
        expires_at: at(3_600),
    };
    SaleRate::restore(parts).unwrap()
}

/// Terms that use every field, at the edges of what is allowed.
pub(crate) fn full_terms() -> SessionTerms {
    let kwd = Currency::Kwd;
    let items = vec![
        Item { name: text("Ring 💍"), amount: minor(kwd, 999_999_999_989_998), quantity: 1_000_000 },
        Item { name: text(&"é".repeat(255)), amount: minor(kwd, 0), quantity: 1 },
        Item { name: text("a\u{202e}b {\"json\": null}"), amount: minor(kwd, 1), quantity: 3 },
    ];
    let shipping = ShippingDetails {
        shipping_amount: minor(kwd, 1_999),
        duty_amount: minor(kwd, 7_000),
        name: text("家族 👨‍👩‍👧‍👦"),
        email: Email::parse("Email", "home@shop.example").unwrap(),
        phone: Phone::restore("+1 (555) 123-4567").unwrap(),
        address: address(),
    };
    summed(SessionTermsParts {
        auto_capture: true,
        currency: kwd,
        items,
        via_agent: true,
        shipping: Some(shipping),
        tax: Some(minor(kwd, 1_001)),
        discounts: Some(vec![Discount { name: text("Spring"), amount: minor(kwd, 2) }]),
        allow_contract: Some(false),
        contract_id: Some(ContractId::new(fresh())),
        open_contract: Some(false),
        rate: Some(sale_rate(kwd)),
        billing: profile(Some("customer-1")),
        ..terms().into_parts()
    })
}

/// The fewest terms there can be, but for an edit.
pub(crate) fn terms_with(edit: impl FnOnce(&mut SessionTermsParts)) -> SessionTerms {
    terms().edited(edit).unwrap()
}

pub(crate) fn new_session(merchant: MerchantId, terms: SessionTerms) -> Session {
    Session::create(SessionId::new(fresh()), merchant, terms, 5, START, at(86_400)).unwrap()
}

/// A Session under a reference of its own, to be inserted.
pub fn insertable(merchant: MerchantId) -> NewSession {
    insertable_with(merchant, |_| {})
}

/// A Session with edited terms, to be inserted.
pub fn insertable_with(merchant: MerchantId, edit: impl FnOnce(&mut SessionTermsParts)) -> NewSession {
    let session = new_session(merchant, terms_with(edit));
    NewSession { history: of_session(&session, "CREATE", session.created_at), session, response: None }
}

/// A replacement of a Session's terms, decided five seconds after the start.
pub fn replacement(session: &Session, terms: SessionTerms) -> ReplaceSession {
    let (change, _) = session.as_created().unwrap().replace(terms, at(5));
    ReplaceSession { history: of_session(&change.next, "REPLACE", at(5)), change, response: None }
}

pub(crate) fn of_session(session: &Session, what: &'static str, at: Timestamp) -> NewHistoryEntry {
    NewHistoryEntry {
        merchant_id: session.merchant_id,
        subject: Subject::Session(session.id),
        actor: Actor::Merchant("user-1".to_owned()),
        what,
        at,
        before: None,
        after: session.state.kind().as_str(),
    }
}

pub(crate) fn of_order(order: &Order, what: &'static str, at: Timestamp) -> NewHistoryEntry {
    NewHistoryEntry {
        merchant_id: order.merchant_id,
        subject: Subject::Order(order.id),
        actor: Actor::System,
        what,
        at,
        before: Some("PROCESSING"),
        after: order.state.as_str(),
    }
}

pub(crate) fn event(session: &Session, event_type: &'static str, at: Timestamp) -> NewEvent {
    NewEvent {
        id: EventId::new(fresh()),
        merchant_id: session.merchant_id,
        payment_id: session.payment_id(),
        event_type,
        body: format!("{{\"EventType\":\"{event_type}\",\"Exact\":  29.90}}\u{0}\n").into_bytes(),
        at,
    }
}

/// The bytes that are kept of an event that was told with `body`: its Sequence is its first member.
pub(crate) fn sequenced(body: &[u8], sequence: i64) -> Vec<u8> {
    [format!("{{\"Sequence\":{sequence},").as_bytes(), &body[1..]].concat()
}

/// A notification about an Order.
pub(crate) fn order_event(order: &Order, event_type: &'static str, at: Timestamp) -> NewEvent {
    NewEvent {
        id: EventId::new(fresh()),
        merchant_id: order.merchant_id,
        payment_id: order.payment_id(),
        event_type,
        body: format!("{{\"Revision\":{}}}", order.revision.number()).into_bytes(),
        at,
    }
}

/// What is known of an [`entry`].
pub(crate) const VISA: StashSummary = StashSummary { kind: StashedKind::Card(Some(Scheme::Visa)), usable: true };

/// What a look at the entry finds.
pub(crate) fn found(entry: &StashEntry) -> StashFound {
    StashFound { summary: entry.summary, key_id: entry.sealed.key_id.clone() }
}

pub(crate) fn entry(merchant: MerchantId, expires_at: Timestamp) -> StashEntry {
    let key =
        StashKey { merchant_id: merchant, stash_id: format!("stash-{}", fresh()), fingerprint: "browser".to_owned() };
    StashEntry {
        key,
        sealed: SealedCard { key_id: "2026112110".to_owned(), bytes: vec![0, 1, 2, 255] },
        summary: VISA,
        created_at: START,
        expires_at,
    }
}

pub(crate) fn new_order(session: &Session, now: Timestamp) -> Order {
    Order::start(
        NewOrder {
            id: OrderId::new(fresh()),
            merchant_id: session.merchant_id,
            session_id: Some(session.id),
            attempt_id: session.state.attempt(),
            merchant_reference: session.terms.merchant_reference.as_str().to_owned(),
            total: session.terms.total,
            auto_capture: session.terms.auto_capture,
            payment_method: "VISA".to_owned(),
            return_url: None,
        },
        now,
    )
}

/// The Order of a server-to-server checkout over 29.90 USD.
pub(crate) fn checkout_order(merchant: MerchantId, reference: &str, now: Timestamp) -> Order {
    Order::start(
        NewOrder {
            id: OrderId::new(fresh()),
            merchant_id: merchant,
            session_id: None,
            attempt_id: None,
            merchant_reference: reference.to_owned(),
            total: minor(Currency::Usd, 2_990),
            auto_capture: true,
            payment_method: "PAYPAL".to_owned(),
            return_url: Some("https://shop.example/back?a=b&c=\u{e9}".to_owned()),
        },
        now,
    )
}

pub(crate) fn authorization(order: &Order, now: Timestamp) -> Operation {
    Operation::authorize(OpId::new(fresh()), order.id, order.total, now, now.plus(seconds(10)))
}

pub(crate) fn posting() -> LedgerTransactionId {
    LedgerTransactionId::new(fresh())
}

/// A key that was never used before, of a request at the tenth second.
pub fn new_key(merchant_id: MerchantId) -> KeyUse {
    let mut digest = [0x6b; 32];
    digest[..16].copy_from_slice(fresh().as_bytes());
    KeyUse { key: RequestKey { merchant_id, digest }, fingerprint: [7; 32], at: at(10), until: at(999) }
}

/// An account with every field.
pub(crate) fn bank_details() -> BankDetails {
    BankDetails {
        account_holder: Some("Dröpin \"GmbH\" & Söhne".to_owned()),
        account_number: Some("0532013000".to_owned()),
        bank_name: Some("Bank \\ Größe 🏦".to_owned()),
        city: Some("Köln".to_owned()),
        country: Some("DE".to_owned()),
        iban: Some("DE89370400440532013000".to_owned()),
        payment_reference: Some(String::new()),
        swift_code: Some("COBADEFFXXX".to_owned()),
        extra_bank_data: Some("{\"aba\": null}".to_owned()),
    }
}

/// The same Session with other parts, without a move of its life.
pub(crate) fn edited(session: &Session, edit: impl FnOnce(&mut SessionParts)) -> Session {
    session.clone().edited(edit).unwrap()
}

/// Changes parts of an Order without a step of its life.
pub(crate) fn edit(order: &mut Order, edit: impl FnOnce(&mut OrderParts)) {
    *order = order.clone().edited(edit).unwrap();
}
