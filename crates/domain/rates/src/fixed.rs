use dropin_money::Currency;
use time::Date;
use time::macros::date;

use crate::Rate;

/// A currency that gave way to the euro: its rate is law and never changes again.
///
/// ```
/// use dropin_rates::conversion_on;
/// use time::macros::date;
///
/// let kuna = conversion_on(date!(2023 - 01 - 01)).next().unwrap();
/// assert_eq!((kuna.currency.code(), kuna.rate().to_string()), ("HRK", "7.5345".to_owned()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// The currency that was withdrawn.
    pub currency: Currency,
    /// The first day on which one euro is this many units for ever.
    pub from: Date,
    /// Units for one euro, as the law writes it.
    units: &'static str,
    /// Where that is laid down.
    pub law: &'static str,
}

/// The withdrawn currencies among docs/SPECIFICATION.md#currencies.
const CONVERSIONS: [Conversion; 2] = [
    Conversion {
        currency: Currency::Hrk,
        from: date!(2023 - 01 - 01),
        units: "7.53450",
        law: "Regulation (EC) No 2866/98 as amended for Croatia by Council Regulation (EU) 2022/1208",
    },
    Conversion {
        currency: Currency::Bgn,
        from: date!(2026 - 01 - 01),
        units: "1.95583",
        law: "Regulation (EC) No 2866/98 as amended for Bulgaria by Council Regulation (EU) 2025/1409",
    },
];

impl Conversion {
    /// Units of the withdrawn currency for one euro.
    ///
    /// ```
    /// # use time::macros::date;
    /// let rates: Vec<_> = dropin_rates::conversion_on(date!(2026 - 01 - 01)).map(|fixed| fixed.rate().to_string()).collect();
    /// assert_eq!(rates, ["7.5345", "1.95583"]);
    /// ```
    pub fn rate(&self) -> Rate {
        Rate::parse(self.units).expect("the table of conversions holds rates, and a test reads each of them")
    }
}

/// The withdrawn currencies whose rate is fixed on `day`.
///
/// ```
/// # use time::macros::date;
/// assert_eq!(dropin_rates::conversion_on(date!(2022 - 12 - 31)).count(), 0);
/// ```
pub fn conversion_on(day: Date) -> impl Iterator<Item = &'static Conversion> {
    CONVERSIONS.iter().filter(move |conversion| conversion.from <= day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kuna_and_lev_are_fixed_from_their_last_day_on() {
        let on = |day| conversion_on(day).map(|fixed| (fixed.currency, fixed.rate().to_string())).collect::<Vec<_>>();
        assert_eq!(on(date!(2022 - 12 - 31)), []);
        let kuna = (Currency::Hrk, "7.5345".to_owned());
        assert_eq!(on(date!(2025 - 12 - 31)), std::slice::from_ref(&kuna));
        assert_eq!(on(date!(2026 - 01 - 01)), [kuna, (Currency::Bgn, "1.95583".to_owned())]);
    }
}
