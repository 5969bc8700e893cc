//! What leads to each event.

use dropin_access::Permission;
use dropin_order::DisputeAnswerKind;

/// How one event is made to happen.
#[derive(Debug)]
pub struct TriggerScenario {
    /// The EventType.
    pub event: &'static str,
    /// What the shopper or the merchant's server does for it, in words.
    pub does: &'static str,
    pub(crate) way: Way,
}

/// What is done for it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// A shopper pays a Session.
    Session(Payment),
    /// The merchant's server has a shopper's card stored.
    Contract(ContractStep),
    /// Screening notes that the merchant's declines jump.
    Alarm,
}

/// How a Session is paid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payment {
    pub(crate) auto_capture: bool,
    pub(crate) pays: Pays,
    pub(crate) final_step: FinalStep,
}

/// What happens around the opening of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContractStep {
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
pub(crate) enum Pays {
    /// A published test card.
    Card(TriggerCard),
    /// A method without a card.
    Method(&'static str),
}

/// A published test number of the sandbox (docs/SPECIFICATION.md#test-numbers), by what it is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerCard {
    /// Authorized, captured and refunded at once.
    Pay,
    /// Declined.
    Decline,
    /// Authorized, and held for a review.
    Review,
    /// Authorized; the capture is refused for good.
    RefuseCapture,
    /// Paid; a refund fails.
    FailRefund,
    /// Paid, then disputed.
    Dispute,
}

impl TriggerCard {
    /// Every one.
    pub const ALL: [Self; 6] =
        [Self::Pay, Self::Decline, Self::Review, Self::RefuseCapture, Self::FailRefund, Self::Dispute];

    /// The number, without spaces.
    pub const fn number(self) -> &'static str {
        match self {
            Self::Pay => "4242424242424242",
            Self::Decline => "4000000000000002",
            Self::Review => "4000000000009235",
            Self::RefuseCapture => "4000000000000341",
            Self::FailRefund => "4000000000005126",
            Self::Dispute => "4000000000000259",
        }
    }
}

/// What happens after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinalStep {
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
    /// The merchant's server answers the dispute that the card leads to.
    AnswerDispute(DisputeAnswerKind),
    /// A reviewer approves or declines.
    Review {
        approve: bool,
    },
}

const PAY: Pays = Pays::Card(TriggerCard::Pay);
const DISPUTED: Pays = Pays::Card(TriggerCard::Dispute);
const HELD: Pays = Pays::Card(TriggerCard::Review);

/// One for each event that there is.
pub const SCENARIOS: &[TriggerScenario] = &[
    scenario("SESSION_COMPLETED", "pays with a card", true, PAY, FinalStep::None),
    scenario(
        "SESSION_FAILED",
        "is declined as often as the Session allows",
        true,
        Pays::Card(TriggerCard::Decline),
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
        Pays::Card(TriggerCard::RefuseCapture),
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
        FinalStep::Review { approve: true },
    ),
    scenario(
        "ORDER_DECLINED",
        "pays with a card that is held for review; declines",
        true,
        HELD,
        FinalStep::Review { approve: false },
    ),
    scenario("REFUND_SUCCEEDED", "pays with a card; refunds all of it", true, PAY, FinalStep::Refund),
    scenario(
        "REFUND_FAILED",
        "pays with a card whose refunds fail; refunds all of it",
        true,
        Pays::Card(TriggerCard::FailRefund),
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
    TriggerScenario {
        event: "SCREENING_ALARM_RAISED",
        does: "notes an alarm as screening does after 20 declined tries; no payment is made",
        way: Way::Alarm,
    },
];

const fn scenario(
    event: &'static str,
    does: &'static str,
    auto_capture: bool,
    pays: Pays,
    final_step: FinalStep,
) -> TriggerScenario {
    TriggerScenario { event, does, way: Way::Session(Payment { auto_capture, pays, final_step }) }
}

const fn contract(event: &'static str, does: &'static str, step: ContractStep) -> TriggerScenario {
    TriggerScenario { event, does, way: Way::Contract(step) }
}

impl TriggerScenario {
    /// What the API user has to be permitted, for all of them.
    pub const PERMISSIONS: &[Permission] = &[
        Permission::SessionWrite,
        Permission::SessionRead,
        Permission::OrderCapture,
        Permission::OrderRefund,
        Permission::Checkout,
        Permission::ContractWrite,
        Permission::DisputeRead,
        Permission::DisputeWrite,
    ];

    /// What leads to this event; `None` where there is no such event.
    pub fn of(event: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.event == event)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dropin_wire::event;

    use super::*;

    #[test]
    fn every_event_there_is_can_be_triggered() {
        let (known, played): (BTreeSet<_>, BTreeSet<_>) =
            (event::types().collect(), SCENARIOS.iter().map(|one| one.event).collect());
        assert_eq!((&played, SCENARIOS.len()), (&known, known.len()));
    }
}
