//! What follows when the processor, the merchant and time do what no sandbox does on purpose: other amounts, late answers, refusals for now.
//! The store is the real one; the processor says what each case scripts.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod aftermath;
mod amounts;
mod crossings;
mod endings;
mod guarantees;
mod promises;
mod script;
mod shopping;
mod world;
