//! Accounts and how their users are let in, over the real store and keys.

mod accounts;
mod authenticate;
mod endpoints;
mod harness;
mod key_rotation;
mod screening_rules;
