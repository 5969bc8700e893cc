//! Cards that are stored, and charged again by the reference that the sandbox gives for them.

use std::time::Duration;

use crate::common::{
    CHALLENGED, MERCHANT, PLAIN, RETURN_URL, Response, RunningProcessor, authorization, charging, fresh_key, open,
    storing, until,
};
use diesel::RunQueryDsl;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

const ASKS_TO_STORE: &str = "4000002500003155";
const ASKS_ALWAYS: &str = "4000002760003184";
const SHORT_LATER: &str = "4000008260003178";

fn outcome(answer: &Response) -> (&str, &str) {
    (answer.outcome(), answer.reason())
}

#[actix_web::test]
async fn a_payment_stores_the_card_and_the_merchant_charges_it_again() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let key = fresh_key();
    let first = caller.post("/v1/authorizations", &key, storing(PLAIN, "RECURRING", "29.90")).await;
    assert_eq!(outcome(&first), ("APPROVED", ""));
    let card = json!({"Scheme": "VISA", "Last4": "4242", "Expiry": "2099-12"});
    assert_eq!((&first.body["CardSummary"], &first.body["Credential"]["Kind"]), (&card, &json!("RECURRING")));
    assert_eq!(caller.capture(&fresh_key(), &key, "29.90").await.outcome(), "APPROVED");
    let (reference, agreed) = (first.reference(), first.transaction());
    let mut ids = vec![agreed.clone()];
    for _ in 0..3 {
        let key = fresh_key();
        let charged = caller.charge(&key, &reference, "RECURRING", Some(&agreed)).await;
        assert_eq!(outcome(&charged), ("APPROVED", ""), "{charged:?}");
        assert_eq!((&charged.body["CardSummary"], &charged.body["Credential"]), (&card, &Value::Null));
        ids.push(charged.transaction());
        assert_eq!(caller.capture(&fresh_key(), &key, "10").await.outcome(), "APPROVED");
        assert_eq!(caller.refund(&fresh_key(), &key, "10").await.outcome(), "APPROVED");
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "every payment has its own id");
    assert!(ids.iter().all(|id| id.len() == 15 && id.bytes().all(|byte| byte.is_ascii_digit())), "{ids:?}");
    // A payment that the merchant made is no agreement of the shopper's.
    let other = ids.iter().find(|id| **id != agreed).map(String::as_str);
    let wrong = caller.charge(&fresh_key(), &reference, "RECURRING", other).await;
    assert_eq!(outcome(&wrong), ("DECLINED", "TRANSACTION_ID_MISMATCH"));
    assert_eq!(caller.charge(&fresh_key(), &reference, "RECURRING", None).await.reason(), "TRANSACTION_ID_MISMATCH");
    running.stop().await;
}

#[actix_web::test]
async fn a_verification_stores_the_card_and_charges_nothing() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let key = fresh_key();
    let verified = caller.post("/v1/authorizations", &key, storing(PLAIN, "UNSCHEDULED", "0")).await;
    assert_eq!((outcome(&verified), verified.body["Amount"].as_f64()), (("APPROVED", ""), Some(0.0)));
    assert_eq!(caller.capture(&fresh_key(), &key, "1").await.reason(), "NOT_AUTHORIZED");
    assert_eq!(caller.void(&fresh_key(), &key).await.reason(), "NOT_AUTHORIZED");
    let journal = caller.journal().await;
    assert_eq!((journal[0]["Amount"].as_f64(), &journal[0]["Outcome"]), (Some(0.0), &json!("APPROVED")));
    let charged =
        caller.charge(&fresh_key(), &verified.reference(), "UNSCHEDULED", Some(&verified.transaction())).await;
    assert_eq!(outcome(&charged), ("APPROVED", ""));
    // Nobody is verified without an agreement.
    for body in [
        authorization(PLAIN).replace("29.90", "0"),
        charging(&verified.reference(), "UNSCHEDULED", Some(&verified.transaction())).replace("29.90", "0"),
        storing(PLAIN, "RECURRING", "-1"),
    ] {
        let refused = caller.post("/v1/authorizations", &fresh_key(), &body).await;
        assert_eq!((refused.status, refused.code()), (400, "INVALID_REQUEST"), "{body}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn the_published_numbers_do_what_they_say() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (number, by_shopper, by_merchant) in [
        (PLAIN, ("APPROVED", ""), ("APPROVED", "")),
        (ASKS_TO_STORE, ("APPROVED", ""), ("APPROVED", "")),
        (ASKS_ALWAYS, ("PENDING", ""), ("DECLINED", "AUTHENTICATION_REQUIRED")),
        (SHORT_LATER, ("DECLINED", "INSUFFICIENT_FUNDS"), ("DECLINED", "INSUFFICIENT_FUNDS")),
        (CHALLENGED, ("PENDING", ""), ("APPROVED", "")),
    ] {
        for amount in ["0", "29.90"] {
            let key = fresh_key();
            let asked = caller.post("/v1/authorizations", &key, storing(number, "ONE_CLICK", amount)).await;
            let expected = if number == PLAIN { "APPROVED" } else { "PENDING" };
            assert_eq!(asked.outcome(), expected, "{number}");
            if expected == "PENDING" {
                assert_eq!(asked.body["Credential"], Value::Null, "nothing is stored before the shopper is back");
                caller.press(&asked.page(), "succeed").await;
            }
            assert_eq!(caller.operation(&key).await.reference().len(), 36);
        }
        let one_click = caller.store_card(number, "ONE_CLICK").await;
        let charged = caller.charge(&fresh_key(), &one_click.reference(), "ONE_CLICK", None).await;
        assert_eq!(outcome(&charged), by_shopper, "{number}");
        let recurring = caller.store_card(number, "RECURRING").await;
        let linked = recurring.transaction();
        let charged = caller.charge(&fresh_key(), &recurring.reference(), "RECURRING", Some(&linked)).await;
        assert_eq!(outcome(&charged), by_merchant, "{number}");
    }
    for number in [ASKS_TO_STORE, ASKS_ALWAYS, SHORT_LATER] {
        let away = storing(number, "RECURRING", "0").replace(RETURN_URL, "").replace(r#""ReturnUrl":"","#, "");
        let refused = caller.post("/v1/authorizations", &fresh_key(), away).await;
        assert_eq!(outcome(&refused), ("DECLINED", "AUTHENTICATION_REQUIRED"), "{number}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_shopper_who_fails_or_leaves_stores_nothing() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for choice in ["fail", "cancel"] {
        let key = fresh_key();
        let asked = caller.post("/v1/authorizations", &key, storing(ASKS_TO_STORE, "RECURRING", "0")).await;
        caller.press(&asked.page(), choice).await;
        let ended = caller.operation(&key).await;
        assert_eq!((ended.outcome(), &ended.body["Credential"]), ("DECLINED", &Value::Null));
        assert_eq!(ended.body["NetworkTransactionId"], Value::Null);
    }
    let key = fresh_key();
    caller.post("/v1/authorizations", &key, storing(ASKS_TO_STORE, "RECURRING", "0")).await;
    assert_eq!(caller.abandon(&key).await.reason(), "PAGE_CLOSED");
    assert_eq!(caller.credentials(MERCHANT).await, Vec::<Value>::new());
    running.stop().await;
}

#[actix_web::test]
async fn a_shopper_who_authenticates_anew_agrees_anew() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let stored = caller.store_card(ASKS_ALWAYS, "RECURRING").await;
    let key = fresh_key();
    let again = caller.charge(&key, &stored.reference(), "FIRST", None).await;
    assert_eq!(again.outcome(), "PENDING");
    caller.press(&again.page(), "succeed").await;
    let again = caller.operation(&key).await;
    assert_eq!((again.outcome(), &again.body["CardSummary"]["Last4"]), ("APPROVED", &json!("3184")));
    assert_eq!(again.body["Credential"], Value::Null, "the credential is the one that there was");
    // Both agreements are good for the issuer, which asks for the shopper all the same.
    for linked in [stored.transaction(), again.transaction()] {
        let charged = caller.charge(&fresh_key(), &stored.reference(), "RECURRING", Some(&linked)).await;
        assert_eq!(outcome(&charged), ("DECLINED", "AUTHENTICATION_REQUIRED"));
        assert_eq!(charged.body["ResponseCode"], "1A");
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_key_stores_once_and_charges_once() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let key = fresh_key();
    let body = storing(PLAIN, "RECURRING", "29.90");
    let answers = join_all((0..32).map(|_| caller.post("/v1/authorizations", &key, &body))).await;
    assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1);
    assert!(answers.iter().all(|answer| answer.body == answers[0].body), "{answers:?}");
    assert_eq!(caller.credentials(MERCHANT).await.len(), 1);
    let (reference, linked) = (answers[0].reference(), answers[0].transaction());
    let charge = fresh_key();
    let answers = join_all((0..32).map(|_| caller.charge(&charge, &reference, "RECURRING", Some(&linked)))).await;
    assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1);
    assert!(answers.iter().all(|answer| answer.body == answers[0].body && answer.outcome() == "APPROVED"));
    assert_eq!(caller.journal().await.len(), 2);
    // Another body under the same key.
    let charging = charging(&reference, "RECURRING", Some(&linked));
    for (key, other) in [
        (&key, storing(PLAIN, "UNSCHEDULED", "29.90")),
        (&key, storing(PLAIN, "RECURRING", "0")),
        (&key, body.replace(MERCHANT, "merchant-2")),
        (&key, body.replace("2099", "2098")),
        (&key, authorization(PLAIN)),
        (&charge, charging.replace("RECURRING", "FIRST")),
        (&charge, charging.replace(&linked, "1")),
        (&charge, charging.replace(&reference, &format!("crd_{}", "0".repeat(32)))),
        (&charge, charging.replace(MERCHANT, "merchant-2")),
    ] {
        let refused = caller.post("/v1/authorizations", key, &other).await;
        assert_eq!((refused.status, refused.code()), (422, "IDEMPOTENCY_KEY_REUSED"), "{other}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_deleted_credential_is_gone_for_good() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let stored = caller.store_card(PLAIN, "RECURRING").await;
    let (reference, linked) = (stored.reference(), stored.transaction());
    let answers = join_all((0..8).map(|_| caller.delete_credential(&reference))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.body["Deleted"] == true).count(), 1);
    let refused = caller.charge(&fresh_key(), &reference, "RECURRING", Some(&linked)).await;
    assert_eq!((outcome(&refused), &refused.body["ResponseCode"]), (("DECLINED", "INVALID_CREDENTIAL"), &Value::Null));
    let key = stored.body["Key"].as_str().unwrap();
    assert_eq!(caller.operation(key).await.body["Credential"], Value::Null, "its opening does not tell it any more");
    assert_eq!(caller.credentials(MERCHANT).await, Vec::<Value>::new());
    let unknown = caller.delete_credential(&format!("crd_{}", "0".repeat(32))).await;
    assert_eq!((unknown.status, &unknown.body), (200, &json!({"Deleted": false})));
    running.stop().await;
}

#[actix_web::test]
async fn deleting_against_charging_has_one_order() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for round in 0..24 {
        let stored = caller.store_card(PLAIN, "RECURRING").await;
        let (reference, linked) = (stored.reference(), stored.transaction());
        let key = fresh_key();
        let (charge, delete) =
            (caller.charge(&key, &reference, "RECURRING", Some(&linked)), caller.delete_credential(&reference));
        let (charged, deleted) = if round % 2 == 0 {
            join(charge, delete).await
        } else {
            let (deleted, charged) = join(delete, charge).await;
            (charged, deleted)
        };
        assert_eq!(deleted.body["Deleted"], true);
        assert!([("APPROVED", ""), ("DECLINED", "INVALID_CREDENTIAL")].contains(&outcome(&charged)), "{charged:?}");
        assert_eq!(caller.operation(&key).await.outcome(), charged.outcome());
        assert_eq!(
            caller.charge(&fresh_key(), &reference, "RECURRING", Some(&linked)).await.reason(),
            "INVALID_CREDENTIAL"
        );
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_merchants_credentials_are_listed_in_pages_and_are_no_other_merchants() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let mut stored = Vec::new();
    for _ in 0..5 {
        stored.push(caller.store_card(PLAIN, "RECURRING").await);
    }
    caller.delete_credential(&stored[1].reference()).await;
    let (mut listed, mut after) = (Vec::new(), 0);
    loop {
        let page = caller.get(&format!("/v1/credentials?merchant={MERCHANT}&after={after}&limit=2")).await;
        assert!(
            stored.iter().all(|one| !page.text.contains(&one.body["Reference"].to_string())),
            "no reference is shown"
        );
        assert!(!page.text.contains("crd_"), "{}", page.text);
        let entries = page.body["Credentials"].as_array().unwrap().clone();
        let Some(last) = entries.last() else { break };
        assert!(entries.len() <= 2);
        after = last["Number"].as_i64().unwrap();
        listed.extend(entries);
    }
    let keys: Vec<_> = listed.iter().map(|entry| entry["Key"].clone()).collect();
    let expected: Vec<_> = [0, 2, 3, 4].map(|index: usize| stored[index].body["Key"].clone()).into();
    assert_eq!(keys, expected);
    assert_eq!(listed[0]["CardSummary"]["Last4"], "4242");
    assert_eq!(caller.credentials("merchant-2").await, Vec::<Value>::new());
    for wrong in ["", "?merchant=", "?merchant=a%20b", "?merchant=m&limit=0", "?merchant=m&after=x"] {
        assert_eq!(caller.get(&format!("/v1/credentials{wrong}")).await.status, 400, "{wrong}");
    }
    // What another merchant knows of it is worth nothing.
    let (reference, linked) = (stored[0].reference(), stored[0].transaction());
    let theirs = charging(&reference, "RECURRING", Some(&linked)).replace(MERCHANT, "merchant-2");
    assert_eq!(caller.post("/v1/authorizations", &fresh_key(), theirs).await.reason(), "INVALID_CREDENTIAL");
    let body = json!({"Merchant": "merchant-2", "Reference": reference});
    assert_eq!(caller.post("/v1/credentials/delete", &fresh_key(), body).await.body, json!({"Deleted": false}));
    assert_eq!(caller.charge(&fresh_key(), &reference, "RECURRING", Some(&linked)).await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn a_lost_answer_is_found_by_the_key_of_the_opening() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let key = fresh_key();
    let lost = caller.post("/v1/authorizations", &key, storing("4000000000000119", "RECURRING", "0")).await;
    assert_eq!(lost.status, 500);
    let found = caller.operation(&key).await;
    assert_eq!(caller.credentials(MERCHANT).await[0]["Key"], json!(key));
    let folder = running.stop().await;
    let running = RunningProcessor::start_in(folder, Duration::ZERO, Duration::ZERO).await;
    let caller = &running.caller;
    let after = caller.operation(&key).await;
    assert_eq!(
        (after.reference(), after.transaction()),
        (found.reference(), found.transaction()),
        "it survives a restart"
    );
    assert_eq!(caller.delete_credential(&after.reference()).await.body, json!({"Deleted": true}));
    running.stop().await;
}

#[actix_web::test]
async fn an_issuer_says_what_a_test_wants() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let stored = caller.store_card("5555555555554444", "RECURRING").await;
    let (reference, linked) = (stored.reference(), stored.transaction());
    for (switch, codes) in [
        (json!({"ResponseCode": "R1"}), [json!("R1"), Value::Null]),
        (json!({"ResponseCode": "51", "AdviceCode": "26"}), [json!("51"), json!("26")]),
        (json!({}), [json!("05"), Value::Null]),
    ] {
        let mut switch = switch;
        switch["Mode"] = json!("refuse");
        switch["Remaining"] = json!(1);
        assert_eq!(caller.faults(switch).await.status, 200);
        let key = fresh_key();
        for replayed in [false, true] {
            let refused = caller.charge(&key, &reference, "RECURRING", Some(&linked)).await;
            assert_eq!((outcome(&refused), refused.replayed), (("DECLINED", "GENERIC_DECLINE"), replayed));
            assert_eq!([refused.body["ResponseCode"].clone(), refused.body["AdviceCode"].clone()], codes);
            assert_eq!(refused.body["CardSummary"]["Scheme"], "MC");
        }
    }
    assert_eq!(caller.charge(&fresh_key(), &reference, "RECURRING", Some(&linked)).await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn a_deletion_fails_as_the_switch_wants_it() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (mode, status, done) in
        [("error_500", 500, false), ("refuse", 500, false), ("timeout_after_work", 504, true), ("duplicate", 200, true)]
    {
        let stored = caller.store_card(PLAIN, "ONE_CLICK").await;
        caller.faults(json!({"Mode": mode, "Remaining": 1, "DelayMs": 1, "Kinds": ["CREDENTIAL"]})).await;
        assert_eq!(caller.delete_credential(&stored.reference()).await.status, status, "{mode}");
        assert_eq!(caller.credentials(MERCHANT).await.is_empty(), done, "{mode}");
        caller.delete_credential(&stored.reference()).await;
    }
    let stored = caller.store_card(PLAIN, "ONE_CLICK").await;
    caller.faults(json!({"Mode": "slow", "DelayMs": 1, "Kinds": ["CREDENTIAL"]})).await;
    caller.delete_credential(&stored.reference()).await;
    until("the deletion", || async { caller.credentials(MERCHANT).await.is_empty().then_some(()) }).await;
    running.stop().await;
}

#[actix_web::test]
async fn what_makes_no_sense_is_refused_and_not_repeated() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let reference = format!("crd_{}", "0".repeat(32));
    let paying = charging(&reference, "ONE_CLICK", None);
    let with_code = paying.replace(r#""Use""#, r#""VerificationCode":"12","Use""#);
    let by_merchant = paying.replace("ONE_CLICK", "RECURRING").replace(r#""Use""#, r#""VerificationCode":"123","Use""#);
    for body in [
        storing(PLAIN, "SOMETIMES", "1"),
        storing(PLAIN, "RECURRING", "1").replace(MERCHANT, ""),
        storing(PLAIN, "RECURRING", "1").replace(r#""Merchant":"merchant-1","#, ""),
        paying.replace(&reference, PLAIN),
        paying.replace(&reference, &reference.to_uppercase()),
        paying.replace("ONE_CLICK", "TWO_CLICKS"),
        paying.replace(r#""NetworkTransactionId":null"#, r#""NetworkTransactionId":"a b""#),
        paying.replace(r#""Amount""#, r#""Store":"RECURRING","Amount""#),
        paying.replace(r#""Amount""#, r#""Method":"PAYPAL","Amount""#),
        with_code,
        by_merchant,
    ] {
        let refused = caller.post("/v1/authorizations", &fresh_key(), &body).await;
        assert_eq!((refused.status, refused.code()), (400, "INVALID_REQUEST"), "{body}: {refused:?}");
        assert!(!refused.text.contains("4242") && !refused.text.contains("crd_"), "{}", refused.text);
    }
    for body in [json!({}), json!({"Merchant": MERCHANT, "Reference": PLAIN}), json!({"Reference": reference})] {
        let refused = caller.post("/v1/credentials/delete", &fresh_key(), body).await;
        assert_eq!((refused.status, refused.text.contains("4242")), (400, false));
    }
    assert_eq!(caller.journal().await.len(), 0);
    running.stop().await;
}

#[actix_web::test]
async fn what_is_stored_stays_as_it_was_stored() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let kept = caller.store_card(PLAIN, "RECURRING").await;
    let gone = caller.store_card(PLAIN, "ONE_CLICK").await;
    caller.delete_credential(&gone.reference()).await;
    let mut store = open(&running.database);
    for attack in [
        "UPDATE credentials SET kind = 'UNSCHEDULED'",
        "UPDATE credentials SET merchant = 'merchant-2'",
        "UPDATE credentials SET deleted_at = NULL",
        "UPDATE credentials SET deleted_at = 1 WHERE deleted_at IS NOT NULL",
        "DELETE FROM credentials",
        "INSERT OR REPLACE INTO credentials SELECT * FROM credentials",
        "INSERT INTO credentials (key, merchant, kind, last4, expiry, stored_at)
         SELECT key, merchant, store, '4444', expiry, 1 FROM credential_terms",
        "UPDATE credential_terms SET network_transaction_id = '000000000000000'",
        "DELETE FROM credential_terms",
        "INSERT OR REPLACE INTO credential_terms SELECT * FROM credential_terms",
        "UPDATE operations SET amount = 1",
    ] {
        assert!(diesel::sql_query(attack).execute(&mut store).is_err(), "{attack}");
    }
    assert_eq!(caller.credentials(MERCHANT).await[0]["Key"], kept.body["Key"]);
    running.stop().await;
}
