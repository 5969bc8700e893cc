use std::time::Duration;

/// Units of time with their seconds, longest first.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Reads a span of time as people write it: a whole number below 2³² and its unit, `s`, `m`, `h` or `d`. `None` for anything else. What is too
/// short or too long, and what to advise, is the caller's to say.
///
/// ```
/// assert_eq!(dropin_kernel::parse_span("90m"), Some(std::time::Duration::from_secs(5_400)));
/// assert_eq!(dropin_kernel::parse_span("90"), None);
/// ```
pub fn parse_span(text: &str) -> Option<Duration> {
    let (digits, seconds) =
        UNITS.into_iter().find_map(|(letter, seconds)| Some((text.strip_suffix(letter)?, seconds)))?;
    let number: u32 = digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())??;
    Some(Duration::from_secs(u64::from(number) * seconds))
}

/// A span of whole seconds in the longest unit that divides it, as [`parse_span`] reads it.
pub fn write_span(span: Duration) -> String {
    let seconds = span.as_secs();
    let (letter, unit) = UNITS.into_iter().find(|(_, unit)| seconds.is_multiple_of(*unit)).unwrap_or(('s', 1));
    format!("{}{letter}", seconds / unit)
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
    }
}
