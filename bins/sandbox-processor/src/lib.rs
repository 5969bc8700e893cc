#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod card;
mod faults;
mod http;
mod ledger;
mod program;
mod request;
mod rows;
mod store;
mod wire;
mod words;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::ServiceConfig;

use crate::faults::Faults;
use crate::store::Store;

pub use crate::program::{Arguments, RunError, run};
pub use crate::store::OpenError;

/// How a processor is set up.
#[derive(Clone)]
pub struct Config {
    /// Its SQLite file; the folder and the file are created when they are missing.
    pub database: PathBuf,
    /// The bearer key that every call has to present: visible ASCII.
    pub key: String,
    /// How long a pending capture or refund takes.
    pub capture_delay: Duration,
    /// How long a caller is left without an answer before the connection gets its 504.
    pub silence: Duration,
}

impl Config {
    /// [`Config::capture_delay`] unless somebody says otherwise.
    pub const DEFAULT_CAPTURE_DELAY: Duration = Duration::from_secs(3);
    /// [`Config::silence`] unless somebody says otherwise.
    pub const DEFAULT_SILENCE: Duration = Duration::from_secs(60);
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("database", &self.database).finish_non_exhaustive()
    }
}

/// A running sandbox processor. Clones share the store, which closes when the last of them is dropped.
#[derive(Clone)]
pub struct SandboxProcessor(Arc<Shared>);

struct Shared {
    config: Config,
    store: Store,
    faults: Faults,
}

impl SandboxProcessor {
    /// Opens the store and brings its schema up to date. Blocks for a few milliseconds.
    ///
    /// # Errors
    /// [`OpenError`]: an unusable key, or a database that cannot be made or opened.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        if config.key.is_empty() || !config.key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(OpenError::Key);
        }
        let store = Store::open(&config.database)?;
        Ok(Self(Arc::new(Shared { config, store, faults: Faults::default() })))
    }

    /// Mounts the routes under `/v1`, relative to the application or scope whose `configure` takes this.
    pub fn configure(&self) -> impl FnOnce(&mut ServiceConfig) + use<> {
        let processor = self.clone();
        move |config| http::mount(processor, config)
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    fn faults(&self) -> &Faults {
        &self.0.faults
    }

    fn capture_delay(&self) -> Duration {
        self.0.config.capture_delay
    }

    fn silence(&self) -> Duration {
        self.0.config.silence
    }

    /// Compares without stopping at the first difference, so that the time taken tells nothing but the length.
    fn is_key(&self, presented: &[u8]) -> bool {
        let key = self.0.config.key.as_bytes();
        key.len() == presented.len() && key.iter().zip(presented).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
    }
}

impl fmt::Debug for SandboxProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SandboxProcessor").field(&self.0.config).finish()
    }
}
