//! What a processor's answer means for a payment that was screened.

use dropin_order::{DeclineReason, Order};
use dropin_ports::{PaymentTryOutcome, ProcessorReply, Waiting};

use super::ScreenedPayment;

/// What has to be counted of a payment once it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountableOutcome {
    pub(crate) outcome: PaymentTryOutcome,
    /// Whether the merchant's declines jumped when it was screened.
    pub(crate) in_alarm: bool,
}

impl ScreenedPayment {
    /// What has to be counted of it after this answer; `None` when nothing has: a payment of a known shopper that was allowed costs no statement.
    pub(crate) fn countable(&self, order: &Order, answer: &ProcessorReply) -> Option<CountableOutcome> {
        let in_alarm = self.screening.as_ref().is_some_and(|screening| screening.is_in_alarm());
        self.outcome(order, answer).map(|outcome| CountableOutcome { outcome, in_alarm })
    }

    fn outcome(&self, order: &Order, answer: &ProcessorReply) -> Option<PaymentTryOutcome> {
        let asks = self.decision().asks_authentication();
        match answer {
            // Who tests cards could verify one of their own, or pay with it until a person looks, to be no stranger.
            ProcessorReply::Approved { under_review, .. } if *under_review || order.total.is_zero() => {
                asks.then_some(PaymentTryOutcome::Authorized)
            }
            ProcessorReply::Approved { .. } => {
                let is_known = self.screening.as_ref().is_some_and(|screening| screening.facts().known_days.is_some());
                (asks || !is_known).then_some(PaymentTryOutcome::Paid)
            }
            ProcessorReply::Declined { reason, .. } => match reason {
                DeclineReason::Blocked => Some(PaymentTryOutcome::Blocked),
                DeclineReason::Generic
                | DeclineReason::InsufficientFunds
                | DeclineReason::InvalidCard
                | DeclineReason::DoNotTryAgain
                | DeclineReason::AuthenticationFailed => Some(PaymentTryOutcome::Declined),
                // Nobody refused it; a challenge that nobody passed counts as if somebody had.
                DeclineReason::CancelledByShopper | DeclineReason::PageClosed | DeclineReason::Expired => {
                    asks.then_some(PaymentTryOutcome::Declined)
                }
                DeclineReason::Voided | DeclineReason::NeverSent => None,
            },
            ProcessorReply::Pending(Waiting::Shopper { .. }) => asks.then_some(PaymentTryOutcome::Challenged),
            ProcessorReply::Pending(_)
            | ProcessorReply::Abandoned
            | ProcessorReply::Unknown { .. }
            | ProcessorReply::NotSent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use dropin_kernel::uuid::Uuid;
    use dropin_kernel::{MerchantId, OrderId, Timestamp};
    use dropin_money::{Amount, Currency};
    use dropin_order::NewOrder;
    use dropin_ports::IssuerChecks;
    use dropin_risk::{Facts, Rules};

    use super::*;

    fn order(minor: i64) -> Order {
        let new = NewOrder {
            id: OrderId::new(Uuid::from_u128(1)),
            merchant_id: MerchantId::new(Uuid::from_u128(2)),
            session_id: None,
            attempt_id: None,
            merchant_reference: "order-1".to_owned(),
            total: Amount::from_minor(Currency::Eur, minor).unwrap(),
            auto_capture: true,
            payment_method: "VISA".to_owned(),
            return_url: None,
        };
        Order::start(new, Timestamp::from_micros(0))
    }

    #[test]
    fn an_approval_makes_its_shopper_known_where_it_is_paid_and_nobody_has_to_look() {
        use PaymentTryOutcome::{Authorized, Paid};
        let screened = |known_days, code_matches| {
            let issuer = IssuerChecks { code_matches, ..IssuerChecks::default() };
            Rules::built_in().screen(Facts { known_days, issuer, ..Facts::default() })
        };
        let (new, known, asked) = (screened(None, None), screened(Some(0), None), screened(Some(0), Some(false)));
        assert!(!new.decision().asks_authentication() && asked.decision().asks_authentication());
        for (screening, minor, under_review, expected) in [
            (Some(&new), 1, false, Some(Paid)),
            (Some(&known), 1, false, None),
            (Some(&asked), 1, false, Some(Paid)),
            (Some(&new), 0, false, None),
            (Some(&new), 1, true, None),
            (Some(&asked), 0, false, Some(Authorized)),
            (Some(&asked), 1, true, Some(Authorized)),
            (None, 1, true, Some(Authorized)),
        ] {
            let checks = IssuerChecks::default();
            let answer =
                ProcessorReply::Approved { amount: None, captured: false, under_review, credential: None, checks };
            let screened = ScreenedPayment::of_kept(screening.cloned());
            let counted = screened.countable(&order(minor), &answer).map(|counted| counted.outcome);
            assert_eq!(counted, expected, "{minor} {under_review} {screening:?}");
        }
    }
}
