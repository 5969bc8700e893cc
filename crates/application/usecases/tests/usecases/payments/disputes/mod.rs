//! Disputes when the processor, the bank and time do what no sandbox does on purpose: told twice, told late, answers that are lost, keys that rotate.

mod given_answers;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{DisputeId, OpId, OrderId, ProcessorId};
use dropin_keyring::MasterKey;
use dropin_order::{Account, Dispute, DisputeReason, DisputeState, Evidence, EvidenceFile, EvidenceMedia, OpKind};
use dropin_ports::{
    AuditStore, DisputeAnswerRequest, DisputeFilter, DisputeReply, DisputeResponse, DisputeStore, DisputesUnavailable,
    ListedDispute, MetricSource, PaymentStore, ProcessorDisputes, ReportedDispute,
};
use dropin_usecases::disputes::{DisputeError, DisputeProcessor, Disputes};
use dropin_usecases::payments::RefundError;

use crate::payments::world::{FreshIds, World, usd};

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
    scene.world.script.say(OpKind::Authorize, crate::payments::script::unclear());
    let (open, _) = scene.world.checkout("PAYPAL", false).await;
    let early = scene.world.store.list_operations(open).await.unwrap()[0].id;
    scene.dispute(early, "dp_early", 100);
    let (other, authorization) = scene.paid().await;
    scene.dispute(authorization, "dp_other", 200);
    scene.dispute(OpId::new(dropin_store_contract::fresh()), "dp_strange", 300);
    scene.disputes.read_new(10).await.unwrap();
    assert_eq!((scene.of(open).await.len(), scene.of(other).await.len()), (0, 1));
    assert_eq!(scene.world.store.find_dispute_position(&name()).await.unwrap(), None, "read again from there");
    scene.world.script.know(crate::payments::script::approved(&usd(1_000)));
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
    scene.world.script.say(OpKind::Authorize, crate::payments::script::unclear());
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
    scene.world.script.say(OpKind::Refund, crate::payments::script::declined(true));
    drop(scene.world.refund(order, "all", None).await.unwrap());
    scene.dispute(authorization, "dp_all", 1_000);
    scene.disputes.read_new(10).await.unwrap();
    for _ in 0..3 {
        scene.world.settle_after(60 * SECOND).await;
    }
    assert_eq!(scene.world.refunds(order).await[0].state.as_str(), "FAILED");
    assert_eq!((scene.world.script.asked(OpKind::Refund).len(), scene.ledger(order).await), (1, [0, 1_000, 0]));
}
