//! Who may frame the card form, and how the drop-in learns that its page may not.

use crate::common::Api;

const REGISTERED: &str = "https://registered.example";
/// The origins of CompleteUrl and CancelUrl.
const NAMED: [&str; 2] = ["https://paid.example", "https://shop.example"];

/// Who may frame the card form, as its policy says.
async fn ancestors(api: &Api, session: &str) -> String {
    let frame = api.browse(&format!("/v1/frame.html?session={session}"), &[]).await;
    let policy = frame.header("content-security-policy");
    policy.split("frame-ancestors ").nth(1).unwrap().split(';').next().unwrap().to_owned()
}

fn check(session: &str) -> String {
    format!("/v1/session/{session}/embeddable")
}

#[actix_web::test]
async fn in_production_only_registered_origins_frame_the_card_form() {
    let api = Api::start().await;
    let session = api.session().await;
    assert_eq!(ancestors(&api, &session).await, "'none'", "nothing is registered");
    api.origins(&[REGISTERED]).await;
    // What the processes remember of a merchant ends after a second.
    tokio::time::sleep(std::time::Duration::from_millis(1_600)).await;
    assert_eq!(ancestors(&api, &session).await, REGISTERED);
    for (origin, status) in [(REGISTERED, 200), (NAMED[0], 403), (NAMED[1], 403), ("null", 403)] {
        assert_eq!(api.browse(&check(&session), &[("origin", origin)]).await.status, status, "{origin}");
    }
}

#[actix_web::test]
async fn a_sandbox_lets_the_pages_that_a_session_names_frame_it_too() {
    let api = Api::start_as(true).await;
    api.origins(&[REGISTERED]).await;
    let session = api.session().await;
    assert_eq!(ancestors(&api, &session).await, [NAMED[0], REGISTERED, NAMED[1]].join(" "));
    for origin in [REGISTERED, NAMED[0], NAMED[1]] {
        assert_eq!(api.browse(&check(&session), &[("origin", origin)]).await.status, 200, "{origin}");
    }
}

#[actix_web::test]
async fn a_page_hears_why_it_may_not_embed_the_drop_in() {
    let api = Api::start().await;
    api.origins(&[REGISTERED]).await;
    let session = api.session().await;
    let allowed = api.browse(&check(&session), &[("origin", REGISTERED)]).await;
    assert_eq!((allowed.status, allowed.text.as_str()), (200, r#"{"Allowed":true}"#));
    let elsewhere = api.browse(&check(&session), &[("origin", "https://elsewhere.example")]).await;
    elsewhere.is_error(403, "ORIGIN_NOT_ALLOWED");
    let advice = "--origin ..., repeated for every origin of the shop: the list is replaced";
    assert!(elsewhere.text.contains(advice), "it says what to do: {elsewhere:?}");
    assert!(!elsewhere.text.contains("registered.example"), "and not who else may: {elsewhere:?}");
    let mut all = vec![allowed, elsewhere];
    for unknown in ["6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", "no-session"] {
        let answer = api.browse(&check(unknown), &[("origin", REGISTERED)]).await;
        answer.is_error(404, "SESSION_NOT_FOUND");
        all.push(answer);
    }
    for answer in all {
        assert_eq!(answer.header("access-control-allow-origin"), "*", "every page may read it: {answer:?}");
        assert_eq!(answer.header("cache-control"), "no-store", "{answer:?}");
    }
    // Browsers send no Origin where the page is of {asset_url} itself.
    api.browse(&check(&session), &[]).await.is_error(403, "ORIGIN_NOT_ALLOWED");
    api.origins(&["https://assets.example"]).await;
    tokio::time::sleep(std::time::Duration::from_millis(1_600)).await;
    assert_eq!(api.browse(&check(&session), &[]).await.status, 200);
}
