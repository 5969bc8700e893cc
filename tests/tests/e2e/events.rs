//! A merchant reads its events instead of waiting for them (docs/SPECIFICATION.md#event-pull).

use std::time::Duration;

use dropin_tests::{Merchant, cards, until};
use serde_json::{Value, json};

use crate::PAID;

/// Waits until a merchant can read `count` events; reads them in pages of two, as a program does that catches up.
pub(crate) async fn pulled(merchant: &Merchant, count: usize) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), String::new());
    until(&format!("{count} events"), Duration::from_secs(20), async || {
        loop {
            let page = merchant.call("GET", &format!("/v1/event?limit=2{after}"), None).await;
            assert_eq!(page.status, 200, "{}", page.text());
            let page = page.json();
            events.extend(page["Events"].as_array().unwrap().iter().cloned());
            after = format!("&after={}", page["Next"].as_str().unwrap());
            if page["More"] == json!(false) {
                break;
            }
        }
        (count <= events.len()).then_some(())
    })
    .await;
    assert_eq!(events.len(), count, "{events:?}");
    events
}

crate::both! {
    /// What is read is what is sent, under the same ids: whoever has seen it by one way knows it by the other.
    async fn a_merchant_catches_up_by_reading(world: &World) {
        let (merchant, paid) = (&world.merchant, world.paid(cards::VISA, json!({"AutoCapture": true})).await);
        let sent = world.receiver.expect(&paid.session, &PAID).await;
        let read = pulled(merchant, 3).await;
        let text = merchant.call("GET", "/v1/event", None).await.text();
        for (sent, read) in sent.iter().zip(&read) {
            assert_eq!((&read["EventId"], &read["EventType"]), (&json!(sent.id), &json!(sent.event)));
            assert_eq!((&read["Sequence"], &read["PaymentId"]), (&json!(sent.sequence), &json!(paid.session)));
            let body = String::from_utf8(sent.bytes.clone()).unwrap();
            assert!(text.contains(&format!("\"Body\":{body}")), "to the letter: {body} in {text}");
        }
        // Further on stands what happens later, here of a merchant who is told nothing.
        let next = merchant.call("GET", "/v1/event", None).await.json()["Next"].as_str().unwrap().to_owned();
        world.receiver.answer_with(500);
        let later = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
        let types = until("three more", Duration::from_secs(20), async || {
            let page = merchant.call("GET", &format!("/v1/event?after={next}"), None).await.json();
            let events = page["Events"].as_array().unwrap().clone();
            (events.len() == 3).then_some(events)
        })
        .await;
        assert_eq!(types.iter().map(|one| one["EventType"].as_str().unwrap()).collect::<Vec<_>>(), PAID);
        assert!(types.iter().all(|one| one["PaymentId"] == json!(later.session)), "{types:?}");
    }
}
