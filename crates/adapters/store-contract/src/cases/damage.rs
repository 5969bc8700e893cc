//! Rows that make no sense, as a bug, a bad restore or a curious hand may leave them.

use std::sync::Arc;

use dropin_access::MerchantParts;
use dropin_ports::{DeliveryResult, OrderName, StoreError};

use crate::Harness;
use crate::values::{at, full_terms, new_merchant};

/// Asserts that `found` is Corrupt in `table`, and that nothing stored is repeated.
fn assert_corrupt<T: std::fmt::Debug>(found: Result<T, StoreError>, table: &str, damage: &str) {
    match found {
        Err(StoreError::Corrupt { table: named, what }) => {
            assert_eq!(named, table, "{damage}");
            assert!(!what.contains("hush"), "{damage}: {what}");
        }
        other => panic!("{damage}: {other:?}"),
    }
}

pub async fn a_damaged_session_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let sound = harness.session(merchant.id).await;
    for damage in [
        "terms = '{}'",
        "terms = '[\"hush\"]'",
        "terms = '{\"merchant_reference\": \"hush\", \"items\": 7}'",
        "total_minor = total_minor - 1",
        "currency = 'ZZZ'",
        // KWD has three decimals, BHD too: only the sum cannot tell them apart; USD has two, and so much of it cannot be.
        "currency = 'USD'",
        "expires_at = created_at, created_at = expires_at",
        // As many as it allows, and still CREATED.
        "attempts_failed = 5, last_attempt_id = id, last_failure = 'PAYMENT_DECLINED'",
    ] {
        let session = harness.session_with(merchant.id, full_terms()).await;
        harness.raw.execute(&format!("UPDATE session SET {damage} WHERE id = '{}'", session.id)).unwrap();
        assert_corrupt(harness.sessions.find_session(merchant.id, session.id).await, "session", damage);
        assert_corrupt(harness.sessions.find_session_for_shopper(session.id).await, "session", damage);
        // The sweeper goes on with the others.
        assert_eq!(harness.sessions.find_expired_sessions(at(999_999), 100).await, Ok(vec![sound.clone()]), "{damage}");
        harness.raw.execute(&format!("DELETE FROM session WHERE id = '{}'", session.id)).unwrap();
    }
}

pub async fn a_merchant_with_damaged_methods_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let adjusted = |what: &str| format!(r#"{{"adjustments": {{"IDEAL": {{{what}}}}}, "pay_later_clients": {{}}}}"#);
    for document in [
        "{}".to_owned(),
        r#"{"adjustments": {"hush": {}}, "pay_later_clients": {}}"#.to_owned(),
        r#"{"adjustments": {}, "pay_later_clients": {"hush": "x"}}"#.to_owned(),
        r#"{"adjustments": {}, "pay_later_clients": {}, "google_pay": "hush"}"#.to_owned(),
        adjusted(r#""countries": ["hush"]"#),
        adjusted(r#""currencies": ["ZZZ"]"#),
        adjusted(r#""channels": ["hush"]"#),
        adjusted(r#""amounts": [{"currency": "ZZZ", "least": 1, "most": 2}]"#),
    ] {
        let damage = format!("UPDATE merchant SET methods = '{document}' WHERE id = '{}'", merchant.id);
        harness.raw.execute(&damage).unwrap();
        assert_corrupt(harness.access.find_merchant(merchant.id).await, "merchant", &document);
    }
    let refused = harness.raw.execute(&format!("UPDATE merchant SET methods = '[]' WHERE id = '{}'", merchant.id));
    assert!(format!("{refused:?}").contains("merchant_methods_object"), "{refused:?}");
}

pub async fn a_damaged_order_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let too_much = "total_minor = 999999999999999999, authorized_minor = 999999999999999999";
    for damage in ["currency = 'ZZZ'", too_much] {
        harness.raw.execute(&format!("UPDATE purchase_order SET {damage}")).unwrap();
        assert_corrupt(harness.find_order(merchant.id, payment.order.id).await, "purchase_order", damage);
        assert_corrupt(harness.payments.find_payment(payment.operation.id).await, "purchase_order", damage);
        let session = payment.session.as_ref().unwrap().id;
        assert_corrupt(harness.sessions.find_session_for_shopper(session).await, "purchase_order", damage);
        harness
            .raw
            .execute("UPDATE purchase_order SET currency = 'USD', authorized_minor = 1, total_minor = 1")
            .unwrap();
    }
    for damage in ["currency = 'ZZZ'", "amount_minor = 999999999999999999"] {
        harness.raw.execute(&format!("UPDATE processor_op SET {damage}")).unwrap();
        assert_corrupt(harness.payments.find_payment(payment.operation.id).await, "processor_op", damage);
        harness.raw.execute("UPDATE processor_op SET currency = 'USD', amount_minor = 1").unwrap();
    }
    assert!(harness.payments.find_payment(payment.operation.id).await.unwrap().is_some(), "mended");
}

pub async fn a_damaged_account_for_a_transfer_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    for damage in ["{\"iban\": 7}", "{\"iban\": {\"hush\": 1}}", "[7]"] {
        harness.raw.execute(&format!("UPDATE purchase_order SET bank_details = '{damage}'")).unwrap();
        assert_corrupt(harness.find_order(merchant.id, payment.order.id).await, "purchase_order", damage);
        assert_corrupt(harness.payments.find_order_anywhere(payment.order.id).await, "purchase_order", damage);
    }
}

pub async fn a_damaged_refund_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let begun = harness.refunding(&payment, "return", None).await;
    let refund = begun.refund.clone().unwrap();
    for damage in ["currency = 'ZZZ'", "amount_minor = 999999999999999999"] {
        harness.raw.execute(&format!("UPDATE refund SET {damage}")).unwrap();
        assert_corrupt(harness.payments.find_payment(begun.operation.id).await, "refund", damage);
        assert_corrupt(harness.payments.find_refund(merchant.id, payment.order.id, refund.id).await, "refund", damage);
        assert_corrupt(harness.payments.find_refund_by_reference(payment.order.id, "return").await, "refund", damage);
        let name = OrderName::Id(payment.order.id);
        assert_corrupt(harness.payments.find_order_details(merchant.id, &name).await, "refund", damage);
        harness.raw.execute("UPDATE refund SET currency = 'USD', amount_minor = 2990").unwrap();
    }
    // A refund of another Order.
    let other = harness.processed(merchant.id).await.order.id;
    harness.raw.execute(&format!("UPDATE refund SET order_id = '{other}'")).unwrap();
    assert_corrupt(harness.payments.find_payment(begun.operation.id).await, "processor_op", "another Order's refund");
}

pub async fn a_damaged_profile_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session_with(merchant.id, full_terms()).await;
    let profile = &session.terms.billing;
    let reference = profile.details.reference.clone().unwrap();
    for damage in ["details = '{}'", "details = '{\"name\": \"hush\"}'", "details = '{\"hush\": 1}'"] {
        harness.raw.execute(&format!("UPDATE billing_profile SET {damage}")).unwrap();
        assert_corrupt(harness.sessions.find_profile(merchant.id, profile.id).await, "billing_profile", damage);
        let found = harness.sessions.find_profile_by_reference(merchant.id, &reference).await;
        assert_corrupt(found, "billing_profile", damage);
        assert_corrupt(harness.sessions.find_session(merchant.id, session.id).await, "billing_profile", damage);
    }
}

pub async fn a_damaged_merchant_is_corrupt(harness: Arc<Harness>) {
    let mut new = new_merchant(false);
    let one_each = |parts: &mut MerchantParts| {
        parts.currencies.truncate(1);
        parts.origins.truncate(1);
    };
    new.merchant = new.merchant.edited(one_each).unwrap();
    harness.access.insert_merchant(new.clone()).await.unwrap();
    let id = new.merchant.id;
    let (usd, shop) = ("currency = 'USD'", "origin = 'https://shop.example'");
    for (table, damage, mended) in [
        ("merchant_currency", "currency = 'ZZZ'", usd),
        ("merchant_origin", "origin = 'hush'", shop),
        ("merchant_origin", "origin = 'HTTPS://SHOP.EXAMPLE'", shop),
    ] {
        let set =
            |values| harness.raw.execute(&format!("UPDATE {table} SET {values} WHERE merchant_id = '{id}'")).unwrap();
        set(damage);
        assert_corrupt(harness.access.find_merchant(id).await, table, damage);
        assert_corrupt(harness.access.list_merchants().await, table, damage);
        set(mended);
        assert_eq!(harness.access.find_merchant(id).await, Ok(Some(new.merchant.clone())));
    }
    let damage = "DELETE FROM merchant_currency";
    harness.raw.execute(damage).unwrap();
    assert_corrupt(harness.access.find_merchant(id).await, "merchant", damage);
}

pub async fn a_damaged_user_is_corrupt(harness: Arc<Harness>) {
    for damage in ["permissions = 'hush'", "permissions = 'order:read,session:write'", "permissions = 'checkout,'"] {
        let new = new_merchant(false);
        harness.access.insert_merchant(new.clone()).await.unwrap();
        harness
            .raw
            .execute(&format!("UPDATE api_user SET {damage} WHERE merchant_id = '{}'", new.merchant.id))
            .unwrap();
        assert_corrupt(harness.access.find_user(&new.user.username).await, "api_user", damage);
        assert_corrupt(harness.access.list_users(new.merchant.id).await, "api_user", damage);
    }
    for half in ["api_user SET previous_until = NULL, previous_password = password", "api_user SET permissions = ''"] {
        assert!(harness.raw.execute(&format!("UPDATE {half}")).is_err(), "{half}");
    }
    harness.merchant().await;
    assert!(harness.raw.execute("UPDATE endpoint SET previous_until = NULL, previous_secret = secret").is_err());
}

pub async fn a_damaged_endpoint_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for (damage, mended) in [
        ("event_types = 'hush'", "event_types = NULL"),
        ("event_types = ''", "event_types = NULL"),
        ("retry = 'hush'", "retry = NULL"),
        ("retry = '5s'", "retry = NULL"),
    ] {
        harness.raw.execute(&format!("UPDATE endpoint SET {damage}")).unwrap();
        assert_corrupt(harness.access.list_endpoints(merchant.id).await, "endpoint", damage);
        harness.raw.execute(&format!("UPDATE endpoint SET {mended}")).unwrap();
    }
    assert_eq!(harness.access.list_endpoints(merchant.id).await.unwrap().len(), 1, "mended");
}

pub async fn a_damaged_stash_entry_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let stashed = harness.stashed(merchant.id).await;
    harness.raw.execute("UPDATE stash SET scheme = 'hush'").unwrap();
    assert_corrupt(harness.stash.peek_stash(&stashed.key, at(0)).await, "stash", "scheme");
}

pub async fn a_broken_stream_holds_up_no_other(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (broken, sound) = (harness.authorized(merchant.id).await, harness.authorized(merchant.id).await);
    let broken = broken.session.unwrap().id;
    harness.raw.execute(&format!("DELETE FROM outbox_event WHERE payment_id = '{broken}'")).unwrap();
    let claimed = harness.claim(at(100)).await;
    assert_eq!(claimed.iter().map(|one| one.payment_id).collect::<Vec<_>>(), [sound.order.payment_id()]);
    assert_eq!(harness.finish(claimed[0].key, DeliveryResult::Acknowledged, at(101)).await.len(), 1);
}
