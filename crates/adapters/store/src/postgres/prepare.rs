use std::collections::BTreeMap;

use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_kernel::Change;
use dropin_ports::SealedCard;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement_about};

use super::append_only::{Steps, step};
use super::operation::{NewOperations, new_operation};
use crate::payment::EligiblePreparation;
use crate::rows::StateColumns;

rows! {
    /// An Order that is begun, the Session that it pays and the stash entry that it uses up; `number` names it in the other rows.
    InputRows of InputRow<'a> as "input_row" {
        number: i64 => BigInt,
        session_id: Id => SqlId,
        merchant_id: Id => SqlId,
        expected: i64 => BigInt,
        session_revision: i64 => BigInt,
        session_state: &'a str => Text,
        attempt_id: Option<Id> => Nullable<SqlId>,
        session_updated_at: Instant => SqlInstant,
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
        stash_id: Option<&'a str> => Nullable<Text>,
        fingerprint: Option<&'a str> => Nullable<Text>,
        scheme: Option<&'a str> => Nullable<Text>,
        usable: Option<bool> => Nullable<Bool>,
        now: Instant => SqlInstant,
    }
}

statement_about! {
    /// Begins Orders, and tells which by their numbers, each with the card that was stashed for it. One whose Session or stash entry is not as
    /// it was when that was decided is left out; one that changes at the same moment fails the whole.
    ///
    /// Everybody takes the Session before the stash entry, which any number may ask for; Sessions in the order of their ids, and entries in
    /// the order of their keys. Each part reads what the one before it returned, so that PostgreSQL keeps to that.
    Prepare<'a> { input_rows: InputRows<'a>, operations: NewOperations<'a>, steps: Steps<'a>, }
    "WITH input_row AS MATERIALIZED (SELECT * FROM ? \
    ), ready AS MATERIALIZED (SELECT * FROM input_row \
        WHERE input_row.expected = (SELECT s.revision FROM session AS s WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id) \
            AND (input_row.stash_id IS NULL OR (SELECT s.expires_at > input_row.now AND s.usable = input_row.usable \
                AND s.scheme IS NOT DISTINCT FROM input_row.scheme FROM stash AS s WHERE s.merchant_id = input_row.merchant_id \
                    AND s.stash_id = input_row.stash_id AND s.fingerprint = input_row.fingerprint)) \
    ), begun AS ( \
        INSERT INTO purchase_order (id, merchant_id, session_id, merchant_reference, revision, state, under_review, shown, currency, \
            total_minor, authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, \
            auto_capture, payment_method, created_at, updated_at, attempt_id) \
        SELECT order_id, merchant_id, session_id, reference, revision, state, under_review, shown, currency, \
            total, 0, 0, 0, 0, 0, auto_capture, payment_method, created_at, updated_at, attempt_id FROM ready RETURNING id \
    ), so_far AS MATERIALIZED (SELECT count(*) AS begun FROM begun \
    ), moved AS ( \
        UPDATE session AS s SET revision = ready.session_revision, state = ready.session_state, order_id = ready.order_id, \
            attempt_id = ready.attempt_id, updated_at = ready.session_updated_at \
        FROM so_far, ready WHERE s.id = ready.session_id AND s.merchant_id = ready.merchant_id AND s.revision = ready.expected \
            AND so_far.begun > 0 RETURNING ready.* \
    ), used AS MATERIALIZED (SELECT * FROM moved WHERE stash_id IS NOT NULL ORDER BY merchant_id, stash_id COLLATE \"C\", fingerprint COLLATE \"C\" \
    ), card AS ( \
        DELETE FROM stash AS s USING used WHERE s.merchant_id = used.merchant_id AND s.stash_id = used.stash_id \
            AND s.fingerprint = used.fingerprint AND s.expires_at > used.now AND s.usable = used.usable \
            AND s.scheme IS NOT DISTINCT FROM used.scheme RETURNING used.number, s.key_id, s.ciphertext \
    ), operations AS ( \
        INSERT INTO processor_op \
            (id, order_id, kind, state, currency, amount_minor, authorization_id, processor_id, channel, epoch, tries, due_at, created_at) \
        SELECT next.id, next.order_id, next.kind, next.state, next.currency, next.minor, next.authorization_id, next.processor, next.channel, \
            next.epoch, next.tries, next.due_at, next.created_at \
        FROM ? WHERE next.number = ANY ((SELECT array_agg(number) FROM ready)::bigint[]) \
    ), new_history AS ( \
        INSERT INTO history \
            (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
        SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what, \
            step.state_before, step.state_after, step.happened_at \
        FROM ? WHERE step.number = ANY ((SELECT array_agg(number) FROM ready)::bigint[]) \
    ) SELECT ready.number, card.key_id, card.ciphertext FROM ready LEFT JOIN card ON card.number = ready.number \
    WHERE CASE WHEN (SELECT count(*) FROM moved) = (SELECT count(*) FROM ready) \
        AND (SELECT count(*) FROM card) = (SELECT count(stash_id) FROM ready) THEN TRUE ELSE dropin_again() IS NULL END";
    returns (BigInt, Nullable<Text>, Nullable<Binary>);
}

/// Prepares authorizations with one statement, which is its own transaction, of whatever is still as it was when that was decided, and tells
/// the places of those, each with its card. No two may be of one Session or one stash entry.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
pub(crate) fn prepare(
    connection: &mut PgConnection,
    mut all: Vec<EligiblePreparation<'_>>,
) -> Result<BTreeMap<usize, Option<SealedCard>>, Fault> {
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_unstable_by_key(|one| one.session.next.id);
    let numbered = || (1_i64..).zip(&all);
    let prepare = Prepare {
        input_rows: numbered().map(|(number, one)| input_row(number, one)).collect(),
        operations: numbered()
            .map(|(number, one)| new_operation(number, &one.prepare.operation))
            .collect::<Result<_, _>>()?,
        steps: numbered()
            .flat_map(|(number, one)| one.prepare.history.iter().map(move |one| step(number, one)))
            .collect(),
    };
    let written: Vec<(i64, Option<String>, Option<Vec<u8>>)> = prepare.load(connection)?;
    let mut cards: BTreeMap<i64, Option<SealedCard>> = written
        .into_iter()
        .map(|(number, key_id, bytes)| (number, key_id.zip(bytes).map(|(key_id, bytes)| SealedCard { key_id, bytes })))
        .collect();
    Ok(numbered().filter_map(|(number, one)| Some((one.batch_index, cards.remove(&number)?))).collect())
}

fn input_row<'a>(number: i64, one: &EligiblePreparation<'a>) -> InputRow<'a> {
    let EligiblePreparation { prepare, session: Change { next: session, expected }, .. } = *one;
    let (order, stash) = (&prepare.order, prepare.stash.as_ref());
    let columns = StateColumns::new(session);
    InputRow {
        number,
        session_id: Id(session.id.uuid()),
        merchant_id: Id(session.merchant_id.uuid()),
        expected: expected.number(),
        session_revision: columns.revision,
        session_state: columns.state,
        attempt_id: columns.attempt_id,
        session_updated_at: columns.updated_at,
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
        stash_id: stash.map(|used| used.key.stash_id.as_str()),
        fingerprint: stash.map(|used| used.key.fingerprint.as_str()),
        scheme: stash.and_then(|used| used.summary.kind.method_id()),
        usable: stash.map(|used| used.summary.usable),
        now: Instant(prepare.now),
    }
}
