//! What an operator wants to know of the processor.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dropin_ports::{CredentialDeletion, DisputeReply, ProcessorReply, StatusReply};

use crate::breaker::BreakerState;
use crate::guard::HeldBack;

/// How things stand with the processor, as this process sees it; counts are since its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorHealth {
    /// Whether calls pass.
    pub breaker: BreakerState,
    /// How often the breaker has opened.
    pub opened: u64,
    /// The bulkhead of authorizations, captures, voids and refunds.
    pub payments: Occupancy,
    /// The bulkhead of questions: status, abandon, journal, stored credentials.
    ///
    /// A deletion is one of them: no money moves.
    pub questions: Occupancy,
    /// How calls ended; every pair that can occur, so that a count of zero shows as one.
    pub outcomes: Vec<OutcomeCount>,
}

/// How full a bulkhead is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// How many calls may be under way at once.
    pub capacity: usize,
    /// How many are.
    pub under_way: usize,
    /// How many wait in line.
    pub waiting: usize,
}

/// How many calls of one kind ended in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeCount {
    /// authorize, capture, void, refund, status, abandon, journal, list_credentials, delete_credential, list_disputes, read_dispute or answer_dispute.
    pub call: &'static str,
    /// Of a payment: approved, declined, pending, abandoned, unknown, not_sent. Of a question: known, absent, unreachable. Of the journal and
    /// of credentials and disputes: read, unreachable. Of a deletion: deleted, unknown, not_sent. Of an answer to a dispute: taken, refused, unknown. Of all: held_back, by our own guard; of all that a merchant causes: over_share, because its merchant has as many calls under
    /// way as one may have.
    pub outcome: &'static str,
    /// How many.
    pub count: u64,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// To reserve money.
    Authorize,
    /// To take it.
    Capture,
    /// To release it.
    Void,
    /// To give it back.
    Refund,
    /// What became of something.
    Status,
    /// To refuse a key for ever.
    Abandon,
    /// A page of the journal.
    Journal,
    /// A page of stored cards.
    ListCredentials,
    /// To delete a stored card.
    DeleteCredential,
    /// A page of disputes.
    ListDisputes,
    /// How a dispute stands.
    ReadDispute,
    /// To answer a dispute.
    AnswerDispute,
}

impl CallKind {
    const ALL: [Self; 12] = [
        Self::Authorize,
        Self::Capture,
        Self::Void,
        Self::Refund,
        Self::Status,
        Self::Abandon,
        Self::Journal,
        Self::ListCredentials,
        Self::DeleteCredential,
        Self::ListDisputes,
        Self::ReadDispute,
        Self::AnswerDispute,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Authorize => "authorize",
            Self::Capture => "capture",
            Self::Void => "void",
            Self::Refund => "refund",
            Self::Status => "status",
            Self::Abandon => "abandon",
            Self::Journal => "journal",
            Self::ListCredentials => "list_credentials",
            Self::DeleteCredential => "delete_credential",
            Self::ListDisputes => "list_disputes",
            Self::ReadDispute => "read_dispute",
            Self::AnswerDispute => "answer_dispute",
        }
    }

    /// Whether money moves; everything else is a question.
    pub const fn is_payment(self) -> bool {
        matches!(self, Self::Authorize | Self::Capture | Self::Void | Self::Refund)
    }

    const fn outcomes(self) -> &'static [&'static str] {
        match self {
            Self::Authorize | Self::Capture | Self::Void | Self::Refund => {
                &["approved", "declined", "pending", "abandoned", "unknown", "not_sent", HELD_BACK, OVER_SHARE]
            }
            Self::Status | Self::Abandon => &["known", "absent", UNREACHABLE, HELD_BACK, OVER_SHARE],
            Self::Journal | Self::ListDisputes | Self::ReadDispute => &[READ, UNREACHABLE, HELD_BACK],
            Self::AnswerDispute => &["taken", "refused", "unknown", HELD_BACK, OVER_SHARE],
            Self::ListCredentials => &[READ, UNREACHABLE, HELD_BACK, OVER_SHARE],
            Self::DeleteCredential => &["deleted", "unknown", "not_sent", HELD_BACK, OVER_SHARE],
        }
    }
}

/// Our own guard did not let it pass.
pub const HELD_BACK: &str = "held_back";
/// Our own guard did not let it pass, because its merchant has its share.
const OVER_SHARE: &str = "over_share";
/// A page of the journal.
pub const READ: &str = "read";
/// No page of the journal.
pub const UNREACHABLE: &str = "unreachable";

/// The word for what our own guard did not let pass.
pub const fn of_held_back(held_back: HeldBack) -> &'static str {
    match held_back {
        HeldBack::Open | HeldBack::Full => HELD_BACK,
        HeldBack::Share => OVER_SHARE,
    }
}

/// What was read, with the word for whether it was.
pub fn of_reading<T, E>(read: Result<T, E>) -> (Result<T, E>, &'static str) {
    let word = if read.is_ok() { READ } else { UNREACHABLE };
    (read, word)
}

/// The word for what a processor says to an answer to a dispute.
pub const fn of_dispute_reply(reply: &DisputeReply) -> &'static str {
    match reply {
        DisputeReply::Taken(_) => "taken",
        DisputeReply::Refused { .. } => "refused",
        DisputeReply::Unknown { .. } => "unknown",
    }
}

/// The word for an answer to a payment.
pub const fn of_effect(answer: &ProcessorReply) -> &'static str {
    match answer {
        ProcessorReply::Approved { .. } => "approved",
        ProcessorReply::Declined { .. } => "declined",
        ProcessorReply::Pending(_) => "pending",
        ProcessorReply::Abandoned => "abandoned",
        ProcessorReply::Unknown { .. } => "unknown",
        ProcessorReply::NotSent => "not_sent",
    }
}

/// The word for an answer to a question.
pub const fn of_status(answer: &StatusReply) -> &'static str {
    match answer {
        StatusReply::Known(_) => "known",
        StatusReply::Absent => "absent",
        StatusReply::Unreachable { .. } => UNREACHABLE,
    }
}

/// The word for an answer to a deletion.
pub const fn of_deletion(answer: &CredentialDeletion) -> &'static str {
    match answer {
        CredentialDeletion::Gone => "deleted",
        CredentialDeletion::Unknown { .. } => "unknown",
        CredentialDeletion::NotSent => "not_sent",
    }
}

/// How calls ended.
#[derive(Debug)]
pub(crate) struct Outcomes(Mutex<BTreeMap<(&'static str, &'static str), u64>>);

impl Outcomes {
    pub(crate) fn new() -> Self {
        let pairs = CallKind::ALL.iter().flat_map(|asked| asked.outcomes().iter().map(|word| (asked.as_str(), *word)));
        Self(Mutex::new(pairs.map(|pair| (pair, 0)).collect()))
    }

    pub(crate) fn count(&self, asked: CallKind, outcome: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((asked.as_str(), outcome)).or_default() += 1;
    }

    pub(crate) fn all(&self) -> Vec<OutcomeCount> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|((call, outcome), count)| OutcomeCount { call, outcome, count: *count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use dropin_money::{Amount, Currency};
    use dropin_order::{DeclineReason, DisputeReason, DisputeState};
    use dropin_ports::{IssuerChecks, ReportedDispute, Waiting};

    use super::*;

    #[test]
    fn every_word_has_its_place_from_the_start() {
        let outcomes = Outcomes::new();
        let before = outcomes.all();
        let why = String::new;
        let effects = [
            ProcessorReply::Approved {
                amount: None,
                captured: false,
                under_review: false,
                credential: None,
                checks: IssuerChecks::default(),
            },
            ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: false, credential: None },
            ProcessorReply::Pending(Waiting::Processor),
            ProcessorReply::Abandoned,
            ProcessorReply::Unknown { why: why() },
            ProcessorReply::NotSent,
        ];
        let statuses = [
            StatusReply::Known(ProcessorReply::Abandoned),
            StatusReply::Absent,
            StatusReply::Unreachable { why: why() },
        ];
        let deletions =
            [CredentialDeletion::Gone, CredentialDeletion::Unknown { why: why() }, CredentialDeletion::NotSent];
        let dispute = ReportedDispute {
            reference: String::new(),
            authorization: None,
            state: DisputeState::Won,
            reason: DisputeReason::General,
            amount: Amount::from_minor(Currency::Eur, 1).unwrap(),
            due_at: None,
        };
        let answers =
            [DisputeReply::Taken(dispute), DisputeReply::Refused { why: why() }, DisputeReply::Unknown { why: why() }];
        for asked in CallKind::ALL {
            outcomes.count(asked, of_held_back(HeldBack::Open));
            if !matches!(asked, CallKind::Journal | CallKind::ListDisputes | CallKind::ReadDispute) {
                outcomes.count(asked, of_held_back(HeldBack::Share));
            }
            match asked {
                CallKind::DeleteCredential => {
                    deletions.iter().for_each(|answer| outcomes.count(asked, of_deletion(answer)))
                }
                CallKind::AnswerDispute => {
                    answers.iter().for_each(|answer| outcomes.count(asked, of_dispute_reply(answer)))
                }
                CallKind::Journal | CallKind::ListCredentials | CallKind::ListDisputes | CallKind::ReadDispute => {
                    [READ, UNREACHABLE].iter().for_each(|word| outcomes.count(asked, word))
                }
                _ if asked.is_payment() => effects.iter().for_each(|answer| outcomes.count(asked, of_effect(answer))),
                _ => statuses.iter().for_each(|answer| outcomes.count(asked, of_status(answer))),
            }
        }
        let after = outcomes.all();
        assert_eq!((before.len(), after.len()), (65, 65));
        assert!(before.iter().all(|one| one.count == 0) && after.iter().all(|one| one.count == 1), "{after:?}");
    }
}
