use actix_web::http::Method;
use dropin_ports::MerchantSettings;
use serde_json::{Value, json};

use super::{Currency, HOUR, TODAY, guaranteed, id_of, offer, publish_rates, rates};
use crate::common::{Answer, Api, ProcessorStub, declined, request, session_id};

/// A request that is priced by the offer, without a Currency of its own.
fn priced(reference: &str, offer: &str) -> Value {
    let mut body = request(reference);
    body["RateOfferId"] = json!(offer);
    body.as_object_mut().unwrap().remove("Currency");
    body
}

async fn world(bank: std::sync::Arc<ProcessorStub>) -> (Api, String) {
    let api = Api::with(bank).await;
    publish_rates(&api, TODAY, None).await;
    let ana = guaranteed(&api).await;
    let (offer, _) = offer(&rates(&api, ana).await, "USD");
    (api, offer)
}

/// 29.00 USD / 1.353288558 = 21.4292…
const SETTLED: &str = r#""Rate":1.353288558,"SettlementAmount":21.43,"SettlementCurrency":"GBP""#;

#[actix_web::test]
async fn a_session_takes_currency_and_rate_from_its_offer() {
    let (api, id) = world(ProcessorStub::new()).await;
    let created = api.create(&api.ana, &priced("order-1", &id)).await;
    let session = created.session_id(201);
    assert_eq!(created.json()["Currency"], "USD");
    assert!(created.text.contains(&format!("\"RateOfferId\":\"{id}\",{SETTLED}")), "{created:?}");
    assert_eq!(api.get(&api.ana, &session).await.text, created.text);
    let mut said = priced("order-2", &id);
    said["Currency"] = json!("USD");
    assert_eq!(api.create(&api.ana, &said).await.status, 201);
    // A replacement without it is priced as any other.
    let plain = api.put(&api.ana, &session, &request("order-1")).await;
    assert_eq!(plain.status, 200);
    for member in ["RateOfferId", "SettlementAmount", "SettlementCurrency"] {
        assert!(plain.json().get(member).is_none(), "{plain:?}");
    }
    let again = api.put(&api.ana, &session, &priced("order-1", &id)).await;
    assert!(again.status == 200 && again.text.contains(SETTLED), "{again:?}");
}

#[actix_web::test]
async fn offers_that_cannot_be_used_are_refused() {
    let (api, id) = world(ProcessorStub::new()).await;
    let session = api.create(&api.ana, &priced("order-1", &id)).await.session_id(201);
    let both = async |body: &Value, fields: &[&str]| {
        let (created, replaced) = (api.create(&api.ana, body).await, api.put(&api.ana, &session, body).await);
        created.is_refused_for(fields);
        replaced.is_refused_for(fields);
        created.json()["FieldErrors"][0]["Message"].as_str().unwrap().to_owned()
    };
    let mut other = priced("order-2", &id);
    other["Currency"] = json!("EUR");
    assert!(both(&other, &["Currency CONFLICT"]).await.contains("USD"));
    other["Currency"] = json!("XXX");
    both(&other, &["Currency VALUE_NOT_ALLOWED"]).await;
    let mut wrong = priced("order-2", &id);
    wrong["Items"][0]["Amount"] = json!(1.001);
    both(&wrong, &["Items[0].Amount FIELD_INVALID"]).await;
    let unknown = both(&priced("order-2", "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112"), &["RateOfferId NOT_FOUND"]).await;
    assert_eq!(both(&priced("order-2", "x"), &["RateOfferId NOT_FOUND"]).await, unknown);
    // Another merchant's is as one that does not exist.
    api.create(&api.bob, &priced("order-2", &id)).await.is_refused_for(&["RateOfferId NOT_FOUND"]);
    // One that is not the newest holds until its own end.
    api.clock.advance(24 * HOUR - HOUR / 60);
    publish_rates(&api, TODAY, None).await;
    let ana = id_of(&api, "Ana").await;
    assert_ne!(offer(&rates(&api, ana).await, "USD").0, id);
    assert_eq!(api.create(&api.ana, &priced("order-3", &id)).await.status, 201);
    let currencies = Some(vec![Currency::Eur]);
    api.clock.advance(HOUR / 60);
    let late = api.create(&api.ana, &priced("order-4", &id)).await;
    late.is_refused_for(&["RateOfferId NOT_FOUND"]);
    let message = late.json()["FieldErrors"][0]["Message"].as_str().unwrap().to_owned();
    assert!(message.contains("expired") && message != unknown, "{message}");
    // Nothing else is wrong, but its currency is not enabled any more.
    let (now, _) = offer(&rates(&api, ana).await, "USD");
    api.merchants.set(ana, MerchantSettings { currencies, ..MerchantSettings::default() }).await.unwrap();
    let start = std::time::Instant::now();
    loop {
        let answer = api.create(&api.ana, &priced(&format!("order-{:?}", start.elapsed()), &now)).await;
        if answer.status != 201 {
            answer.is_error(400, "INVALID_CURRENCY");
            break;
        }
        assert!(start.elapsed() < std::time::Duration::from_secs(5));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn post(api: &Api, path: &str, body: &str) -> Answer {
    api.send(Some(&api.ana), Method::POST, path, &[], body).await
}

async fn refund(api: &Api, order: &str, reference: &str, amount: Option<&str>) -> Answer {
    let amount = amount.map(|amount| format!(r#","Amount":{amount}"#)).unwrap_or_default();
    post(api, &format!("{order}/refund"), &format!(r#"{{"RefundReference":"{reference}"{amount}}}"#)).await
}

/// SettlementAmount of a refund, in pence.
#[track_caller]
fn pence(answer: &Answer) -> i64 {
    let (_, rest) = answer.text.split_once(r#""SettlementAmount":"#).unwrap_or_else(|| panic!("{answer:?}"));
    assert!(answer.text.contains(r#""SettlementCurrency":"GBP""#), "{answer:?}");
    rest.split(',').next().unwrap().replace('.', "").parse().unwrap()
}

#[actix_web::test]
async fn refunds_settle_at_the_rate_of_the_sale_and_add_up() {
    let bank = ProcessorStub::new();
    let (api, id) = world(bank.clone()).await;
    let session = api.create(&api.ana, &priced("order-1", &id)).await.session_id(201);
    api.store.pay(session_id(&session), true).await;
    let order = api.get(&api.ana, &session).await.json()["Order"]["OrderId"].as_str().unwrap().to_owned();
    let order = format!("/v1/order/{order}");
    let shown = api.read(&order).await;
    assert!(shown.text.contains(&format!("\"RateOfferId\":\"{id}\",{SETTLED}")), "{shown:?}");
    assert_eq!(post(&api, &format!("{order}/capture"), "").await.status, 200);
    // The world has moved on, the sale has not.
    api.clock.advance(48 * HOUR);
    publish_rates(&api, &[(Currency::Usd, "3"), (Currency::Gbp, "1")], None).await;
    let mut taken = Vec::new();
    for (number, amount) in ["0.01", "9.99", "0.01", "10.00"].into_iter().enumerate() {
        let refund = refund(&api, &order, &format!("r-{number}"), Some(amount)).await;
        assert_eq!((refund.status, &refund.json()["State"]), (201, &json!("SUCCEEDED")), "{refund:?}");
        taken.push(pence(&refund));
    }
    // One that fails gives back what it would have taken.
    bank.will_say(declined(false));
    let failed = refund(&api, &order, "r-f", Some("3.00")).await;
    assert_eq!(failed.json()["State"], "FAILED", "{failed:?}");
    let rest = refund(&api, &order, "r-rest", None).await;
    taken.push(pence(&rest));
    // 0.01, 10.00, 10.01, 20.01 and 29.00 dollars are 0.01, 7.39, 7.40, 14.79 and 21.43 pounds.
    assert_eq!(taken, [1, 738, 1, 739, 664]);
    assert_eq!(taken.iter().sum::<i64>(), 2_143);
    let listed = api.read(&format!("{order}/refund")).await;
    assert_eq!(listed.text.matches(r#""SettlementAmount":"#).count(), 6, "{listed:?}");
    let one = api.read(&format!("{order}/refund/{}", rest.json()["RefundId"].as_str().unwrap())).await;
    assert_eq!(pence(&one), 664);
    assert!(api.read(&order).await.text.contains(SETTLED));
}

#[actix_web::test]
async fn a_part_that_is_captured_is_what_is_settled() {
    let (api, id) = world(ProcessorStub::new()).await;
    let session = api.create(&api.ana, &priced("order-1", &id)).await.session_id(201);
    api.store.pay(session_id(&session), true).await;
    let order = api.get(&api.ana, &session).await.json()["Order"]["OrderId"].as_str().unwrap().to_owned();
    let order = format!("/v1/order/{order}");
    assert_eq!(post(&api, &format!("{order}/capture"), r#"{"Amount":10}"#).await.status, 200);
    let shown = api.read(&order).await;
    assert!(shown.text.contains(r#""SettlementAmount":7.39,"SettlementCurrency":"GBP""#), "{shown:?}");
    assert_eq!(pence(&refund(&api, &order, "all", None).await), 739);
    // An Order without an offer says nothing of it.
    let plain = api.authorized("order-2").await;
    assert_eq!(post(&api, &format!("{plain}/capture"), "").await.status, 200);
    let refund = refund(&api, &plain, "all", None).await;
    assert!(!refund.text.contains("Settlement") && !api.read(&plain).await.text.contains("Settlement"), "{refund:?}");
}
