//! The server-to-server checkout, `/v2.21`: what a merchant's server asks for, and what it is told (contract, Checkout request and response;
//! decisions.md section 6).

mod action;
mod answer;
mod cart;
mod consumer;
mod request;

pub use action::{CancelRequest, CaptureRequest, OrderQuery, QueryRequest, RefundRequest};
pub use answer::{ActedBody, CheckoutBody, acted, answered, declined};
pub use request::CheckoutRequest;
