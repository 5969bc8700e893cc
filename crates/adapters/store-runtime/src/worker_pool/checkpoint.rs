//! Copying SQLite's log back into the database, beside the writer. The writer does that by itself when the log has grown to
//! [`connection::LOG_PAGES`]: then only what was written last is left to copy, and nobody waits for all of it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diesel::sql_types::Integer;
use diesel::{QueryableByName, RunQueryDsl, SqliteConnection};

use crate::connection::{self, LOG_PAGES};

/// How long pages gather before they are copied: many are written again meanwhile.
const INTERVAL: Duration = Duration::from_millis(500);

/// The same once the log is nearly full, so that the writer finds little left.
const SHORT_INTERVAL: Duration = Duration::from_millis(50);

/// What the writer tells of SQLite's log.
#[derive(Default)]
pub struct LogSigns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_grown: bool,
    is_closed: bool,
}

/// Whoever commits. Once it is dropped, nothing will be committed any more.
pub struct LogWriter(pub Arc<LogSigns>);

impl LogWriter {
    /// Something was committed.
    pub(super) fn commit(&self) {
        if !std::mem::replace(&mut self.0.state().has_grown, true) {
            self.0.changed.notify_one();
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
        self.0.changed.notify_one();
    }
}

impl LogSigns {
    /// Waits for a commit, and then for others to gather; `false` once it is closed.
    fn wait(&self, interval: Duration) -> bool {
        let idle = |state: &mut State| !state.has_grown && !state.is_closed;
        let state = self.changed.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, interval, |state| !state.is_closed);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.has_grown = false;
        !state.is_closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a checkpoint tells.
#[derive(QueryableByName)]
struct Checkpoint {
    /// Pages in the log.
    #[diesel(sql_type = Integer)]
    log: i32,
}

/// Copies what is committed, until nothing will be.
pub fn serve(signs: &LogSigns, path: &str, deadline: Duration) {
    let (mut connection, mut pages) = (None, 0);
    while signs.wait(if LOG_PAGES * 3 / 4 < pages { SHORT_INTERVAL } else { INTERVAL }) {
        pages = checkpoint(&mut connection, path, deadline);
    }
}

/// Pages in the log, of which as many are copied as nobody reads; none where that fails, which the writer makes good.
fn checkpoint(connection: &mut Option<SqliteConnection>, path: &str, deadline: Duration) -> i32 {
    if connection.is_none() {
        *connection = connection::sqlite(path, true, deadline).ok();
    }
    let Some(open) = connection else { return 0 };
    match diesel::sql_query("PRAGMA wal_checkpoint(PASSIVE)").get_result::<Checkpoint>(open) {
        Ok(told) => told.log,
        Err(error) => {
            log::warn!("SQLite's log is not copied beside the writer, who does it alone from now and then: {error}");
            *connection = None;
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use diesel::connection::SimpleConnection;

    use super::*;

    #[test]
    fn what_was_committed_is_copied_before_the_log_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dropin.db");
        let text = path.to_str().unwrap();
        let mut writer = connection::sqlite(text, true, Duration::ZERO).unwrap();
        let log = LogWriter(Arc::default());
        let signs = log.0.clone();
        thread::scope(|scope| {
            scope.spawn(move || serve(&signs, text, Duration::ZERO));
            writer.batch_execute("CREATE TABLE page (bytes BLOB); INSERT INTO page VALUES (zeroblob(400000))").unwrap();
            assert!(path.metadata().unwrap().len() < 400_000, "it stands in the log");
            log.commit();
            let begun = Instant::now();
            while path.metadata().unwrap().len() < 400_000 {
                assert!(begun.elapsed() < Duration::from_secs(10), "nothing was copied");
                thread::sleep(Duration::from_millis(10));
            }
            drop(log);
        });
    }
}
