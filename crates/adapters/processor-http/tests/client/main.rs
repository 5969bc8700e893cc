//! The client against the real sandbox processor, and against servers that misbehave, over HTTP on loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cards;
mod contract;
mod credentials;
mod disputes;
mod fake_processor;
mod guard;
mod harness;
mod log_lines;
mod methods;
