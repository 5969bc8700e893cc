//! Beginnings and ends that are prepared once: diesel's transaction manager has SQLite read their text each time. Savepoints stand inside a
//! transaction that the manager began, so it still knows of everything that is written.

use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sqlite::Sqlite;
use diesel::{QueryResult, RunQueryDsl, SqliteConnection};

/// A function that runs a statement without values.
macro_rules! command {
    ($(#[$doc:meta])* $function:ident, $name:ident, $text:literal) => {
        #[derive(Debug, QueryId)]
        struct $name;

        impl QueryFragment<Sqlite> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
                out.push_sql($text);
                Ok(())
            }
        }

        impl RunQueryDsl<SqliteConnection> for $name {}

        $(#[$doc])*
        pub(crate) fn $function(connection: &mut SqliteConnection) -> QueryResult<()> {
            $name.execute(connection).map(|_no_rows| ())
        }
    };
}

command!(
    /// Begins a snapshot to read from.
    begin_read,
    BeginRead,
    "BEGIN DEFERRED"
);
command!(
    /// Ends a snapshot.
    end_read,
    EndRead,
    "ROLLBACK"
);
command!(
    /// Marks where a step begins.
    savepoint,
    Savepoint,
    "SAVEPOINT step"
);
command!(
    /// Keeps what was done since the step began.
    release,
    Release,
    "RELEASE step"
);
command!(
    /// Undoes what was done since the step began; the mark stays, to be released.
    undo,
    Undo,
    "ROLLBACK TO step"
);
