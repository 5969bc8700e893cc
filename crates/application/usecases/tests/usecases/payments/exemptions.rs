//! Exemptions from strong authentication: what the processor is asked for, and what is counted of it (docs/SPECIFICATION.md#exemptions).

use dropin_order::OpKind;
use dropin_ports::{CardAuthentication, CardFacts, IssuerChecks, PaymentTryOutcome, ProcessorReply};
use dropin_risk::{CardFunding, Decision, ScaExemption};

use super::screening::{LATER, checked, decision, know_rates, last, page, pay, seen, world};
use super::script::approved;
use super::world::{World, usd};

/// A payment of the world is worth 25 euros.
const LOW_VALUE: &str = "[exemptions]\nLOW_VALUE = '30.00 EUR'";

async fn exempting(rules: &str, payments: u32) -> World {
    let world = world(rules, None).await;
    know_rates(&world).await;
    world.counts.say_exempted(payments);
    world.counts.know_since(world.now());
    world
}

fn authenticated() -> ProcessorReply {
    checked(IssuerChecks { authenticated: Some(true), ..IssuerChecks::default() })
}

#[tokio::test]
async fn a_low_value_is_exempted_and_counted_until_the_sixth() {
    let world = exempting(LOW_VALUE, 4).await;
    let (id, submitted) = pay(&world).await;
    assert_eq!(seen(&submitted), ("COMPLETED", None));
    assert_eq!(
        (world.script.exemptions(), world.script.challenges()),
        (vec![Some(ScaExemption::LowValue)], vec![false])
    );
    assert_eq!(world.counts.authentications(), [CardAuthentication::Exempted(2_500)], "of a known shopper, too");
    let order = last(&world, id).await;
    let screening = world.payments.find_screening(&world.caller, order.id).await.unwrap().unwrap();
    assert_eq!(screening.exemption(), Some(ScaExemption::LowValue), "the merchant sees it");
    world.counts.say_exempted(5);
    pay(&world).await;
    assert_eq!(world.script.exemptions(), [Some(ScaExemption::LowValue), None]);
    assert_eq!(world.counts.authentications().len(), 1, "what changes nothing costs no statement");
}

#[tokio::test]
async fn none_is_asked_for_by_the_rules_that_are_built_in() {
    let world = exempting("", 0).await;
    let (id, _) = pay(&world).await;
    assert_eq!(world.script.exemptions(), [None]);
    let kept = world.counts.kept(last(&world, id).await.id).unwrap();
    assert_eq!((kept.facts().exempted, kept.exemption()), (None, None), "nothing that an older program cannot read");
    assert_eq!(world.counts.outcomes(), []);
}

/// The issuer refuses the exemption, and the shopper authenticates in the same attempt.
#[tokio::test]
async fn a_refused_exemption_is_a_challenge_of_the_same_attempt() {
    let world = exempting(LOW_VALUE, 2).await;
    world.script.say(OpKind::Authorize, page());
    let (id, submitted) = pay(&world).await;
    assert_eq!(
        (seen(&submitted), world.script.exemptions()),
        (("REDIRECTED", None), vec![Some(ScaExemption::LowValue)])
    );
    assert_eq!(world.counts.outcomes(), [], "the issuer asks for it, not screening");
    world.script.know(authenticated());
    world.settle_after(LATER).await;
    let order = last(&world, id).await;
    assert_eq!(decision(&world, order.id).await, Some(Decision::Allow));
    assert_eq!(world.counts.authentications(), [CardAuthentication::Authenticated], "those before count no more");
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Paid]);
    assert_eq!(world.script.asked(OpKind::Authorize).len(), 1, "one attempt");
}

#[tokio::test]
async fn an_authentication_ends_what_was_exempted_before() {
    let world = exempting(LOW_VALUE, 5).await;
    world.script.say(OpKind::Authorize, authenticated());
    pay(&world).await;
    assert_eq!(
        (world.script.exemptions(), world.counts.authentications()),
        (vec![None], vec![CardAuthentication::Authenticated])
    );
    world.counts.say_exempted(0);
    world.script.say(OpKind::Authorize, authenticated());
    pay(&world).await;
    assert_eq!(world.counts.authentications().len(), 1, "there is nothing to end");
}

#[tokio::test]
async fn a_payment_that_is_to_be_challenged_is_never_exempted() {
    let world = exempting(&format!("{LOW_VALUE}\n[rules]\nASK = 'AMOUNT > 1.00 EUR then CHALLENGE'"), 0).await;
    pay(&world).await;
    assert_eq!((world.script.exemptions(), world.script.challenges()), (vec![None], vec![true]));
}

#[tokio::test]
async fn a_wallet_and_a_method_without_a_card_have_no_exemption() {
    let world = exempting(&format!("{LOW_VALUE}\nTRANSACTION_RISK_ANALYSIS = '500.00 EUR'"), 0).await;
    world.script.say(OpKind::Authorize, approved(&usd(1_000)));
    world.checkout("PAYPAL", false).await;
    assert_eq!(world.script.exemptions(), [None]);
}

#[tokio::test]
async fn a_card_of_abroad_is_exempted_once_a_processor_told_of_it() {
    let world = exempting("[exemptions]\nONE_LEG_OUT = 'ON'", 0).await;
    world.counts.say_card(CardFacts::default());
    let of_australia = CardFacts { country: "AU".parse().ok(), funding: Some(CardFunding::Credit) };
    let CardFacts { country: card_country, funding } = of_australia;
    world.script.say(OpKind::Authorize, checked(IssuerChecks { card_country, funding, ..IssuerChecks::default() }));
    pay(&world).await;
    assert_eq!((world.script.exemptions(), world.counts.told_cards()), (vec![None], vec![of_australia]));
    world.counts.say_card(of_australia);
    let (id, _) = pay(&world).await;
    assert_eq!(world.script.exemptions(), [None, Some(ScaExemption::OneLegOut)]);
    let kept = world.counts.kept(last(&world, id).await.id).unwrap();
    assert_eq!((kept.facts().card_country, kept.facts().funding), (card_country, funding));
    assert_eq!(world.counts.told_cards().len(), 1, "what is known costs no statement");
}
