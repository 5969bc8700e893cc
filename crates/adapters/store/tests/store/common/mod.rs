//! What both databases' tests share: SQL behind the store's back.

pub(crate) mod cluster;
pub(crate) mod deployment;
pub(crate) mod postgres;
pub(crate) mod screening;
pub(crate) mod statements;
pub(crate) mod wakes;

use std::sync::Mutex;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::{PgConnection, SqliteConnection};
use dropin_store_contract::Raw;
use tempfile::TempDir;

#[derive(QueryableByName)]
struct Value {
    #[diesel(sql_type = Text)]
    value: String,
}

/// A connection of the test's own to PostgreSQL.
pub(crate) struct RawPostgres(Mutex<PgConnection>);

/// A connection of the test's own to SQLite.
pub(crate) struct RawSqlite(Mutex<SqliteConnection>);

impl RawPostgres {
    pub(crate) fn open(url: &str) -> Self {
        Self(Mutex::new(PgConnection::establish(url).unwrap()))
    }
}

impl RawSqlite {
    pub(crate) fn open(path: &str) -> Self {
        let mut connection = SqliteConnection::establish(path).unwrap();
        connection.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON").unwrap();
        Self(Mutex::new(connection))
    }
}

/// Every constraint that was broken, with the text that tells which.
fn message(error: &diesel::result::Error) -> String {
    match error {
        diesel::result::Error::DatabaseError(kind, information) => {
            format!("{kind:?} {} {}", information.message(), information.constraint_name().unwrap_or_default())
        }
        other => other.to_string(),
    }
}

macro_rules! raw {
    ($name:ty) => {
        impl Raw for $name {
            fn execute(&self, sql: &str) -> Result<usize, String> {
                let mut connection = self.0.lock().unwrap();
                diesel::sql_query(sql).execute(&mut *connection).map_err(|error| message(&error))
            }

            fn values(&self, sql: &str) -> Vec<String> {
                let mut connection = self.0.lock().unwrap();
                let rows: Vec<Value> = diesel::sql_query(sql).load(&mut *connection).unwrap();
                rows.into_iter().map(|row| row.value).collect()
            }
        }
    };
}

raw!(RawPostgres);
raw!(RawSqlite);

/// An empty folder and the URL of a database in it that does not exist yet.
pub(crate) fn sqlite_url() -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().join("store.db").display());
    (folder, url)
}

/// The path in a URL of [`sqlite_url`].
pub(crate) fn path(url: &str) -> &str {
    url.strip_prefix("sqlite://").unwrap()
}
