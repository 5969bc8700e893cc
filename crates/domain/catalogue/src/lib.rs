#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod adjustment;
mod catalogue;
mod locale;
mod method;
mod pay_later;
mod table;

pub use adjustment::{Adjustment, Adjustments, MerchantMethods, MethodsChange};
pub use catalogue::{Ask, Catalogue, Offered, Refusal};
pub use locale::Locale;
pub use method::{Channel, Class, Method, Range, WindowFrom};
pub use pay_later::{PAY_LATER, PayOption, Region};
pub use table::{find_method, methods};
