use std::sync::{Arc, Mutex};

use dropin_kernel::{EventId, MerchantId, OrderId, PaymentId};
use dropin_ports::{
    ALARM_LASTS, CountedPaymentTry, NewEvent, NewPaymentTry, ScreenedPaymentTry, StoreError, TryScreening,
};
use dropin_risk::{
    Decision, FactText, Facts, IssuerChecks, Rules, Screening, ScreeningLabel, VelocityCounts, VelocityKey,
    VelocitySum, VelocityWindow,
};

use super::velocity::{key, new_try};
use crate::Harness;
use crate::values::{at, fresh};

const DAY: u64 = 86_400;

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
    assert_eq!(again, ScreenedPaymentTry { is_kept: false, ..one });
    // Of an Order that the merchant does not have the try counts alone.
    let keys = [key(VelocityKey::Device, 2)];
    let unscreened = harness.submitted(merchant).await.order.id;
    let foreign = |order_id| NewPaymentTry { order_id, ..new_try(other, at(0), &keys) };
    for (new, tries) in [(new_try(merchant, at(1), &keys), 7), (foreign(new.order_id), 0), (foreign(unscreened), 1)] {
        let one = harness.screening.screen_try(new.clone(), deciding(&heard)).await.unwrap();
        assert!(!one.is_kept);
        assert_eq!(one.counted.velocity.sum(VelocityKey::Merchant, VelocityWindow::Day).unwrap().counts.tries, tries);
    }
    for (merchant, order) in [(other, new.order_id), (other, unscreened), (merchant, unscreened)] {
        assert_eq!(harness.screening.find_screening(merchant, order).await, Ok(None));
    }
    assert_eq!(harness.screening.find_screening(merchant, new.order_id).await, Ok(Some(again.screening)));
}

pub async fn a_count_that_comes_late_replaces_no_decision(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let order = harness.submitted(merchant).await.order.id;
    let keys = [key(VelocityKey::Device, 1)];
    // Who waited for the count no longer has decided without it.
    let decided = Rules::built_in().screen(Facts::default());
    harness.screening.put_screening(order, merchant, decided.clone()).await.unwrap();
    let late = NewPaymentTry { order_id: order, ..new_try(merchant, at(0), &keys) };
    let review: TryScreening = Arc::new(|_| Rules::built_in().screen(facts(7)));
    for _ in 0..2 {
        let counted = harness.screening.screen_try(late.clone(), review.clone()).await.unwrap();
        assert!(!counted.is_kept && counted.screening != decided);
        let tries = counted.counted.velocity.sum(VelocityKey::Device, VelocityWindow::Day).unwrap().counts.tries;
        assert_eq!(tries, 1, "it counts, once");
        assert_eq!(harness.screening.find_screening(merchant, order).await, Ok(Some(decided.clone())));
    }
}

pub async fn a_reason_of_another_release_stays_as_it_is(harness: Arc<Harness>) {
    let merchant = harness.merchant().await.0.id;
    let order = harness.submitted(merchant).await.order.id;
    let decided = Rules::built_in().screen(facts(7));
    harness.screening.put_screening(order, merchant, decided.clone()).await.unwrap();
    let of_another = "UPDATE screening SET verdict = replace(verdict, 'CARD_IS_PREPAID', 'MERCHANT_CARDS_DAY')";
    assert_eq!(harness.raw.execute(of_another), Ok(1));
    let found = harness.screening.find_screening(merchant, order).await.unwrap().unwrap();
    let codes = |screening: &Screening| screening.reasons().iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected: Vec<_> =
        codes(&decided).iter().map(|code| code.replace("CARD_IS_PREPAID", "MERCHANT_CARDS_DAY")).collect();
    assert_eq!((found.decision(), codes(&found)), (decided.decision(), expected.clone()));
    assert!(expected.contains(&"MERCHANT_CARDS_DAY +5".to_owned()), "{expected:?}");
    harness.screening.put_screening(order, merchant, found.clone()).await.unwrap();
    assert_eq!(harness.screening.find_screening(merchant, order).await, Ok(Some(found)));
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
