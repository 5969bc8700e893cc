//! Disputes when the processor, the bank and time do what no sandbox does on purpose: told twice, told late, answers that are lost, keys that rotate.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{DisputeId, OpId, OrderId, ProcessorId};
use dropin_keyring::MasterKey;
use dropin_order::{
    Account, Dispute, DisputeReason, DisputeState, Evidence, EvidenceFile, EvidenceMedia, OpKind, OrderState,
};
use dropin_ports::{
    AuditStore, DisputeAnswerRequest, DisputeFilter, DisputeReply, DisputeResponse, DisputeStore, DisputesUnavailable,
    ListedDispute, MetricSource, PaymentStore, ProcessorDisputes, ReportedDispute, SealedValue,
};
use dropin_usecases::disputes::{DisputeError, DisputeProcessor, Disputes};
use dropin_usecases::key_rotation::{KeyRotation, SealedRing};
use dropin_usecases::payments::RefundError;

use crate::world::{FreshIds, World, usd};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn name() -> ProcessorId {
    "bank".parse().unwrap()
}

/// A processor that tells what the case says, and remembers what it was told.
#[derive(Default)]
struct Bank {
    listed: Mutex<Vec<ReportedDispute>>,
    /// References of what its list tells without sense.
    senseless: Mutex<Vec<String>>,
    replies: Mutex<VecDeque<DisputeReply>>,
    told: Mutex<Vec<DisputeAnswerRequest>>,
}

impl Bank {
    fn set_state(&self, reference: &str, state: DisputeState) {
        let mut listed = self.listed.lock().unwrap();
        listed.iter_mut().find(|dispute| dispute.reference == reference).unwrap().state = state;
    }

    fn find(&self, reference: &str) -> ReportedDispute {
        self.listed.lock().unwrap().iter().find(|dispute| dispute.reference == reference).unwrap().clone()
    }

    fn told(&self) -> usize {
        self.told.lock().unwrap().len()
    }
}

#[async_trait]
impl ProcessorDisputes for Bank {
    async fn list_disputes(&self, after: Option<&str>, limit: u32) -> Result<Vec<ListedDispute>, DisputesUnavailable> {
        let after = after.map_or(0, |after| after.parse().unwrap());
        let listed = self.listed.lock().unwrap();
        let senseless = self.senseless.lock().unwrap();
        let tell = |(index, dispute): (usize, &ReportedDispute)| ListedDispute {
            position: (index + 1).to_string(),
            dispute: (!senseless.contains(&dispute.reference)).then(|| dispute.clone()),
        };
        Ok(listed.iter().enumerate().skip(after).take(limit as usize).map(tell).collect())
    }

    async fn read_dispute(&self, reference: &str) -> Result<ReportedDispute, DisputesUnavailable> {
        Ok(self.find(reference))
    }

    async fn answer_dispute(&self, request: DisputeAnswerRequest) -> DisputeReply {
        let state = match request.response {
            DisputeResponse::Accept => DisputeState::Accepted,
            DisputeResponse::Evidence(_) => DisputeState::UnderReview,
        };
        let reply = self.replies.lock().unwrap().pop_front();
        let taken = ReportedDispute { state, ..self.find(&request.reference) };
        self.told.lock().unwrap().push(request);
        reply.unwrap_or(DisputeReply::Taken(taken))
    }
}

struct Scene {
    world: World,
    bank: Arc<Bank>,
    disputes: Disputes,
    keys: Arc<MasterKey>,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let (world, bank, folder) = (World::new().await, Arc::new(Bank::default()), tempfile::tempdir().unwrap());
        let keys = Arc::new(MasterKey::open_or_create(&folder.path().join("keys")).unwrap());
        let store = Arc::new(world.store.clone());
        let disputes = Disputes {
            store: store.clone(),
            orders: store,
            processors: Arc::new(vec![DisputeProcessor { name: name(), api: bank.clone() }]),
            secrets: keys.clone(),
            clock: world.payments.clock.clone(),
            ids: Arc::new(FreshIds),
            unreadable: Arc::default(),
        };
        Self { world, bank, disputes, keys, _folder: folder }
    }

    /// An Order of 10.00 USD that is paid, and its authorization.
    async fn paid(&self) -> (OrderId, OpId) {
        let id = self.world.captured().await;
        (id, self.world.store.list_operations(id).await.unwrap()[0].id)
    }

    /// The bank takes so much back.
    fn dispute(&self, authorization: OpId, reference: &str, minor: i64) {
        self.bank.listed.lock().unwrap().push(ReportedDispute {
            reference: reference.to_owned(),
            authorization: Some(authorization),
            state: DisputeState::NeedsResponse,
            reason: DisputeReason::ProductNotReceived,
            amount: usd(minor),
            due_at: Some(self.world.now().plus(7 * DAY)),
        });
    }

    /// An Order that is disputed, and its dispute.
    async fn disputed(&self, minor: i64) -> (OrderId, DisputeId) {
        let (id, authorization) = self.paid().await;
        let reference = format!("dp_{}", self.bank.listed.lock().unwrap().len());
        self.dispute(authorization, &reference, minor);
        self.disputes.read_new(10).await.unwrap();
        (id, self.of(id).await[0].id)
    }

    async fn of(&self, order: OrderId) -> Vec<Dispute> {
        let filter = DisputeFilter { order: Some(order), ..DisputeFilter::default() };
        self.disputes.list(filter, 10).await.unwrap()
    }

    async fn state(&self, id: DisputeId) -> DisputeState {
        self.disputes.find(id).await.unwrap().unwrap().dispute.state
    }

    async fn answer(&self, order: OrderId, id: DisputeId, response: DisputeResponse) -> Result<bool, DisputeError> {
        let answered = self.disputes.answer(&self.world.caller.act(None), order, id, response).await;
        answered.map(|answered| answered.is_pending)
    }

    /// The settler looks at what is undecided.
    async fn look_after(&self, while_: Duration) {
        self.world.advance(while_);
        self.disputes.look_again(10).await.unwrap();
    }

    async fn events(&self) -> Vec<String> {
        self.world.events().await.into_iter().filter(|event| event.starts_with("DISPUTE_")).collect()
    }

    /// Minor units in the accounts of disputes, and what is captured.
    async fn ledger(&self, order: OrderId) -> [i64; 3] {
        let trail = self.world.store.find_audit_trail(order).await.unwrap().unwrap();
        [Account::Captured, Account::Disputed, Account::ChargedBack].map(|account| {
            trail
                .records
                .balances
                .iter()
                .filter(|balance| balance.account == account)
                .map(|balance| balance.minor)
                .sum()
        })
    }
}

fn evidence() -> Evidence {
    let file = EvidenceFile { name: "a.txt".to_owned(), media: EvidenceMedia::Text, content: b"signed".to_vec() };
    Evidence::new(Some("It was delivered.".to_owned()), vec![file]).unwrap()
}

fn lost() -> DisputeReply {
    DisputeReply::Unknown { why: "no answer".to_owned() }
}

#[tokio::test]
async fn a_dispute_is_recorded_once_however_often_it_is_told() {
    let scene = Scene::new().await;
    let (order, id) = scene.disputed(400).await;
    // Somebody else reads the same page again: from the beginning, as if nothing had been kept.
    scene.world.store.keep_dispute_position(&name(), Some("1"), "0").await.unwrap();
    scene.disputes.read_new(10).await.unwrap();
    assert_eq!(scene.of(order).await.len(), 1);
    assert_eq!((scene.events().await, scene.ledger(order).await), (vec!["DISPUTE_OPENED".to_owned()], [600, 400, 0]));
    let refused = scene.world.refund(order, "too much", Some("6.01")).await;
    assert_eq!(refused.map(drop), Err(RefundError::Exceeds(usd(600))));
    scene.bank.set_state("dp_0", DisputeState::Won);
    scene.look_after(SECOND).await;
    assert_eq!((scene.state(id).await, scene.ledger(order).await), (DisputeState::Won, [1_000, 0, 0]));
    assert!(scene.world.refund(order, "all", Some("10.00")).await.is_ok());
    scene.look_after(DAY).await;
    assert_eq!(scene.events().await, ["DISPUTE_CLOSED"]);
}

#[tokio::test]
async fn open_disputes_are_counted_for_each_processor_and_state() {
    let scene = Scene::new().await;
    let measured = async || {
        let metrics = scene.disputes.collect_metrics().await.unwrap();
        let [metric] = &metrics[..] else { panic!("{metrics:?}") };
        let samples = metric.samples().iter();
        samples
            .map(|sample| (sample.labels[0].1.to_string(), sample.labels[1].1.to_string(), sample.value))
            .collect::<Vec<_>>()
    };
    let bank = |state: &str, count| ("bank".to_owned(), state.to_owned(), count);
    assert_eq!(measured().await, [bank("NEEDS_RESPONSE", 0), bank("UNDER_REVIEW", 0)]);
    for _ in 0..2 {
        scene.disputed(100).await;
    }
    let (order, id) = scene.disputed(100).await;
    scene.answer(order, id, DisputeResponse::Evidence(evidence())).await.unwrap();
    assert_eq!(measured().await, [bank("NEEDS_RESPONSE", 2), bank("UNDER_REVIEW", 1)]);
    // A processor that was taken out of the deployment leaves its disputes behind.
    let gone = Disputes { processors: Arc::<Vec<DisputeProcessor>>::default(), ..scene.disputes.clone() };
    assert_eq!(gone.collect_metrics().await.unwrap()[0].samples().len(), 2);
}

#[tokio::test]
async fn a_hint_has_a_dispute_looked_at_at_once() {
    let scene = Scene::new().await;
    let (_, id) = scene.disputed(400).await;
    scene.look_after(DAY).await;
    scene.bank.set_state("dp_0", DisputeState::Won);
    scene.look_after(SECOND).await;
    assert_eq!(scene.state(id).await, DisputeState::NeedsResponse, "it is not looked at for a while");
    let stranger = "other".parse().unwrap();
    for (processor, reference) in [(&stranger, "dp_0"), (&name(), "dp_1")] {
        scene.disputes.look_soon(processor, reference).await.unwrap();
        scene.look_after(Duration::ZERO).await;
        assert_eq!(scene.state(id).await, DisputeState::NeedsResponse, "{processor} {reference}");
    }
    scene.disputes.look_soon(&name(), "dp_0").await.unwrap();
    scene.look_after(Duration::ZERO).await;
    assert_eq!(scene.state(id).await, DisputeState::Won);
}

#[tokio::test]
async fn more_than_the_order_has_left_is_recorded_all_the_same() {
    let scene = Scene::new().await;
    let (order, authorization) = scene.paid().await;
    scene.world.refund(order, "first", Some("8.00")).await.unwrap();
    scene.dispute(authorization, "dp_a", 1_000);
    scene.dispute(authorization, "dp_b", 300);
    scene.disputes.read_new(10).await.unwrap();
    assert_eq!((scene.of(order).await.len(), scene.ledger(order).await), (2, [-1_100, 1_300, 0]));
    let refused = scene.world.refund(order, "more", None).await;
    assert_eq!(refused.map(drop), Err(RefundError::Exceeds(usd(0))));
    scene.bank.set_state("dp_a", DisputeState::Lost);
    scene.look_after(SECOND).await;
    assert_eq!(scene.ledger(order).await, [-1_100, 300, 1_000]);
}

#[tokio::test]
async fn what_is_told_before_the_capture_is_known_waits_and_holds_up_nobody() {
    let scene = Scene::new().await;
    scene.world.script.say(OpKind::Authorize, crate::script::unclear());
    let (open, _) = scene.world.checkout("PAYPAL", false).await;
    let early = scene.world.store.list_operations(open).await.unwrap()[0].id;
    scene.dispute(early, "dp_early", 100);
    let (other, authorization) = scene.paid().await;
    scene.dispute(authorization, "dp_other", 200);
    scene.dispute(OpId::new(dropin_store_contract::fresh()), "dp_strange", 300);
    scene.disputes.read_new(10).await.unwrap();
    assert_eq!((scene.of(open).await.len(), scene.of(other).await.len()), (0, 1));
    assert_eq!(scene.world.store.find_dispute_position(&name()).await.unwrap(), None, "read again from there");
    scene.world.script.know(crate::script::approved(&usd(1_000)));
    while scene.world.state(open).await == "PROCESSING" {
        assert_eq!(scene.world.settle_after(60 * SECOND).await, 1);
    }
    scene.world.capture(open, None).await.unwrap();
    scene.disputes.read_new(10).await.unwrap();
    assert_eq!((scene.of(open).await.len(), scene.of(other).await.len()), (1, 1));
    assert_eq!(scene.world.store.find_dispute_position(&name()).await.unwrap().as_deref(), Some("3"));
}

/// More of them than are read at once stand behind one that waits, and one that can never be taken up is passed by.
#[tokio::test]
async fn those_behind_one_that_waits_are_taken_up_however_many() {
    let scene = Scene::new().await;
    scene.world.script.say(OpKind::Authorize, crate::script::unclear());
    let (open, _) = scene.world.checkout("PAYPAL", false).await;
    scene.dispute(scene.world.store.list_operations(open).await.unwrap()[0].id, "dp_early", 100);
    let mut orders = Vec::new();
    for number in 0..3 {
        let (order, authorization) = scene.paid().await;
        scene.dispute(authorization, &format!("dp_{number}"), 200);
        orders.push(order);
    }
    assert_eq!(scene.disputes.read_new(1).await, Ok(false), "what waits is not asked for at once again");
    for order in orders {
        assert_eq!(scene.of(order).await.len(), 1);
    }
    assert_eq!(scene.of(open).await, []);
    assert_eq!(scene.world.store.find_dispute_position(&name()).await.unwrap(), None);
}

/// As many as are read at once make no sense: those behind them are taken up, and they are not read again.
#[tokio::test]
async fn what_makes_no_sense_is_passed_by() {
    let scene = Scene::new().await;
    let (order, authorization) = scene.paid().await;
    for reference in ["dp_odd", "dp_strange", "dp_good"] {
        scene.dispute(authorization, reference, 100);
    }
    scene.bank.senseless.lock().unwrap().extend(["dp_odd", "dp_strange"].map(str::to_owned));
    assert_eq!(scene.disputes.read_new(2).await, Ok(true));
    assert_eq!(scene.world.store.find_dispute_position(&name()).await.unwrap().as_deref(), Some("2"));
    assert_eq!(scene.disputes.read_new(2).await, Ok(false));
    assert_eq!(scene.of(order).await.len(), 1);
    assert_eq!(scene.world.store.find_dispute_position(&name()).await.unwrap().as_deref(), Some("3"));
}

/// A refund whose next try is due when a bank has taken the money meanwhile is not tried: the shopper has it.
#[tokio::test]
async fn a_refund_is_not_asked_for_again_beyond_what_a_bank_holds() {
    let scene = Scene::new().await;
    let (order, authorization) = scene.paid().await;
    scene.world.script.say(OpKind::Refund, crate::script::declined(true));
    drop(scene.world.refund(order, "all", None).await.unwrap());
    scene.dispute(authorization, "dp_all", 1_000);
    scene.disputes.read_new(10).await.unwrap();
    for _ in 0..3 {
        scene.world.settle_after(60 * SECOND).await;
    }
    assert_eq!(scene.world.refunds(order).await[0].state.as_str(), "FAILED");
    assert_eq!((scene.world.script.asked(OpKind::Refund).len(), scene.ledger(order).await), (1, [0, 1_000, 0]));
}

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
