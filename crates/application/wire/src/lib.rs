#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod audit_log;
mod bank;
pub mod catalogue;
pub mod checkout;
pub mod contract;
pub mod dispute;
mod error;
pub mod event;
pub mod event_log;
mod known;
mod member;
mod number;
pub mod order;
mod people;
pub mod rates;
mod refund;
mod request;
pub mod schema;
mod screening;
pub mod session;
pub mod shopper;
pub mod stash;
mod strict_json;
mod text;
pub mod wallet;

pub use error::{ErrorBody, ErrorCode, FieldError};
pub use known::only_known_parameters;
pub use request::RequestError;
