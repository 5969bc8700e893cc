use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex};

use dropin_kernel::{EventId, MerchantId, OrderId, PaymentId, Timestamp};
use dropin_ports::{
    ALARM_LASTS, CardAuthentication, CountableOutcome, CountedPaymentTry, EXEMPTED_LIFETIME, HashedVelocityKey,
    KNOWN_SHOPPER_LIFETIME, NewEvent, NewPaymentTry, PaymentTryOutcome, StoreError, TryScreening, VelocityHash,
};
use dropin_risk::{
    Decision, FactText, Facts, IssuerChecks, Rules, Screening, ScreeningLabel, VelocityCounts, VelocityKey,
    VelocitySum, VelocityWindow,
};

use crate::Harness;
use crate::values::{at, fresh};

const DAY: u64 = 86_400;

/// A key whose hash begins with `number`; another for each kind.
fn key(key: VelocityKey, number: u16) -> HashedVelocityKey {
    let mut hash = [0xa5; 32];
    hash[..2].copy_from_slice(&number.to_be_bytes());
    hash[2..4].copy_from_slice(&key.as_str().as_bytes()[..2]);
    HashedVelocityKey { key, hash: VelocityHash(hash), former: vec![] }
}

/// The same after a rotation: `number` is its hash from then on.
fn rotated(former: &HashedVelocityKey, number: u16) -> HashedVelocityKey {
    let hashes = [former.hash].into_iter().chain(former.former.iter().copied());
    HashedVelocityKey { former: hashes.collect(), ..key(former.key, number) }
}

fn new_try(merchant: MerchantId, at: Timestamp, keys: &[HashedVelocityKey]) -> NewPaymentTry {
    let order_id = OrderId::new(fresh());
    NewPaymentTry { order_id, merchant_id: merchant, at, keys: keys.to_vec(), amount_cents: 10 }
}

/// Decides the same of every try, without looking at its counts.
pub fn any_decision() -> TryScreening {
    static SAME: LazyLock<Screening> = LazyLock::new(|| Rules::built_in().screen(Facts::default()));
    Arc::new(|_| SAME.clone())
}

impl Harness {
    async fn count_try(&self, new: &NewPaymentTry) -> CountedPaymentTry {
        self.screening.screen_try(new.clone(), any_decision()).await.unwrap().counted
    }

    /// Counts a try with `keys`, and tells which.
    async fn tried(&self, merchant: MerchantId, at: Timestamp, keys: &[HashedVelocityKey]) -> OrderId {
        let new = new_try(merchant, at, keys);
        self.count_try(&new).await;
        new.order_id
    }

    async fn became(&self, order: OrderId, outcomes: &[PaymentTryOutcome]) {
        for outcome in outcomes {
            assert_eq!(self.screening.count_outcome(order, CountableOutcome::plain(*outcome)).await, Ok(()));
        }
    }

    /// What stands at `of` before another try is counted: the try that asks is taken away.
    async fn counted(&self, merchant: MerchantId, at: Timestamp, of: &HashedVelocityKey) -> VelocityCounts {
        let counted = self.count_try(&new_try(merchant, at, std::slice::from_ref(of))).await;
        let sum = counted.velocity.sum(of.key, VelocityWindow::Day).unwrap().counts;
        VelocityCounts { tries: sum.tries - 1, amount_cents: sum.amount_cents - 10, ..sum }
    }
}

fn sums(counted: &CountedPaymentTry, of: VelocityKey) -> [VelocitySum; 3] {
    VelocityWindow::ALL.map(|window| counted.velocity.sum(of, window).unwrap())
}

fn tries(counted: &CountedPaymentTry, of: VelocityKey) -> [u32; 3] {
    sums(counted, of).map(|sum| sum.counts.tries)
}

pub async fn a_try_counts_for_each_window_and_a_bucket_more(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let device = key(VelocityKey::Device, 1);
    // Cases begin in second 20 of a minute, 200 of five minutes and 800 of an hour: the buckets of the first try end at 40, 100 and 2,800.
    for (second, expected) in [
        (0, [1, 1, 1]),
        (639, [2, 2, 2]),
        (640, [2, 3, 3]),
        (3_699, [1, 4, 4]),
        (3_700, [2, 4, 5]),
        (DAY + 2_799, [1, 1, 6]),
        (DAY + 2_800, [2, 2, 4]),
        (3 * DAY, [1, 1, 1]),
    ] {
        let counted = harness.count_try(&new_try(merchant, at(second), std::slice::from_ref(&device))).await;
        assert_eq!(tries(&counted, VelocityKey::Device), expected, "after {second} s");
    }
    assert_eq!(harness.count("velocity_counter", "1 = 1"), 2, "a row for a key, and the merchant's own");
}

pub async fn every_key_is_counted_by_itself_with_amounts_and_cards(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let keys = |card: u16, session: u16| {
        let keys = VelocityKey::ALL.into_iter().filter(|kind| *kind != VelocityKey::Merchant);
        let keys = keys.map(|kind| match kind {
            VelocityKey::Card => key(kind, card),
            VelocityKey::Session => key(kind, session),
            _ => key(kind, 7),
        });
        keys.collect::<Vec<_>>()
    };
    let count = async |second: u64, amount_cents: u64, keys: &[HashedVelocityKey]| {
        harness.count_try(&NewPaymentTry { amount_cents, ..new_try(merchant, at(second), keys) }).await
    };
    let first = count(0, 5, &keys(1, 1)).await;
    let alone =
        VelocitySum { counts: VelocityCounts { tries: 1, amount_cents: 5, ..VelocityCounts::default() }, cards: 1 };
    for kind in VelocityKey::ALL {
        let cards = u32::from(kind != VelocityKey::Merchant);
        assert_eq!(sums(&first, kind), [VelocitySum { cards, ..alone }; 3], "{kind}");
    }
    count(1, u64::from(u32::MAX), &keys(1, 1)).await;
    count(2, 0, &keys(2, 2)).await;
    // Without a card, as a saved one is paid with.
    let last = count(600, 10, &keys(1, 1)[1..]).await;
    let of = |kind| sums(&last, kind).map(|sum| (sum.counts.tries, sum.counts.amount_cents, sum.cards));
    assert_eq!(of(VelocityKey::Device), [(4, 4_294_967_310, 2); 3]);
    assert_eq!(of(VelocityKey::Session), [(3, 4_294_967_310, 1); 3]);
    assert_eq!(last.velocity.sum(VelocityKey::Card, VelocityWindow::Day), None, "what the try does not have");
    // The first card is tried again when the second has left the shortest window.
    let later = count(700, 0, &keys(1, 3)).await;
    assert_eq!(sums(&later, VelocityKey::Device).map(|sum| sum.cards), [1, 2, 2]);
    assert_eq!(tries(&later, VelocityKey::Card), [1, 3, 3]);
}

pub async fn what_an_older_key_of_the_ring_counted_counts(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let (device, card, other) = (key(VelocityKey::Device, 1), key(VelocityKey::Card, 2), key(VelocityKey::Card, 3));
    let order = harness.tried(merchant, at(0), &[device.clone(), card.clone()]).await;
    harness.tried(merchant, at(1), &[device.clone(), other.clone()]).await;
    let (new_device, new_card) = (rotated(&device, 11), rotated(&card, 12));
    let counted = harness.count_try(&new_try(merchant, at(2), &[new_device.clone(), new_card.clone()])).await;
    let of = |counted: &CountedPaymentTry, kind| (tries(counted, kind)[1], sums(counted, kind)[1].cards);
    assert_eq!((of(&counted, VelocityKey::Device), of(&counted, VelocityKey::Card)), ((3, 2), (2, 1)));
    // A program that has not seen the new key yet counts under the old one, and so is what became of a try.
    harness.tried(merchant, at(3), &[device.clone(), card.clone()]).await;
    harness.became(order, &[PaymentTryOutcome::Declined]).await;
    let newest = rotated(&new_device, 21);
    let counted = harness.count_try(&new_try(merchant, at(4), &[newest.clone(), rotated(&new_card, 22)])).await;
    assert_eq!((of(&counted, VelocityKey::Device), of(&counted, VelocityKey::Card)), ((5, 2), (4, 1)));
    assert_eq!(sums(&counted, VelocityKey::Device)[1].counts.declines, 1);
    // What is told later of tries that an older key counted: it is found by the next one, and so is who paid.
    let late = harness.tried(merchant, at(4), std::slice::from_ref(&device)).await;
    let settled = harness.tried(merchant, at(4), std::slice::from_ref(&device)).await;
    harness.tried(merchant, at(4), std::slice::from_ref(&newest)).await;
    harness.became(late, &[PaymentTryOutcome::Declined]).await;
    harness.became(settled, &[PaymentTryOutcome::Paid]).await;
    let counted = harness.count_try(&new_try(merchant, at(4), std::slice::from_ref(&newest))).await;
    assert_eq!((of(&counted, VelocityKey::Device), counted.known_since), ((9, 2), Some(at(4))));
    assert_eq!(sums(&counted, VelocityKey::Device)[1].counts.declines, 2);
    // Once the older keys are gone.
    let counted = harness.count_try(&new_try(merchant, at(5), &[HashedVelocityKey { former: vec![], ..newest }])).await;
    assert_eq!(of(&counted, VelocityKey::Device), (10, 2), "it was moved under the newest");
}

pub async fn an_order_is_counted_once(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let keys = [key(VelocityKey::Ip, 1), key(VelocityKey::Card, 2)];
    let new = new_try(merchant, at(0), &keys);
    let first = harness.count_try(&new).await;
    assert_eq!(harness.count_try(&new).await, first);
    let again: Vec<_> = (0..16).map(|_| (harness.screening.clone(), new.clone())).collect();
    let again: Vec<_> = again
        .into_iter()
        .map(|(store, new)| tokio::spawn(async move { store.screen_try(new, any_decision()).await.unwrap().counted }))
        .collect();
    for one in again {
        assert_eq!(one.await.unwrap(), first);
    }
    let next = harness.count_try(&new_try(merchant, at(1), &keys)).await;
    assert_eq!(tries(&next, VelocityKey::Ip), [2; 3]);
}

pub async fn what_became_of_a_try_is_counted_in_its_order(harness: Arc<Harness>) {
    use PaymentTryOutcome::{Authorized, Blocked, Challenged, Declined, Paid};
    for (number, (outcomes, declines, blocks)) in (1..).zip([
        (&[][..], 0, 0),
        (&[Challenged], 1, 0),
        (&[Challenged, Challenged], 1, 0),
        (&[Challenged, Declined], 1, 0),
        (&[Declined], 1, 0),
        (&[Declined, Challenged, Declined, Paid, Blocked], 1, 0),
        (&[Challenged, Paid], 0, 0),
        (&[Challenged, Authorized], 0, 0),
        (&[Authorized, Declined, Challenged], 0, 0),
        (&[Challenged, Paid, Paid, Declined, Challenged], 0, 0),
        (&[Paid, Declined], 0, 0),
        (&[Blocked], 0, 1),
        (&[Blocked, Blocked, Declined, Paid], 0, 1),
        (&[Challenged, Blocked], 1, 0),
    ]) {
        let merchant = harness.merchant().await.0.id;
        let email = key(VelocityKey::Email, number);
        let order = harness.tried(merchant, at(0), std::slice::from_ref(&email)).await;
        harness.became(order, outcomes).await;
        for of in [key(VelocityKey::Merchant, 0), email] {
            let expected = VelocityCounts { tries: 1, declines, blocks, amount_cents: 10, ..VelocityCounts::default() };
            assert_eq!(harness.counted(merchant, at(1), &of).await, expected, "{outcomes:?} by {}", of.key);
        }
    }
    let merchant = harness.merchant().await.0.id;
    harness.became(OrderId::new(fresh()), &[Declined, Paid, Blocked]).await;
    // It counts when the try was, whenever it is told.
    let device = key(VelocityKey::Device, 99);
    let order = harness.tried(merchant, at(0), std::slice::from_ref(&device)).await;
    harness.tried(merchant, at(3_000), std::slice::from_ref(&device)).await;
    harness.became(order, &[Declined]).await;
    let counted = harness.count_try(&new_try(merchant, at(3_001), &[device])).await;
    assert_eq!(sums(&counted, VelocityKey::Device).map(|sum| sum.counts.declines), [0, 1, 1]);
}

pub async fn what_an_alarm_asks_for_is_no_decline_of_the_merchants(harness: Arc<Harness>) {
    use PaymentTryOutcome::{Authorized, Challenged, Declined, Paid};
    for (number, (outcomes, declines, challenges, passes, verifications)) in (1..).zip([
        (&[Challenged][..], 1, 1, 0, 0),
        (&[Challenged, Challenged], 1, 1, 0, 0),
        (&[Challenged, Declined], 1, 1, 0, 0),
        (&[Challenged, Paid], 0, 1, 1, 0),
        // Whoever verifies a card of their own for nothing ends no alarm.
        (&[Challenged, Authorized], 0, 1, 0, 1),
        (&[Challenged, Authorized, Paid], 0, 1, 0, 1),
        // What the issuer refused at once nobody was challenged for.
        (&[Declined], 1, 0, 0, 0),
        (&[Paid], 0, 0, 0, 0),
        (&[Authorized], 0, 0, 0, 0),
    ]) {
        let merchant = harness.merchant().await.0.id;
        let keys = [key(VelocityKey::Merchant, 0), key(VelocityKey::Device, number)];
        let order = harness.tried(merchant, at(0), &keys[1..]).await;
        for outcome in outcomes {
            let told = CountableOutcome { in_alarm: true, ..CountableOutcome::plain(*outcome) };
            harness.screening.count_outcome(order, told).await.unwrap();
        }
        let [of_merchant, of_device] =
            [harness.counted(merchant, at(1), &keys[0]).await, harness.counted(merchant, at(1), &keys[1]).await];
        let plain = VelocityCounts { tries: 1, declines, amount_cents: 10, ..VelocityCounts::default() };
        assert_eq!(of_device, plain, "{outcomes:?}");
        let declines = if challenges == 0 { declines } else { 0 };
        let expected = VelocityCounts {
            declines,
            alarm_challenges: challenges,
            alarm_passes: passes,
            alarm_verifications: verifications,
            ..plain
        };
        assert_eq!(of_merchant, expected, "{outcomes:?}");
    }
}

pub async fn payments_under_an_exemption_count_until_somebody_authenticates(harness: Arc<Harness>) {
    use CardAuthentication::{Authenticated, Exempted, Unchanged};
    use PaymentTryOutcome::{Authorized, Declined, Paid};
    let merchant = harness.merchant().await.0.id;
    let (card, device) = (key(VelocityKey::Card, 1), key(VelocityKey::Device, 2));
    let keys = [card.clone(), device.clone()];
    let told = async |order, outcome, authentication| {
        let told = CountableOutcome { authentication, ..CountableOutcome::plain(outcome) };
        harness.screening.count_outcome(order, told).await.unwrap();
    };
    let seen = async |second, keys: &[HashedVelocityKey]| {
        let counted = harness.count_try(&new_try(merchant, at(second), keys)).await.exempted;
        counted.map(|exempted| (exempted.payments, exempted.amount_cents))
    };
    assert_eq!(seen(0, &keys).await, Some((0, 0)));
    assert_eq!(seen(0, &keys[1..]).await, None, "nobody knows which card");
    let first = harness.tried(merchant, at(0), &keys).await;
    told(first, Paid, Exempted(4_00)).await;
    told(first, Paid, Exempted(4_00)).await;
    let second = harness.tried(merchant, at(1), &keys).await;
    told(second, Authorized, Exempted(5_00)).await;
    told(second, Declined, Exempted(5_00)).await;
    let plain = harness.tried(merchant, at(2), &keys).await;
    told(plain, Paid, Unchanged).await;
    assert_eq!(seen(3, &keys).await, Some((2, 9_00)), "each approval once");
    assert_eq!(seen(3, &[key(VelocityKey::Card, 3)]).await, Some((0, 0)), "another card");
    // It outlasts every window and the rotation of the key.
    let new_card = rotated(&card, 11);
    harness.screening.purge_screening(at(3 * DAY), at(0), 100).await.unwrap();
    assert_eq!(seen(3 * DAY, std::slice::from_ref(&new_card)).await, Some((2, 9_00)));
    let newest = [HashedVelocityKey { former: vec![], ..new_card }];
    let third = harness.tried(merchant, at(3 * DAY), &newest).await;
    told(third, Paid, Exempted(1)).await;
    assert_eq!(seen(4 * DAY, &newest).await, Some((3, 9_01)));
    let fourth = harness.tried(merchant, at(4 * DAY), &newest).await;
    told(fourth, Paid, Authenticated).await;
    assert_eq!(seen(4 * DAY, &newest).await, Some((0, 0)), "the shopper authenticated");
    let fifth = harness.tried(merchant, at(4 * DAY), &newest).await;
    told(fifth, Paid, Exempted(7)).await;
    let lifetime = EXEMPTED_LIFETIME.as_secs();
    harness.screening.purge_screening(at(4 * DAY + lifetime - 60), at(0), 100).await.unwrap();
    assert_eq!(harness.count("velocity_counter", "1 = 1"), 1, "the others are over");
    assert_eq!(seen(4 * DAY + lifetime - 60, &newest).await, Some((1, 7)));
    assert_eq!(seen(4 * DAY + lifetime + 60, &newest).await, Some((0, 0)));
}

pub async fn an_alarm_is_raised_and_notified_once(harness: Arc<Harness>) {
    let [merchant, other] = [harness.merchant().await.0.id, harness.merchant().await.0.id];
    let event = |merchant: MerchantId, second| NewEvent {
        id: EventId::new(fresh()),
        merchant_id: merchant,
        payment_id: PaymentId::new(merchant.uuid()),
        event_type: "SCREENING_ALARM_RAISED",
        body: b"{\"EventType\":\"SCREENING_ALARM_RAISED\"}".to_vec(),
        at: at(second),
    };
    let seen_at_once: Vec<_> = (0..16)
        .map(|_| {
            let (store, event) = (harness.screening.clone(), event(merchant, 0));
            tokio::spawn(async move { store.note_alarm(event).await.unwrap() })
        })
        .collect();
    let mut raised = 0;
    for one in seen_at_once {
        raised += usize::from(one.await.unwrap());
    }
    let told = || harness.count("outbox_event", &format!("payment_id = '{merchant}'"));
    assert_eq!((raised, told()), (1, 1));
    let note = async |merchant, second| harness.screening.note_alarm(event(merchant, second)).await.unwrap();
    assert!(note(other, 0).await, "each merchant has its own");
    // It lasts as long as it is seen, and a clock that is behind ends nothing early.
    let lasts = ALARM_LASTS.as_secs();
    assert_eq!([note(merchant, lasts - 1).await, note(merchant, 1).await], [false, false]);
    assert_eq!([note(merchant, 2 * lasts - 2).await, note(merchant, 3 * lasts - 3).await], [false, false]);
    assert_eq!(told(), 1);
    assert!(note(merchant, 4 * lasts - 3).await, "it was not seen for so long");
    assert_eq!(told(), 2);
    let sequences =
        format!("payment_id = '{merchant}' AND sequence IN (1, 2) AND event_type = 'SCREENING_ALARM_RAISED'");
    assert_eq!(harness.count("outbox_event", &sequences), 2);
}

/// Decides by what was counted, and remembers that.
fn deciding(heard: &Arc<Mutex<Vec<CountedPaymentTry>>>) -> TryScreening {
    let heard = heard.clone();
    Arc::new(move |counted: &CountedPaymentTry| {
        heard.lock().unwrap().push(counted.clone());
        Rules::built_in().screen(Facts { velocity: counted.velocity.clone(), ..facts(7) })
    })
}

pub async fn a_try_is_decided_on_by_its_counts_and_that_is_kept(harness: Arc<Harness>) {
    let [merchant, other] = [harness.merchant().await.0.id, harness.merchant().await.0.id];
    let heard = Arc::default();
    let mut screened = vec![];
    for card in 1..=6 {
        let order = harness.submitted(merchant).await.order.id;
        let keys = [key(VelocityKey::Device, 1), key(VelocityKey::Card, card)];
        let new = NewPaymentTry { order_id: order, ..new_try(merchant, at(0), &keys) };
        let one = harness.screening.screen_try(new.clone(), deciding(&heard)).await.unwrap();
        assert_eq!(heard.lock().unwrap().last(), Some(&one.counted), "what decides is what is told");
        assert_eq!(one.screening.facts().velocity, one.counted.velocity);
        let found = harness.screening.find_screening(merchant, order).await.unwrap();
        assert_eq!((one.is_kept, found), (true, Some(one.screening.clone())));
        screened.push((new, one));
    }
    let decisions: Vec<_> = screened.iter().map(|(_, one)| one.screening.decision()).collect();
    let (last, first) = (decisions.last().unwrap(), decisions.first().unwrap());
    assert_eq!((*first, *last), (Decision::Challenge, Decision::Block), "the sixth card of one browser");
    // Once more: nothing is counted, and what was decided stays kept.
    let (new, one) = screened.pop().unwrap();
    let again = harness.screening.screen_try(new.clone(), deciding(&heard)).await.unwrap();
    assert_eq!(again, one);
    // Of an Order that the merchant does not have the try counts alone.
    let keys = [key(VelocityKey::Device, 2)];
    let foreign = NewPaymentTry { order_id: new.order_id, ..new_try(other, at(0), &keys) };
    for (new, tries) in [(new_try(merchant, at(1), &keys), 7), (foreign, 0)] {
        let one = harness.screening.screen_try(new.clone(), deciding(&heard)).await.unwrap();
        assert!(!one.is_kept);
        assert_eq!(one.counted.velocity.sum(VelocityKey::Merchant, VelocityWindow::Day).unwrap().counts.tries, tries);
    }
    assert_eq!(harness.screening.find_screening(other, new.order_id).await, Ok(None));
    assert_eq!(harness.screening.find_screening(merchant, new.order_id).await, Ok(Some(again.screening)));
}

pub async fn a_session_is_counted_by_its_tries(harness: Arc<Harness>) {
    use PaymentTryOutcome::{Blocked, Challenged, Declined, Paid};
    let merchant = harness.merchant().await.0.id;
    let session = key(VelocityKey::Session, 1);
    for (number, outcomes) in
        (1..).zip([&[Declined][..], &[Blocked], &[Challenged], &[Challenged, Declined], &[Paid], &[]])
    {
        let keys = [session.clone(), key(VelocityKey::Card, number)];
        let order = harness.tried(merchant, at(0), &keys).await;
        harness.became(order, outcomes).await;
    }
    harness.tried(merchant, at(0), &[key(VelocityKey::Session, 2)]).await;
    let rotated = [rotated(&session, 11), rotated(&key(VelocityKey::Card, 1), 12)];
    let counted = harness.count_try(&new_try(merchant, at(1), &rotated)).await;
    let counts = VelocityCounts { tries: 7, declines: 3, blocks: 1, amount_cents: 70, ..VelocityCounts::default() };
    assert_eq!(sums(&counted, VelocityKey::Session), [VelocitySum { counts, cards: 6 }; 3]);
    let counted = harness.count_try(&new_try(merchant, at(700), &rotated)).await;
    assert_eq!(tries(&counted, VelocityKey::Session), [1, 8, 8]);
    assert_eq!(harness.count("velocity_counter", "1 = 1"), 8, "the merchant's, six cards' and one under its older key");
}

pub async fn counts_of_merchants_are_apart(harness: Arc<Harness>) {
    let [one, two] = [harness.merchant().await.0.id, harness.merchant().await.0.id];
    let keys = [key(VelocityKey::Device, 1), key(VelocityKey::Profile, 2)];
    let order = harness.tried(one, at(0), &keys).await;
    harness.became(order, &[PaymentTryOutcome::Paid]).await;
    // The ring gives each merchant and kind another hash; who is known stands by the merchant.
    let counted = harness.count_try(&new_try(two, at(1), &keys[1..])).await;
    assert_eq!((tries(&counted, VelocityKey::Merchant), counted.known_since), ([1; 3], None));
    let counted = harness.count_try(&new_try(one, at(1), &keys[1..])).await;
    assert_eq!((tries(&counted, VelocityKey::Merchant), counted.known_since), ([2; 3], Some(at(0))));
}

pub async fn tries_at_once_each_hear_of_those_before(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let tries_at_once: Vec<_> = (1..=64_u16)
        .map(|number| {
            let (shared, own) = (key(VelocityKey::Ip, 0), key(VelocityKey::Session, number));
            // The order of the keys differs, so that rows that were locked in it would be waited for in a circle.
            let mut keys = vec![shared, key(VelocityKey::Device, number % 2), own, key(VelocityKey::Card, number)];
            keys.rotate_left(usize::from(number % 4));
            let (store, new) = (harness.screening.clone(), new_try(merchant, at(0), &keys));
            tokio::spawn(async move { (new.order_id, store.screen_try(new, any_decision()).await.unwrap().counted) })
        })
        .collect();
    let (mut heard, mut cards, mut of_device, mut orders) = (BTreeSet::new(), BTreeSet::new(), vec![], vec![]);
    for one in tries_at_once {
        let (order, counted) = one.await.unwrap();
        let [_, hour, _] = sums(&counted, VelocityKey::Ip);
        assert_eq!(tries(&counted, VelocityKey::Merchant), [hour.counts.tries; 3]);
        assert!(heard.insert(hour.counts.tries) && cards.insert(hour.cards), "two heard {hour:?}");
        assert_eq!(hour.counts.amount_cents, 10 * u64::from(hour.counts.tries));
        assert_eq!(tries(&counted, VelocityKey::Session), [1; 3]);
        of_device.push(tries(&counted, VelocityKey::Device)[0]);
        orders.push(order);
    }
    assert_eq!((heard, cards), ((1..=64).collect(), (1..=64).collect()));
    of_device.sort_unstable();
    assert_eq!(of_device, (1..=32).flat_map(|number| [number; 2]).collect::<Vec<_>>());
    let declined: Vec<_> = orders
        .into_iter()
        .map(|order| {
            let store = harness.screening.clone();
            let declined = CountableOutcome::plain(PaymentTryOutcome::Declined);
            tokio::spawn(async move { store.count_outcome(order, declined).await.unwrap() })
        })
        .collect();
    for one in declined {
        one.await.unwrap();
    }
    let counted = harness.counted(merchant, at(1), &key(VelocityKey::Merchant, 0)).await;
    assert_eq!((counted.tries, counted.declines), (64, 64));
}

pub async fn who_has_paid_is_known_by_profile_or_browser(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let (profile, device) = (key(VelocityKey::Profile, 1), key(VelocityKey::Device, 2));
    let known = async |at: Timestamp, keys: &[HashedVelocityKey]| {
        harness.count_try(&new_try(merchant, at, keys)).await.known_since
    };
    let both = [profile.clone(), device.clone(), key(VelocityKey::Email, 3)];
    use PaymentTryOutcome::{Authorized, Blocked, Declined};
    for outcomes in [&[][..], &[Declined], &[Blocked], &[Authorized]] {
        let order = harness.tried(merchant, at(0), &both).await;
        harness.became(order, outcomes).await;
    }
    assert_eq!(known(at(1), &both).await, None, "nothing was paid");
    let later = harness.tried(merchant, at(20), &both[1..]).await;
    let first = harness.tried(merchant, at(10), &both).await;
    harness.became(later, &[PaymentTryOutcome::Paid]).await;
    assert_eq!((known(at(30), &both[..1]).await, known(at(30), &both[1..]).await), (None, Some(at(20))));
    harness.became(first, &[PaymentTryOutcome::Challenged, PaymentTryOutcome::Paid]).await;
    assert_eq!(known(at(40), &both[..1]).await, Some(at(10)));
    assert_eq!(known(at(40), &both[1..2]).await, Some(at(10)), "the first time, whichever is told first");
    assert_eq!(known(at(40), &both[2..]).await, None, "an e-mail address alone names nobody");
    assert_eq!(known(at(40), &[key(VelocityKey::Profile, 4)]).await, None, "another profile");
    // Through a rotation; once the older key is pruned, those who came between stay known.
    let (new_profile, pruned) = (rotated(&profile, 11), rotated(&device, 12));
    assert_eq!(known(at(50), std::slice::from_ref(&new_profile)).await, Some(at(10)));
    assert_eq!(known(at(60), &[HashedVelocityKey { former: vec![], ..new_profile.clone() }]).await, Some(at(10)));
    assert_eq!(known(at(60), &[HashedVelocityKey { former: vec![], ..pruned }]).await, None);
    // Who comes again stays known, and who does not is forgotten.
    let lifetime = KNOWN_SHOPPER_LIFETIME.as_secs();
    let keys = [HashedVelocityKey { former: vec![], ..new_profile }];
    assert_eq!(known(at(30 * DAY), &keys).await, Some(at(10)));
    harness.screening.purge_screening(at(lifetime + 30 * DAY - 1), at(0), 100).await.unwrap();
    assert_eq!(harness.count("known_shopper", "1 = 1"), 1, "the others were not seen for so long");
    harness.screening.purge_screening(at(lifetime + 30 * DAY), at(0), 100).await.unwrap();
    assert_eq!(known(at(lifetime + 30 * DAY), &keys).await, None);
}

/// Facts of every kind, with a text as only a hostile browser sends it.
fn facts(amount_cents: u64) -> Facts {
    let mut facts = Facts {
        amount_cents: Some(amount_cents),
        scheme: "VISA".parse().ok(),
        funding: "PREPAID".parse().ok(),
        card_country: "US".parse().ok(),
        email: Some(FactText::new("jo@example.com")),
        device: Some(FactText::new("a\0\u{202e}\"\\'é")),
        profile: Some(FactText::new("customer-7")),
        ip: "2001:db8::7".parse().ok(),
        known_days: Some(3),
        issuer: IssuerChecks { code_matches: Some(false), ..IssuerChecks::default() },
        ..Facts::default()
    };
    let counts = VelocityCounts {
        tries: 9,
        declines: 8,
        blocks: 7,
        alarm_challenges: 4,
        alarm_passes: 3,
        alarm_verifications: 2,
        amount_cents: 6,
    };
    facts.velocity.set(VelocityKey::Device, VelocityWindow::TenMinutes, VelocitySum { counts, cards: 5 });
    facts
}

pub async fn a_screening_comes_back_whole_to_its_merchant(harness: Arc<Harness>) {
    let [merchant, other] = [harness.merchant().await.0.id, harness.merchant().await.0.id];
    let order = harness.submitted(merchant).await.order.id;
    let find = async |merchant| harness.screening.find_screening(merchant, order).await;
    assert_eq!(find(merchant).await, Ok(None));
    for facts in [facts(u64::MAX), Facts::default()] {
        let screening = Rules::built_in().screen(facts);
        assert_eq!(harness.screening.put_screening(order, merchant, screening.clone()).await, Ok(()));
        assert_eq!(find(merchant).await, Ok(Some(screening.clone())), "in place of the one before");
        assert_eq!(screening.repeat(&Rules::built_in()), screening);
    }
    assert_eq!(find(other).await, Ok(None));
    let screening = Rules::built_in().screen(Facts::default());
    for (order, merchant) in [(order, other), (OrderId::new(fresh()), merchant)] {
        let refused = harness.screening.put_screening(order, merchant, screening.clone()).await;
        assert!(matches!(&refused, Err(StoreError::Refused(_))), "{refused:?}");
    }
    // Many at once are each their own.
    let mut puts = vec![];
    for amount in 0..40 {
        let (store, order) = (harness.screening.clone(), harness.submitted(merchant).await.order.id);
        puts.push(tokio::spawn(async move {
            let screening = Rules::built_in().screen(facts(amount));
            store.put_screening(order, merchant, screening.clone()).await.unwrap();
            (order, screening)
        }));
    }
    for put in puts {
        let (order, screening) = put.await.unwrap();
        assert_eq!(harness.screening.find_screening(merchant, order).await, Ok(Some(screening)));
    }
}

/// Orders of a merchant, each a day after the one before, with their screenings.
async fn screened(harness: &Harness, merchant: MerchantId, count: u64) -> Vec<(OrderId, Screening)> {
    let mut all = vec![];
    for day in 0..count {
        let session = harness.session(merchant).await;
        let stash = harness.stashed(merchant).await;
        let prepare = harness.submit(&session, &stash.key, at(10));
        let order = prepare.order.id;
        harness.payments.prepare_authorization(prepare).await.unwrap();
        let screening = Rules::built_in().screen(facts(day));
        harness.screening.put_screening(order, merchant, screening.clone()).await.unwrap();
        all.push((order, screening));
    }
    all
}

pub async fn facts_go_after_their_time_and_the_decision_stays(harness: Arc<Harness>) {
    let [merchant, other] = [harness.merchant().await.0.id, harness.merchant().await.0.id];
    let mut all = screened(&harness, merchant, 4).await;
    let of_other = screened(&harness, other, 1).await;
    // Three are older than the fourth: by the time of their Orders.
    for (days, (order, _)) in all.iter().enumerate() {
        let by = if harness.raw.execute("SELECT now()").is_ok() {
            format!("ordered_at + INTERVAL '{days} days'")
        } else {
            format!("ordered_at + {days} * 86400000000")
        };
        harness.raw.execute(&format!("UPDATE screening SET ordered_at = {by} WHERE order_id = '{order}'")).unwrap();
    }
    all.reverse();
    let list = async |merchant, since, limit| harness.screening.list_screenings(merchant, since, limit).await.unwrap();
    assert_eq!(list(merchant, at(0), 100).await, all, "newest first");
    assert_eq!(list(merchant, at(0), 2).await, all[..2]);
    assert_eq!(list(merchant, at(10 + DAY), 100).await, all[..3]);
    assert_eq!(list(merchant, at(11 + DAY), 100).await, all[..2]);
    assert_eq!(list(other, at(0), 100).await, of_other);
    let purge = async |before, limit| harness.screening.purge_screening(at(0), before, limit).await.unwrap();
    assert_eq!(purge(at(10), 100).await, 0, "those of that moment are not from before it");
    assert_eq!([purge(at(10 + 2 * DAY), 2).await, purge(at(10 + 2 * DAY), 2).await], [2, 1], "no more than the limit");
    assert_eq!(purge(at(10 + 2 * DAY), 100).await, 0);
    assert_eq!(list(merchant, at(0), 100).await, all[..2]);
    let (order, before) = &all[3];
    let after = harness.screening.find_screening(merchant, *order).await.unwrap().unwrap();
    assert_eq!(after.facts(), &Facts::default());
    assert_eq!((after.decision(), after.score()), (before.decision(), before.score()));
    assert_eq!((after.reasons(), after.rules()), (before.reasons(), before.rules()));
    assert!(!after.reasons().is_empty());
}

pub async fn what_people_decided_labels_a_screening(harness: Arc<Harness>) {
    let [merchant, other] = [harness.merchant().await.0.id, harness.merchant().await.0.id];
    let (all, of_other) = (screened(&harness, merchant, 4).await, screened(&harness, other, 1).await);
    let decided = |order: OrderId, what: &str| {
        let decide = format!(
            "INSERT INTO history (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
             SELECT merchant_id, subject_kind, subject_id, actor_kind, actor_name, '{what}', state_after, state_after, happened_at \
             FROM history WHERE subject_id = '{order}'"
        );
        assert_eq!(harness.raw.execute(&decide), Ok(1), "it has begun and nothing else");
    };
    let list = async |since, limit| {
        let listed = harness.screening.list_labelled_screenings(merchant, since, limit).await.unwrap();
        let mut listed: Vec<_> =
            listed.into_iter().map(|(screening, label)| (screening.facts().amount_cents, label)).collect();
        listed.sort_by_key(|(amount, _)| *amount);
        listed
    };
    assert_eq!(list(at(0), 100).await, [], "nobody has decided");
    decided(all[0].0, "REVIEW_APPROVED");
    decided(all[1].0, "REVIEW_DECLINED");
    decided(all[2].0, "AUTHORIZE");
    decided(of_other[0].0, "REVIEW_DECLINED");
    let expected = [(Some(0), ScreeningLabel::Legitimate), (Some(1), ScreeningLabel::Fraud)];
    assert_eq!((list(at(0), 100).await, list(at(10), 100).await), (expected.to_vec(), expected.to_vec()));
    assert_eq!((list(at(11), 100).await.len(), list(at(0), 1).await.len()), (0, 1));
    harness.screening.purge_screening(at(0), at(11), 100).await.unwrap();
    assert_eq!(list(at(0), 100).await, [], "with the facts it goes");
}

pub async fn the_sweep_deletes_only_what_is_over(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let keys = [key(VelocityKey::Device, 1), key(VelocityKey::Card, 2)];
    let order = harness.tried(merchant, at(0), &keys).await;
    harness.tried(merchant, at(2_800), &keys[..1]).await;
    let purge = async |now, limit| harness.screening.purge_screening(now, at(0), limit).await.unwrap();
    let left = || (harness.count("velocity_counter", "1 = 1"), harness.count("payment_try", "1 = 1"));
    // The card's bucket of an hour ends at 2,800, and the try is needed for an hour longer than the day.
    assert_eq!((purge(at(DAY + 2_799), 100).await, left()), (0, (3, 2)));
    assert_eq!((purge(at(DAY + 2_800), 100).await, left()), (1, (2, 2)));
    assert_eq!((purge(at(DAY + 3_600), 100).await, left()), (1, (2, 1)));
    harness.became(order, &[PaymentTryOutcome::Declined]).await;
    let counted = harness.counted(merchant, at(DAY + 3_601), &keys[0]).await;
    assert_eq!((counted.tries, counted.declines), (1, 0), "of a try that was swept nothing is counted");
    for number in 10..20 {
        harness.tried(merchant, at(10 * DAY), &[key(VelocityKey::Ip, number)]).await;
    }
    // 12 of each are over, of both kinds so many at a time.
    assert_eq!([purge(at(20 * DAY), 8).await, purge(at(20 * DAY), 8).await], [16, 8]);
    assert_eq!((purge(at(20 * DAY), 8).await, left()), (0, (0, 0)));
    // What an older key of the ring counted and was moved is over at once.
    harness.tried(merchant, at(30 * DAY), &keys[..1]).await;
    harness.tried(merchant, at(30 * DAY), &[rotated(&keys[0], 21)]).await;
    assert_eq!((purge(at(30 * DAY), 8).await, left()), (1, (2, 2)));
}

pub async fn counts_that_cannot_be_read_are_told(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let keys = [key(VelocityKey::Device, 1)];
    let order = harness.tried(merchant, at(0), &keys).await;
    harness.raw.execute("UPDATE velocity_counter SET counts = hash").unwrap();
    let told = harness.screening.screen_try(new_try(merchant, at(1), &keys), any_decision()).await;
    assert!(matches!(&told, Err(StoreError::Corrupt { table: "velocity_counter", .. })), "{told:?}");
    // The others are counted.
    let other = harness.merchant().await.0.id;
    let counted = harness.count_try(&new_try(other, at(1), &[key(VelocityKey::Device, 2)])).await;
    assert_eq!(tries(&counted, VelocityKey::Device), [1; 3]);
    harness.raw.execute("DELETE FROM velocity_counter").unwrap();
    harness.raw.execute("UPDATE payment_try SET keys = (SELECT hash FROM velocity_counter)").unwrap_err();
    harness.became(order, &[PaymentTryOutcome::Declined]).await;
    let counted = harness.counted(merchant, at(2), &keys[0]).await;
    assert_eq!((counted.tries, counted.declines), (0, 1), "what became of a try whose counts are gone");
}
