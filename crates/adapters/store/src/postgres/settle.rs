use std::collections::BTreeSet;

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_card::CardHash;
use dropin_kernel::Change;
use dropin_money::Amount;
use dropin_order::{FailureReason, Refund, VoidCause};
use dropin_ports::NewEvent;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::wake;
use dropin_store_runtime::{rows, statement_about};

use super::append_only::{AuditEntries, Steps, audit_row, step};
use super::operation::{NewOperations, new_operation};
use crate::ledger::{Postings, posting};
use crate::payment::{EligibleSettlement, next_awaited};
use crate::rows::{StateColumns, bank_document};

rows! {
    /// An operation's outcome, with what becomes of its Order, Session and refund, and of the key that waits for it; `number` names it in the other rows.
    InputRows of InputRow<'a> as "input_row" {
        number: i64 => BigInt,
        operation_id: Id => SqlId,
        operation_state: &'a str => Text,
        look_at: Instant => SqlInstant,
        order_id: Id => SqlId,
        merchant_id: Id => SqlId,
        expected: i64 => BigInt,
        revision: i64 => BigInt,
        state: &'a str => Text,
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
        voiding: Option<&'a str> => Nullable<Text>,
        capture_promised: Option<i64> => Nullable<BigInt>,
        failure: Option<&'a str> => Nullable<Text>,
        card_hash: Option<&'a [u8]> => Nullable<Binary>,
        card_last_four: Option<String> => Nullable<Text>,
        session_id: Option<Id> => Nullable<SqlId>,
        session_expected: Option<i64> => Nullable<BigInt>,
        session_revision: Option<i64> => Nullable<BigInt>,
        session_state: Option<&'a str> => Nullable<Text>,
        session_order_id: Option<Id> => Nullable<SqlId>,
        attempt_id: Option<Id> => Nullable<SqlId>,
        cancel_reason: Option<&'a str> => Nullable<Text>,
        failure_reason: Option<&'a str> => Nullable<Text>,
        session_updated_at: Option<Instant> => Nullable<SqlInstant>,
        attempts_failed: Option<i32> => Nullable<Integer>,
        last_attempt_id: Option<Id> => Nullable<SqlId>,
        last_failure: Option<&'a str> => Nullable<Text>,
        refund_id: Option<Id> => Nullable<SqlId>,
        refund_state: Option<&'a str> => Nullable<Text>,
        refund_currency: Option<&'a str> => Nullable<Text>,
        refund_minor: Option<i64> => Nullable<BigInt>,
        refund_settlement: Option<i64> => Nullable<BigInt>,
        refund_updated_at: Option<Instant> => Nullable<SqlInstant>,
        new_refund: Option<&'a str> => Nullable<Text>,
        payment_id: Option<Id> => Nullable<SqlId>,
        event_count: i64 => BigInt,
        first_event_at: Option<Instant> => Nullable<SqlInstant>,
        next_awaited: Option<Id> => Nullable<SqlId>,
        status: Option<i32> => Nullable<Integer>,
        etag: Option<&'a str> => Nullable<Text>,
        body: Option<&'a [u8]> => Nullable<Binary>,
    }
}

rows! {
    /// A refund that is begun.
    NewRefunds of NewRefund<'a> as "beginning" {
        number: i64 => BigInt,
        id: Id => SqlId,
        order_id: Id => SqlId,
        merchant_id: Id => SqlId,
        reference: &'a str => Text,
        currency: &'a str => Text,
        minor: i64 => BigInt,
        description: Option<&'a str> => Nullable<Text>,
        state: &'a str => Text,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        settlement_currency: Option<&'a str> => Nullable<Text>,
        settlement: Option<i64> => Nullable<BigInt>,
    }
}

rows! {
    /// An event for the outbox; `ordinal` counts from one within its settlement.
    Events of Event<'a> as "event" {
        number: i64 => BigInt,
        ordinal: i64 => BigInt,
        event_id: Id => SqlId,
        event_type: &'a str => Text,
        body: &'a [u8] => Binary,
        happened_at: Instant => SqlInstant,
    }
}

statement_about! {
    /// Settles operations, and tells which by their numbers. One that is not as it was when that was decided is left out; one that changes at
    /// the same moment fails the whole, since what follows from it may be written by then.
    ///
    /// Everybody locks in this order: operations, Orders, Sessions, streams (by endpoint and stream); these each in the order of the Orders.
    /// Each part reads what the one before it returned, so that PostgreSQL keeps to that. A refund is changed by whoever has locked its Order, and the key of
    /// an operation by whoever has locked that.
    ///
    /// CASE hides the open states from the planner: analyzed while few operations were open, it reads all open ones through the partial index
    /// `processor_op_due` instead of one by its key. Keys are found by a list and not by a join for the same reason: it would read all that wait.
    Settle<'a> {
        input_rows: InputRows<'a>,
        new_refunds: NewRefunds<'a>,
        follow_ups: NewOperations<'a>,
        postings: Postings<'a>,
        steps: Steps<'a>,
        entries: AuditEntries<'a>,
        events: Events<'a>,
    }
    "WITH input_row AS MATERIALIZED (SELECT * FROM ? \
    ), ready AS MATERIALIZED (SELECT * FROM input_row \
        WHERE (SELECT CASE WHEN op.state IN ('PREPARED', 'UNKNOWN', 'PENDING') THEN TRUE END FROM processor_op AS op \
                WHERE op.id = input_row.operation_id AND op.order_id = input_row.order_id) \
            AND input_row.expected = (SELECT o.revision FROM purchase_order AS o \
                WHERE o.id = input_row.order_id AND o.merchant_id = input_row.merchant_id) \
            AND input_row.session_expected IS NOT DISTINCT FROM (SELECT s.revision FROM session AS s \
                WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id) \
            AND (input_row.refund_id IS NULL OR (SELECT r.state = 'IN_PROGRESS' AND r.order_id = input_row.order_id \
                AND r.currency = input_row.refund_currency FROM refund AS r WHERE r.id = input_row.refund_id)) \
            AND (input_row.new_refund IS NULL OR (SELECT TRUE FROM refund AS r \
                WHERE r.order_id = input_row.order_id AND r.reference = input_row.new_refund) IS NULL) \
    ), closed AS ( \
        UPDATE processor_op AS op SET state = ready.operation_state, due_at = ready.look_at \
        FROM ready WHERE op.id = ready.operation_id \
            AND CASE WHEN op.state IN ('PREPARED', 'UNKNOWN', 'PENDING') THEN TRUE END RETURNING ready.* \
    ), changed AS ( \
        UPDATE purchase_order AS o SET revision = closed.revision, state = closed.state, under_review = closed.under_review, \
            shown = closed.shown, authorized_minor = closed.authorized, captured_minor = closed.captured, \
            capture_pending_minor = closed.capture_pending, refunded_minor = closed.refunded, \
            refund_pending_minor = closed.refund_pending, updated_at = closed.updated_at, expires_at = closed.expires_at, \
            page = closed.page, failure = closed.failure, card_hash = closed.card_hash, card_last_four = closed.card_last_four, \
            bank_details = closed.bank_details, voiding = closed.voiding, capture_promised_minor = closed.capture_promised \
        FROM closed WHERE o.id = closed.order_id AND o.merchant_id = closed.merchant_id AND o.revision = closed.expected \
        RETURNING closed.* \
    ), moved AS ( \
        UPDATE session AS s SET revision = changed.session_revision, state = changed.session_state, order_id = changed.session_order_id, \
            attempt_id = changed.attempt_id, cancel_reason = changed.cancel_reason, failure_reason = changed.failure_reason, \
            updated_at = changed.session_updated_at, attempts_failed = changed.attempts_failed, last_attempt_id = changed.last_attempt_id, \
            last_failure = changed.last_failure \
        FROM changed WHERE s.id = changed.session_id AND s.merchant_id = changed.merchant_id \
            AND s.revision = changed.session_expected RETURNING changed.number \
    ), decided AS ( \
        UPDATE refund AS r SET state = changed.refund_state, amount_minor = changed.refund_minor, settlement_minor = changed.refund_settlement, \
            updated_at = changed.refund_updated_at \
        FROM changed WHERE r.id = changed.refund_id AND r.state = 'IN_PROGRESS' RETURNING changed.number \
    ), done AS MATERIALIZED (SELECT array_agg(number) AS numbers, (SELECT count(*) FROM moved) AS moved, \
            (SELECT count(*) FROM decided) AS decided FROM changed \
    ), begun AS ( \
        INSERT INTO refund (id, order_id, merchant_id, reference, currency, amount_minor, description, state, created_at, updated_at, \
            settlement_currency, settlement_minor) \
        SELECT beginning.id, beginning.order_id, beginning.merchant_id, beginning.reference, beginning.currency, beginning.minor, \
            beginning.description, beginning.state, beginning.created_at, beginning.updated_at, beginning.settlement_currency, \
            beginning.settlement FROM done, ? WHERE beginning.number = ANY (done.numbers) \
    ), followed AS ( \
        INSERT INTO processor_op \
            (id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, processor_reference, processor_id, channel, epoch, \
            tries, due_at, created_at) \
        SELECT next.id, next.order_id, next.kind, next.state, next.currency, next.minor, next.authorization_id, next.refund_id, next.reference, \
            next.processor, next.channel, next.epoch, next.tries, next.due_at, next.created_at FROM done, ? WHERE next.number = ANY (done.numbers) \
    ), posted AS ( \
        INSERT INTO ledger_posting (id, order_id, currency, shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor, \
            charged_back_minor, posted_at) \
        SELECT posting.id, posting.order_id, posting.currency, posting.shopper, posting.authorized, posting.captured, posting.refunded, \
            posting.disputed, posting.charged_back, posting.posted_at \
        FROM done, ? WHERE posting.number = ANY (done.numbers) \
    ), new_history AS ( \
        INSERT INTO history \
            (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
        SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what, \
            step.state_before, step.state_after, step.happened_at FROM done, ? WHERE step.number = ANY (done.numbers) \
    ), audited AS ( \
        INSERT INTO audit_log (id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id, \
            value_before, value_after, happened_at) \
        SELECT entry.id, entry.merchant_id, entry.actor_kind, entry.actor_name, entry.address, entry.note, entry.action, \
            entry.subject_kind, entry.subject_id, entry.value_before, entry.value_after, entry.happened_at \
        FROM done, ? WHERE entry.number = ANY (done.numbers) \
    ), answered AS ( \
        UPDATE answer AS a SET (operation_id, status, etag, body) = ( \
            SELECT coalesce(ready.next_awaited, ready.operation_id), ready.status, ready.etag, ready.body \
            FROM ready WHERE ready.operation_id = a.operation_id) \
        WHERE a.status IS NULL AND a.operation_id = ANY ((SELECT array_agg(ready.operation_id) FROM done, ready \
            WHERE ready.number = ANY (done.numbers) AND (ready.next_awaited IS NOT NULL OR ready.status IS NOT NULL))::uuid[]) \
    ), so_far AS MATERIALIZED (SELECT ready.number, ready.payment_id, ready.merchant_id, ready.event_count, ready.first_event_at, \
            coalesce((SELECT e.sequence FROM outbox_event AS e WHERE e.payment_id = ready.payment_id \
                ORDER BY e.sequence DESC LIMIT 1), 0) AS last \
        FROM done, ready WHERE ready.payment_id IS NOT NULL AND ready.number = ANY (done.numbers) \
    ), appended AS ( \
        INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
        SELECT so_far.payment_id, so_far.last + event.ordinal, event.event_id, so_far.merchant_id, event.event_type, \
            convert_to('{\"Sequence\":' || (so_far.last + event.ordinal) || ',', 'UTF8') || substring(event.body FROM 2), \
            event.happened_at FROM so_far JOIN ? ON event.number = so_far.number \
    ), queued AS ( \
        INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
        SELECT endpoint.id, so_far.payment_id, FALSE, so_far.last + 1, so_far.last + so_far.event_count, 0, so_far.first_event_at \
        FROM so_far JOIN endpoint ON endpoint.merchant_id = so_far.merchant_id AND endpoint.removed_at IS NULL \
        ORDER BY endpoint.id, (SELECT s.id FROM outbox_stream AS s \
            WHERE s.endpoint_id = endpoint.id AND s.payment_id = so_far.payment_id AND NOT s.detached), so_far.number \
        ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE SET last_sequence = excluded.last_sequence, \
        due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence \
            THEN greatest(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END \
    ) SELECT unnest(CASE WHEN coalesce(cardinality(done.numbers), 0) = (SELECT count(*) FROM ready) \
        AND done.moved = (SELECT count(session_id) FROM ready) AND done.decided = (SELECT count(refund_id) FROM ready) THEN done.numbers ELSE dropin_again() END) FROM done";
    returns BigInt;
}

/// Settles with one statement, which is its own transaction, whatever is still as it was when that was decided, and tells the places of those.
/// No two may be of one Order.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
pub(crate) fn settle(
    connection: &mut PgConnection,
    mut all: Vec<EligibleSettlement<'_>>,
) -> Result<BTreeSet<usize>, Fault> {
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_unstable_by_key(|one| one.order.next.id);
    let numbered = || (1_i64..).zip(&all);
    let settle = Settle {
        input_rows: numbered().map(|(number, one)| input_row(number, one)).collect::<Result<_, _>>()?,
        new_refunds: numbered()
            .filter_map(|(number, one)| Some(new_refund(number, one.settlement.new_refund.as_ref()?)))
            .collect(),
        follow_ups: numbered()
            .filter_map(|(number, one)| Some(new_operation(number, one.settlement.follow_up.as_ref()?)))
            .collect::<Result<_, _>>()?,
        postings: numbered()
            .flat_map(|(number, one)| one.settlement.ledger.iter().map(move |one| posting(number, one)))
            .collect(),
        steps: numbered()
            .flat_map(|(number, one)| one.settlement.history.iter().map(move |one| step(number, one)))
            .collect(),
        entries: numbered()
            .filter_map(|(number, one)| Some(audit_row(number, one.settlement.audit.as_ref()?)))
            .collect::<Result<_, _>>()?,
        events: numbered()
            .flat_map(|(number, one)| {
                (1..).zip(&one.settlement.events).map(move |(ordinal, one)| event(number, ordinal, one))
            })
            .collect(),
    };
    let written: Vec<i64> = settle.load(connection)?;
    let numbers: BTreeSet<i64> = written.into_iter().collect();
    let done = || numbered().filter(|(number, _)| numbers.contains(number)).map(|(_, one)| one);
    if done().any(|one| !one.settlement.events.is_empty()) {
        wake::mark_enqueued();
    }
    Ok(done().map(|one| one.batch_index).collect())
}

fn input_row<'a>(number: i64, one: &EligibleSettlement<'a>) -> Result<InputRow<'a>, Fault> {
    let EligibleSettlement { settlement, order: Change { next, expected }, .. } = *one;
    let (session, refund) = (settlement.session.as_ref(), settlement.refund.as_ref());
    let columns = session.map(|change| StateColumns::new(&change.next));
    let (first, answer) = (settlement.events.first(), settlement.answer.as_ref());
    Ok(InputRow {
        number,
        operation_id: Id(settlement.operation.uuid()),
        operation_state: settlement.state.as_str(),
        look_at: Instant(settlement.due_at),
        order_id: Id(next.id.uuid()),
        merchant_id: Id(next.merchant_id.uuid()),
        expected: expected.number(),
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
        capture_promised: next.capture_promised.as_ref().map(Amount::minor),
        failure: next.failure.map(FailureReason::as_str),
        card_hash: next.card.as_ref().map(CardHash::as_bytes),
        card_last_four: next.last_four.map(|four| four.to_string()),
        session_id: session.map(|change| Id(change.next.id.uuid())),
        session_expected: session.map(|change| change.expected.number()),
        session_revision: columns.as_ref().map(|columns| columns.revision),
        session_state: columns.as_ref().map(|columns| columns.state),
        session_order_id: columns.as_ref().and_then(|columns| columns.order_id),
        attempt_id: columns.as_ref().and_then(|columns| columns.attempt_id),
        cancel_reason: columns.as_ref().and_then(|columns| columns.cancel_reason),
        failure_reason: columns.as_ref().and_then(|columns| columns.failure_reason),
        session_updated_at: columns.as_ref().map(|columns| columns.updated_at),
        attempts_failed: columns.as_ref().map(|columns| columns.attempts_failed),
        last_attempt_id: columns.as_ref().and_then(|columns| columns.last_attempt_id),
        last_failure: columns.as_ref().and_then(|columns| columns.last_failure),
        refund_id: refund.map(|refund| Id(refund.id.uuid())),
        refund_state: refund.map(|refund| refund.state.as_str()),
        refund_currency: refund.map(|refund| refund.amount.currency().code()),
        refund_minor: refund.map(|refund| refund.amount.minor()),
        refund_settlement: refund.and_then(|refund| refund.settlement.as_ref()).map(Amount::minor),
        refund_updated_at: refund.map(|refund| Instant(refund.updated_at)),
        new_refund: settlement.new_refund.as_ref().map(|refund| refund.reference.as_str()),
        payment_id: first.map(|event| Id(event.payment_id.uuid())),
        event_count: (0..).zip(&settlement.events).map(|(ordinal, _)| ordinal + 1).last().unwrap_or(0),
        first_event_at: first.map(|event| Instant(event.at)),
        next_awaited: next_awaited(settlement).map(|next| Id(next.uuid())),
        status: answer.map(|answer| i32::from(answer.status)),
        etag: answer.and_then(|answer| answer.etag.as_deref()),
        body: answer.map(|answer| answer.body.as_slice()),
    })
}

fn new_refund(number: i64, refund: &Refund) -> NewRefund<'_> {
    NewRefund {
        number,
        id: Id(refund.id.uuid()),
        order_id: Id(refund.order_id.uuid()),
        merchant_id: Id(refund.merchant_id.uuid()),
        reference: &refund.reference,
        currency: refund.amount.currency().code(),
        minor: refund.amount.minor(),
        description: refund.description.as_deref(),
        state: refund.state.as_str(),
        created_at: Instant(refund.created_at),
        updated_at: Instant(refund.updated_at),
        settlement_currency: refund.settlement.as_ref().map(|amount| amount.currency().code()),
        settlement: refund.settlement.as_ref().map(Amount::minor),
    }
}

fn event(number: i64, ordinal: i64, event: &NewEvent) -> Event<'_> {
    Event {
        number,
        ordinal,
        event_id: Id(event.id.uuid()),
        event_type: event.event_type,
        body: &event.body,
        happened_at: Instant(event.at),
    }
}
