use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_kernel::{Change, EventId, MerchantId, PaymentId};
use dropin_ports::{Changed, EventLogPage, EventLogPosition, LoggedEvent, Settled};
use dropin_session::Session;

use crate::Harness;
use crate::harness::{approval, changing};
use crate::values::{at, event, fresh, new_merchant, of_session};

const START: EventLogPosition = EventLogPosition::START;

impl Harness {
    async fn page(&self, merchant: MerchantId, after: EventLogPosition, limit: u32) -> EventLogPage {
        self.event_log.read_event_log(merchant, after, limit).await.unwrap()
    }

    /// What stands after `after`, in pages of `limit`, once `count` events do. On PostgreSQL any transaction of the server may hold them up for a
    /// moment, other tests' too.
    async fn read(
        &self,
        merchant: MerchantId,
        mut after: EventLogPosition,
        limit: u32,
        count: usize,
    ) -> Vec<LoggedEvent> {
        let (mut all, give_up) = (Vec::new(), Instant::now() + Duration::from_secs(10));
        while all.len() < count {
            assert!(Instant::now() < give_up, "{} of {count} events came", all.len());
            let page = self.page(merchant, after, limit).await;
            assert!(page.events.len() <= limit as usize && (!page.more || !page.events.is_empty()));
            after = page.events.last().map_or(after, |last| last.position);
            all.extend(page.events);
            tokio::task::yield_now().await;
        }
        all
    }

    /// Tells an event of the Session with this body; the Session as it is then.
    async fn tell(&self, session: &Session, body: Vec<u8>) -> Session {
        let next = session.clone().at_revision(session.revision.next());
        let mut told = event(session, "TEST", at(7));
        told.body = body;
        let history = of_session(&next, "TEST", at(7));
        let change = Change { next: next.clone(), expected: session.revision };
        let changed = self.sessions.change_session(changing(change, history, vec![told])).await;
        assert_eq!(changed, Ok(Changed::Done));
        next
    }
}

fn told(events: &[LoggedEvent]) -> Vec<(PaymentId, i64)> {
    events.iter().map(|event| (event.payment_id, event.sequence)).collect()
}

fn ids(events: &[LoggedEvent]) -> Vec<EventId> {
    events.iter().map(|event| event.event_id).collect()
}

pub async fn events_are_read_as_they_are_sent(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    assert_eq!(harness.page(merchant.id, START, 10).await, EventLogPage::default());
    let (one, other) = (harness.authorized(merchant.id).await, harness.authorized(merchant.id).await);
    let all = harness.read(merchant.id, START, 10, 4).await;
    let payments = [&one, &other].map(|payment| payment.order.payment_id());
    assert_eq!(told(&all), [(payments[0], 1), (payments[0], 2), (payments[1], 1), (payments[1], 2)]);
    assert!(all.is_sorted_by(|event, next| event.position < next.position));
    for sent in harness.claim(at(100)).await {
        let read = all.iter().find(|event| event.event_id == sent.event_id).unwrap();
        assert_eq!((read.payment_id, read.sequence), (sent.payment_id, sent.key.sequence));
        assert_eq!((&read.event_type, &read.body), (&sent.event_type, &sent.body), "the exact bytes");
        assert_eq!((read.happened_at, read.event_type.as_str()), (at(20), "SESSION_COMPLETED"));
    }
    for limit in 1..=4 {
        assert_eq!(harness.read(merchant.id, START, limit, 4).await, all, "in pages of {limit}");
    }
    let page = harness.page(merchant.id, all[0].position, 2).await;
    assert_eq!((page.events.as_slice(), page.more), (&all[1..3], true));
    let page = harness.page(merchant.id, all[0].position, 3).await;
    assert_eq!((page.events.as_slice(), page.more), (&all[1..], false));
    let last = all[3].position;
    assert_eq!(harness.page(merchant.id, last, 2).await, EventLogPage::default());
    let later = harness.authorized(merchant.id).await.order.payment_id();
    assert_eq!(told(&harness.read(merchant.id, last, 2, 2).await), [(later, 1), (later, 2)], "behind what was read");
}

pub async fn events_of_another_merchant_are_not_read(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let mine = harness.authorized(merchant.id).await.order.payment_id();
    let between = harness.read(merchant.id, START, 10, 2).await[1].position;
    let theirs = harness.authorized(other.id).await.order.payment_id();
    assert_eq!(
        told(&harness.read(other.id, between, 1, 2).await),
        [(theirs, 1), (theirs, 2)],
        "by another one's place"
    );
    assert_eq!(told(&harness.page(merchant.id, START, 10).await.events), [(mine, 1), (mine, 2)]);
    assert_eq!(harness.page(merchant.id, between, 1).await, EventLogPage::default());
    assert_eq!(harness.page(MerchantId::new(fresh()), START, 1).await, EventLogPage::default());
}

pub async fn a_merchant_without_an_endpoint_reads_its_events(harness: Arc<Harness>) {
    let new = new_merchant(false);
    harness.access.insert_merchant(new.clone()).await.unwrap();
    harness.authorized(new.merchant.id).await;
    assert_eq!(harness.read(new.merchant.id, START, 10, 2).await.len(), 2);
}

pub async fn an_event_that_commits_late_is_not_skipped(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let payment = harness.submitted(merchant.id).await;
    let before = harness.read(merchant.id, START, 10, 2).await;
    // Takes its number, and takes its time.
    let (late_payment, late) = (fresh(), EventId::new(fresh()));
    harness.raw.execute("BEGIN").unwrap();
    let insert = format!(
        "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
         SELECT '{late_payment}', 1, '{late}', merchant_id, event_type, body, happened_at FROM outbox_event WHERE sequence = 1"
    );
    assert_eq!(harness.raw.execute(&insert), Ok(1));
    let overtaking = tokio::spawn({
        let harness = harness.clone();
        async move { harness.payments.settle(approval(&payment)).await }
    });
    // On PostgreSQL the second is committed while the first is not; on SQLite it waits for its turn.
    let (mut read, mut after) = (Vec::new(), before[1].position);
    let give_up = Instant::now() + Duration::from_millis(500);
    let mut is_over = false;
    while !is_over && Instant::now() < give_up {
        is_over = overtaking.is_finished();
        let page = harness.page(merchant.id, after, 1).await;
        after = page.events.last().map_or(after, |last| last.position);
        read.extend(page.events);
        tokio::task::yield_now().await;
    }
    harness.raw.execute("COMMIT").unwrap();
    assert_eq!(overtaking.await.unwrap(), Ok(Settled::Done));
    assert_eq!(harness.count("outbox_event", "1 = 1"), 5);
    let missing = 3 - read.len();
    read.extend(harness.read(merchant.id, after, 1, missing).await);
    assert_eq!(read.len(), 3, "each once: {:?}", told(&read));
    assert!(ids(&read).contains(&late), "the one that committed late is among them");
    assert_eq!([before, read].concat(), harness.page(merchant.id, START, 10).await.events, "and the order has stayed");
}

pub async fn every_event_is_read_once_while_others_write(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let writer = |_| {
        let (harness, merchant) = (harness.clone(), merchant.id);
        tokio::spawn(async move {
            for _ in 0..3 {
                let payment = harness.authorized(merchant).await;
                let mut session = payment.session.unwrap();
                for number in 0..4_u8 {
                    session = harness.tell(&session, vec![number]).await;
                }
            }
        })
    };
    let writers: Vec<_> = (0..6).map(writer).collect();
    let read = harness.read(merchant.id, START, 3, 6 * 3 * 6).await;
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(ids(&read).into_iter().collect::<HashSet<_>>().len(), 6 * 3 * 6, "each once");
    assert_eq!(harness.page(merchant.id, read[107].position, 3).await, EventLogPage::default());
    assert_eq!(read, harness.read(merchant.id, START, 100, 108).await, "the order has stayed");
    for event in &read {
        let of_payment = read.iter().filter(|one| one.payment_id == event.payment_id);
        let sequences: Vec<_> = of_payment.map(|one| one.sequence).collect();
        assert_eq!(sequences, [1, 2, 3, 4, 5, 6], "in the order of the changes");
    }
}

pub async fn a_place_outlives_what_is_deleted(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..3 {
        harness.authorized(merchant.id).await;
    }
    let all = harness.read(merchant.id, START, 10, 6).await;
    let delete = |event: &LoggedEvent| {
        let deleted = harness.raw.execute(&format!("DELETE FROM outbox_event WHERE event_id = '{}'", event.event_id));
        assert_eq!(deleted, Ok(1));
    };
    delete(&all[0]);
    delete(&all[1]);
    let from = async |after| harness.page(merchant.id, after, 10).await.events;
    assert_eq!(from(START).await, all[2..], "the start is the oldest that is kept");
    assert_eq!(from(all[0].position).await, all[2..], "a place that is gone");
    assert_eq!(from(all[3].position).await, all[4..]);
    // Nothing new stands where something was.
    all[2..].iter().for_each(delete);
    let new = harness.authorized(merchant.id).await.order.payment_id();
    assert_eq!(told(&harness.read(merchant.id, all[5].position, 10, 2).await), [(new, 1), (new, 2)]);
}

pub async fn a_page_of_large_bodies_is_short(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut session = harness.session(merchant.id).await;
    for megabytes in [3, 3, 1, 5, 1] {
        session = harness.tell(&session, vec![b'1'; megabytes << 20]).await;
    }
    let mut after = START;
    harness.read(merchant.id, START, 1, 5).await;
    for (expected, more) in [(2, true), (2, true), (1, false)] {
        let page = harness.page(merchant.id, after, 10).await;
        assert_eq!((page.events.len(), page.more), (expected, more));
        after = page.events[expected - 1].position;
    }
}
