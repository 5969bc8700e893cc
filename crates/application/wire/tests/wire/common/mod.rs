//! A request, and the Session and Order it leads to.

use dropin_kernel::{
    AttemptId, BillingProfileId, LedgerTransactionId, MerchantId, OrderId, ParseIdError, SessionId, Timestamp,
};
use dropin_money::{Amount, Currency};
use dropin_order::FailureReason;
use dropin_order::{BankDetails, NewOrder, Order};
use dropin_session::{CancelReason, Session, SessionState};
use dropin_validation::{BillingProfile, UrlPolicy};
use dropin_wire::RequestError;
use dropin_wire::session::{DraftContext, RequestedBilling, RequestedRate, SessionDraft, SessionRequest};

pub(crate) const READING: DraftContext =
    DraftContext { url_policy: UrlPolicy::Production, today: time::macros::date!(2026 - 11 - 21) };

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_795_000_000_000_000);

/// When what waits at `NOW` ends.
pub(crate) const LATER: Timestamp = Timestamp::from_micros(1_795_086_400_000_000);

/// A valid request without a member that could be left out.
pub(crate) const SMALLEST: &str = r#"{
    "MerchantReference": "order-1", "AutoCapture": true, "Currency": "USD",
    "CompleteUrl": "https://shop.example/paid", "CancelUrl": "https://shop.example/cart",
    "Items": [{"Name": "Mug", "Amount": 29.90, "Quantity": 1}],
    "BillingProfile": {"Name": "Ana", "Email": "ana@shop.example",
        "Address": {"Street": "Hauptstr. 1", "City": "Berlin", "Country": "DE"}}
}"#;

/// A valid request with every member.
pub(crate) const LARGEST: &str = r#"{
    "MerchantReference": " order-1 ", "AutoCapture": false, "Currency": "USD", "ViaAgent": true,
    "CompleteUrl": "https://shop.example/paid", "CancelUrl": "https://shop.example/cart",
    "Items": [{"Name": "Mug", "Amount": 29.9, "Quantity": 2.0}, {"Name": "Bag", "Amount": 1e1, "Quantity": 1}],
    "TaxAmount": 3.10, "Discounts": [{"Name": "Sale", "Amount": 5}],
    "ShippingDetails": {"ShippingAmount": 4.5, "DutyAmount": 0, "Name": "Ana", "Email": "ana@shop.example",
        "Phone": "+1 213 373 4253",
        "Address": {"Street": "1 Main St", "City": "LA", "Region": "CA", "Country": "US", "Postcode": "90001"}},
    "BillingProfile": {"BillingProfileReference": "ana-1", "Name": "Ana", "Email": "ana@shop.example", "Phone": "+5511987654321",
        "Birthdate": "1980-05-04", "NationalIdentifier": "36.002.518/0001-01", "Company": "Loja Ltda",
        "Address": {"Street": "Rua 1", "City": "São Paulo", "Country": "BR", "Postcode": "01000-000", "Phone": "+5511987654322"}},
    "AllowContract": false, "OpenContract": null, "SettlementAmount": 1e999
}"#;

pub(crate) fn parse(body: impl AsRef<[u8]>) -> Result<SessionDraft, RequestError> {
    let input = SessionRequest::read(body.as_ref())?;
    // No merchant has any offer here.
    let rate = if input.rate_offer_id.is_some() { RequestedRate::found(None, NOW) } else { RequestedRate::None };
    Ok(SessionDraft::parse(&input, READING, &rate)?)
}

/// The field errors as `Field CODE`.
#[track_caller]
pub(crate) fn refused(body: impl AsRef<[u8]>) -> Vec<String> {
    fields(parse(body).unwrap_err())
}

#[track_caller]
pub(crate) fn fields(error: RequestError) -> Vec<String> {
    match error {
        RequestError::Fields(all) => all.iter().map(|one| format!("{} {}", one.field, one.code.as_str())).collect(),
        RequestError::Malformed(why) => panic!("{why}"),
    }
}

pub(crate) fn id<T: std::str::FromStr<Err = ParseIdError>>(last: u8) -> T {
    format!("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f8091{last:02x}").parse().unwrap()
}

pub(crate) fn session(body: &str) -> Session {
    let draft = parse(body).unwrap();
    let RequestedBilling::Supplied(details) = draft.billing.clone() else { panic!("not supplied") };
    let terms = draft.into_terms(BillingProfile { id: id::<BillingProfileId>(9), details: *details });
    let expires_at = NOW.plus(std::time::Duration::from_secs(86_400));
    Session::create(id::<SessionId>(1), id::<MerchantId>(2), terms, 5, NOW, expires_at).unwrap()
}

pub(crate) fn in_state(session: Session, state: SessionState) -> Session {
    session.edited(|parts| parts.state = state).unwrap()
}

pub(crate) fn completed(body: &str) -> (Session, Order) {
    let session = session(body);
    let order = authorized(&session);
    let state = SessionState::Completed { order: order.id, attempt: id::<AttemptId>(4) };
    (in_state(session, state), order)
}

pub(crate) fn failed(body: &str) -> Session {
    let (order, attempt, reason) = (id::<OrderId>(3), id::<AttemptId>(4), FailureReason::InsufficientFunds);
    in_state(session(body), SessionState::Failed { order, attempt, reason })
}

pub(crate) fn expired(body: &str) -> Session {
    in_state(session(body), SessionState::Cancelled { reason: CancelReason::Expired })
}

/// An Order that was just started, with a Session or server to server.
pub(crate) fn started(session: Option<&Session>, method: &str) -> Order {
    let new = NewOrder {
        id: id::<OrderId>(3),
        merchant_id: id::<MerchantId>(2),
        session_id: session.map(|session| session.id),
        attempt_id: session.map(|_| id::<AttemptId>(4)),
        merchant_reference: "order-1".to_owned(),
        total: Amount::from_minor(Currency::Usd, 2_990).unwrap(),
        auto_capture: session.is_some_and(|session| session.terms.auto_capture),
        payment_method: method.to_owned(),
        return_url: None,
    };
    Order::start(new, NOW)
}

pub(crate) fn ledger() -> LedgerTransactionId {
    id::<LedgerTransactionId>(5)
}

pub(crate) fn bank_details() -> Box<BankDetails> {
    let text = |text: &str| Some(text.to_owned());
    Box::new(BankDetails {
        account_holder: text("Ana's mugs"),
        iban: text("DE02120300000000202051"),
        payment_reference: text("order-1"),
        ..BankDetails::default()
    })
}

fn authorized(session: &Session) -> Order {
    let order = started(Some(session), "VISA").edited(|parts| parts.total = session.terms.total).unwrap();
    let total = order.total;
    order.authorized(&total, false, LATER, ledger(), NOW).unwrap().change.next
}
