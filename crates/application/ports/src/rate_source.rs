use async_trait::async_trait;
use dropin_kernel::Timestamp;
use dropin_rates::{RefusedQuote, Source, Table};

/// Why a source of rates could not be read. The texts are for whoever runs the deployment; none names an address, which may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateSourceError {
    /// The file is not there, is no file, or may not be read.
    #[error("the file cannot be read ({0}); check its path and permissions")]
    File(String),
    /// No whole answer came.
    #[error("the address gives no answer: {0}")]
    Unreachable(String),
    /// It answered something else than a file.
    #[error("the address answered HTTP {0} instead of the file; a moved file has to be configured at its new address")]
    Status(u16),
    /// It is larger than any file of rates.
    #[error("the source is larger than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: usize,
    },
    /// What was read makes no sense; nothing of it was used.
    #[error("the source cannot be understood: {0}")]
    Malformed(String),
}

/// A source that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFailure {
    /// Which.
    pub source: Source,
    /// Why.
    pub error: RateSourceError,
}

/// The result of a check of the rate source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    /// The table to use from now on: the former one with whatever could be read and believed taken into it.
    pub table: Table,
    /// Whether it differs from the former one.
    pub changed: bool,
    /// Quotes that were read and not believed. They are reported by every look until the source or a person settles it.
    pub refused: Vec<RefusedQuote>,
    /// Sources that could not be read this time; what they said before stays.
    pub failures: Vec<SourceFailure>,
}

/// Where exchange rates come from (docs/SPECIFICATION.md#rate-feed).
#[async_trait]
pub trait RateSource: Send + Sync {
    /// Looks at every source, cheaply where nothing has changed, and takes what they say into `former`. It can be asked again with the same
    /// former table at any time: nothing is lost when the caller could not keep the answer.
    async fn refresh(&self, former: &Table, now: Timestamp) -> Refreshed;
}
