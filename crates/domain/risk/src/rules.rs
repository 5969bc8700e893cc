//! The rules as they apply: built in, with the deployment's file and the merchant's laid over them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::condition::{ExactRule, write_euros};
use crate::decision::{Decision, Score};
use crate::exemption::ScaExemption;
use crate::factor::Factor;
use crate::facts::FactText;
use crate::list::SubjectList;
use crate::mistake::{Mistakes, Position};
use crate::outside::{OutsideName, OutsideWeight};
use crate::reason::RuleName;
use crate::rules_file::{LimitName, RulesFile, Section, Setting, VelocityLimit};
use crate::velocity::VelocityName;

/// The file of the rules that are built in.
///
/// ```
/// use dropin_risk::{BUILT_IN_RULES, Rules, RulesFile};
///
/// let file = RulesFile::parse(BUILT_IN_RULES).unwrap();
/// assert_eq!(Rules::built_in().with(&file).unwrap(), Rules::built_in(), "laid over themselves they change nothing");
/// ```
pub const BUILT_IN_RULES: &str = include_str!("built_in.toml");

/// Rules that payments are screened by. Its text is a file of rules that has all of them.
///
/// ```
/// use dropin_risk::{Decision, Facts, Rules};
///
/// let screening = Rules::built_in().screen(Facts::default());
/// assert_eq!(screening.decision(), Decision::Allow);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    thresholds: BTreeMap<Decision, u8>,
    limits: Limits,
    pub(crate) weights: BTreeMap<Factor, i16>,
    pub(crate) velocity: BTreeMap<VelocityName, VelocityLimit>,
    pub(crate) exact: BTreeMap<RuleName, ExactRule>,
    /// Up to how many euro cents each is asked for.
    pub(crate) exemptions: BTreeMap<ScaExemption, u64>,
    pub(crate) outside: OutsideWeight,
    disposable: BTreeSet<FactText>,
    pub(crate) allow: SubjectList,
    pub(crate) block: SubjectList,
    fingerprint: RulesFingerprint,
}

/// The section `limits`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub(crate) large_cents: u64,
    pub(crate) small_cents: u64,
    pub(crate) returning_days: u32,
    pub(crate) alarm_declines: u64,
    pub(crate) alarm_percent: u64,
    pub(crate) alarm_deviations: u64,
}

impl Rules {
    /// The rules of [`BUILT_IN_RULES`].
    #[allow(clippy::expect_used, reason = "the file is a part of the program, and the tests read it")]
    pub fn built_in() -> Self {
        let file = RulesFile::parse(BUILT_IN_RULES).expect("the built-in rules are well-formed");
        Self::nothing().with(&file).expect("the built-in rules fit together")
    }

    /// Rules by which everything is allowed.
    fn nothing() -> Self {
        Self {
            thresholds: Decision::ALL.into_iter().skip(1).map(|decision| (decision, Score::MAX.value() + 1)).collect(),
            limits: Limits {
                large_cents: u64::MAX,
                small_cents: 0,
                returning_days: 0,
                alarm_declines: 1,
                alarm_percent: 100,
                alarm_deviations: 100,
            },
            weights: BTreeMap::new(),
            velocity: BTreeMap::new(),
            exact: BTreeMap::new(),
            exemptions: BTreeMap::new(),
            outside: OutsideWeight::default(),
            disposable: BTreeSet::new(),
            allow: SubjectList::default(),
            block: SubjectList::default(),
            fingerprint: RulesFingerprint(0),
        }
    }

    /// These rules with those of `file` laid over them: a name that the file has gets the file's value, and lists get longer.
    ///
    /// ```
    /// use dropin_risk::{Rules, RulesFile};
    ///
    /// let deployment = Rules::built_in().with(&RulesFile::parse("[thresholds]\nCHALLENGE = 50")?)?;
    /// let wrong = deployment.with(&RulesFile::parse("[thresholds]\nREVIEW = 45")?).unwrap_err();
    /// assert_eq!(wrong.to_string(), "line 2, column 1: CHALLENGE, REVIEW and BLOCK must not fall: they are 50, 45 and 85");
    /// # Ok::<(), dropin_risk::Mistakes>(())
    /// ```
    ///
    /// # Errors
    /// What does not fit together, at the entry of the file that makes it so.
    pub fn with(&self, file: &RulesFile) -> Result<Self, Mistakes> {
        let mut rules = self.clone();
        for (_, setting) in &file.settings {
            rules.set(setting);
        }
        let mut mistakes = Mistakes::default();
        rules.check(file, &mut mistakes);
        rules.fingerprint = RulesFingerprint::of(&rules.to_string());
        mistakes.none_or(rules)
    }

    fn set(&mut self, setting: &Setting) {
        match setting.clone() {
            Setting::Threshold(decision, score) => drop(self.thresholds.insert(decision, score)),
            Setting::Limit(name, number) => self.limits.set(name, number),
            Setting::Weight(factor, 0) => drop(self.weights.remove(&factor)),
            Setting::Weight(factor, points) => drop(self.weights.insert(factor, points)),
            Setting::Velocity(name, VelocityLimit { points: 0, .. }) => drop(self.velocity.remove(&name)),
            Setting::Velocity(name, limit) => drop(self.velocity.insert(name, limit)),
            Setting::Rule(name, Some(rule)) => drop(self.exact.insert(name, rule)),
            Setting::Rule(name, None) => drop(self.exact.remove(&name)),
            Setting::Exemption(exemption, Some(cents)) => drop(self.exemptions.insert(exemption, cents)),
            Setting::Exemption(exemption, None) => drop(self.exemptions.remove(&exemption)),
            Setting::Outside(name, number) => self.outside.set(name, number),
            Setting::Disposable(domain) => drop(self.disposable.insert(domain)),
            // The file's reader has tried each entry.
            Setting::Allow(kind, entry) => drop(self.allow.add(kind, &entry)),
            Setting::Block(kind, entry) => drop(self.block.add(kind, &entry)),
        }
    }

    /// What has to hold of all rules together.
    fn check(&self, file: &RulesFile, mistakes: &mut Mistakes) {
        let last = |is_one: fn(&Setting) -> bool| {
            let found = file.settings.iter().rfind(|(_, setting)| is_one(setting));
            found.map_or(Position::START, |(at, _)| *at)
        };
        let [challenge, review, block] =
            [Decision::Challenge, Decision::Review, Decision::Block].map(|one| self.threshold(one));
        if block < review || review < challenge {
            let told = format!("CHALLENGE, REVIEW and BLOCK must not fall: they are {challenge}, {review} and {block}");
            mistakes.add(last(|setting| matches!(setting, Setting::Threshold(..))), told);
        }
        if self.limits.large_cents < self.limits.small_cents {
            mistakes.add(
                last(|setting| matches!(setting, Setting::Limit(..))),
                "LARGE_AMOUNT must not be below SMALL_AMOUNT",
            );
        }
        let address = self.points_of_address();
        if i64::from(challenge) <= address {
            let told = format!(
                "the limits by IP and NETWORK and NEW_SHOPPER have {address} points together, and must stay below the lowest \
                 threshold, {challenge}: strangers share an office's or a mobile network's address"
            );
            let is_one = |setting: &Setting| match setting {
                Setting::Velocity(name, _) => name.key.is_of_address(),
                Setting::Threshold(..) | Setting::Weight(Factor::NewShopper, _) => true,
                _ => false,
            };
            mistakes.add(last(is_one), told);
        }
    }

    /// What a stranger gets at the busiest address.
    fn points_of_address(&self) -> i64 {
        let limits = self.velocity.iter().filter(|(name, _)| name.key.is_of_address());
        let new = self.weights.get(&Factor::NewShopper).copied().unwrap_or(0).max(0);
        limits.map(|(_, limit)| i64::from(limit.points)).sum::<i64>() + i64::from(new)
    }

    fn threshold(&self, decision: Decision) -> u8 {
        self.thresholds.get(&decision).copied().unwrap_or(u8::MAX)
    }

    /// The strictest decision that a score reaches.
    pub(crate) fn decide(&self, score: Score) -> Decision {
        let reached = self.thresholds.iter().rev().find(|(_, threshold)| **threshold <= score.value());
        reached.map_or(Decision::Allow, |(decision, _)| *decision)
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn is_disposable(&self, domain: &str) -> bool {
        self.disposable.contains(&FactText::new(domain))
    }

    /// Whether a service outside is asked for a score.
    ///
    /// ```
    /// # use dropin_risk::Rules;
    /// assert!(!Rules::built_in().ask_outside());
    /// ```
    pub const fn ask_outside(&self) -> bool {
        self.outside.weight != 0
    }

    /// By what these rules are told from others.
    ///
    /// ```
    /// # use dropin_risk::Rules;
    /// assert_eq!(Rules::built_in().fingerprint().to_string().len(), 16);
    /// ```
    pub const fn fingerprint(&self) -> RulesFingerprint {
        self.fingerprint
    }
}

impl Limits {
    fn set(&mut self, name: LimitName, number: u64) {
        match name {
            LimitName::LargeAmount => self.large_cents = number,
            LimitName::SmallAmount => self.small_cents = number,
            LimitName::ReturningDays => self.returning_days = u32::try_from(number).unwrap_or(u32::MAX),
            LimitName::AlarmDeclines => self.alarm_declines = number,
            LimitName::AlarmPercent => self.alarm_percent = number,
            LimitName::AlarmDeviations => self.alarm_deviations = number,
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[{}]", Section::Thresholds)?;
        self.thresholds.iter().try_for_each(|(decision, score)| writeln!(f, "{decision} = {score}"))?;
        writeln!(f, "\n[{}]", Section::Limits)?;
        writeln!(f, "{} = \"{}\"", LimitName::LargeAmount, write_euros(self.limits.large_cents))?;
        writeln!(f, "{} = \"{}\"", LimitName::SmallAmount, write_euros(self.limits.small_cents))?;
        writeln!(f, "{} = {}", LimitName::ReturningDays, self.limits.returning_days)?;
        writeln!(f, "{} = {}", LimitName::AlarmDeclines, self.limits.alarm_declines)?;
        writeln!(f, "{} = {}", LimitName::AlarmPercent, self.limits.alarm_percent)?;
        writeln!(f, "{} = {}", LimitName::AlarmDeviations, self.limits.alarm_deviations)?;
        writeln!(f, "\n[{}]", Section::Weights)?;
        self.weights.iter().try_for_each(|(factor, points)| writeln!(f, "{factor} = {points}"))?;
        writeln!(f, "\n[{}]", Section::Velocity)?;
        let mut velocity = self.velocity.iter();
        velocity.try_for_each(|(name, limit)| writeln!(f, "{name} = [{}, {}]", limit.most, limit.points))?;
        writeln!(f, "\n[{}]", Section::Rules)?;
        self.exact.iter().try_for_each(|(name, rule)| writeln!(f, "{name} = \"{rule}\""))?;
        writeln!(f, "\n[{}]", Section::Exemptions)?;
        ScaExemption::ALL.into_iter().skip(1).try_for_each(|exemption| {
            let limit = self.exemptions.get(&exemption).map_or_else(
                || "OFF".to_owned(),
                |limit| match exemption.most_cents() {
                    Some(_) => write_euros(*limit),
                    None => "ON".to_owned(),
                },
            );
            writeln!(f, "{exemption} = \"{limit}\"")
        })?;
        writeln!(f, "\n[{}]", Section::Outside)?;
        writeln!(f, "{} = {}", OutsideName::Weight, self.outside.weight)?;
        writeln!(f, "{} = {}", OutsideName::Default, self.outside.default)?;
        writeln!(f, "\n[{}]", Section::Disposable)?;
        let domains: Vec<String> = self.disposable.iter().map(|domain| quoted(domain.as_str())).collect();
        writeln!(f, "EMAIL_DOMAINS = [{}]", domains.join(", "))?;
        for (section, list) in [(Section::Allow, &self.allow), (Section::Block, &self.block)] {
            writeln!(f, "\n[{section}]")?;
            for (kind, entries) in list.entries() {
                let entries: Vec<String> = entries.iter().map(|entry| quoted(entry)).collect();
                writeln!(f, "{kind} = [{}]", entries.join(", "))?;
            }
        }
        Ok(())
    }
}

/// A text in the quotation marks that it does not have itself: a text of a file never has both.
fn quoted(text: &str) -> String {
    let mark = if text.contains(['"', '\\']) { '\'' } else { '"' };
    format!("{mark}{text}{mark}")
}

/// A number by which rules are told from others: the same rules have the same. It is for keeping apart what was written by people who mean well, not
/// a proof against anybody.
///
/// ```
/// use dropin_risk::{Rules, RulesFingerprint};
///
/// let one = Rules::built_in().fingerprint();
/// assert_eq!(one.to_string().parse::<RulesFingerprint>(), Ok(one));
/// assert!("0123".parse::<RulesFingerprint>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RulesFingerprint(u64);

impl RulesFingerprint {
    /// FNV-1a over the canonical text.
    fn of(text: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
    }
}

impl fmt::Display for RulesFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:016x}", self.0))
    }
}

/// The text is no fingerprint of rules.
///
/// ```
/// # use dropin_risk::{InvalidRulesFingerprint, RulesFingerprint};
/// assert_eq!("".parse::<RulesFingerprint>(), Err(InvalidRulesFingerprint));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 16 hexadecimal digits in lower case")]
pub struct InvalidRulesFingerprint;

impl FromStr for RulesFingerprint {
    type Err = InvalidRulesFingerprint;

    fn from_str(text: &str) -> Result<Self, InvalidRulesFingerprint> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return Err(InvalidRulesFingerprint);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_impossible| InvalidRulesFingerprint)
    }
}
