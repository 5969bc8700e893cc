//! What a bench does with its programs beside starting them, and with the PostgreSQL that it has for itself.

use std::fs;
use std::time::Duration;

use super::usage;
use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};
use crate::postgres;
use crate::programs::{Program, Programs};

impl Programs {
    /// The address of one of the server's databases.
    pub(crate) fn database_url(&self, name: &str) -> String {
        let server = self.postgres_url.as_deref().and_then(|url| Some(url.rsplit_once('/')?.0));
        format!("{}/{name}", server.unwrap_or_default())
    }

    /// The main process of PostgreSQL.
    pub(crate) fn postmaster(&self) -> Outcome<u32> {
        let record = self.folder().join("data/postmaster.pid");
        let text = fs::read_to_string(&record).context(|| format!("read {}", record.display()))?;
        let postmaster = text.lines().next().and_then(|line| line.trim().parse().ok());
        postmaster.ok_or_else(|| Failure::new(format!("{} names no process", record.display())))
    }

    /// Has PostgreSQL load a library of its own; restarts it.
    pub(crate) fn load_library(&self, name: &str) -> Outcome<()> {
        self.sql("postgres", &format!("ALTER SYSTEM SET shared_preload_libraries = '{name}'"))?;
        postgres::restart(self.folder(), "fast")
    }

    /// Kills the server as a power cut would, and starts it again.
    pub(crate) fn crash_server(&self) -> Outcome<()> {
        postgres::restart(self.folder(), "immediate")
    }

    /// Runs SQL on one of the server's databases; what it answers, unaligned and without heads.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> Outcome<String> {
        let mut psql = self.tool("psql", Duration::from_secs(1800));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]).arg(self.database_url(database));
        captured(&mut psql)
    }
}

impl Program {
    /// Memory when it has nothing to do: as soon as it stays the same for a second, or after ten.
    pub(crate) fn idle_memory(&self) -> Outcome<f64> {
        let mut before = usage::memory_of(self.id())?.now;
        for _ in 0..10 {
            std::thread::sleep(Duration::from_secs(1));
            let now = usage::memory_of(self.id())?.now;
            if now == before {
                break;
            }
            before = now;
        }
        Ok(before)
    }
}
