//! Sessions and their terms from stored parts: what fits comes back equal, what does not is refused with the reason.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_kernel::{
    AttemptId, BillingProfileId, MerchantId, OrderId, RateOfferId, Revision, SessionId, Timestamp, uuid::Uuid,
};
use dropin_money::{Amount, Currency, Decimal};
use dropin_order::FailureReason;
use dropin_rates::Offer;
use dropin_session::{
    Attempts, CancelReason, DraftContext, FailedAttempt, InvalidAttempts, InvalidSaleRate, InvalidSession,
    InvalidSessionTerms, MAX_ATTEMPTS, RequestedBilling, RequestedRate, SaleRate, SaleRateParts, Session, SessionDraft,
    SessionInput, SessionParts, SessionState, SessionStateKind, SessionTerms, SessionTermsParts,
};
use dropin_validation::{
    AddressInput, BillingInput, BillingProfile, DiscountInput, ItemInput, MAX_ITEMS, ShippingInput, UrlPolicy,
};

/// A change that makes parts not belong together.
type Edit<'a> = Box<dyn FnOnce(&mut SessionTermsParts) + 'a>;

const CREATED_AT: Timestamp = Timestamp::from_micros(1_000_000);
const EXPIRES_AT: Timestamp = Timestamp::from_micros(61_000_000);
const ALLOWED: u32 = 3;

fn amount(currency: Currency, minor: i64) -> Amount {
    Amount::from_minor(currency, minor).unwrap()
}

/// What a request of 30.00 + 2.00 + 4.00 + 1.00 - 7.00 USD leads to, at a rate for euros.
fn terms() -> SessionTerms {
    let address = AddressInput {
        street: "1 Main Street".to_owned(),
        city: "Berlin".to_owned(),
        country: "DE".to_owned(),
        ..AddressInput::default()
    };
    let (name, email) = ("Ana".to_owned(), "ana@shop.example".to_owned());
    let shipping = ShippingInput {
        shipping_amount: Decimal::parse("4"),
        duty_amount: Decimal::parse("1"),
        name: name.clone(),
        email: email.clone(),
        phone: "+49 30 123456".to_owned(),
        address: address.clone(),
    };
    let input = SessionInput {
        merchant_reference: "order-1".to_owned(),
        auto_capture: true,
        complete_url: "https://shop.example/paid".to_owned(),
        cancel_url: "https://shop.example/cart".to_owned(),
        currency: None,
        items: vec![ItemInput { name: "Mug".to_owned(), amount: Decimal::parse("30"), ..ItemInput::default() }],
        billing_profile: Some(BillingInput { name, email, address, ..BillingInput::default() }),
        billing_profile_reference: None,
        billing_profile_id: None,
        via_agent: None,
        shipping: Some(shipping),
        tax: Some(Decimal::parse("2")),
        discounts: Some(vec![DiscountInput { name: "Sale".to_owned(), amount: Decimal::parse("7") }]),
        rate_offer_id: None,
        allow_contract: None,
        contract_id: None,
        open_contract: None,
    };
    let offer = Offer {
        id: RateOfferId::new(Uuid::from_u128(5)),
        merchant_id: MerchantId::new(Uuid::from_u128(2)),
        rate: "EUR/USD 1.2".parse().unwrap(),
        created_at: CREATED_AT,
        expires_at: EXPIRES_AT,
    };
    let context = DraftContext { url_policy: UrlPolicy::Production, today: CREATED_AT.to_offset_date_time().date() };
    let draft = SessionDraft::parse(&input, context, &RequestedRate::Offer(offer)).unwrap();
    assert_eq!(draft.currency(), Currency::Usd);
    let RequestedBilling::Supplied(details) = draft.billing.clone() else { panic!("not supplied") };
    draft.into_terms(BillingProfile { id: BillingProfileId::new(Uuid::from_u128(3)), details: *details })
}

fn create(attempts_allowed: u32, expires_at: Timestamp) -> Result<Session, InvalidSession> {
    let (id, merchant_id) = (SessionId::new(Uuid::from_u128(1)), MerchantId::new(Uuid::from_u128(2)));
    Session::create(id, merchant_id, terms(), attempts_allowed, CREATED_AT, expires_at)
}

fn session() -> Session {
    create(ALLOWED, EXPIRES_AT).unwrap()
}

fn attempts(failed: u32) -> Attempts {
    let attempt = AttemptId::new(Uuid::from_u128(u128::from(10 + failed)));
    let last_failed = (0 < failed).then_some(FailedAttempt { attempt, reason: FailureReason::Declined });
    Attempts::restore(failed, ALLOWED, last_failed).unwrap()
}

fn states() -> [SessionState; 6] {
    let (order, attempt) = (OrderId::new(Uuid::from_u128(8)), AttemptId::new(Uuid::from_u128(9)));
    [
        SessionState::Created,
        SessionState::Processing { order, attempt },
        SessionState::Redirected { order, attempt },
        SessionState::Completed { order, attempt },
        SessionState::Cancelled { reason: CancelReason::Expired },
        SessionState::Failed { order, attempt, reason: FailureReason::Stopped },
    ]
}

/// Why the terms are refused after the edit.
#[track_caller]
fn refused(edit: impl FnOnce(&mut SessionTermsParts)) -> InvalidSessionTerms {
    terms().edited(edit).unwrap_err()
}

#[test]
fn the_terms_of_a_request_come_back_equal() {
    let parts = terms().into_parts();
    assert_eq!((parts.currency, parts.total), (Currency::Usd, amount(Currency::Usd, 30_00)));
    assert_eq!(SessionTerms::restore(parts), Ok(terms()));
    let bare = |parts: &mut SessionTermsParts| {
        (parts.tax, parts.discounts, parts.shipping, parts.rate) = (None, None, None, None);
    };
    assert!(terms().edited(bare).is_ok(), "the parts that were left out come to nothing");
}

#[test]
fn terms_in_two_currencies_are_refused() {
    let yen = |minor| amount(Currency::Jpy, minor);
    let in_yen = |sale: SaleRate| {
        SaleRate::restore(SaleRateParts { rate: "EUR/JPY 180".parse().unwrap(), ..sale.into_parts() }).unwrap()
    };
    let edits: [Edit<'_>; 8] = [
        Box::new(|parts| parts.currency = Currency::Jpy),
        Box::new(|parts| parts.total = yen(30_00)),
        Box::new(|parts| parts.items[0].amount = yen(30_00)),
        Box::new(|parts| parts.tax = Some(yen(2_00))),
        Box::new(|parts| parts.discounts.as_mut().unwrap()[0].amount = yen(7_00)),
        Box::new(|parts| parts.shipping.as_mut().unwrap().shipping_amount = yen(4_00)),
        Box::new(|parts| parts.shipping.as_mut().unwrap().duty_amount = yen(1_00)),
        Box::new(|parts| parts.rate = parts.rate.take().map(in_yen)),
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        assert_eq!(refused(edit), InvalidSessionTerms::MixedCurrencies, "{number}");
    }
}

#[test]
fn a_rate_settles_for_something_in_its_own_currency() {
    let sale = terms().rate.clone().unwrap();
    assert_eq!(SaleRate::restore(sale.clone().into_parts()), Ok(sale.clone()));
    for settlement in [amount(Currency::Usd, 25_00), amount(Currency::Eur, 0)] {
        let parts = SaleRateParts { settlement, ..sale.clone().into_parts() };
        assert_eq!(SaleRate::restore(parts), Err(InvalidSaleRate));
    }
}

#[test]
fn a_total_that_is_not_the_sum_is_refused() {
    let usd = |minor| amount(Currency::Usd, minor);
    let edits: [Edit<'_>; 8] = [
        Box::new(|parts| parts.total = usd(29_99)),
        Box::new(|parts| parts.items[0].amount = usd(30_01)),
        Box::new(|parts| parts.tax = None),
        Box::new(|parts| parts.discounts = Some(vec![])),
        Box::new(|parts| parts.shipping = None),
        // The sum is negative; it has too many digits; it is nothing.
        Box::new(|parts| parts.discounts.as_mut().unwrap()[0].amount = usd(37_01)),
        Box::new(|parts| parts.items[0].amount = usd(99_999_999_999_999)),
        Box::new(|parts| {
            (parts.discounts.as_mut().unwrap()[0].amount, parts.total) = (usd(37_00), usd(0));
        }),
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        assert_eq!(refused(edit), InvalidSessionTerms::Total, "{number}");
    }
    // Only what opens a contract may be of nothing.
    let contract = |parts: &mut SessionTermsParts| {
        (parts.discounts.as_mut().unwrap()[0].amount, parts.total) = (usd(37_00), usd(0));
        parts.open_contract = Some(true);
    };
    assert!(terms().edited(contract).is_ok());
}

#[test]
fn terms_have_items_and_not_too_many() {
    let priced = |count: usize| {
        move |parts: &mut SessionTermsParts| {
            let item = parts.items[0].clone();
            parts.items = vec![item; count];
            parts.total = amount(Currency::Usd, i64::try_from(count).unwrap() * 30_00);
        }
    };
    assert_eq!(refused(priced(0)), InvalidSessionTerms::Items);
    assert!(terms().edited(priced(MAX_ITEMS)).is_ok());
    assert_eq!(refused(priced(MAX_ITEMS + 1)), InvalidSessionTerms::Items);
}

#[test]
fn every_state_comes_back_equal() {
    for state in states() {
        for failed in 0..ALLOWED {
            let parts = SessionParts { state: state.clone(), attempts: attempts(failed), ..session().into_parts() };
            assert_eq!(Session::restore(parts.clone()).unwrap().into_parts(), parts);
        }
    }
    let later = session().at_revision(Revision::new(7));
    assert_eq!(later, session().edited(|parts| parts.revision = Revision::new(7)).unwrap());
}

#[test]
fn without_an_attempt_left_a_session_is_failed() {
    for state in states() {
        let found = state.kind();
        let restored = session().edited(|parts| (parts.state, parts.attempts) = (state, attempts(ALLOWED)));
        let expected = match found {
            SessionStateKind::Failed => Ok(()),
            _ => Err(InvalidSession::NoAttemptLeft { found }),
        };
        assert_eq!(restored.map(drop), expected, "{found}");
    }
}

#[test]
fn a_session_allows_what_a_merchant_may_set() {
    for allowed in [0, MAX_ATTEMPTS + 1, u32::MAX] {
        let refused = InvalidSession::Attempts(InvalidAttempts::Allowed);
        assert_eq!(create(allowed, EXPIRES_AT), Err(refused), "{allowed}");
        assert_eq!(Attempts::new(allowed), Err(InvalidAttempts::Allowed), "{allowed}");
    }
    assert_eq!(create(MAX_ATTEMPTS, EXPIRES_AT).unwrap().attempts.allowed(), MAX_ATTEMPTS);
    let one = attempts(1).last_failed();
    assert_eq!(Attempts::restore(ALLOWED + 1, ALLOWED, one), Err(InvalidAttempts::Failed));
    assert_eq!(Attempts::restore(0, ALLOWED, one), Err(InvalidAttempts::LastFailed));
    assert_eq!(Attempts::restore(1, ALLOWED, None), Err(InvalidAttempts::LastFailed));
}

#[test]
fn a_session_does_not_end_before_it_was_created() {
    let before = Timestamp::from_micros(CREATED_AT.micros() - 1);
    assert_eq!(create(ALLOWED, before), Err(InvalidSession::EndsBeforeCreation));
    assert_eq!(session().edited(|parts| parts.expires_at = before), Err(InvalidSession::EndsBeforeCreation));
    assert!(create(ALLOWED, CREATED_AT).is_ok());
}

#[cfg(feature = "serde")]
#[test]
fn a_serialized_session_is_restored_through_the_same_checks() {
    for state in states() {
        let session = session().edited(|parts| (parts.state, parts.attempts) = (state, attempts(1))).unwrap();
        let written = serde_json::to_string(&session).unwrap();
        assert_eq!(serde_json::from_str::<Session>(&written).unwrap(), session, "{written}");
    }
    let written = serde_json::to_string(&session()).unwrap();
    for (part, broken, why) in [
        (r#""Total":"30.00 USD""#, r#""Total":"30 JPY""#, "the amounts have different currencies"),
        (r#""Total":"30.00 USD""#, r#""Total":"29.99 USD""#, "the total is not the sum of its parts"),
        (r#""Allowed":3"#, r#""Allowed":21"#, "a Session allows 1 to 20 attempts"),
        (
            r#""ExpiresAt":"1970-01-01T00:01:01.000000Z"}"#,
            r#""ExpiresAt":"1970-01-01T00:00:00.000000Z"}"#,
            "the Session ends before",
        ),
        (r#""State":{"#, r#""Status":"PAID","State":{"#, "unknown field `Status`"),
    ] {
        assert!(written.contains(part), "{part} in {written}");
        let error = serde_json::from_str::<Session>(&written.replace(part, broken)).unwrap_err().to_string();
        assert!(error.starts_with(why), "{broken}: {error}");
    }
}
