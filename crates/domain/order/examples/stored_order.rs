//! An Order that is kept as JSON between the steps of its life: authorized, captured in part, and refunded twice.
//!
//! `cargo run -p dropin-order --example stored_order --features serde`

use std::error::Error;

use dropin_kernel::{LedgerTransactionId, MerchantId, OrderId, Timestamp, uuid::Uuid};
use dropin_money::{Amount, Currency};
use dropin_order::{CapturePlan, LedgerTransaction, NewOrder, Order, OrderState, RefundRefused, Step};

/// A store of one Order: its JSON, and everything that was posted to its ledger.
struct Stored {
    order: String,
    ledger: Vec<LedgerTransaction>,
}

impl Stored {
    fn order(&self) -> Result<Order, serde_json::Error> {
        serde_json::from_str(&self.order)
    }

    /// Writes a step where the Order still is as the step was decided on.
    fn write(&mut self, step: Step) -> Result<(), Box<dyn Error>> {
        if self.order()?.revision != step.change.expected {
            return Err("another program was faster: read the Order again and decide again".into());
        }
        self.ledger.extend(step.ledger);
        self.order = serde_json::to_string(&step.change.next)?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let eur = |minor| Amount::from_minor(Currency::Eur, minor);
    let mut last_id = 100;
    let mut ledger_id = || {
        last_id += 1;
        LedgerTransactionId::new(Uuid::from_u128(last_id))
    };
    let now: Timestamp = "2026-11-23T10:00:00.000000Z".parse()?;
    let capture_before: Timestamp = "2026-11-30T10:00:00.000000Z".parse()?;

    let order = Order::start(
        NewOrder {
            id: OrderId::new(Uuid::from_u128(1)),
            merchant_id: MerchantId::new(Uuid::from_u128(2)),
            session_id: None,
            attempt_id: None,
            merchant_reference: "order-1001".to_owned(),
            total: eur(10_000)?,
            auto_capture: false,
            payment_method: "VISA".to_owned(),
            return_url: None,
        },
        now,
    );
    let mut stored = Stored { order: serde_json::to_string(&order)?, ledger: Vec::new() };

    // The processor authorized all of it.
    let step = stored.order()?.authorized(&eur(10_000)?, false, capture_before, ledger_id(), now)?;
    stored.write(step)?;
    assert_eq!(stored.order()?.state, OrderState::PaymentAuthorized);

    // 60.00 are captured: the amount is reserved, the processor is asked, its answer is written.
    let CapturePlan::Ask { step, amount } = stored.order()?.plan_capture(Some(&eur(6_000)?), now)? else {
        return Err("an authorized Order is captured".into());
    };
    stored.write(*step)?;
    let step = stored.order()?.captured(&amount, &eur(6_000)?, ledger_id(), ledger_id(), now)?;
    stored.write(step)?;
    let order = stored.order()?;
    assert_eq!((order.state, order.amounts.refundable().to_string()), (OrderState::Processed, "60.00".to_owned()));

    // Two refunds, of which the second asks for what is left.
    for (asked, left) in [(Some(eur(2_500)?), "35.00"), (None, "0.00")] {
        let (step, amount) = stored.order()?.plan_refund(asked.as_ref(), now)?;
        stored.write(step)?;
        let step = stored.order()?.refund_succeeded(&amount, &amount, ledger_id(), now)?;
        stored.write(step)?;
        assert_eq!(stored.order()?.amounts.refundable().to_string(), left);
    }
    let refused = stored.order()?.plan_refund(None, now).err();
    assert_eq!(refused, Some(RefundRefused::ExceedsCaptured { left: eur(0)? }));

    // Every ledger transaction sums to zero, and a damaged record is not restored.
    assert!(stored.ledger.iter().all(|posted| posted.entries().iter().map(|entry| entry.minor).sum::<i64>() == 0));
    let damaged = stored.order.replace("\"total\":\"100.00 EUR\"", "\"total\":\"100 JPY\"");
    let refused = serde_json::from_str::<Order>(&damaged).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|why| why.contains("different currencies")));
    println!("{}", stored.order);
    Ok(())
}
