//! Every state against every trigger: what the witnesses allow is what the table says, and nothing else.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use dropin_kernel::{
    AttemptId, BillingProfileId, Change, MerchantId, OrderId, ParseIdError, Revision, SessionId, Timestamp,
};
use dropin_money::{Amount, Currency, Decimal};
use dropin_session::{
    BillingChoice, CancelReason, FailureReason, SaleRate, Session, SessionEvent, SessionState, SessionStateKind,
    SessionTerms, SessionTrigger, SubmitRefused, TRANSITIONS, Transition,
};
use dropin_validation::{
    Address, BillingDetails, BillingProfile, Country, Email, Item, ItemInput, Text, UrlPolicy, WebUrl,
};

const CREATED_AT: Timestamp = Timestamp::from_micros(1_000_000);
const EXPIRES_AT: Timestamp = Timestamp::from_micros(61_000_000);
const NOW: Timestamp = Timestamp::from_micros(2_000_000);

const TRIGGERS: [SessionTrigger; 10] = [
    SessionTrigger::Create,
    SessionTrigger::Replace,
    SessionTrigger::Cancel,
    SessionTrigger::Expire,
    SessionTrigger::Submit,
    SessionTrigger::Redirect,
    SessionTrigger::Return,
    SessionTrigger::Authorized,
    SessionTrigger::Accepted,
    SessionTrigger::Refused,
];

fn id<T: std::str::FromStr<Err = ParseIdError>>(last: u8) -> T {
    format!("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f8091{last:02x}").parse().unwrap()
}

fn terms(reference: &str, price: &str) -> SessionTerms {
    let text = |text| Text::parse("", text).unwrap();
    let url = |url| WebUrl::parse("", url, UrlPolicy::Production).unwrap();
    let item = ItemInput { name: "Mug".to_owned(), amount: Decimal::parse(price), quantity: Decimal::parse("1") };
    let address = Address {
        street: text("1 Main Street"),
        city: text("Berlin"),
        region: None,
        country: Country::parse("", "DE").unwrap(),
        postcode: None,
        phone: None,
    };
    let details = BillingDetails {
        reference: None,
        name: text("Ana"),
        email: Email::parse("", "ana@shop.example").unwrap(),
        phone: None,
        birth_date: None,
        national_identifier: None,
        company: None,
        address,
    };
    SessionTerms {
        merchant_reference: text(reference),
        auto_capture: true,
        complete_url: url("https://shop.example/paid?session={SessionId}"),
        cancel_url: url("https://shop.example/{SessionId}/cancelled"),
        currency: Currency::Usd,
        items: vec![Item::parse("", &item, Currency::Usd).unwrap()],
        via_agent: false,
        shipping: None,
        tax: None,
        discounts: None,
        allow_contract: None,
        open_contract: None,
        total: Amount::from_decimal(Currency::Usd, &Decimal::parse(price).unwrap()).unwrap(),
        rate: None,
        billing_choice: BillingChoice::Supplied,
        billing: BillingProfile { id: id::<BillingProfileId>(9), details },
    }
}

fn created() -> Session {
    Session::create(id::<SessionId>(1), id::<MerchantId>(2), terms("order-1", "29.90"), CREATED_AT, EXPIRES_AT)
}

fn in_state(kind: SessionStateKind) -> Session {
    let (order, attempt) = (id::<OrderId>(3), id::<AttemptId>(4));
    let state = match kind {
        SessionStateKind::Created => SessionState::Created,
        SessionStateKind::Processing => SessionState::Processing { order, attempt },
        SessionStateKind::Redirected => SessionState::Redirected { order, attempt },
        SessionStateKind::Completed => SessionState::Completed { order, attempt },
        SessionStateKind::Cancelled => SessionState::Cancelled { reason: CancelReason::Merchant },
        SessionStateKind::Failed => SessionState::Failed { order, attempt, reason: FailureReason::Declined },
    };
    Session { state, revision: Revision::new(7), ..created() }
}

/// What the witnesses make of a trigger.
fn pull(session: &Session, trigger: SessionTrigger) -> Option<(Change<Session>, Transition)> {
    match trigger {
        // Creation has no state before it.
        SessionTrigger::Create => None,
        SessionTrigger::Replace => Some(session.as_created().ok()?.replace(terms("order-2", "5"), NOW)),
        SessionTrigger::Cancel => Some(session.as_created().ok()?.cancel(NOW)),
        SessionTrigger::Expire => session.as_created().ok()?.expire(EXPIRES_AT),
        SessionTrigger::Submit => {
            session.as_created().ok()?.submit(session.revision, id(3), id(4), NOW).map(Some).unwrap()
        }
        SessionTrigger::Authorized => Some(session.as_processing().ok()?.authorized(NOW)),
        SessionTrigger::Accepted => Some(session.as_processing().ok()?.accepted(NOW)),
        SessionTrigger::Redirect => Some(session.as_processing().ok()?.redirected(NOW)),
        SessionTrigger::Return => Some(session.as_redirected().ok()?.returned(NOW)),
        SessionTrigger::Refused => match session.as_redirected() {
            Ok(redirected) => Some(redirected.refused(FailureReason::CancelledByShopper, NOW)),
            Err(_elsewhere) => Some(session.as_processing().ok()?.refused(FailureReason::Declined, NOW)),
        },
    }
}

#[test]
fn every_state_against_every_trigger() {
    for from in SessionStateKind::ALL {
        for trigger in TRIGGERS {
            let session = in_state(from);
            let row = TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger);
            let pulled = pull(&session, trigger);
            assert_eq!(pulled.as_ref().map(|(_, row)| row), row, "{from:?} {trigger:?}");
            let Some((Change { next, expected }, row)) = pulled else { continue };
            assert_eq!(next.state.kind(), row.to, "{from:?} {trigger:?}");
            assert_eq!((expected, next.revision), (session.revision, session.revision.next()));
            let at = if trigger == SessionTrigger::Expire { EXPIRES_AT } else { NOW };
            assert_eq!(next.updated_at, at);
            let changed = Session {
                state: session.state.clone(),
                terms: session.terms.clone(),
                revision: session.revision,
                updated_at: session.updated_at,
                ..next
            };
            assert_eq!(changed, session, "nothing else changes");
        }
    }
}

#[test]
fn the_table_is_the_contracts() {
    let rows: Vec<_> = TRANSITIONS
        .iter()
        .map(|row| {
            let from = row.from.map_or("(none)", SessionStateKind::as_str);
            let event = row.event.map_or("", SessionEvent::as_str);
            format!("{from} {} {} {event}", row.trigger.as_str(), row.to.as_str()).trim_end().to_owned()
        })
        .collect();
    assert_eq!(
        rows,
        [
            "(none) CREATE CREATED",
            "CREATED REPLACE CREATED",
            "CREATED CANCEL CANCELLED",
            "CREATED EXPIRE CANCELLED SESSION_CANCELLED",
            "CREATED SUBMIT PROCESSING",
            "PROCESSING AUTHORIZED COMPLETED SESSION_COMPLETED",
            "PROCESSING ACCEPTED COMPLETED SESSION_COMPLETED",
            "PROCESSING REDIRECT REDIRECTED",
            "PROCESSING REFUSED FAILED SESSION_FAILED",
            "REDIRECTED RETURN PROCESSING",
            "REDIRECTED REFUSED FAILED SESSION_FAILED",
        ]
    );
    assert!(TRANSITIONS.iter().all(|row| TRIGGERS.contains(&row.trigger)));
}

#[test]
fn final_states_never_change() {
    for kind in SessionStateKind::ALL.into_iter().filter(|kind| kind.is_final()) {
        assert!(TRIGGERS.iter().all(|trigger| pull(&in_state(kind), *trigger).is_none()), "{kind:?}");
    }
}

#[test]
fn a_replacement_replaces_the_terms_entirely_and_nothing_else() {
    let (change, _) = created().as_created().unwrap().replace(terms("order-2", "5"), NOW);
    let expected = Session { terms: terms("order-2", "5"), revision: Revision::new(2), updated_at: NOW, ..created() };
    assert_eq!(change.next, expected);
}

#[test]
fn a_shopper_pays_only_the_version_that_was_shown() {
    let session = in_state(SessionStateKind::Created);
    for shown in [6, 8] {
        let refused = session.as_created().unwrap().submit(Revision::new(shown), id(3), id(4), NOW);
        assert_eq!(refused.unwrap_err(), SubmitRefused::Changed { current: Revision::new(7) });
    }
}

#[test]
fn time_ends_a_session_at_its_moment_and_not_before() {
    let session = created();
    let before = Timestamp::from_micros(EXPIRES_AT.micros() - 1);
    let submit = |now| session.as_created().unwrap().submit(session.revision, id(3), id(4), now).map(drop);
    assert!(session.as_created().unwrap().expire(before).is_none());
    assert_eq!(submit(before), Ok(()));
    for late in [EXPIRES_AT, EXPIRES_AT.plus(Duration::from_secs(1))] {
        let (change, _) = session.as_created().unwrap().expire(late).unwrap();
        assert_eq!(change.next.state, SessionState::Cancelled { reason: CancelReason::Expired });
        assert_eq!(submit(late), Err(SubmitRefused::Expired));
    }
}

#[test]
fn no_payment_begins_at_a_rate_whose_guarantee_has_ended() {
    let mut session = created();
    let expires_at = Timestamp::from_micros(EXPIRES_AT.micros() - 5);
    let settlement = Amount::from_minor(Currency::Eur, 2_676).unwrap();
    let rate = SaleRate { offer_id: id(8), rate: "1.1172".parse().unwrap(), settlement, expires_at };
    session.terms.rate = Some(rate);
    let submit = |now| session.as_created().unwrap().submit(session.revision, id(3), id(4), now);
    let (begun, _) = submit(Timestamp::from_micros(expires_at.micros() - 1)).unwrap();
    assert_eq!(submit(expires_at).map(drop), Err(SubmitRefused::RateExpired));
    assert_eq!(submit(EXPIRES_AT).map(drop), Err(SubmitRefused::Expired));
    // What was begun in time is authorized after the end.
    let (completed, _) = begun.next.as_processing().unwrap().authorized(EXPIRES_AT);
    assert_eq!(completed.next.terms.rate, session.terms.rate);
    // The merchant prices it anew.
    let (replaced, _) = session.as_created().unwrap().replace(terms("order-1", "29.90"), expires_at);
    assert_eq!(replaced.next.terms.rate, None);
}

#[test]
fn attempt_and_order_go_along_to_the_end() {
    let session = created();
    let (submitted, _) = session.as_created().unwrap().submit(session.revision, id(3), id(4), NOW).unwrap();
    let processing = submitted.next;
    let (completed, _) = processing.as_processing().unwrap().authorized(NOW);
    let (failed, _) = processing.as_processing().unwrap().refused(FailureReason::InsufficientFunds, NOW);
    for session in [&processing, &completed.next, &failed.next] {
        assert_eq!((session.state.order(), session.state.attempt()), (Some(id(3)), Some(id(4))));
    }
    assert_eq!((session.state.order(), session.state.attempt()), (None, None));
}

#[test]
fn return_urls_carry_the_session_id() {
    let (complete, cancel) = created().return_urls();
    let id = created().id;
    assert_eq!(complete, format!("https://shop.example/paid?session={id}"));
    assert_eq!(cancel, format!("https://shop.example/{id}/cancelled"));
}

#[test]
fn stored_codes_are_read_back() {
    for reason in FailureReason::ALL {
        assert_eq!(FailureReason::from_code(reason.as_str()), Some(reason));
    }
    assert_eq!(FailureReason::from_code("declined"), None);
    let names: std::collections::BTreeSet<_> = SessionStateKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names.len(), SessionStateKind::ALL.len());
}
