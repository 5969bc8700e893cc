//! Finds a connection pooler that hands a server connection to another client after each transaction (PgBouncer: `pool_mode = transaction`).
//!
//! Settings, prepared statements, LISTEN and advisory locks belong to a server connection. Behind such a pooler they reach another client's
//! transaction: statements get mixed up.

use std::collections::HashSet;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::sql_types::Integer;
use diesel::{Connection, QueryableByName, RunQueryDsl};

use crate::config::DatabaseAddress;
use crate::connection::with_defaults;

/// Connections that are compared: two that a pooler gives by turns to two servers never differ.
const CONNECTIONS: usize = 3;

/// Rounds in which they each run a transaction. The first round tells, unless other clients take the freed server connection
/// between them.
const ROUNDS: u32 = 6;

#[derive(QueryableByName)]
struct Backend {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

/// Which server connection runs a transaction; `None` where none may begin, as behind a pooler that shares connections between statements (PgBouncer:
/// `pool_mode = statement`).
fn backend_of_a_transaction(connection: &mut PgConnection) -> Result<Option<i32>, String> {
    if let Err(refused) = connection.batch_execute("BEGIN") {
        let refused = refused.to_string();
        return if refused.contains("not allowed") { Ok(None) } else { Err(refused) };
    }
    let found = diesel::sql_query("SELECT pg_backend_pid() AS pid").get_result::<Backend>(connection);
    let ended = connection.batch_execute("COMMIT");
    let found = found.map_err(|error| error.to_string())?;
    ended.map(|()| Some(found.pid)).map_err(|error| error.to_string())
}

/// Whether transactions of one connection run on several server connections, those of several on the same, or none at all. Opens three connections.
///
/// # Errors
/// Why no connection came about, or what the server said; libpq may name the server in it.
pub fn shares_connections(address: &DatabaseAddress) -> Result<bool, String> {
    let url = with_defaults(&address.url());
    let connect = |_| PgConnection::establish(&url).map_err(|error| error.to_string());
    let mut all: Vec<_> = (0..CONNECTIONS).map(connect).collect::<Result<_, _>>()?;
    let mut backends = || all.iter_mut().map(backend_of_a_transaction).collect::<Result<Vec<_>, _>>();
    let first = backends()?;
    let different: HashSet<_> = first.iter().flatten().collect();
    if different.len() < CONNECTIONS {
        return Ok(true);
    }
    for _ in 0..ROUNDS {
        if backends()? != first {
            return Ok(true);
        }
    }
    Ok(false)
}
