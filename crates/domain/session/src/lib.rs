#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod draft;
mod rate;
mod session;
mod state;
mod witness;

pub use draft::{BillingWish, Reading, SessionDraft, SessionInput, no_billing_choice};
pub use rate::{RateWish, SaleRate};
pub use session::{BillingChoice, Session, SessionTerms};
pub use state::{
    CancelReason, FailureReason, SessionEvent, SessionState, SessionStateKind, SessionTrigger, TRANSITIONS, Transition,
};
pub use witness::{Created, Processing, Redirected, SubmitRefused, WrongState};
