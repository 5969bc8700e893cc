//! The cases, by what they are about. Each takes a bench over an empty store and panics when the store does not do what it must.
#![allow(missing_docs, reason = "a case's name says what must hold")]

pub mod access;
pub mod answers;
pub mod audit;
pub mod backlog;
pub mod beside;
pub mod checkout;
pub mod damage;
pub mod discarding;
pub mod feed;
pub mod health;
pub mod journal;
pub mod notifications;
pub mod operations;
pub mod order;
pub mod outbox;
pub mod payment;
pub mod race;
pub mod rates;
pub mod refund;
pub mod replays;
pub mod retention;
pub mod session;
pub mod standing;
pub mod stash;
pub mod wallet;
