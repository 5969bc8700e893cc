//! What an audit tells.

use dropin_kernel::{OpId, OrderId};

/// Most findings that are told in words; all are counted.
pub const MAX_FINDINGS: usize = 1_000;

/// What sort of disagreement it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disagreement {
    /// A row that cannot be read, one that breaks the money rules among them.
    CorruptRow,
    /// A ledger transaction that does not sum to zero.
    UnbalancedTransaction,
    /// The ledger and the Order's amounts differ.
    Ledger,
    /// The Order's amounts do not fit its state.
    State,
    /// The Order's amounts and its operations differ.
    Operations,
    /// The Order's amounts, its refunds and their operations differ.
    Refunds,
    /// What the Order counts as disputed and its disputes differ.
    Disputes,
    /// Approved here, and not in the processor's journal.
    NotAtProcessor,
    /// Approved at the processor, and refused or unknown here.
    MissingLocally,
    /// The processor did another amount, or another thing, than is written here.
    Mismatch,
    /// The processor did the same thing twice.
    Duplicate,
    /// The processor holds money that no Order explains, or twice what one operation asked for.
    UnexplainedMoney,
    /// The processor keeps a card that nobody here can charge or delete.
    OrphanedCredential,
    /// An outcome that has been open for too long.
    Stuck,
}

impl Disagreement {
    /// Every one.
    pub const ALL: [Self; 14] = [
        Self::CorruptRow,
        Self::UnbalancedTransaction,
        Self::Ledger,
        Self::State,
        Self::Operations,
        Self::Refunds,
        Self::Disputes,
        Self::NotAtProcessor,
        Self::MissingLocally,
        Self::Mismatch,
        Self::Duplicate,
        Self::UnexplainedMoney,
        Self::OrphanedCredential,
        Self::Stuck,
    ];

    /// The spelling that scripts rely on.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CorruptRow => "CORRUPT_ROW",
            Self::UnbalancedTransaction => "UNBALANCED_TRANSACTION",
            Self::Ledger => "LEDGER",
            Self::State => "STATE",
            Self::Operations => "OPERATIONS",
            Self::Refunds => "REFUNDS",
            Self::Disputes => "DISPUTES",
            Self::NotAtProcessor => "NOT_AT_PROCESSOR",
            Self::MissingLocally => "MISSING_LOCALLY",
            Self::Mismatch => "MISMATCH",
            Self::Duplicate => "DUPLICATE",
            Self::UnexplainedMoney => "UNEXPLAINED_MONEY",
            Self::OrphanedCredential => "ORPHANED_CREDENTIAL",
            Self::Stuck => "STUCK",
        }
    }
}

/// One disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What sort it is.
    pub what: Disagreement,
    /// The Order it is about; `None` when only the processor knows of it.
    pub order: Option<OrderId>,
    /// The operation it is about, which is the processor's key, if it is about one.
    pub operation: Option<OpId>,
    /// Both sides, and what to do where that is not plain.
    pub words: String,
}

/// What was read, and what does not fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Orders read.
    pub orders: u64,
    /// Operations of those.
    pub operations: u64,
    /// Operations whose outcome is open, and which therefore could not be compared.
    pub open: u64,
    /// Entries read from the processor's journal; `None` when it was not asked.
    pub journal_entries: Option<u64>,
    /// Cards that the processor keeps; `None` when it was not asked.
    pub credentials: Option<u64>,
    /// How many disagreements there are.
    pub found: u64,
    /// The first [`MAX_FINDINGS`] of them.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether everything fits.
    pub const fn is_clean(&self) -> bool {
        self.found == 0
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.found += 1;
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        }
    }
}
