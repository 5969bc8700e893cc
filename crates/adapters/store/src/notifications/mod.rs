//! Notifications as people who run a deployment see them: what became of each, sending again, and deleting by age.

mod file;
mod list;
mod purge;
mod replay;
mod standing;

use async_trait::async_trait;
use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_ports::{
    EventsPurged, NotificationFile, NotificationPage, NotificationQuery, NotificationStore, ReplayAsked, ReplayItem,
    ReplayQueued, StoreError,
};

use crate::lane::Verdict;
use crate::sql::Id;
use crate::store::Store;

#[async_trait]
impl NotificationStore for Store {
    async fn list_notifications(&self, query: NotificationQuery) -> Result<NotificationPage, StoreError> {
        self.read(move |connection| list::list(connection, &query)).await
    }

    async fn find_notification(&self, id: EventId) -> Result<Option<NotificationFile>, StoreError> {
        self.read(move |connection| file::find(connection, id)).await
    }

    async fn replay(
        &self,
        to: EndpointId,
        items: Vec<ReplayItem>,
        asked: ReplayAsked,
        now: Timestamp,
    ) -> Result<ReplayQueued, StoreError> {
        self.write(move |connection| replay::replay(connection, to, &items, &asked, now).map(Verdict::Keep)).await
    }

    async fn purge_tries(&self, before: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.write(move |connection| purge::tries(connection, before, limit).map(Verdict::Keep)).await
    }

    async fn count_tries(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.read(move |connection| purge::count_tries(connection, before)).await
    }

    async fn purge_events(
        &self,
        before: Timestamp,
        after: Option<EventId>,
        look_at: u32,
        dry_run: bool,
    ) -> Result<EventsPurged, StoreError> {
        if dry_run {
            return self.read(move |connection| purge::count_events(connection, before, after, look_at)).await;
        }
        self.write(move |connection| purge::events(connection, before, after, look_at).map(Verdict::Keep)).await
    }
}

/// Ids as the statements take a list of them.
fn ids(ids: impl IntoIterator<Item = Id>) -> String {
    ids.into_iter().map(|id| id.0.hyphenated().to_string()).collect::<Vec<_>>().join(",")
}
