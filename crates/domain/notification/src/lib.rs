#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod breaker;
mod failure;
mod filter;
mod schedule;

pub use breaker::{Breaker, BreakerChange, BreakerPermit, EndpointBreakerRules, InvalidBreakerRules, Tried};
pub use failure::{DeliveryFailure, FailureClass};
pub use filter::{EventFilter, EventFilterError};
pub use schedule::{AttemptOutcome, HOLDS_BACK_FOR, RetryDecision, Schedule, ScheduleError};
