//! A score from outside: asked for where the rules give it a weight, waited for so long and no longer, and kept with the Order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OrderId};
use dropin_order::OpKind;
use dropin_ports::{MetricSource, OutsideScoreUnavailable, OutsideScorer};
use dropin_risk::{Decision, Facts, OutsideScore, Score};

use super::screening::{last, pay, seen, world};
use super::world::World;

const RULES: &str = "[outside]\nWEIGHT = 90\nDEFAULT = 50";

/// Says what the case wants; nothing at all where it wants nothing.
#[derive(Default)]
struct Scorer {
    says: Mutex<Option<Result<OutsideScore, OutsideScoreUnavailable>>>,
    asked: AtomicUsize,
}

#[async_trait]
impl OutsideScorer for Scorer {
    async fn score_payment(
        &self,
        _: OrderId,
        _: MerchantId,
        facts: &Facts,
    ) -> Result<OutsideScore, OutsideScoreUnavailable> {
        assert!(facts.email.is_some() && facts.outside.is_none());
        self.asked.fetch_add(1, Ordering::SeqCst);
        let says = self.says.lock().unwrap().clone();
        match says {
            Some(says) => says,
            None => std::future::pending().await,
        }
    }
}

async fn scoring(rules: &str, says: Option<Result<OutsideScore, OutsideScoreUnavailable>>) -> (World, Arc<Scorer>) {
    let mut world = world(rules, None).await;
    let scorer = Arc::new(Scorer { says: Mutex::new(says), ..Scorer::default() });
    let screening = world.shopper.payments.screening.clone();
    world.shopper.payments.screening = screening.with_outside_score(scorer.clone());
    (world, scorer)
}

fn said(score: u8) -> OutsideScore {
    OutsideScore { score: Score::try_from(score).ok(), reasons: vec!["PROXY".parse().unwrap()] }
}

async fn failures(world: &World) -> u64 {
    let metrics = world.shopper.payments.screening.metrics().collect_metrics().await.unwrap();
    let failures = metrics.iter().find(|metric| metric.name == "dropin_screening_failures_total").unwrap();
    let is_score = |labels: &[(&str, std::borrow::Cow<'_, str>)]| labels.iter().any(|(_, value)| value == "score");
    failures.samples().iter().find(|sample| is_score(&sample.labels)).unwrap().value
}

#[tokio::test]
async fn a_score_from_outside_decides_by_its_weight_and_is_kept() {
    let (world, scorer) = scoring(RULES, Some(Ok(said(100)))).await;
    let (id, submitted) = pay(&world).await;
    assert_eq!((seen(&submitted).0, world.script.asked(OpKind::Authorize).len()), ("CREATED", 0), "blocked");
    let kept = world.counts.kept(last(&world, id).await.id).unwrap();
    assert_eq!((kept.decision(), kept.facts().outside.clone()), (Decision::Block, Some(said(100))));
    *scorer.says.lock().unwrap() = Some(Ok(said(0)));
    assert_eq!(seen(&pay(&world).await.1), ("COMPLETED", None));
    assert_eq!((scorer.asked.load(Ordering::SeqCst), failures(&world).await), (2, 0));
}

#[tokio::test]
async fn the_default_stands_for_a_service_that_is_away_or_slow() {
    let away = Some(Err(OutsideScoreUnavailable("away".to_owned())));
    for says in [away, None] {
        let (world, _) = scoring(RULES, says).await;
        let begun = Instant::now();
        let (id, _) = pay(&world).await;
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        let kept = world.counts.kept(last(&world, id).await.id).unwrap();
        let reasons: Vec<_> = kept.reasons().iter().map(ToString::to_string).collect();
        assert_eq!(reasons, ["OUTSIDE_SCORE +45", "NEW_SHOPPER +5", "LANGUAGE_IS_FOREIGN +5"]);
        assert_eq!((kept.decision(), failures(&world).await), (Decision::Challenge, 1));
    }
}

#[tokio::test]
async fn nobody_is_asked_without_a_weight() {
    let (world, scorer) = scoring("", Some(Ok(said(100)))).await;
    let (id, submitted) = pay(&world).await;
    assert_eq!(seen(&submitted), ("COMPLETED", None));
    assert_eq!(scorer.asked.load(Ordering::SeqCst), 0);
    assert_eq!(world.counts.kept(last(&world, id).await.id).unwrap().facts().outside, None);
}
