//! Sending again.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_kernel::{AuditEntryId, EndpointId, EventId, Timestamp};
use dropin_ports::{
    Acting, AuditSubject, DeliveryState, DeliveryStatus, NotificationFilter, NotificationQuery, ReplayItem,
    ReplayRequest, StoreError,
};
use dropin_wire::audit_log::Document;

use super::{MAX_STEP_EVENTS, Notifications};

/// How much later, at most, an event can have happened than one that comes behind it in the order of ids, which another clock gives.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// Which notifications are to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayWhich {
    /// One: to that endpoint, whatever became of it there; without one where it is parked, or else wherever it arrived. Where it was tried and waits
    /// for its next try, it is due at once.
    One {
        /// `webhook-id`.
        event: EventId,
        /// One of the merchant's endpoints.
        endpoint: Option<EndpointId>,
    },
    /// All that stand so somewhere and fit, each where it stands so.
    All {
        /// How they stand; nothing that is pending is sent again.
        state: DeliveryState,
        /// What else they are; its state does not count.
        filter: NotificationFilter,
    },
}

/// What somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayOrder {
    /// Which.
    pub which: ReplayWhich,
    /// Where they go whose own endpoint was removed.
    pub to: Option<EndpointId>,
    /// How many are due in a second at one endpoint, behind what was asked for before; `None` for all at once.
    pub rate: Option<NonZeroU32>,
    /// Who asks, by the name that is kept with the request.
    pub by: String,
    /// Who asks, for the audit log.
    pub acting: Acting,
    /// Only counts what would be done.
    pub dry_run: bool,
}

/// What came of it, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayOutcome {
    /// Queued, by where they go.
    pub queued: BTreeMap<EndpointId, u64>,
    /// Waiting there for their next try, and due at once now.
    pub hurried: u64,
    /// Waiting there already.
    pub waiting: u64,
    /// In another state by the time it was their turn, or gone.
    pub changed: u64,
    /// Of a type that their endpoint is not told of.
    pub unwanted: u64,
    /// Without an endpoint to go to: their own was removed, and the one that was named instead was too, or is not the merchant's.
    pub stranded: u64,
}

impl ReplayOutcome {
    /// How many were queued.
    pub fn total(&self) -> u64 {
        self.queued.values().sum()
    }
}

/// Why nothing was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// No such notification.
    #[error("no such notification")]
    NotFound,
    /// It stands nowhere from where it could be sent again.
    #[error("it is parked nowhere and has arrived nowhere, so say where it is to go")]
    Nowhere,
    /// The store failed. What was queued until then stays queued. Asking for what is parked again goes on by itself; what had arrived would be
    /// queued once more where it arrived again meanwhile.
    #[error("{error}")]
    Store {
        /// Why.
        error: StoreError,
        /// What came of it until then.
        done: ReplayOutcome,
        /// Where to go on: a little before the last event happened that was gone through. `None` when it was none.
        since: Option<Timestamp>,
    },
}

/// Why a replay does not go on.
enum Stop {
    NotFound,
    Nowhere,
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How far a replay came.
#[derive(Default)]
struct Progress {
    outcome: ReplayOutcome,
    since: Option<Timestamp>,
}

/// What is to be sent where.
type Plan = BTreeMap<EndpointId, Vec<ReplayItem>>;

impl Notifications {
    /// Queues notifications again: the same bytes under the same ids, in order within each payment. Asking twice queues nothing twice while it
    /// waits. Who asked for what is kept.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub async fn replay(&self, order: &ReplayOrder) -> Result<ReplayOutcome, ReplayError> {
        let gap = order.rate.map(|rate| Duration::from_secs(1) / rate.get());
        let (by, wanted) = (order.by.clone(), in_words(&order.which));
        let id = self.ids.ordered();
        let subject = AuditSubject::new(AuditSubjectKind::NotificationRequest, id.to_string());
        let audit = self.entry(&order.acting, None, AuditAction::NotificationReplay, subject);
        let asked = ReplayRequest { id, by, wanted, gap, dry_run: order.dry_run, audit };
        let mut progress = Progress::default();
        let outcome = self.go_through(order, &asked, &mut progress).await;
        let Progress { outcome: done, since } = progress;
        for (endpoint, count) in done.queued.iter().filter(|_| !order.dry_run) {
            log::info!(
                "{} asked for {count} notifications to be sent again to endpoint {endpoint}: {}",
                asked.by,
                asked.wanted
            );
        }
        match outcome {
            Ok(()) => Ok(done),
            Err(Stop::NotFound) => Err(ReplayError::NotFound),
            Err(Stop::Nowhere) => Err(ReplayError::Nowhere),
            Err(Stop::Store(error)) => Err(ReplayError::Store { error, done, since }),
        }
    }

    async fn go_through(
        &self,
        order: &ReplayOrder,
        asked: &ReplayRequest,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let Progress { outcome, since } = progress;
        match &order.which {
            ReplayWhich::One { event, endpoint } => {
                let plan = self.plan_one(*event, *endpoint, order.to, outcome).await?;
                self.carry_out(plan, asked, outcome).await?;
            }
            ReplayWhich::All { state, filter } => {
                let began = filter.since;
                let filter = NotificationFilter { state: Some(*state), ..filter.clone() };
                let mut query = NotificationQuery { filter, after: None, oldest_first: true, limit: MAX_STEP_EVENTS };
                loop {
                    let page = self.store.list_notifications(query.clone()).await?;
                    let mut plan = Plan::new();
                    for notification in &page.notifications {
                        for status in &notification.statuses {
                            choose(notification.event_id, status, Some(*state), order.to, &mut plan, outcome);
                        }
                    }
                    self.carry_out(plan, asked, outcome).await?;
                    let gone_through = page.notifications.last().map(|last| last.happened_at.minus(CLOCKS_DIFFER));
                    // Never before where it began.
                    *since = gone_through.map(|at| at.max(began.unwrap_or(at))).or(*since);
                    query.after = page.next;
                    if query.after.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn plan_one(
        &self,
        event: EventId,
        endpoint: Option<EndpointId>,
        to: Option<EndpointId>,
        outcome: &mut ReplayOutcome,
    ) -> Result<Plan, Stop> {
        let file = self.store.find_notification(event).await?.ok_or(Stop::NotFound)?;
        let statuses = file.notification.statuses;
        let mut plan = Plan::new();
        if let Some(endpoint) = endpoint {
            match statuses.iter().find(|status| status.endpoint_id == endpoint) {
                Some(status) => choose(event, status, None, to, &mut plan, outcome),
                // It was never told there; the store knows whose endpoint it is.
                None => add(&mut plan, endpoint, ReplayItem { event, from: endpoint, state: None }),
            }
            return Ok(plan);
        }
        let at = |state| statuses.iter().filter(move |status| status.state == state).collect::<Vec<_>>();
        let chosen = [DeliveryState::Parked, DeliveryState::Delivered, DeliveryState::Pending]
            .into_iter()
            .map(at)
            .find(|chosen| !chosen.is_empty());
        match (chosen, to) {
            (Some(chosen), _) => {
                for status in chosen {
                    let state = Some(status.state).filter(|state| *state != DeliveryState::Pending);
                    choose(event, status, state, to, &mut plan, outcome);
                }
            }
            (None, Some(to)) => add(&mut plan, to, ReplayItem { event, from: to, state: None }),
            (None, None) => return Err(Stop::Nowhere),
        }
        Ok(plan)
    }

    /// Does what is planned, or counts what would come of it.
    async fn carry_out(
        &self,
        plan: Plan,
        asked: &ReplayRequest,
        outcome: &mut ReplayOutcome,
    ) -> Result<(), StoreError> {
        for (to, items) in plan {
            let mut asked = asked.clone();
            // An entry for each step, in the transaction of the step.
            asked.audit.id = AuditEntryId::new(self.ids.ordered());
            let after = Document::new().text("By", &asked.by).text("Wanted", &asked.wanted).text("Endpoint", to);
            asked.audit = asked.audit.with_after(after.number("Notifications", items.len() as u64).finish());
            let done = self.store.replay(to, items, asked, self.clock.now()).await?;
            if 0 < done.queued {
                *outcome.queued.entry(to).or_default() += u64::from(done.queued);
            }
            outcome.hurried += u64::from(done.hurried);
            outcome.waiting += u64::from(done.waiting);
            outcome.changed += u64::from(done.changed);
            outcome.unwanted += u64::from(done.unwanted);
            outcome.stranded += u64::from(done.refused);
        }
        Ok(())
    }
}

/// Where one goes, if anywhere. What waits goes nowhere, but where its state does not matter the store looks whether it can be sent now.
fn choose(
    event: EventId,
    status: &DeliveryStatus,
    state: Option<DeliveryState>,
    to: Option<EndpointId>,
    plan: &mut Plan,
    outcome: &mut ReplayOutcome,
) {
    let item = ReplayItem { event, from: status.endpoint_id, state };
    if status.state == DeliveryState::Pending && (state.is_some() || status.removed) {
        outcome.waiting += 1;
        return;
    }
    match (status.removed, to) {
        (false, _) if !status.wanted && status.state != DeliveryState::Pending => outcome.unwanted += 1,
        (false, _) => add(plan, status.endpoint_id, item),
        (true, Some(to)) => add(plan, to, item),
        (true, None) => outcome.stranded += 1,
    }
}

fn add(plan: &mut Plan, to: EndpointId, item: ReplayItem) {
    let items = plan.entry(to).or_default();
    // Two removed endpoints may have had the same one; it goes to the heir once.
    if !items.iter().any(|other| other.event == item.event) {
        items.push(item);
    }
}

/// What was asked for, to be kept.
fn in_words(which: &ReplayWhich) -> String {
    let mut words = Vec::new();
    let mut say = |what: &str, value: Option<String>| words.extend(value.map(|value| format!("{what} {value}")));
    match which {
        ReplayWhich::One { event, endpoint } => {
            say("event", Some(event.to_string()));
            say("endpoint", endpoint.map(|id| id.to_string()));
        }
        ReplayWhich::All { state, filter } => {
            say("state", Some(state.as_str().to_owned()));
            say("merchant", filter.merchant.map(|id| id.to_string()));
            say("endpoint", filter.endpoint.map(|id| id.to_string()));
            say("type", filter.types.as_ref().map(ToString::to_string));
            say("since", filter.since.map(|at| at.to_string()));
            say("until", filter.until.map(|at| at.to_string()));
            say("payment", filter.payment.map(|id| id.to_string()));
        }
    }
    words.join(", ")
}
