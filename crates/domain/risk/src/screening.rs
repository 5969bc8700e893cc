use crate::decision::{Decision, Score, score_of};
use crate::exemption::ScaExemption;
use crate::factor::Factor;
use crate::facts::Facts;
use crate::reason::{Reason, ReasonCode};
use crate::rules::{Rules, RulesFingerprint};

/// What screening made of a payment, with all that is needed to make it again: the facts, and which rules there were.
///
/// ```
/// use dropin_risk::{Decision, Facts, Rules, VelocityKey, VelocitySum, VelocityWindow};
///
/// let mut facts = Facts::default();
/// facts.velocity.set(VelocityKey::Device, VelocityWindow::Hour, VelocitySum { cards: 5, ..VelocitySum::default() });
/// let screening = Rules::built_in().screen(facts);
/// assert_eq!(screening.decision(), Decision::Block);
/// assert_eq!(screening.reasons()[0].to_string(), "DEVICE_CARDS_HOUR +90");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "PascalCase", deny_unknown_fields))]
pub struct Screening {
    decision: Decision,
    score: Score,
    reasons: Vec<Reason>,
    rules: RulesFingerprint,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    exemption: Option<ScaExemption>,
    facts: Facts,
}

impl Rules {
    /// Screens a payment.
    ///
    /// - What a block list holds is blocked; else what an allow list holds is allowed.
    /// - Else the strictest decides: the threshold that the score reaches, or an exact rule that applies.
    ///
    /// The score is counted and every reason is named in each case, the strongest first.
    pub fn screen(&self, facts: Facts) -> Screening {
        let factors = self.weights.iter().filter(|(factor, _)| factor.applies(&facts, self));
        let factors = factors.map(|(factor, points)| Reason { code: ReasonCode::Factor(*factor), points: *points });
        let exceeded = self.velocity.iter().filter(|(name, limit)| {
            let counted = facts.velocity.number(**name);
            counted.is_some_and(|counted| limit.most < counted)
        });
        let exceeded = exceeded.map(|(name, limit)| Reason { code: ReasonCode::Velocity(*name), points: limit.points });
        let outside = facts.outside.as_ref().filter(|_| self.ask_outside());
        let outside_score = outside.and_then(|outside| self.outside.reason(outside));
        let mut reasons: Vec<Reason> = factors.chain(exceeded).chain(outside_score).collect();
        let score = score_of(&reasons);

        let without_points = |code| Reason { code, points: 0 };
        let blocked = self.block.blocking(&facts).into_iter().map(ReasonCode::BlockList).map(without_points);
        let allowed = self.allow.allowing(&facts).into_iter().map(ReasonCode::AllowList).map(without_points);
        let (blocked, allowed): (Vec<_>, Vec<_>) = (blocked.collect(), allowed.collect());
        let applying: Vec<_> = self.exact.iter().filter(|(_, rule)| rule.applies(&facts, self)).collect();
        let by_rules = applying.iter().map(|(_, rule)| rule.decision).max().unwrap_or(Decision::Allow);
        let decision = match (blocked.is_empty(), allowed.is_empty()) {
            (false, _) => Decision::Block,
            (true, false) => Decision::Allow,
            (true, true) => self.decide(score).max(by_rules),
        };

        reasons.extend(blocked.into_iter().chain(allowed));
        reasons.extend(applying.into_iter().map(|(name, _)| without_points(ReasonCode::Rule(name.clone()))));
        let outside_reasons = outside.into_iter().flat_map(|outside| outside.reasons.iter().cloned());
        reasons.extend(outside_reasons.map(ReasonCode::OutsideReason).map(without_points));
        reasons.sort_by(|one, other| {
            let has_points = |reason: &Reason| reason.points != 0;
            let order = has_points(one).cmp(&has_points(other)).then(other.points.abs().cmp(&one.points.abs()));
            order.then_with(|| one.code.cmp(&other.code))
        });
        let exemption = self.exemption(&facts, decision);
        Screening { decision, score, reasons, rules: self.fingerprint(), exemption, facts }
    }
}

impl Screening {
    /// What was decided.
    ///
    /// ```
    /// # use dropin_risk::{Decision, Facts, Rules};
    /// assert_eq!(Rules::built_in().screen(Facts::default()).decision(), Decision::Allow);
    /// ```
    pub const fn decision(&self) -> Decision {
        self.decision
    }

    /// How suspicious the payment is.
    ///
    /// ```
    /// # use dropin_risk::{Facts, Rules};
    /// assert_eq!(Rules::built_in().screen(Facts::default()).score().value(), 5, "a new shopper");
    /// ```
    pub const fn score(&self) -> Score {
        self.score
    }

    /// Why: lists and exact rules first, then the most points.
    ///
    /// ```
    /// # use dropin_risk::{Facts, Rules};
    /// assert_eq!(Rules::built_in().screen(Facts::default()).reasons()[0].to_string(), "NEW_SHOPPER +5");
    /// ```
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Whether the merchant's declines jumped when it was decided.
    ///
    /// ```
    /// # use dropin_risk::{Facts, Rules};
    /// assert!(!Rules::built_in().screen(Facts::default()).is_in_alarm());
    /// ```
    pub fn is_in_alarm(&self) -> bool {
        self.reasons.iter().any(|reason| reason.code == ReasonCode::Factor(Factor::MerchantAlarm))
    }

    /// The exemption from strong authentication that the processor is asked for.
    ///
    /// ```
    /// # use dropin_risk::{ExemptedPayments, Facts, Rules, RulesFile, ScaExemption, VelocityKey, VelocitySum, VelocityWindow};
    /// let rules = Rules::built_in().with(&RulesFile::parse("[exemptions]\nLOW_VALUE = '30.00 EUR'")?)?;
    /// let exempted = Some(ExemptedPayments::default());
    /// let mut facts = Facts { amount_cents: Some(9_90), scheme: "VISA".parse().ok(), exempted, ..Facts::default() };
    /// // The merchant's tries are counted, and there were none.
    /// facts.velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum::default());
    /// assert_eq!(rules.screen(facts).exemption(), Some(ScaExemption::LowValue));
    /// # Ok::<(), dropin_risk::Mistakes>(())
    /// ```
    pub const fn exemption(&self) -> Option<ScaExemption> {
        self.exemption
    }

    /// The rules that decided.
    ///
    /// ```
    /// # use dropin_risk::{Facts, Rules};
    /// let rules = Rules::built_in();
    /// assert_eq!(rules.screen(Facts::default()).rules(), rules.fingerprint());
    /// ```
    pub const fn rules(&self) -> RulesFingerprint {
        self.rules
    }

    /// What was known.
    ///
    /// ```
    /// # use dropin_risk::{Facts, Rules};
    /// assert_eq!(Rules::built_in().screen(Facts::default()).facts(), &Facts::default());
    /// ```
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The same payment under `rules`: itself, where they are those that decided.
    ///
    /// ```
    /// # use dropin_risk::{Facts, Rules};
    /// let rules = Rules::built_in();
    /// let screening = rules.screen(Facts::default());
    /// assert_eq!(screening.repeat(&rules), screening);
    /// ```
    #[must_use]
    pub fn repeat(&self, rules: &Rules) -> Self {
        rules.screen(self.facts.clone())
    }
}
