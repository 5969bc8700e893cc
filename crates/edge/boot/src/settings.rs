//! One struct for each concern; a program flattens those it has.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use dropin_usecases::stash::{LIVE_ENTRIES, STASH_LIFETIME};
use dropin_validation::UrlPolicy;
use url::Url;

use crate::config::ConfigError;
use crate::logs::{LogFormat, start_logs};

/// A secret text; Debug does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret over.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A secret from its file, or else from the environment; `None` when neither is set.
///
/// # Errors
/// [`ConfigError::Read`] when the named file cannot be read.
fn secret(variable: &str, file: Option<&Path>) -> Result<Option<Secret>, ConfigError> {
    match file {
        Some(path) => match fs::read_to_string(path) {
            Ok(text) => Ok(Some(Secret(text.trim().to_owned())).filter(|secret| !secret.0.is_empty())),
            Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
        },
        None => Ok(std::env::var(variable).ok().filter(|text| !text.is_empty()).map(Secret)),
    }
}

/// Logs.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// What is logged: env_logger's filter, for example info or warn,access=info
    #[arg(
        long,
        env = "RUST_LOG",
        default_value = "info,actix_server=warn,actix_http=off",
        value_name = "FILTER",
        global = true
    )]
    pub log: String,
    /// How log lines look
    #[arg(long, env = "DROPIN_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
}

impl LogArgs {
    /// Starts logging.
    pub fn start(&self) {
        start_logs(&self.log, self.log_format);
    }
}

/// Where everything is kept.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Folder for the embedded database and the keys
    #[arg(long, env = "DROPIN_DATA", default_value = "./dropin-data", value_name = "FOLDER", global = true)]
    pub data: PathBuf,
    /// Database, sqlite://path or postgres://...; better given by the environment or a file, since every user of the
    /// machine can read flags [default: dropin.db in the data folder]
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL", global = true)]
    pub database_url: Option<String>,
    /// File that holds the database URL
    #[arg(long, env = "DATABASE_URL_FILE", value_name = "FILE", global = true)]
    pub database_url_file: Option<PathBuf>,
}

impl StoreArgs {
    /// The database URL; the file wins over the text, both over the data folder.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn url(&self) -> Result<String, ConfigError> {
        let configured = match (&self.database_url_file, &self.database_url) {
            (Some(file), _) => secret("DATABASE_URL", Some(file))?.map(|secret| secret.0),
            (None, url) => url.clone().filter(|url| !url.is_empty()),
        };
        let url = configured.unwrap_or_else(|| format!("sqlite://{}", self.data.join("dropin.db").display()));
        let postgres = || ["postgres://", "postgresql://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        match postgres() {
            Some(rest) if !ends_once(rest) => Err(ConfigError::DatabasePassword),
            None if !url.starts_with("sqlite://") => Err(ConfigError::DatabaseUrl),
            _ => Ok(url),
        }
    }
}

/// Whether the one `@` of a URL behind its scheme, if there is one, stands before host and path.
fn ends_once(rest: &str) -> bool {
    let (before_query, _) = rest.split_once('?').unwrap_or((rest, ""));
    before_query.split_once('@').is_none_or(|(user, place)| !user.contains('/') && !place.contains('@'))
}

/// Where the keys are. They never stand in the database.
#[derive(Debug, Clone, Args)]
pub struct KeyArgs {
    /// Folder with the keys, private to this user [default: keys in the data folder]
    #[arg(long, env = "DROPIN_KEYS", value_name = "FOLDER", global = true)]
    pub keys: Option<PathBuf>,
}

impl KeyArgs {
    /// The folder.
    pub fn folder(&self, data: &Path) -> PathBuf {
        self.keys.clone().unwrap_or_else(|| data.join("keys"))
    }
}

/// Where one service listens.
#[derive(Debug, Clone, Args)]
pub struct AddressArgs {
    /// Address to listen on
    #[arg(long, env = "DROPIN_LISTEN", value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// Whether money moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// For trying out: http to this machine is allowed, nothing is charged.
    Sandbox,
    /// For real.
    Production,
}

impl Mode {
    /// Which URLs merchants may name (decisions.md section 2).
    pub const fn url_policy(self) -> UrlPolicy {
        match self {
            Self::Sandbox => UrlPolicy::Sandbox,
            Self::Production => UrlPolicy::Production,
        }
    }
}

/// Whether money moves.
#[derive(Debug, Clone, Args)]
pub struct ModeArgs {
    /// Whether this deployment is for trying out or for real
    #[arg(long, env = "DROPIN_MODE", value_enum, default_value_t = Mode::Sandbox, global = true)]
    pub mode: Mode,
}

/// The payment processor.
#[derive(Debug, Clone, Args)]
pub struct ProcessorArgs {
    /// Address of the payment processor; https unless it is on this machine
    #[arg(long, env = "PROCESSOR_URL", default_value = Self::DEFAULT_URL, value_name = "URL")]
    pub processor_url: String,
    /// File with the key that the processor knows us by; without it the environment variable PROCESSOR_KEY holds the key
    #[arg(long, env = "PROCESSOR_KEY_FILE", value_name = "FILE")]
    pub processor_key_file: Option<PathBuf>,
}

impl ProcessorArgs {
    /// Where the sandbox processor listens when it is a program of its own.
    pub const DEFAULT_URL: &'static str = "http://127.0.0.1:8086";

    /// The key that the processor knows us by.
    ///
    /// # Errors
    /// [`ConfigError`] when there is none.
    pub fn key(&self) -> Result<Secret, ConfigError> {
        let variable = "PROCESSOR_KEY";
        secret(variable, self.processor_key_file.as_deref())?.ok_or(ConfigError::MissingSecret { variable })
    }
}

/// How long what was stashed waits for its payment. The same for every program that opens the stash's keys, which live as long.
#[derive(Debug, Clone, Args)]
pub struct StashArgs {
    /// Seconds that a stashed card or wallet token waits for its payment, 60 to 86400
    #[arg(
        long,
        env = "DROPIN_STASH_LIFETIME",
        default_value_t = STASH_LIFETIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(60..=86_400),
        value_name = "SECONDS"
    )]
    pub stash_lifetime: u64,
}

impl StashArgs {
    /// The lifetime.
    pub fn lifetime(&self) -> Duration {
        Duration::from_secs(self.stash_lifetime)
    }
}

/// How much is stashed.
#[derive(Debug, Clone, Args)]
pub struct StashLimitArgs {
    /// Stashed cards and wallet tokens of one merchant that may wait at once; 0: any number
    #[arg(long, env = "DROPIN_STASH_ENTRIES", default_value_t = LIVE_ENTRIES, value_name = "NUMBER")]
    pub stash_entries: u32,
}

/// Under which addresses browsers reach this deployment.
#[derive(Debug, Clone, Args)]
pub struct PublicArgs {
    /// Public address of the drop-in's scripts and calls ({asset_url}), without a slash at its end
    #[arg(long, env = "DROPIN_ASSET_URL", default_value = "http://127.0.0.1:8083", value_name = "URL")]
    pub asset_url: String,
    /// Public address of the stash ({stash_url}), without a slash at its end
    #[arg(long, env = "DROPIN_STASH_URL", default_value = "http://127.0.0.1:8084", value_name = "URL")]
    pub stash_url: String,
}

/// The same addresses, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrls {
    /// `{asset_url}`, without a slash at its end.
    pub asset: String,
    /// `{stash_url}`, without a slash at its end.
    pub stash: String,
}

impl PublicUrls {
    /// The origin of `{asset_url}`, as a browser sends it.
    pub fn asset_origin(&self) -> String {
        // Checked when it was read.
        Url::parse(&self.asset).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

impl PublicArgs {
    /// Checks both addresses.
    ///
    /// # Errors
    /// [`ConfigError::Url`].
    pub fn urls(&self) -> Result<PublicUrls, ConfigError> {
        Ok(PublicUrls {
            asset: public_url("asset_url", &self.asset_url, "https://assets.example")?,
            stash: public_url("stash_url", &self.stash_url, "https://stash.example")?,
        })
    }
}

fn public_url(name: &'static str, text: &str, example: &'static str) -> Result<String, ConfigError> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none() => {
            Ok(url.as_str().trim_end_matches('/').to_owned())
        }
        _ => Err(ConfigError::Url { name, example }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(database_url: Option<&str>, database_url_file: Option<PathBuf>) -> StoreArgs {
        StoreArgs { data: "data".into(), database_url: database_url.map(str::to_owned), database_url_file }
    }

    #[test]
    fn the_database_is_in_the_data_folder_unless_somebody_says_otherwise() {
        assert_eq!(store(None, None).url().unwrap(), "sqlite://data/dropin.db");
        assert_eq!(store(Some("postgres://h/d"), None).url().unwrap(), "postgres://h/d");
        assert!(matches!(store(Some("mysql://h/d"), None).url(), Err(ConfigError::DatabaseUrl)));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("url");
        fs::write(&file, "postgres://secret@h/d\n").unwrap();
        assert_eq!(store(Some("postgres://h/d"), Some(file)).url().unwrap(), "postgres://secret@h/d");
        assert!(matches!(store(None, Some(folder.path().join("gone"))).url(), Err(ConfigError::Read { .. })));
    }

    #[test]
    fn one_address_alone_cannot_fill_the_stash_of_a_merchant() {
        let rate = u64::from(dropin_http::Limits::default().client_rate);
        let left = rate * STASH_LIFETIME.as_secs() + 2 * rate;
        assert!(left < u64::from(LIVE_ENTRIES), "{left}");
    }

    #[test]
    fn a_password_that_ends_its_url_early_is_refused_and_not_shown() {
        for good in ["postgres://h/d", "postgresql://u:p%40%2F:@h:1/d?options=@", "postgres://u@/d", "sqlite://a@b@c"] {
            assert_eq!(store(Some(good), None).url().unwrap(), good);
        }
        for wrong in ["postgres://u:geh@eim@h/d", "postgresql://u:geh/eim@h/d"] {
            let error = store(Some(wrong), None).url().unwrap_err().to_string();
            assert!(error.contains("%40") && !error.contains("eim"), "{error}");
        }
    }

    #[test]
    fn a_missing_secret_says_how_to_give_it() {
        let args = ProcessorArgs { processor_url: String::new(), processor_key_file: None };
        let message = args.key().unwrap_err().to_string();
        assert!(message.contains("PROCESSOR_KEY_FILE"), "{message}");
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(format!("{:?}", Secret::new("hunter2".to_owned())), "Secret(..)");
    }

    #[test]
    fn public_addresses_are_absolute_and_lose_their_slash() {
        let urls = |asset: &str| PublicArgs { asset_url: asset.to_owned(), stash_url: "http://s/".to_owned() }.urls();
        let good = urls("https://Shop.example:443/asset/").unwrap();
        assert_eq!((good.asset.as_str(), good.stash.as_str()), ("https://shop.example/asset", "http://s"));
        assert_eq!(good.asset_origin(), "https://shop.example");
        for wrong in ["", "/asset", "ftp://x", "https://x/?a"] {
            assert!(urls(wrong).is_err(), "{wrong}");
        }
    }
}
