use std::collections::BTreeMap;

use crate::reason::ReasonCode;
use crate::screening::Screening;

/// What turned out about a payment afterwards.
///
/// ```
/// use dropin_risk::ScreeningLabel;
///
/// assert_ne!(ScreeningLabel::Fraud, ScreeningLabel::Legitimate);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreeningLabel {
    /// It was as it should be.
    Legitimate,
    /// It was fraud, or taken for fraud.
    Fraud,
}

/// How often a reason applied to payments of which it turned out what they were.
///
/// ```
/// use dropin_risk::{Factor, ReasonCode, ReasonReport};
///
/// let report = ReasonReport { code: ReasonCode::Factor(Factor::NewShopper), fraud: 1, legitimate: 3 };
/// assert_eq!(report.precision(), 25);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonReport {
    /// The reason.
    pub code: ReasonCode,
    /// Frauds that it applied to.
    pub fraud: u64,
    /// Legitimate payments that it applied to.
    pub legitimate: u64,
}

impl ReasonReport {
    /// How many of 100 payments that it applied to were fraud, rounded down.
    pub const fn precision(&self) -> u64 {
        percent(self.fraud, self.fraud.saturating_add(self.legitimate))
    }
}

/// How well reasons told fraud from legitimate payments.
///
/// ```
/// use dropin_risk::{Facts, Rules, ScreeningLabel, ScreeningReport};
///
/// let new = Rules::built_in().screen(Facts::default());
/// let known = Rules::built_in().screen(Facts { known_days: Some(7), ..Facts::default() });
/// let report = ScreeningReport::of([(&new, ScreeningLabel::Fraud), (&known, ScreeningLabel::Fraud)]);
/// assert_eq!((report.fraud, report.legitimate), (2, 0));
/// let [reason] = &report.reasons[..] else { panic!("NEW_SHOPPER alone") };
/// assert_eq!((reason.precision(), report.recall(reason)), (100, 50));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreeningReport {
    /// How many payments were fraud.
    pub fraud: u64,
    /// How many were legitimate.
    pub legitimate: u64,
    /// Each reason that applied to one of them: those with the most frauds first, and of these those with the fewest legitimate payments.
    pub reasons: Vec<ReasonReport>,
}

impl ScreeningReport {
    /// Of payments with what turned out about them.
    pub fn of<'a>(labelled: impl IntoIterator<Item = (&'a Screening, ScreeningLabel)>) -> Self {
        let (mut all, mut by_reason) = ([0_u64; 2], BTreeMap::<&ReasonCode, [u64; 2]>::new());
        for (screening, label) in labelled {
            let place = usize::from(label == ScreeningLabel::Fraud);
            all[place] += 1;
            for reason in screening.reasons() {
                by_reason.entry(&reason.code).or_default()[place] += 1;
            }
        }
        let [legitimate, fraud] = all;
        let report = |(code, [legitimate, fraud]): (&ReasonCode, [u64; 2])| ReasonReport {
            code: code.clone(),
            fraud,
            legitimate,
        };
        let mut reasons: Vec<_> = by_reason.into_iter().map(report).collect();
        reasons.sort_by(|one, other| other.fraud.cmp(&one.fraud).then(one.legitimate.cmp(&other.legitimate)));
        Self { fraud, legitimate, reasons }
    }

    /// How many of 100 frauds a reason applied to, rounded down.
    pub const fn recall(&self, reason: &ReasonReport) -> u64 {
        percent(reason.fraud, self.fraud)
    }
}

const fn percent(part: u64, whole: u64) -> u64 {
    match whole {
        0 => 0,
        _ => part.saturating_mul(100) / whole,
    }
}
