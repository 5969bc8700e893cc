use std::fmt;
use std::str::FromStr;

/// The longest [`ProcessorId`], in bytes.
pub const MAX_PROCESSOR_ID_BYTES: usize = 32;

/// The name that a deployment gives to one of its payment processors.
///
/// It stays with every operation that the processor is asked for, so it is never given to another one. 1 to [`MAX_PROCESSOR_ID_BYTES`] characters of
/// `a-z`, `0-9` and `-`, the first of them a letter.
///
/// ```
/// use dropin_kernel::ProcessorId;
///
/// let id: ProcessorId = "stripe-eu".parse().unwrap();
/// assert_eq!((id.as_str(), id.to_string()), ("stripe-eu", "stripe-eu".to_owned()));
/// assert!("Stripe EU".parse::<ProcessorId>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessorId(String);

/// The text is no [`ProcessorId`].
///
/// ```
/// use dropin_kernel::ProcessorId;
///
/// let refused = "".parse::<ProcessorId>().unwrap_err();
/// assert_eq!(refused.to_string(), "must be 1 to 32 characters of a-z, 0-9 and -, the first of them a letter");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_PROCESSOR_ID_BYTES} characters of a-z, 0-9 and -, the first of them a letter")]
pub struct InvalidProcessorId;

impl ProcessorId {
    /// The text.
    ///
    /// ```
    /// # use dropin_kernel::ProcessorId;
    /// assert_eq!("sandbox".parse::<ProcessorId>().unwrap().as_str(), "sandbox");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProcessorId {
    type Err = InvalidProcessorId;

    /// Reads the exact text: nothing is trimmed.
    fn from_str(text: &str) -> Result<Self, InvalidProcessorId> {
        let fits = text.len() <= MAX_PROCESSOR_ID_BYTES && text.starts_with(|first: char| first.is_ascii_lowercase());
        let is_id = fits && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        is_id.then(|| Self(text.to_owned())).ok_or(InvalidProcessorId)
    }
}

impl fmt::Display for ProcessorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(feature = "serde")]
crate::serialize_as_text!(ProcessorId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_short_word_of_small_letters() {
        for text in ["s", "stripe", "acquirer-2", &"a".repeat(MAX_PROCESSOR_ID_BYTES)] {
            assert_eq!(text.parse::<ProcessorId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "-a", "2nd", "Stripe", "a b", "a:b", "\u{e9}", &"a".repeat(MAX_PROCESSOR_ID_BYTES + 1)] {
            assert_eq!(wrong.parse::<ProcessorId>(), Err(InvalidProcessorId), "{wrong:?}");
        }
    }
}
