//! Members that are read leniently, so that one look at a request finds every wrong type and every missing member.

use std::fmt;
use std::marker::PhantomData;

use dropin_kernel::{ViolationCode, Violations};
use dropin_money::{Decimal, DecimalError};
use dropin_validation::{MAX_DISCOUNTS, MAX_ITEMS, SentNumber};
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// So many entries of a list are looked at, and one more, by which its rule sees that there are too many.
const MAX_ENTRIES: usize = MAX_ITEMS;
const _: () = assert!(MAX_DISCOUNTS <= MAX_ENTRIES);

/// Why a value is not of the type that its member has.
type WrongType = (ViolationCode, &'static str);

/// One member of a request: not there, of the right type, or not.
#[derive(Debug)]
pub(crate) enum Member<T> {
    /// Left out, or null.
    Absent,
    /// Of the right type.
    Given(T),
    /// Of another type.
    Wrong(WrongType),
}

/// A type that a member can have; it takes values of one JSON type, and says of every other what it must be.
pub(crate) trait FromJson<'de>: Sized {
    /// What is said of a value of another type.
    const WRONG: &'static str;

    /// From a string.
    fn string(_: &str) -> Result<Self, WrongType> {
        Err((ViolationCode::Invalid, Self::WRONG))
    }

    /// From a number, as its text.
    fn number(_: &str) -> Result<Self, WrongType> {
        Err((ViolationCode::Invalid, Self::WRONG))
    }

    /// From true or false.
    fn boolean(_: bool) -> Result<Self, WrongType> {
        Err((ViolationCode::Invalid, Self::WRONG))
    }

    /// From an object, which is read to its end; the outer error is of the JSON itself.
    fn object<A: MapAccess<'de>>(map: A) -> Result<Result<Self, WrongType>, A::Error> {
        skip_object(map)?;
        Ok(Err((ViolationCode::Invalid, Self::WRONG)))
    }

    /// From a list, which is read to its end; the outer error is of the JSON itself.
    fn list<A: SeqAccess<'de>>(seq: A) -> Result<Result<Self, WrongType>, A::Error> {
        skip_list(seq)?;
        Ok(Err((ViolationCode::Invalid, Self::WRONG)))
    }
}

/// An object of the request that can say whether all its members are there and of the right type.
pub(crate) trait Shape: Sized {
    /// What it is when they are.
    type Input;

    /// Notes every wrong type and missing member below `path`.
    fn shape(self, path: &str, all: &mut Violations) -> Option<Self::Input>;
}

/// An object as a member.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

/// A list of objects as a member.
#[derive(Debug)]
pub(crate) struct List<T>(Vec<Member<Object<T>>>);

impl<T> Member<T> {
    /// The value of a member that has to be there.
    pub(crate) fn required(self, path: &str, name: &str, all: &mut Violations) -> Option<T> {
        if matches!(self, Self::Absent) {
            all.push(join(path, name), ViolationCode::Missing, "is required");
        }
        self.optional(path, name, all)
    }

    /// The value of a member that may be left out.
    pub(crate) fn optional(self, path: &str, name: &str, all: &mut Violations) -> Option<T> {
        match self {
            Self::Absent => None,
            Self::Given(value) => Some(value),
            Self::Wrong((code, why)) => {
                all.push(join(path, name), code, why);
                None
            }
        }
    }

    /// Whether the member is there, of whatever type.
    pub(crate) fn is_there(&self) -> bool {
        !matches!(self, Self::Absent)
    }
}

impl<T: Shape> List<T> {
    /// The shapes of all entries; `path` is the list's own.
    pub(crate) fn shapes(self, path: &str, all: &mut Violations) -> Option<Vec<T::Input>> {
        // Every entry is looked at, also after a wrong one.
        let shapes: Vec<_> = self
            .0
            .into_iter()
            .enumerate()
            .map(|(at, entry)| {
                let path = format!("{path}[{at}]");
                entry.required("", &path, all).and_then(|Object(entry)| entry.shape(&path, all))
            })
            .collect();
        shapes.into_iter().collect()
    }
}

/// `name` below `path`; the root has the empty path.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl<'de, T: FromJson<'de>> Deserialize<'de> for Member<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As an option, so that a member that is not there is Absent too.
        deserializer.deserialize_option(Slot(PhantomData))
    }
}

/// Takes a value of any type for a member.
struct Slot<T>(PhantomData<T>);

impl<'de, T: FromJson<'de>> Visitor<'de> for Slot<T> {
    type Value = Member<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_none<E>(self) -> Result<Member<T>, E> {
        Ok(Member::Absent)
    }

    fn visit_unit<E>(self) -> Result<Member<T>, E> {
        Ok(Member::Absent)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Member<T>, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Member<T>, E> {
        Ok(T::boolean(value).into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Member<T>, E> {
        Ok(T::string(value).into())
    }

    /// A number, as its text.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, number: D) -> Result<Member<T>, D::Error> {
        Ok(T::number(<&str>::deserialize(number)?).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Member<T>, A::Error> {
        Ok(T::object(map)?.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Member<T>, A::Error> {
        Ok(T::list(seq)?.into())
    }
}

impl<T> From<Result<T, WrongType>> for Member<T> {
    fn from(read: Result<T, WrongType>) -> Self {
        read.map_or_else(Self::Wrong, Self::Given)
    }
}

impl FromJson<'_> for String {
    const WRONG: &'static str = "must be a string";

    fn string(value: &str) -> Result<Self, WrongType> {
        Ok(value.to_owned())
    }
}

impl FromJson<'_> for bool {
    const WRONG: &'static str = "must be true or false";

    fn boolean(value: bool) -> Result<Self, WrongType> {
        Ok(value)
    }
}

const NO_NUMBER: &str = "must be a number, without quotes";

impl FromJson<'_> for Decimal {
    const WRONG: &'static str = NO_NUMBER;

    fn number(text: &str) -> Result<Self, WrongType> {
        Self::parse(text).map_err(|error| match error {
            DecimalError::NotANumber => (ViolationCode::Invalid, NO_NUMBER),
            DecimalError::OutOfRange => {
                (ViolationCode::OutOfRange, "is outside the range of numbers that are accepted")
            }
        })
    }
}

impl FromJson<'_> for SentNumber {
    const WRONG: &'static str = NO_NUMBER;

    fn number(text: &str) -> Result<Self, WrongType> {
        Ok(Decimal::parse(text))
    }
}

impl<'de, T: Deserialize<'de>> FromJson<'de> for Object<T> {
    const WRONG: &'static str = "must be an object";

    fn object<A: MapAccess<'de>>(map: A) -> Result<Result<Self, WrongType>, A::Error> {
        Ok(Ok(Self(T::deserialize(MapAccessDeserializer::new(map))?)))
    }
}

impl<'de, T: Deserialize<'de>> FromJson<'de> for List<T> {
    const WRONG: &'static str = "must be a list";

    fn list<A: SeqAccess<'de>>(mut seq: A) -> Result<Result<Self, WrongType>, A::Error> {
        let mut entries = Vec::new();
        while entries.len() <= MAX_ENTRIES {
            match seq.next_element()? {
                Some(entry) => entries.push(entry),
                None => return Ok(Ok(Self(entries))),
            }
        }
        skip_list(seq)?;
        Ok(Ok(Self(entries)))
    }
}

fn skip_list<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_object<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}
