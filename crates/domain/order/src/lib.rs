#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod amounts;
mod authorization;
mod bank;
mod capture;
mod dispute;
mod evidence;
mod failure;
mod late;
mod ledger;
mod operation;
mod order;
mod plan;
mod processor_reference;
mod refund;
mod state;
mod step;
mod transfer;

pub use amounts::{Amounts, MoneyRule};
pub use bank::BankDetails;
pub use dispute::{
    DISPUTE_TRANSITIONS, Dispute, DisputeAnswer, DisputeAnswerKind, DisputeAnswerState, DisputeReason, DisputeState,
    DisputeStep, DisputeStepRefused, DisputeTransition, DisputeTrigger, NewDispute, WrongDisputeState,
};
pub use evidence::{Evidence, EvidenceFile, EvidenceMedia};
pub use failure::{FAILURE_RULES, FailureReason, FailureRule, ShopperCode};
pub use ledger::{Account, LedgerEntry, LedgerTransaction, UnbalancedEntries};
pub use operation::{Channel, DeclineReason, OpKind, OpState, Operation, STUCK_AFTER, Stuck, TAKEN_IN_VAIN};
pub use order::{InvalidOrder, NewOrder, Order, OrderParts, VoidCause};
pub use plan::{CapturePlan, CaptureRefused, RefundRefused, ReviewRefused, VoidPlan};
pub use processor_reference::{InvalidProcessorReference, MAX_PROCESSOR_REFERENCE_BYTES, ProcessorReference};
pub use refund::{Refund, RefundState};
pub use state::{OrderEvent, OrderState, OrderTransition, OrderTrigger, TRANSITIONS};
pub use step::{Step, StepRefused, WrongState};
pub use transfer::{MAX_TRANSFER_REFERENCE_CHARS, transfer_reference};
