//! What a processor's answer means for a payment that was screened.

use dropin_order::{DeclineReason, Order};
use dropin_ports::{CardAuthentication, CardFacts, CountableOutcome, PaymentTryOutcome, ProcessorReply, Waiting};
use dropin_risk::{ScaExemption, Screening, VelocityKey, VelocityWindow};

use super::ScreenedPayment;

impl ScreenedPayment {
    /// What has to be counted of it after this answer; `None` when nothing has: a payment of a known shopper and card that was allowed costs no statement.
    pub(crate) fn countable(&self, order: &Order, answer: &ProcessorReply) -> Option<CountableOutcome> {
        let in_alarm = self.screening.as_ref().is_some_and(|screening| screening.is_in_alarm());
        let (authentication, card) = (self.authentication(answer), self.untold_facts(answer));
        let tells = authentication != CardAuthentication::Unchanged || card != CardFacts::default();
        let outcome = self.outcome(order, answer, tells);
        outcome.map(|outcome| CountableOutcome { outcome, in_alarm, authentication, card })
    }

    /// What an approval says of the card that nobody knew, where the card was counted.
    fn untold_facts(&self, answer: &ProcessorReply) -> CardFacts {
        let ProcessorReply::Approved { checks, .. } = answer else { return CardFacts::default() };
        let counted = self.screening.as_ref().map(Screening::facts);
        let counted = counted.filter(|facts| facts.velocity.sum(VelocityKey::Card, VelocityWindow::Day).is_some());
        let Some(facts) = counted else { return CardFacts::default() };
        let known = CardFacts { country: facts.card_country, funding: facts.funding };
        let told =
            CardFacts { country: checks.card_country.or(known.country), funding: checks.funding.or(known.funding) };
        if told == known { CardFacts::default() } else { told }
    }

    /// What an approval says of the card's exemptions, where they are counted.
    fn authentication(&self, answer: &ProcessorReply) -> CardAuthentication {
        let ProcessorReply::Approved { checks, .. } = answer else { return CardAuthentication::Unchanged };
        let counted = self.screening.as_ref().and_then(|screening| Some((screening, screening.facts().exempted?)));
        match counted {
            Some((_, before)) if checks.authenticated == Some(true) && before.payments != 0 => {
                CardAuthentication::Authenticated
            }
            Some((screening, _)) if checks.authenticated != Some(true) => match screening.exemption() {
                Some(ScaExemption::LowValue | ScaExemption::TransactionRiskAnalysis) => {
                    CardAuthentication::Exempted(screening.facts().amount_cents.unwrap_or(0))
                }
                _ => CardAuthentication::Unchanged,
            },
            _ => CardAuthentication::Unchanged,
        }
    }

    /// What became of it, where that has to be counted; an approval also where it `tells` something of the card.
    fn outcome(&self, order: &Order, answer: &ProcessorReply, tells: bool) -> Option<PaymentTryOutcome> {
        let asks = self.decision().asks_authentication();
        match answer {
            // Who tests cards could verify one of their own, or pay with it until a person looks, to be no stranger.
            ProcessorReply::Approved { under_review, .. } if *under_review || order.total.is_zero() => {
                (asks || tells).then_some(PaymentTryOutcome::Authorized)
            }
            ProcessorReply::Approved { .. } => {
                let is_known = self.screening.as_ref().is_some_and(|screening| screening.facts().known_days.is_some());
                (asks || tells || !is_known).then_some(PaymentTryOutcome::Paid)
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
                DeclineReason::Voided | DeclineReason::NeverSent | DeclineReason::AlreadyCaptured => None,
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
    use dropin_risk::{ExemptedPayments, Facts, Rules, RulesFile, Velocity, VelocitySum};

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

    /// Tries are counted, and there were none.
    fn counted() -> Velocity {
        let mut velocity = Velocity::default();
        velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum::default());
        velocity
    }

    #[test]
    fn an_approval_tells_of_its_cards_exemptions_where_they_are_asked_for() {
        use CardAuthentication::{Authenticated, Exempted, Unchanged};
        let file = "[exemptions]\nLOW_VALUE = '30.00 EUR'\nONE_LEG_OUT = 'ON'\n[weights]\nNEW_SHOPPER = 0";
        let rules = Rules::built_in().with(&RulesFile::parse(file).unwrap()).unwrap();
        let facts = |payments, cents| Facts {
            amount_cents: Some(cents),
            scheme: "VISA".parse().ok(),
            known_days: Some(3),
            velocity: counted(),
            exempted: Some(ExemptedPayments { payments, amount_cents: 0 }),
            ..Facts::default()
        };
        let abroad = Facts { card_country: "US".parse().ok(), ..facts(1, 5_00) };
        let unasked = Facts { exempted: None, ..facts(1, 5_00) };
        for (facts, authenticated, expected) in [
            (facts(0, 5_00), None, Exempted(5_00)),
            (facts(4, 5_00), Some(false), Exempted(5_00)),
            (facts(5, 5_00), None, Unchanged),
            (facts(0, 30_01), None, Unchanged),
            (facts(1, 5_00), Some(true), Authenticated),
            (facts(5, 40_000), Some(true), Authenticated),
            (facts(0, 5_00), Some(true), Unchanged),
            (abroad, None, Unchanged),
            (unasked, Some(true), Unchanged),
        ] {
            let checks = IssuerChecks { authenticated, ..IssuerChecks::default() };
            let approved = |under_review| ProcessorReply::Approved {
                amount: None,
                captured: false,
                under_review,
                credential: None,
                checks,
            };
            let why = format!("{facts:?} {authenticated:?}");
            let screened = ScreenedPayment::of_kept(Some(rules.screen(facts)));
            for (under_review, outcome) in [(false, PaymentTryOutcome::Paid), (true, PaymentTryOutcome::Authorized)] {
                let counted = screened.countable(&order(5_00), &approved(under_review));
                let expected = CountableOutcome { authentication: expected, ..CountableOutcome::plain(outcome) };
                let expected = Some(expected).filter(|expected| expected.authentication != Unchanged);
                assert_eq!(counted, expected, "{why}");
            }
            let declined =
                ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: true, credential: None };
            let counted = screened.countable(&order(5_00), &declined);
            assert_eq!(counted, Some(CountableOutcome::plain(PaymentTryOutcome::Declined)));
        }
    }

    #[test]
    fn an_approval_tells_of_a_card_what_nobody_knew() {
        let told =
            |country: &str, funding: &str| CardFacts { country: country.parse().ok(), funding: funding.parse().ok() };
        let facts = |country: &str, is_counted| {
            let mut velocity = counted();
            if is_counted {
                velocity.set(VelocityKey::Card, VelocityWindow::Day, VelocitySum::default());
            }
            let CardFacts { country: card_country, funding } = told(country, "CREDIT");
            let funding = funding.filter(|_| card_country.is_some());
            Facts { known_days: Some(3), velocity, card_country, funding, ..Facts::default() }
        };
        for (facts, said, expected) in [
            (facts("", true), told("US", "CREDIT"), Some(told("US", "CREDIT"))),
            (facts("", true), told("", "PREPAID"), Some(told("", "PREPAID"))),
            (facts("", true), CardFacts::default(), None),
            (facts("US", true), told("US", "CREDIT"), None),
            (facts("US", true), told("FR", "CREDIT"), Some(told("FR", "CREDIT"))),
            // A processor that tells nothing takes back nothing.
            (facts("US", true), CardFacts::default(), None),
            // No card was counted, as where a stored one is paid with.
            (facts("", false), told("US", "CREDIT"), None),
        ] {
            let checks = IssuerChecks { card_country: said.country, funding: said.funding, ..IssuerChecks::default() };
            let approved = |under_review| ProcessorReply::Approved {
                amount: None,
                captured: false,
                under_review,
                credential: None,
                checks,
            };
            let screened = ScreenedPayment::of_kept(Some(Rules::built_in().screen(facts)));
            for (under_review, outcome) in [(false, PaymentTryOutcome::Paid), (true, PaymentTryOutcome::Authorized)] {
                let told = screened.countable(&order(5_00), &approved(under_review));
                let expected = expected.map(|card| CountableOutcome { card, ..CountableOutcome::plain(outcome) });
                assert_eq!(told, expected, "{said:?}");
            }
        }
    }
}
