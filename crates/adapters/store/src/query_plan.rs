//! How SQLite goes about a statement, for tests.

use diesel::prelude::*;
use diesel::sql_types::Text;

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// A new database with the tables as they are now.
pub(crate) fn empty_database() -> SqliteConnection {
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    dropin_store_runtime::migrate::sqlite(&mut connection, crate::migrations::SQLITE).unwrap();
    connection
}

/// The steps of a statement's plan.
pub(crate) fn of(connection: &mut SqliteConnection, query: &str) -> Vec<String> {
    let plan: Vec<Step> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {query}")).load(connection).unwrap();
    plan.into_iter().map(|step| step.detail).collect()
}
