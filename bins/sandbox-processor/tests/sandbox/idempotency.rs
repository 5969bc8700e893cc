//! One key, one effect: repeated, in parallel, with another body, abandoned before, after and at the same time.

use std::future::Future;

use crate::common::{PLAIN, Response, RunningProcessor, authorization, fresh_key, money};
use futures_util::future::{join, join_all};
use serde_json::json;

const PARALLEL: usize = 64;

async fn sixty_four<F: Future<Output = Response>>(call: impl FnMut(usize) -> F) -> Vec<Response> {
    join_all((0..PARALLEL).map(call)).await
}

fn assert_one_effect(answers: &[Response]) {
    assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1);
    for answer in answers {
        assert_eq!((answer.status, &answer.body), (200, &answers[0].body));
        assert_eq!(answer.outcome(), "APPROVED");
    }
}

#[actix_web::test]
async fn sixty_four_identical_calls_have_one_effect() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let [authorize, capture, refund, void] = std::array::from_fn(|_| fresh_key());
    assert_one_effect(&sixty_four(|_| caller.authorize(&authorize, PLAIN)).await);
    assert_one_effect(&sixty_four(|_| caller.capture(&capture, &authorize, "10.00")).await);
    assert_one_effect(&sixty_four(|_| caller.refund(&refund, &authorize, "5")).await);
    let other = caller.authorized(PLAIN).await;
    assert_one_effect(&sixty_four(|_| caller.void(&void, &other)).await);
    for key in [authorize, capture, refund, void] {
        assert_eq!(caller.journaled(&key).await, ["APPROVED"]);
    }
    running.stop().await;
}

#[actix_web::test]
async fn sixty_four_keys_cannot_take_more_than_there_is() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized(PLAIN).await;
    let captures = sixty_four(|_| async { caller.capture(&fresh_key(), &authorized, "10.00").await }).await;
    let count = |answers: &[Response], reason| {
        (
            answers.iter().filter(|answer| answer.outcome() == "APPROVED").count(),
            answers.iter().filter(|answer| answer.reason() == reason).count(),
        )
    };
    assert_eq!(count(&captures, "ALREADY_CAPTURED"), (1, PARALLEL - 1));
    let refunds = sixty_four(|_| async { caller.refund(&fresh_key(), &authorized, "1.00").await }).await;
    assert_eq!(count(&refunds, "AMOUNT_TOO_LARGE"), (10, PARALLEL - 10));
    // Captures against voids: one of all of them wins.
    let authorized = caller.authorized(PLAIN).await;
    let mixed = sixty_four(|n| {
        let authorized = &authorized;
        async move {
            match n % 2 {
                0 => caller.capture(&fresh_key(), authorized, "1").await,
                _ => caller.void(&fresh_key(), authorized).await,
            }
        }
    })
    .await;
    assert_eq!(count(&mixed, "").0, 1);
    running.stop().await;
}

#[actix_web::test]
async fn another_body_under_the_same_key_is_refused() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized(PLAIN).await;
    let refused = |answer: Response| assert_eq!((answer.status, answer.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    for (from, to) in [("29.90", "29.91"), ("USD", "EUR"), ("order-1", "order-2"), (PLAIN, "5555555555554444")] {
        let other = authorization(PLAIN).replace(from, to);
        refused(caller.post("/v1/authorizations", &authorized, other).await);
    }
    refused(caller.void(&authorized, &authorized).await);
    let capture = fresh_key();
    caller.capture(&capture, &authorized, "10").await;
    refused(caller.capture(&capture, &authorized, "11").await);
    refused(caller.capture(&capture, &fresh_key(), "10").await);
    refused(caller.refund(&capture, &authorized, "10").await);
    // The same value written otherwise, and a code that was typed again, are the same request.
    assert!(caller.capture(&capture, &authorized, "1e1").await.replayed);
    let retyped = authorization(PLAIN).replace("\"123\"", "\"321\"").replace("29.90", "29.9");
    assert!(caller.post("/v1/authorizations", &authorized, retyped).await.replayed);
    assert_eq!(caller.journal().await.len(), 2);
    running.stop().await;
}

#[actix_web::test]
async fn a_declined_call_stays_declined_under_its_key() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (capture, authorize) = (fresh_key(), fresh_key());
    assert_eq!(caller.capture(&capture, &authorize, "1").await.reason(), "NOT_AUTHORIZED");
    caller.authorize(&authorize, PLAIN).await;
    let again = caller.capture(&capture, &authorize, "1").await;
    assert_eq!((again.reason(), again.replayed), ("NOT_AUTHORIZED", true));
    assert_eq!(caller.capture(&fresh_key(), &authorize, "1").await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn an_abandoned_key_is_refused_for_ever_and_a_used_one_is_untouched() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let early = fresh_key();
    for _ in 0..2 {
        let tombstone = caller.abandon(&early).await;
        assert_eq!((tombstone.status, tombstone.outcome()), (200, "ABANDONED"));
    }
    for answer in [
        caller.authorize(&early, PLAIN).await,
        caller.authorize(&early, "4000000000000002").await,
        caller.post("/v1/captures", &early, money(&fresh_key(), "1", "USD")).await,
    ] {
        assert_eq!((answer.status, answer.code()), (409, "KEY_ABANDONED"));
    }
    assert_eq!(caller.operation(&early).await.outcome(), "ABANDONED");
    assert_eq!(caller.journaled(&early).await, ["ABANDONED"]);
    let late = caller.authorized(PLAIN).await;
    let before = caller.operation(&late).await.body;
    assert_eq!(caller.abandon(&late).await.body, before);
    assert_eq!(caller.operation(&late).await.body, before);
    assert_eq!(caller.capture(&fresh_key(), &late, "29.90").await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn abandoning_closes_a_waiting_page_and_nothing_else_that_waits() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for method in ["CARD", "PAYPAL", "IDEAL", "PAYLATER", "KIOSK"] {
        let (key, pending) = caller.pending(json!({"Method": method})).await;
        for _ in 0..2 {
            let closed = caller.abandon(&key).await;
            assert_eq!((closed.outcome(), closed.reason()), ("DECLINED", "PAGE_CLOSED"), "{method}");
        }
        let shown = caller.open(&pending.page()).await;
        assert!(shown.text.contains("cannot be paid any more") && !shown.text.contains("<button"), "{}", shown.text);
        assert_eq!(caller.journaled(&key).await, ["PENDING", "DECLINED"]);
    }
    let (key, _) = caller.pending(json!({"Method": "BANKTRANSFER"})).await;
    assert_eq!(caller.abandon(&key).await.outcome(), "PENDING", "a transfer may be under way");
    running.stop().await;
}

#[actix_web::test]
async fn paying_against_abandoning_has_one_winner() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let mut outcomes = std::collections::BTreeSet::new();
    for round in 0..12 {
        let (key, pending) = caller.pending(json!({"Method": "PAYPAL"})).await;
        let page = pending.page();
        let form = caller.open(&page).await.form();
        let (pay, abandon) = (caller.send_form(&page, &form, "pay", None), caller.abandon(&key));
        let told = if round % 2 == 0 { join(pay, abandon).await.1 } else { join(abandon, pay).await.0 };
        let stands = caller.operation(&key).await;
        assert_eq!(told.outcome(), stands.outcome(), "what the caller was told stays so");
        assert_eq!(caller.journaled(&key).await.len(), 2);
        outcomes.insert(stands.outcome().to_owned());
    }
    assert!(outcomes.iter().all(|outcome| outcome == "APPROVED" || outcome == "DECLINED"), "{outcomes:?}");
    running.stop().await;
}

#[actix_web::test]
async fn abandon_against_authorize_has_one_winner() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let races = (0..PARALLEL).map(|n| async move {
        let key = fresh_key();
        let (authorize, abandon) = if n % 2 == 0 {
            join(caller.authorize(&key, PLAIN), caller.abandon(&key)).await
        } else {
            let (abandon, authorize) = join(caller.abandon(&key), caller.authorize(&key, PLAIN)).await;
            (authorize, abandon)
        };
        (key, authorize, abandon)
    });
    for (key, authorize, abandon) in join_all(races).await {
        match authorize.status {
            200 => assert_eq!((authorize.outcome(), abandon.outcome()), ("APPROVED", "APPROVED")),
            409 => assert_eq!((authorize.code(), abandon.outcome()), ("KEY_ABANDONED", "ABANDONED")),
            other => panic!("{other}"),
        }
        assert_eq!(caller.journaled(&key).await, [abandon.outcome()]);
    }
    running.stop().await;
}
