//! The server-to-server checkout, `/v2.21`: what a merchant's server asks for, and what it is told (docs/SPECIFICATION.md#checkout).

mod action;
mod cart;
mod consumer;
mod request;
mod response;

pub use action::{CancelRequest, CheckoutCaptureRequest, CheckoutRefundRequest, OrderQuery, QueryRequest};
pub use request::CheckoutRequest;
pub use response::{CheckoutActionBody, CheckoutBody, checkout_action, checkout_result, declined};
