use dropin_kernel::Timestamp;
use time::{Date, Month, Time, Weekday};

/// When a publication that has not come counts as missed: the ECB publishes at about 16:00 in Frankfurt, which is 15:00 UTC in winter
/// and 14:00 UTC in summer; two hours are patience.
const OVERDUE: Time = match Time::from_hms(17, 0, 0) {
    Ok(time) => time,
    Err(_) => Time::MIDNIGHT,
};

/// Whether the ECB publishes reference rates on `date`: on every day on which the TARGET system settles payments, that is not on
/// Saturdays, Sundays, 1 January, Good Friday, Easter Monday, 1 May, 25 and 26 December (the calendar in force since 2002).
///
/// ```
/// use dropin_rates::is_publication_day;
/// use time::macros::date;
///
/// assert!(is_publication_day(date!(2026 - 11 - 20)));
/// assert!(!is_publication_day(date!(2026 - 11 - 21))); // a Saturday
/// assert!(!is_publication_day(date!(2026 - 04 - 03))); // Good Friday
/// ```
pub fn is_publication_day(date: Date) -> bool {
    let holiday = match (date.month(), date.day()) {
        (Month::January | Month::May, 1) | (Month::December, 25 | 26) => true,
        (Month::March | Month::April, _) => {
            // Good Friday lies two days before Easter, Easter Monday one day after.
            let easter = easter_ordinal(date.year());
            date.ordinal() + 2 == easter || date.ordinal() == easter + 1
        }
        _ => false,
    };
    !holiday && !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// The `count`th publication day after `date` (the last day of the calendar when there is none); `date` itself for zero.
///
/// ```
/// use dropin_rates::nth_publication_after;
/// use time::macros::date;
///
/// // From Friday over the weekend.
/// assert_eq!(nth_publication_after(date!(2026 - 11 - 20), 2), date!(2026 - 11 - 24));
/// ```
pub fn nth_publication_after(date: Date, count: u16) -> Date {
    let later = std::iter::successors(date.next_day(), |day| day.next_day()).filter(|day| is_publication_day(*day));
    if count == 0 { date } else { later.take(usize::from(count)).last().unwrap_or(Date::MAX) }
}

/// The instant at which a publication of `date` that has not come counts as missed: 17:00 UTC.
///
/// ```
/// use dropin_rates::overdue_at;
/// use time::macros::date;
///
/// assert_eq!(overdue_at(date!(2026 - 11 - 20)).to_string(), "2026-11-20T17:00:00.000000Z");
/// ```
pub fn overdue_at(date: Date) -> Timestamp {
    date.with_time(OVERDUE).assume_utc().into()
}

/// Easter Sunday as a day of the year, by the anonymous Gregorian computus.
fn easter_ordinal(year: i32) -> u16 {
    let golden = year.rem_euclid(19);
    let (century, in_century) = (year.div_euclid(100), year.rem_euclid(100));
    let correction = (century - (century + 8).div_euclid(25) + 1).div_euclid(3);
    let moon = (19 * golden + century - century.div_euclid(4) - correction + 15).rem_euclid(30);
    let to_sunday = (32 + 2 * century.rem_euclid(4) + 2 * (in_century / 4) - moon - in_century % 4).rem_euclid(7);
    let weeks_early = (golden + 11 * moon + 22 * to_sunday) / 451;
    let march_22 = 81 + i32::from(time::util::is_leap_year(year));
    u16::try_from(march_22 + moon + to_sunday - 7 * weeks_early).expect("Easter lies between 22 March and 25 April")
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::date;

    #[test]
    fn easter_is_where_the_church_has_it() {
        for easter in [
            date!(1999 - 04 - 04),
            date!(2000 - 04 - 23),
            date!(2008 - 03 - 23),
            date!(2011 - 04 - 24),
            date!(2019 - 04 - 21),
            date!(2024 - 03 - 31),
            date!(2025 - 04 - 20),
            date!(2026 - 04 - 05),
            date!(2027 - 03 - 28),
            date!(2038 - 04 - 25),
            date!(2049 - 04 - 18),
            date!(2076 - 04 - 19),
            date!(2285 - 03 - 22),
        ] {
            assert_eq!(easter_ordinal(easter.year()), easter.ordinal(), "{easter}");
        }
    }

    #[test]
    fn weekends_and_holidays_bring_no_publication() {
        assert_eq!(nth_publication_after(date!(2026 - 11 - 20), 1), date!(2026 - 11 - 23));
        assert_eq!(nth_publication_after(date!(2026 - 04 - 02), 1), date!(2026 - 04 - 07));
        assert_eq!(nth_publication_after(date!(2026 - 12 - 24), 1), date!(2026 - 12 - 28));
        assert_eq!(nth_publication_after(date!(2026 - 12 - 31), 1), date!(2027 - 01 - 04));
        assert_eq!(nth_publication_after(date!(2026 - 11 - 18), 2), date!(2026 - 11 - 20));
        assert_eq!(nth_publication_after(date!(2026 - 11 - 21), 0), date!(2026 - 11 - 21));
        assert_eq!(nth_publication_after(Date::MAX, 3), Date::MAX);
        assert!(!is_publication_day(date!(2026 - 05 - 01)));
    }

    #[test]
    fn missed_two_hours_after_the_latest_publication() {
        assert_eq!(overdue_at(date!(2026 - 11 - 20)).to_string(), "2026-11-20T17:00:00.000000Z");
    }
}
