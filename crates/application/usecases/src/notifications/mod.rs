//! Notifications for those who run the deployment: what became of each, sending again, discarding, deleting by age. Whether somebody may do so is the
//! caller's to know.

mod discard;
mod replay;
mod retention;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_kernel::{EventId, MerchantId};
use dropin_ports::{
    Acting, AuditSubject, Clock, IdSource, NewAuditEntry, NotificationDetails, NotificationPage, NotificationQuery,
    NotificationStore, StoreError,
};

pub use discard::{DiscardError, DiscardOrder, DiscardWhich};
pub use replay::{ReplayError, ReplayOrder, ReplayOutcome, ReplayWhich};
pub use retention::{Purged, Retention};

/// Events that are looked at, and sent again or discarded, in one step: it has to be over within a statement's time even on a slow day.
const MAX_STEP_EVENTS: u32 = 100;

/// Looks after notifications.
#[derive(Clone)]
pub struct Notifications {
    /// Where they are.
    pub store: Arc<dyn NotificationStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Names what was asked for at once, and jitter.
    pub ids: Arc<dyn IdSource>,
}

impl Notifications {
    fn entry(
        &self,
        by: &Acting,
        merchant: Option<MerchantId>,
        action: AuditAction,
        subject: AuditSubject,
    ) -> NewAuditEntry {
        NewAuditEntry::new(self.ids.ordered(), self.clock.now(), by.clone(), merchant, action, subject)
    }

    /// A page of them. It may be short, or empty, though there is more: [`NotificationPage::next`] says so.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self, query: NotificationQuery) -> Result<NotificationPage, StoreError> {
        self.store.list_notifications(query).await
    }

    /// One with its body and what is known of its tries.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn show(&self, id: EventId) -> Result<Option<NotificationDetails>, StoreError> {
        self.store.find_notification(id).await
    }
}
