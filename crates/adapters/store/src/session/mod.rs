//! Sessions: each method of the port is one step.

mod create;
mod create_batch;
mod create_sqlite;
mod find;
mod reference;
mod replace;
mod replace_batch;
mod state;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_kernel::{BillingProfileId, MerchantId, RateOfferId, SessionId, Timestamp};
use dropin_order::Order;
use dropin_ports::{
    ChangeSession, Changed, Inserted, NewSession, ReplaceSession, Replaced, SessionStore, SessionWithOrder, StoreError,
};
use dropin_rates::Offer;
use dropin_session::{MAX_ATTEMPTS, Session, SessionStateKind};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_validation::BillingProfile;

use crate::rows::{OrderRow, ProfileRow, SessionRow};
use crate::schema::{billing_profile, purchase_order, session};
use crate::store::Store;
use crate::{audit_log, idempotency, outbox, rates};

pub(crate) use create::Creation;
pub(crate) use find::Search;
pub(crate) use reference::{Reference, take_checkout_reference};
pub(crate) use replace::Replacement;
pub(crate) use state::{apply_state, lock};

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
            let enqueued = outbox::enqueue_events(connection, &change.events)?;
            Ok(TxOutcome::commit(Changed::Done, enqueued))
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
