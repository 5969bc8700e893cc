//! The adapter against a stand-in of ours, which is written from Stripe's public API reference: it shows that the adapter keeps to what the reference
//! says, not that Stripe does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod at_stand_in;
mod contract;
mod disputes;
mod keys;
mod naming;
mod records;
mod stand_in;
