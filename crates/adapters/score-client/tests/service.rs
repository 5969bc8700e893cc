//! A service of ours that scores: what it is sent, and what its answers are taken for.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what is not there fails the test")]

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use actix_web::http::header::HeaderMap;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{Clock, OutsideScorer};
use dropin_risk::{FactText, Facts};
use dropin_score_client::{ScoreClient, ScoreClientError};
use uuid::Uuid;

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Timestamp::from_micros(i64::try_from(now.as_micros()).unwrap())
    }
}

type Heard = Arc<Mutex<Vec<(HeaderMap, Vec<u8>)>>>;

/// Answers with this status and body; its address, and what it heard.
fn service(status: u16, body: &'static str) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/score", listener.local_addr().unwrap());
    let heard = Heard::default();
    let shared = heard.clone();
    let server = HttpServer::new(move || {
        let heard = shared.clone();
        let answer = move |request: HttpRequest, bytes: web::Bytes| {
            heard.lock().unwrap().push((request.headers().clone(), bytes.to_vec()));
            let status = actix_web::http::StatusCode::from_u16(status).unwrap();
            async move { HttpResponse::build(status).insert_header(("location", "/elsewhere")).body(body) }
        };
        App::new().route("/v1/score", web::post().to(answer))
    });
    actix_web::rt::spawn(server.workers(1).disable_signals().listen(listener).unwrap().run());
    (url, heard)
}

async fn scored(client: &ScoreClient) -> Result<(Option<u8>, Vec<String>), String> {
    let facts = Facts { email: Some(FactText::new("jo@example.com")), amount_cents: Some(5_00), ..Facts::default() };
    let (order, merchant) = (OrderId::new(Uuid::from_u128(7)), MerchantId::new(Uuid::from_u128(8)));
    let answer = client.score_payment(order, merchant, &facts).await.map_err(|error| error.to_string())?;
    Ok((answer.score.map(|score| score.value()), answer.reasons.iter().map(ToString::to_string).collect()))
}

#[actix_web::test]
async fn the_facts_are_sent_signed_and_the_score_comes_back() {
    let (url, heard) = service(200, r#"{"Score":73,"Reasons":["PROXY","NEW_DEVICE"]}"#);
    let client = ScoreClient::start(&url, KEY, Arc::new(Now)).unwrap();
    assert_eq!(scored(&client).await, Ok((Some(73), vec!["PROXY".to_owned(), "NEW_DEVICE".to_owned()])));
    let heard = heard.lock().unwrap().clone();
    let [(headers, body)] = &heard[..] else { panic!("{heard:?}") };
    let text = |name: &str| headers.get(name).unwrap().to_str().unwrap().to_owned();
    let signed = standardwebhooks::Webhook::new(KEY).unwrap();
    let expected = signed.sign(&text("webhook-id"), text("webhook-timestamp").parse().unwrap(), body).unwrap();
    assert_eq!((text("webhook-signature"), text("webhook-id")), (expected, Uuid::from_u128(7).to_string()));
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body["OrderId"], Uuid::from_u128(7).to_string());
    assert_eq!(body["MerchantId"], Uuid::from_u128(8).to_string());
    assert_eq!((&body["Facts"]["Email"], &body["Facts"]["AmountCents"]), (&"jo@example.com".into(), &500.into()));
}

#[actix_web::test]
async fn what_is_no_score_is_an_error_and_five_in_a_row_a_pause() {
    for (status, body, why) in [
        (500, r#"{"Score":1}"#, "status 500"),
        (302, r#"{"Score":1}"#, "status 302"),
        (200, "<html>", "makes no sense"),
        (200, &*Box::leak(" ".repeat(17 * 1024).into_boxed_str()), "too long"),
    ] {
        let (url, heard) = service(status, body);
        let client = ScoreClient::start(&url, KEY, Arc::new(Now)).unwrap();
        for _ in 0..5 {
            let told = scored(&client).await.unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        assert_eq!(heard.lock().unwrap().len(), 5);
        let paused = scored(&client).await.unwrap_err();
        assert!(paused.contains("left alone for 10 s"), "{paused}");
        assert_eq!(heard.lock().unwrap().len(), 5, "and is not asked");
    }
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = ScoreClient::start(&format!("http://{away}/"), KEY, Arc::new(Now)).unwrap();
    assert!(scored(&client).await.is_err(), "nobody listens there");
}

#[test]
fn only_a_safe_address_and_a_long_key_are_taken() {
    for url in ["http://score.example/", "ftp://127.0.0.1/", "score.example", "https://"] {
        assert!(matches!(ScoreClient::start(url, KEY, Arc::new(Now)), Err(ScoreClientError::Address)), "{url}");
    }
    for key in ["", "whsec_", "whsec_c2hvcnQ=", "no base64 at all, though it is long enough"] {
        let refused = ScoreClient::start("https://score.example/", key, Arc::new(Now));
        assert!(matches!(refused, Err(ScoreClientError::Key)), "{key}");
    }
}
