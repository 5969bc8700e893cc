#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod attempts;
mod draft;
mod rate;
#[cfg(feature = "serde")]
mod serialized;
mod session;
mod state;
mod witness;

pub use attempts::{Attempts, DEFAULT_ATTEMPTS, FailedAttempt, InvalidAttempts, MAX_ATTEMPTS};
pub use draft::{DraftContext, RequestedBilling, SessionDraft, SessionInput, no_billing_choice};
pub use rate::{InvalidSaleRate, RequestedRate, SaleRate, SaleRateParts};
pub use session::{
    BillingChoice, InvalidSession, InvalidSessionTerms, Session, SessionParts, SessionTerms, SessionTermsParts,
};
pub use state::{
    CancelReason, SessionEvent, SessionState, SessionStateKind, SessionTransition, SessionTrigger, TRANSITIONS,
};
pub use witness::{Created, Processing, Redirected, SubmitRefused, WrongState};
