//! Sessions: each method of the port is one step.

mod create;
mod create_batch;
mod create_sqlite;
mod find;
mod replace;
mod replace_batch;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use dropin_kernel::{BillingProfileId, Change, MerchantId, OrderId, RateOfferId, SessionId, Timestamp};
use dropin_order::Order;
use dropin_ports::{
    ChangeSession, Changed, Inserted, NewSession, ReplaceSession, Replaced, SessionStore, SessionWithOrder, StoreError,
};
use dropin_rates::Offer;
use dropin_session::{MAX_ATTEMPTS, Session, SessionStateKind};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};
use dropin_validation::BillingProfile;

use crate::rows::{OrderRow, ProfileRow, SessionRow, StateColumns};
use crate::schema::{billing_profile, merchant_reference, purchase_order, session};
use crate::store::Store;
use crate::{audit_log, idempotency, outbox, rates};

pub(crate) use create::Creation;
pub(crate) use find::Search;
pub(crate) use replace::Replacement;

#[async_trait]
impl SessionStore for Store {
    async fn insert_session(&self, new: NewSession) -> Result<Inserted, StoreError> {
        let creation = Creation::new(new).map_err(Fault::into_store_error)?;
        self.run_batched(creation).await
    }

    async fn find_session(&self, merchant: MerchantId, id: SessionId) -> Result<Option<SessionWithOrder>, StoreError> {
        self.run_batched(Search { merchant: Some(merchant), id }).await
    }

    async fn find_session_for_shopper(&self, id: SessionId) -> Result<Option<SessionWithOrder>, StoreError> {
        self.run_batched(Search { merchant: None, id }).await
    }

    async fn list_attempts(&self, id: SessionId) -> Result<Vec<Order>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<OrderRow> = purchase_order::table
                .filter(purchase_order::session_id.eq(Id(id.uuid())))
                .order((purchase_order::created_at, purchase_order::id))
                .limit(i64::from(MAX_ATTEMPTS))
                .select(OrderRow::as_select())
                .load(connection)
                .in_table("purchase_order")?;
            rows.into_iter().map(OrderRow::restore).collect()
        })
        .await
    }

    async fn replace_session(&self, replacement: ReplaceSession) -> Result<Replaced, StoreError> {
        let replacement = Replacement::new(replacement).map_err(Fault::into_store_error)?;
        self.run_batched(replacement).await
    }

    async fn change_session(&self, change: ChangeSession) -> Result<Changed, StoreError> {
        self.write(move |connection| {
            if !idempotency::store_response(connection, change.response.as_ref())? {
                return Ok(TxOutcome::Rollback(Changed::KeyTaken));
            }
            if !apply_state(connection, &change.change)? {
                return Ok(TxOutcome::Rollback(Changed::Stale));
            }
            let history = std::slice::from_ref(&change.history);
            audit_log::append_with_history(connection, history, change.audit.as_ref())?;
            outbox::enqueue_events(connection, &change.events)?;
            Ok(TxOutcome::Commit(Changed::Done))
        })
        .await
    }

    async fn find_profile(
        &self,
        merchant: MerchantId,
        id: BillingProfileId,
    ) -> Result<Option<BillingProfile>, StoreError> {
        self.read(move |connection| {
            let found: Option<ProfileRow> = billing_profile::table
                .filter(billing_profile::id.eq(Id(id.uuid())))
                .filter(billing_profile::merchant_id.eq(Id(merchant.uuid())))
                .select(ProfileRow::as_select())
                .first(connection)
                .optional()
                .in_table("billing_profile")?;
            found.map(|row| row.restore()).transpose()
        })
        .await
    }

    async fn find_profile_by_reference(
        &self,
        merchant: MerchantId,
        reference: &dropin_validation::Text,
    ) -> Result<Option<BillingProfile>, StoreError> {
        let reference = reference.as_str().to_owned();
        self.read(move |connection| {
            let found: Option<ProfileRow> = billing_profile::table
                .filter(billing_profile::merchant_id.eq(Id(merchant.uuid())))
                .filter(billing_profile::reference.eq(&reference))
                .order(billing_profile::position.desc())
                .select(ProfileRow::as_select())
                .first(connection)
                .optional()
                .in_table("billing_profile")?;
            found.map(|row| row.restore()).transpose()
        })
        .await
    }

    async fn find_rate_offer(&self, merchant: MerchantId, id: RateOfferId) -> Result<Option<Offer>, StoreError> {
        self.read(move |connection| rates::offer(connection, merchant, id)).await
    }

    async fn find_expired_sessions(&self, now: Timestamp, limit: u32) -> Result<Vec<Session>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<(SessionRow, ProfileRow)> = session::table
                .inner_join(billing_profile::table)
                .filter(session::state.eq(SessionStateKind::Created.as_str()))
                .filter(session::expires_at.le(Instant(now)))
                .order((session::expires_at, session::id))
                .limit(i64::from(limit))
                .select((SessionRow::as_select(), ProfileRow::as_select()))
                .load(connection)
                .in_table("session")?;
            // A row that makes no sense is loud, and must not keep the others from expiring.
            let restored = rows.iter().map(|(row, profile)| row.restore(profile));
            Ok(restored.filter_map(|one| one.map_err(Fault::into_store_error).ok()).collect())
        })
        .await
    }
}

statement! {
    /// Takes a MerchantReference, unless it is taken. Waits for whoever is taking it right now.
    TakeReference { merchant: Id => SqlId, reference: String => Text, kind: &'static str => Text, owner: Id => SqlId, }
    both "INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
}

/// What owns a MerchantReference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Session(SessionId),
    /// The Order of a server-to-server checkout.
    Checkout(OrderId),
}

impl Owner {
    const fn stored(self) -> (&'static str, Id) {
        match self {
            Self::Session(id) => ("SESSION", Id(id.uuid())),
            Self::Checkout(id) => ("CHECKOUT", Id(id.uuid())),
        }
    }
}

/// Whose a MerchantReference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The asker's, as of now.
    Taken,
    /// The asker's, as before.
    Own,
    /// Somebody else's.
    Foreign,
}

/// Takes the Session's MerchantReference for it, first come, first served.
pub(crate) fn take_reference(connection: &mut AnyConnection, session: &Session) -> Result<Reference, Fault> {
    let reference = session.terms.merchant_reference.as_str();
    take(connection, session.merchant_id, reference, Owner::Session(session.id))
}

/// Takes the reference of a server-to-server checkout for its Order, first come, first served.
pub(crate) fn take_checkout_reference(connection: &mut AnyConnection, order: &Order) -> Result<Reference, Fault> {
    take(connection, order.merchant_id, &order.merchant_reference, Owner::Checkout(order.id))
}

fn take(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    reference: &str,
    owner: Owner,
) -> Result<Reference, Fault> {
    let (merchant, (kind, owner)) = (Id(merchant.uuid()), owner.stored());
    let take = TakeReference { merchant, reference: reference.to_owned(), kind, owner };
    if on_each!(connection, inner => take.execute(inner))? == 1 {
        return Ok(Reference::Taken);
    }
    let found: (String, Id) = merchant_reference::table
        .find((merchant, reference))
        .select((merchant_reference::owner_kind, merchant_reference::owner_id))
        .first(connection)
        .in_table("merchant_reference")?;
    Ok(if found == (kind.to_owned(), owner) { Reference::Own } else { Reference::Foreign })
}

/// A change that does not count on from what it was decided on would let a later one win wrongly.
pub(crate) fn check_revision(change: &Change<Session>) -> Result<(), Fault> {
    if change.next.revision == change.expected.next() {
        Ok(())
    } else {
        Err(Fault::Refused("a change of a Session must count its revision up by one".to_owned()))
    }
}

statement! {
    /// The state of a Session, if that is still as it was when this was decided.
    SetState {
        revision: i64 => BigInt,
        state: &'static str => Text,
        order: Option<Id> => Nullable<SqlId>,
        attempt: Option<Id> => Nullable<SqlId>,
        cancel_reason: Option<&'static str> => Nullable<Text>,
        failure_reason: Option<&'static str> => Nullable<Text>,
        updated_at: Instant => SqlInstant,
        attempts_failed: i32 => Integer,
        last_attempt: Option<Id> => Nullable<SqlId>,
        last_failure: Option<&'static str> => Nullable<Text>,
        id: Id => SqlId,
        merchant: Id => SqlId,
        expected: i64 => BigInt,
    }
    both "UPDATE session \
        SET revision = $1, state = $2, order_id = $3, attempt_id = $4, cancel_reason = $5, failure_reason = $6, \
            updated_at = $7, attempts_failed = $8, last_attempt_id = $9, last_failure = $10 \
        WHERE id = $11 AND merchant_id = $12 AND revision = $13";
}

/// Locks a Session that is about to change; `false` when it changed since that was decided.
pub(crate) fn lock(connection: &mut AnyConnection, change: &Change<Session>) -> Result<bool, Fault> {
    let row = session::table
        .find(Id(change.next.id.uuid()))
        .filter(session::merchant_id.eq(Id(change.next.merchant_id.uuid())))
        .filter(session::revision.eq(change.expected.number()))
        .select(session::id);
    let locked: Option<Id> = match connection {
        AnyConnection::Postgres(connection) => row.for_no_key_update().first(connection).optional()?,
        AnyConnection::Sqlite(connection) => row.first(connection).optional()?,
    };
    Ok(locked.is_some())
}

/// Writes a change of state; `false` when the Session changed since it was decided.
pub(crate) fn apply_state(connection: &mut AnyConnection, change: &Change<Session>) -> Result<bool, Fault> {
    check_revision(change)?;
    let columns = StateColumns::new(&change.next);
    let set = SetState {
        revision: columns.revision,
        state: columns.state,
        order: columns.order_id,
        attempt: columns.attempt_id,
        cancel_reason: columns.cancel_reason,
        failure_reason: columns.failure_reason,
        updated_at: columns.updated_at,
        attempts_failed: columns.attempts_failed,
        last_attempt: columns.last_attempt_id,
        last_failure: columns.last_failure,
        id: Id(change.next.id.uuid()),
        merchant: Id(change.next.merchant_id.uuid()),
        expected: change.expected.number(),
    };
    Ok(on_each!(connection, inner => set.execute(inner))? == 1)
}
