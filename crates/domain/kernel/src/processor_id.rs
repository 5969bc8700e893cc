use std::fmt;
use std::str::FromStr;

/// The longest [`ProcessorId`], in bytes.
pub const MAX_PROCESSOR_ID_BYTES: usize = 32;

/// The name that a deployment gives to one of its payment processors, or to an account that a merchant has of its own at one.
///
/// It stays with every operation that the processor is asked for, so it is never given to another one. 1 to [`MAX_PROCESSOR_ID_BYTES`] characters of
/// `a-z`, `0-9` and `-`, the first of them a letter. The name of an account has the processor's name, a dot and a word of the same characters.
///
/// ```
/// use dropin_kernel::ProcessorId;
///
/// let id: ProcessorId = "stripe-eu".parse().unwrap();
/// assert_eq!((id.as_str(), id.to_string()), ("stripe-eu", "stripe-eu".to_owned()));
/// assert!("Stripe EU".parse::<ProcessorId>().is_err());
/// assert!("stripe-eu.acme".parse::<ProcessorId>().unwrap().is_account());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessorId(String);

/// The text is no [`ProcessorId`].
///
/// ```
/// use dropin_kernel::ProcessorId;
///
/// let refused = "".parse::<ProcessorId>().unwrap_err();
/// assert_eq!(refused.to_string(), "must be 1 to 32 characters of a-z, 0-9 and -, the first of them a letter, with one dot in an account's name");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be 1 to {MAX_PROCESSOR_ID_BYTES} characters of a-z, 0-9 and -, the first of them a letter, with one dot in an account's name"
)]
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

    /// Whether it is an account that a merchant has of its own.
    ///
    /// ```
    /// # use dropin_kernel::ProcessorId;
    /// assert!(!"stripe".parse::<ProcessorId>().unwrap().is_account());
    /// ```
    pub fn is_account(&self) -> bool {
        self.0.contains('.')
    }

    /// Of an account, the deployment's processor that it is at; of a processor, itself.
    ///
    /// ```
    /// # use dropin_kernel::ProcessorId;
    /// let account: ProcessorId = "stripe.acme".parse().unwrap();
    /// assert_eq!((account.processor().as_str(), account.processor().processor()), ("stripe", account.processor()));
    /// ```
    #[must_use]
    pub fn processor(&self) -> Self {
        Self(self.0.split_once('.').map_or(self.as_str(), |(processor, _account)| processor).to_owned())
    }
}

impl FromStr for ProcessorId {
    type Err = InvalidProcessorId;

    /// Reads the exact text: nothing is trimmed.
    fn from_str(text: &str) -> Result<Self, InvalidProcessorId> {
        let is_word = |text: &str| text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        let (processor, account) = text.split_once('.').unwrap_or((text, "account"));
        let fits = text.len() <= MAX_PROCESSOR_ID_BYTES && text.starts_with(|first: char| first.is_ascii_lowercase());
        let is_id = fits && is_word(processor) && is_word(account) && !account.is_empty();
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
        for text in ["s", "stripe", "acquirer-2", "stripe-eu.acme", "stripe.2", &"a".repeat(MAX_PROCESSOR_ID_BYTES)] {
            assert_eq!(text.parse::<ProcessorId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for wrong in [
            "",
            "-a",
            "2nd",
            "Stripe",
            "a b",
            "a:b",
            "a.",
            ".a",
            "a.b.c",
            "a.B",
            "\u{e9}",
            &"a".repeat(MAX_PROCESSOR_ID_BYTES + 1),
        ] {
            assert_eq!(wrong.parse::<ProcessorId>(), Err(InvalidProcessorId), "{wrong:?}");
        }
    }
}
