//! Lists: what their filters read and refuse, their pages, and the file that a list leaves as.

use std::collections::BTreeSet;

use crate::common::World;
use actix_web::http::StatusCode;
use dropin_access::operator::{OperatorRole, OperatorScope};
use dropin_ports::{AuditLog, AuditQuery, AuditScope};
use serde_json::{Value, json};

#[actix_web::test]
async fn filters_say_what_they_cannot_read() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Viewer, None).await;
    let list = async |query: &str| world.get(Some(&session), &format!("/orders?{query}")).await.text;
    let order = world.order_of_ana.to_string();
    // All payments here are of one day, the 21st of September 2026.
    for (query, is_found) in [
        ("since=2026-09-21&until=2026-09-21", true),
        ("since=2026-09-22", false),
        ("until=2026-09-20", false),
        ("state=PROCESSED", true),
        ("state=DECLINED", false),
        ("email=ANA%40shop.example", true),
        ("method=visa", true),
        ("last_four=4242", false),
    ] {
        assert_eq!(list(query).await.contains(&order), is_found, "{query}");
    }
    for (query, said) in [
        ("since=yesterday", "is no day"),
        ("amount=a", "is no amount"),
        ("state=PAID", "is no state"),
        ("currency=XXX", "is no currency"),
        ("last_four=424", "write four digits"),
    ] {
        let page = list(query).await;
        assert!(page.contains(said) && !page.contains(&order), "{query}");
    }
    assert_eq!(world.get(Some(&session), "/orders?after=1.x").await.status, StatusCode::BAD_REQUEST);
}

#[actix_web::test]
async fn untrusted_text_stays_text() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    for typed in ["\"><script>alert(1)</script>", "'onmouseover='x", "\u{202e}gnp.exe", "=cmd|'/C calc'!A0"] {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("reference", typed).finish();
        let page = world.get(Some(&session), &format!("/orders?{query}")).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(
            !page.text.contains("<script>") && !page.text.contains("'onmouse") && !page.text.contains('\u{202e}'),
            "{}",
            page.text
        );
    }
    let done = world.get(Some(&session), "/?done=%3Cb%3E").await;
    assert!(done.status == StatusCode::BAD_REQUEST || !done.text.contains("<b>"));
}

#[actix_web::test]
async fn the_first_page_is_small_and_orders_leave_as_a_file() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    let page = world.get(Some(&session), "/").await;
    let assets = page.text.split("\"/assets/").skip(1).filter_map(|rest| rest.split('"').next());
    let assets: BTreeSet<_> = assets.collect();
    assert_eq!(assets.len(), 3, "style, icon and script: {assets:?}");
    let mut bytes = page.text.len();
    for path in assets {
        let file = world.get(None, &format!("/assets/{path}")).await;
        assert_eq!(file.status, StatusCode::OK);
        assert!(file.headers.get("cache-control").unwrap().to_str().unwrap().contains("immutable"));
        bytes += file.text.len();
    }
    assert!(bytes < 60_000, "{bytes} bytes");
    let file = world.get(Some(&session), "/orders.csv").await;
    assert_eq!(file.text.lines().count(), 3, "{}", file.text);
    assert!(file.text.starts_with("OrderId,") && file.text.contains(&world.order_of_bob.to_string()));
    let log = world.get(Some(&session), "/audit?action=DATA_EXPORT").await.text;
    assert!(log.contains("Data export"), "{log}");
}

#[actix_web::test]
async fn a_character_that_no_database_takes_is_refused() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let page = world.get(Some(&owner), "/orders?reference=a%00b").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.text);
}

#[actix_web::test]
async fn a_file_stands_in_the_log_of_each_merchant_with_its_filters() {
    let world = World::new().await;
    let both = OperatorScope::of_merchants([world.ana, world.bob]).unwrap();
    let session = world.operator_in(OperatorRole::Support, both).await;
    let file = world.get(Some(&session), "/orders.csv?currency=USD&state=PROCESSED&email=ana%40shop.example").await;
    assert_eq!(file.status, StatusCode::OK, "{}", file.text);
    let exports = async |scope| {
        let query = AuditQuery { scope, action: Some("DATA_EXPORT".to_owned()), limit: 9, ..AuditQuery::default() };
        let entries = world.store.search_audit_log(query).await.unwrap().entries;
        let after = |text: Option<String>| serde_json::from_str::<Value>(&text.unwrap_or_default()).unwrap();
        entries.into_iter().map(|entry| after(entry.after)).collect::<Vec<_>>()
    };
    for merchant in [world.ana, world.bob] {
        let told = exports(AuditScope::Merchant(merchant)).await;
        assert_eq!(told, [json!({"OfMerchants": 2, "State": "PROCESSED", "Currency": "USD", "ByEmail": true})]);
    }
    assert_eq!(exports(AuditScope::Deployment).await, Vec::<Value>::new());
    let owner = world.operator(OperatorRole::Owner, None).await;
    world.get(Some(&owner), "/orders.csv").await;
    assert_eq!(exports(AuditScope::Deployment).await, [json!({"Of": "the whole deployment"})]);
}

#[actix_web::test]
async fn an_unknown_id_and_every_action_are_searched_for_in_one_step() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    let found = world.get(Some(&session), &format!("/find?q={}", world.ana)).await;
    assert_eq!(found.location(), format!("/merchants/{}", world.ana));
    let unknown = world.deps.ids.random();
    let found = world.get(Some(&session), &format!("/find?q={unknown}")).await;
    assert_eq!(found.location(), format!("/orders?reference={unknown}"));
    let log = world.get(Some(&session), "/audit?action=ORDER_REFUND").await.text;
    assert!(log.contains("<option value=\"ORDER_REFUND\" selected>Order refund</option>"), "{log}");
}
