//! One source: where it is, and what it said last.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dropin_ecb_rates::read_days;
use dropin_ports::RateSourceError;
use dropin_rates::{Dated, Source, SourceTable};
use sha2::{Digest, Sha256};

use crate::file;
use crate::http::{self, Answer, Validators};
use crate::location::Location;

/// The file of invented rates.
const SANDBOX: &[u8] = include_bytes!("../rates/sandbox.xml");

/// Where a source's file is.
pub(crate) enum Origin {
    BuiltIn,
    Elsewhere(Location),
}

/// What was read last and could be used.
#[derive(Clone)]
struct Known {
    validators: Validators,
    digest: [u8; 32],
    table: SourceTable,
}

/// A source with its last content.
pub(crate) struct Reader {
    pub(crate) source: Source,
    origin: Origin,
    known: Mutex<Option<Known>>,
}

impl Reader {
    pub(crate) fn new(source: Source, origin: Origin) -> Self {
        Self { source, origin, known: Mutex::new(None) }
    }

    /// What the source said when it could be read last.
    pub(crate) fn known(&self) -> Option<SourceTable> {
        self.cached().map(|known| known.table)
    }

    fn cached(&self) -> Option<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the source says now: the newest day of its file.
    pub(crate) async fn read(&self, deadline: Duration) -> Result<SourceTable, RateSourceError> {
        let known = self.cached();
        let (bytes, validators) = match &self.origin {
            Origin::BuiltIn => (SANDBOX.to_vec(), Validators::default()),
            Origin::Elsewhere(Location::Path(path)) => {
                let path = path.clone();
                (run_blocking(move || file::read(&path)).await?, Validators::default())
            }
            Origin::Elsewhere(Location::Address(url)) => {
                let validators = known.as_ref().map(|known| known.validators.clone()).unwrap_or_default();
                match (http::get(url.clone(), validators, deadline).await?, known.clone()) {
                    (Answer::File(bytes, validators), _) => (bytes, validators),
                    (Answer::Unchanged, Some(known)) => return Ok(known.table),
                    (Answer::Unchanged, None) => return Err(RateSourceError::Status(304)),
                }
            }
        };
        let source = self.source;
        let latest = run_blocking(move || latest(source, bytes, validators, known)).await?;
        let table = latest.table.clone();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(latest);
        Ok(table)
    }
}

/// Reads a file's newest day, unless it is the file that was read last.
fn latest(
    source: Source,
    bytes: Vec<u8>,
    validators: Validators,
    known: Option<Known>,
) -> Result<Known, RateSourceError> {
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    if let Some(known) = known.filter(|known| known.digest == digest) {
        return Ok(Known { validators, ..known });
    }
    let days = read_days(&bytes).map_err(|error| RateSourceError::Malformed(error.to_string()))?;
    let (day, rates) = days.into_iter().next_back().expect("a file that could be read has a day with rates");
    let dated = if source == Source::Sandbox { Dated::Always } else { Dated::On(day) };
    Ok(Known { validators, digest, table: SourceTable { source, dated, rates } })
}

/// Runs blocking work on a thread for it.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RateSourceError> + Send + 'static,
) -> Result<T, RateSourceError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_panicked| Err(RateSourceError::Malformed("the file could not be worked on".to_owned())))
}
