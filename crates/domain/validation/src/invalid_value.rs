use std::borrow::Cow;
use std::fmt;

use dropin_kernel::{Violation, ViolationCode};

/// Why a text is no value of a type: the kind of rule that it breaks, and what to do about it.
///
/// It does not know where the text stood; [`InvalidValue::at`] makes a [`Violation`] of a field of it. It never repeats the text.
///
/// ```
/// use dropin_kernel::ViolationCode;
/// use dropin_validation::Email;
///
/// let refused = "ana".parse::<Email>().unwrap_err();
/// assert_eq!(refused.code(), ViolationCode::Invalid);
/// assert_eq!(refused.to_string(), "must be an e-mail address such as ana@shop.example");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvalidValue {
    code: ViolationCode,
    why: Cow<'static, str>,
}

impl InvalidValue {
    pub(crate) fn new(code: ViolationCode, why: impl Into<Cow<'static, str>>) -> Self {
        Self { code, why: why.into() }
    }

    /// The kind of rule that is broken.
    ///
    /// ```
    /// # use dropin_kernel::ViolationCode;
    /// # use dropin_validation::Text;
    /// assert_eq!("  ".parse::<Text>().unwrap_err().code(), ViolationCode::Missing);
    /// ```
    pub const fn code(&self) -> ViolationCode {
        self.code
    }

    /// The violation of the field at `path`, for example `Items[2].Name`.
    ///
    /// ```
    /// # use dropin_validation::Text;
    /// let violation = "".parse::<Text>().unwrap_err().at("Items[2].Name");
    /// assert_eq!((violation.field.as_str(), violation.message.as_str()), ("Items[2].Name", "must not be empty"));
    /// ```
    pub fn at(self, path: impl fmt::Display) -> Violation {
        Violation::new(path.to_string(), self.code, self.why)
    }
}

impl fmt::Display for InvalidValue {
    /// What to do about it, for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.why)
    }
}

impl std::error::Error for InvalidValue {}
