//! Members that are read leniently, so that one look at a request finds every wrong type and every missing member.

use dropin_kernel::{ViolationCode, Violations};
use dropin_money::{Decimal, DecimalError};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Most entries of a list in a request; Items has this limit in decisions.md section 2, and no other list needs more.
const MAX_ENTRIES: usize = 500;

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

/// A type that a member can have, read from its JSON text.
pub(crate) trait FromJson: Sized {
    fn from_json(token: &str) -> Result<Self, WrongType>;
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

impl<'de, T: FromJson> Deserialize<'de> for Member<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // serde reads null and a member that is not there as the same `None`.
        let raw = <Option<&RawValue>>::deserialize(deserializer)?;
        Ok(raw.map_or(Self::Absent, |raw| T::from_json(raw.get()).map_or_else(Self::Wrong, Self::Given)))
    }
}

impl FromJson for String {
    fn from_json(token: &str) -> Result<Self, WrongType> {
        serde_json::from_str(token).map_err(|_other| (ViolationCode::Invalid, "must be a string"))
    }
}

impl FromJson for bool {
    fn from_json(token: &str) -> Result<Self, WrongType> {
        serde_json::from_str(token).map_err(|_other| (ViolationCode::Invalid, "must be true or false"))
    }
}

impl FromJson for Decimal {
    fn from_json(token: &str) -> Result<Self, WrongType> {
        Self::parse(token).map_err(|error| match error {
            DecimalError::NotANumber => (ViolationCode::Invalid, "must be a number, without quotes"),
            DecimalError::OutOfRange => {
                (ViolationCode::OutOfRange, "is outside the range of numbers that are accepted")
            }
        })
    }
}

impl<T: for<'de> Deserialize<'de>> FromJson for Object<T> {
    fn from_json(token: &str) -> Result<Self, WrongType> {
        // A derived Deserialize takes lists for objects too.
        let object = token.starts_with('{').then(|| serde_json::from_str(token).ok()).flatten();
        object.map(Self).ok_or((ViolationCode::Invalid, "must be an object"))
    }
}

impl<T: for<'de> Deserialize<'de>> FromJson for List<T> {
    fn from_json(token: &str) -> Result<Self, WrongType> {
        let entries: Vec<&RawValue> =
            serde_json::from_str(token).map_err(|_other| (ViolationCode::Invalid, "must be a list"))?;
        if MAX_ENTRIES < entries.len() {
            return Err((ViolationCode::OutOfRange, "must have at most 500 entries"));
        }
        serde_json::from_str(token).map(Self).map_err(|_other| (ViolationCode::Invalid, "must be a list of objects"))
    }
}
