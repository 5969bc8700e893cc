//! Which database is opened, and how: its address, the deadline of callers, the role of the program.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use diesel::PgConnection;

use crate::connection;
use crate::tls::{self, Encryption};

/// What the opening program is to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A running service. A SQLite database serves one such process, which its lock file says.
    Service,
    /// A short command-line writer, welcome beside a running service.
    Tool,
}

/// Which database to open, and how.
#[derive(Clone)]
pub struct StoreConfig {
    /// `sqlite://path/to/file` or `postgres://user@host/database`; may hold a password.
    pub url: String,
    /// What the program is to the database.
    pub role: Role,
    /// Connections to PostgreSQL, each with its thread, beside those of the batch queues; SQLite has one writer
    /// and two readers.
    pub connections: u16,
    /// How long a caller waits for an answer. PostgreSQL ends a statement two seconds after that; a lock is waited for until a second before, at least two.
    pub deadline: Duration,
    /// How long a write that succeeded counts as proof for readiness that the next one will.
    pub write_check: Duration,
}

/// How long the client of a service waits: three seconds until 503 (docs/SPECIFICATION.md#http-unavailable).
pub const SERVICE_DEADLINE: Duration = Duration::from_secs(3);

/// How long a command waits. It keeps no client waiting, and an outage is when commands take long and are needed.
const TOOL_DEADLINE: Duration = Duration::from_secs(60);

impl StoreConfig {
    /// [`StoreConfig::write_check`], unless configured.
    pub const WRITE_CHECK: Duration = Duration::from_secs(5);
    /// [`StoreConfig::connections`], unless configured.
    pub const CONNECTIONS: u16 = 8;

    /// `url` with [`StoreConfig::CONNECTIONS`] and the deadline of the role: three seconds for a service, a minute for a tool.
    pub fn new(url: impl Into<String>, role: Role) -> Self {
        let deadline = match role {
            Role::Service => SERVICE_DEADLINE,
            Role::Tool => TOOL_DEADLINE,
        };
        Self { url: url.into(), role, connections: Self::CONNECTIONS, deadline, write_check: Self::WRITE_CHECK }
    }
}

impl std::fmt::Debug for StoreConfig {
    /// Leaves the URL out: it may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreConfig")
            .field("role", &self.role)
            .field("connections", &self.connections)
            .field("deadline", &self.deadline)
            .field("write_check", &self.write_check)
            .finish_non_exhaustive()
    }
}

/// Why a store could not be opened or migrated. Says what to do about it; never repeats the URL of a PostgreSQL server.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no database that is known.
    #[error("the database must be given as sqlite://path/to/file or postgres://user@host/database: {0}")]
    Url(&'static str),
    /// A service runs on the SQLite database.
    #[error(
        "another service is running on {}: stop it first, or use PostgreSQL, which serves several processes",
        .0.display()
    )]
    InUse(PathBuf),
    /// The file system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The database could not be reached or opened.
    #[error("cannot open the database: {0}")]
    Connect(String),
    /// The schema could not be brought up to date; what was applied before the failing migration stays.
    #[error("cannot migrate the database: {0}")]
    Migrate(String),
    /// The schema is older than the program, and this program may not change it.
    #[error("the schema of the database is at {found}, the program needs {needed}: {remedy}")]
    SchemaTooOld {
        /// The newest migration that is applied.
        found: String,
        /// The newest migration that the program knows.
        needed: String,
        /// What to do.
        remedy: &'static str,
    },
    /// No thread could be started.
    #[error("cannot start a thread for the database: {0}")]
    Thread(std::io::Error),
}

/// The address of a PostgreSQL database, with the user name and password of the moment. A new connection uses what it holds then.
pub struct DatabaseAddress {
    url: RwLock<String>,
    /// What each new connection runs first.
    first_statement: &'static str,
}

/// Another address than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it names another database, server or option than the program was started with, and half of the work would go there: only user name and password may change while a program runs; restart it"
)]
pub struct AddressRefused;

/// Why an address stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// It is another one.
    #[error(transparent)]
    Other(#[from] AddressRefused),
    /// No connection came about with it; a later one may.
    #[error("no connection succeeds with it: {0}")]
    Connect(String),
}

impl DatabaseAddress {
    pub(crate) fn new(url: &str, first_statement: &'static str) -> Self {
        Self { url: RwLock::new(url.to_owned()), first_statement }
    }

    /// The whole URL.
    pub(crate) fn url(&self) -> String {
        self.url.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connects, two seconds at most, for callers who wait for `deadline`, and applies `settings` beside those that all connections have.
    ///
    /// # Errors
    /// Why not, and what to do where it is TLS. Repeats no part of the URL.
    pub fn connect(&self, deadline: Duration, settings: &str) -> Result<PgConnection, String> {
        connection::postgres(&self.url(), deadline, settings, self.first_statement)
    }

    /// [`DatabaseAddress::replace`], once a connection with `url` has succeeded: a password that works is not given up for one that does not. Blocks.
    ///
    /// # Errors
    /// [`ReplaceError`].
    pub fn replace_if_it_connects(&self, url: &str) -> Result<bool, ReplaceError> {
        let current = self.url();
        if current == url {
            return Ok(false);
        }
        if without_user(&current) != without_user(url) {
            return Err(AddressRefused.into());
        }
        connection::postgres(url, SERVICE_DEADLINE, "", self.first_statement).map_err(|why| {
            let why: Vec<_> = why.split_whitespace().collect();
            ReplaceError::Connect(why.join(" "))
        })?;
        Ok(self.replace(url)?)
    }

    /// Lets new connections use the user name and password in `url`; whether they are others than before.
    ///
    /// # Errors
    /// [`AddressRefused`] when anything else in `url` differs.
    pub fn replace(&self, url: &str) -> Result<bool, AddressRefused> {
        let mut current = self.url.write().unwrap_or_else(PoisonError::into_inner);
        if without_user(&current) != without_user(url) {
            return Err(AddressRefused);
        }
        let is_new = *current != url;
        url.clone_into(&mut current);
        Ok(is_new)
    }
}

/// What stands behind the scheme and the user, if there is one.
fn without_user(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    rest[..end].rfind('@').map_or(rest, |at| &rest[at + 1..])
}

/// Which of the two databases a URL names.
pub enum Target {
    /// PostgreSQL, at this address.
    Postgres(Arc<DatabaseAddress>),
    /// SQLite, in this file.
    Sqlite(String),
}

impl Target {
    /// Reads `sqlite://path/to/file` or `postgres://user@host/database`. Each new connection to PostgreSQL runs `first_statement` before anything else.
    ///
    /// # Errors
    /// [`OpenError::Url`].
    pub fn parse(url: &str, first_statement: &'static str) -> Result<Self, OpenError> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(Arc::new(DatabaseAddress::new(url, first_statement))));
        }
        match url.strip_prefix("sqlite://") {
            None => Err(OpenError::Url("it begins with neither sqlite:// nor postgres://")),
            Some("") => Err(OpenError::Url("the path is missing")),
            Some(path) if path.contains(":memory:") => {
                Err(OpenError::Url("a database in memory would be another one in each thread"))
            }
            // SQLite would read these as a URI, with options of its own.
            Some(path) if path.starts_with("file:") => Err(OpenError::Url("write the path without file:")),
            Some(path) => Ok(Self::Sqlite(path.to_owned())),
        }
    }

    /// Which database it is, and how connections to another host are encrypted, for an operator. Names no server.
    pub fn describe(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("SQLite at {path}"),
            Self::Postgres(address) => match tls::encryption(&address.url()) {
                Encryption::Local => "PostgreSQL on this machine".to_owned(),
                Encryption::Verified => "PostgreSQL on another host, its certificate verified".to_owned(),
                Encryption::Named(mode) => format!("PostgreSQL on another host, sslmode={mode}"),
            },
        }
    }

    /// Logs how connections to another host are encrypted; nothing for this machine.
    pub fn log_encryption(&self) {
        if let Self::Postgres(address) = self {
            tls::log_encryption(&address.url());
        }
    }
}

/// The file whose lock says that a service runs on the SQLite database.
pub fn lock_path(database: &str) -> PathBuf {
    PathBuf::from(format!("{database}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_one_of_two_databases() {
        let read = |url: &str| match Target::parse(url, "").ok()? {
            Target::Postgres(address) => Some(address.url()),
            Target::Sqlite(path) => Some(path),
        };
        assert_eq!(read("sqlite://./data/dropin.db").as_deref(), Some("./data/dropin.db"));
        assert_eq!(read("sqlite:///var/lib/dropin.db").as_deref(), Some("/var/lib/dropin.db"));
        let server = "postgres://dropin@db.example/dropin";
        assert_eq!(read(server).as_deref(), Some(server));
        for wrong in ["", "dropin.db", "mysql://h/d", "sqlite://", "sqlite://:memory:", "sqlite://file:x?mode=memory"] {
            let error = Target::parse(wrong, "").err().expect(wrong).to_string();
            assert!(error.starts_with("the database must be given as sqlite://path/to/file or postgres://"), "{error}");
        }
    }

    #[test]
    fn user_and_password_may_change_and_nothing_else() {
        let address = DatabaseAddress::new("postgres://a:b@h:1/d?sslmode=disable", "");
        assert_eq!(address.replace("postgresql://a:b%40@h:1/d?sslmode=disable"), Ok(true));
        assert_eq!(address.replace("postgresql://a:b%40@h:1/d?sslmode=disable"), Ok(false));
        for other in ["postgres://a:b@h:2/d?sslmode=disable", "postgres://a:b@h:1/d", "postgres://h2/d", "sqlite://d"] {
            assert_eq!(address.replace(other), Err(AddressRefused), "{other}");
        }
        assert_eq!(address.url(), "postgresql://a:b%40@h:1/d?sslmode=disable");
        let local = DatabaseAddress::new("postgres:///d?host=/run/x@y", "");
        assert_eq!(local.replace("postgres://u@/d?host=/run/x@y"), Ok(true));
    }

    #[test]
    fn a_command_waits_longer_than_the_caller_of_a_service() {
        let deadline = |role| StoreConfig::new("sqlite://dropin.db", role).deadline.as_secs();
        assert_eq!((deadline(Role::Service), deadline(Role::Tool)), (3, 60));
    }

    #[test]
    fn a_password_in_the_url_is_not_shown() {
        let config = StoreConfig::new("postgres://dropin:hush@db.example/dropin", Role::Service);
        assert!(!format!("{config:?}").contains("hush"));
    }
}
