use actix_web::http::Method;
use dropin_money::{Amount, Currency};
use dropin_ports::{IssuerChecks, ProcessorReply, Waiting};
use futures_util::future::join;

use super::{is_fresh, is_replay, keyed};
use crate::common::{Answer, Api, ProcessorStub, declined};

async fn capture(api: &Api, order: &str, key: &str, body: &str) -> Answer {
    keyed(api, &api.ana, Method::POST, &format!("{order}/capture"), key, body).await
}

async fn order_state(api: &Api, order: &str) -> String {
    let answer = api.send(Some(&api.ana), Method::GET, order, &[], "").await;
    answer.json()["State"].as_str().unwrap().to_owned()
}

#[track_caller]
fn has_reason(answer: &Answer, code: &str) {
    is_fresh(answer, 200);
    assert_eq!(answer.json()["Reason"]["Code"], code, "{answer:?}");
}

#[actix_web::test]
async fn a_capture_is_replayed() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = api.authorized("order-1").await;
    let first = capture(&api, &order, "k", "").await;
    has_reason(&first, "Captured");
    is_replay(&capture(&api, &order, "k", "").await, &first);
    capture(&api, &order, "k", "{\"Amount\": 29}").await.is_error(422, "IDEMPOTENCY_KEY_REUSED");
    // Under another key the Order tells by itself that nothing moves twice; the answer is kept all the same.
    let second = capture(&api, &order, "l", "").await;
    has_reason(&second, "Captured");
    is_replay(&capture(&api, &order, "l", "").await, &second);
    let other = capture(&api, &order, "m", "{\"Amount\": 1}").await;
    is_fresh(&other, 409);
    is_replay(&capture(&api, &order, "m", "{\"Amount\": 1}").await, &other);
    let wrong = capture(&api, &order, "n", "{\"Amount\": \"1\"}").await;
    is_fresh(&wrong, 400);
    is_replay(&capture(&api, &order, "n", "{\"Amount\": \"1\"}").await, &wrong);
    let nobody = "/v1/order/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    let missing = capture(&api, nobody, "k", "").await;
    is_fresh(&missing, 404);
    is_replay(&capture(&api, nobody, "k", "").await, &missing);
    assert_eq!(*bank.asked.borrow(), 1);
}

#[actix_web::test]
async fn a_repeat_while_the_processor_is_asked_is_told_to_wait() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = api.authorized("order-1").await;
    bank.hold();
    let (first, ()) = join(capture(&api, &order, "k", ""), async {
        bank.until_asked(1).await;
        let wait = capture(&api, &order, "k", "").await;
        wait.is_error(409, "DUPLICATE_REQUEST");
        assert_eq!((wait.header("retry-after"), wait.header("idempotent-replayed")), ("1", ""));
        capture(&api, &order, "k", "{\"Amount\": 29}").await.is_error(422, "IDEMPOTENCY_KEY_REUSED");
        // Another request is told what goes on.
        has_reason(&capture(&api, &order, "l", "").await, "PendingNotification");
        bank.release();
    })
    .await;
    has_reason(&first, "Captured");
    is_replay(&capture(&api, &order, "k", "").await, &first);
    // What was told under the other key stays, too.
    assert!(capture(&api, &order, "l", "").await.text.contains("PendingNotification"));
    assert_eq!(*bank.asked.borrow(), 1);
}

#[actix_web::test]
async fn of_many_captures_with_one_key_one_asks_the_processor() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    for round in 1..=5 {
        let order = api.authorized(&format!("order-{round}")).await;
        let answers = futures_util::future::join_all((0..16).map(|_| capture(&api, &order, "k", ""))).await;
        let fresh: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert!(fresh.iter().any(|answer| answer.header("idempotent-replayed").is_empty()), "{answers:?}");
        assert!(fresh.iter().all(|answer| answer.text == fresh[0].text), "{answers:?}");
        for waiting in answers.iter().filter(|answer| answer.status != 200) {
            waiting.is_error(409, "DUPLICATE_REQUEST");
        }
        assert_eq!(*bank.asked.borrow(), round);
        let again = capture(&api, &order, "k", "").await;
        assert_eq!((again.status, &again.text), (200, &fresh[0].text));
    }
}

#[actix_web::test]
async fn a_refused_capture_is_replayed_and_another_key_tries_again() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = api.authorized("order-1").await;
    bank.will_say(declined(true));
    let refused = capture(&api, &order, "k", "").await;
    refused.is_error(402, "CAPTURE_FAILED");
    assert_eq!(refused.json()["Retryable"], true);
    is_replay(&capture(&api, &order, "k", "").await, &refused);
    assert_eq!(*bank.asked.borrow(), 1);
    bank.will_say(declined(false));
    let for_good = capture(&api, &order, "l", "").await;
    for_good.is_error(402, "CAPTURE_FAILED");
    assert_eq!(
        (&for_good.json()["Retryable"], &*order_state(&api, &order).await),
        (&false.into(), "PROCESSING_FAILED")
    );
    is_replay(&capture(&api, &order, "l", "").await, &for_good);
    is_replay(&capture(&api, &order, "k", "").await, &refused);
}

#[actix_web::test]
async fn an_unknown_outcome_is_answered_once_and_settled_later() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = api.authorized("order-1").await;
    bank.will_say(ProcessorReply::Unknown { why: "time-out".to_owned() });
    let pending = capture(&api, &order, "k", "").await;
    has_reason(&pending, "PendingNotification");
    is_replay(&capture(&api, &order, "k", "").await, &pending);
    // Absent: sent again under the processor's own key, and approved.
    api.settle().await;
    assert_eq!((&*order_state(&api, &order).await, *bank.asked.borrow()), ("PROCESSED", 2));
    is_replay(&capture(&api, &order, "k", "").await, &pending);
}

/// Whoever asked is gone or hangs: the settler's answer is the request's.
#[actix_web::test]
async fn the_settler_answers_a_key_that_nobody_answered() {
    for (said, status, code, state) in [
        (None, 200, "Captured", "PROCESSED"),
        (Some(ProcessorReply::Pending(Waiting::Processor)), 200, "PendingNotification", "PAYMENT_AUTHORIZED"),
        (Some(declined(false)), 402, "CAPTURE_FAILED", "PROCESSING_FAILED"),
        // Nobody hears of it, so it is tried again; a notification will tell.
        (Some(declined(true)), 200, "PendingNotification", "PAYMENT_AUTHORIZED"),
    ] {
        let bank = ProcessorStub::new();
        let api = Api::with(bank.clone()).await;
        let order = api.authorized("order-1").await;
        bank.hold();
        let (first, ()) = join(capture(&api, &order, "k", ""), async {
            bank.until_asked(1).await;
            let known = match &said {
                Some(answer) => answer.clone(),
                None => {
                    let amount = Amount::from_minor(Currency::Usd, 2_900).ok();
                    ProcessorReply::Approved {
                        amount,
                        captured: false,
                        under_review: false,
                        credential: None,
                        checks: IssuerChecks::default(),
                    }
                }
            };
            bank.will_say(known);
            capture(&api, &order, "k", "").await.is_error(409, "DUPLICATE_REQUEST");
            api.settle().await;
            assert_eq!(order_state(&api, &order).await, state);
            let settled = capture(&api, &order, "k", "").await;
            assert_eq!((settled.status, settled.header("idempotent-replayed")), (status, "true"), "{settled:?}");
            assert!(settled.text.contains(&format!("\"{code}\"")), "{settled:?}");
            bank.release();
        })
        .await;
        // The processor's late yes finds everything done, or finishes it; the answer stays what it was.
        is_fresh(&first, status);
        is_replay(&capture(&api, &order, "k", "").await, &first);
        assert!(first.text.contains(&format!("\"{code}\"")), "{first:?}");
    }
}
