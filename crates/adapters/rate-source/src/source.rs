use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::Timestamp;
use dropin_ports::{RateSource, Refreshed, SourceFailure};
use dropin_rates::{Merged, RateSourceLimits, Source, Table};

use crate::location::Location;
use crate::reader::{Origin, Reader};

/// Longest time for one file, from the first packet to the last: 8 MB over a slow line.
const DEADLINE: Duration = Duration::from_secs(60);

/// What the rates are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateSourceConfig {
    /// The built-in file of invented rates, which never grows old. For trying things out only.
    Sandbox,
    /// Files in the ECB's formats.
    Files {
        /// The main feed, for example `https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml`.
        primary: Location,
        /// Currencies that the main feed does not quote, for one euro as well.
        supplement: Option<Location>,
    },
}

/// Exchange rates from files. Caches the last content of each file, so that a check is cheap where nothing has changed, and the result does
/// not depend on whether the caller kept the last answer.
pub struct FileRateSource {
    readers: Vec<Reader>,
    limits: RateSourceLimits,
    deadline: Duration,
}

impl FileRateSource {
    /// A source that has read nothing yet.
    pub fn new(sources: RateSourceConfig, limits: RateSourceLimits) -> Self {
        let readers = match sources {
            RateSourceConfig::Sandbox => vec![Reader::new(Source::Sandbox, Origin::BuiltIn)],
            RateSourceConfig::Files { primary, supplement } => {
                let supplement = supplement.map(|at| Reader::new(Source::Supplement, Origin::Elsewhere(at)));
                let primary = Reader::new(Source::Primary, Origin::Elsewhere(primary));
                std::iter::once(primary).chain(supplement).collect()
            }
        };
        Self { readers, limits, deadline: DEADLINE }
    }

    /// Gives up on one file after `deadline` (60 seconds otherwise).
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The limits that quotes are held against.
    pub const fn limits(&self) -> &RateSourceLimits {
        &self.limits
    }
}

#[async_trait]
impl RateSource for FileRateSource {
    async fn refresh(&self, former: &Table, now: Timestamp) -> Refreshed {
        let (mut tables, mut failures) = (Vec::new(), Vec::new());
        for reader in &self.readers {
            match reader.read(self.deadline).await {
                Ok(table) => tables.push(table),
                Err(error) => {
                    failures.push(SourceFailure { source: reader.source, error });
                    tables.extend(reader.known());
                }
            }
        }
        let Merged { table, refused } = former.merge(&tables, now, &self.limits);
        Refreshed { changed: table != *former, table, refused, failures }
    }
}
