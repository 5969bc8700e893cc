//! The Session: what a merchant asks for, and what it is told (contract, Session).

mod body;
mod request;

pub use body::SessionBody;
pub(crate) use body::{DiscountBody, ItemBody};
pub use dropin_session::{BillingWish, RateWish, Reading, SessionDraft};
pub use request::SessionRequest;
