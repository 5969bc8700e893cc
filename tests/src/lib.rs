#![doc = include_str!("../README.md")]

pub mod browser;
pub mod http;
pub mod receiver;
pub mod wait;
pub mod world;

pub use http::{Answer, Http};
pub use receiver::{Notification, Receiver};
pub use wait::until;
pub use world::{Merchant, Program, Stashed, Topology, World, cards};
