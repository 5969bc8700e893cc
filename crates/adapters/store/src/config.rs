use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Connections to PostgreSQL, each with its thread, beside the four for Sessions that are created and found together; SQLite has one writer
    /// and two readers.
    pub threads: usize,
    /// How long a caller waits for an answer. PostgreSQL ends a statement two seconds after that; a lock is waited for until a second before, at least two.
    pub deadline: Duration,
}

/// How long whoever calls a service waits: the contract allows three seconds until 503 (decisions.md section 1).
pub(crate) const SERVICE_DEADLINE: Duration = Duration::from_secs(3);

/// How long whoever gives a command waits. Nobody is turned away meanwhile, and an outage is when commands take long and are needed.
const TOOL_DEADLINE: Duration = Duration::from_secs(60);

impl StoreConfig {
    /// `url` with eight threads and the deadline of the role: three seconds for a service, a minute for a tool.
    pub fn new(url: impl Into<String>, role: Role) -> Self {
        let deadline = match role {
            Role::Service => SERVICE_DEADLINE,
            Role::Tool => TOOL_DEADLINE,
        };
        Self { url: url.into(), role, threads: 8, deadline }
    }
}

impl std::fmt::Debug for StoreConfig {
    /// Leaves the URL out: it may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreConfig")
            .field("role", &self.role)
            .field("threads", &self.threads)
            .field("deadline", &self.deadline)
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

/// Which of the two databases a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Postgres(String),
    Sqlite(PathBuf),
}

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(url.to_owned()));
        }
        match url.strip_prefix("sqlite://") {
            None => Err(OpenError::Url("it begins with neither sqlite:// nor postgres://")),
            Some("") => Err(OpenError::Url("the path is missing")),
            Some(path) if path.contains(":memory:") => {
                Err(OpenError::Url("a database in memory would be another one in each thread"))
            }
            // SQLite would read these as a URI, with options of its own.
            Some(path) if path.starts_with("file:") => Err(OpenError::Url("write the path without file:")),
            Some(path) => Ok(Self::Sqlite(PathBuf::from(path))),
        }
    }
}

/// The file whose lock says that a service runs on the SQLite database.
pub(crate) fn lock_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_one_of_two_databases() {
        let sqlite = |path: &str| Some(Target::Sqlite(PathBuf::from(path)));
        assert_eq!(Target::parse("sqlite://./data/dropin.db").ok(), sqlite("./data/dropin.db"));
        assert_eq!(Target::parse("sqlite:///var/lib/dropin.db").ok(), sqlite("/var/lib/dropin.db"));
        let server = "postgres://dropin@db.example/dropin".to_owned();
        assert_eq!(Target::parse(&server).ok(), Some(Target::Postgres(server)));
        for wrong in ["", "dropin.db", "mysql://h/d", "sqlite://", "sqlite://:memory:", "sqlite://file:x?mode=memory"] {
            let error = Target::parse(wrong).expect_err(wrong).to_string();
            assert!(error.starts_with("the database must be given as sqlite://path/to/file or postgres://"), "{error}");
        }
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
