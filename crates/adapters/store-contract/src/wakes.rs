//! What wakes the notifier. Whoever opens the store knows how often that was, so this is no case of the list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_kernel::{EventId, PaymentId};
use dropin_ports::{
    Changed, DeliveryResult, DisputeChanged, EndpointChange, NewEvent, OrderChanged, ReplayItem, ReplayRequest,
};

use crate::Harness;
use crate::cases::notifications::{asked, deliver_all, events, finish, told};
use crate::cases::{contract, dispute};
use crate::harness::changing;
use crate::steps::keyed_capture;
use crate::values::{at, audited, event, fresh, of_session, order_event};

/// Far longer than any wake-up takes.
const LONG: Duration = Duration::from_secs(20);

/// How often the notifier was woken by the store, and how often it has to have been.
struct WakeUps<F> {
    woken: F,
    expected: u64,
}

impl<F: AsyncFn() -> u64> WakeUps<F> {
    /// `what` wakes the notifier, and nothing has before that should not.
    async fn once_more(&mut self, what: &str) {
        self.expected += 1;
        let end = Instant::now() + LONG;
        while (self.woken)().await < self.expected {
            assert!(Instant::now() < end, "{what} never woke the notifier");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!((self.woken)().await, self.expected, "before {what}");
    }
}

/// Every change that tells something wakes the notifier once, and nothing else does. `woken` says how often it was woken by this store; returns how
/// often it has to be once the store is closed.
///
/// # Panics
/// The test fails.
pub async fn each_change_that_tells_something_wakes(harness: Arc<Harness>, woken: impl AsyncFn() -> u64) -> u64 {
    let mut wake_ups = WakeUps { woken, expected: 0 };
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    wake_ups.once_more("a settlement").await;

    let mut capture = keyed_capture(&payment);
    capture.events = vec![order_event(&capture.order.next, "ASKED", at(30))];
    assert_eq!(harness.payments.change_order(capture.clone()).await, Ok(OrderChanged::Done));
    wake_ups.once_more("a change of an Order").await;
    assert_eq!(harness.payments.change_order(capture).await, Ok(OrderChanged::Done));
    wake_ups.once_more("a change of an Order that is written already").await;
    let silent = harness.authorized(merchant.id).await;
    wake_ups.once_more("another settlement").await;
    let untold = keyed_capture(&silent);
    for _ in 0..2 {
        assert_eq!(harness.payments.change_order(untold.clone()).await, Ok(OrderChanged::Done));
    }

    let session = harness.session(merchant.id).await;
    let (change, _) = session.as_created().unwrap().cancel(at(5));
    let history = of_session(&change.next, "CANCEL", at(5));
    let cancelled = vec![event(&session, "SESSION_CANCELLED", at(5))];
    let cancel = changing(change, history, cancelled);
    assert_eq!(harness.sessions.change_session(cancel).await, Ok(Changed::Done));
    wake_ups.once_more("a change of a Session").await;
    assert_eq!(harness.cancel(&harness.session(merchant.id).await).await, Changed::Done, "it tells nothing");

    let agreed = contract::opened(&harness, merchant.id, "subscription-7", at(1)).await;
    wake_ups.once_more("a contract that opens").await;
    assert_eq!(harness.contracts.change_contract(contract::closing(&agreed, at(5))).await, Ok(Changed::Done));
    wake_ups.once_more("a change of a contract").await;

    let captured = harness.processed(merchant.id).await;
    wake_ups.once_more("one more settlement").await;
    let (_, disputed) = dispute::opened(&captured.order, "dispute-1", 100, at(100));
    assert_eq!(harness.disputes.change_dispute(disputed).await, Ok(DisputeChanged::Done));
    wake_ups.once_more("a dispute").await;

    let alarm = NewEvent {
        id: EventId::new(fresh()),
        merchant_id: merchant.id,
        payment_id: PaymentId::new(merchant.id.uuid()),
        event_type: "SCREENING_ALARM_RAISED",
        body: b"{\"EventType\":\"SCREENING_ALARM_RAISED\"}".to_vec(),
        at: at(0),
    };
    assert_eq!(harness.screening.note_alarm(alarm.clone()).await, Ok(true));
    wake_ups.once_more("an alarm").await;
    assert_eq!(harness.screening.note_alarm(alarm).await, Ok(false));

    replays(&harness, &mut wake_ups).await;
    wake_ups.expected
}

async fn replays<F: AsyncFn() -> u64>(harness: &Harness, wake_ups: &mut WakeUps<F>) {
    let (merchant, endpoint) = harness.merchant().await;
    let one = told(harness, merchant.id, 2).await;
    wake_ups.once_more("a settlement to be replayed").await;
    let other = told(harness, merchant.id, 3).await;
    // After its settlement, which does as well.
    wake_ups.expected += 1;
    wake_ups.once_more("an outcome that changes no Order").await;
    deliver_all(harness, at(200)).await;
    let [first, ..] = events(harness, one.order.payment_id()).await[..] else { panic!() };
    let [second, third, fourth] = events(harness, other.order.payment_id()).await[..] else { panic!() };
    let ask = async |events: &[EventId], gap, dry_run| {
        let items = events.iter().map(|event| ReplayItem { event: *event, from: endpoint.id, state: None }).collect();
        let asked = ReplayRequest { dry_run, ..asked(gap) };
        harness.notifications.replay(endpoint.id, items, asked, at(300)).await.unwrap()
    };
    ask(&[first], None, true).await;
    ask(&[first], None, false).await;
    wake_ups.once_more("a replay").await;
    assert_eq!(ask(&[first], None, false).await.waiting, 1, "as asked for before");
    let fail = async |second| {
        let again = harness.claim(at(second)).await.remove(0);
        assert_eq!(again.event_id, first);
        finish(harness, &again, DeliveryResult::Retry { at: at(9_999) }, Some(500), at(second)).await;
    };
    fail(300).await;
    assert_eq!(ask(&[first], None, false).await.hurried, 1);
    wake_ups.once_more("a notification that is to be sent at once").await;
    fail(301).await;
    ask(&[second], Some(LONG), false).await;
    wake_ups.once_more("a replay with pauses").await;
    assert_eq!(ask(&[third], Some(LONG), false).await.queued, 1, "behind the pause");
    let both = ask(&[first, fourth], Some(LONG), false).await;
    assert_eq!((both.hurried, both.queued), (1, 1), "one at once, and one behind the pause");
    wake_ups.once_more("a replay of which one is sent at once").await;
    harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(400)), audited()).await.unwrap();
    assert_eq!(ask(&[first], None, false).await.refused, 1, "there is no endpoint any more");
}
