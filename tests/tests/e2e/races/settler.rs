//! A settler in this process whose clock is ahead: it works on a deployment's own database and processor.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use dropin_boot::{SystemClock, SystemIds};
use dropin_catalogue::Catalogue;
use dropin_kernel::Timestamp;
use dropin_ports::{AttemptResult, Clock, DeliveryResult, OutboxStore, Processor};
use dropin_processor_http::{HttpProcessor, ProcessorConfig};
use dropin_store::Store;
use dropin_tests::World;
use dropin_usecases::access::KnownMerchants;
use dropin_usecases::payments::{PROCESSOR_DEADLINE, Payments, Timing};
use dropin_usecases::screening::PaymentScreening;
use dropin_usecases::sessions::Sessions;
use dropin_validation::UrlPolicy;

struct Ahead(Duration);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus(self.0)
    }
}

pub(super) struct Settler {
    store: Store,
    pub(super) payments: Payments,
    pub(super) sessions: Sessions,
}

/// A round of a race with a settler whose clock is so much ahead, the same in every round: one that has to connect first is late for a race.
pub(super) fn with_settler(
    ahead: Duration,
    round: impl AsyncFn(&World, &Settler, usize) -> &'static str,
) -> impl AsyncFn(&World, usize) -> &'static str {
    let settler = OnceCell::new();
    async move |world: &World, number: usize| {
        round(world, settler.get_or_init(|| Settler::of(world, ahead)), number).await
    }
}

impl Settler {
    /// One whose clock is so much ahead.
    pub(super) fn of(world: &World, ahead: Duration) -> Self {
        Self::with_processor(world, ahead, |processor| Arc::new(processor))
    }

    /// The same, which reaches the processor through what `wrap` makes of it.
    pub(super) fn with_processor(
        world: &World,
        ahead: Duration,
        wrap: impl FnOnce(HttpProcessor) -> Arc<dyn Processor>,
    ) -> Self {
        let store = crate::open_store(world);
        let config = ProcessorConfig::new(&world.processor, world.programs.processor_key(), PROCESSOR_DEADLINE);
        let processor = HttpProcessor::start(config.expect("the processor's address")).expect("a thread");
        let (clock, ids) = (Arc::new(Ahead(ahead)), Arc::new(SystemIds));
        let shared = Arc::new(store.clone());
        let known = KnownMerchants::new(shared.clone());
        let screening = PaymentScreening::new(shared.clone(), shared.clone(), known, clock.clone());
        let payments = Payments {
            store: shared.clone(),
            processor: wrap(processor),
            clock: clock.clone(),
            ids: ids.clone(),
            credentials: None,
            catalogue: Arc::new(Catalogue::of_sandbox()),
            processors: Default::default(),
            timing: Timing::default(),
            screening,
            authorizations: Arc::default(),
        };
        Self {
            store,
            payments,
            sessions: Sessions { store: shared.clone(), contracts: shared, clock, ids, url_policy: UrlPolicy::Sandbox },
        }
    }

    /// What that clock finds due for a payment: also what was written by it, for which the program's own notifier may wait for days. By webhook-id.
    pub(super) async fn due_events(&self, session: &str) -> Vec<(String, String)> {
        let (now, mut due_events) = (self.payments.clock.now(), Vec::new());
        let (store, lease) = (&self.store, now.plus(Duration::from_secs(60)));
        let claimed = store.claim_deliveries(&[], now, lease, 100, 100).await;
        let mut batch = claimed.expect("the deployment's database").deliveries;
        while !batch.is_empty() {
            let own = batch.iter().filter(|one| one.payment_id.to_string() == session);
            due_events.extend(own.map(|one| (one.event_id.to_string(), one.event_type.clone())));
            let done = batch.iter().map(|one| AttemptResult::new(one.key, DeliveryResult::Acknowledged)).collect();
            batch = store.finish_deliveries(done, now, lease).await.expect("the deployment's database").next;
        }
        due_events
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        self.store.close();
    }
}
