//! What leads to each event.

use dropin_boot::Failure;
use dropin_order::DisputeAnswerKind;
use dropin_wire::event;
use sandbox_processor::TestPurpose;

use crate::cli::order::Decision;

/// How one event is made to happen.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) event: &'static str,
    /// The same in words.
    pub(super) does: &'static str,
    pub(super) way: Way,
}

/// What is done for it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// A shopper pays a Session.
    Session(Payment),
    /// The merchant's server has a shopper's card stored.
    Contract(ContractStep),
}

/// How a Session is paid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Payment {
    pub(super) auto_capture: bool,
    pub(super) pays: Pays,
    pub(super) final_step: FinalStep,
}

/// What happens around the opening of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContractStep {
    /// Nothing more.
    Open,
    /// The card ends this month, which is within the 30 days of the notice.
    CardEndsSoon,
    /// The issuer says of a charge that the card is of no use.
    RefusedCharge,
    /// The merchant closes it.
    Close,
}

/// What the shopper pays with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pays {
    /// A published test card.
    Card(TestPurpose),
    /// A method without a card.
    Method(&'static str),
}

/// What happens after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinalStep {
    None,
    /// Nobody pays: the Session lives for a second.
    Expire,
    /// The shopper tries again until the Session takes no more.
    DeclineUntilOver,
    /// On the pay-later provider's page.
    LenderReviews,
    /// The merchant gives the authorization up.
    Cancel,
    /// The merchant pays all of it back.
    Refund,
    /// A reviewer decides.
    Review(Decision),
    /// Somebody answers the dispute that the card leads to.
    AnswerDispute(DisputeAnswerKind),
}

const PAY: Pays = Pays::Card(TestPurpose::Pay);
const DISPUTED: Pays = Pays::Card(TestPurpose::Dispute);
const HELD: Pays = Pays::Card(TestPurpose::Review);

/// One for each event.
pub(super) const SCENARIOS: &[Scenario] = &[
    scenario("SESSION_COMPLETED", "pays with a card", true, PAY, FinalStep::None),
    scenario(
        "SESSION_FAILED",
        "is declined as often as the Session allows",
        true,
        Pays::Card(TestPurpose::Decline),
        FinalStep::DeclineUntilOver,
    ),
    scenario("SESSION_CANCELLED", "creates a Session that lives for a second", true, PAY, FinalStep::Expire),
    scenario(
        "ORDER_PROCESSING",
        "chooses bank transfer; nothing arrives",
        true,
        Pays::Method("BANKTRANSFER"),
        FinalStep::None,
    ),
    scenario("ORDER_AUTHORIZED", "pays with a card, AutoCapture false", false, PAY, FinalStep::None),
    scenario(
        "ORDER_COMMIT_ACCEPTED",
        "pays later, and the lender takes it into review",
        true,
        Pays::Method("PAYLATER"),
        FinalStep::LenderReviews,
    ),
    scenario("ORDER_PROCESSED", "pays with a card", true, PAY, FinalStep::None),
    scenario(
        "ORDER_PROCESSING_FAILED",
        "pays with a card whose capture is refused for good",
        true,
        Pays::Card(TestPurpose::RefuseCapture),
        FinalStep::None,
    ),
    scenario(
        "ORDER_CANCELLED",
        "pays with a card, AutoCapture false; cancels the Order",
        false,
        PAY,
        FinalStep::Cancel,
    ),
    scenario(
        "ORDER_REVIEW_APPROVED",
        "pays with a card that is held for review; approves",
        true,
        HELD,
        FinalStep::Review(Decision::Approve),
    ),
    scenario(
        "ORDER_DECLINED",
        "pays with a card that is held for review; declines",
        true,
        HELD,
        FinalStep::Review(Decision::Decline),
    ),
    scenario("REFUND_SUCCEEDED", "pays with a card; refunds all of it", true, PAY, FinalStep::Refund),
    scenario(
        "REFUND_FAILED",
        "pays with a card whose refunds fail; refunds all of it",
        true,
        Pays::Card(TestPurpose::FailRefund),
        FinalStep::Refund,
    ),
    scenario(
        "DISPUTE_OPENED",
        "pays with a card that is disputed a few seconds later",
        true,
        DISPUTED,
        FinalStep::None,
    ),
    scenario(
        "DISPUTE_UPDATED",
        "pays with a card that is disputed; hands in evidence",
        true,
        DISPUTED,
        FinalStep::AnswerDispute(DisputeAnswerKind::Evidence),
    ),
    scenario(
        "DISPUTE_CLOSED",
        "pays with a card that is disputed; accepts the dispute",
        true,
        DISPUTED,
        FinalStep::AnswerDispute(DisputeAnswerKind::Accept),
    ),
    contract("CONTRACT_OPENED", "stores a card with openContract", ContractStep::Open),
    contract("CONTRACT_EXPIRING", "stores a card that ends this month", ContractStep::CardEndsSoon),
    contract(
        "CONTRACT_SUSPENDED",
        "stores a card; charges it while the sandbox's fault switch has the issuer refuse it as invalid",
        ContractStep::RefusedCharge,
    ),
    contract("CONTRACT_CLOSED", "stores a card; closes the contract", ContractStep::Close),
];

const fn scenario(
    event: &'static str,
    does: &'static str,
    auto_capture: bool,
    pays: Pays,
    final_step: FinalStep,
) -> Scenario {
    Scenario { event, does, way: Way::Session(Payment { auto_capture, pays, final_step }) }
}

const fn contract(event: &'static str, does: &'static str, step: ContractStep) -> Scenario {
    Scenario { event, does, way: Way::Contract(step) }
}

impl Scenario {
    /// What leads to this event.
    pub(super) fn of(event: &str) -> Result<&'static Self, Failure> {
        let known = SCENARIOS.iter().find(|scenario| scenario.event == event);
        known.ok_or_else(|| {
            format!("nothing here leads to {event}; there are {}", event::types().collect::<Vec<_>>().join(", ")).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_event_there_is_can_be_triggered() {
        let (known, played): (BTreeSet<_>, BTreeSet<_>) =
            (event::types().collect(), SCENARIOS.iter().map(|one| one.event).collect());
        assert_eq!((&played, SCENARIOS.len()), (&known, known.len()));
    }
}
