//! Tries that are under way, and what waits for a slot.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dropin_kernel::{EndpointId, Timestamp};
use dropin_notification::{AttemptOutcome, Verdict};
use dropin_ports::{Delivery, DeliveryResult, FinishedTry, Sent, StoreError, WebhookRequest};
use tokio::task::{Id, JoinError, JoinSet};

use super::{Delivering, Tally};

/// Claimed notifications that wait for a slot of one endpoint, at most.
const LONGEST_QUEUE: usize = 64;

/// One endpoint's share.
#[derive(Default)]
struct Slots {
    busy: u32,
    /// Claimed, with the end of the lease; starts when a slot is free.
    waiting: VecDeque<(Delivery, Timestamp)>,
}

pub(super) struct Flights<'a> {
    by: &'a Delivering,
    sends: JoinSet<Sent>,
    flying: HashMap<Id, Delivery>,
    endpoints: HashMap<EndpointId, Slots>,
    landed: Vec<FinishedTry>,
    /// Whether the queue may hold something for us.
    hungry: bool,
    store_is_there: bool,
    tally: Tally,
}

impl<'a> Flights<'a> {
    pub(super) fn new(by: &'a Delivering) -> Self {
        Self {
            by,
            sends: JoinSet::new(),
            flying: HashMap::new(),
            endpoints: HashMap::new(),
            landed: Vec::new(),
            hungry: true,
            store_is_there: true,
            tally: Tally::default(),
        }
    }

    /// Whether anything is under way.
    pub(super) fn any(&self) -> bool {
        !self.sends.is_empty()
    }

    /// Whether nothing is under way and all of it is written down.
    pub(super) fn is_done(&self) -> bool {
        self.sends.is_empty() && self.landed.is_empty()
    }

    pub(super) fn is_hungry(&self) -> bool {
        self.hungry
    }

    pub(super) fn look_again(&mut self) {
        self.hungry = true;
    }

    pub(super) fn store_is_there(&self) -> bool {
        self.store_is_there
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Writes down what has landed, then claims until the queue has no more for us or we have no more room.
    pub(super) async fn work(&mut self) -> Result<(), StoreError> {
        let worked = self.write_down_and_claim().await;
        self.store_is_there = worked.is_ok();
        worked
    }

    async fn write_down_and_claim(&mut self) -> Result<(), StoreError> {
        self.write_down().await?;
        while self.hungry && 0 < self.room() {
            self.claim().await?;
        }
        Ok(())
    }

    fn room(&self) -> u32 {
        self.by.pace.in_flight.saturating_sub(u32::try_from(self.flying.len()).unwrap_or(u32::MAX))
    }

    /// Claims once, for endpoints that have a free slot, and starts what it gets.
    pub(super) async fn claim(&mut self) -> Result<(), StoreError> {
        let per_endpoint = self.by.pace.per_endpoint;
        let is_full = |slots: &Slots| per_endpoint <= slots.busy || !slots.waiting.is_empty();
        let full: Vec<EndpointId> =
            self.endpoints.iter().filter(|(_, slots)| is_full(slots)).map(|(id, _)| *id).collect();
        let now = self.by.clock.now();
        let lease_until = now.plus(self.by.pace.lease);
        let outbox = &self.by.outbox;
        let claimed = outbox.claim_deliveries(&full, now, lease_until, per_endpoint, self.room()).await?;
        self.hungry = claimed.iter().any(|delivery| !full.contains(&delivery.endpoint_id));
        self.accept(claimed, lease_until);
        Ok(())
    }

    fn accept(&mut self, deliveries: Vec<Delivery>, lease_until: Timestamp) {
        for delivery in deliveries {
            let endpoint = delivery.endpoint_id;
            if delivery.lease_expired {
                self.by.counters.lease_expired();
            }
            let slots = self.endpoints.entry(endpoint).or_default();
            // More only comes from a store that cannot pass over full endpoints. It is due again when its lease ends.
            if slots.waiting.len() < LONGEST_QUEUE {
                slots.waiting.push_back((delivery, lease_until));
            }
            self.start_waiting(endpoint);
        }
    }

    /// Starts what waits for `endpoint` while it has free slots.
    fn start_waiting(&mut self, endpoint: EndpointId) {
        let Some(slots) = self.endpoints.get_mut(&endpoint) else {
            return;
        };
        let latest_end = self.by.clock.now().plus(self.by.pace.send_deadline);
        while slots.busy < self.by.pace.per_endpoint {
            let Some((mut delivery, lease_until)) = slots.waiting.pop_front() else {
                break;
            };
            if lease_until < latest_end {
                // It could still be under way when somebody else may claim it. It is due again when its lease ends.
                continue;
            }
            slots.busy += 1;
            let body = std::mem::take(&mut delivery.body);
            let send = self.sends.spawn(self.by.send(&delivery, body));
            self.flying.insert(send.id(), delivery);
        }
        if slots.busy == 0 && slots.waiting.is_empty() {
            self.endpoints.remove(&endpoint);
        }
    }

    /// Waits until something lands and notes it, with all else that has landed by then. Nothing is lost when the wait is given up.
    pub(super) async fn land(&mut self) {
        let mut landed = self.sends.join_next_with_id().await;
        while let Some(one) = landed {
            self.note(one);
            landed = self.sends.try_join_next_with_id();
        }
    }

    fn note(&mut self, landed: Result<(Id, Sent), JoinError>) {
        let (id, sent) = landed
            .unwrap_or_else(|error| (error.id(), AttemptOutcome::Failed { why: "the try ended abnormally" }.into()));
        let Some(delivery) = self.flying.remove(&id) else {
            return;
        };
        let endpoint = delivery.endpoint_id;
        if let Some(slots) = self.endpoints.get_mut(&endpoint) {
            slots.busy -= 1;
        }
        let result = self.judge(&delivery, &sent.outcome);
        self.landed.push(FinishedTry::new(delivery.key, result));
        // A slot is free, so there may be something to claim for it.
        self.hungry = true;
        self.start_waiting(endpoint);
    }

    fn judge(&mut self, delivery: &Delivery, outcome: &AttemptOutcome) -> DeliveryResult {
        let (now, jitter) = (self.by.clock.now(), self.by.jitter_per_mille());
        self.by.counters.attempt(outcome);
        match self.by.schedule.after(outcome, delivery.key.attempt, delivery.first_try, now, jitter) {
            Verdict::Acknowledged => {
                self.tally.acknowledged += 1;
                self.by.counters.acknowledged(now.since(delivery.happened_at));
                log::debug!("{} acknowledged", Named(delivery));
                DeliveryResult::Acknowledged
            }
            Verdict::Retry { at } => {
                self.tally.retried += 1;
                log::warn!("{}: {}; next try at {at}", Named(delivery), Told(outcome));
                DeliveryResult::Retry { at }
            }
            Verdict::Hold { at } => DeliveryResult::Held { at },
            Verdict::Park => {
                self.tally.parked += 1;
                self.by.counters.parked();
                log::error!(
                    "{}: {}; given up, `dropin notification replay` sends it again",
                    Named(delivery),
                    Told(outcome)
                );
                DeliveryResult::Parked
            }
        }
    }

    /// Writes down what has landed, and starts the notifications that this sets free.
    pub(super) async fn write_down(&mut self) -> Result<(), StoreError> {
        if self.landed.is_empty() {
            return Ok(());
        }
        let now = self.by.clock.now();
        let lease_until = now.plus(self.by.pace.lease);
        let finished = self.by.outbox.finish_deliveries(self.landed.clone(), now, lease_until).await?;
        self.landed.clear();
        self.by.counters.fenced(finished.fenced);
        self.accept(finished.next, lease_until);
        Ok(())
    }

    /// Writes down what has landed and goes on with nothing: what this sets free is due at once, for whoever comes next.
    pub(super) async fn write_down_last(&mut self) -> Result<(), StoreError> {
        let now = self.by.clock.now();
        let finished = self.by.outbox.finish_deliveries(self.landed.clone(), now, now).await?;
        self.landed.clear();
        self.by.counters.fenced(finished.fenced);
        Ok(())
    }

    /// Gives back what was claimed and never started.
    pub(super) fn give_back_waiting(&mut self) {
        let at = self.by.clock.now();
        for (delivery, _) in self.endpoints.values_mut().flat_map(|slots| slots.waiting.drain(..)) {
            self.landed.push(FinishedTry::new(delivery.key, DeliveryResult::Retry { at }));
        }
    }
}

impl Delivering {
    /// One try, as a task of its own.
    fn send(&self, delivery: &Delivery, body: Vec<u8>) -> impl Future<Output = Sent> + Send + use<> {
        let endpoint = delivery.endpoint_id;
        let owner = endpoint.to_string();
        let opened = delivery.secrets.iter().map(|secret| self.secrets.open_secret(&owner, secret));
        let request = opened.collect::<Result<Vec<_>, _>>().map(|secrets| WebhookRequest {
            url: delivery.url.clone(),
            event_id: delivery.event_id,
            sequence: delivery.key.sequence,
            body,
            secrets,
            at: self.clock.now(),
        });
        let webhooks = Arc::clone(&self.webhooks);
        async move {
            match request {
                Ok(request) => webhooks.send(request).await,
                Err(error) => {
                    log::error!("the secret of endpoint {endpoint} cannot be opened: {error}");
                    AttemptOutcome::Failed { why: "the endpoint's secret cannot be opened" }.into()
                }
            }
        }
    }

    /// From −200 to 200, evenly.
    pub(super) fn jitter_per_mille(&self) -> i32 {
        let random = self.ids.random();
        let [.., high, low] = *random.as_bytes();
        i32::from(u16::from_be_bytes([high, low]) % 401) - 200
    }
}

/// A notification in the log: never its body or address, which may hold what is nobody's business.
struct Named<'a>(&'a Delivery);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Delivery { key, merchant_id, endpoint_id, event_id, event_type, .. } = self.0;
        write!(
            f,
            "notification {event_id} ({event_type}) to endpoint {endpoint_id} of merchant {merchant_id}, try {}",
            key.attempt
        )
    }
}

/// What came of a try, in the log.
struct Told<'a>(&'a AttemptOutcome);

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            AttemptOutcome::Answered { status, .. } => write!(f, "answered {status}, only 200 acknowledges"),
            AttemptOutcome::Failed { why } => f.write_str(why),
        }
    }
}
