use std::fmt;
use std::str::FromStr;

use crate::factor::Factor;
use crate::list::ListKind;
use crate::velocity::VelocityName;

/// The name of a rule in the rules' file: 1 to 40 capitals, digits and underscores.
///
/// ```
/// use dropin_risk::RuleName;
///
/// assert!("LARGE_ABROAD".parse::<RuleName>().is_ok());
/// assert!("large abroad".parse::<RuleName>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleName(String);

/// The text is no name of a rule.
///
/// ```
/// # use dropin_risk::RuleName;
/// let refused = "".parse::<RuleName>().unwrap_err();
/// assert_eq!(refused.to_string(), "must be 1 to 40 capitals, digits and underscores, such as LARGE_ABROAD");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 40 capitals, digits and underscores, such as LARGE_ABROAD")]
pub struct InvalidRuleName;

impl RuleName {
    /// The name.
    ///
    /// ```
    /// # use dropin_risk::RuleName;
    /// assert_eq!("A".parse::<RuleName>().unwrap().as_str(), "A");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for RuleName {
    type Err = InvalidRuleName;

    fn from_str(text: &str) -> Result<Self, InvalidRuleName> {
        if (1..=40).contains(&text.len()) && text.bytes().all(is_of_name) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidRuleName)
        }
    }
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

/// The code of the score from outside.
const OUTSIDE_SCORE: &str = "OUTSIDE_SCORE";
/// Before what stands beside it.
const OUTSIDE_REASON: &str = "OUTSIDE_SAYS_";

/// Why a payment was decided on as it was, by a name that stays.
///
/// ```
/// use dropin_risk::{Factor, ReasonCode};
///
/// assert_eq!("NEW_SHOPPER".parse(), Ok(ReasonCode::Factor(Factor::NewShopper)));
/// for text in ["DEVICE_CARDS_HOUR", "RULE_LARGE_ABROAD", "ALLOW_PROFILES", "BLOCK_EMAIL_DOMAINS"] {
///     assert_eq!(text.parse::<ReasonCode>().unwrap().to_string(), text);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ReasonCode {
    /// It stands on a block list.
    BlockList(ListKind),
    /// It stands on an allow list.
    AllowList(ListKind),
    /// An exact rule applies.
    Rule(RuleName),
    /// More than the limit was counted.
    Velocity(VelocityName),
    /// A factor applies.
    Factor(Factor),
    /// The score from outside.
    OutsideScore,
    /// What stands beside that score.
    OutsideReason(RuleName),
    /// One that this release does not know, read from what an older or a newer one stored: it is shown as it stands there.
    Unknown(String),
}

#[cfg(feature = "serde")]
impl ReasonCode {
    /// Most characters of a code that is not known.
    const MAX_UNKNOWN_CHARACTERS: usize = 80;

    /// A code that was stored.
    pub(crate) fn of_stored(text: &str) -> Result<Self, UnknownReason> {
        let is_code = (1..=Self::MAX_UNKNOWN_CHARACTERS).contains(&text.len()) && text.bytes().all(is_of_name);
        text.parse().or_else(|unknown| if is_code { Ok(Self::Unknown(text.to_owned())) } else { Err(unknown) })
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockList(kind) => write!(f, "BLOCK_{kind}"),
            Self::AllowList(kind) => write!(f, "ALLOW_{kind}"),
            Self::Rule(name) => write!(f, "RULE_{name}"),
            Self::Velocity(name) => name.fmt(f),
            Self::Factor(factor) => factor.fmt(f),
            Self::OutsideScore => f.write_str(OUTSIDE_SCORE),
            Self::OutsideReason(name) => write!(f, "{OUTSIDE_REASON}{name}"),
            Self::Unknown(code) => f.write_str(code),
        }
    }
}

/// The text is no reason of screening.
///
/// ```
/// # use dropin_risk::ReasonCode;
/// assert_eq!("AGE".parse::<ReasonCode>().unwrap_err().to_string(), "is no reason of screening");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no reason of screening")]
pub struct UnknownReason;

impl FromStr for ReasonCode {
    type Err = UnknownReason;

    fn from_str(text: &str) -> Result<Self, UnknownReason> {
        let known = if let Some(kind) = text.strip_prefix("BLOCK_") {
            kind.parse().ok().map(Self::BlockList)
        } else if let Some(kind) = text.strip_prefix("ALLOW_") {
            kind.parse().ok().map(Self::AllowList)
        } else if let Some(name) = text.strip_prefix("RULE_") {
            name.parse().ok().map(Self::Rule)
        } else if let Some(name) = text.strip_prefix(OUTSIDE_REASON) {
            name.parse().ok().map(Self::OutsideReason)
        } else if text == OUTSIDE_SCORE {
            Some(Self::OutsideScore)
        } else {
            let velocity = || text.parse().ok().map(Self::Velocity);
            text.parse().ok().map(Self::Factor).or_else(velocity)
        };
        known.ok_or(UnknownReason)
    }
}

/// One reason, with what it adds to the score.
///
/// ```
/// use dropin_risk::{Factor, Reason, ReasonCode};
///
/// let reason = Reason { code: ReasonCode::Factor(Factor::NewShopper), points: 5 };
/// assert_eq!(reason.to_string(), "NEW_SHOPPER +5");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "PascalCase", deny_unknown_fields))]
pub struct Reason {
    /// Its name.
    pub code: ReasonCode,
    /// Its points: 0 for a list or an exact rule, negative for what speaks for the shopper.
    pub points: i16,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:+}", self.code, self.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::velocity::{VelocityKey, VelocityMeasure, VelocityWindow};

    #[test]
    fn every_code_is_read_as_itself() {
        let mut codes: Vec<ReasonCode> = Factor::ALL.map(ReasonCode::Factor).to_vec();
        for kind in ListKind::ALL {
            codes.extend([ReasonCode::BlockList(kind), ReasonCode::AllowList(kind)]);
        }
        for key in VelocityKey::ALL {
            let counts = |measure: &VelocityMeasure| key != VelocityKey::Merchant || *measure != VelocityMeasure::Cards;
            for measure in VelocityMeasure::ALL.into_iter().filter(counts) {
                codes.extend(
                    VelocityWindow::ALL.map(|window| ReasonCode::Velocity(VelocityName { key, measure, window })),
                );
            }
        }
        codes.push(ReasonCode::Rule("RULE_1".parse().unwrap()));
        codes.extend([ReasonCode::OutsideScore, ReasonCode::OutsideReason("SCORE".parse().unwrap())]);
        for code in codes {
            assert_eq!(code.to_string().parse(), Ok(code.clone()), "{code}");
        }
        for text in
            ["", "BLOCK_", "ALLOW_NOBODY", "RULE_", "RULE_a", "DEVICE_CARDS", "MERCHANT_CARDS_DAY", "new_shopper"]
        {
            assert_eq!(text.parse::<ReasonCode>(), Err(UnknownReason), "{text}");
        }
    }

    #[test]
    fn names_have_bounds() {
        assert!("A".repeat(40).parse::<RuleName>().is_ok());
        for text in ["A".repeat(41), "A-B".to_owned(), "Ä".to_owned(), "A B".to_owned()] {
            assert_eq!(text.parse::<RuleName>(), Err(InvalidRuleName));
        }
    }
}
