use std::fmt;

use dropin_kernel::coded_enum;

use crate::reason::Reason;

coded_enum! {
    /// What screening says of a payment, from the mildest to the strictest (docs/SPECIFICATION.md#screening).
    ///
    /// ```
    /// use dropin_risk::Decision;
    ///
    /// assert_eq!("CHALLENGE".parse(), Ok(Decision::Challenge));
    /// assert!(Decision::Review < Decision::Block);
    /// ```
    pub enum Decision: "decision of screening" {
        /// The payment goes on.
        Allow = "ALLOW",
        /// The shopper has to authenticate (3-D Secure) first.
        Challenge = "CHALLENGE",
        /// The shopper has to authenticate where the method can, and what is authorized waits for a person.
        Review = "REVIEW",
        /// The processor is not asked.
        Block = "BLOCK",
    }
}

impl Decision {
    /// Whether the shopper is asked to authenticate: a payment that is worth a person's time is worth a challenge first, and a card that fails it shows
    /// nobody whether it is live.
    ///
    /// ```
    /// # use dropin_risk::Decision;
    /// let asked = Decision::ALL.map(Decision::asks_authentication);
    /// assert_eq!(asked, [false, true, true, false]);
    /// ```
    pub const fn asks_authentication(self) -> bool {
        matches!(self, Self::Challenge | Self::Review)
    }

    /// Whether the processor hears of the payment at all.
    ///
    /// ```
    /// # use dropin_risk::Decision;
    /// assert!(Decision::Review.asks_processor() && !Decision::Block.asks_processor());
    /// ```
    pub const fn asks_processor(self) -> bool {
        !matches!(self, Self::Block)
    }
}

/// How suspicious a payment is: 0, not at all, to [`Score::MAX`].
///
/// ```
/// use dropin_risk::Score;
///
/// assert_eq!(Score::of_points(45).value(), 45);
/// assert_eq!((Score::of_points(-5).value(), Score::of_points(250)), (0, Score::MAX));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u8", into = "u8"))]
pub struct Score(u8);

impl Score {
    /// The highest score.
    pub const MAX: Self = Self(100);

    /// The score of this many points, held between 0 and [`Score::MAX`].
    pub fn of_points(points: i64) -> Self {
        Self(u8::try_from(points.clamp(0, i64::from(Self::MAX.0))).unwrap_or(Self::MAX.0))
    }

    /// The number, 0 to 100.
    pub const fn value(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Score> for u8 {
    fn from(score: Score) -> Self {
        score.0
    }
}

impl TryFrom<u8> for Score {
    type Error = ScoreTooHigh;

    /// A score that was stored.
    fn try_from(value: u8) -> Result<Self, ScoreTooHigh> {
        if value <= Self::MAX.0 { Ok(Self(value)) } else { Err(ScoreTooHigh) }
    }
}

/// The number is above [`Score::MAX`].
///
/// ```
/// use dropin_risk::{Score, ScoreTooHigh};
///
/// assert_eq!(Score::try_from(101), Err(ScoreTooHigh));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a score from 0 to 100")]
pub struct ScoreTooHigh;

/// The points of all reasons together, as a score.
pub(crate) fn score_of(reasons: &[Reason]) -> Score {
    Score::of_points(reasons.iter().map(|reason| i64::from(reason.points)).sum())
}
