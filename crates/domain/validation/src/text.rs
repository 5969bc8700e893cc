use std::fmt;

use dropin_kernel::{Violation, ViolationCode};

/// Longest text in characters, after trimming (decisions.md section 2).
const MAX_CHARS: usize = 255;

/// Free text: 1 to 255 characters after trimming, without control characters (decisions.md section 2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(String);

impl Text {
    /// Trims and checks.
    ///
    /// # Errors
    /// A violation at `field`: FIELD_MISSING when nothing is left, VALUE_TOO_LONG, FIELD_INVALID for control characters.
    pub fn parse(field: impl fmt::Display, raw: &str) -> Result<Self, Violation> {
        let text = raw.trim();
        if text.is_empty() {
            return Err(Violation::new(field.to_string(), ViolationCode::Missing, "must not be empty"));
        }
        if MAX_CHARS < text.len() && MAX_CHARS < text.chars().count() {
            return Err(Violation::new(field.to_string(), ViolationCode::TooLong, "must have at most 255 characters"));
        }
        if text.chars().any(char::is_control) {
            return Err(Violation::new(
                field.to_string(),
                ViolationCode::Invalid,
                "must not contain control characters",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads a stored text back; `None` when it is not one as [`Text::parse`] makes them: the row is corrupt.
    pub fn restore(stored: &str) -> Option<Self> {
        Self::parse("", stored).ok().filter(|text| text.0 == stored)
    }

    /// The trimmed text, to keep.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The trimmed text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_1_to_255_characters_without_controls() {
        let code = |raw: &str| Text::parse("Name", raw).map_err(|violation| violation.code).map(|text| text.0);
        assert_eq!(code("  café  "), Ok("café".to_owned()));
        assert_eq!(code(" \t "), Err(ViolationCode::Missing));
        assert_eq!(code(&"é".repeat(255)).map(|text| text.len()), Ok(510));
        assert_eq!(code(&"é".repeat(256)), Err(ViolationCode::TooLong));
        assert_eq!(code("a\u{0}b"), Err(ViolationCode::Invalid));
        assert_eq!(code("a\nb"), Err(ViolationCode::Invalid));
    }
}
