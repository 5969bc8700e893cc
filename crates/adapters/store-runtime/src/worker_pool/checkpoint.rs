//! Checkpoints of SQLite's write-ahead log (WAL), beside the writer. The writer makes one by itself when the WAL has grown to
//! [`connection::WAL_CHECKPOINT_PAGES`]: then only what was written last is left to copy, and nobody waits for all of it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diesel::sql_types::Integer;
use diesel::{QueryableByName, RunQueryDsl, SqliteConnection};

use crate::connection::{self, WAL_CHECKPOINT_PAGES};

/// How long pages gather before they are copied: many are written again meanwhile.
const INTERVAL: Duration = Duration::from_millis(500);

/// The same once the WAL is nearly full, so that the writer finds little left.
const SHORT_INTERVAL: Duration = Duration::from_millis(50);

/// What the writer tells the checkpoint thread.
#[derive(Default)]
pub(super) struct WalActivity {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_grown: bool,
    is_closed: bool,
}

/// Tells the checkpoint thread of commits; dropping it ends the thread.
pub(super) struct WalWriter(pub(super) Arc<WalActivity>);

impl WalWriter {
    /// Something was committed.
    pub(super) fn commit(&self) {
        if !std::mem::replace(&mut self.0.state().has_grown, true) {
            self.0.changed.notify_one();
        }
    }
}

impl Drop for WalWriter {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
        self.0.changed.notify_one();
    }
}

impl WalActivity {
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
    /// Pages in the WAL.
    #[diesel(sql_type = Integer)]
    log: i32,
}

/// Checkpoints the WAL until the [`WalWriter`] is dropped.
pub(super) fn serve(activity: &WalActivity, path: &str, deadline: Duration) {
    let (mut connection, mut pages) = (None, 0);
    while activity.wait(if WAL_CHECKPOINT_PAGES * 3 / 4 < pages { SHORT_INTERVAL } else { INTERVAL }) {
        pages = checkpoint(&mut connection, path, deadline);
    }
}

/// Pages in the WAL, of which as many are copied as nobody reads; none where that fails, which the writer makes good.
fn checkpoint(connection: &mut Option<SqliteConnection>, path: &str, deadline: Duration) -> i32 {
    if connection.is_none() {
        *connection = connection::sqlite(path, true, deadline).ok();
    }
    let Some(open) = connection else { return 0 };
    match diesel::sql_query("PRAGMA wal_checkpoint(PASSIVE)").get_result::<Checkpoint>(open) {
        Ok(told) => told.log,
        Err(error) => {
            log::warn!("the WAL of SQLite is not checkpointed beside the writer, which does it alone: {error}");
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
    fn what_was_committed_is_copied_before_the_wal_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dropin.db");
        let text = path.to_str().unwrap();
        let mut writer = connection::sqlite(text, true, Duration::ZERO).unwrap();
        let wal = WalWriter(Arc::default());
        let activity = wal.0.clone();
        thread::scope(|scope| {
            scope.spawn(move || serve(&activity, text, Duration::ZERO));
            writer.batch_execute("CREATE TABLE page (bytes BLOB); INSERT INTO page VALUES (zeroblob(400000))").unwrap();
            assert!(path.metadata().unwrap().len() < 400_000, "it stands in the WAL");
            wal.commit();
            let begun = Instant::now();
            while path.metadata().unwrap().len() < 400_000 {
                assert!(begun.elapsed() < Duration::from_secs(10), "nothing was copied");
                thread::sleep(Duration::from_millis(10));
            }
            drop(wal);
        });
    }
}
