#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod contact;
mod country;
mod identity;
mod item;
mod people;
mod text;
mod web_url;

pub use contact::{BirthDate, Email, Phone};
pub use country::{Country, Region};
pub use item::{
    Discount, DiscountInput, Item, ItemInput, MAX_DISCOUNTS, MAX_ITEMS, MAX_QUANTITY, SentNumber, Totals, parse_amount,
    sent_amount, sent_quantity, total_amount,
};
pub use people::{Address, AddressInput, BillingDetails, BillingInput, BillingProfile, ShippingDetails, ShippingInput};
pub use text::Text;
pub use web_url::{UrlPolicy, WebUrl};
