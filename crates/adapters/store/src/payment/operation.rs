//! Operations as they are written, settled, taken over and counted.
//!
//! The states in which somebody must still ask stand in these texts, as in the partial indexes, so that those are used and the statements
//! prepared once; a test compares them with the domain's.

use std::collections::HashMap;
use std::time::Duration;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use dropin_kernel::{OpId, RefundId, Timestamp};
use dropin_order::{OpState, Operation, ProcessorReference};
use dropin_ports::{Applied, ClaimedOperation, OpenOperations, Settlement, StoredResponse};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};

use super::operation_batch::new_operation;
use crate::columns::ColumnsOf;
use crate::idempotency;
use crate::rows::{OpRow, read_kind, read_state};
use crate::schema::{processor_op, purchase_order};

const TABLE: &str = "processor_op";

/// How long what the processor has accepted lets others go first, so that nothing waits for ever.
const MAX_PENDING_DEFERRAL: Duration = Duration::from_secs(10);

statement! {
    /// A new operation.
    Insert<'a> {
        id: Id => SqlId,
        order: Id => SqlId,
        kind: &'a str => Text,
        state: &'a str => Text,
        currency: &'a str => Text,
        amount: i64 => BigInt,
        authorization: Option<Id> => Nullable<SqlId>,
        refund: Option<Id> => Nullable<SqlId>,
        reference: Option<&'a str> => Nullable<Text>,
        processor: Option<&'a str> => Nullable<Text>,
        channel: &'a str => Text,
        epoch: i64 => BigInt,
        tries: i32 => Integer,
        due_at: Instant => SqlInstant,
        created_at: Instant => SqlInstant,
    }
    both "INSERT INTO processor_op ( \
            id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, processor_reference, processor_id, \
            channel, epoch, tries, due_at, created_at \
        ) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
}

statement! {
    /// Writes an outcome, unless somebody else did before. An Order that changes with it must be the operation's own.
    Close {
        state: &'static str => Text,
        due_at: Instant => SqlInstant,
        id: Id => SqlId,
        order: Option<Id> => Nullable<SqlId>,
    }
    both CLOSE;
}

const CLOSE: &str = "UPDATE processor_op SET state = $1, due_at = $2 \
    WHERE id = $3 AND order_id = coalesce($4, order_id) AND state IN ('PREPARED', 'UNKNOWN', 'PENDING')";

statement! {
    /// Keeps an operation open for its holder, and counts the try.
    Postpone { state: &'static str => Text, due_at: Instant => SqlInstant, id: Id => SqlId, epoch: i64 => BigInt, }
    both POSTPONE;
}

const POSTPONE: &str = "UPDATE processor_op SET state = $1, due_at = $2, tries = tries + 1 \
    WHERE id = $3 AND epoch = $4 AND state IN ('PREPARED', 'UNKNOWN', 'PENDING')";

statement! {
    /// Keeps the processor's own id of an authorization that its maker still holds.
    KeepReference<'a> { reference: &'a str => Text, due_at: Instant => SqlInstant, id: Id => SqlId, }
    both "UPDATE processor_op SET processor_reference = $1, due_at = $2 \
        WHERE id = $3 AND kind = 'AUTHORIZE' AND state = 'PREPARED' AND epoch = 0 AND processor_reference IS NULL";
}

statement! {
    /// Makes an operation due that the processor was asked for, and whose outcome is open.
    MakeDue { now: Instant => SqlInstant, id: Id => SqlId, }
    both "UPDATE processor_op SET due_at = $1 WHERE id = $2 AND state IN ('UNKNOWN', 'PENDING') AND due_at > $1";
}

statement! {
    /// The operations that are due: those that somebody may wait for go before those that the processor has accepted, unless these have been due for
    /// long; then the oldest first. What another settler holds right now is skipped, not waited for.
    Due { now: Instant => SqlInstant, deferred_since: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "SELECT id FROM processor_op \
        WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING') AND due_at <= $1 \
        ORDER BY CASE WHEN state = 'PENDING' AND due_at > $2 THEN 1 ELSE 0 END, due_at, position LIMIT $3 \
        FOR UPDATE SKIP LOCKED";
    sqlite "SELECT id FROM processor_op \
        WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING') AND due_at <= $1 \
        ORDER BY CASE WHEN state = 'PENDING' AND due_at > $2 THEN 1 ELSE 0 END, due_at, position LIMIT $3";
    returns SqlId;
}

statement! {
    /// The operations whose outcome is open, oldest first.
    Open { limit: i64 => BigInt, }
    both OPEN;
    returns ColumnsOf<OpRow>;
}

const OPEN: &str = "SELECT processor_op.id, processor_op.order_id, processor_op.kind, processor_op.state, processor_op.currency, \
        processor_op.amount_minor, processor_op.authorization_id, processor_op.refund_id, \
        processor_op.processor_reference, processor_op.processor_id, processor_op.channel, processor_op.epoch, \
        processor_op.tries, processor_op.due_at, processor_op.created_at \
    FROM processor_op WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING') ORDER BY position LIMIT $1";

const IS_OPEN: &str = "processor_op.state IN ('PREPARED', 'UNKNOWN', 'PENDING')";

statement! {
    /// How many are open, of each sort, and since when.
    Count {}
    both COUNT;
    returns (Text, Text, BigInt, SqlInstant);
}

const COUNT: &str = "SELECT kind, state, count(*), min(created_at) FROM processor_op \
    WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING') GROUP BY kind, state ORDER BY kind, state";

/// Inserts a new operation.
pub(super) fn insert(connection: &mut AnyConnection, operation: &Operation) -> Result<(), Fault> {
    let row = new_operation(0, operation)?;
    let insert = Insert {
        id: row.id,
        order: row.order_id,
        kind: row.kind,
        state: row.state,
        currency: row.currency,
        amount: row.minor,
        authorization: row.authorization_id,
        refund: row.refund_id,
        reference: row.reference,
        processor: row.processor,
        channel: row.channel,
        epoch: row.epoch,
        tries: row.tries,
        due_at: row.due_at,
        created_at: row.created_at,
    };
    on_each!(connection, inner => insert.execute(inner))?;
    Ok(())
}

/// Whether this operation of its Order is there.
pub(super) fn is_written(connection: &mut AnyConnection, operation: &Operation) -> Result<bool, Fault> {
    let own = processor_op::table
        .filter(processor_op::id.eq(Id(operation.id.uuid())))
        .filter(processor_op::order_id.eq(Id(operation.order_id.uuid())));
    Ok(own.select(processor_op::id).first::<Id>(connection).optional()?.is_some())
}

/// Writes the operation's outcome, or that it is still to come; `false` when somebody else wrote it before.
pub(super) fn close(connection: &mut AnyConnection, settlement: &Settlement) -> Result<bool, Fault> {
    let id = Id(settlement.operation.uuid());
    let order = settlement.order.as_ref().map(|change| Id(change.next.id.uuid()));
    let close = Close { state: settlement.state.as_str(), due_at: Instant(settlement.due_at), id, order };
    if on_each!(connection, inner => close.execute(inner))? == 1 {
        return Ok(true);
    }
    let orders = processor_op::table.filter(processor_op::id.eq(id)).select(processor_op::order_id);
    match orders.first::<Id>(connection).optional()? {
        None => Err(Fault::Refused("there is no such operation to settle".to_owned())),
        Some(own) if order.is_some_and(|order| order.0 != own.0) => {
            Err(Fault::Refused("the operation to settle is another Order's".to_owned()))
        }
        Some(_own) => Ok(false),
    }
}

/// Writes that the operation by which a refund was approved was declined after all; `false` when there is no such operation.
pub(super) fn take_back(connection: &mut AnyConnection, id: OpId, refund: RefundId) -> Result<bool, Fault> {
    let taken = diesel::update(processor_op::table)
        .filter(processor_op::id.eq(Id(id.uuid())))
        .filter(processor_op::refund_id.eq(Some(Id(refund.uuid()))))
        .filter(processor_op::state.eq(OpState::Approved.as_str()))
        .set(processor_op::state.eq(OpState::Declined.as_str()))
        .execute(connection)?;
    Ok(taken == 1)
}

/// Keeps an operation open for whoever holds `claim`.
pub(super) fn postpone(
    connection: &mut AnyConnection,
    claim: ClaimedOperation,
    state: OpState,
    due_at: Timestamp,
    answer: Option<&StoredResponse>,
) -> Result<TxOutcome<Applied>, Fault> {
    if !state.is_open() {
        return Err(Fault::Refused("an operation is postponed only while it is open".to_owned()));
    }
    let (id, epoch) = (Id(claim.id.uuid()), claim.epoch);
    let postpone = Postpone { state: state.as_str(), due_at: Instant(due_at), id, epoch };
    if on_each!(connection, inner => postpone.execute(inner))? == 0 {
        return Ok(TxOutcome::Rollback(Applied::Stale));
    }
    idempotency::complete(connection, claim.id, answer)?;
    Ok(TxOutcome::Commit(Applied::Done))
}

/// Keeps the processor's own id of an authorization, while nobody has taken that over and none is kept.
pub(super) fn keep_reference(
    connection: &mut AnyConnection,
    authorization: OpId,
    reference: &ProcessorReference,
    due_at: Timestamp,
) -> Result<TxOutcome<Applied>, Fault> {
    let keep = KeepReference { reference: reference.as_str(), due_at: Instant(due_at), id: Id(authorization.uuid()) };
    Ok(match on_each!(connection, inner => keep.execute(inner))? {
        0 => TxOutcome::Rollback(Applied::Stale),
        _ => TxOutcome::Commit(Applied::Done),
    })
}

/// Makes operations due whose outcome is open and that nobody is asking for right now.
pub(super) fn make_due(
    connection: &mut AnyConnection,
    operations: &[OpId],
    now: Timestamp,
) -> Result<TxOutcome<()>, Fault> {
    for id in operations {
        let make = MakeDue { now: Instant(now), id: Id(id.uuid()) };
        on_each!(connection, inner => make.execute(inner))?;
    }
    Ok(TxOutcome::Commit(()))
}

/// Takes over what is due.
pub(super) fn claim(
    connection: &mut AnyConnection,
    now: Timestamp,
    lease_until: Timestamp,
    limit: u32,
) -> Result<Vec<ClaimedOperation>, Fault> {
    let due =
        Due { now: Instant(now), deferred_since: Instant(now.minus(MAX_PENDING_DEFERRAL)), limit: i64::from(limit) };
    let due: Vec<Id> = on_each!(connection, inner => due.load(inner)).in_table(TABLE)?;
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let claimed: Vec<(Id, i64)> = diesel::update(processor_op::table)
        .filter(processor_op::id.eq_any(&due))
        .set((processor_op::epoch.eq(processor_op::epoch + 1), processor_op::due_at.eq(Instant(lease_until))))
        .returning((processor_op::id, processor_op::epoch))
        .get_results(connection)
        .in_table(TABLE)?;
    let epochs: HashMap<Id, i64> = claimed.into_iter().collect();
    let claimed = |id: Id| epochs.get(&id).map(|epoch| ClaimedOperation { id: OpId::new(id.0), epoch: *epoch });
    Ok(due.into_iter().filter_map(claimed).collect())
}

/// The open operations, oldest first.
pub(super) fn open(connection: &mut AnyConnection, limit: u32) -> Result<Vec<Operation>, Fault> {
    let open = Open { limit: i64::from(limit) };
    let open: Vec<OpRow> = on_each!(connection, inner => open.load(inner)).in_table(TABLE)?;
    open.into_iter().map(OpRow::restore).collect()
}

/// The same of these merchants' Orders.
pub(crate) fn open_of(connection: &mut AnyConnection, merchants: &[Id], limit: u32) -> Result<Vec<Operation>, Fault> {
    let open: Vec<OpRow> = processor_op::table
        .inner_join(purchase_order::table)
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(IS_OPEN))
        .filter(purchase_order::merchant_id.eq_any(merchants))
        .order(processor_op::position)
        .limit(i64::from(limit))
        .select(OpRow::as_select())
        .load(connection)
        .in_table(TABLE)?;
    open.into_iter().map(OpRow::restore).collect()
}

/// The open operations, counted.
pub(super) fn count(connection: &mut AnyConnection) -> Result<Vec<OpenOperations>, Fault> {
    let counted: Vec<(String, String, i64, Instant)> =
        on_each!(connection, inner => Count {}.load(inner)).in_table(TABLE)?;
    let restore = |(kind, state, count, oldest): (String, String, i64, Instant)| {
        let count = u64::try_from(count).map_err(|_negative| corrupt(TABLE, "it cannot be counted"))?;
        Ok(OpenOperations { kind: read_kind(&kind)?, state: read_state(&state)?, count, oldest: oldest.0 })
    };
    counted.into_iter().map(restore).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_name_the_open_states_of_the_domain() {
        let open: Vec<_> = OpState::ALL
            .into_iter()
            .filter(|state| state.is_open())
            .map(|state| format!("'{}'", state.as_str()))
            .collect();
        let list = format!("state IN ({})", open.join(", "));
        let zero = Instant(Timestamp::from_micros(0));
        let due =
            diesel::debug_query::<diesel::pg::Pg, _>(&Due { now: zero, deferred_since: zero, limit: 1 }).to_string();
        for text in [CLOSE, POSTPONE, OPEN, IS_OPEN, COUNT, &due] {
            assert!(text.contains(&list), "{text} should have {list}");
        }
    }
}
