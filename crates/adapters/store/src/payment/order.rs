//! An Order as it is written: with fixed texts, since every payment does it several times.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use dropin_card::CardHash;
use dropin_kernel::Change;
use dropin_order::{FailureReason, Order, VoidCause};
use dropin_ports::CheckoutRecord;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use crate::rows::bank_document;
use crate::schema::purchase_order;

statement! {
    Insert<'a> {
        id: Id => SqlId,
        merchant: Id => SqlId,
        session: Option<Id> => Nullable<SqlId>,
        reference: &'a str => Text,
        revision: i64 => BigInt,
        state: &'static str => Text,
        under_review: bool => Bool,
        shown: bool => Bool,
        currency: &'static str => Text,
        total: i64 => BigInt,
        authorized: i64 => BigInt,
        captured: i64 => BigInt,
        capture_pending: i64 => BigInt,
        refunded: i64 => BigInt,
        refund_pending: i64 => BigInt,
        auto_capture: bool => Bool,
        payment_method: &'a str => Text,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        expires_at: Option<Instant> => Nullable<SqlInstant>,
        page: Option<&'a str> => Nullable<Text>,
        bank_details: Option<JsonDocument> => Nullable<SqlDocument>,
        voiding: Option<&'static str> => Nullable<Text>,
        capture_promised: Option<i64> => Nullable<BigInt>,
        return_url: Option<&'a str> => Nullable<Text>,
        attempt: Option<Id> => Nullable<SqlId>,
        failure: Option<&'static str> => Nullable<Text>,
        transfer_reference: Option<&'a str> => Nullable<Text>,
        transfer_page: Option<&'a str> => Nullable<Text>,
        card: Option<&'a [u8]> => Nullable<Binary>,
        contract: Option<Id> => Nullable<SqlId>,
        last_four: Option<String> => Nullable<Text>,
    }
    both include_str!("insert_order.sql");
}

statement! {
    Update<'a> {
        revision: i64 => BigInt,
        state: &'static str => Text,
        under_review: bool => Bool,
        shown: bool => Bool,
        authorized: i64 => BigInt,
        captured: i64 => BigInt,
        capture_pending: i64 => BigInt,
        refunded: i64 => BigInt,
        refund_pending: i64 => BigInt,
        updated_at: Instant => SqlInstant,
        expires_at: Option<Instant> => Nullable<SqlInstant>,
        page: Option<&'a str> => Nullable<Text>,
        bank_details: Option<JsonDocument> => Nullable<SqlDocument>,
        voiding: Option<&'static str> => Nullable<Text>,
        capture_promised: Option<i64> => Nullable<BigInt>,
        failure: Option<&'static str> => Nullable<Text>,
        card: Option<&'a [u8]> => Nullable<Binary>,
        last_four: Option<String> => Nullable<Text>,
        id: Id => SqlId,
        merchant: Id => SqlId,
        expected: i64 => BigInt,
    }
    both include_str!("update_order.sql");
}

statement! {
    /// What a server-to-server checkout said.
    InsertCheckout<'a> { order: Id => SqlId, merchant: Id => SqlId, document: &'a JsonDocument => SqlDocument, }
    both "INSERT INTO checkout (order_id, merchant_id, document) VALUES ($1, $2, $3)";
}

/// Inserts a new Order.
pub(super) fn insert(connection: &mut AnyConnection, order: &Order) -> Result<(), Fault> {
    let amounts = &order.amounts;
    let insert = Insert {
        id: Id(order.id.uuid()),
        merchant: Id(order.merchant_id.uuid()),
        session: order.session_id.map(|session| Id(session.uuid())),
        reference: &order.merchant_reference,
        revision: order.revision.number(),
        state: order.state.as_str(),
        under_review: order.under_review,
        shown: order.shown,
        currency: order.total.currency().code(),
        total: order.total.minor(),
        authorized: amounts.total_authorized().minor(),
        captured: amounts.captured().minor(),
        capture_pending: amounts.capture_pending().minor(),
        refunded: amounts.refunded().minor(),
        refund_pending: amounts.refund_pending().minor(),
        auto_capture: order.auto_capture,
        payment_method: &order.payment_method,
        created_at: Instant(order.created_at),
        updated_at: Instant(order.updated_at),
        expires_at: order.expires_at.map(Instant),
        page: order.page.as_deref(),
        bank_details: bank_document(order)?,
        voiding: order.voiding.map(VoidCause::as_str),
        capture_promised: promised(order),
        return_url: order.return_url.as_deref(),
        attempt: order.attempt_id.map(|attempt| Id(attempt.uuid())),
        failure: order.failure.map(FailureReason::as_str),
        transfer_reference: order.transfer_reference.as_deref(),
        transfer_page: order.transfer_page.as_deref(),
        card: order.card.as_ref().map(CardHash::as_bytes),
        contract: order.contract_id.map(|contract| Id(contract.uuid())),
        last_four: order.last_four.map(|four| four.to_string()),
    };
    on_each!(connection, inner => insert.execute(inner))?;
    Ok(())
}

/// Whether the Session already has an Order with this attempt id.
pub(super) fn is_attempt_used(connection: &mut AnyConnection, order: &Order) -> Result<bool, Fault> {
    let (Some(session), Some(attempt)) = (order.session_id, order.attempt_id) else { return Ok(false) };
    let used = purchase_order::table
        .filter(purchase_order::session_id.eq(Some(Id(session.uuid()))))
        .filter(purchase_order::attempt_id.eq(Some(Id(attempt.uuid()))))
        .select(purchase_order::id);
    Ok(used.first::<Id>(connection).optional()?.is_some())
}

/// Writes a change of an Order; `false` when it changed since that was decided. What disputes hold of it is written by whoever changes the dispute.
pub(crate) fn apply(connection: &mut AnyConnection, change: &Change<Order>) -> Result<bool, Fault> {
    let Change { next, expected } = change;
    if next.revision != expected.next() {
        return Err(Fault::Refused("a change of an Order must count its revision up by one".to_owned()));
    }
    let update = Update {
        revision: next.revision.number(),
        state: next.state.as_str(),
        under_review: next.under_review,
        shown: next.shown,
        authorized: next.amounts.total_authorized().minor(),
        captured: next.amounts.captured().minor(),
        capture_pending: next.amounts.capture_pending().minor(),
        refunded: next.amounts.refunded().minor(),
        refund_pending: next.amounts.refund_pending().minor(),
        updated_at: Instant(next.updated_at),
        expires_at: next.expires_at.map(Instant),
        page: next.page.as_deref(),
        bank_details: bank_document(next)?,
        voiding: next.voiding.map(VoidCause::as_str),
        capture_promised: promised(next),
        failure: next.failure.map(FailureReason::as_str),
        card: next.card.as_ref().map(CardHash::as_bytes),
        last_four: next.last_four.map(|four| four.to_string()),
        id: Id(next.id.uuid()),
        merchant: Id(next.merchant_id.uuid()),
        expected: expected.number(),
    };
    Ok(on_each!(connection, inner => update.execute(inner))? == 1)
}

fn promised(order: &Order) -> Option<i64> {
    order.capture_promised.as_ref().map(dropin_money::Amount::minor)
}

/// Whether what a server-to-server checkout said can be kept.
pub(super) fn is_json(record: &CheckoutRecord) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(&record.document).is_ok()
}

/// Keeps what a server-to-server checkout said, beside its Order.
pub(super) fn keep_checkout(
    connection: &mut AnyConnection,
    order: &Order,
    record: &CheckoutRecord,
) -> Result<(), Fault> {
    if !is_json(record) {
        return Err(Fault::Refused("what a checkout said must be JSON".to_owned()));
    }
    let document = JsonDocument(record.document.clone());
    let (order, merchant) = (Id(order.id.uuid()), Id(order.merchant_id.uuid()));
    let insert = InsertCheckout { order, merchant, document: &document };
    on_each!(connection, inner => insert.execute(inner))?;
    Ok(())
}
