#![doc = include_str!("../README.md")]

pub mod browser;
mod committed;
pub mod http;
pub mod receiver;
pub mod wait;
pub mod world;

pub use committed::committed;
pub use http::{Http, Response};
pub use receiver::{Notification, Receiver};
pub use wait::until;
pub use world::reconciliation::{thousandths, thousandths_of};
pub use world::{Merchant, Paid, Program, Shopper, Stashed, Topology, World, cards};
