//! Sending again.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use dropin_kernel::{EndpointId, EventId};
use dropin_ports::{
    DeliveryState, NotificationFilter, NotificationQuery, ReplayAsked, ReplayItem, Standing, StoreError,
};

use super::Notifications;

/// Events that are looked at, and queued, in one step.
const STEP: u32 = 500;

/// Which notifications are to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayWhich {
    /// One: to that endpoint, whatever became of it there; without one where it is parked, or else wherever it arrived.
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
    /// Who asks.
    pub by: String,
    /// Only counts what would be done.
    pub dry_run: bool,
}

/// What came of it, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayOutcome {
    /// Queued, by where they go.
    pub queued: BTreeMap<EndpointId, u64>,
    /// Waiting there already.
    pub waiting: u64,
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
    /// The store failed; what was queued until then stays queued, and asking again does not queue it twice.
    #[error(transparent)]
    Store(#[from] StoreError),
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
        let asked = ReplayAsked { id: self.ids.ordered(), by: order.by.clone(), wanted: in_words(&order.which), gap };
        let mut outcome = ReplayOutcome::default();
        match &order.which {
            ReplayWhich::One { event, endpoint } => {
                let plan = self.plan_one(*event, *endpoint, order.to, &mut outcome).await?;
                self.carry_out(plan, order, &asked, &mut outcome).await?;
            }
            ReplayWhich::All { state, filter } => {
                let filter = NotificationFilter { state: Some(*state), ..filter.clone() };
                let mut query = NotificationQuery { filter, after: None, oldest_first: true, limit: STEP };
                loop {
                    let page = self.store.list_notifications(query.clone()).await?;
                    let mut plan = Plan::new();
                    for notification in &page.notifications {
                        for standing in &notification.standings {
                            choose(notification.event_id, standing, Some(*state), order.to, &mut plan, &mut outcome);
                        }
                    }
                    self.carry_out(plan, order, &asked, &mut outcome).await?;
                    query.after = page.next;
                    if query.after.is_none() {
                        break;
                    }
                }
            }
        }
        for (endpoint, count) in outcome.queued.iter().filter(|_| !order.dry_run) {
            log::info!(
                "{} asked for {count} notifications to be sent again to endpoint {endpoint}: {}",
                asked.by,
                asked.wanted
            );
        }
        Ok(outcome)
    }

    async fn plan_one(
        &self,
        event: EventId,
        endpoint: Option<EndpointId>,
        to: Option<EndpointId>,
        outcome: &mut ReplayOutcome,
    ) -> Result<Plan, ReplayError> {
        let file = self.store.find_notification(event).await?.ok_or(ReplayError::NotFound)?;
        let standings = file.notification.standings;
        let mut plan = Plan::new();
        if let Some(endpoint) = endpoint {
            match standings.iter().find(|standing| standing.endpoint_id == endpoint) {
                Some(standing) => choose(event, standing, None, to, &mut plan, outcome),
                // It was never told there; the store knows whose endpoint it is.
                None => add(&mut plan, endpoint, ReplayItem { event, from: endpoint, state: None }),
            }
            return Ok(plan);
        }
        let at = |state| standings.iter().filter(move |standing| standing.state == state).collect::<Vec<_>>();
        let chosen = [DeliveryState::Parked, DeliveryState::Delivered, DeliveryState::Pending]
            .into_iter()
            .map(at)
            .find(|chosen| !chosen.is_empty());
        match (chosen, to) {
            (Some(chosen), _) => {
                for standing in chosen {
                    choose(event, standing, Some(standing.state), to, &mut plan, outcome);
                }
            }
            (None, Some(to)) => add(&mut plan, to, ReplayItem { event, from: to, state: None }),
            (None, None) => return Err(ReplayError::Nowhere),
        }
        Ok(plan)
    }

    /// Does what is planned, or counts it.
    async fn carry_out(
        &self,
        plan: Plan,
        order: &ReplayOrder,
        asked: &ReplayAsked,
        outcome: &mut ReplayOutcome,
    ) -> Result<(), ReplayError> {
        for (to, items) in plan {
            if order.dry_run {
                *outcome.queued.entry(to).or_default() += items.len() as u64;
                continue;
            }
            let done = self.store.replay(to, items, asked.clone(), self.clock.now()).await?;
            if 0 < done.queued {
                *outcome.queued.entry(to).or_default() += u64::from(done.queued);
            }
            outcome.waiting += u64::from(done.waiting);
            outcome.unwanted += u64::from(done.unwanted);
            outcome.stranded += u64::from(done.refused);
        }
        Ok(())
    }
}

/// Where one goes, if anywhere.
fn choose(
    event: EventId,
    standing: &Standing,
    state: Option<DeliveryState>,
    to: Option<EndpointId>,
    plan: &mut Plan,
    outcome: &mut ReplayOutcome,
) {
    let item = ReplayItem { event, from: standing.endpoint_id, state };
    if standing.state == DeliveryState::Pending {
        outcome.waiting += 1;
        return;
    }
    match (standing.removed, to) {
        (false, _) if !standing.wanted => outcome.unwanted += 1,
        (false, _) => add(plan, standing.endpoint_id, item),
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
