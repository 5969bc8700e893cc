//! One connection, to either database.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection, SqliteConnection};

use crate::tls::{self, Encryption};

/// Settings of every connection to PostgreSQL, beside the statement timeout and the lock timeout. No statement of ours runs long
/// enough to win back the 30 ms that JIT compilation takes once the estimated cost passes 100,000.
const POSTGRES_SETTINGS: &str = "SET jit = off; SET idle_in_transaction_session_timeout = '10s'; \
     SET default_transaction_isolation = 'read committed'; \
     SET client_min_messages = 'error'; SET timezone = 'UTC'";

/// Settings of every connection to SQLite, beside the busy timeout. FULL: what was answered survives a power cut.
const SQLITE_SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
     PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF";

/// Pages of 4 kB in SQLite's write-ahead log (WAL) from which on the writer makes a checkpoint itself.
pub(crate) const WAL_CHECKPOINT_PAGES: i32 = 8_000;

/// Settings of the writing connection, beside [`WAL_CHECKPOINT_PAGES`].
/// 16 MB of memory for pages, so that the leaves of the indexes need not be read again. The journals of savepoints stay in memory; they hold nothing
/// that must outlive a crash.
const SQLITE_WRITER: &str = "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY";

/// Settings of a reading connection: 8 MB of memory for pages.
const SQLITE_READER: &str = "PRAGMA query_only = ON; PRAGMA cache_size = -8192";

/// How long libpq tries to connect, and how long sent bytes may stay unacknowledged before the connection counts as lost.
const POSTGRES_NETWORK: [(&str, &str); 5] = [
    ("connect_timeout", "2"),
    ("tcp_user_timeout", "3000"),
    ("keepalives_idle", "10"),
    ("keepalives_interval", "3"),
    ("keepalives_count", "3"),
];

#[allow(missing_docs, reason = "diesel's derive writes no documentation for what it makes")]
mod either {
    use diesel::{PgConnection, SqliteConnection};

    /// A connection to one of the two databases.
    #[derive(diesel::MultiConnection)]
    pub enum AnyConnection {
        /// To PostgreSQL.
        Postgres(PgConnection),
        /// To SQLite.
        Sqlite(SqliteConnection),
    }
}

pub use either::{AnyConnection, MultiBackend};

/// `url` with our time limits where it has none of its own, and with TLS to another host unless it names an exception.
pub(crate) fn with_defaults(url: &str) -> String {
    let tls = (tls::encryption(url) == Encryption::Verified).then_some(("sslmode", "verify-full"));
    let mut url = url.to_owned();
    for (name, value) in POSTGRES_NETWORK.into_iter().chain(tls) {
        // In the parameters: a password may hold the same text.
        if !tls::parameters(&url).any(|(named, _)| named == name) {
            let separator = if url.contains('?') { '&' } else { '?' };
            url.push_str(&format!("{separator}{name}={value}"));
        }
    }
    url
}

/// How much longer than its caller waits a statement may run in the server. Never relied on for COMMIT, which no time-out of PostgreSQL ends.
const GRACE: Duration = Duration::from_secs(2);

/// The lock timeout: a second less than the deadline of the caller, who then gets the reason as an error, but never
/// less than two seconds.
fn lock_timeout(deadline: Duration) -> Duration {
    deadline.saturating_sub(Duration::from_secs(1)).max(Duration::from_secs(2))
}

/// What is said of a URL that libpq cannot read.
const UNREADABLE: &str =
    "the database's URL cannot be read: percent-encode what is no letter or digit in user name and password";

/// Whether libpq complains of the URL itself. It then repeats a part of it, which may be the password.
fn repeats_url(error: &str) -> bool {
    ["percent-encoded", " URI", "invalid integer value", "invalid port number"].iter().any(|part| error.contains(part))
}

/// Connects to PostgreSQL, two seconds at most, for callers who wait for `deadline`, applies `settings` beside those that all connections
/// have, and runs `first_statement`.
pub(crate) fn postgres(
    url: &str,
    deadline: Duration,
    settings: &str,
    first_statement: &str,
) -> Result<PgConnection, String> {
    let mut connection = PgConnection::establish(&with_defaults(url)).map_err(|error| {
        let error = error.to_string();
        if repeats_url(&error) {
            return UNREADABLE.to_owned();
        }
        let advice = tls::advice(url, &error);
        error + advice
    })?;
    let (runs, waits) = ((deadline + GRACE).as_millis(), lock_timeout(deadline).as_millis());
    let all = format!("SET statement_timeout = {runs}; SET lock_timeout = {waits}; {POSTGRES_SETTINGS}{settings}");
    connection.batch_execute(&all).map_err(|error| error.to_string())?;
    connection.batch_execute(first_statement).map_err(|error| error.to_string())?;
    // A deadlock is recognised by its English message. Where the role may not choose the language, a deadlock counts as "not now".
    let _not_allowed = connection.batch_execute("SET lc_messages = 'C'");
    Ok(connection)
}

/// Opens the SQLite database at `path`, creating it when `writable`, for callers who wait for `deadline`.
///
/// # Errors
/// Why not, in SQLite's words.
pub fn sqlite(path: &str, writable: bool, deadline: Duration) -> Result<SqliteConnection, String> {
    let mut connection = SqliteConnection::establish(path).map_err(|error| error.to_string())?;
    let waits = lock_timeout(deadline).as_millis();
    connection
        .batch_execute(&format!("PRAGMA busy_timeout = {waits}; {SQLITE_SETTINGS}"))
        .map_err(|error| error.to_string())?;
    let settings = if writable {
        format!("PRAGMA wal_autocheckpoint = {WAL_CHECKPOINT_PAGES}; {SQLITE_WRITER}")
    } else {
        SQLITE_READER.to_owned()
    };
    connection.batch_execute(&settings).map_err(|error| error.to_string())?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use diesel::RunQueryDsl;

    use super::*;

    #[test]
    fn time_limits_are_added_once() {
        let url = with_defaults("postgres://a@h/db?connect_timeout=1");
        assert!(url.starts_with("postgres://a@h/db?connect_timeout=1&tcp_user_timeout=3000&"), "{url}");
        assert_eq!(with_defaults(&url), url);
    }

    #[test]
    fn what_libpq_cannot_read_is_not_repeated() {
        for url in [
            "postgres://u:50%off@db/d",
            "postgres://u:hush%00@db/d",
            "postgres://u:hush",
            "postgres://h/d?hush",
            "postgres://h/d?hush=1",
            "postgres://h/d?a=hush=1",
            "postgres://[::1/hush",
            "postgres://[::1]hush/d",
        ] {
            let error = postgres(url, Duration::ZERO, "", "").err().expect(url);
            assert!(!error.contains("hush") && !error.contains("50"), "{url}: {error}");
        }
    }

    #[test]
    fn another_host_is_asked_for_tls() {
        assert!(with_defaults("postgres://a@h/db").ends_with("&sslmode=verify-full"));
        assert!(with_defaults("postgres://a@h/db?sslmode=disable").contains("?sslmode=disable&"));
        assert!(with_defaults("postgres://a:sslmode=@h/db").ends_with("&sslmode=verify-full"));
        for local in ["postgres://a@h/db?sslmode=disable", "postgres://a@127.0.0.1/db", "postgres:///db"] {
            assert!(!with_defaults(local).contains("verify-full"), "{local}");
        }
    }

    #[derive(diesel::QueryableByName)]
    struct BusyTimeout {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        timeout: i32,
    }

    #[test]
    fn sqlite_waits_for_its_lock_for_nearly_as_long_as_the_caller() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dropin.db");
        for (deadline, expected) in [(3, 2_000), (60, 59_000)] {
            for writable in [true, false] {
                let mut open = sqlite(path.to_str().unwrap(), writable, Duration::from_secs(deadline)).unwrap();
                let told: BusyTimeout = diesel::sql_query("PRAGMA busy_timeout").get_result(&mut open).unwrap();
                assert_eq!(told.timeout, expected);
            }
        }
    }

    #[derive(diesel::QueryableByName)]
    struct Counted {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        count: i32,
    }

    #[test]
    fn sqlite_keeps_plans_and_the_journals_of_savepoints_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = sqlite(folder.path().join("dropin.db").to_str().unwrap(), true, Duration::ZERO).unwrap();
        let mut count = |query: &str| diesel::sql_query(query).get_result::<Counted>(&mut writer).unwrap().count;
        // .cargo/config.toml asks for it.
        assert_eq!(count("SELECT sqlite_compileoption_used('ENABLE_QPSG') AS count"), 1);
        // 2 is memory.
        assert_eq!(count("SELECT temp_store AS count FROM pragma_temp_store"), 2);
    }

    #[test]
    fn a_lock_is_waited_for_two_seconds_at_least() {
        let waits = |deadline| lock_timeout(Duration::from_millis(deadline)).as_millis();
        assert_eq!([0, 1_000, 3_000, 60_000].map(waits), [2_000, 2_000, 2_000, 59_000]);
    }
}
