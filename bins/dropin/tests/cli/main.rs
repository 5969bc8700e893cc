//! The program as a person or a script meets it: started, asked, stopped.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod accounts;
mod assets;
mod audit_log;
mod audited_commands;
mod commands;
mod configuration;
mod doctor;
mod documents;
mod keys;
mod ledger;
mod methods;
mod operators;
mod paying;
mod program;
mod screening;
mod serving;
mod wallets;
