//! Serialized forms of types whose text alone does not say whether it is right: they are restored like stored ones.

use dropin_kernel::{ViolationCode, Violations};
use dropin_money::Amount;
use serde::{Deserialize, Deserializer};
use time::Date;

use crate::contact::{Email, Phone};
use crate::invalid_value::InvalidValue;
use crate::item::{Discount, Item, MAX_QUANTITY};
use crate::people::{Address, AddressInput, BillingDetails, BillingInput, ShippingDetails};
use crate::text::Text;

/// Serializes a type as its Display text and restores it by a function that takes the text and gives an option.
macro_rules! serialize_as_stored {
    ($name:ident, $restore:expr) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                let restore: fn(&str) -> Option<Self> = $restore;
                restore(&text)
                    .ok_or_else(|| serde::de::Error::custom(concat!("is not the text of a ", stringify!($name))))
            }
        }
    };
}

pub(crate) use serialize_as_stored;

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let input = AddressInput::deserialize(deserializer)?;
        Self::parse("Address", &input).map_err(refused)
    }
}

impl<'de> Deserialize<'de> for BillingDetails {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let input = BillingInput::deserialize(deserializer)?;
        Self::parse("BillingProfile", &input, Date::MAX).map_err(refused)
    }
}

/// All violations in one error of a format.
pub(crate) fn refused<E: serde::de::Error>(violations: Violations) -> E {
    let all: Vec<_> =
        violations.into_sorted().into_iter().map(|one| format!("{} {}", one.field, one.message)).collect();
    E::custom(all.join("; "))
}

/// An Item before its quantity is checked.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredItem {
    name: Text,
    amount: Amount,
    quantity: u32,
}

impl TryFrom<StoredItem> for Item {
    type Error = InvalidValue;

    fn try_from(stored: StoredItem) -> Result<Self, InvalidValue> {
        let StoredItem { name, amount, quantity } = stored;
        if !(1..=MAX_QUANTITY).contains(&quantity) {
            return Err(out_of_range("Quantity must be from 1 to 1,000,000"));
        }
        Ok(Self { name, amount, quantity })
    }
}

/// A Discount before its amount is checked.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredDiscount {
    name: Text,
    amount: Amount,
}

impl TryFrom<StoredDiscount> for Discount {
    type Error = InvalidValue;

    fn try_from(stored: StoredDiscount) -> Result<Self, InvalidValue> {
        let StoredDiscount { name, amount } = stored;
        if amount.is_zero() {
            return Err(out_of_range("Amount must be above zero"));
        }
        Ok(Self { name, amount })
    }
}

/// Shipping details before their currencies are compared.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredShipping {
    shipping_amount: Amount,
    duty_amount: Amount,
    name: Text,
    email: Email,
    phone: Phone,
    address: Address,
}

impl TryFrom<StoredShipping> for ShippingDetails {
    type Error = InvalidValue;

    fn try_from(stored: StoredShipping) -> Result<Self, InvalidValue> {
        let StoredShipping { shipping_amount, duty_amount, name, email, phone, address } = stored;
        if shipping_amount.currency() != duty_amount.currency() {
            return Err(out_of_range("ShippingAmount and DutyAmount must have one currency"));
        }
        Ok(Self { shipping_amount, duty_amount, name, email, phone, address })
    }
}

fn out_of_range(why: &'static str) -> InvalidValue {
    InvalidValue::new(ViolationCode::OutOfRange, why)
}
