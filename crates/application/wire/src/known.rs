//! Which members an object of a request may have (docs/SPECIFICATION.md#unknown-members): what is unknown is refused, so that no misplaced member is lost silently.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use dropin_kernel::{ViolationCode, Violations};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use crate::member::join;

/// So many unknown members of one object are named; what comes beyond them is refused with them all the same.
const MAX_UNKNOWN_NAMED: usize = 20;
/// Longest part of an unknown member's name that an error repeats, in characters.
const MAX_NAME_CHARS: usize = 60;

/// An object of a request. Its members are those that serde derives from the struct.
pub(crate) trait Known {
    /// Members that only answers have: accepted and ignored, so that what was read can be sent back.
    const ANSWERED: &'static [&'static str] = &[];
    /// Members of objects inside this one, by their paths, which are easily put at the wrong level.
    const NESTED: &'static [&'static str] = &[];
}

/// A member that its object does not have.
#[derive(Debug)]
struct Unknown {
    /// Its name, shortened and safe to show.
    name: String,
    /// The known member that is spelled most like it.
    nearest: Option<&'static str>,
}

/// The members that an object of a request does not have.
#[derive(Debug, Default)]
pub(crate) struct UnknownMembers(Vec<Unknown>);

impl UnknownMembers {
    /// Notes a FIELD_UNKNOWN for each; `path` is the object's own.
    pub(crate) fn report(self, path: &str, all: &mut Violations) {
        for Unknown { name, nearest } in self.0 {
            let why = match nearest {
                Some(nearest) => format!("is not known here; the nearest known member is {}", join(path, nearest)),
                None => "is not known here".to_owned(),
            };
            all.push(join(path, &name), ViolationCode::Unknown, why);
        }
    }

    fn note(&mut self, name: &str, known: &[&'static str], nested: &[&'static str]) {
        if self.0.len() < MAX_UNKNOWN_NAMED {
            let candidates = known.iter().chain(nested).copied();
            self.0.push(Unknown { name: sanitized(name), nearest: nearest(name, candidates) });
        }
    }
}

/// The one of `known` that is spelled most like `name`; case counts for nothing, and of a path its last member.
pub(crate) fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let short = |text: &str| text.chars().take(MAX_NAME_CHARS).collect::<String>().to_lowercase();
    let name = short(name);
    let last = |path: &str| short(path.rsplit('.').next().unwrap_or(path));
    known.min_by_key(|path| strsim::osa_distance(&last(path), &name))
}

/// A name that a stranger chose, fit to be shown: shortened, without what a terminal or a reader could be misled by.
pub(crate) fn sanitized(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c.is_ascii_graphic() { c } else { '?' };
    name.chars().take(MAX_NAME_CHARS).map(plain).collect()
}

/// Reads a `T` from the members of an object, and notes those that it does not have.
///
/// # Errors
/// Those of the JSON itself.
pub(crate) fn read_known<'de, T: Known + Deserialize<'de>, A: MapAccess<'de>>(
    map: A,
) -> Result<(T, UnknownMembers), A::Error> {
    let mut unknown = UnknownMembers::default();
    let value = T::deserialize(Checked::<'_, T, A> { map, unknown: &mut unknown, of: PhantomData })?;
    Ok((value, unknown))
}

/// An object whose members are checked against those of the struct `T` that is read from it.
struct Checked<'u, T, A> {
    map: A,
    unknown: &'u mut UnknownMembers,
    of: PhantomData<T>,
}

impl<'de, T: Known, A: MapAccess<'de>> Deserializer<'de> for Checked<'_, T, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.map)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(KnownOnly { object: self, fields })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Hands out the members in `fields` and passes over all others.
struct KnownOnly<'u, T, A> {
    object: Checked<'u, T, A>,
    fields: &'static [&'static str],
}

impl<'de, T: Known, A: MapAccess<'de>> MapAccess<'de> for KnownOnly<'_, T, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, mut seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            let name = match self.object.map.next_key_seed(Name { seed, fields: self.fields })? {
                None => return Ok(None),
                Some(Key::Known(key)) => return Ok(Some(key)),
                Some(Key::Other(given_back, name)) => {
                    seed = given_back;
                    name
                }
            };
            self.object.map.next_value::<IgnoredAny>()?;
            if !T::ANSWERED.contains(&name.as_str()) {
                self.object.unknown.note(&name, self.fields, T::NESTED);
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.object.map.next_value_seed(seed)
    }
}

/// A member's name, read by `seed` when it is one of `fields`.
struct Name<K> {
    seed: K,
    fields: &'static [&'static str],
}

/// What a member's name turned out to be.
enum Key<K, V> {
    Known(V),
    /// Another name; the seed is given back for the next one.
    Other(K, String),
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Name<K> {
    type Value = Key<K, K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for Name<K> {
    type Value = Key<K, K::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        if self.fields.contains(&name) {
            return self.seed.deserialize(StrDeserializer::new(name)).map(Key::Known);
        }
        Ok(Key::Other(self.seed, name.to_owned()))
    }
}

/// Refuses the query parameters that an operation does not have; `given` are those that were sent.
///
/// # Errors
/// A FIELD_UNKNOWN for each, with the nearest that it has.
pub fn only_known_parameters<'a>(
    given: impl Iterator<Item = Cow<'a, str>>,
    known: &'static [&'static str],
) -> Result<(), Violations> {
    let mut unknown = UnknownMembers::default();
    for name in given.filter(|name| !known.contains(&name.as_ref())) {
        unknown.note(&name, known, &[]);
    }
    let mut all = Violations::new();
    unknown.report("", &mut all);
    if all.is_empty() { Ok(()) } else { Err(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_at_whatever_level() {
        let known = ["Items", "ShippingDetails", "ShippingDetails.ShippingAmount", "TaxAmount"];
        let of = |name| nearest(name, known.into_iter());
        assert_eq!(of("ShippingAmount"), Some("ShippingDetails.ShippingAmount"));
        assert_eq!(of("items"), Some("Items"));
        assert_eq!(of("TaxAmout"), Some("TaxAmount"));
        assert!(of(&"x".repeat(100_000)).is_some(), "a name is never compared in full");
    }

    #[test]
    fn what_misleads_a_reader_is_not_repeated() {
        assert_eq!(sanitized("a\u{202e}b\u{1b}[1m\n"), "a?b?[1m?");
        assert_eq!(sanitized(&"é".repeat(500)).chars().count(), MAX_NAME_CHARS);
    }
}
