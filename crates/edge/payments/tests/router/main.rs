//! The processors behind the router: the cases of every adapter through it, and who is asked for what.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounts;
#[path = "../../../../adapters/processor-stripe/tests/stripe/at_stand_in.rs"]
mod at_stand_in;
mod contract;
#[path = "../../../../adapters/processor-stripe/tests/stripe/stand_in.rs"]
mod stand_in;
mod who_is_asked;
