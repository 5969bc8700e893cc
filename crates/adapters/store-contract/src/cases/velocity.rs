use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{
    CARD_FACTS_LIFETIME, CardAuthentication, CardFacts, CountableOutcome, CountedPaymentTry, EXEMPTED_LIFETIME,
    HashedVelocityKey, KNOWN_SHOPPER_LIFETIME, NewPaymentTry, PaymentTryOutcome, StoreError, TryScreening,
    VelocityHash,
};
use dropin_risk::{CardFunding, Facts, Rules, Screening, VelocityCounts, VelocityKey, VelocitySum, VelocityWindow};

use crate::Harness;
use crate::values::{at, fresh};

const DAY: u64 = 86_400;

/// A key whose hash begins with `number`; another for each kind.
pub(super) fn key(key: VelocityKey, number: u16) -> HashedVelocityKey {
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

pub(super) fn new_try(merchant: MerchantId, at: Timestamp, keys: &[HashedVelocityKey]) -> NewPaymentTry {
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

pub async fn what_was_told_of_a_card_is_known_of_it_later(harness: Arc<Harness>) {
    use PaymentTryOutcome::{Authorized, Declined, Paid};
    let merchant = harness.merchant().await.0.id;
    let card = key(VelocityKey::Card, 1);
    let keys = [card.clone(), key(VelocityKey::Device, 2)];
    let facts =
        |country: &str, funding: &str| CardFacts { country: country.parse().ok(), funding: funding.parse().ok() };
    let told = async |order, outcome, card| {
        let told = CountableOutcome { card, ..CountableOutcome::plain(outcome) };
        harness.screening.count_outcome(order, told).await.unwrap();
    };
    let known =
        async |second, keys: &[HashedVelocityKey]| harness.count_try(&new_try(merchant, at(second), keys)).await.card;
    let nothing = CardFacts::default();
    let first = harness.tried(merchant, at(0), &keys).await;
    assert_eq!(known(0, &keys).await, nothing);
    told(first, Paid, facts("AU", "CREDIT")).await;
    assert_eq!(known(1, &keys).await, facts("AU", "CREDIT"));
    assert_eq!(known(1, &keys[1..]).await, nothing, "nobody knows which card");
    assert_eq!(known(1, &[key(VelocityKey::Card, 3)]).await, nothing, "another card");
    // Who is told nothing takes nothing back, and what is told last stands: each try tells once.
    for (outcome, facts) in [(Paid, nothing), (Authorized, facts("FR", "")), (Declined, nothing)] {
        let next = harness.tried(merchant, at(2), &keys).await;
        told(next, outcome, facts).await;
        told(next, outcome, CardFacts { funding: Some(CardFunding::Debit), ..facts }).await;
    }
    assert_eq!(known(3, &keys).await, facts("FR", ""));
    // It outlasts every window and the rotation of the key.
    harness.screening.purge_screening(at(3 * DAY), at(0), 100).await.unwrap();
    assert_eq!(harness.count("velocity_counter", "1 = 1"), 1, "the others are over");
    let new_card = rotated(&card, 11);
    assert_eq!(known(3 * DAY, std::slice::from_ref(&new_card)).await, facts("FR", ""));
    let newest = [HashedVelocityKey { former: vec![], ..new_card }];
    let lifetime = CARD_FACTS_LIFETIME.as_secs();
    harness.screening.purge_screening(at(lifetime - 60), at(0), 100).await.unwrap();
    assert_eq!(known(lifetime - 60, &newest).await, facts("FR", ""));
    assert_eq!(known(lifetime + 60, &newest).await, nothing);
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
    let again = harness.tried(merchant, at(35), &both).await;
    harness.became(again, &[PaymentTryOutcome::Paid]).await;
    assert_eq!(known(at(40), &both[..1]).await, Some(at(10)), "the first time, however often they pay");
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

pub async fn damaged_counts_begin_anew_and_those_of_a_newer_program_stay(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let keys = [key(VelocityKey::Device, 1)];
    let order = harness.tried(merchant, at(0), &keys).await;
    harness.tried(merchant, at(0), &keys).await;
    // Of both rows, the merchant's own and the browser's.
    assert_eq!(harness.raw.execute("UPDATE velocity_counter SET counts = substr(counts, 1, 3)"), Ok(2));
    for expected in [1, 2] {
        let counted = harness.count_try(&new_try(merchant, at(1), &keys)).await;
        let of = |kind| tries(&counted, kind)[2];
        assert_eq!((of(VelocityKey::Merchant), of(VelocityKey::Device)), (expected, expected));
    }
    harness.raw.execute("UPDATE velocity_counter SET counts = substr(counts, 1, 3)").unwrap();
    harness.became(order, &[PaymentTryOutcome::Declined]).await;
    let counted = harness.counted(merchant, at(2), &keys[0]).await;
    assert_eq!((counted.tries, counted.declines), (0, 1), "what became of a try whose counts are gone");
    let newer = if harness.raw.execute("SELECT now()").is_ok() { "set_byte(counts, 0, 200)" } else { "x'c8'" };
    harness.raw.execute(&format!("UPDATE velocity_counter SET counts = {newer}")).unwrap();
    let told = harness.screening.screen_try(new_try(merchant, at(3), &keys), any_decision()).await;
    assert!(matches!(&told, Err(StoreError::Corrupt { table: "velocity_counter", .. })), "{told:?}");
    // The others are counted.
    let other = harness.merchant().await.0.id;
    let counted = harness.count_try(&new_try(other, at(1), &[key(VelocityKey::Device, 2)])).await;
    assert_eq!(tries(&counted, VelocityKey::Device), [1; 3]);
}
