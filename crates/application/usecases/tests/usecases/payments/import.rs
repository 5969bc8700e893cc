//! What a processor has and is not here is taken up: it leads to what it would have led to, and asks for no money.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId, OrderId, Timestamp};
use dropin_order::{DeclineReason, OpKind, OpState, OrderState};
use dropin_ports::{
    Acting, Actor, OrderName, PaymentStore, ProcessorRecord, ProcessorRecordPage, ProcessorRecords,
    ProcessorRecordsUnavailable, ProcessorReply, RecordList, RecordSpan, RecordedMoney, StatusReply,
};
use dropin_store_contract::fresh;
use dropin_usecases::payments::{ImportRefused, MissingName, MissingNames, MissingRecord, RecordImport};

use super::script::{Gate, approved, declined, unclear};
use super::world::{World, usd};

#[derive(Default)]
struct Lists {
    payments: Mutex<Vec<ProcessorRecord>>,
    refunds: Mutex<Vec<ProcessorRecord>>,
}

#[async_trait]
impl ProcessorRecords for Lists {
    async fn list_records(
        &self,
        list: RecordList,
        _span: RecordSpan,
        _next: Option<&str>,
    ) -> Result<ProcessorRecordPage, ProcessorRecordsUnavailable> {
        let all = match list {
            RecordList::Payments => &self.payments,
            RecordList::Refunds => &self.refunds,
        };
        Ok(ProcessorRecordPage { records: all.lock().unwrap().clone(), next: None })
    }
}

struct Scene {
    world: World,
    lists: Arc<Lists>,
    import: RecordImport,
}

impl Scene {
    async fn new() -> Self {
        let (world, lists) = (World::new().await, Arc::new(Lists::default()));
        let store = Arc::new(world.store.clone());
        let import = RecordImport {
            payments: world.payments.clone(),
            audit: store.clone(),
            access: store,
            records: lists.clone(),
            processor: "stripe".parse().unwrap(),
        };
        Self { world, lists, import }
    }

    /// A payment that nobody here asked for.
    fn payment(&self, money: RecordedMoney, capture: Option<OpId>) -> ProcessorRecord {
        ProcessorRecord {
            reference: "pi_1".to_owned(),
            created_at: self.world.now(),
            operation: Some(OpId::new(fresh())),
            order: Some(OrderId::new(fresh())),
            merchant: Some(self.world.caller.merchant.id),
            merchant_reference: Some(format!("lost-{}", fresh())),
            payment_method: Some("VISA".to_owned()),
            capture,
            money,
        }
    }

    fn list(&self, payment: &ProcessorRecord) {
        self.lists.payments.lock().unwrap().push(payment.clone());
    }

    async fn missing(&self) -> Vec<MissingRecord> {
        let (from, until) = (Timestamp::from_micros(0), self.world.now().plus(Duration::from_secs(1)));
        self.import.find_missing(RecordSpan { from, until }).await.unwrap()
    }

    async fn take_up(&self, missing: &MissingRecord, names: &MissingNames) -> Result<OrderState, ImportRefused> {
        let by = Acting::new(Actor::CommandLine("ada".to_owned()), None);
        self.import.take_up(missing, names, &by).await.map(|order| order.state)
    }
}

#[tokio::test]
async fn what_was_captured_and_refunded_is_taken_up_in_its_steps() {
    let scene = Scene::new().await;
    let payment = scene.payment(RecordedMoney::Captured(usd(600)), Some(OpId::new(fresh())));
    let money = RecordedMoney::Refunded(usd(250));
    let refund = ProcessorRecord {
        reference: "re_1".to_owned(),
        operation: Some(OpId::new(fresh())),
        capture: None,
        money,
        ..payment.clone()
    };
    let by_hand = ProcessorRecord { operation: None, ..refund.clone() };
    let failed = ProcessorRecord { operation: Some(OpId::new(fresh())), money: RecordedMoney::None, ..refund.clone() };
    scene.list(&payment);
    scene.lists.refunds.lock().unwrap().extend([refund, by_hand, failed]);
    let missing = scene.missing().await;
    let kinds: Vec<_> = missing.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [OpKind::Authorize, OpKind::Capture, OpKind::Refund]);
    // Ten were reserved, six taken: each is asked, and found out once more when it is written down.
    for amount in [1_000, 600, 250] {
        (0..2).for_each(|_| scene.world.script.know(approved(&usd(amount))));
    }
    let mut states = Vec::new();
    for one in &missing {
        states.push(scene.take_up(one, &MissingNames::default()).await.unwrap().as_str());
    }
    assert_eq!(states, ["PAYMENT_AUTHORIZED", "PROCESSED", "PROCESSED"]);
    let merchant = scene.world.caller.merchant.id;
    let name = OrderName::Reference(payment.merchant_reference.unwrap());
    let order = scene.world.store.find_order(merchant, &name).await.unwrap().unwrap();
    assert_eq!(order.id, payment.order.unwrap());
    let amounts = &order.amounts;
    assert_eq!(
        (amounts.total_authorized(), amounts.captured(), amounts.refunded()),
        (&usd(1_000), &usd(600), &usd(250))
    );
    let found = scene.world.store.find_refund_by_reference(order.id, "re_1").await.unwrap().unwrap();
    assert_eq!(found.amount, usd(250));
    assert_eq!(scene.world.events().await, ["ORDER_AUTHORIZED", "ORDER_PROCESSED", "REFUND_SUCCEEDED"]);
    for kind in [OpKind::Authorize, OpKind::Capture, OpKind::Void, OpKind::Refund] {
        assert_eq!(scene.world.script.asked(kind), [], "{kind:?}: only asked about");
    }
    assert_eq!(scene.missing().await, [], "nothing twice");
}

#[tokio::test]
async fn what_cannot_be_taken_up_says_why_and_changes_nothing() {
    let scene = Scene::new().await;
    let known = || StatusReply::Known(approved(&usd(1_000)));
    let reserved = || scene.payment(RecordedMoney::Reserved(usd(1_000)), None);
    let nobody = MerchantId::new(fresh());
    let taken = reserved().merchant_reference.unwrap();
    scene.world.checkout_named(&taken, "PAYPAL", false, None).await;
    scene.world.events().await;
    let unnamed = ImportRefused::Unnamed;
    for (record, said, expected) in [
        (ProcessorRecord { merchant: None, ..reserved() }, None, unnamed(MissingName::Merchant)),
        (ProcessorRecord { merchant_reference: None, ..reserved() }, None, unnamed(MissingName::Reference)),
        (ProcessorRecord { payment_method: None, ..reserved() }, None, unnamed(MissingName::Method)),
        (ProcessorRecord { order: None, ..reserved() }, None, ImportRefused::NoOrder),
        (ProcessorRecord { merchant: Some(nobody), ..reserved() }, None, ImportRefused::NoMerchant(nobody)),
        (reserved(), Some(StatusReply::Absent), ImportRefused::NothingHeld),
        (reserved(), Some(StatusReply::Known(declined(false))), ImportRefused::NothingHeld),
        (reserved(), Some(StatusReply::Known(unclear())), ImportRefused::Unanswered("a time-out".to_owned())),
        (
            ProcessorRecord { merchant_reference: Some(taken.clone()), ..reserved() },
            Some(known()),
            ImportRefused::ReferenceTaken(taken.clone()),
        ),
    ] {
        said.into_iter().for_each(|said| scene.world.script.know_status(said));
        let operation = record.operation.unwrap();
        let missing = MissingRecord { kind: OpKind::Authorize, operation, record };
        let refused = scene.take_up(&missing, &MissingNames::default()).await.unwrap_err();
        assert_eq!(refused, expected);
        assert_eq!(scene.world.store.find_payment(operation).await, Ok(None), "{expected}");
    }
    let record = ProcessorRecord { money: RecordedMoney::Refunded(usd(1)), ..reserved() };
    let (operation, order) = (record.operation.unwrap(), record.order.unwrap());
    let missing = MissingRecord { kind: OpKind::Refund, operation, record };
    let refused = scene.take_up(&missing, &MissingNames::default()).await.unwrap_err();
    assert_eq!(refused, ImportRefused::OrderMissing(order));
    assert_eq!(scene.world.events().await, [""; 0]);
    // A person names what the list leaves out.
    let record = ProcessorRecord { merchant: None, merchant_reference: None, payment_method: None, ..reserved() };
    let names = MissingNames {
        merchant: Some(scene.world.caller.merchant.id),
        reference: Some("named".to_owned()),
        method: Some("VISA".to_owned()),
    };
    (0..2).for_each(|_| scene.world.script.know_status(known()));
    let missing = MissingRecord { kind: OpKind::Authorize, operation: record.operation.unwrap(), record };
    assert_eq!(scene.take_up(&missing, &names).await, Ok(OrderState::PaymentAuthorized));
    let record = ProcessorRecord { merchant_reference: Some(taken), ..reserved() };
    let other = MissingNames { reference: Some("another".to_owned()), ..MissingNames::default() };
    (0..2).for_each(|_| scene.world.script.know_status(known()));
    let renamed = MissingRecord { kind: OpKind::Authorize, operation: record.operation.unwrap(), record };
    assert_eq!(scene.take_up(&renamed, &other).await, Ok(OrderState::PaymentAuthorized));
    // A refund of what is only reserved has no place.
    let record = ProcessorRecord { money: RecordedMoney::Refunded(usd(1)), ..missing.record };
    let missing = MissingRecord { kind: OpKind::Refund, operation: OpId::new(fresh()), record };
    let refused = scene.take_up(&missing, &names).await;
    assert_eq!(refused, Err(ImportRefused::WrongState(OrderState::PaymentAuthorized)));
}

#[tokio::test]
async fn nothing_is_written_down_that_the_processor_does_not_say_it_did() {
    let scene = Scene::new().await;
    let script = &scene.world.script;
    let reserved = scene.payment(RecordedMoney::Reserved(usd(1_000)), None);
    (0..2).for_each(|_| script.know(approved(&usd(1_000))));
    let operation = reserved.operation.unwrap();
    let missing = MissingRecord { kind: OpKind::Authorize, operation, record: reserved.clone() };
    assert_eq!(scene.take_up(&missing, &MissingNames::default()).await, Ok(OrderState::PaymentAuthorized));
    let captured = ProcessorRecord { money: RecordedMoney::Captured(usd(600)), ..reserved.clone() };
    let of = |record: ProcessorRecord| MissingRecord { kind: OpKind::Capture, operation: OpId::new(fresh()), record };
    let elsewhere = ProcessorRecord { merchant: Some(MerchantId::new(fresh())), ..captured.clone() };
    let more = ProcessorRecord { money: RecordedMoney::Captured(usd(1_001)), ..captured.clone() };
    let open = ProcessorRecord { money: RecordedMoney::Open, ..captured.clone() };
    for (record, said, expected) in [
        (captured.clone(), Some(StatusReply::Absent), ImportRefused::NothingHeld),
        (captured.clone(), Some(StatusReply::Known(approved(&usd(500)))), ImportRefused::NothingHeld),
        (captured, Some(StatusReply::Known(unclear())), ImportRefused::Unanswered("a time-out".to_owned())),
        (elsewhere, None, ImportRefused::NotItsOrder(reserved.order.unwrap())),
        (more, None, ImportRefused::Exceeds(usd(1_001))),
        (open, None, ImportRefused::Undecided),
    ] {
        said.into_iter().for_each(|said| script.know_status(said));
        let missing = of(record);
        assert_eq!(scene.take_up(&missing, &MissingNames::default()).await, Err(expected.clone()));
        assert_eq!(scene.world.store.find_payment(missing.operation).await, Ok(None), "{expected}");
    }
    assert_eq!(script.asked(OpKind::Capture), [], "only asked about");
}

#[tokio::test]
async fn a_capture_is_found_of_a_payment_that_began_before_the_span() {
    let scene = Scene::new().await;
    let day = Duration::from_secs(24 * 60 * 60);
    let now = scene.world.now();
    for (days, capture) in [(30, true), (32, true), (30, false)] {
        let payment = scene.payment(RecordedMoney::Captured(usd(600)), capture.then(|| OpId::new(fresh())));
        scene.list(&ProcessorRecord { created_at: now.minus(day * days), ..payment });
    }
    scene.list(&scene.payment(RecordedMoney::Open, None));
    let span = RecordSpan { from: now, until: now.plus(day) };
    let missing = scene.import.find_missing(span).await.unwrap();
    let found: Vec<_> = missing.iter().map(|one| (one.kind, one.record.money.clone())).collect();
    assert_eq!(found, [(OpKind::Capture, RecordedMoney::Captured(usd(600))), (OpKind::Authorize, RecordedMoney::Open)]);
}

#[tokio::test]
async fn what_was_captured_in_time_is_taken_up_late() {
    let scene = Scene::new().await;
    let reserved = scene.payment(RecordedMoney::Reserved(usd(1_000)), None);
    (0..2).for_each(|_| scene.world.script.know(approved(&usd(1_000))));
    let operation = reserved.operation.unwrap();
    let missing = MissingRecord { kind: OpKind::Authorize, operation, record: reserved.clone() };
    assert_eq!(scene.take_up(&missing, &MissingNames::default()).await, Ok(OrderState::PaymentAuthorized));
    scene.world.advance(Duration::from_secs(60 * 24 * 60 * 60));
    let record = ProcessorRecord { money: RecordedMoney::Captured(usd(600)), ..reserved };
    let missing = MissingRecord { kind: OpKind::Capture, operation: OpId::new(fresh()), record };
    (0..2).for_each(|_| scene.world.script.know(approved(&usd(600))));
    assert_eq!(scene.take_up(&missing, &MissingNames::default()).await, Ok(OrderState::Processed));
}

#[tokio::test]
async fn a_run_that_heard_nothing_is_gone_on_with() {
    let scene = Scene::new().await;
    let script = &scene.world.script;
    let captured = scene.payment(RecordedMoney::Captured(usd(1_000)), Some(OpId::new(fresh())));
    scene.list(&captured);
    let [authorization, capture] = &scene.missing().await[..] else { panic!("an authorization and its capture") };
    // The processor says what it holds, and nothing any more once that is written down.
    script.know(approved(&usd(1_000)));
    script.know_status(StatusReply::Known(unclear()));
    assert_eq!(scene.take_up(authorization, &MissingNames::default()).await, Ok(OrderState::Processing));
    (0..3).for_each(|_| script.know(approved(&usd(1_000))));
    assert_eq!(scene.take_up(capture, &MissingNames::default()).await, Ok(OrderState::Processed));
    assert_eq!(script.asked(OpKind::Capture), [], "only asked about");
}

/// The backup was made while the authorization was open; its capture followed, and is known to the processor alone.
#[tokio::test]
async fn a_capture_that_follows_by_itself_is_taken_up_under_its_own_key() {
    let scene = Scene::new().await;
    let (world, script) = (&scene.world, &scene.world.script);
    script.say(OpKind::Authorize, unclear());
    let (id, _told) = world.checkout("PAYPAL", true).await;
    assert_eq!(world.state(id).await, "PROCESSING");
    let record = ProcessorRecord {
        order: Some(id),
        ..scene.payment(RecordedMoney::Captured(usd(1_000)), Some(OpId::new(fresh())))
    };
    let key = record.capture.unwrap();
    let of = |record: ProcessorRecord, kind| MissingRecord { kind, operation: key, record };
    let missing = of(record.clone(), OpKind::Capture);
    let take_up = async |missing: &MissingRecord| scene.take_up(missing, &MissingNames::default()).await;
    // Another amount than the one that is captured as soon as the authorization is known, and a refund before it.
    let less = of(ProcessorRecord { money: RecordedMoney::Captured(usd(600)), ..record.clone() }, OpKind::Capture);
    let refund = of(ProcessorRecord { money: RecordedMoney::Refunded(usd(600)), ..record }, OpKind::Refund);
    for wrong in [&less, &refund] {
        assert_eq!(take_up(wrong).await, Err(ImportRefused::CaptureFollows));
    }
    // The processor says that it took nothing, or less; or it is silent.
    for (said, why) in [
        (StatusReply::Absent, ImportRefused::NothingHeld),
        (StatusReply::Known(approved(&usd(600))), ImportRefused::NothingHeld),
        (StatusReply::Known(unclear()), ImportRefused::Unanswered("a time-out".to_owned())),
    ] {
        script.know_status(said);
        assert_eq!(take_up(&missing).await, Err(why));
        assert_eq!(world.state(id).await, "PROCESSING");
    }
    // The capture, the authorization, that once more as it is written down; then nothing: the capture stays open, under its key.
    (0..3).for_each(|_| script.know(approved(&usd(1_000))));
    script.know_status(StatusReply::Known(unclear()));
    assert_eq!(take_up(&missing).await, Ok(OrderState::PaymentAuthorized));
    let written = world.store.find_payment(key).await.unwrap().unwrap();
    assert_eq!((written.operation.kind, written.operation.amount), (OpKind::Capture, usd(1_000)));
    script.know(approved(&usd(1_000)));
    assert_eq!(take_up(&missing).await, Ok(OrderState::Processed));
    assert_eq!(script.asked(OpKind::Capture), [], "only asked about");
    assert_eq!(world.order(id).await.amounts.captured(), &usd(1_000));
}

const ALREADY_CAPTURED: ProcessorReply =
    ProcessorReply::Declined { reason: DeclineReason::AlreadyCaptured, retryable: false, credential: None };

/// The capture that is asked for under a new key, before the one that was made is taken up, is refused. It is no failure, and gives way.
#[tokio::test]
async fn a_capture_that_a_settler_has_asked_for_gives_way_to_the_one_that_was_made() {
    let scene = Scene::new().await;
    let (world, script) = (&scene.world, &scene.world.script);
    script.say(OpKind::Authorize, unclear());
    let (id, _told) = world.checkout("PAYPAL", true).await;
    // A settler learns the authorization, and asks for the capture that follows: its call is on its way.
    script.know(approved(&usd(1_000)));
    script.say(OpKind::Capture, ALREADY_CAPTURED);
    let gate = Arc::new(Gate::default());
    *script.gate.lock().unwrap() = Some(gate.clone());
    let settler = world.settle_after(Duration::from_secs(60));
    let import = async {
        gate.arrived.notified().await;
        let record = ProcessorRecord {
            order: Some(id),
            ..scene.payment(RecordedMoney::Captured(usd(1_000)), Some(OpId::new(fresh())))
        };
        let key = record.capture.unwrap();
        let missing = MissingRecord { kind: OpKind::Capture, operation: key, record };
        script.know_status(StatusReply::Absent);
        let refused = scene.take_up(&missing, &MissingNames::default()).await;
        assert_eq!(refused, Err(ImportRefused::NothingHeld), "only what the processor says that it did");
        // Before it is written down, and after.
        (0..2).for_each(|_| script.know(approved(&usd(1_000))));
        assert_eq!(scene.take_up(&missing, &MissingNames::default()).await, Ok(OrderState::Processed));
        gate.open.notify_one();
        key
    };
    let (_settled, key) = tokio::join!(settler, import);
    let asked = script.asked(OpKind::Capture);
    let [given_way] = asked[..] else { panic!("one was asked for: {asked:?}") };
    let state = async |key| world.store.find_payment(key).await.unwrap().unwrap().operation.state;
    assert_eq!((state(given_way).await, state(key).await), (OpState::Declined, OpState::Approved));
    let order = world.order(id).await;
    assert_eq!((order.state, order.amounts.captured()), (OrderState::Processed, &usd(1_000)));
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_PROCESSED"]);
}

#[tokio::test]
async fn a_refused_capture_waits_until_the_one_of_another_amount_is_taken_up() {
    let scene = Scene::new().await;
    let (world, script) = (&scene.world, &scene.world.script);
    let id = world.authorized().await;
    script.say(OpKind::Capture, ALREADY_CAPTURED);
    world.capture(id, None).await.unwrap();
    let [asked] = script.asked(OpKind::Capture)[..] else { panic!("one was asked for") };
    let state = async |key| world.store.find_payment(key).await.unwrap().unwrap().operation.state;
    assert_eq!((world.state(id).await, state(asked).await), ("PAYMENT_AUTHORIZED", OpState::Unknown));
    let record = ProcessorRecord { order: Some(id), ..scene.payment(RecordedMoney::Captured(usd(600)), None) };
    let key = OpId::new(fresh());
    let missing = MissingRecord { kind: OpKind::Capture, operation: key, record };
    (0..3).for_each(|_| script.know(approved(&usd(600))));
    assert_eq!(scene.take_up(&missing, &MissingNames::default()).await, Ok(OrderState::Processed));
    assert_eq!((state(asked).await, state(key).await), (OpState::Declined, OpState::Approved));
    assert_eq!(world.order(id).await.amounts.captured(), &usd(600));
    assert_eq!(script.asked(OpKind::Capture), [asked], "nothing was asked for again");
}

/// A capture follows by itself, or was promised: what the processor made of it is less. A person decides.
#[tokio::test]
async fn a_capture_of_less_than_is_owed_is_for_a_review() {
    let scene = Scene::new().await;
    let (world, script) = (&scene.world, &scene.world.script);
    script.say(OpKind::Authorize, unclear());
    let (id, _told) = world.checkout("PAYPAL", true).await;
    script.know(approved(&usd(1_000)));
    script.say(OpKind::Capture, ALREADY_CAPTURED);
    world.settle_after(Duration::from_secs(60)).await;
    let [asked] = script.asked(OpKind::Capture)[..] else { panic!("one was asked for") };
    let record = ProcessorRecord { order: Some(id), ..scene.payment(RecordedMoney::Captured(usd(600)), None) };
    let key = OpId::new(fresh());
    let missing = MissingRecord { kind: OpKind::Capture, operation: key, record };
    // What it says before it is written down, and when the one under its key is asked about.
    (0..2).for_each(|_| script.know(approved(&usd(600))));
    scene.take_up(&missing, &MissingNames::default()).await.unwrap();
    let state = async |key| world.store.find_payment(key).await.unwrap().unwrap().operation.state;
    assert_eq!(state(asked).await, OpState::Declined);
    let order = world.order(id).await;
    assert!(order.under_review, "{:?}", order.state);
    assert!(order.amounts.captured().is_zero());
    script.know(approved(&usd(600)));
    let outcome = world.payments.review(id, true, "ana", &Acting::system()).await.unwrap();
    assert_eq!((outcome.order.state, outcome.order.amounts.captured()), (OrderState::Processed, &usd(600)));
    assert_eq!(script.asked(OpKind::Capture), [asked], "nothing was asked for again");
}
