//! `cargo xtask pg start|stop`: a PostgreSQL for somebody who runs single tests by hand.

use clap::Subcommand;

use crate::command::workspace_root;
use crate::failure::Outcome;
use crate::postgres::{self, Server, URL_VARIABLE};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Starts it, or finds it running; prints the line to paste into your shell
    Start,
    /// Stops it and removes its data
    Stop,
}

/// Runs the task.
pub(crate) fn task(task: &Task) -> Outcome<()> {
    let folder = postgres::reachable_folder(&workspace_root().join("target/xtask-pg"))?;
    match (task, Server::running(&folder)?) {
        (Task::Start, running) => {
            let server = running.map_or_else(|| postgres::remove(&folder).and_then(|()| Server::start(&folder)), Ok)?;
            println!("export {URL_VARIABLE}={}", server.url());
            return Ok(());
        }
        (Task::Stop, Some(server)) => server.stop()?,
        (Task::Stop, None) => postgres::remove(&folder)?,
    }
    eprintln!("no PostgreSQL of `cargo xtask pg` is running any more, its data is removed");
    Ok(())
}
