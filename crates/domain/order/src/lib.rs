#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod amounts;
mod bank;
mod ledger;
mod operation;
mod order;
mod plan;
mod refund;
mod state;
mod step;

pub use amounts::{Amounts, MoneyRule};
pub use bank::BankDetails;
pub use ledger::{Account, LedgerEntry, LedgerTransaction};
pub use operation::{Channel, DeclineReason, OpKind, OpState, Operation, STUCK_AFTER, Stuck, TAKEN_IN_VAIN};
pub use order::{NewOrder, Order, VoidCause};
pub use plan::{CapturePlan, CaptureRefused, RefundRefused, ReviewRefused, VoidPlan};
pub use refund::{Refund, RefundState};
pub use state::{OrderEvent, OrderState, OrderTrigger, TRANSITIONS, Transition};
pub use step::{Step, WrongState};
