#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod adjustment;
mod builder;
mod catalogue;
mod google_pay;
mod locale;
mod merchant;
mod method;
mod pay_later;
mod range;
mod rules;
#[cfg(feature = "serde")]
mod serialized;
mod table;

pub use adjustment::{Adjustment, AdjustmentParts, Adjustments, InvalidAdjustment};
pub use builder::{InvalidMethod, MAX_METHOD_ID_BYTES, MAX_METHOD_NAME_CHARS, MethodBuilder};
pub use catalogue::{Ask, Catalogue, DuplicateMethod, MethodRefusal, Offered};
pub use google_pay::{GooglePayAccount, InvalidGooglePayAccount};
pub use locale::{InvalidLocale, Locale};
pub use merchant::{MerchantMethods, MethodsChange};
pub use method::{Class, Method, SalesChannel, WindowFrom};
pub use pay_later::{InvalidPayOption, PAY_LATER, PayLaterRegion, PayOption};
pub use range::{InvalidRange, Range};
pub use rules::PaymentRules;
pub use table::{find_method, methods};
