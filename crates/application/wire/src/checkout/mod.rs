//! The server-to-server checkout, `/v2.21`: what a merchant's server asks for, and what it is told (docs/SPECIFICATION.md#checkout).

mod action;
mod cart;
mod consumer;
mod contract;
mod paid_by;
mod request;
mod response;

pub use action::{CancelRequest, CheckoutCaptureRequest, CheckoutRefundRequest, QueryRequest, QuerySubject};
pub(crate) use contract::ConsentDto;
pub use contract::{CloseContractRequest, ConsentRequest, OpenContractRequest};
pub use paid_by::PaidBy;
pub use request::CheckoutRequest;
pub(crate) use response::ActionBody;
pub use response::{
    CheckoutActionBody, CheckoutBody, authentication_required, checkout_action, checkout_result, declined,
};
