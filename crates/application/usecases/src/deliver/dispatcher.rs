//! The dispatcher: attempts and store calls in flight. One task drives all of them concurrently.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{EndpointId, Timestamp};
use dropin_notification::{AttemptOutcome, BreakerPermit, DeliveryFailure};
use dropin_ports::{
    AttemptResult, Claimed, Delivery, DeliveryKey, DeliveryResult, FinishedDeliveries, KeyringError, Sent, StoreError,
    WebhookRequest,
};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::Delivering;
use super::claims::{Claims, Probes};
use super::endpoint_state::EndpointState;
use super::result_queue::ResultQueue;
use super::store_access::StoreAccess;

/// Time that writing the result of an attempt takes at most, as a rule.
const RESULT_WRITE_TIME: Duration = Duration::from_millis(1_500);

/// Delay after which a notification that was claimed beyond the free slots is due again.
pub(super) const OVERFLOW_DELAY: Duration = Duration::from_secs(1);

/// An attempt that has ended.
pub(super) struct FinishedAttempt {
    pub(super) delivery: Delivery,
    pub(super) probe: bool,
    pub(super) sent: Sent,
    /// When the attempt began and how long it took; `None` when nothing was sent.
    pub(super) timing: Option<(Timestamp, Duration)>,
}

/// The result of one task of the dispatcher.
pub(super) enum TaskOutcome {
    Attempted(FinishedAttempt),
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
        batch: Vec<AttemptResult>,
        lease_until: Timestamp,
        /// The dead endpoint whose notification was given up.
        parked_for: Option<EndpointId>,
        result: Result<FinishedDeliveries, StoreError>,
    },
    Overdue {
        endpoint: EndpointId,
        result: Result<u32, StoreError>,
    },
}

/// Claims what is due, sends it, and has the results written.
pub(super) struct Dispatcher<'a> {
    pub(super) delivering: &'a Delivering,
    tasks: FuturesUnordered<BoxFuture<'static, TaskOutcome>>,
    pub(super) endpoint_states: HashMap<EndpointId, EndpointState>,
    pub(super) swept_at: Instant,
    pub(super) results: ResultQueue,
    pub(super) claims: Claims,
    pub(super) probes: Probes,
    pub(super) store: StoreAccess,
    /// Attempts in flight, and claimed notifications that wait for a slot.
    pub(super) in_flight: u32,
    pub(super) waiting: u32,
    pub(super) stopping: bool,
    /// Whether the webhook sender has stopped.
    pub(super) sender_stopped: bool,
}

impl<'a> Dispatcher<'a> {
    pub(super) fn new(delivering: &'a Delivering) -> Self {
        let now = Instant::now();
        Self {
            delivering,
            tasks: FuturesUnordered::new(),
            endpoint_states: HashMap::new(),
            swept_at: now,
            results: ResultQueue::new(now),
            claims: Claims::new(now),
            probes: Probes::default(),
            store: StoreAccess::default(),
            in_flight: 0,
            waiting: 0,
            stopping: false,
            sender_stopped: false,
        }
    }

    /// Whether any task is in flight.
    pub(super) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Whether no task is in flight and every result is written.
    pub(super) fn is_done(&self) -> bool {
        self.tasks.is_empty() && self.results.is_empty()
    }

    pub(super) fn push_task(&mut self, task: impl Future<Output = TaskOutcome> + Send + 'static) {
        self.tasks.push(task.boxed());
    }

    /// Waits for one task and handles it and every other that has completed by then. Safe to cancel.
    pub(super) async fn wait_for_task(&mut self) {
        let mut done = self.tasks.next().await;
        while let Some(one) = done {
            self.handle(one);
            done = self.tasks.next().now_or_never().flatten();
        }
    }

    fn handle(&mut self, done: TaskOutcome) {
        match done {
            TaskOutcome::Attempted(attempt) => self.handle_attempt(attempt),
            TaskOutcome::Claimed { lease_until, limit, result } => {
                self.claims.end();
                if let Some(claimed) = self.store.ok_or_keep(result) {
                    self.handle_claimed(claimed, lease_until, limit);
                }
            }
            TaskOutcome::Probed { endpoint, lease_until, result } => {
                self.probes.end();
                self.handle_probe_claimed(endpoint, lease_until, result);
            }
            TaskOutcome::Written { batch, lease_until, parked_for, result } => {
                self.results.end_write(&batch);
                self.handle_written(batch, lease_until, parked_for, result);
            }
            TaskOutcome::Overdue { endpoint, result } => self.parked_overdue(endpoint, result),
        }
    }

    pub(super) fn endpoint_state(&mut self, endpoint: EndpointId) -> &mut EndpointState {
        let give_up_after = self.delivering.schedule.give_up_after();
        self.endpoint_states.entry(endpoint).or_insert_with(|| EndpointState::new(give_up_after))
    }

    /// Starts claimed notifications while slots are free; the others wait for a slot.
    pub(super) fn accept(&mut self, deliveries: Vec<Delivery>, lease_until: Timestamp) {
        for delivery in deliveries {
            self.count_takeover(&delivery);
            let (key, endpoint, slots) = (delivery.key, delivery.endpoint_id, self.delivering.settings.per_endpoint);
            if self.stopping {
                self.release(key, Duration::ZERO);
                continue;
            }
            let state = self.endpoint_state(endpoint);
            match state.breaker.permit() {
                BreakerPermit::All if state.is_waiting_list_full(slots) => self.release(key, OVERFLOW_DELAY),
                BreakerPermit::All => {
                    state.waiting.push_back((delivery, lease_until));
                    self.waiting += 1;
                    self.start_waiting(endpoint);
                }
                // As for what waits too long for a slot.
                BreakerPermit::Next if lease_until < self.latest_end() => self.release(key, Duration::ZERO),
                BreakerPermit::Next => {
                    let state = self.endpoint_state(endpoint);
                    state.breaker.probe();
                    self.delivering.counters.breaker_half_open(endpoint);
                    self.start(delivery, true);
                }
                BreakerPermit::ProbeAt { .. } | BreakerPermit::Nothing => self.release(key, Duration::ZERO),
            }
        }
    }

    /// Counts a notification whose earlier holder died or was too slow.
    pub(super) fn count_takeover(&self, delivery: &Delivery) {
        if delivery.lease_expired {
            self.delivering.counters.lease_expired();
        }
    }

    /// When the result of an attempt that starts now is written at the latest, as a rule.
    pub(super) fn latest_end(&self) -> Timestamp {
        self.delivering.clock.now().plus(self.delivering.settings.send_deadline + RESULT_WRITE_TIME)
    }

    /// Starts the waiting notifications of `endpoint` while it has free slots.
    pub(super) fn start_waiting(&mut self, endpoint: EndpointId) {
        let slots = self.delivering.settings.per_endpoint;
        let mut latest_end = None;
        loop {
            let state = self.endpoint_state(endpoint);
            if slots <= state.in_flight {
                break;
            }
            let Some((delivery, lease_until)) = state.waiting.pop_front() else {
                break;
            };
            self.waiting -= 1;
            if lease_until < *latest_end.get_or_insert_with(|| self.latest_end()) {
                // The attempt might not be written before another notifier may claim it.
                self.release(delivery.key, Duration::ZERO);
                continue;
            }
            self.start(delivery, false);
        }
    }

    /// Releases a claimed notification that was never started; it is due again after `after`.
    pub(super) fn release(&mut self, key: DeliveryKey, after: Duration) {
        let at = self.delivering.clock.now().plus(after);
        self.results.push(AttemptResult::new(key, DeliveryResult::Held { at }));
    }

    /// Releases the notifications that wait for a slot of `endpoint`.
    pub(super) fn release_waiting(&mut self, endpoint: EndpointId) {
        let waiting = std::mem::take(&mut self.endpoint_state(endpoint).waiting);
        self.waiting -= waiting.len() as u32;
        for (delivery, _) in waiting {
            self.release(delivery.key, Duration::ZERO);
        }
    }

    /// From now on nothing more is started.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
        for endpoint in self.endpoint_states.keys().copied().collect::<Vec<_>>() {
            self.release_waiting(endpoint);
        }
    }

    /// Starts an attempt.
    pub(super) fn start(&mut self, mut delivery: Delivery, probe: bool) {
        let (started_at, by) = (self.delivering.clock.now(), self.delivering);
        let state = self.endpoint_state(delivery.endpoint_id);
        state.in_flight += 1;
        state.touch();
        let secrets = match delivery.sandbox == by.sandbox {
            true => state.secrets(&*by.secrets, &delivery, started_at).map_err(|error| locked(&delivery, &error)),
            false => Err(wrong_mode(&delivery)),
        };
        self.in_flight += 1;
        let secrets = match secrets {
            Ok(secrets) => secrets,
            Err(why) => {
                let sent = AttemptOutcome::Failed { why }.into();
                return self.push_task(async move {
                    TaskOutcome::Attempted(FinishedAttempt { delivery, probe, sent, timing: None })
                });
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
        self.push_task(async move {
            let began = Instant::now();
            // A panic in the sender fails this attempt and no other.
            let sent = AssertUnwindSafe(async { webhooks.send(request).await }).catch_unwind().await;
            let broken =
                |_panic| AttemptOutcome::Failed { why: DeliveryFailure::Own("the try ended abnormally") }.into();
            let sent = sent.unwrap_or_else(broken);
            TaskOutcome::Attempted(FinishedAttempt {
                delivery,
                probe,
                sent,
                timing: Some((started_at, began.elapsed())),
            })
        });
    }
}

fn locked(delivery: &Delivery, error: &KeyringError) -> DeliveryFailure {
    let endpoint = delivery.endpoint_id;
    log::error!(
        "the secret of endpoint {endpoint} cannot be opened: {error}; is master.key the one of this deployment?"
    );
    DeliveryFailure::Own("the endpoint's secret cannot be opened")
}

/// Where notifications may go depends on the mode: by the sandbox's rules a production account's might go into a private network.
fn wrong_mode(delivery: &Delivery) -> DeliveryFailure {
    let Delivery { merchant_id, endpoint_id, .. } = delivery;
    let mode = if delivery.sandbox { "sandbox" } else { "production" };
    log::error!(
        "nothing is sent to endpoint {endpoint_id}: merchant {merchant_id} has a {mode} account, and this notifier runs in the other mode; give it \
         the deployment's DROPIN_MODE"
    );
    DeliveryFailure::Own("the notifier runs in the other mode than this account; give it the deployment's DROPIN_MODE")
}
