use std::collections::BTreeMap;

use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_card::CardHash;
use dropin_ports::{PrepareAuthorization, SealedCard};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement_about};

use super::append_only::{AuditEntries, Steps, audit_row, step};
use super::operation::{NewOperations, new_operation};
use crate::payment::EligiblePreparation;
use crate::rows::StateColumns;

rows! {
    /// An Order that is begun, the Session that it pays or what the checkout said, the key of the request, and the stash entry that it uses up; `number`
    /// names it in the other rows.
    InputRows of InputRow<'a> as "input_row" {
        number: i64 => BigInt,
        session_id: Option<Id> => Nullable<SqlId>,
        merchant_id: Id => SqlId,
        expected: Option<i64> => Nullable<BigInt>,
        session_revision: Option<i64> => Nullable<BigInt>,
        session_state: Option<&'a str> => Nullable<Text>,
        attempt_id: Option<Id> => Nullable<SqlId>,
        session_updated_at: Option<Instant> => Nullable<SqlInstant>,
        order_id: Id => SqlId,
        reference: &'a str => Text,
        revision: i64 => BigInt,
        state: &'a str => Text,
        under_review: bool => Bool,
        shown: bool => Bool,
        currency: &'a str => Text,
        total: i64 => BigInt,
        auto_capture: bool => Bool,
        payment_method: &'a str => Text,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        return_url: Option<&'a str> => Nullable<Text>,
        expires_at: Option<Instant> => Nullable<SqlInstant>,
        page: Option<&'a str> => Nullable<Text>,
        transfer_reference: Option<&'a str> => Nullable<Text>,
        transfer_page: Option<&'a str> => Nullable<Text>,
        card_hash: Option<&'a [u8]> => Nullable<Binary>,
        card_last_four: Option<String> => Nullable<Text>,
        checkout: Option<JsonDocument> => Nullable<SqlDocument>,
        operation_id: Id => SqlId,
        digest: Option<&'a [u8]> => Nullable<Binary>,
        fingerprint: Option<&'a [u8]> => Nullable<Binary>,
        key_from: Option<Instant> => Nullable<SqlInstant>,
        key_until: Option<Instant> => Nullable<SqlInstant>,
        stash_id: Option<&'a str> => Nullable<Text>,
        browser: Option<&'a str> => Nullable<Text>,
        scheme: Option<&'a str> => Nullable<Text>,
        usable: Option<bool> => Nullable<Bool>,
        now: Instant => SqlInstant,
    }
}

statement_about! {
    /// Begins Orders, and tells which by their numbers, each with the card that was stashed for it. One whose Session or stash entry is not as
    /// it was when that was decided, or whose reference, key or open transfer's reference was used before, is left out, also when a Session changes at the
    /// same moment. An entry or a key that does fails the whole.
    ///
    /// Everybody takes the reference first, then the Session, the Order, the key, and the stash entry last, which any number may ask for; references and
    /// keys in their own order, Sessions in that of their ids, Orders in that of their transfers' references, and entries in that of their keys. Each part
    /// reads what the one before it returned, so that PostgreSQL keeps to that.
    Prepare<'a> { input_rows: InputRows<'a>, operations: NewOperations<'a>, steps: Steps<'a>, entries: AuditEntries<'a>, }
    "WITH input_row AS MATERIALIZED (SELECT * FROM ? \
    ), ready AS MATERIALIZED (SELECT * FROM input_row \
        WHERE input_row.expected IS NOT DISTINCT FROM (SELECT s.revision FROM session AS s \
                WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id) \
            AND (SELECT TRUE FROM answer AS a WHERE a.merchant_id = input_row.merchant_id AND a.digest = input_row.digest) IS NULL \
            AND (input_row.stash_id IS NULL OR (SELECT s.expires_at > input_row.now AND s.usable = input_row.usable \
                AND s.scheme IS NOT DISTINCT FROM input_row.scheme FROM stash AS s WHERE s.merchant_id = input_row.merchant_id \
                    AND s.stash_id = input_row.stash_id AND s.fingerprint = input_row.browser)) \
            AND (input_row.transfer_reference IS NULL OR (SELECT TRUE FROM purchase_order AS o WHERE o.merchant_id = input_row.merchant_id \
                AND o.transfer_reference = input_row.transfer_reference AND o.state = 'PROCESSING') IS NULL) \
    ), taken AS ( \
        INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id) \
        SELECT merchant_id, reference, 'CHECKOUT', order_id FROM ready WHERE session_id IS NULL \
        ON CONFLICT DO NOTHING RETURNING owner_id \
    ), owned AS MATERIALIZED (SELECT array_agg(owner_id) AS orders FROM taken \
    ), granted AS MATERIALIZED (SELECT ready.* FROM owned, ready WHERE ready.session_id IS NOT NULL OR ready.order_id = ANY (owned.orders) \
    ), moved AS ( \
        UPDATE session AS s SET revision = granted.session_revision, state = granted.session_state, order_id = granted.order_id, \
            attempt_id = granted.attempt_id, updated_at = granted.session_updated_at \
        FROM granted WHERE s.id = granted.session_id AND s.merchant_id = granted.merchant_id AND s.revision = granted.expected \
        RETURNING granted.number \
    ), sessions AS MATERIALIZED (SELECT array_agg(number) AS moved FROM moved \
    ), paying AS MATERIALIZED (SELECT granted.* FROM sessions, granted WHERE granted.session_id IS NULL OR granted.number = ANY (sessions.moved) \
    ), begun AS ( \
        INSERT INTO purchase_order (id, merchant_id, session_id, merchant_reference, revision, state, under_review, shown, currency, \
            total_minor, authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, \
            auto_capture, payment_method, created_at, updated_at, attempt_id, return_url, expires_at, page, transfer_reference, transfer_page, \
            card_hash, card_last_four) \
        SELECT order_id, merchant_id, session_id, reference, revision, state, under_review, shown, currency, \
            total, 0, 0, 0, 0, 0, auto_capture, payment_method, created_at, updated_at, attempt_id, return_url, expires_at, page, \
            transfer_reference, transfer_page, card_hash, card_last_four \
        FROM paying ORDER BY merchant_id, transfer_reference COLLATE \"C\" RETURNING id \
    ), so_far AS MATERIALIZED (SELECT count(*) AS begun FROM begun \
    ), keyed AS ( \
        INSERT INTO answer (merchant_id, digest, fingerprint, operation_id, created_at, expires_at) \
        SELECT paying.merchant_id, paying.digest, paying.fingerprint, paying.operation_id, paying.key_from, paying.key_until \
        FROM so_far, paying WHERE paying.digest IS NOT NULL ORDER BY paying.merchant_id, paying.digest RETURNING operation_id \
    ), keys AS MATERIALIZED (SELECT count(*) AS taken FROM keyed \
    ), used AS MATERIALIZED (SELECT paying.* FROM keys, paying WHERE paying.stash_id IS NOT NULL \
        ORDER BY paying.merchant_id, paying.stash_id COLLATE \"C\", paying.browser COLLATE \"C\" \
    ), card AS ( \
        DELETE FROM stash AS s USING used WHERE s.merchant_id = used.merchant_id AND s.stash_id = used.stash_id \
            AND s.fingerprint = used.browser AND s.expires_at > used.now AND s.usable = used.usable \
            AND s.scheme IS NOT DISTINCT FROM used.scheme RETURNING used.number, s.key_id, s.ciphertext \
    ), checkouts AS ( \
        INSERT INTO checkout (order_id, merchant_id, document) SELECT order_id, merchant_id, checkout FROM paying WHERE checkout IS NOT NULL \
    ), operations AS ( \
        INSERT INTO processor_op \
            (id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, processor_reference, processor_id, channel, epoch, tries, \
            due_at, created_at) \
        SELECT next.id, next.order_id, next.kind, next.state, next.currency, next.minor, next.authorization_id, next.refund_id, next.reference, next.processor, \
            next.channel, next.epoch, next.tries, next.due_at, next.created_at \
        FROM ? WHERE next.number = ANY ((SELECT array_agg(number) FROM paying)::bigint[]) \
    ), new_history AS ( \
        INSERT INTO history \
            (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
        SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what, \
            step.state_before, step.state_after, step.happened_at \
        FROM ? WHERE step.number = ANY ((SELECT array_agg(number) FROM paying)::bigint[]) \
    ), audited AS ( \
        INSERT INTO audit_log (id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id, \
            value_before, value_after, happened_at) \
        SELECT entry.id, entry.merchant_id, entry.actor_kind, entry.actor_name, entry.address, entry.note, entry.action, \
            entry.subject_kind, entry.subject_id, entry.value_before, entry.value_after, entry.happened_at \
        FROM ? WHERE entry.number = ANY ((SELECT array_agg(number) FROM paying)::bigint[]) \
    ) SELECT paying.number, card.key_id, card.ciphertext FROM paying LEFT JOIN card ON card.number = paying.number \
    WHERE CASE WHEN (SELECT count(*) FROM card) = (SELECT count(stash_id) FROM paying) THEN TRUE ELSE dropin_again() IS NULL END";
    returns (BigInt, Nullable<Text>, Nullable<Binary>);
}

/// Prepares authorizations with one statement, which is its own transaction, of whatever is still as it was when that was decided, and tells
/// the places of those, each with its card. No two may be of one Session, one stash entry or one key.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
pub(crate) fn prepare(
    connection: &mut PgConnection,
    mut all: Vec<EligiblePreparation<'_>>,
) -> Result<BTreeMap<usize, Option<SealedCard>>, Fault> {
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_unstable_by_key(|one| {
        let order = &one.prepare.order;
        (order.session_id, order.merchant_id, order.merchant_reference.as_str())
    });
    let numbered = || (1_i64..).zip(&all);
    let prepare = Prepare {
        input_rows: numbered().map(|(number, one)| input_row(number, one)).collect(),
        operations: numbered()
            .map(|(number, one)| new_operation(number, &one.prepare.operation))
            .collect::<Result<_, _>>()?,
        steps: numbered()
            .flat_map(|(number, one)| one.prepare.history.iter().map(move |one| step(number, one)))
            .collect(),
        entries: numbered()
            .filter_map(|(number, one)| Some(audit_row(number, one.prepare.audit.as_ref()?)))
            .collect::<Result<_, _>>()?,
    };
    let written: Vec<(i64, Option<String>, Option<Vec<u8>>)> = prepare.load(connection)?;
    let mut cards: BTreeMap<i64, Option<SealedCard>> = written
        .into_iter()
        .map(|(number, key_id, bytes)| (number, key_id.zip(bytes).map(|(key_id, bytes)| SealedCard { key_id, bytes })))
        .collect();
    Ok(numbered().filter_map(|(number, one)| Some((one.batch_index, cards.remove(&number)?))).collect())
}

fn input_row<'a>(number: i64, one: &EligiblePreparation<'a>) -> InputRow<'a> {
    let PrepareAuthorization { session, order, checkout, operation, stash, now, key_use, .. } = one.prepare;
    let columns = session.as_ref().map(|change| StateColumns::new(&change.next));
    InputRow {
        number,
        session_id: order.session_id.map(|session| Id(session.uuid())),
        merchant_id: Id(order.merchant_id.uuid()),
        expected: session.as_ref().map(|change| change.expected.number()),
        session_revision: columns.as_ref().map(|columns| columns.revision),
        session_state: columns.as_ref().map(|columns| columns.state),
        attempt_id: order.attempt_id.map(|attempt| Id(attempt.uuid())),
        session_updated_at: columns.map(|columns| columns.updated_at),
        order_id: Id(order.id.uuid()),
        reference: &order.merchant_reference,
        revision: order.revision.number(),
        state: order.state.as_str(),
        under_review: order.under_review,
        shown: order.shown,
        currency: order.total.currency().code(),
        total: order.total.minor(),
        auto_capture: order.auto_capture,
        payment_method: &order.payment_method,
        created_at: Instant(order.created_at),
        updated_at: Instant(order.updated_at),
        return_url: order.return_url.as_deref(),
        expires_at: order.expires_at.map(Instant),
        page: order.page.as_deref(),
        transfer_reference: order.transfer_reference.as_deref(),
        transfer_page: order.transfer_page.as_deref(),
        card_hash: order.card.as_ref().map(CardHash::as_bytes),
        card_last_four: order.last_four.map(|four| four.to_string()),
        checkout: checkout.as_ref().map(|record| JsonDocument(record.document.clone())),
        operation_id: Id(operation.id.uuid()),
        digest: key_use.as_ref().map(|used| used.key.digest.as_slice()),
        fingerprint: key_use.as_ref().map(|used| used.fingerprint.as_slice()),
        key_from: key_use.as_ref().map(|used| Instant(used.at)),
        key_until: key_use.as_ref().map(|used| Instant(used.until)),
        stash_id: stash.as_ref().map(|used| used.key.stash_id.as_str()),
        browser: stash.as_ref().map(|used| used.key.fingerprint.as_str()),
        scheme: stash.as_ref().and_then(|used| used.summary.kind.method_id()),
        usable: stash.as_ref().map(|used| used.summary.usable),
        now: Instant(*now),
    }
}
