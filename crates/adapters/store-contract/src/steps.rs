//! What follows an authorization, and the server-to-server checkout, ready to be written.

use dropin_kernel::{MerchantId, OpId, RefundId, Timestamp};
use dropin_money::Amount;
use dropin_order::{OpState, Refund, RefundState, VoidPlan};
use dropin_ports::{
    ChangeOrder, CheckoutRecord, OrderChanged, Payment, PrepareAuthorization, Settled, Settlement, StoredResponse,
};

use crate::Harness;
use crate::harness::{Asking, approval, capture, captured, outcome};
use crate::values::{at, authorization, checkout_order, fresh, new_key, of_order, order_event, posting, seconds};

impl Harness {
    /// A payment all of whose money was captured, found by its authorization.
    pub async fn processed(&self, merchant: MerchantId) -> Payment {
        let payment = self.authorized(merchant).await;
        let taken = capture(&payment, None, at(30));
        assert_eq!(self.ask(&taken).await, Ok(OrderChanged::Done));
        let (change, ledger) = captured(&taken.order.next, &taken.operation, at(31));
        let mut settlement = outcome(taken.operation.id, OpState::Approved, at(31));
        (settlement.order, settlement.ledger) = (Some(change), ledger);
        assert_eq!(self.payments.settle(settlement).await, Ok(Settled::Done));
        self.payment(payment.operation.id).await
    }

    /// A payment that was authorized and that our own review holds.
    pub async fn held(&self, merchant: MerchantId) -> Payment {
        let payment = self.submitted(merchant).await;
        let step = payment.order.authorized(&payment.order.total, true, at(604_800), posting(), at(20)).unwrap();
        let mut settlement = approval(&payment);
        (settlement.order, settlement.ledger) = (Some(step.change), step.ledger);
        assert_eq!(self.payments.settle(settlement).await, Ok(Settled::Done));
        self.payment(payment.operation.id).await
    }

    /// A refund that was begun, found by its operation.
    pub async fn refunding(&self, payment: &Payment, reference: &str, amount: Option<&Amount>) -> Payment {
        let asked = refund(payment, reference, amount, at(40));
        assert_eq!(self.ask(&asked).await, Ok(OrderChanged::Done));
        self.payment(asked.operation.id).await
    }
}

/// The merchant cancels an authorized payment.
pub(crate) fn void(payment: &Payment, now: Timestamp) -> Asking {
    let plan = payment.order.plan_cancel(now).unwrap();
    let VoidPlan::Ask(step) = plan else { panic!("{plan:?}") };
    let operation = payment.operation.void(OpId::new(fresh()), now, now.plus(seconds(10)));
    let history = vec![of_order(&step.change.next, "VOID_REQUESTED", now)];
    Asking { order: step.change, operation, refund: None, history, key_use: None }
}

/// A capture of all of an authorized payment, asked for with a key of its own.
pub fn keyed_capture(payment: &Payment) -> ChangeOrder {
    let asked = capture(payment, None, at(30));
    Asking { key_use: Some(new_key(payment.order.merchant_id)), ..asked }.into()
}

/// A refund of `amount` (all that is left when `None`) of a captured payment, found by its authorization.
pub(crate) fn refund(payment: &Payment, reference: &str, amount: Option<&Amount>, now: Timestamp) -> Asking {
    let (step, amount) = payment.order.plan_refund(amount, now).unwrap();
    let refund = Refund {
        id: RefundId::new(fresh()),
        order_id: payment.order.id,
        merchant_id: payment.order.merchant_id,
        reference: reference.to_owned(),
        amount,
        settlement: None,
        description: Some("Zu groß 👕 \"XL\"".to_owned()),
        state: RefundState::InProgress,
        created_at: now,
        updated_at: now,
    };
    let operation = payment.operation.refund(OpId::new(fresh()), refund.id, amount, now, now.plus(seconds(10)));
    let history = vec![of_order(&step.change.next, "REFUND_REQUESTED", now)];
    Asking { order: step.change, operation, refund: Some(refund), history, key_use: None }
}

/// What follows when the processor decided on a refund, found by its operation.
pub(crate) fn refunded(payment: &Payment, succeeded: bool, now: Timestamp) -> Settlement {
    let (order, asked) = (&payment.order, &payment.operation.amount);
    let state = if succeeded { OpState::Approved } else { OpState::Declined };
    let step = if succeeded {
        order.refund_succeeded(asked, asked, posting(), now).unwrap()
    } else {
        order.refund_failed(asked, now).unwrap()
    };
    let mut settlement = outcome(payment.operation.id, state, now);
    settlement.refund = payment.refund.as_ref().map(|refund| refund.decided(succeeded, now));
    settlement.events = vec![order_event(&step.change.next, "REFUND", now)];
    settlement.history = vec![of_order(&step.change.next, "REFUND", now)];
    settlement.ledger = step.ledger;
    settlement.order = Some(step.change);
    settlement
}

/// A server-to-server checkout without a card.
pub fn checkout(merchant: MerchantId, reference: &str, now: Timestamp) -> PrepareAuthorization {
    let order = checkout_order(merchant, reference, now);
    PrepareAuthorization {
        session: None,
        checkout: Some(CheckoutRecord {
            document: "{\"Items\": [29.90], \"Consumer\": {\"Name\": \"Zoë\"}}".to_owned(),
        }),
        contract: None,
        operation: authorization(&order, now),
        stash: None,
        now,
        history: vec![of_order(&order, "START", now)],
        key_use: None,
        audit: None,
        order,
    }
}

/// What follows from the approval of a checkout's authorization, told with `body` to whoever asked for it with a key.
pub fn checkout_approval(prepare: &PrepareAuthorization, body: &str) -> Settlement {
    let (order, now) = (&prepare.order, at(20));
    let step = order.authorized(&order.total, false, at(604_800), posting(), now).unwrap();
    let mut settlement = outcome(prepare.operation.id, OpState::Approved, now);
    settlement.events = vec![order_event(&step.change.next, "ORDER_AUTHORIZED", now)];
    settlement.history = vec![of_order(&step.change.next, "AUTHORIZED", now)];
    settlement.answer = Some(StoredResponse { status: 200, etag: None, body: body.as_bytes().to_vec() });
    (settlement.order, settlement.ledger) = (Some(step.change), step.ledger);
    settlement
}
