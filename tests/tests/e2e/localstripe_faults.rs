//! Kills and an outage at localstripe, behind a proxy that keeps answers back or lets nothing through.

use std::time::{Duration, Instant};

use dropin_processor_contract::{FaultProxy, ProxyFault};
use dropin_processor_stripe::API_VERSION;
use dropin_tests::{Stashed, Topology, World, cards, until};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use crate::localstripe::{compared, proxied};
use crate::stripe::KeyFile;
use crate::{AUTHORIZED, PAID, come_to_rest};

/// Within this after Stripe is back, everything is settled.
const SETTLED: Duration = Duration::from_secs(60);
/// Payments under way when it goes, and in each second that it is away.
const LOAD: usize = 4;

/// How long Stripe is away: a minute with `DROPIN_STRIPE_AWAY_SECONDS=60`.
fn away() -> Duration {
    let chosen = std::env::var("DROPIN_STRIPE_AWAY_SECONDS").ok();
    let seconds = chosen.map_or(10, |text| text.parse().expect("DROPIN_STRIPE_AWAY_SECONDS is a number"));
    Duration::from_secs(seconds)
}

/// A deployment that pays at localstripe behind the proxy.
struct Deployment {
    world: World,
    proxy: FaultProxy,
    /// How commands find localstripe: not by the proxy, which stops while a test waits for a command.
    settings: [(&'static str, String); 3],
    _key: KeyFile,
}

impl Deployment {
    async fn start(topology: Topology) -> Self {
        let (key, localstripe) = (KeyFile::new(proxied::KEY), proxied::start().await);
        let proxy = FaultProxy::start(localstripe).await;
        let path = key.path.display().to_string();
        let settings =
            [("PROCESSOR", "stripe".to_owned()), ("PROCESSOR_URL", proxy.base()), ("PROCESSOR_KEY_FILE", path)];
        let world = World::start_with(topology, &pairs(&settings)).await;
        let [kind, (url, _), key_file] = settings;
        let settings = [kind, (url, format!("http://{localstripe}")), key_file];
        Self { world, proxy, settings, _key: key }
    }

    /// A Session to be paid at once, and a card that waits for it.
    async fn payment(&self) -> (String, Stashed) {
        let session = self.world.merchant.create_session(json!({"AutoCapture": true})).await;
        let attempt = self.world.shopper(&session).stash("localstripe", cards::VISA).await;
        (session, attempt)
    }

    /// Nothing is open, and our books fit localstripe's lists; what each of its intents took, in cents.
    async fn finish(self, within: Duration) -> Vec<i64> {
        let report = compared(&self.world, &pairs(&self.settings), within).await;
        assert_eq!(report["Clean"], true, "{report}");
        let mut intents: Vec<Value> = Vec::new();
        loop {
            let after = intents
                .last()
                .map_or_else(String::new, |one| format!("&starting_after={}", one["id"].as_str().unwrap()));
            let list = awc::Client::default().get(format!("{}/v1/payment_intents?limit=100{after}", self.proxy.base()));
            let list = list.bearer_auth(proxied::KEY).insert_header(("Stripe-Version", API_VERSION));
            let listed: Value = list.send().await.unwrap().json().limit(1 << 20).await.unwrap();
            intents.extend(listed["data"].as_array().unwrap().iter().cloned());
            if listed["has_more"] != true {
                break;
            }
        }
        assert!(intents.iter().all(|one| one["status"] != "requires_capture"), "nothing stays reserved: {intents:?}");
        self.world.finish_at_another_processor().await;
        let taken = intents.iter().map(|one| one["amount_received"].as_i64().unwrap());
        taken.filter(|taken| 0 < *taken).collect()
    }
}

fn pairs<'a>(settings: &'a [(&'static str, String); 3]) -> [(&'static str, &'a str); 3] {
    settings.each_ref().map(|(name, value)| (*name, value.as_str()))
}

/// kill -9 while Stripe is asked: before it has an intent's confirmation, and after, before we have written anything down. What was confirmed is found and
/// charged once; what was not never is.
async fn killed_around_a_confirmation_at_localstripe(topology: Topology) {
    let mut deployment = Deployment::start(topology).await;
    let points = [
        ("POST /v1/payment_intents ", ProxyFault::SilenceAfter, "CREATED"),
        ("/confirm ", ProxyFault::Silence, "CREATED"),
        ("/confirm ", ProxyFault::SilenceAfter, "COMPLETED"),
        ("/capture ", ProxyFault::SilenceAfter, "COMPLETED"),
    ];
    let mut payments = Vec::new();
    for _ in &points {
        payments.push(deployment.payment().await);
    }
    let shoppers: Vec<_> =
        payments.iter().map(|(session, attempt)| (deployment.world.shopper(session), attempt)).collect();
    let (process, proxy) = (deployment.world.programs.process_of("checkout-api"), deployment.proxy.clone());
    let submits = shoppers.iter().zip(&points).enumerate().map(|(number, ((shopper, attempt), (call, fault, _)))| {
        let (proxy, call, fault) = (proxy.clone(), *call, fault.clone());
        async move {
            // One after the other: the proxy does one thing at a time.
            until("the one before is left without an answer", SETTLED, async || {
                (number <= proxy.silent()).then_some(())
            })
            .await;
            proxy.fault(move |line| line.contains(call), fault);
            shopper.try_submit(1, attempt).await
        }
    });
    let (answers, ()) = join(join_all(submits), async {
        until("all are left without an answer", SETTLED, async || (points.len() == proxy.silent()).then_some(())).await;
        process.kill();
    })
    .await;
    // The first ones may have been told meanwhile that it takes longer; nobody waits for the capture.
    assert!(answers[2].is_err(), "the connection died with the process: {answers:?}");
    deployment.world.programs.process_of("checkout-api").restart();
    deployment.world.programs.wait_until_ready().await;
    for ((session, attempt), (call, fault, expected)) in payments.iter().zip(&points) {
        assert_eq!(come_to_rest(&deployment.world, session, attempt).await, *expected, "{call} {fault:?}");
    }
    for ((session, _), _) in payments.iter().zip(&points).filter(|(_, (_, _, end))| *end == "COMPLETED") {
        deployment.world.receiver.expect(session, &PAID).await;
    }
    assert_eq!(deployment.finish(SETTLED).await, [2_990, 2_990], "each once");
}

#[actix_web::test]
async fn killed_around_a_confirmation_at_localstripe_by_all_in_one_on_sqlite() {
    killed_around_a_confirmation_at_localstripe(Topology::AllInOne).await;
}

#[actix_web::test]
async fn killed_around_a_confirmation_at_localstripe_by_every_program_on_postgresql() {
    killed_around_a_confirmation_at_localstripe(Topology::Split).await;
}

/// Stripe is away while shoppers pay, and while merchants capture, cancel and refund. Each hears something, and once it is back all of it is settled within a
/// minute, nothing twice.
async fn localstripe_is_away_under_load(topology: Topology) {
    let deployment = Deployment::start(topology).await;
    let (world, proxy) = (&deployment.world, &deployment.proxy);
    let captured = world.authorized(cards::VISA).await;
    let given_up = world.authorized(cards::VISA).await;
    let refunded = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
    world.receiver.expect(&refunded.session, &PAID).await;
    let mut payments = Vec::new();
    for _ in 0..LOAD {
        payments.push(deployment.payment().await);
    }
    // It goes while they are paid.
    let submits = join_all(payments.iter().map(async |(session, attempt)| {
        drop(world.shopper(session).try_submit(1, attempt).await);
    }));
    let goes = async {
        until("a payment has begun", SETTLED, async || {
            let state = world.shopper(&payments[0].0).progress().await["State"].clone();
            (state != "CREATED").then_some(())
        })
        .await;
        proxy.set_away(true);
    };
    join(submits, goes).await;
    let gone = Instant::now();
    for answer in [
        world.merchant.capture(&captured.order, None).await,
        world.merchant.cancel_order(&given_up.order).await,
        world.merchant.refund(&refunded.order, "away", Some("1.00")).await,
    ] {
        assert!(answer.status < 300, "{} {}", answer.status, answer.text());
    }
    while gone.elapsed() < away() {
        let second = Instant::now();
        for _ in 0..LOAD {
            let (session, attempt) = deployment.payment().await;
            let answer = world.shopper(&session).submit(1, &attempt).await;
            assert!([200, 503].contains(&answer.status), "{} {}", answer.status, answer.text());
            payments.push((session, attempt));
        }
        tokio::time::sleep(Duration::from_secs(1).saturating_sub(second.elapsed())).await;
    }
    proxy.set_away(false);
    let healed = Instant::now();
    let mut paid = 2;
    for (session, attempt) in &payments {
        if come_to_rest(world, session, attempt).await == "COMPLETED" {
            world.receiver.expect(session, &PAID).await;
            paid += 1;
        }
    }
    world.receiver.expect(&captured.session, &PAID).await;
    world.receiver.expect(&given_up.session, &[&AUTHORIZED[..], &["ORDER_CANCELLED"]].concat()).await;
    world.receiver.expect(&refunded.session, &[&PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;
    let left = SETTLED.saturating_sub(healed.elapsed());
    let taken = deployment.finish(left).await;
    println!(
        "{} of {} payments paid, all settled {:?} after Stripe was back",
        paid - 2,
        payments.len(),
        healed.elapsed()
    );
    assert_eq!(taken, vec![2_990; paid]);
}

#[actix_web::test]
async fn localstripe_is_away_under_load_by_all_in_one_on_sqlite() {
    localstripe_is_away_under_load(Topology::AllInOne).await;
}

#[actix_web::test]
async fn localstripe_is_away_under_load_by_every_program_on_postgresql() {
    localstripe_is_away_under_load(Topology::Split).await;
}
