use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Amount, Currency, Decimal, IsoCurrency, Rounding};

/// Serializes a type as text by its Display and restores it by its FromStr, with the same checks. A number is refused: a format's
/// reader may have made a float of it. This crate stands alone, so it does not have the macro of dropin-kernel.
macro_rules! as_text {
    ($($name:ident, $form:literal, $expected:literal;)+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&format_args!($form, self))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl de::Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                deserializer.deserialize_str(Text)
            }
        }
    )+};
}

as_text! {
    Amount, "{:#}", "an amount as text, such as \"29.90 EUR\"";
    Decimal, "{}", "a number as text, such as \"29.90\"";
    Currency, "{}", "a currency's code, such as \"EUR\"";
    IsoCurrency, "{}", "a currency's code, such as \"EUR\"";
    Rounding, "{}", "a rounding's code, such as \"HALF_UP\"";
}
