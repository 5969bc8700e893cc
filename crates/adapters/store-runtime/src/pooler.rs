//! Finds a connection pooler that hands a server connection to another client after each transaction (PgBouncer: `pool_mode = transaction`).
//!
//! Settings, prepared statements, LISTEN and advisory locks belong to a server connection. Behind such a pooler they reach another client's
//! transaction: statements get mixed up.

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::result::Error;
use diesel::sql_types::Integer;
use diesel::{Connection, QueryableByName, RunQueryDsl};

use crate::config::DatabaseAddress;
use crate::connection::with_defaults;

/// Rounds in which both connections run transactions. The first round tells, unless other clients take the freed server connection
/// between them.
const ROUNDS: u32 = 7;

/// Connections in a row that answer a statement and refuse BEGIN, until that is taken for a pooler.
const MAX_REFUSALS: u32 = 3;

#[derive(QueryableByName)]
struct Backend {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

/// Which server connection runs a transaction.
fn backend_of_a_transaction(connection: &mut PgConnection) -> Result<i32, Error> {
    connection.batch_execute("BEGIN")?;
    let found = diesel::sql_query("SELECT pg_backend_pid() AS pid").get_result::<Backend>(connection);
    connection.batch_execute("COMMIT")?;
    found.map(|found| found.pid)
}

/// Whether no transaction may begin, as behind a pooler that shares connections between statements (PgBouncer: `pool_mode = statement`): it answers a
/// statement, and refuses BEGIN or hangs up.
fn is_shared_between_statements(connection: &mut PgConnection) -> Result<bool, Error> {
    connection.batch_execute("SELECT 1")?;
    if connection.batch_execute("BEGIN").is_err() {
        return Ok(true);
    }
    connection.batch_execute("COMMIT").map(|()| false)
}

/// Whether transactions of `own` run on several server connections, those of `own` and another connection on the same, or none at all. `own` runs no
/// transaction. Opens one connection, three before such a pooler; `None` where none came about.
///
/// # Errors
/// What the server said.
pub fn shares_connections(own: &mut PgConnection, address: &DatabaseAddress) -> Result<Option<bool>, Error> {
    let url = with_defaults(&address.url());
    // A pooler refuses each time. A server that is being stopped refuses the next connection, and is asked again later.
    let mut refusals = 0;
    let mut other = loop {
        let Ok(mut other) = PgConnection::establish(&url) else { return Ok(None) };
        if !is_shared_between_statements(&mut other)? {
            break other;
        }
        refusals += 1;
        if refusals == MAX_REFUSALS {
            return Ok(Some(true));
        }
    };
    // Two of one and one of the other: a pooler that gives its server connections by turns gives one of them another than before, however many it has.
    let mut round = || {
        Ok::<_, Error>([
            backend_of_a_transaction(own)?,
            backend_of_a_transaction(own)?,
            backend_of_a_transaction(&mut other)?,
        ])
    };
    let first = round()?;
    let [own_backend, again, other_backend] = first;
    let mut is_shared = own_backend != again || own_backend == other_backend;
    for _ in 1..ROUNDS {
        is_shared = is_shared || round()? != first;
    }
    Ok(Some(is_shared))
}
