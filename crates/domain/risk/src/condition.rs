//! Exact rules: conditions that all have to apply, and the decision that then is the mildest.

use std::fmt;

use dropin_card::Scheme;
use dropin_kernel::coded_enum;
use dropin_money::{Amount, Currency};
use dropin_validation::Country;

use crate::decision::Decision;
use crate::factor::Factor;
use crate::facts::{CardFunding, Facts};
use crate::rules::Rules;
use crate::velocity::VelocityName;

coded_enum! {
    /// A fact that is a country.
    pub(crate) enum CountryFact: "country of a payment" {
        /// The issuer's.
        Card = "CARD_COUNTRY",
        /// The billing address's.
        Billing = "BILLING_COUNTRY",
        /// The shipping address's.
        Shipping = "SHIPPING_COUNTRY",
        /// The telephone number's.
        Phone = "PHONE_COUNTRY",
        /// The IP address's.
        Ip = "IP_COUNTRY",
        /// The time zone's.
        TimeZone = "TIME_ZONE_COUNTRY",
        /// The language's.
        Language = "LANGUAGE_COUNTRY",
    }
}

impl CountryFact {
    fn of(self, facts: &Facts) -> Option<Country> {
        match self {
            Self::Card => facts.country_of_card(),
            Self::Billing => facts.billing_country,
            Self::Shipping => facts.shipping_country,
            Self::Phone => facts.phone_country,
            Self::Ip => facts.ip_country,
            Self::TimeZone => facts.time_zone_country,
            Self::Language => facts.language_country,
        }
    }
}

/// One condition. With a fact that is not known it does not apply, whatever it asks of it.
#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Factor { factor: Factor, applies: bool },
    SameCountry { one: CountryFact, other: CountryFact, same: bool },
    CountryIn { fact: CountryFact, countries: Vec<Country>, within: bool },
    Scheme { scheme: Scheme, same: bool },
    Funding { funding: CardFunding, same: bool },
    Amount { more: bool, cents: u64 },
    Velocity { name: VelocityName, more: bool, number: u64 },
}

impl Condition {
    fn applies(&self, facts: &Facts, rules: &Rules) -> bool {
        match self {
            Self::Factor { factor, applies } => factor.applies(facts, rules) == *applies,
            Self::SameCountry { one, other, same } => {
                one.of(facts).zip(other.of(facts)).is_some_and(|(one, other)| (one == other) == *same)
            }
            Self::CountryIn { fact, countries, within } => {
                fact.of(facts).is_some_and(|country| countries.contains(&country) == *within)
            }
            Self::Scheme { scheme, same } => facts.scheme.is_some_and(|one| (one == *scheme) == *same),
            Self::Funding { funding, same } => facts.funding_of_card().is_some_and(|one| (one == *funding) == *same),
            Self::Amount { more, cents } => facts.amount_cents.is_some_and(|amount| compare(*more, amount, *cents)),
            Self::Velocity { name, more, number } => {
                facts.velocity.number(*name).is_some_and(|counted| compare(*more, counted, *number))
            }
        }
    }

    /// Whether it says nothing but how busy an IP address is.
    const fn is_of_address(&self) -> bool {
        matches!(self, Self::Velocity { name, .. } if name.key.is_of_address())
    }
}

const fn compare(more: bool, number: u64, limit: u64) -> bool {
    if more { limit < number } else { number < limit }
}

/// A rule such as `CARD_COUNTRY != BILLING_COUNTRY and AMOUNT > 250.00 EUR then REVIEW`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExactRule {
    conditions: Vec<Condition>,
    pub(crate) decision: Decision,
}

impl ExactRule {
    pub(crate) fn applies(&self, facts: &Facts, rules: &Rules) -> bool {
        self.conditions.iter().all(|condition| condition.applies(facts, rules))
    }

    /// Reads a rule; what is wrong, and how many characters into `text`.
    pub(crate) fn parse(text: &str) -> Result<Self, (u32, String)> {
        let mut words = Words { words: split(text), end: length(text) };
        let mut conditions = Vec::new();
        let decision = loop {
            conditions.push(condition(&mut words)?);
            match words.next("here `and` or `then` belongs")? {
                (_, "and") => {}
                (_, "then") => break decision(&mut words)?,
                (at, _) => return Err((at, "here `and` or `then` belongs".to_owned())),
            }
        };
        if let Some((at, _)) = words.words.first() {
            return Err((*at, "a rule ends with its decision".to_owned()));
        }
        if conditions.iter().all(Condition::is_of_address) {
            let advice = "an IP address is shared by strangers: add a condition on something else";
            return Err((0, advice.to_owned()));
        }
        Ok(Self { conditions, decision })
    }
}

fn decision(words: &mut Words<'_>) -> Result<Decision, (u32, String)> {
    let (at, word) = words.next("here CHALLENGE, REVIEW or BLOCK belongs")?;
    match word.parse() {
        Ok(decision) if decision != Decision::Allow => Ok(decision),
        _ => Err((at, "a rule decides CHALLENGE, REVIEW or BLOCK".to_owned())),
    }
}

fn condition(words: &mut Words<'_>) -> Result<Condition, (u32, String)> {
    let (at, word) = words.next("here a condition belongs")?;
    if word == "not" {
        let (at, word) = words.next("here a factor belongs")?;
        let factor = word.parse().map_err(|unknown| (at, format!("{unknown}")))?;
        return Ok(Condition::Factor { factor, applies: false });
    }
    if let Ok(factor) = word.parse() {
        return Ok(Condition::Factor { factor, applies: true });
    }
    if let Ok(fact) = word.parse::<CountryFact>() {
        return country_condition(fact, words);
    }
    if let Ok(name) = word.parse::<VelocityName>() {
        let (more, (at, number)) = (words.more()?, words.next("here a number belongs")?);
        let number = number.parse().map_err(|_no_number| (at, "must be a whole number".to_owned()))?;
        return Ok(Condition::Velocity { name, more, number });
    }
    match word {
        "SCHEME" => {
            let (same, (at, word)) = (words.same()?, words.next("here a card scheme belongs")?);
            let scheme = word.parse().map_err(|unknown| (at, format!("{unknown}")))?;
            Ok(Condition::Scheme { scheme, same })
        }
        "FUNDING" => {
            let (same, (at, word)) = (words.same()?, words.next("here a kind of funding belongs")?);
            let funding = word.parse().map_err(|unknown| (at, format!("{unknown}")))?;
            Ok(Condition::Funding { funding, same })
        }
        "AMOUNT" => {
            let (more, (at, number)) = (words.more()?, words.next("here an amount in EUR belongs")?);
            let (_, currency) = words.next("here EUR belongs")?;
            let cents = euro_cents(&format!("{number} {currency}")).map_err(|what| (at, what))?;
            Ok(Condition::Amount { more, cents })
        }
        _ => Err((
            at,
            format!(
                "is nothing that a rule knows; there are {}, SCHEME, FUNDING, AMOUNT, factors such as {} and counts such \
                 as DEVICE_CARDS_HOUR",
                CountryFact::ALL.map(CountryFact::as_str).join(", "),
                Factor::NewShopper
            ),
        )),
    }
}

fn country_condition(fact: CountryFact, words: &mut Words<'_>) -> Result<Condition, (u32, String)> {
    let (at, operator) = words.next("here =, !=, in or not_in belongs")?;
    let (value_at, value) = words.next("here a country belongs")?;
    let country = |code: &str| {
        code.parse::<Country>().map_err(|_unknown| {
            (value_at, "must be a country such as AT, or for =, != another country of the payment".to_owned())
        })
    };
    match operator {
        "=" | "!=" => {
            let same = operator == "=";
            match value.parse::<CountryFact>() {
                Ok(other) => Ok(Condition::SameCountry { one: fact, other, same }),
                Err(_) => Ok(Condition::CountryIn { fact, countries: vec![country(value)?], within: same }),
            }
        }
        "in" | "not_in" => {
            let countries = value.split(',').map(country).collect::<Result<_, _>>()?;
            Ok(Condition::CountryIn { fact, countries, within: operator == "in" })
        }
        _ => Err((at, "here =, !=, in or not_in belongs".to_owned())),
    }
}

/// An amount such as `250.00 EUR`, in cents; else what it has to be.
pub(crate) fn euro_cents(text: &str) -> Result<u64, String> {
    let amount = text.parse::<Amount>().ok().filter(|amount| amount.currency() == Currency::Eur);
    let cents = amount.and_then(|amount| u64::try_from(amount.minor()).ok());
    cents.ok_or_else(|| "must be an amount such as 250.00 EUR: the common currency is the euro".to_owned())
}

/// Words with how many characters stand before them.
struct Words<'a> {
    words: Vec<(u32, &'a str)>,
    end: u32,
}

impl<'a> Words<'a> {
    fn next(&mut self, missing: &str) -> Result<(u32, &'a str), (u32, String)> {
        if self.words.is_empty() { Err((self.end, missing.to_owned())) } else { Ok(self.words.remove(0)) }
    }

    fn more(&mut self) -> Result<bool, (u32, String)> {
        match self.next("here > or < belongs")? {
            (_, ">") => Ok(true),
            (_, "<") => Ok(false),
            (at, _) => Err((at, "here > or < belongs".to_owned())),
        }
    }

    fn same(&mut self) -> Result<bool, (u32, String)> {
        match self.next("here = or != belongs")? {
            (_, "=") => Ok(true),
            (_, "!=") => Ok(false),
            (at, _) => Err((at, "here = or != belongs".to_owned())),
        }
    }
}

fn split(text: &str) -> Vec<(u32, &str)> {
    let (mut words, mut before) = (Vec::new(), 0);
    for word in text.split(' ') {
        if !word.is_empty() {
            words.push((before, word));
        }
        before += length(word) + 1;
    }
    words
}

fn length(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equal = |same: bool| if same { "=" } else { "!=" };
        let order = |more: bool| if more { ">" } else { "<" };
        match self {
            Self::Factor { factor, applies } => write!(f, "{}{factor}", if *applies { "" } else { "not " }),
            Self::SameCountry { one, other, same } => write!(f, "{one} {} {other}", equal(*same)),
            Self::CountryIn { fact, countries, within } => {
                let codes: Vec<&str> = countries.iter().map(|country| country.code()).collect();
                write!(f, "{fact} {} {}", if *within { "in" } else { "not_in" }, codes.join(","))
            }
            Self::Scheme { scheme, same } => write!(f, "SCHEME {} {scheme}", equal(*same)),
            Self::Funding { funding, same } => write!(f, "FUNDING {} {funding}", equal(*same)),
            Self::Amount { more, cents } => write!(f, "AMOUNT {} {}", order(*more), write_euros(*cents)),
            Self::Velocity { name, more, number } => write!(f, "{name} {} {number}", order(*more)),
        }
    }
}

impl fmt::Display for ExactRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        write!(f, "{} then {}", conditions.join(" and "), self.decision)
    }
}

/// An amount as [`euro_cents`] reads it.
pub(crate) fn write_euros(cents: u64) -> String {
    format!("{}.{:02} EUR", cents / 100, cents % 100)
}
