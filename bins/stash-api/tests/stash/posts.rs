//! What is stashed, and what is not.

use dropin_card::{Scheme, StashedKind, Wallet};
use dropin_ports::StashSummary;

use crate::world::{World, at, form, token_form};

#[actix_web::test]
async fn a_card_is_stashed_and_only_its_last_digits_come_back() {
    let world = World::start().await;
    let answer = world.post(&at("cart-1"), None, &form("4242 4242 4242 4242", "123")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body, r#"{"StashId":"cart-1","Last4":"4242","Warnings":[]}"#);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let summary = StashSummary { kind: StashedKind::Card(Some(Scheme::Visa)), usable: true };
    assert_eq!(world.stashed("cart-1", "browser").await, Some(summary));
    assert_eq!(world.stashed("cart-1", "another browser").await, None);
    assert_eq!(world.stashed("cart-2", "browser").await, None);
    world.stop().await;
}

#[actix_web::test]
async fn what_is_known_of_the_client_is_sealed_with_the_card() {
    let card = form("4242 4242 4242 4242", "123");
    let text = |text: &str| Some(text.to_owned());
    let world = World::start().await;
    let path = at("cart-1");
    let form_type = ("Content-Type", "application/x-www-form-urlencoded");
    // Nobody stands before the listener, so that anybody could write this.
    let headers = [form_type, ("X-Forwarded-For", "203.0.113.9"), ("Forwarded", "for=203.0.113.9")];
    let said = format!("{card}&TimeZone=Europe%2FVienna&Language=de-AT");
    assert_eq!(world.send("POST", &path, &headers, &said).await.status, 200);
    let here = "127.0.0.1".parse().ok();
    assert_eq!(world.client_of("cart-1").await, (here, text("Europe/Vienna"), text("de-AT")));
    for odd in ["", "&TimeZone=&Language=", "&TimeZone=%3Cb%3E&Language=%", "&Language=a&Language=b&TimeZone=%ff"] {
        assert_eq!(world.post(&path, None, &format!("{card}{odd}")).await.status, 200, "{odd}");
        assert_eq!(world.client_of("cart-1").await, (here, None, None), "{odd}");
    }
    let long = format!("{card}&TimeZone={}&Language=pt-BR", "z".repeat(10_000));
    assert_eq!(world.post(&path, None, &long).await.status, 200);
    assert_eq!(world.client_of("cart-1").await, (here, None, text("pt-BR")));
    // An address is no field of the form.
    let named = world.post(&path, None, &format!("{card}&Address=203.0.113.9")).await;
    assert_eq!(named.error(), (400, "INVALID_REQUEST".to_owned(), vec!["Address".to_owned()]));
    world.stop().await;
    let world = World::start_behind_proxy().await;
    for (headers, address) in [
        (&[form_type, ("X-Forwarded-For", "198.51.100.7, 203.0.113.9")][..], "203.0.113.9"),
        (&[form_type], "127.0.0.1"),
    ] {
        assert_eq!(world.send("POST", &path, headers, &card).await.status, 200, "{address}");
        assert_eq!(world.client_of("cart-1").await, (address.parse().ok(), None, None));
    }
    world.stop().await;
}

#[actix_web::test]
async fn a_bad_card_is_stashed_with_warnings_and_cannot_be_used() {
    let world = World::start().await;
    let answer = world.post(&at("cart-1"), None, &form("4242424242424241", "12")).await;
    let expected =
        r#"{"StashId":"cart-1","Last4":"4241","Warnings":["CardNumberInvalid","CardVerificationCodeInvalid"]}"#;
    assert_eq!((answer.status, answer.body.as_str()), (200, expected));
    let summary = StashSummary { kind: StashedKind::Card(Some(Scheme::Visa)), usable: false };
    assert_eq!(world.stashed("cart-1", "browser").await, Some(summary));
    // Typed again, better: it takes the place of the first.
    world.post(&at("cart-1"), None, &form("378282246310005", "1234")).await;
    let summary = StashSummary { kind: StashedKind::Card(Some(Scheme::AmericanExpress)), usable: true };
    assert_eq!(world.stashed("cart-1", "browser").await, Some(summary));
    world.stop().await;
}

#[actix_web::test]
async fn a_wallets_token_is_stashed_and_nothing_of_it_comes_back() {
    let world = World::start().await;
    world.set_wallet_up().await;
    let answer = world.post(&at("cart-1"), None, &token_form("APPLEPAY", r#"{"paymentData":"c2VjcmV0"}"#)).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"StashId":"cart-1","Warnings":[]}"#));
    let summary = StashSummary { kind: StashedKind::Wallet(Wallet::ApplePay), usable: true };
    assert_eq!(world.stashed("cart-1", "browser").await, Some(summary));
    let other = world.post(&at("cart-2"), None, &token_form("SAMSUNGPAY", r#"{"paymentData":"c2VjcmV0"}"#)).await;
    assert_eq!(other.error(), (400, "INVALID_REQUEST".to_owned(), vec!["token_data.Type".to_owned()]));
    assert!(!other.body.contains("c2VjcmV0"));
    assert_eq!(world.stashed("cart-2", "browser").await, None);
    // Everything that a page may legitimately send fits, however it is encoded.
    let large = token_form("APPLEPAY", &format!(r#"{{"a":"{}"}}"#, "x".repeat(9_000)));
    assert_eq!(world.post(&at("cart-3"), None, &large).await.status, 200);
    world.stop().await;
}

#[actix_web::test]
async fn a_token_is_refused_where_the_merchant_takes_no_wallet() {
    let world = World::start().await;
    let token = token_form("APPLEPAY", r#"{"paymentData":"c2VjcmV0"}"#);
    let refused = world.post(&at("cart-1"), None, &token).await;
    assert_eq!(refused.error(), (400, "INVALID_REQUEST".to_owned(), vec!["token_data".to_owned()]));
    assert_eq!(refused.json()["FieldErrors"][0]["Code"], "VALUE_NOT_ALLOWED");
    assert_eq!(world.stashed("cart-1", "browser").await, None);
    world.set_wallet_up().await;
    assert_eq!(world.post(&at("cart-1"), None, &token).await.status, 200);
    let google = token_form("GOOGLEPAY", r#"{"tokenizationData":{}}"#);
    let refused = world.post(&at("cart-2"), None, &google).await;
    assert_eq!(
        refused.error(),
        (400, "INVALID_REQUEST".to_owned(), vec!["token_data".to_owned()]),
        "it has no account"
    );
    world.stop().await;
}

#[actix_web::test]
async fn ids_that_could_be_read_in_two_ways_are_refused() {
    let world = World::start().await;
    let long = "a".repeat(129);
    for bad in [
        "",
        "a%2Fb",
        "a%2fb",
        "a/b",
        "..",
        ".",
        "%2e%2e",
        "..%2f..%2fetc",
        "a%41",
        "%ff",
        "%C3%A9",
        "a%00b",
        "%252e%252e",
        "a%252Fb",
        "%c0%af",
        "%ED%A0%80",
        "a!b",
        "a;b",
        "a*b",
        "a%20b",
        "a//b",
        "a/",
        &long,
    ] {
        let answer = world.post(&at(bad), None, &form("4242424242424242", "123")).await;
        assert_eq!(answer.error(), (400, "INVALID_REQUEST".to_owned(), vec!["StashId".to_owned()]), "{bad}");
    }
    let twice = format!("{}/x", dropin_kernel::MerchantId::to_string(&crate::world::MERCHANT));
    let answer = world.post(&at(&twice), None, &form("4242424242424242", "123")).await;
    assert_eq!(answer.error().0, 400, "the merchant's id as a folder");
    for good in ["a", "-._~", "A0", "a+b", "a,b", "a@b", "a:b=c", &"b".repeat(128)] {
        let answer = world.post(&at(good), None, &form("4242424242424242", "123")).await;
        assert_eq!((answer.status, answer.json()["StashId"].as_str()), (200, Some(good)));
    }
    world.stop().await;
}

#[actix_web::test]
async fn an_unknown_merchant_is_told_as_such() {
    let world = World::start().await;
    for unknown in ["00000000-0000-4000-8000-000000000000", "shop", "6F1C3B2A1D2E4F3A8B4C5D6E7F809112"] {
        let answer = world.post(&format!("{unknown}/cart"), None, &form("4242424242424242", "123")).await;
        assert_eq!(answer.error(), (404, "MERCHANT_NOT_FOUND".to_owned(), vec![]), "{unknown}");
    }
    world.stop().await;
}

#[actix_web::test]
async fn what_is_no_form_with_a_card_is_refused_for_what_it_is() {
    let world = World::start().await;
    let path = at("cart");
    let answer = world.post(&path, None, "DeviceFingerprint=browser&token_data=%7B%7D").await;
    let fields = ["token_data.Data", "token_data.Type"].map(str::to_owned).to_vec();
    assert_eq!(answer.error(), (400, "INVALID_REQUEST".to_owned(), fields));
    let both = format!("{}&token_data=%7B%7D", form("4242424242424242", "123"));
    assert_eq!(world.post(&path, None, &both).await.error().2, ["card", "token_data"]);
    assert_eq!(world.post(&path, None, "").await.error().2, ["DeviceFingerprint", "card"]);
    assert_eq!(world.post(&path, None, "DeviceFingerprint=browser&card=[]").await.error().2, ["card"]);

    let json = world.send("POST", &path, &[("Content-Type", "application/json")], "{}").await;
    assert_eq!((json.status, json.error().1.as_str()), (415, "UNSUPPORTED_MEDIA_TYPE"));
    let large = format!("{}&padding={}", form("4242424242424242", "123"), "x".repeat(32 * 1024));
    let answer = world.post(&path, None, &large).await;
    assert_eq!((answer.status, answer.error().1.as_str()), (413, "PAYLOAD_TOO_LARGE"));
    let answer = world.send("GET", &path, &[], "").await;
    assert_eq!((answer.status, answer.error().1.as_str()), (405, "METHOD_NOT_ALLOWED"));
    assert_eq!(world.stashed("cart", "browser").await, None);
    world.stop().await;
}

#[actix_web::test]
async fn a_card_object_is_taken_and_warned_of_whatever_is_in_it() {
    let world = World::start().await;
    for card in ["{}", "{\"Expiry\":{}}", "{\"Number\":4242,\"Expiry\":\"12/40\",\"VerificationCode\":[1]}"] {
        let answer = world.post(&at("cart"), None, &format!("DeviceFingerprint=browser&card={card}")).await;
        assert_eq!((answer.status, &answer.json()["Last4"]), (200, &serde_json::json!("")), "{card}: {}", answer.body);
        let warnings = answer.json()["Warnings"].clone();
        assert_eq!(
            warnings.as_array().and_then(|all| all.first()),
            Some(&serde_json::json!("CardNumberInvalid")),
            "{card}"
        );
    }
    world.stop().await;
}

#[actix_web::test]
async fn a_store_that_is_away_is_a_503() {
    let world = World::start().await;
    world.store.close();
    let answer = world.post(&at("cart"), None, &form("4242424242424242", "123")).await;
    assert_eq!((answer.status, answer.error().1.as_str()), (503, "SERVICE_UNAVAILABLE"));
    assert!(answer.header("retry-after").is_some());
    world.stop().await;
}
