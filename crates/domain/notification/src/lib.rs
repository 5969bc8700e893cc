#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod filter;
mod schedule;

pub use filter::{EventFilter, EventFilterError};
pub use schedule::{AttemptOutcome, Schedule, ScheduleError, Verdict};
