use std::cmp::Ordering;

/// Why a field was refused (decisions.md section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViolationCode {
    /// A required member is absent or null.
    Missing,
    /// Wrong type or format.
    Invalid,
    /// Outside an enumeration.
    NotAllowed,
    /// Longer than the limit.
    TooLong,
    /// A number, count or total outside its bounds.
    OutOfRange,
    /// A reference to something that does not exist.
    NotFound,
    /// Fields that exclude each other.
    Conflict,
}

impl ViolationCode {
    /// Every code, in the order of the table in decisions.md.
    pub const ALL: [Self; 7] = [
        Self::Missing,
        Self::Invalid,
        Self::NotAllowed,
        Self::TooLong,
        Self::OutOfRange,
        Self::NotFound,
        Self::Conflict,
    ];

    /// The code as integrators see it in `FieldErrors[].Code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "FIELD_MISSING",
            Self::Invalid => "FIELD_INVALID",
            Self::NotAllowed => "VALUE_NOT_ALLOWED",
            Self::TooLong => "VALUE_TOO_LONG",
            Self::OutOfRange => "VALUE_OUT_OF_RANGE",
            Self::NotFound => "NOT_FOUND",
            Self::Conflict => "CONFLICT",
        }
    }

    /// What it means, in one sentence, for the documentation.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Missing => "The member is required and was left out, null or empty.",
            Self::Invalid => "The value has another type or form than the member takes.",
            Self::NotAllowed => "The value is outside the enumeration.",
            Self::TooLong => "The text is longer than the limit.",
            Self::OutOfRange => "The number, count or total is outside its bounds.",
            Self::NotFound => "There is nothing that this reference names.",
            Self::Conflict => "These members exclude each other.",
        }
    }
}

/// One field that breaks one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Path of the field as the contract spells it, for example `Items[2].Amount`.
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

/// Everything that is wrong with a request, so that an integrator sees all of it at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Notes one more.
    pub fn push(&mut self, field: impl Into<String>, code: ViolationCode, message: impl Into<String>) {
        self.0.push(Violation::new(field, code, message));
    }

    /// Notes one that was made elsewhere.
    pub fn add(&mut self, violation: Violation) {
        self.0.push(violation);
    }

    /// Takes the value of `result`, or notes its violation.
    pub fn check<T>(&mut self, result: Result<T, Violation>) -> Option<T> {
        result.map_err(|violation| self.0.push(violation)).ok()
    }

    /// Takes the value of `result`, or notes all its violations.
    pub fn check_all<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        result.map_err(|violations| self.0.extend(violations.0)).ok()
    }

    /// Adds those of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorted by path, each once; entries of lists in the order of their numbers, so that `Items[10]` follows `Items[9]`.
    pub fn into_sorted(mut self) -> Vec<Violation> {
        self.0.sort_by(|one, other| path_order(&one.field, &other.field).then_with(|| one.cmp(other)));
        self.0.dedup();
        self.0
    }

    /// `value` when nothing is wrong.
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
        all.push("Currency", ViolationCode::NotAllowed, "is not a currency of the contract");
        all.push("Items[1].Name", ViolationCode::Missing, "is required");
        let paths: Vec<_> = all.into_sorted().into_iter().map(|one| one.field).collect();
        assert_eq!(paths, ["Currency", "Items[1].Name"]);
    }
}
