//! Answers to disputes: given once, whatever is lost, refused or decided meanwhile.

use std::sync::Arc;

use dropin_kernel::OrderId;
use dropin_order::{DisputeState, OrderState};
use dropin_ports::{DisputeReply, DisputeResponse, PaymentStore, ReportedDispute, SealedValue};
use dropin_usecases::disputes::{DisputeError, DisputeProcessor, Disputes};
use dropin_usecases::key_rotation::{KeyRotation, SealedRing};

use super::{DAY, SECOND, Scene, evidence, lost};

#[tokio::test]
async fn an_answer_that_is_lost_is_given_again_under_its_key_with_the_same_evidence() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    scene.bank.replies.lock().unwrap().extend([lost(), lost()]);
    let pending = scene.answer(order, id, DisputeResponse::Evidence(evidence())).await;
    assert_eq!((pending, scene.state(id).await), (Ok(true), DisputeState::NeedsResponse));
    for other in [DisputeResponse::Accept, DisputeResponse::Evidence(evidence())] {
        assert_eq!(scene.answer(order, id, other).await, Err(DisputeError::AnswerPending));
    }
    // What is kept can be read by the keys alone, and keys rotate meanwhile.
    let store = scene.world.store.clone();
    scene.keys.make_key(scene.world.now()).unwrap();
    let rotation = KeyRotation { store: Arc::new(store), ring: SealedRing::Master(scene.keys.clone()) };
    let failed = rotation.reseal().await.unwrap().failed;
    assert!(failed.iter().all(|(value, _)| matches!(value, SealedValue::WebhookSecret { .. })), "{failed:?}");
    for times in 1..=2 {
        scene.world.advance(60 * SECOND);
        assert_eq!(scene.disputes.give_due(10).await, Ok(1), "{times}");
    }
    scene.world.advance(DAY);
    assert_eq!((scene.disputes.give_due(10).await, scene.bank.told()), (Ok(0), 3));
    {
        let told = scene.bank.told.lock().unwrap();
        assert!(told.iter().all(|request| request.key == told[0].key));
        assert_eq!(told.iter().map(|request| request.tries).collect::<Vec<_>>(), [0, 1, 2]);
        for request in told.iter() {
            assert!(matches!(&request.response, DisputeResponse::Evidence(given) if *given == evidence()));
        }
    }
    assert_eq!(scene.state(id).await, DisputeState::UnderReview);
    assert_eq!(scene.events().await, ["DISPUTE_OPENED", "DISPUTE_UPDATED"]);
}

#[tokio::test]
async fn what_the_processor_refuses_leaves_the_dispute_as_it_was() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    let why = "too late there".to_owned();
    scene.bank.replies.lock().unwrap().push_back(DisputeReply::Refused { why: why.clone() });
    assert_eq!(scene.answer(order, id, DisputeResponse::Accept).await, Err(DisputeError::Refused(why)));
    assert_eq!(scene.state(id).await, DisputeState::NeedsResponse);
    assert_eq!(scene.answer(order, id, DisputeResponse::Accept).await, Ok(false), "another try is another answer");
    assert_eq!((scene.state(id).await, scene.ledger(order).await), (DisputeState::Accepted, [600, 0, 400]));
    assert_eq!(scene.answer(order, id, DisputeResponse::Accept).await, Ok(false), "the same once more");
    assert_eq!(scene.bank.told(), 2);
    let evidence = DisputeResponse::Evidence(evidence());
    assert_eq!(scene.answer(order, id, evidence).await, Err(DisputeError::WrongState(DisputeState::Accepted)));
}

#[tokio::test]
async fn the_bank_decides_while_an_answer_is_under_way() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    scene.bank.replies.lock().unwrap().push_back(lost());
    assert_eq!(scene.answer(order, id, DisputeResponse::Accept).await, Ok(true));
    assert_eq!(scene.answer(order, id, DisputeResponse::Accept).await, Ok(true), "it is on its way");
    scene.bank.set_state("dp_0", DisputeState::Won);
    scene.look_after(SECOND).await;
    assert_eq!((scene.state(id).await, scene.ledger(order).await), (DisputeState::Won, [1_000, 0, 0]));
    scene.world.advance(DAY);
    assert_eq!((scene.disputes.give_due(10).await, scene.bank.told()), (Ok(0), 1), "nobody accepts what is won");
    assert_eq!(scene.events().await, ["DISPUTE_OPENED", "DISPUTE_CLOSED"]);
}

/// What a bank only inquired about was never taken: its accepted end is no loss.
#[tokio::test]
async fn an_inquiry_that_the_processor_closes_when_it_is_accepted_is_won() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    let closed = ReportedDispute { state: DisputeState::Won, ..scene.bank.find("dp_0") };
    scene.bank.replies.lock().unwrap().push_back(DisputeReply::Taken(closed));
    assert_eq!(scene.answer(order, id, DisputeResponse::Accept).await, Ok(false));
    assert_eq!((scene.state(id).await, scene.ledger(order).await), (DisputeState::Won, [1_000, 0, 0]));
    assert_eq!(scene.events().await, ["DISPUTE_OPENED", "DISPUTE_CLOSED"]);
    scene.world.advance(DAY);
    assert_eq!((scene.disputes.give_due(10).await, scene.bank.told()), (Ok(0), 1));
}

#[tokio::test]
async fn no_answer_is_taken_when_its_time_is_over() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    scene.world.advance(7 * DAY);
    let late = scene.answer(order, id, DisputeResponse::Accept).await;
    assert_eq!((late, scene.bank.told()), (Err(DisputeError::WrongState(DisputeState::NeedsResponse)), 0));
    let (other, _) = scene.paid().await;
    assert_eq!(scene.answer(other, id, DisputeResponse::Accept).await, Err(DisputeError::NotFound));
    let nobody = OrderId::new(dropin_store_contract::fresh());
    assert_eq!(scene.answer(nobody, id, DisputeResponse::Accept).await, Err(DisputeError::NoOrder));
    assert_eq!(scene.world.store.find_order_anywhere(order).await.unwrap().unwrap().0.state, OrderState::Processed);
}

#[tokio::test]
async fn an_inquiry_that_becomes_a_chargeback_is_answered_until_its_new_due_time() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    let due_at = Some(scene.world.now().plus(20 * DAY));
    scene.bank.listed.lock().unwrap()[0].due_at = due_at;
    scene.look_after(SECOND).await;
    let dispute = scene.of(order).await.remove(0);
    assert_eq!((dispute.state, dispute.due_at), (DisputeState::NeedsResponse, due_at));
    assert_eq!(scene.events().await, ["DISPUTE_OPENED", "DISPUTE_UPDATED"]);
    scene.look_after(8 * DAY).await;
    assert_eq!(scene.of(order).await, [dispute], "told again, it changes nothing");
    assert_eq!(scene.answer(order, id, DisputeResponse::Evidence(evidence())).await, Ok(false));
    // What the processor said before it had the answer changes nothing.
    scene.look_after(DAY).await;
    assert_eq!((scene.state(id).await, scene.ledger(order).await), (DisputeState::UnderReview, [600, 400, 0]));
    assert_eq!(scene.events().await, ["DISPUTE_UPDATED"]);
}

#[tokio::test]
async fn an_inquiry_that_was_answered_and_becomes_a_chargeback_is_answered_once_more() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    assert_eq!(scene.answer(order, id, DisputeResponse::Evidence(evidence())).await, Ok(false));
    assert_eq!(scene.events().await, ["DISPUTE_OPENED", "DISPUTE_UPDATED"]);
    // It needs a response again, until another time.
    let due_at = Some(scene.world.now().plus(20 * DAY));
    scene.bank.listed.lock().unwrap()[0].due_at = due_at;
    scene.look_after(SECOND).await;
    let dispute = scene.of(order).await.remove(0);
    assert_eq!((dispute.state, dispute.due_at), (DisputeState::NeedsResponse, due_at));
    assert_eq!((scene.events().await, scene.ledger(order).await), (vec!["DISPUTE_UPDATED".to_owned()], [600, 400, 0]));
    scene.look_after(DAY).await;
    assert_eq!(scene.of(order).await, [dispute], "told again, it changes nothing");
    assert_eq!(scene.answer(order, id, DisputeResponse::Evidence(evidence())).await, Ok(false));
    assert_eq!((scene.state(id).await, scene.bank.told()), (DisputeState::UnderReview, 2));
}

#[tokio::test]
async fn a_program_without_the_processor_leaves_the_answer_to_the_settler() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    let command = Disputes { processors: Arc::<Vec<DisputeProcessor>>::default(), ..scene.disputes.clone() };
    let answered = command.answer(&scene.world.caller.act(None), order, id, DisputeResponse::Accept).await.unwrap();
    assert_eq!((answered.is_pending, scene.bank.told()), (true, 0));
    assert_eq!(scene.disputes.give_due(10).await, Ok(1));
    assert_eq!((scene.state(id).await, scene.bank.told()), (DisputeState::Accepted, 1));
}
