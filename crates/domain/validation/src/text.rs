use std::fmt;
use std::str::FromStr;

use dropin_kernel::{Violation, ViolationCode};

use crate::invalid_value::InvalidValue;

/// Longest text in characters, after trimming (docs/SPECIFICATION.md#text).
const MAX_CHARS: usize = 255;

/// Free text: 1 to 255 characters after trimming, none of which is hidden (docs/SPECIFICATION.md#text).
///
/// Hidden are control characters, those that turn the direction of writing, and those without a width: a reader of the text on a screen or a
/// terminal must see what is stored. The two joiners U+200C and U+200D may stand between characters of the scripts that are written with them
/// (Arabic to Myanmar, Khmer and Mongolian), where they are a part of the spelling of names.
///
/// ```
/// use dropin_validation::Text;
///
/// let name: Text = "  Blue mug ".parse().unwrap();
/// assert_eq!(name.as_str(), "Blue mug");
/// assert!("pay\u{202e}later".parse::<Text>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    /// Trims and checks, as [`FromStr`] does, for the field at `field`.
    ///
    /// ```
    /// # use dropin_validation::Text;
    /// assert_eq!(Text::parse("Items[0].Name", "").unwrap_err().field, "Items[0].Name");
    /// ```
    ///
    /// # Errors
    /// A violation at `field`: FIELD_MISSING when nothing is left, VALUE_TOO_LONG, FIELD_INVALID for hidden characters, with the position of the first.
    pub fn parse(field: impl fmt::Display, raw: &str) -> Result<Self, Violation> {
        raw.parse().map_err(|refused: InvalidValue| refused.at(field))
    }

    /// Reads a stored text back; `None` when it is not one as [`Text::parse`] makes or made them: the row is corrupt. Rows of before 2026-11-22
    /// may hold hidden characters other than controls.
    ///
    /// ```
    /// # use dropin_validation::Text;
    /// assert!(Text::restore("Blue mug").is_some() && Text::restore(" Blue mug").is_none());
    /// ```
    pub fn restore(stored: &str) -> Option<Self> {
        let whole = stored.trim() == stored && !stored.is_empty() && stored.chars().count() <= MAX_CHARS;
        (whole && !stored.chars().any(char::is_control)).then(|| Self(stored.to_owned()))
    }

    /// The trimmed text, to keep.
    ///
    /// ```
    /// # use dropin_validation::Text;
    /// assert_eq!(" Ana ".parse::<Text>().unwrap().into_string(), "Ana");
    /// ```
    pub fn into_string(self) -> String {
        self.0
    }

    /// The trimmed text.
    ///
    /// ```
    /// # use dropin_validation::Text;
    /// assert_eq!(" Ana ".parse::<Text>().unwrap().as_str(), "Ana");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character is not seen where it stands, or turns the direction of what is written after it. The joiners are; see [`Text`].
///
/// ```
/// use dropin_validation::is_hidden;
///
/// assert!(is_hidden('\u{200b}') && is_hidden('\n') && !is_hidden('é'));
/// ```
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The first hidden character of `text`, its code and its position, counted in characters from 1.
fn find_hidden(text: &str) -> Option<(usize, u32)> {
    let mut before = None;
    let mut characters = text.chars().zip(1..).peekable();
    while let Some((c, position)) = characters.next() {
        let joins = matches!(c, '\u{200c}' | '\u{200d}')
            && before.is_some_and(is_joined)
            && characters.peek().is_some_and(|(after, _)| is_joined(*after));
        if is_hidden(c) && !joins {
            return Some((position, c.into()));
        }
        before = Some(c);
    }
    None
}

/// Whether a character belongs to a script that is written with joiners.
const fn is_joined(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

impl FromStr for Text {
    type Err = InvalidValue;

    /// Trims and checks.
    fn from_str(raw: &str) -> Result<Self, InvalidValue> {
        let text = raw.trim();
        if text.is_empty() {
            return Err(InvalidValue::new(ViolationCode::Missing, "must not be empty"));
        }
        if MAX_CHARS < text.len() && MAX_CHARS < text.chars().count() {
            return Err(InvalidValue::new(ViolationCode::TooLong, "must have at most 255 characters"));
        }
        if let Some((position, hidden)) = find_hidden(text) {
            let why = format!("must not contain characters that cannot be seen: U+{hidden:04X} at position {position}");
            return Err(InvalidValue::new(ViolationCode::Invalid, why));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Text);

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

    #[test]
    fn what_cannot_be_seen_is_refused_with_its_position() {
        for hidden in
            ['\u{1b}', '\u{7f}', '\u{85}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{200d}', '\u{2060}', '\u{e0041}']
        {
            let refused = Text::parse("Name", &format!("né{hidden}x")).unwrap_err();
            assert_eq!(refused.code, ViolationCode::Invalid, "{hidden:?}");
            let expected = format!("U+{:04X} at position 3", u32::from(hidden));
            assert!(refused.message.ends_with(&expected), "{}", refused.message);
        }
    }

    #[test]
    fn joiners_stand_where_names_are_spelled_with_them() {
        // Sinhala "Sri", Persian with a plural, Malayalam.
        for name in ["\u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3}", "نامه\u{200c}ها", "\u{d28}\u{d4d}\u{200d}\u{d31}"] {
            assert!(Text::parse("Name", name).is_ok(), "{name:?}");
        }
        for name in ["a\u{200d}b", "\u{dc1}\u{200d}", "نامه\u{200c}\u{200c}ها"] {
            assert!(Text::parse("Name", name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn what_was_stored_before_stays_readable() {
        assert!(Text::restore("a\u{202e}b").is_some());
        assert!(Text::restore(" a").is_none() && Text::restore("").is_none() && Text::restore("a\nb").is_none());
    }
}
