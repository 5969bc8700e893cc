//! Serialized forms of what holds currencies, spans and numbers: codes as texts, maps and sets of codes, each once, and spans as people write them.

use std::collections::BTreeSet;

use dropin_money::Currency;
use serde::{Deserialize, Deserializer, de};

/// A number of a row of things that begins with one.
pub(crate) fn from_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = i64::deserialize(deserializer)?;
    if 1 <= number { Ok(number) } else { Err(de::Error::custom("must be 1 or more: sets are numbered from one")) }
}

/// A set of currencies: an unknown code, or one that stands there twice, is refused.
pub(crate) fn currencies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Currency>, D::Error> {
    let mut set = BTreeSet::new();
    for currency in Vec::<Currency>::deserialize(deserializer)? {
        if !set.insert(currency) {
            return Err(de::Error::custom(format_args!("has {currency} twice")));
        }
    }
    Ok(set)
}

/// A span of time such as `6h`.
pub(crate) mod span {
    use std::time::Duration;

    use dropin_kernel::{parse_span, write_span};
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&write_span(*span))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_span(&text)
            .ok_or_else(|| de::Error::custom("must be a span of time such as 6h: a number with ms, s, m, h or d"))
    }
}

/// A map from currencies: an unknown code, or one that stands there twice, is refused.
pub(crate) mod by_currency {
    use std::collections::BTreeMap;
    use std::fmt;
    use std::marker::PhantomData;

    use dropin_money::Currency;
    use serde::de::{Error, MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        map: &BTreeMap<Currency, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(map)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Currency, T>, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = BTreeMap<Currency, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map with currency codes as keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut map = BTreeMap::new();
                while let Some(currency) = entries.next_key::<Currency>()? {
                    if map.insert(currency, entries.next_value()?).is_some() {
                        return Err(A::Error::custom(format_args!("has {currency} twice")));
                    }
                }
                Ok(map)
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}
