//! What screening decides, and what becomes of the payment then (docs/SPECIFICATION.md#screening): nothing is asked twice, no attempt is stuck, and nothing
//! that screening cannot do makes a payment fail.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dropin_kernel::{AttemptId, OrderId, SessionId};
use dropin_money::Currency;
use dropin_order::{DeclineReason, FailureReason, OpKind, OrderState};
use dropin_ports::{
    IpCountries, IssuerChecks, MetricSource, OrderName, PaymentStore, PaymentTryOutcome, ProcessorReply,
    RateSourceCheck, RateSourceState, RateStore, SessionStore, StatusReply, Waiting,
};
use dropin_rates::{Dated, Quote, Rate, Source, Table};
use dropin_risk::{Decision, VelocityKey};
use dropin_session::SessionStateKind;
use dropin_store_contract::fresh;
use dropin_usecases::payments::Submitted;
use dropin_validation::Country;

use super::counts::Trouble;
use super::script::approved;
use super::world::{World, usd};

pub(crate) const VISA: &str = "4242424242424242";
/// Longer than any pause of the settler's.
pub(crate) const LATER: Duration = Duration::from_secs(60);
pub(crate) const BLOCK: (&str, u32) = ("DEVICE_CARDS_HOUR", 5);
pub(super) const CHALLENGE: (&str, u32) = ("DEVICE_CARDS_TEN_MINUTES", 4);
/// Four cards of one browser ask for authentication with these.
const STRICT: &str = "[weights]\nNEW_SHOPPER = 10";
pub(crate) async fn world(rules: &str, says: Option<(&str, u32)>) -> World {
    let world = World::screened(rules).await;
    if let Some((name, number)) = says {
        world.counts.say(name, number);
    }
    world
}

pub(crate) fn page() -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None })
}

pub(crate) fn checked(checks: IssuerChecks) -> ProcessorReply {
    ProcessorReply::Approved {
        amount: Some(usd(2_990)),
        captured: false,
        under_review: false,
        credential: None,
        checks,
    }
}

pub(crate) fn refused(reason: DeclineReason) -> ProcessorReply {
    ProcessorReply::Declined { reason, retryable: false, credential: None }
}

pub(crate) async fn pay(world: &World) -> (SessionId, Submitted) {
    let id = world.session().await;
    let submitted = world.submit_card(id, VISA).await.unwrap();
    (id, submitted)
}

/// How the Session stands, and what its browser hears.
pub(crate) fn seen(submitted: &Submitted) -> (&'static str, Option<&'static str>) {
    let progress = &submitted.progress;
    (progress.state.as_str(), progress.failed_attempt.map(|failed| failed.code.as_str()))
}

async fn attempts(world: &World, id: SessionId) -> Vec<dropin_order::Order> {
    world.store.list_attempts(id).await.unwrap()
}

pub(crate) async fn last(world: &World, id: SessionId) -> dropin_order::Order {
    attempts(world, id).await.pop().unwrap()
}

pub(crate) async fn decision(world: &World, order: OrderId) -> Option<Decision> {
    world.payments.find_screening(&world.caller, order).await.unwrap().map(|screening| screening.decision())
}

pub(super) async fn nothing_is_open(world: &World) {
    assert_eq!(world.store.list_open_operations(10).await.unwrap(), []);
}

#[tokio::test]
async fn an_allowed_payment_is_asked_for_as_ever() {
    let world = world("", None).await;
    let (id, submitted) = pay(&world).await;
    assert_eq!(seen(&submitted), ("COMPLETED", None));
    assert_eq!((world.script.challenges(), world.script.asked(OpKind::Authorize).len()), (vec![false], 1));
    let order = last(&world, id).await;
    assert_eq!(decision(&world, order.id).await, Some(Decision::Allow));
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Paid], "a new shopper is known from now on");
    // A known one costs no statement more.
    world.counts.know_since(world.now());
    pay(&world).await;
    assert_eq!((world.counts.tries().len(), world.counts.outcomes().len()), (2, 1));
}

#[tokio::test]
async fn a_payment_is_counted_by_what_is_known_of_it_and_nothing_else() {
    let world = world("", None).await;
    let (id, _) = pay(&world).await;
    let [one] = &world.counts.tries()[..] else { panic!("one try") };
    let keys: Vec<_> = one.keys.iter().map(|key| key.key).collect();
    let is_sent = |key: &VelocityKey| !matches!(key, VelocityKey::Profile | VelocityKey::Merchant);
    let sent: Vec<_> = VelocityKey::ALL.into_iter().filter(is_sent).collect();
    assert_eq!(keys, sent, "no BillingProfileReference was sent, and the merchant is known");
    assert_eq!(&one.keys[0].hash.0[..16], VISA.as_bytes(), "the number, which is hashed by the ring");
    let (session, order) = (world.stored(id).await, last(&world, id).await);
    let screening = world.counts.kept(order.id).unwrap();
    let facts = screening.facts();
    let billing = &session.terms.billing.details;
    assert_eq!(facts.email.as_ref().map(|email| email.as_str()), Some(billing.email.as_str()));
    assert_eq!(facts.billing_country, Some(billing.address.country));
    assert_eq!((facts.card_country, facts.funding, facts.ip_country), (None, None, None), "nothing is guessed");
    assert_eq!(facts.ip, "192.0.2.7".parse().ok());
    assert_eq!((facts.time_zone_country, facts.language_country), ("AT".parse().ok(), "DE".parse().ok()));
    assert_eq!(facts.amount_cents, None, "there is no rate");
    // A server's checkout by a method without a card.
    world.checkout("PAYPAL", false).await;
    let keys: Vec<_> = world.counts.tries()[1].keys.iter().map(|key| key.key).collect();
    assert_eq!(keys, [VelocityKey::Device, VelocityKey::Email]);
}

#[tokio::test]
async fn a_total_is_screened_in_euros_at_the_newest_rate() {
    let world = world("", None).await;
    know_rates(&world).await;
    let (id, _) = pay(&world).await;
    let order = last(&world, id).await;
    assert_eq!(world.counts.kept(order.id).unwrap().facts().amount_cents, Some(2_500), "29.90 USD");
    assert_eq!(world.counts.tries()[0].amount_cents, 2_500);
}

/// A euro is worth 1.196 dollars.
pub(crate) async fn know_rates(world: &World) {
    let quote = Quote { rate: Rate::parse("1.196").unwrap(), dated: Dated::Always, source: Source::Sandbox };
    let now = world.now();
    let state = RateSourceState {
        checked_at: now,
        next_at: now.plus(LATER),
        stale_at: None,
        left_behind: Vec::new(),
        problem: None,
        refused: Vec::new(),
    };
    let table = Some(Table::from_iter([(Currency::Usd, quote)]));
    world.store.record_source_check(RateSourceCheck { expected: 0, table, state }).await.unwrap();
}

#[tokio::test]
async fn a_blocked_payment_is_declined_unasked() {
    let world = world("", Some(BLOCK)).await;
    let (id, submitted) = pay(&world).await;
    assert_eq!(seen(&submitted), ("CREATED", Some("PAYMENT_DECLINED")), "as any decline");
    assert_eq!((world.script.asked(OpKind::Authorize), world.script.questions()), (vec![], 0));
    nothing_is_open(&world).await;
    let order = last(&world, id).await;
    assert_eq!((order.state, order.failure), (OrderState::ProcessingFailed, Some(FailureReason::Declined)));
    assert_eq!(decision(&world, order.id).await, Some(Decision::Block));
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Blocked]);
    assert_eq!(world.settle_after(LATER).await, 0);
    // What the issuer refuses is heard by the browser in the same words.
    world.counts.say("DEVICE_CARDS_HOUR", 1);
    world.script.say(OpKind::Authorize, refused(DeclineReason::Generic));
    let declined = world.submit_card(id, VISA).await.unwrap();
    assert_eq!(seen(&declined), seen(&submitted));
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Blocked, PaymentTryOutcome::Declined]);
    // The shopper pays in the end.
    assert_eq!(seen(&world.submit_card(id, VISA).await.unwrap()), ("COMPLETED", None));
}

#[tokio::test]
async fn a_blocked_checkout_is_refused_unasked() {
    let world = world("", Some(BLOCK)).await;
    let (id, told) = world.checkout("PAYPAL", true).await;
    assert_eq!((told.status, world.state(id).await), (402, "PROCESSING_FAILED"));
    assert!(super::world::body(&told).contains("PAYMENT_DECLINED"), "{}", super::world::body(&told));
    assert_eq!(world.script.asked(OpKind::Authorize), []);
    nothing_is_open(&world).await;
    // The answer names it, so the merchant can read of the block, by its id and by its reference.
    let shown = world.payments.order(&world.caller, &OrderName::Id(id)).await.unwrap().order;
    let named = OrderName::Reference(shown.merchant_reference.clone());
    assert_eq!(world.payments.order(&world.caller, &named).await.unwrap().order.id, id);
    assert_eq!(decision(&world, id).await, Some(Decision::Block));
}

#[tokio::test]
async fn a_challenge_counts_as_declined_until_it_is_passed() {
    let world = world(STRICT, Some(CHALLENGE)).await;
    world.script.say(OpKind::Authorize, page());
    let (id, submitted) = pay(&world).await;
    assert_eq!((seen(&submitted).0, world.script.challenges()), ("REDIRECTED", vec![true]));
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Challenged]);
    world.script.know(approved(&usd(2_990)));
    world.settle_after(LATER).await;
    let order = last(&world, id).await;
    assert_eq!((order.state, order.under_review), (OrderState::PaymentAuthorized, false));
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Challenged, PaymentTryOutcome::Paid]);
    assert_eq!(decision(&world, order.id).await, Some(Decision::Challenge), "as it was decided");
}

#[tokio::test]
async fn a_challenge_that_is_failed_is_a_decline() {
    let world = world(STRICT, Some(CHALLENGE)).await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = pay(&world).await;
    world.script.know(refused(DeclineReason::AuthenticationFailed));
    world.settle_after(LATER).await;
    assert_eq!(last(&world, id).await.failure, Some(FailureReason::AuthenticationFailed));
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Challenged, PaymentTryOutcome::Declined]);
    // And so is one that the shopper leaves.
    world.script.say(OpKind::Authorize, page());
    let attempt = AttemptId::new(fresh());
    world.submit(id, attempt, "PAYPAL").await.unwrap();
    world.script.on_abandon(StatusReply::Known(refused(DeclineReason::PageClosed)));
    world.shopper.pay_another_way(id, attempt).await.unwrap();
    assert_eq!(world.counts.outcomes()[2..], [PaymentTryOutcome::Challenged, PaymentTryOutcome::Declined]);
}

/// A file that knows the country of one network.
struct OneNetwork(&'static str);

impl IpCountries for OneNetwork {
    fn country_of(&self, address: IpAddr) -> Option<Country> {
        address.to_string().starts_with(self.0).then(|| "AT".parse().unwrap())
    }
}

#[tokio::test]
async fn the_country_of_the_address_is_what_the_operators_file_says() {
    for (network, expected) in [("192.0.2.", "AT".parse().ok()), ("203.0.113.", None)] {
        let mut world = world("", None).await;
        let screening = world.shopper.payments.screening.clone();
        world.shopper.payments.screening = screening.with_ip_countries(Arc::new(OneNetwork(network)));
        let (id, _) = pay(&world).await;
        let screening = world.counts.kept(last(&world, id).await.id).unwrap();
        assert_eq!((screening.facts().ip, screening.facts().ip_country), ("192.0.2.7".parse().ok(), expected));
    }
}

#[tokio::test]
async fn nothing_that_screening_cannot_do_makes_a_payment_fail() {
    for trouble in [Some(Trouble::Away), Some(Trouble::Silent), None] {
        let world = world("", Some(BLOCK)).await;
        world.counts.be_in(trouble);
        world.keyring.is_away.store(trouble.is_none(), Ordering::SeqCst);
        let (id, submitted) = pay(&world).await;
        assert_eq!(seen(&submitted), ("COMPLETED", None), "{trouble:?}");
        let metrics = world.payments.screening.metrics().collect_metrics().await.unwrap();
        let failures = metrics.iter().find(|metric| metric.name == "dropin_screening_failures_total").unwrap();
        assert!(failures.samples().iter().any(|sample| 0 < sample.value), "{failures:?}");
        world.counts.be_in(None);
        let order = last(&world, id).await;
        let expected = trouble.is_none().then_some(Decision::Allow);
        assert_eq!(decision(&world, order.id).await, expected, "{trouble:?}: screened without counts");
        nothing_is_open(&world).await;
    }
}

#[tokio::test]
async fn a_program_that_dies_between_counting_and_asking_leaves_no_attempt_stuck() {
    let cases = [
        (None, "PROCESSOR_UNAVAILABLE", vec![]),
        // What was decided stands, whoever writes it down.
        (Some(BLOCK), "PAYMENT_DECLINED", vec![PaymentTryOutcome::Blocked]),
    ];
    for (says, failure, outcomes) in cases {
        let world = Arc::new(world("", says).await);
        world.counts.be_in(Some(Trouble::DiesAfterScreening));
        let id = world.session().await;
        let dying = world.clone();
        let submit = tokio::spawn(async move { dying.submit_card(id, VISA).await.map(drop) });
        assert!(submit.await.is_err(), "the program was to die");
        world.counts.be_in(None);
        assert_eq!(world.stored(id).await.state.kind(), SessionStateKind::Processing);
        assert_eq!(world.settle_after(LATER).await, 1);
        nothing_is_open(&world).await;
        let ended = last(&world, id).await.failure.map(|failure| failure.as_str());
        assert_eq!((ended, world.counts.outcomes()), (Some(failure), outcomes), "{says:?}");
        assert_eq!(world.script.asked(OpKind::Authorize), [], "nothing was asked under its key");
        world.counts.say("DEVICE_CARDS_HOUR", 1);
        assert_eq!(seen(&world.submit_card(id, VISA).await.unwrap()), ("COMPLETED", None));
    }
}

#[tokio::test]
async fn a_merchant_whose_payments_are_not_screened_is_only_looked_at() {
    let world = World::new().await;
    let (id, submitted) = pay(&world).await;
    assert_eq!(seen(&submitted), ("COMPLETED", None));
    assert_eq!((world.counts.tries(), world.counts.outcomes()), (vec![], vec![]));
    assert_eq!(decision(&world, last(&world, id).await.id).await, None);
}

/// The digits are the card's own however they are typed.
#[tokio::test]
async fn a_card_is_counted_by_its_digits() {
    let world = world("", None).await;
    for number in ["4242 4242-4242 4242", VISA] {
        let id = world.session().await;
        world.submit_card(id, number).await.unwrap();
    }
    let cards: Vec<_> = world.counts.tries().into_iter().map(|one| one.keys[0].hash).collect();
    assert_eq!(cards[0], cards[1]);
}
