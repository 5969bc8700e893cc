use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// The one form that is written.
const ISO_8601: &[BorrowedFormatItem<'static>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
/// The same with as many decimals as there are.
const SHORT: &[BorrowedFormatItem<'static>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:1+]Z");
const WHOLE_SECONDS: &[BorrowedFormatItem<'static>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");

/// An instant in UTC, in whole microseconds since 1970 (the finest that both databases keep).
///
/// From the year 0 to the end of 9999, what four digits of a year can say. Displays as ISO 8601 with six decimals and `Z`
/// (docs/SPECIFICATION.md#http-transport), and reads that back, with fewer decimals too.
///
/// ```
/// use std::time::Duration;
///
/// use dropin_kernel::Timestamp;
///
/// let at: Timestamp = "2026-11-18T11:06:40.000000Z".parse().unwrap();
/// assert_eq!(at.plus(Duration::from_secs(5)).to_string(), "2026-11-18T11:06:45.000000Z");
/// assert_eq!(at.plus(Duration::MAX), Timestamp::MAX);
/// assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999999Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is no instant such as `2026-11-18T11:06:40Z` or `2026-11-18T11:06:40.000000Z`.
///
/// ```
/// # use dropin_kernel::Timestamp;
/// let refused = "2026-11-18".parse::<Timestamp>().unwrap_err();
/// assert_eq!(refused.to_string(), "must be an instant such as 2026-11-18T11:06:40.000000Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an instant such as 2026-11-18T11:06:40.000000Z")]
pub struct ParseTimestampError;

impl Timestamp {
    /// 0000-01-01T00:00:00.000000Z.
    pub const MIN: Self = Self(-62_167_219_200_000_000);
    /// 9999-12-31T23:59:59.999999Z.
    pub const MAX: Self = Self(253_402_300_799_999_999);

    /// From microseconds since the Unix epoch; saturates at [`Timestamp::MIN`] and [`Timestamp::MAX`].
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
    /// ```
    pub const fn from_micros(micros: i64) -> Self {
        if micros < Self::MIN.0 {
            Self::MIN
        } else if Self::MAX.0 < micros {
            Self::MAX
        } else {
            Self(micros)
        }
    }

    /// Microseconds since the Unix epoch.
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// assert_eq!(Timestamp::from_micros(7).micros(), 7);
    /// ```
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// assert_eq!(Timestamp::from_micros(-1).unix_seconds(), -1);
    /// ```
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// This instant, later by `delay`; saturates at [`Timestamp::MAX`].
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// let hour = std::time::Duration::from_secs(3_600);
    /// assert_eq!(Timestamp::from_micros(0).plus(hour).unix_seconds(), 3_600);
    /// ```
    #[must_use]
    pub fn plus(self, delay: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(i64::try_from(delay.as_micros()).unwrap_or(i64::MAX)))
    }

    /// This instant, earlier by `span`; saturates at [`Timestamp::MIN`].
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// let hour = std::time::Duration::from_secs(3_600);
    /// assert_eq!(Timestamp::from_micros(0).minus(hour).unix_seconds(), -3_600);
    /// ```
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is before.
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// let (start, end) = (Timestamp::from_micros(5), Timestamp::from_micros(9));
    /// assert_eq!((end.since(start).as_micros(), start.since(end).as_micros()), (4, 0));
    /// ```
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<OffsetDateTime> for Timestamp {
    fn from(at: OffsetDateTime) -> Self {
        Self::from_micros(i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000)).unwrap_or(i64::MAX))
    }
}

impl Timestamp {
    /// The same instant as a calendar date and time.
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// assert_eq!(Timestamp::from_micros(0).to_offset_date_time().year(), 1970);
    /// ```
    pub fn to_offset_date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000)
            .expect("years 0 to 9999 are in the calendar")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_offset_date_time().format(ISO_8601).map_err(|_unformattable| fmt::Error)?)
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Reads what [`Display`](fmt::Display) writes, also with fewer decimals or none. Another zone than `Z`, and what is finer than a microsecond, is refused.
    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        let form = if text.contains('.') { SHORT } else { WHOLE_SECONDS };
        let read = PrimitiveDateTime::parse(text, form).map_err(|_unreadable| ParseTimestampError)?;
        if read.nanosecond().is_multiple_of(1_000) { Ok(read.assume_utc().into()) } else { Err(ParseTimestampError) }
    }
}

#[cfg(feature = "serde")]
crate::serialize_as_text!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_as_the_api_writes_timestamps() {
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp::from_micros(-1).to_string(), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn what_is_displayed_is_read_back() {
        for micros in [Timestamp::MIN.micros(), -1, 0, 1_795_000_000_000_001, Timestamp::MAX.micros()] {
            let at = Timestamp::from_micros(micros);
            assert_eq!(at.to_string().parse(), Ok(at));
        }
        assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000000Z");
        let whole: Timestamp = "2026-11-18T11:06:40.000000Z".parse().unwrap();
        assert_eq!("2026-11-18T11:06:40Z".parse(), Ok(whole));
        assert_eq!("2026-11-18T11:06:40.5Z".parse(), Ok(whole.plus(Duration::from_millis(500))));
        for wrong in [
            "",
            "2026-11-18",
            "2026-11-18T11:06:40",
            "2026-11-18T11:06:40.Z",
            "2026-11-18T11:06:40.0000001Z",
            "2026-11-18 11:06:40Z",
            "2026-11-18T11:06:40.000000+01:00",
            "2026-13-18T11:06:40.000000Z",
        ] {
            assert_eq!(wrong.parse::<Timestamp>(), Err(ParseTimestampError), "{wrong}");
        }
    }

    #[test]
    fn arithmetic_saturates() {
        let start = Timestamp::from_micros(5);
        assert_eq!(start.plus(Duration::from_secs(1)).since(start), Duration::from_secs(1));
        assert_eq!(start.since(start.plus(Duration::from_secs(1))), Duration::ZERO);
        assert_eq!(start.plus(Duration::MAX), Timestamp::MAX);
        assert_eq!(start.minus(Duration::from_micros(7)).micros(), -2);
        assert_eq!(start.plus(Duration::from_secs(9)).minus(Duration::from_secs(9)), start);
        assert_eq!(Timestamp::from_micros(-5).minus(Duration::MAX), Timestamp::MIN);
        assert_eq!(
            (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX)),
            (Timestamp::MIN, Timestamp::MAX)
        );
    }
}
