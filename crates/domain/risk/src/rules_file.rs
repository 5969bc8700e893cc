//! A file of rules: what its sections say, before it is laid over other rules.

use std::str::FromStr;

use crate::condition::{ExactRule, euro_cents, write_euros};
use crate::decision::Decision;
use crate::exemption::ScaExemption;
use crate::factor::Factor;
use crate::facts::FactText;
use crate::list::{ListKind, SubjectList};
use crate::mistake::{Mistakes, Position};
use crate::outside::OutsideName;
use crate::reader::{self, Content, Entry, Value};
use crate::reason::RuleName;
use crate::velocity::VelocityName;
use dropin_kernel::coded_enum;

/// Most points that one reason has, against a payment or for it.
const MAX_POINTS: i64 = 100;
/// A threshold that no score reaches.
const MAX_THRESHOLD: i64 = 101;
/// Most characters of an exact rule.
const MAX_RULE_CHARACTERS: usize = 1_000;

coded_enum! {
    /// The sections of a file of rules.
    pub(crate) enum Section: "section" {
        /// From which score on a decision is made.
        Thresholds = "thresholds",
        /// Numbers that factors are told by.
        Limits = "limits",
        /// Points of factors.
        Weights = "weights",
        /// Points of what was counted above a limit.
        Velocity = "velocity",
        /// Exact rules.
        Rules = "rules",
        /// Exemptions from strong authentication.
        Exemptions = "exemptions",
        /// The score from outside.
        Outside = "outside",
        /// Domains that give e-mail addresses away.
        Disposable = "disposable",
        /// Who is always allowed.
        Allow = "allow",
        /// Who is always blocked.
        Block = "block",
    }
}

coded_enum! {
    /// The numbers of the section `limits`.
    pub(crate) enum LimitName: "limit" {
        /// Above it a total is large.
        LargeAmount = "LARGE_AMOUNT",
        /// Below it a total is small.
        SmallAmount = "SMALL_AMOUNT",
        /// Days since the first payment of a returning shopper.
        ReturningDays = "RETURNING_DAYS",
        /// Fewest declines of an alarm.
        AlarmDeclines = "ALARM_DECLINES",
        /// The largest share of declines that is usual.
        AlarmPercent = "ALARM_PERCENT",
        /// How far above what is expected an alarm is.
        AlarmDeviations = "ALARM_DEVIATIONS",
    }
}

/// A limit on what is counted, and its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VelocityLimit {
    /// The most that is ordinary.
    pub(crate) most: u64,
    /// The points of more.
    pub(crate) points: i16,
}

/// What one entry sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Setting {
    Threshold(Decision, u8),
    Limit(LimitName, u64),
    Weight(Factor, i16),
    Velocity(VelocityName, VelocityLimit),
    /// `None` where a rule of the files below is switched off.
    Rule(RuleName, Option<ExactRule>),
    /// Up to how many euro cents it is asked for; `None` where it is not.
    Exemption(ScaExemption, Option<u64>),
    Outside(OutsideName, u8),
    Disposable(FactText),
    Allow(ListKind, String),
    Block(ListKind, String),
}

/// A file of rules that was read: each of its entries is well-formed. [`Rules::with`](crate::Rules::with) lays it over others.
///
/// Its form is a part of TOML. The sections are described in docs/SCREENING.md.
///
/// ```
/// use dropin_risk::{Rules, RulesFile};
///
/// let file = RulesFile::parse("[weights]\nNEW_SHOPPER = 8 # we sell to regulars\n\n[block]\nEMAIL_DOMAINS = ['spam.example']\n")?;
/// let rules = Rules::built_in().with(&file)?;
/// assert_ne!(rules.fingerprint(), Rules::built_in().fingerprint());
/// # Ok::<(), dropin_risk::Mistakes>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RulesFile {
    pub(crate) settings: Vec<(Position, Setting)>,
}

impl RulesFile {
    /// Most bytes of a file.
    pub const MAX_BYTES: usize = reader::MAX_FILE_BYTES;

    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong, each with its line and column.
    pub fn parse(text: &str) -> Result<Self, Mistakes> {
        let (mut mistakes, mut settings) = (Mistakes::default(), Vec::new());
        let check_section = |name: &str| name.parse::<Section>().map(drop).map_err(|unknown| unknown.to_string());
        for entry in reader::read(text, check_section, &mut mistakes) {
            if let Ok(section) = entry.section.parse() {
                add_settings(section, &entry, &mut settings, &mut mistakes);
            }
        }
        mistakes.none_or(Self { settings })
    }
}

/// Adds what an entry sets, or notes what is wrong with it.
fn add_settings(section: Section, entry: &Entry, settings: &mut Vec<(Position, Setting)>, mistakes: &mut Mistakes) {
    let mut wrong = |(at, what): (Position, String)| mistakes.add(at, what);
    match section {
        Section::Disposable | Section::Allow | Section::Block => {
            let values = match &entry.value.content {
                Content::List(values) => values.as_slice(),
                Content::Number(_) | Content::Text(_) => {
                    return wrong((entry.value.at, "must be a list of texts".to_owned()));
                }
            };
            for value in values {
                match list_setting(section, entry, value) {
                    Ok(setting) => settings.push((value.at, setting)),
                    Err(told) => wrong(told),
                }
            }
        }
        Section::Thresholds
        | Section::Limits
        | Section::Weights
        | Section::Velocity
        | Section::Rules
        | Section::Exemptions
        | Section::Outside => match setting(section, entry) {
            Ok(setting) => settings.push((entry.at, setting)),
            Err(told) => wrong(told),
        },
    }
}

type SettingResult<T> = Result<T, (Position, String)>;

fn setting(section: Section, entry: &Entry) -> SettingResult<Setting> {
    let value = &entry.value;
    match section {
        Section::Thresholds => {
            let decision = name::<Decision>(entry)?;
            if decision == Decision::Allow {
                return Err((entry.at, "needs no threshold: what reaches no other is allowed".to_owned()));
            }
            Ok(Setting::Threshold(decision, number(value, 1, MAX_THRESHOLD)?))
        }
        Section::Limits => limit(name(entry)?, value),
        Section::Weights => Ok(Setting::Weight(name(entry)?, number(value, -MAX_POINTS, MAX_POINTS)?)),
        Section::Velocity => {
            let name = name(entry)?;
            match &value.content {
                Content::List(pair) if pair.len() == 2 => {
                    let (most, points) = (number(&pair[0], 0, i64::MAX)?, number(&pair[1], 0, MAX_POINTS)?);
                    Ok(Setting::Velocity(name, VelocityLimit { most, points }))
                }
                _ => Err((value.at, "must be [the most that is ordinary, points of more], such as [4, 45]".to_owned())),
            }
        }
        Section::Rules => {
            let (name, text) = (name(entry)?, text(value)?);
            if MAX_RULE_CHARACTERS < text.chars().count() {
                return Err((value.at, format!("must have {MAX_RULE_CHARACTERS} characters at most")));
            }
            if text == "OFF" {
                return Ok(Setting::Rule(name, None));
            }
            // The quotation mark stands before the text.
            let parsed = ExactRule::parse(text).map_err(|(characters, what)| (value.at.behind(characters + 1), what));
            Ok(Setting::Rule(name, Some(parsed?)))
        }
        Section::Exemptions => exemption(entry),
        Section::Outside => Ok(Setting::Outside(name(entry)?, number(value, 0, MAX_POINTS)?)),
        Section::Disposable | Section::Allow | Section::Block => list_setting(section, entry, value),
    }
}

fn exemption(entry: &Entry) -> SettingResult<Setting> {
    let (exemption, value) = (name::<ScaExemption>(entry)?, &entry.value);
    if exemption == ScaExemption::MerchantInitiated {
        return Err((entry.at, "needs no rule: each payment that a merchant begins is one".to_owned()));
    }
    let text = text(value)?;
    let limit = match (text, exemption.most_cents()) {
        ("OFF", _) => Some(None),
        ("ON", None) => Some(Some(u64::MAX)),
        (_, None) => None,
        (amount, Some(most)) => euro_cents(amount).ok().filter(|cents| (1..=most).contains(cents)).map(Some),
    };
    let limit = limit.ok_or_else(|| {
        let on = exemption
            .most_cents()
            .map_or_else(|| "\"ON\"".to_owned(), |most| format!("an amount up to \"{}\"", write_euros(most)));
        (value.at, format!("must be {on}, or \"OFF\""))
    })?;
    Ok(Setting::Exemption(exemption, limit))
}

fn limit(name: LimitName, value: &Value) -> SettingResult<Setting> {
    let number = match name {
        LimitName::LargeAmount | LimitName::SmallAmount => euro_cents(text(value)?).map_err(|what| (value.at, what))?,
        LimitName::ReturningDays => number(value, 0, 36_500)?,
        LimitName::AlarmDeclines => number(value, 1, i64::from(u32::MAX))?,
        LimitName::AlarmPercent | LimitName::AlarmDeviations => number(value, 1, 100)?,
    };
    Ok(Setting::Limit(name, number))
}

fn list_setting(section: Section, entry: &Entry, value: &Value) -> SettingResult<Setting> {
    let told = |what| (value.at, what);
    if section == Section::Disposable {
        if entry.name != ListKind::EmailDomains.as_str() {
            return Err((entry.at, "this section has EMAIL_DOMAINS alone".to_owned()));
        }
        let domain = FactText::new(text(value)?);
        let is_domain = domain.as_str().contains('.') && !domain.as_str().contains('@');
        return if is_domain {
            Ok(Setting::Disposable(domain))
        } else {
            Err(told("must be a domain such as example.com".to_owned()))
        };
    }
    let kind = name::<ListKind>(entry)?;
    if section == Section::Allow && kind.is_of_countries() {
        return Err((entry.at, "a country is no reason to trust: an allow list has none".to_owned()));
    }
    let entry = text(value)?;
    SubjectList::default().add(kind, entry).map_err(told)?;
    Ok(if section == Section::Allow {
        Setting::Allow(kind, entry.to_owned())
    } else {
        Setting::Block(kind, entry.to_owned())
    })
}

fn name<T: FromStr<Err: ToString>>(entry: &Entry) -> SettingResult<T> {
    entry.name.parse().map_err(|unknown: T::Err| (entry.at, unknown.to_string()))
}

fn text(value: &Value) -> SettingResult<&str> {
    match &value.content {
        Content::Text(text) => Ok(text),
        Content::Number(_) | Content::List(_) => Err((value.at, "must be a text in quotation marks".to_owned())),
    }
}

fn number<T: TryFrom<i64>>(value: &Value, least: i64, most: i64) -> SettingResult<T> {
    let number = match &value.content {
        Content::Number(number) if (least..=most).contains(number) => T::try_from(*number).ok(),
        _ => None,
    };
    number.ok_or_else(|| {
        let range = if most == i64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
        (value.at, format!("must be a whole number, {range}"))
    })
}
