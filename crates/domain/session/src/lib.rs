#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod session;
mod state;
mod witness;

pub use session::{BillingChoice, Session, SessionTerms};
pub use state::{
    CancelReason, FailureReason, SessionEvent, SessionState, SessionStateKind, SessionTrigger, TRANSITIONS, Transition,
};
pub use witness::{Created, Processing, SubmitRefused, WrongState};
