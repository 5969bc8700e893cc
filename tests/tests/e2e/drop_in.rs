//! The drop-in as a browser loads it: the card form's document for the right page, the wrong page, and a page that does not say which it is.

use actix_web::http::Method;
use dropin_tests::Http;
use serde_json::{Value, json};

/// What is written into a document of the card form.
fn embedded(document: &str) -> Value {
    let (_, rest) = document.split_once(r#"<script id="session" type="application/json">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

crate::both! {
    /// Only a page of the merchant gets a form; any other gets the reason, and nothing of the Session. A page that hides its address is left to
    /// the browser, which frames the form on no page but the merchant's.
    async fn the_card_form_is_for_pages_of_the_merchant_alone(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let (ours, theirs) = (format!("{}/checkout?a=b", world.receiver.origin()), "https://elsewhere.example/".to_owned());
        let ancestors = format!("frame-ancestors {}", world.receiver.origin());
        for (referer, expected) in [(Some(&ours), "CREATED"), (None, "CREATED"), (Some(&theirs), "ORIGIN_NOT_ALLOWED")] {
            let url = format!("{}/v1/frame.html?session={session}&locale=en_US", world.asset);
            let headers: Vec<_> = referer.iter().map(|referer| ("referer", referer.as_str())).collect();
            let answer = Http::default().send(Method::GET, &url, &headers, Vec::new()).await.unwrap();
            assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{referer:?}");
            let (policy, view) = (answer.header("content-security-policy").unwrap(), embedded(&answer.text()));
            if expected == "CREATED" {
                assert!(policy.contains(&ancestors), "{referer:?}: {policy}");
                assert_eq!(view["SessionId"], session, "{referer:?}: {view}");
                let asked = Http::default().get(&format!("{}/v1/shopper/session/{session}", world.asset)).await.json();
                assert_eq!((&view["State"], &view["TotalAmount"]), (&json!(expected), &asked["TotalAmount"]));
            } else {
                assert!(policy.contains("frame-ancestors *;"), "{referer:?}: {policy}");
                assert_eq!(view["Code"], expected, "{view}");
                assert_eq!(view.as_object().unwrap().len(), 2, "a code and a message, nothing of the Session: {view}");
            }
        }
    }
}
