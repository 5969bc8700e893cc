//! The shopper comes back from a hosted page (docs/SPECIFICATION.md#session-transitions, docs/SPECIFICATION.md#checkout-return).

use crate::common::{Answer, Api, redirect};
use actix_web::http::Method;
use dropin_money::{Amount, Currency};
use dropin_order::DeclineReason;
use dropin_ports::{IssuerChecks, ProcessorReply};
use futures_util::future::join_all;
use serde_json::json;

const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
const FRAMED: [(&str, &str); 1] = [("sec-fetch-dest", "iframe")];

/// An Order whose shopper is on a wallet's page; its OrderId.
async fn away(api: &Api, reference: &str) -> String {
    api.bank.will_say(redirect("https://wallet.example/pay"));
    api.ask("", &api.cart(reference, json!({}))).await.order()
}

fn approved() -> ProcessorReply {
    let amount = Amount::from_minor(Currency::Usd, 2_000).ok();
    ProcessorReply::Approved {
        amount,
        captured: false,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

/// A page for people, which nobody keeps, that runs nothing and says nothing of where it was.
#[track_caller]
fn is_a_page(answer: &Answer, words: &str) {
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"), "{answer:?}");
    assert!(answer.text.contains(words), "{answer:?}");
    is_guarded(answer);
}

#[track_caller]
fn is_guarded(answer: &Answer) {
    assert!(answer.header("content-security-policy").starts_with("default-src 'none';"), "{answer:?}");
    assert_eq!((answer.header("cache-control"), answer.header("referrer-policy")), ("no-store", "no-referrer"));
}

#[actix_web::test]
async fn the_top_page_goes_on_to_return_with_the_outcome() {
    let api = Api::start().await;
    for (reference, said, state) in [
        ("order-1", approved(), "PAYMENT_AUTHORIZED"),
        (
            "order-2",
            ProcessorReply::Declined { reason: DeclineReason::CancelledByShopper, retryable: false, credential: None },
            "PROCESSING_FAILED",
        ),
    ] {
        let order = away(&api, reference).await;
        api.bank.knows(said);
        // Whoever presses Back and comes again is sent on again.
        for _ in 0..2 {
            let back = api.browse(&format!("/v1/return/{order}"), &[("sec-fetch-dest", "document")]).await;
            let to = format!("https://shop.example/back?cart=1&OrderId={order}&State={state}#top");
            assert_eq!((back.status, back.header("location")), (303, to.as_str()), "{back:?}");
            is_guarded(&back);
        }
    }
}

#[actix_web::test]
async fn the_page_in_the_dialog_says_that_it_is_done_and_has_asked_the_processor() {
    let api = Api::start().await;
    let order = away(&api, "order-1").await;
    api.bank.knows(approved());
    let back = api.browse(&format!("/v1/return/{order}"), &FRAMED).await;
    is_a_page(&back, "You can close this");
    assert_eq!(api.ask("/query", &api.about(&order)).await.json()["State"], "PAYMENT_AUTHORIZED");
}

#[actix_web::test]
async fn whoever_is_back_before_the_processor_knows_is_told_to_wait() {
    let api = Api::start().await;
    let order = away(&api, "order-1").await;
    let back = api.browse(&format!("/v1/return/{order}"), &[]).await;
    is_a_page(&back, "do not pay again");
    assert!(back.text.contains("http-equiv=\"refresh\""), "{back:?}");
    is_a_page(&api.browse(&format!("/v1/return/{order}"), &FRAMED).await, "You can close this");
}

#[actix_web::test]
async fn whoever_waits_is_told_so_in_a_language_of_theirs() {
    let api = Api::start().await;
    let order = away(&api, "order-1").await;
    // At once: each is kept waiting for the processor.
    let pages = [
        ("de-AT,de;q=0.9,en;q=0.5", "<html lang=\"de\" dir=\"ltr\">", "Bitte bezahlen Sie nicht noch einmal"),
        ("xx, ../en;q=0.9, ar", "<html lang=\"ar\" dir=\"rtl\">", "<p>"),
        ("no-NO,en;q=0.5", "<html lang=\"nb\" dir=\"ltr\">", "<p>"),
        ("pt-BR,pt;q=0.9", "<html lang=\"pt-BR\" dir=\"ltr\">", "<p>"),
        ("zh-TW", "<html lang=\"zh-Hant\" dir=\"ltr\">", "<p>"),
        ("iw-IL", "<html lang=\"he\" dir=\"rtl\">", "<p>"),
        ("xx,*", "<html lang=\"en\" dir=\"ltr\">", "do not pay again"),
        ("", "<html lang=\"en\" dir=\"ltr\">", "do not pay again"),
    ];
    join_all(pages.map(async |(accepted, begins, words)| {
        let page = api.browse(&format!("/v1/return/{order}"), &[("accept-language", accepted)]).await;
        is_a_page(&page, words);
        assert!(page.text.contains(begins) && page.text.contains("http-equiv=\"refresh\""), "{accepted}: {page:?}");
    }))
    .await;
}

#[actix_web::test]
async fn the_page_in_the_dialog_speaks_a_language_of_the_shoppers() {
    let api = Api::start().await;
    let order = away(&api, "order-1").await;
    api.bank.knows(approved());
    for (accepted, begins, title, words) in [
        (
            "de-AT,de;q=0.9",
            "<html lang=\"de\" dir=\"ltr\">",
            "Zahlung",
            "<p>Vielen Dank. Sie können dies schließen.</p>",
        ),
        ("ar-EG", "<html lang=\"ar\" dir=\"rtl\">", "الدفع", "<p>شكرًا لك. يمكنك إغلاق هذه الصفحة.</p>"),
        ("xx", "<html lang=\"en\" dir=\"ltr\">", "Payment", "<p>Thank you. You can close this.</p>"),
    ] {
        let headers = [FRAMED[0], ("accept-language", accepted)];
        let page = api.browse(&format!("/v1/return/{order}"), &headers).await;
        is_a_page(&page, words);
        assert!(page.text.contains(begins) && page.text.contains(&format!("<title>{title}</title>")), "{page:?}");
    }
}

#[actix_web::test]
async fn an_address_that_no_header_can_carry_is_written_as_one_that_can() {
    let api = Api::start().await;
    api.bank.will_say(redirect("https://wallet.example/pay"));
    let cart = api.cart("order-1", json!({"Return": "https://shöp.example/zurück"}));
    let order = api.ask("", &cart).await.order();
    api.bank.knows(approved());
    let back = api.browse(&format!("/v1/return/{order}"), &[]).await;
    let to = format!("https://xn--shp-tna.example/zur%C3%BCck?OrderId={order}&State=PAYMENT_AUTHORIZED");
    assert_eq!((back.status, back.header("location")), (303, to.as_str()), "{back:?}");
}

#[actix_web::test]
async fn nobodys_order_and_what_is_none() {
    let api = Api::start().await;
    api.browse(&format!("/v1/return/{NOBODY}"), &[]).await.is_error(404, "ORDER_NOT_FOUND");
    api.browse("/v1/return/x", &[]).await.is_error(400, "VALIDATION_ERROR");
    let posted = api.send(None, Method::POST, &format!("/v1/return/{NOBODY}"), &[], "").await;
    posted.is_error(405, "METHOD_NOT_ALLOWED");
}

#[actix_web::test]
async fn progress_is_asked_from_a_state_of_a_session() {
    let api = Api::start().await;
    let progress = async |query: &str| api.browse(&format!("/v1/shopper/session/{NOBODY}/progress{query}"), &[]).await;
    progress("?from=REDIRECTED").await.is_error(404, "SESSION_NOT_FOUND");
    progress("?from=AWAY").await.is_refused_for(&["from VALUE_NOT_ALLOWED"]);
    progress("?wait=soon").await.is_error(400, "INVALID_REQUEST");
}

/// Where a checkout's shopper is shown the account: in a language of theirs, until the transfer is awaited no more.
#[actix_web::test]
async fn our_page_shows_where_to_transfer_the_money_to() {
    let api = Api::start().await;
    let text = |text: &str| Some(text.to_owned());
    let to = dropin_order::BankDetails {
        account_holder: text("Ana <b>&</b> Co"),
        iban: text("DE02120300000000202051"),
        payment_reference: text("order-1"),
        ..dropin_order::BankDetails::default()
    };
    let waiting = dropin_ports::Waiting::Transfer { to: Box::new(to), until: None };
    api.bank.will_say(ProcessorReply::Pending(waiting));
    let cart = api.cart("order-1", json!({"PaymentMethod": "BANKTRANSFER", "Capture": true}));
    let told = api.ask("", &cart).await;
    let (order, page) = (told.order(), told.json()["Action"]["Redirect"].as_str().unwrap().to_owned());
    assert!(told.json()["Expiry"].is_string() && told.json().get("BankDetails").is_none(), "{told:?}");
    let path = page.find("/v1/transfer/").map(|at| page[at..].to_owned()).unwrap();
    let shown = api.browse(&path, &[("accept-language", "xx, de-AT;q=0.8")]).await;
    is_a_page(&shown, "<dd><bdi>DE02120300000000202051</bdi></dd>");
    assert!(
        shown.text.contains("<html lang=\"de\" dir=\"ltr\">") && shown.text.contains("<bdi>order-1</bdi>"),
        "{shown:?}"
    );
    assert!(shown.text.contains("Ana &lt;b>&amp;&lt;/b> Co") && shown.text.contains("20.00 USD"), "{shown:?}");
    assert!(!shown.text.contains("<script"), "{shown:?}");
    assert!(api.browse(&path, &[("accept-language", "ar")]).await.text.contains("dir=\"rtl\""));
    // An address that names no transfer is answered alike, whatever is wrong with it.
    let other = away(&api, "order-2").await;
    let unknown = api.browse(&format!("/v1/transfer/{NOBODY}"), &[]).await;
    assert_eq!(unknown.status, 404, "{unknown:?}");
    is_guarded(&unknown);
    for name in [other.as_str(), "x", "%2e%2e"] {
        let answer = api.browse(&format!("/v1/transfer/{name}"), &[]).await;
        assert_eq!((answer.status, &answer.text), (404, &unknown.text), "{name}");
    }
    let cancelled = api.ask("/cancel", &api.about(&order)).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let over = api.browse(&path, &[]).await;
    is_a_page(&over, "no longer available");
    assert!(!over.text.contains("DE0212"), "nobody is told to transfer anything: {over:?}");
}
