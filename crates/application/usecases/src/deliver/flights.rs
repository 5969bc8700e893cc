//! What is under way: tries, and what the store is asked. One task does all of it; nothing waits for anything else.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{EndpointId, Timestamp};
use dropin_notification::{AttemptOutcome, Failure, Passage};
use dropin_ports::{
    Claimed, Delivery, DeliveryKey, DeliveryResult, FinishedDeliveries, FinishedTry, KeyringError, Sent, StoreError,
    WebhookRequest,
};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::Delivering;
use super::share::Share;

/// What it takes at most, as a rule, to write down what came of a try.
const WRITING: Duration = Duration::from_millis(1_500);

/// After that an overflow of what was claimed is due again.
pub(super) const OVERFLOW_WAITS: Duration = Duration::from_secs(1);

/// A try that is over.
pub(super) struct Landed {
    pub(super) delivery: Delivery,
    pub(super) probe: bool,
    pub(super) sent: Sent,
    /// When it began, and how long it took; `None` when nothing was sent.
    pub(super) flew: Option<(Timestamp, Duration)>,
}

/// Something that was under way and is done.
pub(super) enum Done {
    Landed(Landed),
    Claimed {
        lease_until: Timestamp,
        limit: u32,
        result: Result<Claimed, StoreError>,
    },
    Probed {
        endpoint: EndpointId,
        lease_until: Timestamp,
        result: Result<Option<Delivery>, StoreError>,
    },
    Written {
        batch: Vec<FinishedTry>,
        lease_until: Timestamp,
        /// The dead endpoint whose notification was given up.
        ended: Option<EndpointId>,
        result: Result<FinishedDeliveries, StoreError>,
    },
    Overdue {
        endpoint: EndpointId,
        result: Result<u32, StoreError>,
    },
}

pub(super) struct Flights<'a> {
    pub(super) by: &'a Delivering,
    works: FuturesUnordered<BoxFuture<'static, Done>>,
    pub(super) shares: HashMap<EndpointId, Share>,
    /// What came of tries and is to be written down, and since when there is any.
    pub(super) landed: Vec<FinishedTry>,
    pub(super) landed_since: Instant,
    /// Notifications under way, and those that wait for a slot.
    pub(super) flying: u32,
    pub(super) waiting: u32,
    /// How often the store is being told, and how much at once the last time.
    pub(super) writing: u32,
    /// What it is being told of.
    pub(super) unwritten: u32,
    pub(super) last_batch: usize,
    pub(super) claiming: bool,
    pub(super) probing: u32,
    /// Whether the queue may hold something for us.
    pub(super) hungry: bool,
    /// Whether it may hold something that all slots together had no room for.
    pub(super) short: bool,
    pub(super) last_look: Instant,
    pub(super) look_at: Instant,
    /// When dead endpoints are looked at; what no longer fits its breaker is stale.
    pub(super) probes: BinaryHeap<Reverse<(Timestamp, EndpointId)>>,
    /// The store is not asked before.
    pub(super) away_until: Option<Instant>,
    pub(super) trouble: Option<StoreError>,
    pub(super) stopping: bool,
    /// Whether there is nobody any more who sends.
    pub(super) senderless: bool,
    pub(super) swept_at: Instant,
}

impl<'a> Flights<'a> {
    pub(super) fn new(by: &'a Delivering) -> Self {
        let now = Instant::now();
        Self {
            by,
            works: FuturesUnordered::new(),
            shares: HashMap::new(),
            landed: Vec::new(),
            landed_since: now,
            flying: 0,
            waiting: 0,
            writing: 0,
            unwritten: 0,
            last_batch: 0,
            claiming: false,
            probing: 0,
            hungry: true,
            short: false,
            last_look: now,
            look_at: now,
            probes: BinaryHeap::new(),
            away_until: None,
            trouble: None,
            stopping: false,
            senderless: false,
            swept_at: now,
        }
    }

    /// Whether anything is under way.
    pub(super) fn any(&self) -> bool {
        !self.works.is_empty()
    }

    /// Whether nothing is under way and all of it is written down.
    pub(super) fn is_done(&self) -> bool {
        self.works.is_empty() && self.landed.is_empty()
    }

    pub(super) fn begin(&mut self, work: impl Future<Output = Done> + Send + 'static) {
        self.works.push(work.boxed());
    }

    /// Waits until something is done and goes on with it and with all else that is done by then. Nothing is lost when the wait is given up.
    pub(super) async fn land(&mut self) {
        let mut done = self.works.next().await;
        while let Some(one) = done {
            self.take(one);
            done = self.works.next().now_or_never().flatten();
        }
    }

    fn take(&mut self, done: Done) {
        match done {
            Done::Landed(landed) => self.note(landed),
            Done::Claimed { lease_until, limit, result } => {
                self.claiming = false;
                if let Some(claimed) = self.heard(result) {
                    self.share_out(claimed, lease_until, limit);
                }
            }
            Done::Probed { endpoint, lease_until, result } => {
                self.probing -= 1;
                self.look(endpoint, lease_until, result);
            }
            Done::Written { batch, lease_until, ended, result } => {
                self.writing -= 1;
                self.unwritten -= batch.len() as u32;
                self.written(batch, lease_until, ended, result);
            }
            Done::Overdue { endpoint, result } => self.parked_overdue(endpoint, result),
        }
    }

    /// What the store said; an error is kept for whoever minds.
    pub(super) fn heard<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        result.map_err(|error| self.trouble = Some(error)).ok()
    }

    pub(super) fn share(&mut self, endpoint: EndpointId) -> &mut Share {
        let usual = self.by.schedule.give_up_after();
        self.shares.entry(endpoint).or_insert_with(|| Share::new(usual))
    }

    /// Starts what was claimed as far as there are slots, and lets the rest wait for one.
    pub(super) fn accept(&mut self, deliveries: Vec<Delivery>, lease_until: Timestamp) {
        for delivery in deliveries {
            self.took_over(&delivery);
            let (key, endpoint, slots) = (delivery.key, delivery.endpoint_id, self.by.pace.per_endpoint);
            if self.stopping {
                self.give_back(key, Duration::ZERO);
                continue;
            }
            let share = self.share(endpoint);
            match share.breaker.passage() {
                Passage::All if share.is_crowded(slots) => self.give_back(key, OVERFLOW_WAITS),
                Passage::All => {
                    share.waiting.push_back((delivery, lease_until));
                    self.waiting += 1;
                    self.start_waiting(endpoint);
                }
                // As for what waits too long for a slot.
                Passage::Next if lease_until < self.latest_end() => self.give_back(key, Duration::ZERO),
                Passage::Next => {
                    let share = self.share(endpoint);
                    share.breaker.probe();
                    self.by.counters.breaker_half_open(endpoint);
                    self.start(delivery, true);
                }
                Passage::ProbeAt { .. } | Passage::Nothing => self.give_back(key, Duration::ZERO),
            }
        }
    }

    /// Counts what was claimed because whoever held it died or was too slow.
    pub(super) fn took_over(&self, delivery: &Delivery) {
        if delivery.lease_expired {
            self.by.counters.lease_expired();
        }
    }

    /// When what is started now is written down at the latest, as a rule.
    pub(super) fn latest_end(&self) -> Timestamp {
        self.by.clock.now().plus(self.by.pace.send_deadline + WRITING)
    }

    /// Starts what waits for `endpoint` while it has free slots.
    pub(super) fn start_waiting(&mut self, endpoint: EndpointId) {
        let slots = self.by.pace.per_endpoint;
        let mut latest_end = None;
        loop {
            let share = self.share(endpoint);
            if slots <= share.busy {
                break;
            }
            let Some((delivery, lease_until)) = share.waiting.pop_front() else {
                break;
            };
            self.waiting -= 1;
            if lease_until < *latest_end.get_or_insert_with(|| self.latest_end()) {
                // It could still be under way, or not be written down yet, when somebody else may claim it.
                self.give_back(delivery.key, Duration::ZERO);
                continue;
            }
            self.start(delivery, false);
        }
    }

    /// Gives back what was claimed and never started; it is due again after so long.
    pub(super) fn give_back(&mut self, key: DeliveryKey, after: Duration) {
        let at = self.by.clock.now().plus(after);
        self.finished(FinishedTry::new(key, DeliveryResult::Held { at }));
    }

    /// Gives back what waits for a slot of `endpoint`.
    pub(super) fn give_back_waiting(&mut self, endpoint: EndpointId) {
        let waiting = std::mem::take(&mut self.share(endpoint).waiting);
        self.waiting -= waiting.len() as u32;
        for (delivery, _) in waiting {
            self.give_back(delivery.key, Duration::ZERO);
        }
    }

    /// From now on nothing more is started.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
        for endpoint in self.shares.keys().copied().collect::<Vec<_>>() {
            self.give_back_waiting(endpoint);
        }
    }

    /// Notes what is to be written down.
    pub(super) fn finished(&mut self, one: FinishedTry) {
        if self.landed.is_empty() {
            self.landed_since = Instant::now();
        }
        self.landed.push(one);
    }

    /// Begins a try.
    pub(super) fn start(&mut self, mut delivery: Delivery, probe: bool) {
        let (started_at, by) = (self.by.clock.now(), self.by);
        let share = self.share(delivery.endpoint_id);
        share.busy += 1;
        share.used();
        let secrets = match delivery.sandbox == by.sandbox {
            true => share.secrets(&*by.secrets, &delivery, started_at).map_err(|error| locked(&delivery, &error)),
            false => Err(of_the_other_mode(&delivery)),
        };
        self.flying += 1;
        let secrets = match secrets {
            Ok(secrets) => secrets,
            Err(why) => {
                let sent = AttemptOutcome::Failed { why }.into();
                return self.begin(async move { Done::Landed(Landed { delivery, probe, sent, flew: None }) });
            }
        };
        let request = WebhookRequest {
            url: std::mem::take(&mut delivery.url),
            event_id: delivery.event_id,
            sequence: delivery.key.sequence,
            body: std::mem::take(&mut delivery.body),
            secrets,
            at: started_at,
        };
        let webhooks = Arc::clone(&by.webhooks);
        self.begin(async move {
            let began = Instant::now();
            // A defect in the sender costs this try and no more.
            let sent = AssertUnwindSafe(async { webhooks.send(request).await }).catch_unwind().await;
            let broken = |_panic| AttemptOutcome::Failed { why: Failure::Own("the try ended abnormally") }.into();
            let sent = sent.unwrap_or_else(broken);
            Done::Landed(Landed { delivery, probe, sent, flew: Some((started_at, began.elapsed())) })
        });
    }
}

fn locked(delivery: &Delivery, error: &KeyringError) -> Failure {
    let endpoint = delivery.endpoint_id;
    log::error!(
        "the secret of endpoint {endpoint} cannot be opened: {error}; is master.key the one of this deployment?"
    );
    Failure::Own("the endpoint's secret cannot be opened")
}

/// Where notifications may go depends on the mode: by the sandbox's rules a production account's might go into a private network.
fn of_the_other_mode(delivery: &Delivery) -> Failure {
    let Delivery { merchant_id, endpoint_id, .. } = delivery;
    let mode = if delivery.sandbox { "sandbox" } else { "production" };
    log::error!(
        "nothing is sent to endpoint {endpoint_id}: merchant {merchant_id} has a {mode} account, and this notifier runs in the other mode; give it \
         the deployment's DROPIN_MODE"
    );
    Failure::Own("the notifier runs in the other mode than this account; give it the deployment's DROPIN_MODE")
}
