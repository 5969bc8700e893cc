use std::fmt;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const ISO_8601: &[BorrowedFormatItem<'static>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

/// An instant in UTC, in whole microseconds since 1970 (the finest that both databases keep).
///
/// Displays as ISO 8601 with six decimals and `Z`, the contract's timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// This instant, later by `delay`; saturates at the end of time.
    #[must_use]
    pub fn plus(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(delay.as_micros()).unwrap_or(i64::MAX)))
    }

    /// This instant, earlier by `span`; saturates at the beginning of time.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is before.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<OffsetDateTime> for Timestamp {
    fn from(at: OffsetDateTime) -> Self {
        Self(i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000)).unwrap_or(i64::MAX))
    }
}

impl Timestamp {
    /// The same instant as a calendar date and time; the epoch when out of the calendar's range (years beyond 9999).
    pub fn to_offset_date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_offset_date_time().format(ISO_8601).map_err(|_unformattable| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_as_the_contract_writes_timestamps() {
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp::from_micros(-1).to_string(), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn arithmetic_saturates() {
        let start = Timestamp::from_micros(5);
        assert_eq!(start.plus(Duration::from_secs(1)).since(start), Duration::from_secs(1));
        assert_eq!(start.since(start.plus(Duration::from_secs(1))), Duration::ZERO);
        assert_eq!(start.plus(Duration::MAX).micros(), i64::MAX);
        assert_eq!(start.minus(Duration::from_micros(7)).micros(), -2);
        assert_eq!(start.plus(Duration::from_secs(9)).minus(Duration::from_secs(9)), start);
        assert_eq!(Timestamp::from_micros(-5).minus(Duration::MAX).micros(), i64::MIN);
    }
}
