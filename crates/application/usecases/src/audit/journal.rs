//! The processor's journal against our operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use dropin_money::Amount;
use dropin_order::{OpKind, OpState, Operation};
use dropin_ports::{AuditStore, JournalEntry, JournalUnavailable, PositionedOperation, ProcessorJournal};

use super::AuditError;
use super::report::{Disagreement, Finding, Report};
use super::rules::money;

/// Entries asked for at once.
const PAGE: u32 = 1_000;

/// A set of positions, one bit each.
#[derive(Debug, Default)]
struct PositionSet(Vec<u64>);

impl PositionSet {
    fn word_and_bit(position: u64) -> (usize, u64) {
        // No machine holds so many operations that the index would not fit.
        (usize::try_from(position / 64).unwrap_or(usize::MAX), 1 << (position % 64))
    }

    /// Adds one; `false` when it was there before.
    fn add(&mut self, position: u64) -> bool {
        let (word, bit) = Self::word_and_bit(position);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    fn has(&self, position: u64) -> bool {
        let (word, bit) = Self::word_and_bit(position);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

/// What the processor did under a key of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Done {
    /// How much.
    pub(super) amount: Amount,
    /// Whether an authorization was paid at once.
    pub(super) captured: bool,
}

/// What was read of the processor's journal so far.
pub(super) struct Journal {
    source: Arc<dyn ProcessorJournal>,
    /// Number of the last entry read.
    last: u64,
    entries: u64,
    approved: PositionSet,
    paid: PositionSet,
    /// Amounts other than those that were asked for.
    other_amounts: BTreeMap<u64, Amount>,
}

impl Journal {
    pub(super) fn new(source: Arc<dyn ProcessorJournal>) -> Self {
        let (approved, paid, other_amounts) = Default::default();
        Self { source, last: 0, entries: 0, approved, paid, other_amounts }
    }

    /// How many entries were read.
    pub(super) const fn entries(&self) -> u64 {
        self.entries
    }

    /// What the processor did for `placed`, as far as the journal was read; `None` when it did nothing.
    pub(super) fn done(&self, placed: &PositionedOperation) -> Option<Done> {
        self.approved.has(placed.position).then(|| Done {
            amount: *self.other_amounts.get(&placed.position).unwrap_or(&placed.operation.amount),
            captured: self.paid.has(placed.position),
        })
    }

    /// Reads on until the end of now, and reports what does not fit the operations here.
    pub(super) async fn read_on(&mut self, store: &dyn AuditStore, report: &mut Report) -> Result<(), AuditError> {
        loop {
            let page = self.source.journal(self.last, PAGE).await?;
            let Some(newest) = page.last() else { return Ok(()) };
            if newest.number <= self.last {
                return Err(JournalUnavailable("its pages do not go forward".to_owned()).into());
            }
            self.last = newest.number;
            self.entries += page.len() as u64;
            let approved: Vec<_> = page.iter().filter(|entry| entry.outcome == "APPROVED").collect();
            if !approved.is_empty() {
                let found = store.find_operations(approved.iter().map(|entry| entry.key).collect()).await?;
                let known: BTreeMap<_, _> = found.into_iter().map(|placed| (placed.operation.id, placed)).collect();
                for entry in approved {
                    self.compare(entry, known.get(&entry.key), report);
                }
            }
            if page.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    fn compare(&mut self, entry: &JournalEntry, known: Option<&PositionedOperation>, report: &mut Report) {
        let amount = entry.amount.as_ref().map_or_else(|| "an unknown amount".to_owned(), money);
        let did = format!(
            "the processor's journal (entry {}) says that {} of {amount} was approved",
            entry.number, entry.kind
        );
        let Some(PositionedOperation { position, operation }) = known else {
            return report.add(Finding {
                what: Disagreement::MissingLocally,
                order: None,
                operation: Some(entry.key),
                words: format!(
                    "{did}, and nothing here asked for it. Is it this deployment's processor key, and was the database restored from a backup?"
                ),
            });
        };
        let mut add = |what, words| {
            report.add(Finding { what, order: Some(operation.order_id), operation: Some(entry.key), words });
        };
        if !self.approved.add(*position) {
            add(Disagreement::Duplicate, format!("{did}, as an earlier entry does: money may have moved twice"));
        }
        if entry.captured {
            self.paid.add(*position);
        }
        if entry.kind != operation.kind.as_str() {
            add(Disagreement::Mismatch, format!("{did}; here it is a {}", operation.kind.as_str()));
        }
        if entry.authorization != operation.authorization {
            add(Disagreement::Mismatch, format!("{did}, about another authorization than is written here"));
        }
        if matches!(operation.state, OpState::Declined | OpState::Abandoned) {
            let state = operation.state.as_str();
            add(
                Disagreement::MissingLocally,
                format!("{did}; here it is {state}, so nobody expects that money to have moved"),
            );
        }
        if let Some(amount) = entry.amount.filter(|amount| differs(operation, amount)) {
            if operation.state.is_open() {
                let asked = money(&operation.amount);
                add(Disagreement::Mismatch, format!("{did}, and {asked} was asked for. `dropin order review` decides"));
            }
            self.other_amounts.insert(*position, amount);
        }
    }
}

/// Whether the processor did another amount than was asked for. A void names whatever it likes: it releases what is there.
fn differs(operation: &Operation, amount: &Amount) -> bool {
    operation.kind != OpKind::Void && *amount != operation.amount
}
