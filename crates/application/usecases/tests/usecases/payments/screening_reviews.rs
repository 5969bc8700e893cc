//! Payments that a person has to look at: held when their issuer has said yes, whichever program learns of it.

use std::time::Duration;

use dropin_kernel::{OrderId, SessionId};
use dropin_order::{OpKind, OrderState};
use dropin_ports::{Acting, IssuerChecks, PaymentTryOutcome, ProcessorReply, SessionStore, StatusReply};
use dropin_risk::Decision;
use dropin_usecases::payments::Payments;

use super::counts::Trouble;
use super::screening::{CHALLENGE, LATER, VISA, checked, decision, last, nothing_is_open, page, seen, world};
use super::script::{approved, unclear};
use super::world::{World, usd};

/// The same asks for a person.
const REVIEW: &str = "[weights]\nNEW_SHOPPER = 10\n[velocity]\nDEVICE_CARDS_TEN_MINUTES = [3, 60]";

/// An approved payment of 29.90 USD with AutoCapture is held, and nothing of it is captured.
pub(crate) async fn must_be_held(world: &World, id: SessionId) -> OrderId {
    let order = last(world, id).await;
    assert_eq!((order.state, order.under_review), (OrderState::PaymentAuthorized, true));
    assert_eq!(world.script.asked(OpKind::Capture), [], "a person decides first");
    nothing_is_open(world).await;
    order.id
}

pub(crate) async fn session_with_auto_capture(world: &World) -> SessionId {
    let new = dropin_store_contract::insertable_with(world.caller.merchant.id, |terms| terms.auto_capture = true);
    let id = new.session.id;
    world.store.insert_session(new).await.unwrap();
    id
}

#[tokio::test]
async fn a_payment_to_review_is_held_though_it_was_to_be_captured_at_once() {
    for approve in [true, false] {
        let world = world(REVIEW, Some(CHALLENGE)).await;
        let id = session_with_auto_capture(&world).await;
        let submitted = world.submit_card(id, VISA).await.unwrap();
        assert_eq!((seen(&submitted), world.script.challenges()), (("COMPLETED", None), vec![true]));
        assert!(submitted.follow_up.is_none(), "no capture follows");
        let order = must_be_held(&world, id).await;
        assert_eq!(decision(&world, order).await, Some(Decision::Review));
        world.payments.review(order, approve, "ada", &Acting::system()).await.unwrap();
        let (state, captures, voids) = match approve {
            true => ("PROCESSED", 1, 0),
            false => ("DECLINED", 0, 1),
        };
        assert_eq!(world.state(order).await, state);
        let asked = |kind| world.script.asked(kind).len();
        assert_eq!((asked(OpKind::Capture), asked(OpKind::Void), asked(OpKind::Authorize)), (captures, voids, 1));
    }
}

/// Another program, which remembers nothing of the screening.
fn elsewhere(world: &World) -> Payments {
    Payments { screening: world.screening_elsewhere(), ..world.payments.clone() }
}

#[tokio::test]
async fn a_payment_to_review_is_held_by_whichever_program_ends_it() {
    // The shopper comes back, or closes the browser, or wants to pay another way and has paid.
    for way in ["settler", "return", "pay another way"] {
        let world = world(REVIEW, Some(CHALLENGE)).await;
        let id = session_with_auto_capture(&world).await;
        world.script.say(OpKind::Authorize, page());
        let submitted = world.submit_card(id, VISA).await.unwrap();
        let attempt = submitted.progress.page.unwrap().attempt;
        let mut shopper = world.shopper.clone();
        shopper.payments = elsewhere(&world);
        world.script.know(approved(&usd(2_990)));
        match way {
            "settler" => {
                world.advance(LATER);
                let claims = shopper.payments.claim_due(10).await.unwrap();
                assert!(shopper.payments.settle_one(claims[0]).await.unwrap());
            }
            "return" => {
                let order = last(&world, id).await.id;
                shopper.return_shopper(order, Duration::ZERO).await.unwrap();
            }
            _ => {
                world.script.on_abandon(StatusReply::Known(approved(&usd(2_990))));
                assert!(shopper.pay_another_way(id, attempt).await.unwrap().follow_up.is_none());
            }
        }
        must_be_held(&world, id).await;
        let outcomes = world.counts.outcomes();
        assert_eq!(
            outcomes,
            [PaymentTryOutcome::Challenged, PaymentTryOutcome::Authorized],
            "{way}: nobody is known by it"
        );
    }
}

#[tokio::test]
async fn a_review_that_could_not_be_kept_at_once_is_kept_while_the_shopper_is_at_the_bank() {
    let world = world(REVIEW, Some(CHALLENGE)).await;
    let id = session_with_auto_capture(&world).await;
    world.counts.be_in(Some(Trouble::KeepFails(2)));
    world.script.say(OpKind::Authorize, page());
    world.submit_card(id, VISA).await.unwrap();
    world.script.know(approved(&usd(2_990)));
    world.advance(LATER);
    let payments = elsewhere(&world);
    let claims = payments.claim_due(10).await.unwrap();
    assert!(payments.settle_one(claims[0]).await.unwrap());
    must_be_held(&world, id).await;
}

#[tokio::test]
async fn what_the_issuer_says_holds_a_payment_that_was_allowed() {
    let doubts = IssuerChecks { address_matches: Some(false), code_matches: Some(false), ..IssuerChecks::default() };
    for later in [false, true] {
        let world = world("", None).await;
        let id = session_with_auto_capture(&world).await;
        match later {
            false => world.script.say(OpKind::Authorize, checked(doubts)),
            true => world.script.say(OpKind::Authorize, unclear()),
        }
        world.submit_card(id, VISA).await.unwrap();
        if later {
            world.script.know(checked(doubts));
            world.advance(LATER);
            let payments = elsewhere(&world);
            let claims = payments.claim_due(10).await.unwrap();
            payments.settle_one(claims[0]).await.unwrap();
        }
        let order = must_be_held(&world, id).await;
        let screening = world.counts.kept(order).unwrap();
        let reasons: Vec<_> = screening.reasons().iter().map(|reason| reason.code.to_string()).collect();
        assert_eq!(screening.decision(), Decision::Review);
        assert_eq!(reasons, ["ISSUER_CODE_DIFFERS", "ISSUER_ADDRESS_DIFFERS", "NEW_SHOPPER", "LANGUAGE_IS_FOREIGN"]);
    }
}

#[tokio::test]
async fn a_card_of_abroad_is_held_once_the_processor_tells_of_it() {
    let world = world("[rules]\nABROAD = 'CARD_COUNTRY = AU and FUNDING = PREPAID then REVIEW'", None).await;
    let id = session_with_auto_capture(&world).await;
    let checks =
        IssuerChecks { card_country: "AU".parse().ok(), funding: "PREPAID".parse().ok(), ..IssuerChecks::default() };
    world.script.say(OpKind::Authorize, checked(checks));
    world.submit_card(id, VISA).await.unwrap();
    let order = must_be_held(&world, id).await;
    let reasons = world.counts.kept(order).unwrap().reasons().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(reasons.contains(&"RULE_ABROAD +0".to_owned()), "{reasons:?}");
}

/// The money is reserved already: a person decides.
#[tokio::test]
async fn a_block_after_the_issuers_yes_is_a_review() {
    let world = world("[weights]\nISSUER_CODE_DIFFERS = 90", None).await;
    let id = session_with_auto_capture(&world).await;
    let checks = IssuerChecks { code_matches: Some(false), ..IssuerChecks::default() };
    world.script.say(OpKind::Authorize, checked(checks));
    world.submit_card(id, VISA).await.unwrap();
    let order = must_be_held(&world, id).await;
    assert_eq!(decision(&world, order).await, Some(Decision::Block));
    assert_eq!(world.counts.outcomes(), [], "nobody is known by what a person has to look at");
}

#[tokio::test]
async fn who_authenticates_is_reviewed_all_the_same() {
    let world = world(REVIEW, Some(CHALLENGE)).await;
    let id = session_with_auto_capture(&world).await;
    let checks = IssuerChecks { authenticated: Some(true), ..IssuerChecks::default() };
    world.script.say(OpKind::Authorize, checked(checks));
    world.submit_card(id, VISA).await.unwrap();
    let order = must_be_held(&world, id).await;
    assert_eq!(decision(&world, order).await, Some(Decision::Review));
}

/// A method without a capture of its own has taken the money: there is nothing to hold.
#[tokio::test]
async fn what_was_taken_with_the_authorization_is_not_held() {
    let world = world(REVIEW, Some(CHALLENGE)).await;
    world.script.say(
        OpKind::Authorize,
        ProcessorReply::Approved {
            amount: Some(usd(1_000)),
            captured: true,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default(),
        },
    );
    let (id, _) = world.checkout("PAYPAL", true).await;
    let order = world.order(id).await;
    assert_eq!((order.state, order.under_review), (OrderState::Processed, false));
    assert_eq!(decision(&world, id).await, Some(Decision::Review), "and the merchant sees it");
    nothing_is_open(&world).await;
}

/// The operation of an approved payment stays due while nobody can tell whether it is to be held.
#[tokio::test]
async fn a_payment_whose_screening_cannot_be_read_now_is_settled_later() {
    let world = world(REVIEW, Some(CHALLENGE)).await;
    let id = session_with_auto_capture(&world).await;
    world.script.say(OpKind::Authorize, page());
    world.submit_card(id, VISA).await.unwrap();
    world.counts.be_in(Some(Trouble::Away));
    world.advance(LATER);
    world.script.know(approved(&usd(2_990)));
    let claims = world.payments.claim_due(10).await.unwrap();
    assert!(world.payments.settle_one(claims[0]).await.is_err());
    world.counts.be_in(None);
    world.script.know(approved(&usd(2_990)));
    assert_eq!(world.settle_after(LATER).await, 1);
    must_be_held(&world, id).await;
}
