//! Notifications as people who run a deployment see them: what became of each, sending again, and deleting by age.

mod details;
mod discard;
mod list;
mod purge;
mod replay;
mod status;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_kernel::{EndpointId, EventId, MerchantId, Timestamp};
use dropin_ports::{
    DiscardRequest, EventsPurged, NewAuditEntry, NotificationDetails, NotificationPage, NotificationQuery,
    NotificationStore, ReplayCounts, ReplayItem, ReplayRequest, StoreError,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Id;
use dropin_store_runtime::worker_pool::TxOutcome;

use purge::Step;

use crate::audit_log;
use crate::schema::endpoint;
use crate::store::Store;

#[async_trait]
impl NotificationStore for Store {
    async fn list_notifications(&self, query: NotificationQuery) -> Result<NotificationPage, StoreError> {
        self.read(move |connection| list::list(connection, &query)).await
    }

    async fn find_notification(&self, id: EventId) -> Result<Option<NotificationDetails>, StoreError> {
        self.read(move |connection| details::find(connection, id)).await
    }

    async fn replay(
        &self,
        to: EndpointId,
        items: Vec<ReplayItem>,
        asked: ReplayRequest,
        now: Timestamp,
    ) -> Result<ReplayCounts, StoreError> {
        self.write(move |connection| {
            let (queued, is_due) = replay::replay(connection, to, &items, &asked, now)?;
            if 0 < queued.queued + queued.hurried {
                let entry = of_merchant_of(connection, to, &asked.audit)?;
                audit_log::append(connection, &entry)?;
            }
            Ok(if asked.dry_run { TxOutcome::Rollback(queued) } else { TxOutcome::commit(queued, is_due) })
        })
        .await
    }

    async fn discard(&self, asked: DiscardRequest, now: Timestamp) -> Result<u32, StoreError> {
        self.write(move |connection| {
            let count = discard::discard(connection, &asked, now)?;
            if 0 < count {
                audit_log::append(connection, &asked.audit)?;
            }
            Ok(if asked.dry_run { TxOutcome::Rollback(count) } else { TxOutcome::Commit(count) })
        })
        .await
    }

    async fn purge_attempts(&self, before: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.write(move |connection| purge::tries(connection, before, limit).map(TxOutcome::Commit)).await
    }

    async fn count_attempts(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.read(move |connection| purge::count_attempts(connection, before)).await
    }

    async fn purge_events(
        &self,
        before: Timestamp,
        after: Option<EventId>,
        look_at: u32,
    ) -> Result<EventsPurged, StoreError> {
        let step = Step { before, after, look_at };
        self.write(move |connection| step.delete(connection).map(TxOutcome::Commit)).await
    }

    async fn count_events(
        &self,
        before: Timestamp,
        tries_since: Option<Timestamp>,
        after: Option<EventId>,
        look_at: u32,
    ) -> Result<EventsPurged, StoreError> {
        let step = Step { before, after, look_at };
        self.read(move |connection| step.count(connection, tries_since)).await
    }
}

/// The entry as one of the endpoint's merchant.
fn of_merchant_of(
    connection: &mut AnyConnection,
    id: EndpointId,
    entry: &NewAuditEntry,
) -> Result<NewAuditEntry, Fault> {
    let merchant: Option<Id> = endpoint::table
        .find(Id(id.uuid()))
        .select(endpoint::merchant_id)
        .first(connection)
        .optional()
        .in_table("endpoint")?;
    let merchant_id = merchant.map(|merchant| MerchantId::new(merchant.0));
    Ok(NewAuditEntry { merchant_id, ..entry.clone() })
}
