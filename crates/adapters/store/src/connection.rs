//! One connection, to either database.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection, SqliteConnection};

use crate::feed;

/// What every connection to PostgreSQL is told first, beside for how long a statement runs and waits for a lock.
const POSTGRES_SETTINGS: &str = "SET idle_in_transaction_session_timeout = '10s'; \
     SET default_transaction_isolation = 'read committed'; \
     SET client_min_messages = 'error'; SET timezone = 'UTC'";

/// What every connection to SQLite is told first, beside for how long it waits for the lock. FULL: what was answered survives a power cut.
const SQLITE_SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
     PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF";

/// What the writing connection is told. Pages are copied from the log into the database every 32 MB only: many are written again before that.
/// 16 MB of memory for pages, so that the leaves of the indexes need not be read again.
const SQLITE_WRITER: &str = "PRAGMA wal_autocheckpoint = 8000; PRAGMA cache_size = -16384";

/// What a reading connection is told: 8 MB of memory for pages.
const SQLITE_READER: &str = "PRAGMA query_only = ON; PRAGMA cache_size = -8192";

/// How long libpq tries to connect, and how long sent bytes may stay unacknowledged before the connection counts as lost.
const POSTGRES_NETWORK: [(&str, &str); 5] = [
    ("connect_timeout", "2"),
    ("tcp_user_timeout", "3000"),
    ("keepalives_idle", "10"),
    ("keepalives_interval", "3"),
    ("keepalives_count", "3"),
];

/// A connection to one of the two databases.
#[derive(diesel::MultiConnection)]
pub(crate) enum AnyConnection {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

/// `url` with our time limits where it has none of its own.
fn with_time_limits(url: &str) -> String {
    let mut url = url.to_owned();
    for (name, value) in POSTGRES_NETWORK {
        if !url.contains(&format!("{name}=")) {
            let separator = if url.contains('?') { '&' } else { '?' };
            url.push_str(&format!("{separator}{name}={value}"));
        }
    }
    url
}

/// How much longer than its caller waits a statement may run in the server. Never relied on for COMMIT, which no time-out of PostgreSQL ends.
const GRACE: Duration = Duration::from_secs(2);

/// How long a lock is waited for: until a second before the caller who waits for `deadline` goes, who hears so that it was in vain, but never
/// less than two seconds.
fn lock_patience(deadline: Duration) -> Duration {
    deadline.saturating_sub(Duration::from_secs(1)).max(Duration::from_secs(2))
}

/// Connects to PostgreSQL, two seconds at most, for callers who wait for `deadline`, and applies `settings` beside those that all connections
/// have.
pub(crate) fn postgres(url: &str, deadline: Duration, settings: &str) -> Result<PgConnection, String> {
    let mut connection = PgConnection::establish(&with_time_limits(url)).map_err(|error| error.to_string())?;
    let (runs, waits) = ((deadline + GRACE).as_millis(), lock_patience(deadline).as_millis());
    let all = format!("SET statement_timeout = {runs}; SET lock_timeout = {waits}; {POSTGRES_SETTINGS}{settings}");
    connection.batch_execute(&all).map_err(|error| error.to_string())?;
    connection.batch_execute(feed::SET_CLOCK).map_err(|error| error.to_string())?;
    // A deadlock is recognised by its English message. Where the role may not choose the language, a deadlock counts as "not now".
    let _not_allowed = connection.batch_execute("SET lc_messages = 'C'");
    Ok(connection)
}

/// Opens the SQLite database at `path`, creating it when `writable`, for callers who wait for `deadline`.
pub(crate) fn sqlite(path: &str, writable: bool, deadline: Duration) -> Result<SqliteConnection, String> {
    let mut connection = SqliteConnection::establish(path).map_err(|error| error.to_string())?;
    let waits = lock_patience(deadline).as_millis();
    connection
        .batch_execute(&format!("PRAGMA busy_timeout = {waits}; {SQLITE_SETTINGS}"))
        .map_err(|error| error.to_string())?;
    let settings = if writable { SQLITE_WRITER } else { SQLITE_READER };
    connection.batch_execute(settings).map_err(|error| error.to_string())?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use diesel::RunQueryDsl;

    use super::*;

    #[test]
    fn time_limits_are_added_once() {
        let url = with_time_limits("postgres://a@h/db?connect_timeout=1");
        assert!(url.starts_with("postgres://a@h/db?connect_timeout=1&tcp_user_timeout=3000&"), "{url}");
        assert_eq!(with_time_limits(&url), url);
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

    #[test]
    fn a_lock_is_waited_for_two_seconds_at_least() {
        let waits = |deadline| lock_patience(Duration::from_millis(deadline)).as_millis();
        assert_eq!([0, 1_000, 3_000, 60_000].map(waits), [2_000, 2_000, 2_000, 59_000]);
    }
}
