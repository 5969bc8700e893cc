use std::fmt;
use std::str::FromStr;

/// The longest [`ProcessorReference`], in bytes.
pub const MAX_PROCESSOR_REFERENCE_BYTES: usize = 255;

/// The processor's own id of an authorization, where it gives one before anything can be reserved.
///
/// It is kept with the operation before the processor may reserve anything under it, so that an outcome that is unknown can be read by it however late.
/// 1 to [`MAX_PROCESSOR_REFERENCE_BYTES`] printable ASCII characters without a space. It is no secret, and it charges nothing by itself.
///
/// ```
/// use dropin_order::ProcessorReference;
///
/// let reference: ProcessorReference = "pi_3PgafmB7WZ01zgkW".parse().unwrap();
/// assert_eq!(reference.as_str(), "pi_3PgafmB7WZ01zgkW");
/// assert!("two words".parse::<ProcessorReference>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessorReference(String);

/// The text is no [`ProcessorReference`].
///
/// ```
/// use dropin_order::ProcessorReference;
///
/// let refused = "".parse::<ProcessorReference>().unwrap_err();
/// assert_eq!(refused.to_string(), "must be 1 to 255 printable ASCII characters without a space");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_PROCESSOR_REFERENCE_BYTES} printable ASCII characters without a space")]
pub struct InvalidProcessorReference;

impl ProcessorReference {
    /// The text, as the processor wrote it.
    ///
    /// ```
    /// # use dropin_order::ProcessorReference;
    /// assert_eq!("pi_1".parse::<ProcessorReference>().unwrap().as_str(), "pi_1");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProcessorReference {
    type Err = InvalidProcessorReference;

    /// Reads the exact text: nothing is trimmed.
    fn from_str(text: &str) -> Result<Self, InvalidProcessorReference> {
        let fits = (1..=MAX_PROCESSOR_REFERENCE_BYTES).contains(&text.len());
        let is_reference = fits && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_reference.then(|| Self(text.to_owned())).ok_or(InvalidProcessorReference)
    }
}

impl fmt::Display for ProcessorReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(ProcessorReference);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_kept_to_the_letter() {
        for text in ["p", "pi_3PgafmB7WZ01zgkW", &"9".repeat(MAX_PROCESSOR_REFERENCE_BYTES)] {
            assert_eq!(text.parse::<ProcessorReference>().map(|reference| reference.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", " ", "a b", "a\n", "é", &"9".repeat(MAX_PROCESSOR_REFERENCE_BYTES + 1)] {
            assert_eq!(wrong.parse::<ProcessorReference>(), Err(InvalidProcessorReference), "{wrong:?}");
        }
    }
}
