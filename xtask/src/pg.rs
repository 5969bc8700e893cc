//! `cargo xtask pg start|stop`: a PostgreSQL for somebody who runs single tests by hand.

use crate::command::workspace_root;
use crate::failure::Outcome;
use crate::postgres::{self, Server, URL_VARIABLE};

fn folder() -> Outcome<std::path::PathBuf> {
    postgres::reachable_folder(&workspace_root().join("target/xtask-pg"))
}

/// Starts the server, or finds it running, and prints the line that points tests at it.
pub(crate) fn start() -> Outcome<()> {
    let folder = folder()?;
    let server = match Server::running(&folder)? {
        Some(server) => server,
        None => {
            postgres::remove(&folder)?;
            Server::start(&folder)?
        }
    };
    println!("export {URL_VARIABLE}={}", server.url());
    Ok(())
}

/// Stops the server and removes its data. Fine when none runs.
pub(crate) fn stop() -> Outcome<()> {
    let folder = folder()?;
    match Server::running(&folder)? {
        Some(server) => server.stop()?,
        None => postgres::remove(&folder)?,
    }
    eprintln!("no PostgreSQL of `cargo xtask pg` is running any more, its data is removed");
    Ok(())
}
