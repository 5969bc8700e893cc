//! Members that are read leniently, so that one look at a request finds every wrong type and every missing member.

use std::fmt;
use std::marker::PhantomData;

use dropin_kernel::{ViolationCode, Violations};
use dropin_money::{Decimal, DecimalError};
use dropin_validation::{MAX_DISCOUNTS, MAX_ITEMS, SentNumber};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::known::{Known, UnknownMembers, read_known};

/// So many entries of a list are looked at, and one more, by which its rule sees that there are too many.
const MAX_ENTRIES: usize = MAX_ITEMS;
const _: () = assert!(MAX_DISCOUNTS <= MAX_ENTRIES);

/// Why a value is not of the type that its member has.
type WrongType = (ViolationCode, &'static str);

/// One member of a request: not there, of the right type, or not. A text that is empty counts as left out (docs/SPECIFICATION.md#empty-text).
#[derive(Debug)]
pub(crate) enum Member<T> {
    /// Left out, null, or an empty text.
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
    /// Whether the empty text counts as left out: of every text, enumerations included, and of nothing else.
    const EMPTY_IS_ABSENT: bool = false;
    /// Whether values of this type are numbers, which are read as their text: serde's numbers have a size.
    const IS_NUMBER: bool = false;

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

/// An object as a member, and what it holds beside its own members.
#[derive(Debug)]
pub(crate) struct Object<T> {
    value: T,
    unknown: UnknownMembers,
}

impl<T> Object<T> {
    /// The object, while its unknown members are still to be noted.
    pub(crate) const fn get(&self) -> &T {
        &self.value
    }

    /// The object itself; its unknown members are noted below `path`.
    pub(crate) fn known(self, path: &str, all: &mut Violations) -> T {
        self.unknown.report(path, all);
        self.value
    }
}

impl<T: Shape> Shape for Object<T> {
    type Input = T::Input;

    fn shape(self, path: &str, all: &mut Violations) -> Option<T::Input> {
        self.known(path, all).shape(path, all)
    }
}

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

    /// Whether the member is there and says `value`.
    pub(crate) fn is(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        matches!(self, Self::Given(given) if given == value)
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
                entry.required("", &path, all).and_then(|entry| entry.shape(&path, all))
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
        if !T::IS_NUMBER {
            return deserializer.deserialize_any(self);
        }
        let token = <&RawValue>::deserialize(deserializer)?.get();
        let is_number = token.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        Ok(if is_number { T::number(token).into() } else { Member::Wrong((ViolationCode::Invalid, T::WRONG)) })
    }

    fn visit_bool<E>(self, value: bool) -> Result<Member<T>, E> {
        Ok(T::boolean(value).into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Member<T>, E> {
        if T::EMPTY_IS_ABSENT && value.is_empty() {
            return Ok(Member::Absent);
        }
        Ok(T::string(value).into())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Member<T>, E> {
        Ok(Member::Wrong((ViolationCode::Invalid, T::WRONG)))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Member<T>, E> {
        Ok(Member::Wrong((ViolationCode::Invalid, T::WRONG)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Member<T>, E> {
        Ok(Member::Wrong((ViolationCode::Invalid, T::WRONG)))
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
    const EMPTY_IS_ABSENT: bool = true;

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
    const IS_NUMBER: bool = true;

    fn number(text: &str) -> Result<Self, WrongType> {
        Self::parse(text).map_err(|error| match error {
            DecimalError::NotANumber => (ViolationCode::Invalid, NO_NUMBER),
            _ => (ViolationCode::OutOfRange, "is outside the range of numbers that are accepted"),
        })
    }
}

impl FromJson<'_> for SentNumber {
    const WRONG: &'static str = NO_NUMBER;
    const IS_NUMBER: bool = true;

    fn number(text: &str) -> Result<Self, WrongType> {
        Ok(Decimal::parse(text))
    }
}

impl<'de, T: Known + Deserialize<'de>> FromJson<'de> for Object<T> {
    const WRONG: &'static str = "must be an object";

    fn object<A: MapAccess<'de>>(map: A) -> Result<Result<Self, WrongType>, A::Error> {
        let (value, unknown) = read_known(map)?;
        Ok(Ok(Self { value, unknown }))
    }
}

impl<'de, T: Known + Deserialize<'de>> FromJson<'de> for List<T> {
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

/// The object that a whole body is.
struct Body<T>(PhantomData<T>);

impl<'de, T: Known + Deserialize<'de>> Visitor<'de> for Body<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        let (value, unknown) = read_known(map)?;
        Ok(Object { value, unknown })
    }
}

/// Reads a whole body, which is an object.
pub(crate) fn read_body<'de, T: Known + Deserialize<'de>, D: Deserializer<'de>>(
    body: D,
) -> Result<Object<T>, D::Error> {
    body.deserialize_any(Body(PhantomData))
}
