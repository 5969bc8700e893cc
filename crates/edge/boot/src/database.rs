use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use dropin_private_file::{PrivacyError, watch_until};
use dropin_store::{DatabaseAddress, ReplaceError, Role, Store, StoreConfig};

use crate::config_error::ConfigError;
use crate::process::Failure;
use crate::secret::secret;

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
    /// How long a write to the database that succeeded proves to /readyz that the next one will; 0 tries one each time
    #[arg(
        long, env = "DROPIN_WRITE_CHECK", default_value_t = StoreConfig::WRITE_CHECK.as_secs(), value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(0..=3_600), global = true
    )]
    pub write_check: u64,
    /// Connections of each program to PostgreSQL, beside one or two for each kind of work that runs in batches; SQLite takes no notice
    #[arg(
        long, env = "DROPIN_DATABASE_CONNECTIONS", default_value_t = StoreConfig::CONNECTIONS, value_name = "NUMBER",
        value_parser = clap::value_parser!(u16).range(1..=256), global = true
    )]
    pub database_connections: u16,
}

impl StoreArgs {
    /// The database URL; the file wins over the text, both over the data folder.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn url(&self) -> Result<String, ConfigError> {
        let configured = match (&self.database_url_file, &self.database_url) {
            (Some(file), _) => secret("DATABASE_URL", Some(file))?.map(|secret| secret.expose().to_owned()),
            (None, url) => url.clone().filter(|url| !url.is_empty()),
        };
        let url = configured.unwrap_or_else(|| format!("sqlite://{}", self.data.join("dropin.db").display()));
        let postgres = || ["postgres://", "postgresql://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        match postgres() {
            Some(rest) if !ends_once(rest) || !is_encoded(rest) => Err(ConfigError::DatabasePassword),
            None if !url.starts_with("sqlite://") => Err(ConfigError::DatabaseUrl),
            _ => Ok(url),
        }
    }

    /// Opens the store. The file with the database URL is watched: when its user name or password changes, new connections use the new one.
    /// Blocks: for the start of a program.
    ///
    /// # Errors
    /// [`ConfigError`]; a SQLite database that other users may open; [`dropin_store::OpenError`].
    pub fn open(&self, role: Role) -> Result<Store, Failure> {
        let url = self.url()?;
        if let Some(path) = url.strip_prefix("sqlite://") {
            check_database(path)?;
        }
        let mut config = StoreConfig::new(url, role);
        config.write_check = Duration::from_secs(self.write_check);
        config.connections = self.database_connections;
        let store = Store::open(config)?;
        if let (Some(file), Some(address)) = (&self.database_url_file, store.address()) {
            let (settings, watched) = (self.clone(), vec![file.clone()]);
            let mut last_logged = None;
            watch_until("database-url", watched, &address, move |address| {
                settings.read_again(address, &mut last_logged)
            })?;
        }
        Ok(store)
    }

    /// Whether nothing is left to do. `last_logged` is the last logged error: an error that repeats each second is logged once.
    fn read_again(&self, address: &DatabaseAddress, last_logged: &mut Option<String>) -> bool {
        // None of these texts repeats the URL.
        let replaced = match self.url() {
            Ok(url) => address.replace_if_it_connects(&url).map_err(|error| {
                let is_over = matches!(error, ReplaceError::Other(_));
                (error.to_string(), is_over)
            }),
            Err(error) => Err((error.to_string(), true)),
        };
        match replaced {
            Ok(is_new) => {
                if is_new {
                    log::info!(
                        "read DATABASE_URL_FILE again: new connections to the database use its user and password"
                    );
                }
                *last_logged = None;
                true
            }
            Err((error, is_over)) => {
                if last_logged.as_ref() != Some(&error) {
                    let next = if is_over { "" } else { ", and it is tried again every second" };
                    log::error!(
                        "DATABASE_URL_FILE has changed and cannot be used: {error}; what was read before stays in use{next}"
                    );
                    *last_logged = Some(error);
                }
                is_over
            }
        }
    }
}

/// Refuses a SQLite database that other users may open: it holds names, addresses and notifications. One that is not there yet is made private.
///
/// # Errors
/// [`PrivacyError`].
pub fn check_database(path: &str) -> Result<(), PrivacyError> {
    for ending in ["", "-wal", "-shm"] {
        match dropin_private_file::check(Path::new(&format!("{path}{ending}"))) {
            Err(error) if !error.is_missing() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the one `@` of a URL behind its scheme, if there is one, stands before host and path.
fn ends_once(rest: &str) -> bool {
    let (before_query, _) = rest.split_once('?').unwrap_or((rest, ""));
    before_query.split_once('@').is_none_or(|(user, place)| !user.contains('/') && !place.contains('@'))
}

/// Whether libpq, which repeats what it cannot read and with it perhaps a password, reads a URL behind its scheme, and reads the same as we do: each `%` begins
/// a byte, no raw `?` or `#` stands in the user's part, and each parameter has one `=`.
fn is_encoded(rest: &str) -> bool {
    let is_byte = |token: &str| {
        let digits = token.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        digits.is_some_and(|digits| digits != "00")
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    rest.split('%').skip(1).all(is_byte)
        && !rest.split_once('#').is_some_and(|(_, behind)| behind.contains('@'))
        && (place.contains('/') || !query.contains('@'))
        && query.split('&').all(|pair| pair.is_empty() || pair.matches('=').count() == 1)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn store(database_url: Option<&str>, database_url_file: Option<PathBuf>) -> StoreArgs {
        let database_url = database_url.map(str::to_owned);
        StoreArgs { data: "data".into(), database_url, database_url_file, write_check: 5, database_connections: 1 }
    }

    #[test]
    fn a_database_that_others_may_open_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dropin.db");
        let text = path.to_str().unwrap();
        check_database(text).unwrap();
        for file in [path.clone(), folder.path().join("dropin.db-wal")] {
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
            let message = check_database(text).unwrap_err().to_string();
            assert!(message.contains(&format!("chmod 600 {}", file.display())), "{message}");
            fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
            check_database(text).unwrap();
        }
    }

    #[test]
    fn the_database_is_in_the_data_folder_unless_somebody_says_otherwise() {
        assert_eq!(store(None, None).url().unwrap(), "sqlite://data/dropin.db");
        assert_eq!(store(Some("postgres://h/d"), None).url().unwrap(), "postgres://h/d");
        assert!(matches!(store(Some("mysql://h/d"), None).url(), Err(ConfigError::DatabaseUrl)));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("url");
        fs::write(&file, "postgres://secret@h/d\n").unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        let message = store(None, Some(file.clone())).url().unwrap_err().to_string();
        assert!(message.contains("chmod 600") && !message.contains("secret"), "{message}");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(store(Some("postgres://h/d"), Some(file)).url().unwrap(), "postgres://secret@h/d");
        assert!(matches!(store(None, Some(folder.path().join("gone"))).url(), Err(ConfigError::Private(_))));
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
        // What libpq would repeat in its message.
        for wrong in [
            "postgres://u:50%off@db/d",
            "postgres://u:eim%@db/d",
            "postgres://u:eim%00@db/d",
            "postgres://u:eim%é@db/d",
            "postgres://u:p?eim@h",
            "postgres://u:p?e=im@h/d",
            "postgres://u:p#eim@h/d",
            "postgres://h/d?password",
            "postgres://h/d?password=e=im",
        ] {
            let error = store(Some(wrong), None).url().unwrap_err().to_string();
            assert!(error.contains("%25") && !error.contains("eim") && !error.contains("50"), "{wrong}: {error}");
        }
        for good in
            ["postgres:///d?host=/run/x@y&sslmode=disable", "postgres://u:%C3%a9@h/d?", "postgres://u:a&b=c@h/d"]
        {
            assert_eq!(store(Some(good), None).url().unwrap(), good);
        }
    }
}
