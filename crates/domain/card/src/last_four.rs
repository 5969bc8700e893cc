use std::fmt;
use std::str::FromStr;

/// The last four digits of a card number: the most that is kept of it.
///
/// ```
/// use dropin_card::LastFour;
///
/// let last_four: LastFour = "0005".parse().unwrap();
/// assert_eq!(last_four.to_string(), "0005");
/// assert!("42424".parse::<LastFour>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LastFour(u16);

/// The text is no [`LastFour`].
///
/// ```
/// use dropin_card::{InvalidLastFour, LastFour};
///
/// assert_eq!("424x".parse::<LastFour>(), Err(InvalidLastFour));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the last four digits of a card number")]
pub struct InvalidLastFour;

impl FromStr for LastFour {
    type Err = InvalidLastFour;

    fn from_str(text: &str) -> Result<Self, InvalidLastFour> {
        let is_four = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_four.then(|| text.parse().ok()).flatten().map(Self).ok_or(InvalidLastFour)
    }
}

impl fmt::Display for LastFour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:04}", self.0))
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(LastFour);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_four_digits_are_the_end_of_a_number() {
        for text in ["0000", "0042", "4242", "9999"] {
            assert_eq!(text.parse::<LastFour>().map(|last| last.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "424", "42424", "+424", "-042", " 424", "４２", "424x"] {
            assert_eq!(wrong.parse::<LastFour>(), Err(InvalidLastFour), "{wrong}");
        }
    }
}
