//! The Session: what a merchant asks for, and what it is told (docs/SPECIFICATION.md#sessions).

mod body;
mod request;

pub use body::SessionBody;
pub(crate) use body::{DiscountBody, ItemBody};
pub use dropin_session::{DraftContext, RequestedBilling, RequestedRate, SessionDraft};
pub use request::SessionRequest;
