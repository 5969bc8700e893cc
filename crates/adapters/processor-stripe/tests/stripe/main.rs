//! The adapter against a stand-in of ours, which is written from Stripe's public API reference: it shows that the adapter keeps to what the reference
//! says, not that Stripe does. `at_localstripe` has the cases that localstripe, a stand-in by others, can play.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod at_localstripe;
mod at_stand_in;
mod contract;
mod disputes;
mod keys;
mod localstripe;
mod naming;
mod records;
mod stand_in;
