//! One run of the bench: its programs, and the PostgreSQL it has for itself.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use super::usage;
use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};
use crate::postgres;
use crate::programs::{Build, Program, Programs};

/// The programs of the run, and a PostgreSQL whose folder holds everything of theirs, too.
#[derive(Debug)]
pub(crate) struct Bench {
    programs: Programs,
    postgres_url: String,
    postmaster: u32,
}

impl Bench {
    /// Starts the guard, and through it the PostgreSQL.
    pub(crate) fn start(build: Build) -> Outcome<Self> {
        let (programs, postgres_url) = Programs::start_with_postgres("bench", build)?;
        let postmaster = read_postmaster(programs.folder())?;
        Ok(Self { programs, postgres_url, postmaster })
    }

    /// The address of one of the server's databases.
    pub(crate) fn database_url(&self, name: &str) -> String {
        let server = self.postgres_url.rsplit_once('/').map_or(self.postgres_url.as_str(), |(server, _)| server);
        format!("{server}/{name}")
    }

    /// The main process of PostgreSQL.
    pub(crate) fn postmaster(&self) -> u32 {
        self.postmaster
    }

    /// Has PostgreSQL load a library of its own; restarts it.
    pub(crate) fn load_library(&mut self, name: &str) -> Outcome<()> {
        self.sql("postgres", &format!("ALTER SYSTEM SET shared_preload_libraries = '{name}'"))?;
        postgres::restart(self.folder(), "fast")?;
        self.postmaster = read_postmaster(self.folder())?;
        Ok(())
    }

    /// Kills the server as a power cut would, and starts it again.
    pub(crate) fn crash_server(&mut self) -> Outcome<()> {
        postgres::restart(self.folder(), "immediate")?;
        self.postmaster = read_postmaster(self.folder())?;
        Ok(())
    }

    /// Runs SQL on one of the server's databases; what it answers, unaligned and without heads.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> Outcome<String> {
        let mut psql = self.tool("psql", Duration::from_secs(1800));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]).arg(self.database_url(database));
        captured(&mut psql)
    }

    /// Stops everything and removes the folder.
    pub(crate) fn finish(self) -> Outcome<()> {
        self.programs.finish()
    }
}

impl Deref for Bench {
    type Target = Programs;

    fn deref(&self) -> &Programs {
        &self.programs
    }
}

impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut Programs {
        &mut self.programs
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

/// The number of the server's main process.
fn read_postmaster(folder: &Path) -> Outcome<u32> {
    let record = folder.join("data/postmaster.pid");
    let text = fs::read_to_string(&record).context(|| format!("read {}", record.display()))?;
    let postmaster = text.lines().next().and_then(|line| line.trim().parse().ok());
    postmaster.ok_or_else(|| Failure::new(format!("{} names no process", record.display())))
}
