use std::collections::BTreeSet;

use dropin_money::Currency;

/// A limit makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    stale_after: u16,
    supplement_stale_after: u16,
    jump_percent: u16,
    confirmed: BTreeSet<Currency>,
}

impl Default for Limits {
    /// Stale after two missed publications (with weekends and holidays that is two to six days; one may be late or lost without harm), the
    /// supplement after five, a working week, since few sources of rare currencies are as punctual. Jumps up to 20 %: from 1999 to
    /// October 2026 the ECB's files hold seven larger ones among 198,000 quotes, all in crises that a person would have wanted to look at.
    fn default() -> Self {
        Self { stale_after: 2, supplement_stale_after: 5, jump_percent: 20, confirmed: BTreeSet::new() }
    }
}

impl Limits {
    /// Limits of a deployment's own.
    ///
    /// # Errors
    /// [`LimitsError`].
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
    #[must_use]
    pub fn with_confirmed(mut self, currencies: impl IntoIterator<Item = Currency>) -> Self {
        self.confirmed.extend(currencies);
        self
    }

    /// Missed publications that make the table stale.
    pub const fn stale_after(&self) -> u16 {
        self.stale_after
    }

    /// Missed publications that make a quote of the supplement stale.
    pub const fn supplement_stale_after(&self) -> u16 {
        self.supplement_stale_after
    }

    /// Largest change from one table to the next, in percent of the smaller of the two rates.
    pub const fn jump_percent(&self) -> u16 {
        self.jump_percent
    }

    /// Whether a person has confirmed the jump of `currency`.
    pub fn is_confirmed(&self, currency: Currency) -> bool {
        self.confirmed.contains(&currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_make_no_sense_are_refused() {
        assert_eq!(Limits::new(2, 5, 20), Ok(Limits::default()));
        assert_eq!(Limits::new(0, 5, 20), Err(LimitsError::Publications));
        assert_eq!(Limits::new(2, 31, 20), Err(LimitsError::Publications));
        assert_eq!(Limits::new(2, 5, 0), Err(LimitsError::Jump));
        assert_eq!(Limits::new(2, 5, 901), Err(LimitsError::Jump));
    }
}
