use std::collections::BTreeSet;

use dropin_money::Currency;

/// A limit makes no sense.
///
/// ```
/// use dropin_rates::{LimitsError, RateSourceLimits};
///
/// assert_eq!(RateSourceLimits::new(0, 5, 20), Err(LimitsError::Publications));
/// assert_eq!(RateSourceLimits::new(2, 5, 0), Err(LimitsError::Jump));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LimitsError {
    /// No missed publication would be tolerated, or more than a month of them.
    #[error("rates are stale after 1 to 30 missed publications")]
    Publications,
    /// Nothing could ever change, or nothing would be guarded against.
    #[error("a rate may jump by 1 to 900 percent")]
    Jump,
}

/// When rates are too old, and how far one may jump.
///
/// Age is counted in publications that did not come, not in hours: the ECB publishes on working days only, so a table of Maundy Thursday
/// is still the newest one five days later, while a table of Monday is late by Wednesday.
///
/// ```
/// use dropin_money::Currency;
/// use dropin_rates::RateSourceLimits;
///
/// let limits = RateSourceLimits::default().with_confirmed([Currency::Try]);
/// assert_eq!((limits.stale_after(), limits.supplement_stale_after(), limits.jump_percent()), (2, 5, 20));
/// assert!(limits.is_confirmed(Currency::Try) && !limits.is_confirmed(Currency::Usd));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "StoredLimits")
)]
pub struct RateSourceLimits {
    stale_after: u16,
    supplement_stale_after: u16,
    jump_percent: u16,
    confirmed: BTreeSet<Currency>,
}

impl Default for RateSourceLimits {
    /// Stale after two missed publications (with weekends and holidays that is two to six days; one may be late or lost without harm), the
    /// supplement after five, a working week, since few sources of rare currencies are as punctual. Jumps up to 20 %: from 1999 to
    /// October 2026 the ECB's files hold seven larger ones among 198,000 quotes, all in crises that a person would have wanted to look at.
    fn default() -> Self {
        Self { stale_after: 2, supplement_stale_after: 5, jump_percent: 20, confirmed: BTreeSet::new() }
    }
}

impl RateSourceLimits {
    /// The limits of a deployment: rates are stale after 1 to 30 missed publications, and may jump by 1 to 900 percent.
    ///
    /// # Errors
    /// [`LimitsError`].
    ///
    /// ```
    /// use dropin_rates::RateSourceLimits;
    ///
    /// assert_eq!(RateSourceLimits::new(2, 5, 20), Ok(RateSourceLimits::default()));
    /// ```
    pub fn new(stale_after: u16, supplement_stale_after: u16, jump_percent: u16) -> Result<Self, LimitsError> {
        let publications = 1..=30;
        if !publications.contains(&stale_after) || !publications.contains(&supplement_stale_after) {
            return Err(LimitsError::Publications);
        }
        if !(1..=900).contains(&jump_percent) {
            return Err(LimitsError::Jump);
        }
        Ok(Self { stale_after, supplement_stale_after, jump_percent, confirmed: BTreeSet::new() })
    }

    /// The same limits, with currencies whose jump a person has looked at and found to be real: they are not guarded.
    ///
    /// ```
    /// use dropin_money::Currency;
    ///
    /// let limits = dropin_rates::RateSourceLimits::default().with_confirmed([Currency::Ars]);
    /// assert!(limits.is_confirmed(Currency::Ars));
    /// ```
    #[must_use]
    pub fn with_confirmed(mut self, currencies: impl IntoIterator<Item = Currency>) -> Self {
        self.confirmed.extend(currencies);
        self
    }

    /// Missed publications that make the table stale.
    ///
    /// ```
    /// assert_eq!(dropin_rates::RateSourceLimits::default().stale_after(), 2);
    /// ```
    pub const fn stale_after(&self) -> u16 {
        self.stale_after
    }

    /// Missed publications that make a quote of the supplement stale.
    ///
    /// ```
    /// assert_eq!(dropin_rates::RateSourceLimits::default().supplement_stale_after(), 5);
    /// ```
    pub const fn supplement_stale_after(&self) -> u16 {
        self.supplement_stale_after
    }

    /// Largest change from one table to the next, in percent of the smaller of the two rates.
    ///
    /// ```
    /// assert_eq!(dropin_rates::RateSourceLimits::default().jump_percent(), 20);
    /// ```
    pub const fn jump_percent(&self) -> u16 {
        self.jump_percent
    }

    /// Whether a person has confirmed the jump of `currency`.
    ///
    /// ```
    /// assert!(!dropin_rates::RateSourceLimits::default().is_confirmed(dropin_money::Currency::Try));
    /// ```
    pub fn is_confirmed(&self, currency: Currency) -> bool {
        self.confirmed.contains(&currency)
    }
}

/// The serialized form, before it is checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct StoredLimits {
    stale_after: u16,
    supplement_stale_after: u16,
    jump_percent: u16,
    #[serde(deserialize_with = "crate::serialized::currencies")]
    confirmed: BTreeSet<Currency>,
}

#[cfg(feature = "serde")]
impl TryFrom<StoredLimits> for RateSourceLimits {
    type Error = LimitsError;

    fn try_from(stored: StoredLimits) -> Result<Self, LimitsError> {
        let limits = Self::new(stored.stale_after, stored.supplement_stale_after, stored.jump_percent)?;
        Ok(limits.with_confirmed(stored.confirmed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_make_no_sense_are_refused() {
        assert_eq!(RateSourceLimits::new(2, 5, 20), Ok(RateSourceLimits::default()));
        assert_eq!(RateSourceLimits::new(0, 5, 20), Err(LimitsError::Publications));
        assert_eq!(RateSourceLimits::new(2, 31, 20), Err(LimitsError::Publications));
        assert_eq!(RateSourceLimits::new(2, 5, 0), Err(LimitsError::Jump));
        assert_eq!(RateSourceLimits::new(2, 5, 901), Err(LimitsError::Jump));
    }
}
