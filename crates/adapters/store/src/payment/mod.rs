//! Orders and the operations asked of the processor: each method of the port is one step.

mod find;
mod operation;
mod order;
mod refund;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId, OrderId, RefundId, Timestamp};
use dropin_order::{Channel, OpState, Operation, Order, Refund};
use dropin_ports::{
    Applied, AuthorizationPrepared, ChangeOrder, CheckoutRecord, ClaimedOperation, OpenOperations, OrderChanged,
    OrderDossier, OrderName, Payment, PaymentStore, PrepareAuthorization, Settled, Settlement, StoreError,
    StoredAnswer,
};
use dropin_session::Session;

use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::lane::Verdict;
use crate::session::{apply_state, take_checkout_reference};
use crate::store::Store;
use crate::{answers, journal, stash};

#[async_trait]
impl PaymentStore for Store {
    async fn prepare_authorization(&self, prepare: PrepareAuthorization) -> Result<AuthorizationPrepared, StoreError> {
        self.write(move |connection| prepare_authorization(connection, &prepare)).await
    }

    async fn change_order(&self, change: ChangeOrder) -> Result<OrderChanged, StoreError> {
        self.write(move |connection| change_order(connection, &change)).await
    }

    async fn settle(&self, settlement: Settlement) -> Result<Settled, StoreError> {
        self.write(move |connection| settle(connection, &settlement)).await
    }

    async fn find_payment(&self, operation: OpId) -> Result<Option<Payment>, StoreError> {
        self.read(move |connection| find::payment(connection, operation)).await
    }

    async fn claim_due_operations(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedOperation>, StoreError> {
        self.write(move |connection| operation::claim(connection, now, lease_until, limit).map(Verdict::Keep)).await
    }

    async fn list_open_operations(&self, limit: u32) -> Result<Vec<Operation>, StoreError> {
        self.read(move |connection| operation::open(connection, limit)).await
    }

    async fn count_open_operations(&self) -> Result<Vec<OpenOperations>, StoreError> {
        self.read(operation::count).await
    }

    async fn postpone_operation(
        &self,
        claim: ClaimedOperation,
        state: OpState,
        due_at: Timestamp,
        answer: Option<StoredAnswer>,
    ) -> Result<Applied, StoreError> {
        self.write(move |connection| operation::postpone(connection, claim, state, due_at, answer.as_ref())).await
    }

    async fn find_lapsed_orders(&self, now: Timestamp, limit: u32) -> Result<Vec<Order>, StoreError> {
        self.read(move |connection| find::lapsed(connection, now, limit)).await
    }

    async fn find_order(&self, merchant: MerchantId, name: &OrderName) -> Result<Option<Order>, StoreError> {
        let name = name.clone();
        self.read(move |connection| find::order(connection, merchant, &name)).await
    }

    async fn find_dossier(&self, merchant: MerchantId, name: &OrderName) -> Result<Option<OrderDossier>, StoreError> {
        let name = name.clone();
        self.read(move |connection| find::dossier(connection, merchant, &name)).await
    }

    async fn find_order_anywhere(&self, id: OrderId) -> Result<Option<(Order, Option<Session>)>, StoreError> {
        self.read(move |connection| find::anywhere(connection, id)).await
    }

    async fn find_refund(
        &self,
        merchant: MerchantId,
        order: OrderId,
        id: RefundId,
    ) -> Result<Option<Refund>, StoreError> {
        self.read(move |connection| find::refund(connection, merchant, order, id)).await
    }

    async fn find_refund_by_reference(&self, order: OrderId, reference: &str) -> Result<Option<Refund>, StoreError> {
        let reference = reference.to_owned();
        self.read(move |connection| find::refund_by_reference(connection, order, &reference)).await
    }

    async fn list_operations(&self, order: OrderId) -> Result<Vec<Operation>, StoreError> {
        self.read(move |connection| find::operations(connection, order)).await
    }

    async fn find_checkout(&self, order: OrderId) -> Result<Option<CheckoutRecord>, StoreError> {
        self.read(move |connection| find::checkout(connection, order)).await
    }
}

/// The reference before the key, as everywhere, so that two never wait for each other; the stash entry last, since any number may ask for it.
fn prepare_authorization(
    connection: &mut AnyConnection,
    prepare: &PrepareAuthorization,
) -> Result<Verdict<AuthorizationPrepared>, Fault> {
    let PrepareAuthorization { session, order, operation, key_use, .. } = prepare;
    if order.session_id != session.as_ref().map(|change| change.next.id) {
        return Err(Fault::Refused("an Order is made with its own Session, or without any".to_owned()));
    }
    if session.is_none() && !take_checkout_reference(connection, order)? {
        // A request that is repeated finds its own reference: then the key tells so.
        let used = answers::is_used(connection, key_use.as_ref())?;
        let found = if used { AuthorizationPrepared::KeyTaken } else { AuthorizationPrepared::DuplicateReference };
        return Ok(Verdict::Undo(found));
    }
    // The Order before the Session, which will refer to it. The loser of a race finds the Order of the winner, or the Session changed.
    match order::insert(connection, order) {
        Err(fault) if fault.breaks("purchase_order_session_key", "purchase_order.session_id") => {
            return Ok(Verdict::Undo(AuthorizationPrepared::Stale));
        }
        inserted => inserted?,
    }
    if let Some(change) = session
        && !apply_state(connection, change)?
    {
        return Ok(Verdict::Undo(AuthorizationPrepared::Stale));
    }
    if let Some(record) = &prepare.checkout {
        order::keep_checkout(connection, order, record)?;
    }
    operation::insert(connection, operation)?;
    // After the operation, to which it refers.
    if !answers::await_outcome(connection, key_use.as_ref(), operation.id)? {
        return Ok(Verdict::Undo(AuthorizationPrepared::KeyTaken));
    }
    let mut card = None;
    if let Some(stash) = &prepare.stash {
        card = stash::consume(connection, stash, prepare.now)?;
        if card.is_none() {
            return Ok(Verdict::Undo(AuthorizationPrepared::StashMissing));
        }
    }
    journal::remember_all(connection, &prepare.history)?;
    Ok(Verdict::Keep(AuthorizationPrepared::Done(card)))
}

fn change_order(connection: &mut AnyConnection, change: &ChangeOrder) -> Result<Verdict<OrderChanged>, Fault> {
    if change.key_use.is_some() && change.operation.is_none() {
        return Err(Fault::Refused("a key waits for the outcome of an operation".to_owned()));
    }
    if !order::apply(connection, &change.order)? {
        return Ok(Verdict::Undo(OrderChanged::Stale));
    }
    if let Some(session) = &change.session
        && !apply_state(connection, session)?
    {
        return Ok(Verdict::Undo(OrderChanged::Stale));
    }
    if let Some(refund) = &change.refund
        && !refund::insert(connection, refund)?
    {
        // A request that is repeated finds its own refund: then the key tells so.
        let used = answers::is_used(connection, change.key_use.as_ref())?;
        return Ok(Verdict::Undo(if used { OrderChanged::KeyTaken } else { OrderChanged::DuplicateRefund }));
    }
    if let Some(operation) = &change.operation {
        operation::insert(connection, operation)?;
        // After the operation, to which it refers.
        if !answers::await_outcome(connection, change.key_use.as_ref(), operation.id)? {
            return Ok(Verdict::Undo(OrderChanged::KeyTaken));
        }
    }
    journal::remember_all(connection, &change.history)?;
    journal::announce(connection, &change.events)?;
    Ok(Verdict::Keep(OrderChanged::Done))
}

fn settle(connection: &mut AnyConnection, settlement: &Settlement) -> Result<Verdict<Settled>, Fault> {
    if !operation::close(connection, settlement)? {
        return Ok(Verdict::Undo(Settled::AlreadySettled));
    }
    let order = settlement.order.as_ref().map(|change| order::apply(connection, change)).transpose()?;
    let session = settlement.session.as_ref().map(|change| apply_state(connection, change)).transpose()?;
    if order == Some(false) || session == Some(false) {
        return Ok(Verdict::Undo(Settled::Stale));
    }
    if let Some(refund) = &settlement.refund {
        refund::decide(connection, refund)?;
    }
    if let Some(operation) = &settlement.follow_up {
        operation::insert(connection, operation)?;
    }
    journal::post(connection, &settlement.ledger)?;
    journal::remember_all(connection, &settlement.history)?;
    journal::announce(connection, &settlement.events)?;
    match (&settlement.answer, &settlement.follow_up) {
        (None, Some(next)) if next.channel != Channel::Nobody => {
            answers::pass_on(connection, settlement.operation, next.id)?;
        }
        (answer, _) => answers::give(connection, settlement.operation, answer.as_ref())?,
    }
    Ok(Verdict::Keep(Settled::Done))
}
