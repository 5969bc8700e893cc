//! Serialized forms of sets and maps, in which nothing stands twice, and of texts whose meaning depends on more than themselves.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::permission::{Permission, Permissions};
use crate::wallet::{InvalidWallet, MerchantIdentifier, RegisteredDomain, WalletDomain};

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = Vec::<Permission>::deserialize(deserializer)?;
        for (index, permission) in named.iter().enumerate() {
            if named[..index].contains(permission) {
                return Err(D::Error::custom(format_args!("has {permission} twice")));
            }
        }
        Ok(named.into_iter().collect())
    }
}

/// A map in which each key stands once.
pub(crate) fn each_once<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord + Copy + Display,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Entries<K, V>(PhantomData<(K, V)>);

    impl<'de, K, V> Visitor<'de> for Entries<K, V>
    where
        K: Deserialize<'de> + Ord + Copy + Display,
        V: Deserialize<'de>,
    {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map with codes as keys")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry::<K, V>()? {
                if map.insert(key, value).is_some() {
                    return Err(A::Error::custom(format_args!("has {key} twice")));
                }
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Entries(PhantomData))
}

/// The text of an association file.
pub(crate) fn association_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    RegisteredDomain::file(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

impl Serialize for MerchantIdentifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for MerchantIdentifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for WalletDomain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for WalletDomain {
    /// As it was stored; whether the deployment is a sandbox was asked when it was registered.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::restore(&String::deserialize(deserializer)?).ok_or_else(|| D::Error::custom(InvalidWallet::Domain))
    }
}
