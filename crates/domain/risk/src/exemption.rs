//! Exemptions from strong customer authentication, after the Delegated Regulation (EU) 2018/389.

use dropin_kernel::coded_enum;
use dropin_validation::Country;

use crate::decision::Decision;
use crate::factor::Factor;
use crate::facts::{Facts, IssuerChecks};
use crate::rules::Rules;
use crate::velocity::{VelocityKey, VelocityWindow};

/// Most of one payment of low value, in euro cents (article 16(a)).
const LOW_VALUE_CENTS: u64 = 30_00;
/// Most of all payments of low value since the last authentication, in euro cents (article 16(b)).
const LOW_VALUE_TOTAL_CENTS: u64 = 10_000;
/// Most payments of low value since the last authentication (article 16(c)).
const LOW_VALUE_PAYMENTS: u32 = 5;
/// Most that any acquirer may exempt by its risk analysis, in euro cents (article 18 and the annex).
const RISK_ANALYSIS_CENTS: u64 = 50_000;
/// Where strong authentication is asked for by law: the European Economic Area and the United Kingdom.
const WHERE_REQUIRED: [&str; 31] = [
    "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB", "GR", "HR", "HU", "IE", "IS", "IT", "LI",
    "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK",
];

coded_enum! {
    /// Why a payment may do without strong customer authentication. The processor is asked for it; the issuer may refuse.
    ///
    /// Of those that apply the first is asked for.
    ///
    /// ```
    /// use dropin_risk::ScaExemption;
    ///
    /// assert_eq!("LOW_VALUE".parse(), Ok(ScaExemption::LowValue));
    /// ```
    #[non_exhaustive]
    pub enum ScaExemption: "exemption from strong authentication" {
        /// The merchant charges a contract while the shopper is away: outside the scope of the law.
        MerchantInitiated = "MERCHANT_INITIATED",
        /// The card's issuer is outside the European Economic Area and the United Kingdom: outside the scope of the law.
        OneLegOut = "ONE_LEG_OUT",
        /// The amount is low, and so are number and sum of those since the last authentication.
        LowValue = "LOW_VALUE",
        /// The acquirer has agreed to exempt amounts up to a limit, by its rates of fraud.
        TransactionRiskAnalysis = "TRANSACTION_RISK_ANALYSIS",
    }
}

/// Payments by one card that were approved under an exemption since its shopper authenticated last.
///
/// ```
/// use dropin_risk::ExemptedPayments;
///
/// let before = ExemptedPayments { payments: 4, amount_cents: 75_00 };
/// assert!(before.allow(25_00));
/// assert!(!before.allow(25_01), "EUR 100 together");
/// assert!(!before.allow(30_01), "EUR 30 each");
/// assert!(!ExemptedPayments { payments: 5, amount_cents: 5_00 }.allow(1_00), "five payments");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "PascalCase", deny_unknown_fields))]
pub struct ExemptedPayments {
    /// How many.
    pub payments: u32,
    /// Their sum in euro cents.
    pub amount_cents: u64,
}

impl ExemptedPayments {
    /// Whether one more of this many euro cents is of low value.
    pub const fn allow(self, amount_cents: u64) -> bool {
        amount_cents <= LOW_VALUE_CENTS
            && self.payments < LOW_VALUE_PAYMENTS
            && self.amount_cents.saturating_add(amount_cents) <= LOW_VALUE_TOTAL_CENTS
    }
}

impl ScaExemption {
    /// Most euro cents that a file of rules may name for it; `None` where it has no amount.
    pub(crate) const fn most_cents(self) -> Option<u64> {
        match self {
            Self::LowValue => Some(LOW_VALUE_CENTS),
            Self::TransactionRiskAnalysis => Some(RISK_ANALYSIS_CENTS),
            Self::MerchantInitiated | Self::OneLegOut => None,
        }
    }

    /// Whether it applies to a payment of `amount_cents`, where the rules ask for it up to `limit_cents`.
    fn applies(self, facts: &Facts, amount_cents: u64, limit_cents: u64) -> bool {
        match self {
            Self::MerchantInitiated => false,
            Self::OneLegOut => facts.card_country.is_some_and(|country| !is_required_in(country)),
            Self::LowValue => {
                amount_cents <= limit_cents && facts.exempted.is_some_and(|before| before.allow(amount_cents))
            }
            Self::TransactionRiskAnalysis => amount_cents <= limit_cents,
        }
    }
}

impl Rules {
    /// Whether an exemption from strong authentication is ever asked for.
    ///
    /// ```
    /// use dropin_risk::{Rules, RulesFile};
    ///
    /// assert!(!Rules::built_in().ask_exemptions());
    /// let file = RulesFile::parse("[exemptions]\nLOW_VALUE = '30.00 EUR'")?;
    /// assert!(Rules::built_in().with(&file)?.ask_exemptions());
    /// # Ok::<(), dropin_risk::Mistakes>(())
    /// ```
    pub fn ask_exemptions(&self) -> bool {
        !self.exemptions.is_empty()
    }

    /// The exemption that the processor is asked for. None is asked for:
    ///
    /// - where anything but ALLOW was decided before the issuer spoke, or the merchant's declines jump;
    /// - for what is no card, or is stored: the shopper authenticates when a card is stored;
    /// - for nothing, or an amount that is not known;
    /// - where tries are not counted: nobody knows then whether the merchant's declines jump.
    pub(crate) fn exemption(&self, facts: &Facts, decision: Decision) -> Option<ScaExemption> {
        let amount_cents = facts.amount_cents.filter(|cents| *cents != 0)?;
        if self.exemptions.is_empty() || facts.scheme.is_none() || facts.is_stored {
            return None;
        }
        let before_issuer = if facts.issuer == IssuerChecks::default() {
            decision
        } else {
            self.screen(Facts { issuer: IssuerChecks::default(), ..facts.clone() }).decision()
        };
        let is_counted = facts.velocity.sum(VelocityKey::Merchant, VelocityWindow::TenMinutes).is_some();
        if !is_counted || before_issuer != Decision::Allow || Factor::MerchantAlarm.applies(facts, self) {
            return None;
        }
        let mut asked = self.exemptions.iter();
        asked
            .find(|(exemption, limit)| exemption.applies(facts, amount_cents, **limit))
            .map(|(exemption, _)| *exemption)
    }
}

fn is_required_in(country: Country) -> bool {
    WHERE_REQUIRED.contains(&country.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strong_authentication_is_required_in_31_countries() {
        let required: Vec<_> = Country::ALL.into_iter().filter(|country| is_required_in(*country)).collect();
        assert_eq!(required.len(), WHERE_REQUIRED.len(), "each code is a country's");
        assert!(WHERE_REQUIRED.is_sorted());
    }
}
