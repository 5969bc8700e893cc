//! The drop-in's files as browsers get them: small where they can read that, and kept for as long as they cannot change.

use crate::common::Api;
use dropin_browser::{Asset, asset};

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const SOON: &str = "public, max-age=300";

fn known(path: &str) -> &'static Asset {
    asset(path).unwrap()
}

#[actix_web::test]
async fn a_file_is_sent_in_the_encoding_that_its_client_likes_best() {
    let api = Api::start().await;
    let script = known("dropin.js");
    let (brotli, gzip) = (script.brotli.unwrap(), script.gzip.unwrap());
    assert!(brotli.len() < gzip.len() && gzip.len() < script.bytes.len() / 2);
    let mut tags = Vec::new();
    for (accepted, encoding, bytes) in [
        ("gzip, deflate, br, zstd", "br", brotli),
        ("br;q=0.5, gzip;q=0.9", "gzip", gzip),
        ("gzip", "gzip", gzip),
        ("br;q=0, gzip", "gzip", gzip),
        ("identity", "", script.bytes),
        ("zstd", "", script.bytes),
        ("br;q=0, gzip;q=0", "", script.bytes),
        ("nonsense;;;", "", script.bytes),
        ("", "", script.bytes),
    ] {
        let answer = api.browse("/v1/dropin.js", &[("accept-encoding", accepted)]).await;
        assert_eq!((answer.status, answer.header("content-encoding")), (200, encoding), "{accepted}");
        assert_eq!(answer.bytes, bytes, "{accepted}");
        assert_eq!(answer.header("vary").to_ascii_lowercase(), "accept-encoding", "{accepted}");
        let tag = answer.header("etag").to_owned();
        let again = api.browse("/v1/dropin.js", &[("accept-encoding", accepted), ("if-none-match", &tag)]).await;
        assert_eq!((again.status, again.bytes.len(), again.header("etag")), (304, 0, tag.as_str()), "{accepted}");
        tags.push((encoding, tag));
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 3, "each encoding has a tag of its own: {tags:?}");
}

#[actix_web::test]
async fn an_address_that_names_the_content_is_kept_for_ever_and_no_other() {
    let api = Api::start().await;
    let (script, texts) = (known("frame.js"), known("locales/de.json"));
    let version = dropin_browser::VERSION;
    for (path, expected) in [
        (format!("/v1/frame.js?{}", script.fingerprint), FOR_EVER),
        (format!("/v1/locales/de.json?{}", texts.fingerprint), FOR_EVER),
        (format!("/{version}/frame.js"), FOR_EVER),
        (format!("/v1/frame.js?{}", texts.fingerprint), SOON),
        ("/v1/frame.js?".to_owned(), SOON),
        ("/v1/frame.js".to_owned(), SOON),
        ("/v1/dropin.js".to_owned(), SOON),
        ("/v1/dropin.d.ts".to_owned(), SOON),
    ] {
        let answer = api.browse(&path, &[]).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, expected), "{path}");
    }
    for path in ["/v2/frame.js", "/v1/frame.css", "/v1/dropin.js.br", "/v1/locales/xx.json"] {
        api.browse(path, &[]).await.is_error(404, "NOT_FOUND");
    }
}

#[actix_web::test]
async fn the_inventory_has_the_digest_and_the_purpose_of_each_script_that_is_served() {
    let api = Api::start().await;
    let answer = api.browse("/.well-known/dropin-scripts.json", &[]).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "*"));
    let inventory: serde_json::Value = serde_json::from_slice(&answer.bytes).unwrap();
    let version = inventory["Version"].as_str().unwrap();
    assert_eq!(version, dropin_browser::VERSION);
    let scripts = inventory["Scripts"].as_array().unwrap();
    assert_eq!(scripts.len(), dropin_browser::assets().iter().filter(|asset| asset.path.ends_with(".js")).count());
    for script in scripts {
        let path = script["Path"].as_str().unwrap();
        // Pinned by its version, it is the same for ever.
        let served = api.browse(&format!("/{version}/{path}"), &[]).await;
        assert_eq!((served.status, served.header("cache-control")), (200, FOR_EVER), "{path}");
        assert_eq!(
            (served.bytes.as_slice(), &script["Bytes"]),
            (known(path).bytes, &served.bytes.len().into()),
            "{path}"
        );
        assert_eq!(script["Integrity"], known(path).integrity(), "{path}");
        assert!(!script["Documents"].as_array().unwrap().is_empty() && 20 < script["Purpose"].as_str().unwrap().len());
    }
}

#[actix_web::test]
async fn a_document_of_no_session_says_so_to_any_page_and_has_no_form() {
    let api = Api::start().await;
    for query in ["", "?session=", "?session=x", "?session=6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112"] {
        let answer = api.browse(&format!("/v1/frame.html{query}"), &[("referer", "https://shop.example/")]).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        assert!(answer.header("content-security-policy").contains("frame-ancestors *;"), "{query}: {answer:?}");
        let (_, rest) = answer.text.split_once(r#"<script id="session" type="application/json">"#).unwrap();
        let embedded: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(embedded["Code"], "SESSION_NOT_FOUND", "{query}");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}
