#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod contact;
mod countries;
mod country;
pub mod identity;
mod invalid_value;
mod item;
mod people;
mod postcode;
mod region;
#[cfg(feature = "serde")]
mod stored;
mod subdivisions;
mod text;
mod web_url;

pub use contact::{BirthDate, Email, Phone};
pub use country::Country;
pub use invalid_value::InvalidValue;
pub use item::{
    Discount, DiscountInput, Item, ItemInput, MAX_DISCOUNTS, MAX_ITEMS, MAX_QUANTITY, SentNumber, Totals, parse_amount,
    parse_currency, sent_amount, sent_quantity, total_amount,
};
pub use people::{Address, AddressInput, BillingDetails, BillingInput, BillingProfile, ShippingDetails, ShippingInput};
pub use postcode::Postcode;
pub use region::{Region, Subdivision};
pub use text::{Text, is_hidden};
/// Its `Date` stands in signatures of this crate.
pub use time;
pub use web_url::{UrlPolicy, WebUrl};
