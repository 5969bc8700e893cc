use crate::coded_enum;
use std::cmp::Ordering;
use std::fmt;

coded_enum! {
    /// Why a field was refused (docs/SPECIFICATION.md#field-errors).
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// assert_eq!("NOT_FOUND".parse(), Ok(ViolationCode::NotFound));
    /// ```
    #[non_exhaustive]
    pub enum ViolationCode: "violation code" {
        /// A required member is absent or null.
        Missing = "FIELD_MISSING",
        /// Wrong type or format.
        Invalid = "FIELD_INVALID",
        /// Outside an enumeration.
        NotAllowed = "VALUE_NOT_ALLOWED",
        /// Longer than the limit.
        TooLong = "VALUE_TOO_LONG",
        /// A number, count or total outside its bounds.
        OutOfRange = "VALUE_OUT_OF_RANGE",
        /// A reference to something that does not exist.
        NotFound = "NOT_FOUND",
        /// Fields that exclude each other.
        Conflict = "CONFLICT",
        /// A member or parameter that the operation does not have.
        Unknown = "FIELD_UNKNOWN",
    }
}

impl ViolationCode {
    /// What it means, in one sentence, for the documentation.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// assert_eq!(ViolationCode::Conflict.meaning(), "These members exclude each other.");
    /// ```
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Missing => "The member is required and was left out, null or empty.",
            Self::Invalid => "The value has another type or form than the member takes.",
            Self::NotAllowed => "The value is outside the enumeration.",
            Self::TooLong => "The text is longer than the limit.",
            Self::OutOfRange => "The number, count or total is outside its bounds.",
            Self::NotFound => "There is nothing that this reference names.",
            Self::Conflict => "These members exclude each other.",
            Self::Unknown => {
                "The operation has no such member or parameter; the message names the nearest that it has."
            }
        }
    }
}

/// One field that breaks one rule.
///
/// ```
/// use dropin_kernel::{Violation, ViolationCode};
///
/// let violation = Violation::new("Items[2].Amount", ViolationCode::Missing, "is required");
/// assert_eq!(violation.to_string(), "Items[2].Amount is required (FIELD_MISSING)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Violation {
    /// Path of the field as the API spells it, for example `Items[2].Amount`.
    pub field: String,
    /// Which kind of rule it breaks.
    pub code: ViolationCode,
    /// What to do about it, for a person; never repeats the rejected value.
    pub message: String,
}

impl Violation {
    /// A violation of `code` at `field`.
    pub fn new(field: impl Into<String>, code: ViolationCode, message: impl Into<String>) -> Self {
        Self { field: field.into(), code, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.field, self.message, self.code)
    }
}

impl std::error::Error for Violation {}

/// Everything that is wrong with a request, so that an integrator sees all of it at once.
///
/// ```
/// use dropin_kernel::{Violation, ViolationCode, Violations};
///
/// fn checked(name: &str, quantity: u32) -> Result<(String, u32), Violations> {
///     let mut all = Violations::new();
///     let empty = Violation::new("Name", ViolationCode::Missing, "is required");
///     let name = all.check((!name.is_empty()).then(|| name.to_owned()).ok_or(empty));
///     if quantity == 0 {
///         all.push("Quantity", ViolationCode::OutOfRange, "must be at least 1");
///     }
///     all.into_result(name.map(|name| (name, quantity)))
/// }
///
/// assert_eq!(checked("Mug", 2), Ok(("Mug".to_owned(), 2)));
/// let wrong = checked("", 0).unwrap_err();
/// assert_eq!(wrong.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), ["Name", "Quantity"]);
/// assert_eq!(wrong.to_string(), "Name is required (FIELD_MISSING); Quantity must be at least 1 (VALUE_OUT_OF_RANGE)");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Notes one more.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// let mut all = Violations::new();
    /// all.push("Name", ViolationCode::Missing, "is required");
    /// assert_eq!(all.to_string(), "Name is required (FIELD_MISSING)");
    /// ```
    pub fn push(&mut self, field: impl Into<String>, code: ViolationCode, message: impl Into<String>) {
        self.0.push(Violation::new(field, code, message));
    }

    /// Notes one that was made elsewhere.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// let mut all = Violations::new();
    /// all.add(Violation::new("Name", ViolationCode::Missing, "is required"));
    /// assert!(!all.is_empty());
    /// ```
    pub fn add(&mut self, violation: Violation) {
        self.0.push(violation);
    }

    /// Takes the value of `result`, or notes its violation.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// let mut all = Violations::new();
    /// let number = all.check("7".parse::<u32>().map_err(|_wrong| Violation::new("Quantity", ViolationCode::Invalid, "must be a number")));
    /// assert!(number == Some(7) && all.is_empty());
    /// ```
    pub fn check<T>(&mut self, result: Result<T, Violation>) -> Option<T> {
        result.map_err(|violation| self.0.push(violation)).ok()
    }

    /// Takes the value of `result`, or notes all its violations.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// let mut all = Violations::new();
    /// let inner = Violations::from(Violation::new("Name", ViolationCode::Missing, "is required"));
    /// assert_eq!(all.check_all::<()>(Err(inner)), None);
    /// assert_eq!(all.iter().count(), 1);
    /// ```
    pub fn check_all<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        result.map_err(|violations| self.0.extend(violations.0)).ok()
    }

    /// Adds those of `other`.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// let mut all = Violations::new();
    /// all.extend(Violation::new("Name", ViolationCode::Missing, "is required").into());
    /// assert_eq!(all.iter().count(), 1);
    /// ```
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// All of them, in the order in which they were found.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// let all = Violations::from(Violation::new("Name", ViolationCode::Missing, "is required"));
    /// assert_eq!(all.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), ["Name"]);
    /// ```
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.0.iter()
    }

    /// Whether nothing is wrong.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// assert!(Violations::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorted by path, each once; entries of lists in the order of their numbers, so that `Items[10]` follows `Items[9]`.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// let mut all = Violations::new();
    /// for field in ["Items[10]", "Items[9]", "Items[10]"] {
    ///     all.push(field, ViolationCode::Missing, "is required");
    /// }
    /// let fields: Vec<_> = all.into_sorted().into_iter().map(|one| one.field).collect();
    /// assert_eq!(fields, ["Items[9]", "Items[10]"]);
    /// ```
    pub fn into_sorted(mut self) -> Vec<Violation> {
        self.0.sort_by(|one, other| path_order(&one.field, &other.field).then_with(|| one.cmp(other)));
        self.0.dedup();
        self.0
    }

    /// `value` when nothing is wrong.
    ///
    /// ```
    /// # use dropin_kernel::{Violation, ViolationCode, Violations};
    /// assert_eq!(Violations::new().into_result(Some(7)), Ok(7));
    /// ```
    pub fn into_result<T>(self, value: Option<T>) -> Result<T, Self> {
        match value {
            Some(value) if self.is_empty() => Ok(value),
            _ => Err(self),
        }
    }
}

/// Compares paths byte by byte, but runs of digits as the numbers they are.
fn path_order(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    loop {
        match (one.split_first(), other.split_first()) {
            (Some((a, _)), Some((b, _))) if a.is_ascii_digit() && b.is_ascii_digit() => {
                let (first, rest) = digits(one);
                let (second, others) = digits(other);
                // Indexes have no leading zeros: the longer one is the larger.
                match first.len().cmp(&second.len()).then_with(|| first.cmp(second)) {
                    Ordering::Equal => (one, other) = (rest, others),
                    unequal => return unequal,
                }
            }
            (Some((a, rest)), Some((b, others))) if a == b => (one, other) = (rest, others),
            (a, b) => return a.map(|(byte, _)| byte).cmp(&b.map(|(byte, _)| byte)),
        }
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_lists_come_in_the_order_of_their_numbers() {
        let mut all = Violations::new();
        let sorted = [
            "BillingProfile",
            "BillingProfile.Name",
            "BillingProfileId",
            "Items",
            "Items[2]",
            "Items[2].Amount",
            "Items[2].Name",
            "Items[9]",
            "Items[10].Amount",
            "Items[100]",
        ];
        for field in sorted.iter().rev() {
            all.push(*field, ViolationCode::Missing, "is required");
        }
        assert_eq!(all.into_sorted().into_iter().map(|one| one.field).collect::<Vec<_>>(), sorted);
    }

    #[test]
    fn violations_come_sorted_by_path_and_once() {
        let mut all = Violations::new();
        all.push("Items[1].Name", ViolationCode::Missing, "is required");
        all.push("Currency", ViolationCode::NotAllowed, "is not one of the currencies that Dropin knows");
        all.push("Items[1].Name", ViolationCode::Missing, "is required");
        let paths: Vec<_> = all.into_sorted().into_iter().map(|one| one.field).collect();
        assert_eq!(paths, ["Currency", "Items[1].Name"]);
    }
}
