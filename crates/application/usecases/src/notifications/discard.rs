//! Saying of what is parked that it need not arrive any more.

use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_kernel::{EndpointId, EventId, MerchantId};
use dropin_ports::{
    Acting, AuditSubject, DeliveryState, DeliveryStatus, DiscardRequest, NotificationFilter, NotificationQuery,
    StoreError,
};
use dropin_wire::audit_log::Document;

use super::{MAX_STEP_EVENTS, Notifications};

/// Which parked notifications are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiscardWhich {
    /// One: for that endpoint, or for every one where it is parked.
    One {
        /// `webhook-id`.
        event: EventId,
        /// One of the merchant's endpoints.
        endpoint: Option<EndpointId>,
    },
    /// All that are parked and fit; the filter's state does not count.
    All(NotificationFilter),
}

/// What somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscardOrder {
    /// Which.
    pub which: DiscardWhich,
    /// Who asks, by the name that is kept with what is discarded.
    pub by: String,
    /// Who asks, for the audit log.
    pub acting: Acting,
    /// Only counts them.
    pub dry_run: bool,
}

/// Why it was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscardError {
    /// No such notification.
    #[error("no such notification")]
    NotFound,
    /// The store failed; asking again goes on with the others.
    #[error("{error}")]
    Store {
        /// Why.
        error: StoreError,
        /// How many were discarded until then, and stay so.
        done: u64,
    },
}

impl Notifications {
    /// Takes notifications off the list of what is parked, so that they are deleted by age as what arrived is; how many, each endpoint counted. Until
    /// then they can still be sent again. Who said so is kept.
    ///
    /// # Errors
    /// [`DiscardError`].
    pub async fn discard(&self, order: &DiscardOrder) -> Result<u64, DiscardError> {
        let mut done = 0;
        let outcome = self.go_through_parked(order, &mut done).await;
        if 0 < done && !order.dry_run {
            log::info!("{} discarded {done} parked notifications", order.by);
        }
        outcome
            .map_err(|stopped| stopped.map_or(DiscardError::NotFound, |error| DiscardError::Store { error, done }))?;
        Ok(done)
    }

    /// `None` is no such notification.
    async fn go_through_parked(&self, order: &DiscardOrder, done: &mut u64) -> Result<(), Option<StoreError>> {
        match &order.which {
            DiscardWhich::One { event, endpoint } => {
                let file = self.store.find_notification(*event).await?.ok_or(None)?;
                let mut statuses = file.notification.statuses;
                statuses.retain(|status| endpoint.is_none_or(|endpoint| status.endpoint_id == endpoint));
                let merchant = Some(file.notification.merchant_id);
                *done += self.discard_parked(order, merchant, parked(*event, &statuses).collect()).await?;
            }
            DiscardWhich::All(filter) => {
                let fitting = NotificationFilter { state: Some(DeliveryState::Parked), ..filter.clone() };
                let mut query =
                    NotificationQuery { filter: fitting, after: None, oldest_first: true, limit: MAX_STEP_EVENTS };
                loop {
                    let page = self.store.list_notifications(query.clone()).await?;
                    let found = page.notifications.iter();
                    let items = found.flat_map(|one| parked(one.event_id, &one.statuses)).collect();
                    *done += self.discard_parked(order, filter.merchant, items).await?;
                    query.after = page.next;
                    if query.after.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn discard_parked(
        &self,
        order: &DiscardOrder,
        merchant: Option<MerchantId>,
        items: Vec<(EventId, EndpointId)>,
    ) -> Result<u64, StoreError> {
        if items.is_empty() {
            return Ok(0);
        }
        let subject = match (&order.which, merchant) {
            (DiscardWhich::One { event, .. }, _) => {
                AuditSubject::new(AuditSubjectKind::Notification, event.to_string())
            }
            (DiscardWhich::All(_), Some(merchant)) => merchant.into(),
            (DiscardWhich::All(_), None) => AuditSubject::deployment(),
        };
        let audit = self.entry(&order.acting, merchant, AuditAction::NotificationDiscard, subject);
        let after = Document::new().text("By", &order.by).number("Notifications", items.len() as u64);
        let audit = audit.with_after(after.finish());
        let asked = DiscardRequest { items, by: order.by.clone(), dry_run: order.dry_run, audit };
        self.store.discard(asked, self.clock.now()).await.map(u64::from)
    }
}

fn parked(event: EventId, statuses: &[DeliveryStatus]) -> impl Iterator<Item = (EventId, EndpointId)> {
    let parked = statuses.iter().filter(|status| status.state == DeliveryState::Parked);
    parked.map(move |status| (event, status.endpoint_id))
}
