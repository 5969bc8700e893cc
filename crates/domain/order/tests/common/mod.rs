// Orders to begin with, for the tests and for the examples in the documentation.

use dropin_card::CardHash;
use dropin_kernel::{MerchantId, OrderId, ParseIdError, Revision, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::{
    Account, Amounts, CapturePlan, Dispute, DisputeReason, DisputeStep, LedgerTransaction, NewDispute, NewOrder, Order,
    OrderState, Step, VoidPlan,
};

#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) const STARTED_AT: Timestamp = Timestamp::from_micros(1_000_000);
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) const NOW: Timestamp = Timestamp::from_micros(2_000_000);
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) const CARD: CardHash = CardHash([7; 32]);
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) const LATER: Timestamp = Timestamp::from_micros(9_000_000);

#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn id<T: std::str::FromStr<Err = ParseIdError>>(last: u8) -> T {
    format!("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f8091{last:02x}").parse().unwrap()
}

#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn usd(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}

/// An Order of 10.00 from a Session that has just been submitted.
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn started() -> Order {
    let new = NewOrder {
        id: id::<OrderId>(1),
        merchant_id: id::<MerchantId>(2),
        session_id: Some(id::<SessionId>(3)),
        attempt_id: None,
        merchant_reference: "order-1".to_owned(),
        total: usd(1_000),
        auto_capture: false,
        payment_method: "VISA".to_owned(),
        return_url: None,
    };
    Order::start(new, STARTED_AT).edited(|parts| parts.card = Some(CARD)).unwrap()
}

/// The same, authorized until [`LATER`].
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn authorized() -> Order {
    started().authorized(&usd(1_000), false, LATER, id(4), NOW).unwrap().change.next
}

/// An Order of 10.00 in `state`; before the capture 4.00 are asked to be captured, after it 5.00 are captured, 1.00 refunded and 2.00 being so.
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn in_state(state: OrderState) -> Order {
    let amounts = match state {
        OrderState::Processed => [1_000, 500, 100, 0, 200],
        _ => [1_000, 0, 0, 400, 0],
    };
    let [authorized, captured, refunded, capturing, refunding] = amounts.map(usd);
    let amounts = Amounts::restore(authorized, captured, refunded, capturing, refunding).unwrap();
    started()
        .edited(|parts| {
            parts.state = state;
            parts.amounts = amounts;
            parts.revision = Revision::new(7);
            parts.shown = true;
        })
        .unwrap()
}

/// The promise that a request to capture makes.
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn promised(order: &Order) -> Option<Step> {
    match order.plan_capture(None, NOW) {
        Ok(CapturePlan::UnderReview(step) | CapturePlan::InFlight(step)) => step.map(|step| *step),
        _ => None,
    }
}

/// What the merchant's cancel asks for.
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn void_asked(order: &Order) -> Option<Step> {
    match order.plan_cancel(NOW) {
        Ok(VoidPlan::Ask(step)) => Some(*step),
        _ => None,
    }
}

#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn moves(ledger: &[LedgerTransaction]) -> Vec<(Account, i64)> {
    ledger.iter().flat_map(LedgerTransaction::entries).map(|entry| (entry.account, entry.minor)).collect()
}

/// What a dispute of `minor`, to be answered before [`LATER`], does to an Order.
#[allow(dead_code, reason = "each test and each example uses a part of these")]
pub(crate) fn disputed(order: &Order, minor: i64) -> DisputeStep {
    let new = NewDispute {
        id: id(7),
        processor: "sandbox".parse().unwrap(),
        reference: "dp_1".to_owned(),
        reason: DisputeReason::Fraudulent,
        amount: usd(minor),
        due_at: Some(LATER),
    };
    Dispute::open(new, order, id(8), NOW).unwrap()
}
