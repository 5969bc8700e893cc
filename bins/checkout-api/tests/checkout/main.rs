//! checkout-api over HTTP: what merchants' servers and shoppers' browsers ask it.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod assets;
mod checkout;
mod common;
mod frame;
mod methods;
mod return_page;
mod submit;
mod wallet;
