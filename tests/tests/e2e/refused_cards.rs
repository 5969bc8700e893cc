//! A card that its issuer forbids to try again (docs/SPECIFICATION.md#forbidden-cards).

use std::time::Duration;

use dropin_keyring::StashKeys;
use dropin_ports::StashVault;
use dropin_tests::cards;
use serde_json::{Value, json};

use crate::{CHARGED, PAID};

const REFUSED: (&str, &str, &str) = ("AUTHORIZE", "DECLINED", "29.90");

/// How a failed attempt looks to the browser, without what differs from one to the next.
fn without_varying_members(progress: &Value) -> Value {
    let mut without_varying_members = progress.clone();
    for name in ["AttemptId", "AttemptsLeft"] {
        assert!(!without_varying_members["Attempt"][name].is_null(), "{progress}");
        without_varying_members["Attempt"][name] = json!(null);
    }
    without_varying_members
}

crate::both! {
    /// In the same Session it is refused unasked, which the browser cannot tell from any decline; another card pays. Another Session asks for it. Its hash
    /// is kept in the database and shown to nobody.
    async fn a_card_that_its_issuer_refused_is_not_asked_for_again(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let mut answers = Vec::new();
        let first = world.pay(&session, cards::STOLEN).await;
        assert_eq!((&first["State"], &first["Attempt"]["ErrorCode"]), (&json!("CREATED"), &json!("PAYMENT_DECLINED")), "{first}");
        world.journal_has(&session, &[REFUSED]).await;
        // The same card by another browser, written as on the card.
        let typed = shopper.stash_raw("again", "4000 0000 0000 9979", "2031").await;
        let second = shopper.submit(shopper.view().await["Version"].as_i64().unwrap(), &typed.0).await;
        assert_eq!((second.status, without_varying_members(&second.json())), (200, without_varying_members(&first)));
        assert_eq!(second.json()["Attempt"]["AttemptsLeft"], 3);
        answers.extend([typed.1.text(), second.text(), shopper.view_text().await, shopper.progress().await.to_string()]);
        world.journal_has(&session, &[REFUSED]).await;
        let declined = world.pay(&session, cards::DECLINED).await;
        assert_eq!((without_varying_members(&declined), &declined["Attempt"]["AttemptsLeft"]), (without_varying_members(&first), &json!(2)));
        world.journal_has(&session, &[REFUSED, REFUSED]).await;
        let paid = world.pay(&session, cards::VISA).await;
        assert_eq!(paid["State"], "COMPLETED", "{paid}");
        let events = world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
        let shown = world.merchant.session(&session).await;
        let codes: Vec<_> = shown["Attempts"].as_array().unwrap().iter().map(|one| one["Code"].as_str().unwrap_or_default()).collect();
        assert_eq!(codes, ["CARD_REFUSED", "CARD_REFUSED", "PAYMENT_DECLINED", ""]);
        let order = world.merchant.order_of(&session).await;
        let operators = world.programs.try_dropin(&["order", "show", order["OrderId"].as_str().unwrap()]).unwrap();
        answers.extend([shown.to_string(), world.merchant.order_text(&order).await, operators, world.programs.logged()]);
        answers.extend(events.iter().map(|one| one.body.to_string()));

        let other = world.merchant.create_session(json!({"AutoCapture": true})).await;
        assert_eq!(world.pay(&other, cards::STOLEN).await["Attempt"]["ErrorCode"], "PAYMENT_DECLINED");
        world.journal_has(&other, &[REFUSED, REFUSED, REFUSED]).await;

        let second = Duration::from_secs(1);
        let vault = StashKeys::open(&world.data.join("keys/stash"), second, second).unwrap();
        let hash = vault.hash_card(world.merchant.id.parse().unwrap(), cards::STOLEN).unwrap();
        let hex: String = hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(dump) = world.dump() {
            assert_eq!(dump.matches(&hex).count(), 3, "of the three attempts that it refused");
        }
        let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, hash.as_bytes());
        let listed = format!("{:?}", hash.as_bytes());
        for answer in &answers {
            for hidden in [cards::STOLEN, "4000 0000 0000 9979", &hex, base64.trim_end_matches('='), &listed] {
                assert!(!answer.contains(hidden), "{hidden} in {answer}");
            }
        }
    }
}
