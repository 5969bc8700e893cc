#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod amounts;
mod ledger;
mod operation;
mod order;
mod state;
mod witness;

pub use amounts::{Amounts, MoneyRule};
pub use ledger::{Account, LedgerEntry, LedgerTransaction};
pub use operation::{DeclineReason, OpKind, OpState, Operation};
pub use order::Order;
pub use state::{OrderEvent, OrderState, OrderTrigger, TRANSITIONS, Transition};
pub use witness::{Authorized, CapturePlan, CaptureRefused, Processing, Step, WrongState};
