#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod bank;
mod card;
mod credential;
mod credential_body;
mod credential_http;
mod dispute;
mod dispute_http;
mod enums;
mod execution;
mod faults;
mod html;
mod http;
mod onsite;
mod operation_store;
mod pages;
mod perform;
mod program;
mod request;
mod request_body;
mod response;
mod rows;
mod rules;
mod shopper;
mod statement;
mod store;
mod token;
mod wallet;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix_web::web::ServiceConfig;
use url::Url;

use crate::faults::Faults;
use crate::store::Store;

pub use crate::card::{SandboxCard, TEST_CARDS};
pub use crate::program::{Arguments, POLLED_PATHS, RunError, run};
pub use crate::store::OpenStoreError;
pub use crate::wallet::{IssuedIdentity, WalletAuthority, WalletError};

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

/// The hosted pages: where a browser finds them, and how long everything waits.
#[derive(Debug, Clone, Default)]
pub struct Hosting {
    /// What stands before `/pages` in a page's address, the prefix included, such as `https://pay.example/sandbox`. None: the
    /// address by which a caller reached the processor.
    pub public_url: Option<String>,
    /// How long pages, reviews and transfers wait.
    pub waits: Waits,
    /// Issues merchants' certificates for the wallet, where the program plays the wallet's provider too.
    pub wallet: Option<WalletAuthority>,
}

/// How long pages, reviews and transfers wait; by default as docs/SPECIFICATION.md#hosted-pages says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// For the shopper to answer a card's 3-D Secure challenge: 15 minutes.
    pub challenge: Duration,
    /// For the shopper to use any other page: 48 hours.
    pub page: Duration,
    /// How long before its end a pay-later page stops taking payments: an hour.
    pub pay_margin: Duration,
    /// For the pay-later provider to end a review by itself: three seconds.
    pub review: Duration,
    /// Whether the provider then approves, as it does by default.
    pub review_approves: bool,
    /// For the money of a bank transfer to arrive: 14 days.
    pub transfer: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(3_600);
        Self {
            challenge: HOUR / 4,
            page: HOUR * 48,
            pay_margin: HOUR,
            review: Duration::from_secs(3),
            review_approves: true,
            transfer: HOUR * 24 * 14,
        }
    }
}

/// A running sandbox processor. Clones share the store, which closes when the last of them is dropped.
#[derive(Clone)]
pub struct SandboxProcessor(Arc<Shared>);

struct Shared {
    config: Config,
    /// The bearer key of now.
    key: RwLock<String>,
    hosting: Hosting,
    store: Store,
    faults: Faults,
}

impl SandboxProcessor {
    /// Opens the store and brings its schema up to date, with the default [`Hosting`]. Blocks for a few milliseconds.
    ///
    /// # Errors
    /// [`OpenStoreError`]: an unusable key, or a database that cannot be made or opened.
    pub fn open(config: Config) -> Result<Self, OpenStoreError> {
        Self::open_with(config, Hosting::default())
    }

    /// [`Self::open`] with pages that are found elsewhere, or wait otherwise, than by default.
    ///
    /// # Errors
    /// [`OpenStoreError`]: an unusable key or public address, or a database that cannot be made or opened.
    pub fn open_with(config: Config, hosting: Hosting) -> Result<Self, OpenStoreError> {
        if !is_usable(&config.key) {
            return Err(OpenStoreError::Key);
        }
        let public_url = hosting.public_url.as_deref().map(base_address).transpose()?;
        let store = Store::open(&config.database)?;
        let hosting = Hosting { public_url, ..hosting };
        let key = RwLock::new(config.key.clone());
        Ok(Self(Arc::new(Shared { config, key, hosting, store, faults: Faults::default() })))
    }

    /// Asks callers for another bearer key from now on. An unusable one changes nothing.
    pub fn replace_key(&self, key: String) {
        if is_usable(&key) {
            *self.0.key.write().unwrap_or_else(PoisonError::into_inner) = key;
        }
    }

    /// Mounts the caller's routes under `/v1` and those for browsers under `/pages` and `/onsite`, relative to the application or scope whose
    /// `configure` takes this.
    pub fn configure(&self) -> impl FnOnce(&mut ServiceConfig) + use<> {
        let processor = self.clone();
        move |config| {
            pages::mount(processor.clone(), config);
            onsite::mount(config);
            http::mount(processor, config);
        }
    }

    /// Mounts what browsers need alone, under `/pages` and `/onsite`: for a listener that they reach and callers need not.
    pub fn configure_pages(&self) -> impl FnOnce(&mut ServiceConfig) + use<> {
        let processor = self.clone();
        move |config| {
            pages::mount(processor, config);
            onsite::mount(config);
        }
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

    fn wallet(&self) -> Option<&WalletAuthority> {
        self.0.hosting.wallet.as_ref()
    }

    fn waits(&self) -> Waits {
        self.0.hosting.waits
    }

    /// Without a slash at its end.
    fn public_url(&self) -> Option<&str> {
        self.0.hosting.public_url.as_deref()
    }

    /// Compares without stopping at the first difference, so that the time taken tells nothing but the length.
    fn is_key(&self, presented: &[u8]) -> bool {
        let key = self.0.key.read().unwrap_or_else(PoisonError::into_inner);
        let key = key.as_bytes();
        key.len() == presented.len() && key.iter().zip(presented).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
    }
}

impl fmt::Debug for SandboxProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SandboxProcessor").field(&self.0.config).finish()
    }
}

/// Whether a key can stand in a header.
fn is_usable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A public address in its normal form, without a slash at its end.
fn base_address(written: &str) -> Result<String, OpenStoreError> {
    let url = Url::parse(written).ok().filter(|url| {
        let bare = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && bare && url.query().is_none() && url.fragment().is_none()
    });
    url.map(|url| url.as_str().trim_end_matches('/').to_owned()).ok_or(OpenStoreError::PublicUrl)
}
