use std::collections::HashMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_kernel::{Change, MerchantId, OpId, OrderId, Timestamp};
use dropin_order::{OpKind, OpState, Operation, Order};
use dropin_ports::{
    Applied, AuthorizationPrepared, Changed, ClaimedOperation, Payment, PaymentStore, PrepareAuthorization,
    PrepareCapture, Settled, Settlement, StoreError, StoredAnswer,
};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::lane::Verdict;
use crate::rows::{OpRow, OrderChange, OrderRow, ProfileRow, SessionRow};
use crate::schema::{billing_profile, processor_op, purchase_order, session};
use crate::session::apply_state;
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};
use crate::store::Store;
use crate::{answers, journal, stash};

// The states in which somebody must still ask stand in these texts, as in the partial indexes, so that those are used and the statements
// prepared once; a test compares them with the domain's.

statement! {
    /// Writes an outcome, unless somebody else did before.
    Close { state: &'static str => Text, due_at: Instant => SqlInstant, id: Id => SqlId, }
    postgres CLOSE;
    sqlite CLOSE;
}

const CLOSE: &str =
    "UPDATE processor_op SET state = ?, due_at = ? WHERE id = ? AND state IN ('PREPARED', 'UNKNOWN', 'PENDING')";

statement! {
    /// Keeps an operation open for its holder, and counts the try.
    Postpone { state: &'static str => Text, due_at: Instant => SqlInstant, id: Id => SqlId, epoch: i64 => BigInt, }
    postgres POSTPONE;
    sqlite POSTPONE;
}

const POSTPONE: &str = "UPDATE processor_op SET state = ?, due_at = ?, tries = tries + 1 \
    WHERE id = ? AND epoch = ? AND state IN ('PREPARED', 'UNKNOWN', 'PENDING')";

statement! {
    /// The operations that are due, oldest first. What another settler holds right now is skipped, not waited for.
    Due { now: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "SELECT id FROM processor_op WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING') AND due_at <= ? \
        ORDER BY due_at, position LIMIT ? FOR UPDATE SKIP LOCKED";
    sqlite "SELECT id FROM processor_op WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING') AND due_at <= ? \
        ORDER BY due_at, position LIMIT ?";
    returns SqlId;
}

#[async_trait]
impl PaymentStore for Store {
    async fn prepare_authorization(&self, prepare: PrepareAuthorization) -> Result<AuthorizationPrepared, StoreError> {
        self.write(move |connection| prepare_authorization(connection, &prepare)).await
    }

    async fn prepare_capture(&self, prepare: PrepareCapture) -> Result<Changed, StoreError> {
        self.write(move |connection| {
            if !apply_order(connection, &prepare.order)? {
                return Ok(Verdict::Undo(Changed::Stale));
            }
            insert_operation(connection, &prepare.operation)?;
            // After the operation, to which it refers.
            if !answers::await_outcome(connection, prepare.key_use.as_ref(), prepare.operation.id)? {
                return Ok(Verdict::Undo(Changed::KeyTaken));
            }
            journal::remember(connection, &prepare.history)?;
            Ok(Verdict::Keep(Changed::Done))
        })
        .await
    }

    async fn settle(&self, settlement: Settlement) -> Result<Settled, StoreError> {
        self.write(move |connection| settle(connection, &settlement)).await
    }

    async fn find_payment(&self, operation: OpId) -> Result<Option<Payment>, StoreError> {
        self.read(move |connection| find_payment(connection, operation)).await
    }

    async fn claim_due_operations(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedOperation>, StoreError> {
        self.write(move |connection| claim(connection, now, lease_until, limit).map(Verdict::Keep)).await
    }

    async fn list_open_operations(&self, limit: u32) -> Result<Vec<Operation>, StoreError> {
        self.read(move |connection| {
            let states = OpState::ALL.into_iter().filter(|state| state.is_open()).map(OpState::as_str);
            let open: Vec<OpRow> = processor_op::table
                .filter(processor_op::state.eq_any(states.collect::<Vec<_>>()))
                .order(processor_op::position.asc())
                .limit(i64::from(limit))
                .select(OpRow::as_select())
                .load(connection)
                .in_table("processor_op")?;
            open.into_iter().map(OpRow::restore).collect()
        })
        .await
    }

    async fn postpone_operation(
        &self,
        claim: ClaimedOperation,
        state: OpState,
        due_at: Timestamp,
        answer: Option<StoredAnswer>,
    ) -> Result<Applied, StoreError> {
        self.write(move |connection| {
            if !state.is_open() {
                return Err(Fault::Refused("an operation is postponed only while it is open".to_owned()));
            }
            let (id, epoch) = (Id(claim.id.uuid()), claim.epoch);
            let postpone = Postpone { state: state.as_str(), due_at: Instant(due_at), id, epoch };
            if on_each!(connection, inner => postpone.execute(inner))? == 0 {
                return Ok(Verdict::Undo(Applied::Stale));
            }
            answers::give(connection, claim.id, answer.as_ref())?;
            Ok(Verdict::Keep(Applied::Done))
        })
        .await
    }

    async fn find_order(&self, merchant: MerchantId, id: OrderId) -> Result<Option<Order>, StoreError> {
        self.read(move |connection| {
            let found: Option<OrderRow> = purchase_order::table
                .filter(purchase_order::id.eq(Id(id.uuid())))
                .filter(purchase_order::merchant_id.eq(Id(merchant.uuid())))
                .filter(purchase_order::shown.eq(true))
                .select(OrderRow::as_select())
                .first(connection)
                .optional()
                .in_table("purchase_order")?;
            found.map(OrderRow::restore).transpose()
        })
        .await
    }

    async fn find_last_capture(&self, order: OrderId) -> Result<Option<Operation>, StoreError> {
        self.read(move |connection| {
            let found: Option<OpRow> = processor_op::table
                .filter(processor_op::order_id.eq(Id(order.uuid())))
                .filter(processor_op::kind.eq(OpKind::Capture.as_str()))
                .order(processor_op::position.desc())
                .select(OpRow::as_select())
                .first(connection)
                .optional()
                .in_table("processor_op")?;
            found.map(OpRow::restore).transpose()
        })
        .await
    }

    async fn find_authorization(&self, order: OrderId) -> Result<Option<Operation>, StoreError> {
        self.read(move |connection| {
            let found: Option<OpRow> = processor_op::table
                .filter(processor_op::order_id.eq(Id(order.uuid())))
                .filter(processor_op::kind.eq(OpKind::Authorize.as_str()))
                .filter(processor_op::state.eq(OpState::Approved.as_str()))
                .select(OpRow::as_select())
                .first(connection)
                .optional()
                .in_table("processor_op")?;
            found.map(OpRow::restore).transpose()
        })
        .await
    }
}

fn prepare_authorization(
    connection: &mut AnyConnection,
    prepare: &PrepareAuthorization,
) -> Result<Verdict<AuthorizationPrepared>, Fault> {
    // The Order first, since the Session will refer to it. The loser of a race finds the Order of the winner, or the Session changed.
    match insert_order(connection, &prepare.order) {
        Err(fault) if fault.breaks("purchase_order_session_key", "purchase_order.session_id") => {
            return Ok(Verdict::Undo(AuthorizationPrepared::Stale));
        }
        inserted => inserted?,
    }
    if !apply_state(connection, &prepare.session)? {
        return Ok(Verdict::Undo(AuthorizationPrepared::Stale));
    }
    let Some(card) = stash::consume(connection, &prepare.stash, prepare.summary, prepare.now)? else {
        return Ok(Verdict::Undo(AuthorizationPrepared::StashMissing));
    };
    insert_operation(connection, &prepare.operation)?;
    for step in &prepare.history {
        journal::remember(connection, step)?;
    }
    Ok(Verdict::Keep(AuthorizationPrepared::Done(card)))
}

fn insert_order(connection: &mut AnyConnection, order: &Order) -> Result<(), Fault> {
    diesel::insert_into(purchase_order::table).values(OrderRow::new(order)).execute(connection)?;
    Ok(())
}

fn insert_operation(connection: &mut AnyConnection, operation: &Operation) -> Result<(), Fault> {
    diesel::insert_into(processor_op::table).values(OpRow::new(operation)?).execute(connection)?;
    Ok(())
}

/// Writes a change of an Order; `false` when it changed since that was decided.
fn apply_order(connection: &mut AnyConnection, change: &Change<Order>) -> Result<bool, Fault> {
    if change.next.revision != change.expected.next() {
        return Err(Fault::Refused("a change of an Order must count its revision up by one".to_owned()));
    }
    let changed = diesel::update(purchase_order::table)
        .filter(purchase_order::id.eq(Id(change.next.id.uuid())))
        .filter(purchase_order::merchant_id.eq(Id(change.next.merchant_id.uuid())))
        .filter(purchase_order::revision.eq(change.expected.number()))
        .set(OrderChange::new(&change.next))
        .execute(connection)?;
    Ok(changed == 1)
}

fn settle(connection: &mut AnyConnection, settlement: &Settlement) -> Result<Verdict<Settled>, Fault> {
    if !close_operation(connection, settlement)? {
        return Ok(Verdict::Undo(Settled::AlreadySettled));
    }
    let order = settlement.order.as_ref().map(|change| apply_order(connection, change)).transpose()?;
    let session = settlement.session.as_ref().map(|change| apply_state(connection, change)).transpose()?;
    if order == Some(false) || session == Some(false) {
        return Ok(Verdict::Undo(Settled::Stale));
    }
    if let Some(operation) = &settlement.follow_up {
        insert_operation(connection, operation)?;
    }
    for transaction in &settlement.ledger {
        journal::post(connection, transaction)?;
    }
    for step in &settlement.history {
        journal::remember(connection, step)?;
    }
    journal::announce(connection, &settlement.events)?;
    answers::give(connection, settlement.operation, settlement.answer.as_ref())?;
    Ok(Verdict::Keep(Settled::Done))
}

/// Writes the operation's outcome; `false` when somebody else did before.
fn close_operation(connection: &mut AnyConnection, settlement: &Settlement) -> Result<bool, Fault> {
    let id = Id(settlement.operation.uuid());
    let close = Close { state: settlement.state.as_str(), due_at: Instant(settlement.due_at), id };
    let closed = on_each!(connection, inner => close.execute(inner))?;
    if closed == 1 {
        return Ok(true);
    }
    let known: i64 = processor_op::table.filter(processor_op::id.eq(id)).count().get_result(connection)?;
    if known == 0 {
        return Err(Fault::Refused("there is no such operation to settle".to_owned()));
    }
    Ok(false)
}

fn find_payment(connection: &mut AnyConnection, operation: OpId) -> Result<Option<Payment>, Fault> {
    type Found = (OpRow, OrderRow, Option<SessionRow>, Option<ProfileRow>);
    let found: Option<Found> = processor_op::table
        .inner_join(purchase_order::table)
        .left_join(session::table.on(purchase_order::session_id.eq(session::id.nullable())))
        .left_join(billing_profile::table.on(session::billing_profile_id.eq(billing_profile::id)))
        .filter(processor_op::id.eq(Id(operation.uuid())))
        .select((
            OpRow::as_select(),
            OrderRow::as_select(),
            Option::<SessionRow>::as_select(),
            Option::<ProfileRow>::as_select(),
        ))
        .first(connection)
        .optional()
        .in_table("processor_op")?;
    let Some((operation, order, session, profile)) = found else { return Ok(None) };
    let (operation, order) = (operation.restore()?, order.restore()?);
    let session = session.zip(profile).map(|(session, profile)| session.restore(&profile)).transpose()?;
    if order.session_id != session.as_ref().map(|session| session.id) {
        return Err(corrupt("purchase_order", "its Session is missing"));
    }
    Ok(Some(Payment { operation, order, session }))
}

fn claim(
    connection: &mut AnyConnection,
    now: Timestamp,
    lease_until: Timestamp,
    limit: u32,
) -> Result<Vec<ClaimedOperation>, Fault> {
    let due = Due { now: Instant(now), limit: i64::from(limit) };
    let due: Vec<Id> = on_each!(connection, inner => due.load(inner)).in_table("processor_op")?;
    let claimed: Vec<(Id, i64)> = diesel::update(processor_op::table)
        .filter(processor_op::id.eq_any(&due))
        .set((processor_op::epoch.eq(processor_op::epoch + 1), processor_op::due_at.eq(Instant(lease_until))))
        .returning((processor_op::id, processor_op::epoch))
        .get_results(connection)
        .in_table("processor_op")?;
    let epochs: HashMap<Id, i64> = claimed.into_iter().collect();
    let claimed = |id: Id| epochs.get(&id).map(|epoch| ClaimedOperation { id: OpId::new(id.0), epoch: *epoch });
    Ok(due.into_iter().filter_map(claimed).collect())
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
        let due = diesel::debug_query::<diesel::pg::Pg, _>(&Due { now: Instant(Timestamp::from_micros(0)), limit: 1 })
            .to_string();
        for text in [CLOSE, POSTPONE, &due] {
            assert!(text.contains(&list), "{text} should have {list}");
        }
    }
}
