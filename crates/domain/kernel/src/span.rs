use std::time::Duration;

/// Units of time with their milliseconds, longest first; `ms` before `m` and `s`, since it ends as `s` does.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("ms", 1), ("m", 60_000), ("s", 1_000)];

/// Longest span: 2³² − 1 days.
const MAX_SPAN_MS: u64 = u32::MAX as u64 * 86_400_000;

/// Reads a span of time as people write it: a whole number and its unit, `ms`, `s`, `m`, `h` or `d`, up to 2³² − 1 days. `None` for anything else.
/// What is too short or too long, and what to advise, is the caller's to say.
///
/// ```
/// assert_eq!(dropin_kernel::parse_span("90m"), Some(std::time::Duration::from_secs(5_400)));
/// assert_eq!(dropin_kernel::parse_span("1500ms"), Some(std::time::Duration::from_millis(1_500)));
/// assert_eq!(dropin_kernel::parse_span("90"), None);
/// ```
pub fn parse_span(text: &str) -> Option<Duration> {
    let (digits, unit) = UNITS.into_iter().find_map(|(letters, unit)| Some((text.strip_suffix(letters)?, unit)))?;
    let number: u64 = digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())??;
    number.checked_mul(unit).filter(|span| *span <= MAX_SPAN_MS).map(Duration::from_millis)
}

/// A span in the longest unit that divides it, as [`parse_span`] reads it. What is finer than a millisecond is left out, and a longer span than the
/// longest is written as that.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(dropin_kernel::write_span(Duration::from_secs(5_400)), "90m");
/// assert_eq!(dropin_kernel::write_span(Duration::from_millis(1_500)), "1500ms");
/// assert_eq!(dropin_kernel::write_span(Duration::ZERO), "0s");
/// ```
pub fn write_span(span: Duration) -> String {
    let span = u64::try_from(span.as_millis()).unwrap_or(MAX_SPAN_MS).min(MAX_SPAN_MS);
    if span == 0 {
        return "0s".to_owned();
    }
    let divides = |(_, unit): &(&str, u64)| *unit != 1 && span.is_multiple_of(*unit);
    let (letters, unit) = UNITS.into_iter().find(divides).unwrap_or(("ms", 1));
    format!("{}{letters}", span / unit)
}

/// Serializes a span as [`write_span`] writes it and restores it by [`parse_span`], for `#[serde(with = "dropin_kernel::span_text")]`. A span that would
/// not come back as itself, finer than a millisecond or longer than 2³² − 1 days, is refused.
///
/// ```
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Retry {
///     #[serde(with = "dropin_kernel::span_text")]
///     after: std::time::Duration,
/// }
///
/// let retry: Retry = serde_json::from_str(r#"{"after":"90s"}"#).unwrap();
/// assert_eq!(retry.after.as_secs(), 90);
/// assert_eq!(serde_json::to_string(&retry).unwrap(), r#"{"after":"90s"}"#);
/// ```
#[cfg(feature = "serde")]
pub mod span_text {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{parse_span, write_span};

    /// Writes a span.
    ///
    /// # Errors
    /// Those of the serializer, and for a span that would not come back as itself.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        let written = write_span(*span);
        if parse_span(&written) != Some(*span) {
            return Err(S::Error::custom("a span is whole milliseconds, up to 4294967295 days"));
        }
        serializer.serialize_str(&written)
    }

    /// Reads a span.
    ///
    /// # Errors
    /// Those of the deserializer, and for a text that is no span.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_span(&text).ok_or_else(|| D::Error::custom("a span is a whole number with ms, s, m, h or d, such as 90s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units() {
        let read = |text| parse_span(text).map(|span| span.as_secs());
        assert_eq!(["0s", "5s", "30m", "24h", "2d"].map(read), [0, 5, 1_800, 86_400, 172_800].map(Some));
        assert_eq!(read("4294967295d"), Some(4_294_967_295 * 86_400));
        for wrong in ["", "0", "5", "h", "-1h", "+1h", "1.5h", "1 h", " 1h", "24\u{2b0}", "1y", "1mm", "4294967296d"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_span_is_written_in_its_longest_unit() {
        for text in ["1s", "90s", "2m", "36h", "3d"] {
            assert_eq!(parse_span(text).map(write_span).as_deref(), Some(text));
        }
        assert_eq!(write_span(Duration::from_secs(172_800)), "2d");
        for span in [Duration::ZERO, Duration::from_millis(1_500), Duration::from_secs(1 << 32), Duration::MAX] {
            let written = write_span(span);
            assert_eq!(parse_span(&written), Some(span.min(Duration::from_millis(MAX_SPAN_MS))), "{written}");
        }
    }
}
