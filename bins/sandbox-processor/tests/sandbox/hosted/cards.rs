//! Cards: the challenge on a page of their issuer, the scheme of a co-badged one, and reviews.

use crate::common::{CHALLENGED, RETURN_URL, RunningProcessor, authorization, fresh_key};
use serde_json::{Value, json};

use crate::common;

#[actix_web::test]
async fn a_challenge_succeeds_fails_or_is_cancelled() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (choice, outcome, reason) in [
        ("succeed", "APPROVED", ""),
        ("fail", "DECLINED", "AUTHENTICATION_FAILED"),
        ("cancel", "DECLINED", "CANCELLED"),
    ] {
        let (key, pending) = caller.pending(json!({})).await;
        let page = pending.page();
        assert!(page.starts_with(&format!("{}/pages/", caller.base)) && !page.contains(&key), "{page}");
        assert!(pending.body["Action"]["ExpiresAt"].as_str().unwrap().ends_with('Z'));
        assert_eq!(caller.capture(&fresh_key(), &key, "1").await.reason(), "NOT_AUTHORIZED");
        let back = caller.press(&page, choice).await;
        assert_eq!((back.status, back.location.as_str()), (303, RETURN_URL), "{choice}");
        let now = caller.operation(&key).await;
        assert_eq!((now.outcome(), now.reason(), &now.body["Action"]), (outcome, reason, &Value::Null));
        assert_eq!(caller.journaled(&key).await, ["PENDING", outcome]);
        let capture = caller.capture(&fresh_key(), &key, "29.90").await;
        assert_eq!(capture.outcome(), outcome, "only what succeeded is captured");
    }
    running.stop().await;
}

#[actix_web::test]
async fn any_card_is_challenged_where_the_caller_asks_for_it() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let asked = |number: &str| {
        let mut body: Value = serde_json::from_str(&authorization(number)).unwrap();
        (body["Challenge"], body["ReturnUrl"], body["ReviewAllowed"]) = (json!(true), json!(RETURN_URL), json!(true));
        body
    };
    for (number, choice, outcome, reason) in [
        (common::PLAIN, "succeed", "APPROVED", ""),
        (common::PLAIN, "fail", "DECLINED", "AUTHENTICATION_FAILED"),
        ("4000000000009995", "succeed", "DECLINED", "INSUFFICIENT_FUNDS"),
        ("4000000000009995", "fail", "DECLINED", "AUTHENTICATION_FAILED"),
    ] {
        let key = fresh_key();
        let pending = caller.post("/v1/authorizations", &key, asked(number)).await;
        assert_eq!((pending.outcome(), &pending.body["Checks"]), ("PENDING", &Value::Null), "{number}");
        caller.press(&pending.page(), choice).await;
        let now = caller.operation(&key).await;
        assert_eq!((now.outcome(), now.reason()), (outcome, reason), "{number}");
        let checks =
            if outcome == "APPROVED" { json!({"CodeMatches": true, "Authenticated": true}) } else { Value::Null };
        assert_eq!(now.body["Checks"], checks, "{number}");
    }
    // Afterwards a card does what its number says.
    for (number, capture) in [("4000000000000341", "DECLINED"), ("4000000000009235", "APPROVED")] {
        let key = fresh_key();
        let pending = caller.post("/v1/authorizations", &key, asked(number)).await;
        caller.press(&pending.page(), "succeed").await;
        let now = caller.operation(&key).await;
        assert_eq!(now.body["UnderReview"] == true, number.ends_with("9235"), "{now:?}");
        assert_eq!(caller.capture(&fresh_key(), &key, "29.90").await.outcome(), capture, "{number}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_challenge_is_part_of_what_was_asked_and_no_matter_to_other_methods() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Card": card(common::PLAIN), "Challenge": true})).await;
    let asking = |terms| caller.post("/v1/authorizations", &key, common::asking(terms));
    let again = asking(json!({"Card": card(common::PLAIN), "Challenge": true})).await;
    assert_eq!((again.replayed, again.page()), (true, pending.page()));
    let other = asking(json!({"Card": card(common::PLAIN), "Challenge": false})).await;
    assert_eq!((other.status, other.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    let odd = asking(json!({"Challenge": "yes"})).await;
    assert_eq!((odd.status, odd.code()), (400, "INVALID_REQUEST"));
    let away = json!({"Card": card(common::PLAIN), "Challenge": true, "ReturnUrl": null});
    let away = caller.post("/v1/authorizations", &fresh_key(), common::asking(away)).await;
    assert_eq!((away.outcome(), away.reason()), ("DECLINED", "AUTHENTICATION_REQUIRED"));
    let transfer = json!({"Method": "BANKTRANSFER", "Challenge": true});
    assert!(caller.pending(transfer).await.1.body["BankDetails"].is_object());
    let (paypal, page) = caller.pending(json!({"Method": "PAYPAL", "Challenge": true})).await;
    caller.press(&page.page(), "pay").await;
    let paid = caller.operation(&paypal).await;
    assert_eq!((paid.outcome(), &paid.body["Checks"]), ("APPROVED", &Value::Null));
    let token = json!({"Card": null, "Token": {"Type": "APPLEPAY", "Data": {}}});
    let approved = caller.post("/v1/authorizations", &fresh_key(), common::asking(token.clone())).await;
    assert_eq!(
        (approved.outcome(), &approved.body["Checks"]),
        ("APPROVED", &Value::Null),
        "of a token nothing is known"
    );
    let mut challenged = token;
    challenged["Challenge"] = json!(true);
    let (wallet, page) = caller.pending(challenged).await;
    caller.press(&page.page(), "succeed").await;
    assert_eq!(caller.operation(&wallet).await.body["Checks"], json!({"Authenticated": true}));
    running.stop().await;
}

#[actix_web::test]
async fn an_exemption_is_part_of_what_was_asked() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let terms = |number: &str, exemption: Value| {
        common::asking(json!({"Card": card(number), "Exemption": exemption, "ReturnUrl": RETURN_URL}))
    };
    let key = fresh_key();
    let approved = caller.post("/v1/authorizations", &key, terms(CHALLENGED, json!("LOW_VALUE"))).await;
    assert_eq!((approved.outcome(), &approved.body["Checks"]["Authenticated"]), ("APPROVED", &json!(false)));
    assert!(caller.post("/v1/authorizations", &key, terms(CHALLENGED, json!("LOW_VALUE"))).await.replayed);
    for other in [json!("ONE_LEG_OUT"), Value::Null] {
        let other = caller.post("/v1/authorizations", &key, terms(CHALLENGED, other)).await;
        assert_eq!((other.status, other.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    }
    let key = fresh_key();
    let refused = caller.post("/v1/authorizations", &key, terms("4000002760003184", json!("ONE_LEG_OUT"))).await;
    caller.press(&refused.page(), "succeed").await;
    let now = caller.operation(&key).await;
    assert_eq!((now.outcome(), &now.body["Checks"]["Authenticated"]), ("APPROVED", &json!(true)));
    let both = json!({"Card": card(CHALLENGED), "Exemption": "LOW_VALUE", "Challenge": true});
    for odd in [common::asking(both), terms(CHALLENGED, json!("CORPORATE")), terms(CHALLENGED, json!(5))] {
        let odd = caller.post("/v1/authorizations", &fresh_key(), odd).await;
        assert_eq!((odd.status, odd.code()), (400, "INVALID_REQUEST"), "{odd:?}");
    }
    running.stop().await;
}

fn card(number: &str) -> Value {
    let body: Value = serde_json::from_str(&authorization(number)).expect("an authorization is JSON");
    body["Card"].clone()
}

#[actix_web::test]
async fn a_co_badged_card_shows_the_scheme_that_was_chosen() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let by = |scheme: &str| {
        let mut card = card("4000002500001001");
        card["Scheme"] = json!(scheme);
        json!({"Card": card, "Challenge": true})
    };
    let (key, pending) = caller.pending(by("CB")).await;
    let page = caller.open(&pending.page()).await;
    assert!(page.text.contains("Cartes Bancaires"), "{}", page.text);
    let asking = |terms| caller.post("/v1/authorizations", &key, common::asking(terms));
    let other = asking(by("VISA")).await;
    assert_eq!((other.status, other.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    let unknown = asking(by("VISA ")).await;
    assert_eq!((unknown.status, unknown.code()), (400, "INVALID_REQUEST"));
    caller.press(&pending.page(), "succeed").await;
    let now = caller.operation(&key).await;
    assert_eq!((now.outcome(), &now.body["Scheme"]), ("APPROVED", &json!("CB")));
    let silent = caller.authorize(&fresh_key(), "4000002500001001").await;
    assert_eq!((silent.outcome(), silent.body.get("Scheme")), ("APPROVED", None));
    running.stop().await;
}

#[actix_web::test]
async fn a_card_may_be_authorized_under_review() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for end in ["capture", "void"] {
        let key = fresh_key();
        let mut body: Value = serde_json::from_str(&authorization("4000000000009235")).unwrap();
        body["ReviewAllowed"] = json!(true);
        let answer = caller.post("/v1/authorizations", &key, &body).await;
        assert_eq!((answer.outcome(), &answer.body["UnderReview"]), ("APPROVED", &json!(true)));
        assert_eq!(caller.operation(&key).await.body, answer.body);
        assert_eq!(caller.review(&key, "approve").await.code(), "NOT_IN_REVIEW");
        let ended = match end {
            "capture" => caller.capture(&fresh_key(), &key, "29.90").await,
            _ => caller.void(&fresh_key(), &key).await,
        };
        assert_eq!(ended.outcome(), "APPROVED", "{end}");
    }
    running.stop().await;
}
