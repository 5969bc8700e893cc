use dropin_kernel::coded_enum;

use crate::decision::Score;
use crate::reason::{Reason, ReasonCode, RuleName};

coded_enum! {
    /// The numbers of the section `outside`.
    pub(crate) enum OutsideName: "number of the outside score" {
        /// The points of the highest score; 0 where no service is asked.
        Weight = "WEIGHT",
        /// The score that stands for one that did not come.
        Default = "DEFAULT",
    }
}

/// What a service outside says of a payment.
///
/// ```
/// use dropin_risk::{Facts, OutsideScore, Rules, RulesFile, Score};
///
/// let rules = Rules::built_in().with(&RulesFile::parse("[outside]\nWEIGHT = 50\nDEFAULT = 20")?)?;
/// let score = |outside| rules.screen(Facts { known_days: Some(7), outside, ..Facts::default() }).score().value();
/// let said = OutsideScore { score: Some(Score::of_points(80)), reasons: Vec::new() };
/// assert_eq!((score(Some(said)), score(Some(OutsideScore::default())), score(None)), (40, 10, 0));
/// # Ok::<(), dropin_risk::Mistakes>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "PascalCase", deny_unknown_fields))]
pub struct OutsideScore {
    /// How suspicious the payment is; `None` where no answer came in time.
    pub score: Option<Score>,
    /// Why, in the service's own names.
    pub reasons: Vec<RuleName>,
}

/// The section `outside`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutsideWeight {
    /// The points of the highest score.
    pub(crate) weight: u8,
    /// The score that stands for one that did not come.
    pub(crate) default: u8,
}

impl OutsideWeight {
    pub(crate) const fn set(&mut self, name: OutsideName, number: u8) {
        match name {
            OutsideName::Weight => self.weight = number,
            OutsideName::Default => self.default = number,
        }
    }

    /// What the score adds, where that is anything.
    pub(crate) fn reason(self, outside: &OutsideScore) -> Option<Reason> {
        let score = outside.score.map_or(self.default, Score::value);
        let points = i16::from(self.weight) * i16::from(score) / 100;
        (points != 0).then_some(Reason { code: ReasonCode::OutsideScore, points })
    }
}
