//! Events over HTTP: what a merchant reads to catch up (docs/SPECIFICATION.md#event-pull).

use crate::common::{Answer, Api, ProcessorStub, User, request, session_id};
use actix_web::http::Method;
use dropin_kernel::Timestamp;
use dropin_ports::OutboxStore;
use dropin_usecases::access::CreateMerchant;
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn pull(api: &Api, user: &User, query: &str) -> Answer {
    api.send(Some(user), Method::GET, &format!("/v1/event{query}"), &[], "").await
}

async fn ask(api: &Api, user: &User, order: &str, what: &str, body: &str) {
    let answer = api.send(Some(user), Method::POST, &format!("{order}/{what}"), &[], body).await;
    assert!(answer.status < 300, "{answer:?}");
}

/// Ana captures an Order of 29.00 USD and gives 5.00 back: two events of one payment.
async fn sold(api: &Api, reference: &str) -> String {
    let order = api.authorized(reference).await;
    ask(api, &api.ana, &order, "capture", "").await;
    ask(api, &api.ana, &order, "refund", r#"{"RefundReference":"r","Amount":5}"#).await;
    order
}

/// (EventType, Sequence) of each.
fn listed(page: &Value) -> Vec<(String, i64)> {
    let events = page["Events"].as_array().unwrap().iter();
    events.map(|one| (one["EventType"].as_str().unwrap().to_owned(), one["Sequence"].as_i64().unwrap())).collect()
}

fn next(page: &Value) -> String {
    let next = page["Next"].as_str().unwrap();
    assert_eq!(next.len(), 32, "{page}");
    next.to_owned()
}

#[actix_web::test]
async fn events_are_what_the_endpoint_is_sent() {
    let api = Api::with(ProcessorStub::new()).await;
    let nothing = pull(&api, &api.ana, "").await;
    assert_eq!(nothing.text, format!(r#"{{"Events":[],"Next":"{}","More":false}}"#, "0".repeat(32)));
    let order = sold(&api, "order-1").await;
    let page = pull(&api, &api.ana, "").await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"), "{page:?}");
    assert_eq!(page.header("content-type"), "application/json");
    let far = Timestamp::from_micros(2_000_000_000_000_000);
    let mut due = api.outbox.claim_deliveries(&[], far, far, 10, 10).await.unwrap().deliveries;
    let sent = due.remove(0);
    let session = page.json()["Events"][0]["Body"]["Order"]["SessionId"].as_str().unwrap().to_owned();
    let event = format!(
        r#"{{"EventId":"{}","EventType":"ORDER_PROCESSED","PaymentId":"{session}","Sequence":1,"CreatedAt":"{}","Body":{}}}"#,
        sent.event_id,
        sent.happened_at,
        String::from_utf8(sent.body).unwrap(),
    );
    assert!(page.text.starts_with(&format!(r#"{{"Events":[{event},{{"#)), "{}\n{event}", page.text);
    let body = page.json();
    assert_eq!(listed(&body), [("ORDER_PROCESSED".to_owned(), 1), ("REFUND_SUCCEEDED".to_owned(), 2)]);
    assert!(page.text.contains(r#""Amount":5.00,"Currency":"USD""#), "{page:?}");
    assert_eq!(body["Events"][1]["Body"]["Order"]["OrderId"], order.rsplit('/').next().unwrap());
    assert_eq!(body["More"], false);
}

#[actix_web::test]
async fn a_merchant_goes_on_where_it_was() {
    let api = Api::with(ProcessorStub::new()).await;
    sold(&api, "order-1").await;
    let all = pull(&api, &api.ana, "").await.json();
    let first = pull(&api, &api.ana, "?limit=1").await.json();
    assert_eq!((&first["Events"][0], &first["More"]), (&all["Events"][0], &json!(true)));
    let second = pull(&api, &api.ana, &format!("?limit=1&after={}", next(&first))).await.json();
    assert_eq!((&second["Events"][0], &second["More"]), (&all["Events"][1], &json!(false)));
    let end = next(&second);
    assert_eq!(end, next(&all));
    let nothing = pull(&api, &api.ana, &format!("?after={end}")).await.json();
    assert_eq!(nothing, json!({"Events": [], "Next": end, "More": false}));
    sold(&api, "order-2").await;
    let later = pull(&api, &api.ana, &format!("?after={end}&limit=200")).await.json();
    assert_eq!(listed(&later), listed(&all), "of another payment");
    assert_ne!(later["Events"][0]["PaymentId"], all["Events"][0]["PaymentId"]);
    // An empty parameter is one that was left out.
    assert_eq!(pull(&api, &api.ana, "?after=&limit=").await.json()["Events"].as_array().unwrap().len(), 4);
}

#[actix_web::test]
async fn whatever_is_wrong_with_the_query_is_told_at_once() {
    let api = Api::start().await;
    for (query, wrong) in [
        ("?after=x", &["after FIELD_INVALID"][..]),
        ("?limit=ten", &["limit FIELD_INVALID"]),
        ("?limit=0", &["limit VALUE_OUT_OF_RANGE"]),
        ("?limit=201", &["limit VALUE_OUT_OF_RANGE"]),
        ("?limit=-1&after=7", &["after FIELD_INVALID", "limit FIELD_INVALID"]),
        ("?limit=1&limit=2", &["limit CONFLICT"]),
    ] {
        pull(&api, &api.ana, query).await.is_refused_for(wrong);
    }
    api.send(None, Method::GET, "/v1/event?after=x", &[], "").await.is_error(401, "AUTHENTICATION_REQUIRED");
    let posted = api.send(Some(&api.ana), Method::POST, "/v1/event", &[], "{}").await;
    posted.is_error(405, "METHOD_NOT_ALLOWED");
}

#[actix_web::test]
async fn nobody_reads_what_another_merchant_is_told() {
    let api = Api::with(ProcessorStub::new()).await;
    sold(&api, "order-1").await;
    let first = next(&pull(&api, &api.ana, "?limit=1").await.json());
    for query in [String::new(), format!("?after={first}")] {
        let nothing = pull(&api, &api.bob, &query).await.json();
        assert_eq!((nothing["Events"].as_array().unwrap().len(), &nothing["More"]), (0, &json!(false)), "{query}");
    }
}

#[actix_web::test]
async fn a_merchant_without_an_endpoint_reads_its_events() {
    let api = Api::with(ProcessorStub::new()).await;
    let wanted = CreateMerchant {
        name: "Cy's candles".to_owned(),
        webhook_url: None,
        origins: Vec::new(),
        currencies: vec![dropin_money::Currency::Usd],
    };
    let made = api.merchants.create(wanted).await.map_err(|error| error.to_string()).unwrap();
    let cy = User { name: made.username, password: made.password };
    let id = api.create(&cy, &request("order-1")).await.session_id(201);
    api.store.pay(session_id(&id), true).await;
    let order = api.get(&cy, &id).await.json()["Order"]["OrderId"].as_str().unwrap().to_owned();
    ask(&api, &cy, &format!("/v1/order/{order}"), "capture", "").await;
    let page = pull(&api, &cy, "").await.json();
    assert_eq!(listed(&page), [("ORDER_PROCESSED".to_owned(), 1)]);
    assert_eq!(page["Events"][0]["PaymentId"], id.as_str());
}

/// Pages cost as much as many other requests: who reads without a pause holds nobody up, itself included.
#[actix_web::test]
async fn a_merchant_reads_so_many_pages_in_a_second() {
    let api = Api::start().await;
    let mut refused = false;
    for _ in 0..10 {
        let pages = join_all((0..50).map(|_| pull(&api, &api.ana, ""))).await;
        for page in pages.iter().filter(|page| page.status != 200) {
            page.is_error(429, "RATE_LIMITED");
            assert!(page.text.contains("reads of events: at most 10 a second"), "{page:?}");
            refused = true;
        }
    }
    assert!(refused);
    assert_eq!(pull(&api, &api.bob, "").await.status, 200, "another merchant");
    api.create(&api.ana, &request("order-1")).await.session_id(201);
}
