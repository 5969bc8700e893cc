//! Every state against every trigger: what the witnesses allow is what the table says, and nothing else.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use dropin_kernel::{
    AttemptId, BillingProfileId, Change, MerchantId, OrderId, ParseIdError, Revision, SessionId, Timestamp,
};
use dropin_money::{Amount, Currency, Decimal};
use dropin_order::FailureReason;
use dropin_session::{
    Attempts, BillingChoice, CancelReason, FailedAttempt, SaleRate, SaleRateParts, Session, SessionEvent, SessionParts,
    SessionState, SessionStateKind, SessionTerms, SessionTermsParts, SessionTransition, SessionTrigger, SubmitRefused,
    TRANSITIONS,
};
use dropin_validation::{
    Address, BillingDetails, BillingProfile, Country, Email, Item, ItemInput, Text, UrlPolicy, WebUrl,
};

const CREATED_AT: Timestamp = Timestamp::from_micros(1_000_000);
const EXPIRES_AT: Timestamp = Timestamp::from_micros(61_000_000);
const NOW: Timestamp = Timestamp::from_micros(2_000_000);

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
    let terms = SessionTerms::restore(SessionTermsParts {
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
        contract_id: None,
        open_contract: None,
        total: Amount::from_decimal(Currency::Usd, &Decimal::parse(price).unwrap()).unwrap(),
        rate: None,
        billing_choice: BillingChoice::Supplied,
        billing: BillingProfile { id: id::<BillingProfileId>(9), details },
    });
    terms.unwrap()
}

fn created() -> Session {
    created_for(5)
}

/// One that may be tried to be paid this many times.
fn created_for(attempts: u32) -> Session {
    let (id, merchant_id) = (id::<SessionId>(1), id::<MerchantId>(2));
    Session::create(id, merchant_id, terms("order-1", "29.90"), attempts, CREATED_AT, EXPIRES_AT).unwrap()
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
    created().edited(|parts| (parts.state, parts.revision) = (state, Revision::new(7))).unwrap()
}

fn fail(session: &Session, reason: FailureReason, now: Timestamp) -> Option<(Change<Session>, SessionTransition)> {
    match session.as_redirected() {
        Ok(redirected) => Some(redirected.attempt_failed(reason, now)),
        Err(_elsewhere) => Some(session.as_processing().ok()?.attempt_failed(reason, now)),
    }
}

/// What the witnesses make of a trigger.
fn pull(session: &Session, trigger: SessionTrigger) -> Option<(Change<Session>, SessionTransition)> {
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
        SessionTrigger::AttemptFailed => fail(session, FailureReason::Declined, NOW),
        SessionTrigger::AttemptFailedLate => fail(session, FailureReason::Declined, EXPIRES_AT),
        SessionTrigger::Refused => fail(session, FailureReason::Stopped, NOW),
        other => panic!("{other} is not tried here"),
    }
}

#[test]
fn every_state_against_every_trigger() {
    for from in SessionStateKind::ALL {
        for trigger in SessionTrigger::ALL {
            let session = in_state(from);
            let row = TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger);
            let pulled = pull(&session, trigger);
            assert_eq!(pulled.as_ref().map(|(_, row)| row), row, "{from:?} {trigger:?}");
            let Some((Change { next, expected }, row)) = pulled else { continue };
            assert_eq!(next.state.kind(), row.to, "{from:?} {trigger:?}");
            assert_eq!((expected, next.revision), (session.revision, session.revision.next()));
            let at = match trigger {
                SessionTrigger::Expire | SessionTrigger::AttemptFailedLate => EXPIRES_AT,
                _ => NOW,
            };
            assert_eq!(next.updated_at, at);
            let failed = matches!(
                trigger,
                SessionTrigger::AttemptFailed | SessionTrigger::AttemptFailedLate | SessionTrigger::Refused
            );
            assert_eq!(next.attempts.failed(), u32::from(failed));
            let changed = SessionParts {
                state: session.state.clone(),
                terms: session.terms.clone(),
                attempts: session.attempts,
                revision: session.revision,
                updated_at: session.updated_at,
                ..next.into_parts()
            };
            let changed = Session::restore(changed).unwrap();
            assert_eq!(changed, session, "nothing else changes");
        }
    }
}

#[test]
fn the_table_is_that_of_the_specification() {
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
            "PROCESSING ATTEMPT_FAILED CREATED",
            "PROCESSING ATTEMPT_FAILED_LATE CANCELLED SESSION_CANCELLED",
            "PROCESSING REFUSED FAILED SESSION_FAILED",
            "REDIRECTED RETURN PROCESSING",
            "REDIRECTED ATTEMPT_FAILED CREATED",
            "REDIRECTED ATTEMPT_FAILED_LATE CANCELLED SESSION_CANCELLED",
            "REDIRECTED REFUSED FAILED SESSION_FAILED",
        ]
    );
    assert!(TRANSITIONS.iter().all(|row| SessionTrigger::ALL.contains(&row.trigger)));
}

#[test]
fn final_states_never_change() {
    for kind in SessionStateKind::ALL.into_iter().filter(|kind| kind.is_final()) {
        assert!(SessionTrigger::ALL.into_iter().all(|trigger| pull(&in_state(kind), trigger).is_none()), "{kind:?}");
    }
}

#[test]
fn a_replacement_replaces_the_terms_entirely_and_nothing_else() {
    let (change, _) = created().as_created().unwrap().replace(terms("order-2", "5"), NOW);
    let expected = created().edited(|parts| (parts.terms, parts.updated_at) = (terms("order-2", "5"), NOW)).unwrap();
    assert_eq!(change.next, expected.at_revision(Revision::new(2)));
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
    let expires_at = Timestamp::from_micros(EXPIRES_AT.micros() - 5);
    let settlement = Amount::from_minor(Currency::Eur, 2_676).unwrap();
    let rate = "EUR/USD 1.1172".parse().unwrap();
    let rate = SaleRate::restore(SaleRateParts { offer_id: id(8), rate, settlement, expires_at }).unwrap();
    let priced = terms("order-1", "29.90").edited(|terms| terms.rate = Some(rate)).unwrap();
    let session = created().edited(|parts| parts.terms = priced).unwrap();
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
    let (failed, _) = processing.as_processing().unwrap().attempt_failed(FailureReason::Stopped, NOW);
    for session in [&processing, &completed.next, &failed.next] {
        assert_eq!((session.state.order(), session.state.attempt()), (Some(id(3)), Some(id(4))));
    }
    assert_eq!((session.state.order(), session.state.attempt()), (None, None));
}

/// One failed attempt after the other, from CREATED.
fn try_and_fail(mut session: Session, reason: FailureReason, now: Timestamp) -> (Session, SessionTransition) {
    let attempt = id(u8::try_from(100 + session.attempts.failed()).unwrap());
    let submitted = session.as_created().unwrap().submit(session.revision, id(3), attempt, NOW);
    session = submitted.unwrap().0.next;
    let (change, row) = session.as_processing().unwrap().attempt_failed(reason, now);
    (change.next, row)
}

#[test]
fn a_failed_attempt_leads_back_until_the_last_one_allowed() {
    for allowed in [1, 2, 5, 20] {
        let mut session = created_for(allowed);
        for number in 1..=allowed {
            let (next, row) = try_and_fail(session, FailureReason::InsufficientFunds, NOW);
            let last = FailedAttempt {
                attempt: id(u8::try_from(99 + number).unwrap()),
                reason: FailureReason::InsufficientFunds,
            };
            assert_eq!(Ok(next.attempts), Attempts::restore(number, allowed, Some(last)));
            assert_eq!(next.attempts.left(), allowed - number);
            let expected = if number == allowed { SessionStateKind::Failed } else { SessionStateKind::Created };
            assert_eq!((next.state.kind(), row.event.is_some()), (expected, number == allowed));
            session = next;
        }
    }
}

#[test]
fn what_no_try_mends_and_the_end_of_time_lead_nowhere_back() {
    let (session, row) = try_and_fail(created(), FailureReason::Stopped, NOW);
    assert_eq!((session.state.kind(), row.event), (SessionStateKind::Failed, Some(SessionEvent::Failed)));
    let (session, row) = try_and_fail(created(), FailureReason::Declined, EXPIRES_AT);
    assert_eq!(session.state, SessionState::Cancelled { reason: CancelReason::Expired });
    assert_eq!((row.event, session.attempts.failed()), (Some(SessionEvent::Cancelled), 1));
    // The last one allowed is the end, whatever the time.
    let (session, row) = try_and_fail(created_for(1), FailureReason::Declined, EXPIRES_AT);
    assert_eq!((session.state.kind(), row.event), (SessionStateKind::Failed, Some(SessionEvent::Failed)));
}

#[test]
fn a_replacement_keeps_the_attempts() {
    let (failed, _) = try_and_fail(created(), FailureReason::Declined, NOW);
    let (change, _) = failed.as_created().unwrap().replace(terms("order-2", "5"), NOW);
    assert_eq!(change.next.attempts, failed.attempts);
    assert_eq!(change.next.attempts.left(), 4);
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
    let names: std::collections::BTreeSet<_> = SessionStateKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names.len(), SessionStateKind::ALL.len());
}

/// What must be so of attempts, said as simply as it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Model {
    state: &'static str,
    failed: u32,
    completed: u32,
}

const ALLOWED: u32 = 2;
const MOVES: [&str; 8] = ["submit", "redirect", "return", "authorize", "mendable", "for good", "too late", "replace"];

impl Model {
    fn after(mut self, step: &str) -> Self {
        let runs = self.state == "PROCESSING" || self.state == "REDIRECTED";
        match step {
            "submit" if self.state == "CREATED" => self.state = "PROCESSING",
            "redirect" if self.state == "PROCESSING" => self.state = "REDIRECTED",
            "return" if self.state == "REDIRECTED" => self.state = "PROCESSING",
            "authorize" if self.state == "PROCESSING" => {
                self.state = "COMPLETED";
                self.completed += 1;
            }
            "mendable" | "for good" | "too late" if runs => {
                self.failed += 1;
                self.state = match step {
                    "for good" => "FAILED",
                    _ if self.failed == ALLOWED => "FAILED",
                    "too late" => "CANCELLED",
                    _ => "CREATED",
                };
            }
            _ => {}
        }
        self
    }
}

fn real(session: &Session, step: &str) -> Option<Session> {
    let taken = match step {
        "submit" => {
            let attempt = id(u8::try_from(100 + session.attempts.failed()).unwrap());
            session.as_created().ok()?.submit(session.revision, id(3), attempt, NOW).unwrap()
        }
        "redirect" => session.as_processing().ok()?.redirected(NOW),
        "return" => session.as_redirected().ok()?.returned(NOW),
        "authorize" => session.as_processing().ok()?.authorized(NOW),
        "mendable" => fail(session, FailureReason::CancelledByShopper, NOW)?,
        "for good" => fail(session, FailureReason::Stopped, NOW)?,
        "too late" => fail(session, FailureReason::Declined, EXPIRES_AT)?,
        _ => session.as_created().ok()?.replace(terms("order-2", "5"), NOW),
    };
    Some(taken.0.next)
}

/// Every life of up to seven moves, not a sample of them.
#[test]
fn attempts_agree_with_the_model_in_every_short_life() {
    let start = created_for(ALLOWED);
    let mut lives = vec![(Model { state: "CREATED", failed: 0, completed: 0 }, start)];
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..7 {
        let mut next = vec![];
        for (model, session) in &lives {
            for step in MOVES {
                let (model, moved) = (model.after(step), real(session, step));
                let Some(moved) = moved else { continue };
                assert_eq!(
                    (moved.state.kind().as_str(), moved.attempts.failed()),
                    (model.state, model.failed),
                    "{step}"
                );
                assert_eq!(moved.attempts.left(), ALLOWED - model.failed);
                assert!(model.completed <= 1 && moved.attempts.failed() <= ALLOWED);
                // Between two attempts, nothing of the one before is left but what is told of it.
                let runs = moved.state.order().is_some();
                assert_eq!(runs, !matches!(model.state, "CREATED" | "CANCELLED"), "{model:?}");
                if seen.insert((model.state, model.failed, moved.revision.number())) {
                    next.push((model, moved));
                }
            }
        }
        lives = next;
    }
    assert!(20 < seen.len(), "{}", seen.len());
}
