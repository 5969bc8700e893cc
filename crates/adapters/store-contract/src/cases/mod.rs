//! The cases, by subject. Each takes a harness over an empty store and panics when the store does not do what it must.
#![allow(missing_docs, reason = "a case's name says what must hold")]

pub mod access;
pub mod activity;
pub mod append_only;
pub mod attempts;
pub mod audit;
pub mod audit_log;
pub mod back_office;
pub mod backlog;
pub mod batches;
pub mod checkout;
pub mod contract;
pub mod damage;
pub mod discarding;
pub mod endpoint_status;
pub mod event_log;
pub mod health;
pub mod idempotency;
pub mod money_requests;
pub mod notifications;
pub mod operations;
pub mod operator_sessions;
pub mod operators;
pub mod order;
pub mod outbox;
pub mod payment;
pub mod race;
pub mod rates;
pub mod refund;
pub mod replays;
pub mod retention;
pub mod screening;
pub mod sealed;
pub mod session;
pub mod stash;
pub mod wallet;
