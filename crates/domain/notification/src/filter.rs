use std::fmt;
use std::str::FromStr;

/// Which events an endpoint is told of: names of events with commas between, each whole (`ORDER_PROCESSED`) or the beginning of some followed by
/// a star (`ORDER_*`).
///
/// ```
/// let filter: dropin_notification::EventFilter = "ORDER_*,SESSION_FAILED".parse().unwrap();
/// assert!(filter.admits("ORDER_PROCESSED") && filter.admits("SESSION_FAILED"));
/// assert!(!filter.admits("SESSION_COMPLETED"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFilter {
    patterns: Vec<String>,
}

/// What is wrong with an event filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an event filter is made of 1 to 32 names of events with commas between, in capitals, for example ORDER_PROCESSED, or ORDER_* for all that begin so"
)]
pub struct EventFilterError;

/// Names in one filter, at most.
const MAX_PATTERNS: usize = 32;
/// Characters of one name, at most.
const LONGEST: usize = 64;

impl EventFilter {
    /// Whether an event of that type is wanted.
    pub fn admits(&self, event_type: &str) -> bool {
        self.patterns.iter().any(|pattern| fits(pattern, event_type))
    }

    /// The first of its names that fits none of the types, as a slip of the pen would.
    ///
    /// ```
    /// let filter: dropin_notification::EventFilter = "ORDER_*,REFUNDED".parse().unwrap();
    /// assert_eq!(filter.fits_none_of(&["ORDER_PROCESSED", "REFUND_SUCCEEDED"]), Some("REFUNDED"));
    /// ```
    pub fn fits_none_of(&self, event_types: &[&str]) -> Option<&str> {
        let fits_none = |pattern: &&String| !event_types.iter().any(|one| fits(pattern, one));
        self.patterns.iter().find(fits_none).map(String::as_str)
    }
}

fn fits(pattern: &str, event_type: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => event_type.starts_with(beginning),
        None => event_type == pattern,
    }
}

impl FromStr for EventFilter {
    type Err = EventFilterError;

    fn from_str(text: &str) -> Result<Self, EventFilterError> {
        let patterns: Vec<String> = text.split(',').map(|word| word.trim().to_owned()).collect();
        let is_name = |pattern: &String| {
            let name = pattern.strip_suffix('*').unwrap_or(pattern);
            let in_capitals =
                name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
            in_capitals && !name.is_empty() && name.len() <= LONGEST
        };
        let good = patterns.len() <= MAX_PATTERNS && patterns.iter().all(is_name);
        if good { Ok(Self { patterns }) } else { Err(EventFilterError) }
    }
}

impl fmt::Display for EventFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.patterns.join(","))
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(EventFilter);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_and_beginnings() {
        let filter: EventFilter = " ORDER_PROCESSED , REFUND_*".parse().unwrap();
        for (event, wanted) in
            [("ORDER_PROCESSED", true), ("ORDER_PROCESSED_2", false), ("ORDER_", false), ("REFUND_FAILED", true)]
        {
            assert_eq!(filter.admits(event), wanted, "{event}");
        }
        assert_eq!(filter.fits_none_of(&["REFUND_FAILED", "ORDER_PROCESSED"]), None);
        assert_eq!(filter.fits_none_of(&["ORDER_PROCESSED"]), Some("REFUND_*"));
        assert_eq!(filter.to_string(), "ORDER_PROCESSED,REFUND_*");
        assert_eq!(filter.to_string().parse(), Ok(filter));
    }

    #[test]
    fn what_names_no_event_is_refused() {
        let long = "A".repeat(65);
        let many = vec!["A"; 33].join(",");
        for wrong in ["", ",", "ORDER_PROCESSED,", "order_processed", "*", "ORDER_*X", "ORDER PROCESSED", &long, &many]
        {
            assert_eq!(wrong.parse::<EventFilter>(), Err(EventFilterError), "{wrong:?}");
        }
    }
}
