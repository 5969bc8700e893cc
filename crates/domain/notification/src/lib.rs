#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod schedule;

pub use schedule::{AttemptOutcome, Schedule, Verdict};
