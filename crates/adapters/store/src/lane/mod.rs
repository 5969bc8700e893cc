//! How steps are executed: a bounded queue in front of threads that each own one connection (docs/adr/0002).

mod job;
mod postgres;
mod queue;
mod sqlite;
#[cfg(test)]
mod tests;
mod timekeeper;
mod together;

pub(crate) use job::{Job, Kind, Step, Verdict, Work, run, run_one_of};
pub(crate) use postgres::serve as serve_postgres;
pub(crate) use queue::Queue;
pub(crate) use sqlite::{serve_reads as serve_sqlite_reads, serve_writes as serve_sqlite_writes};
pub(crate) use timekeeper::Timekeeper;
pub(crate) use together::{HASTY, Together, serve as serve_together};
