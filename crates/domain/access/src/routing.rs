//! Which of a deployment's payment processors a payment goes to.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use dropin_kernel::ProcessorId;
use dropin_money::Currency;
use dropin_validation::Country;

/// What a payment is routed by.
#[derive(Debug, Clone, Copy)]
pub struct RoutedPayment<'a> {
    /// Id of the payment method, such as `VISA`.
    pub method: &'a str,
    /// Its currency.
    pub currency: Currency,
    /// The shopper's billing country, ISO 3166-1 alpha-2.
    pub country: &'a str,
}

/// What one of the deployment's processors can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorProfile {
    /// Its name.
    pub id: ProcessorId,
    /// Ids of the payment methods that it does; `None` for any.
    pub methods: Option<Vec<String>>,
    /// Currencies that it takes; `None` for any.
    pub currencies: Option<Vec<Currency>>,
}

impl ProcessorProfile {
    /// Whether it can take this payment.
    ///
    /// ```
    /// use dropin_access::{ProcessorProfile, RoutedPayment};
    /// use dropin_money::Currency;
    ///
    /// let id = "stripe".parse().unwrap();
    /// let stripe = ProcessorProfile { id, methods: Some(vec!["VISA".to_owned()]), currencies: None };
    /// let payment = RoutedPayment { method: "VISA", currency: Currency::Eur, country: "DE" };
    /// assert!(stripe.takes(&payment) && !stripe.takes(&RoutedPayment { method: "IDEAL", ..payment }));
    /// ```
    pub fn takes(&self, payment: &RoutedPayment<'_>) -> bool {
        let does = self.methods.as_ref().is_none_or(|all| all.iter().any(|one| one == payment.method));
        does && self.currencies.as_ref().is_none_or(|all| all.contains(&payment.currency))
    }
}

/// One rule of a merchant's: the processors of the payments that it is about, in the order in which they are asked.
///
/// Its text names the processors, and what it is about, where that is not every payment.
///
/// ```
/// use dropin_access::ProcessorRule;
///
/// let rule: ProcessorRule = "stripe-eu,stripe-us methods=VISA,MC currencies=EUR countries=DE,AT".parse().unwrap();
/// assert_eq!((rule.processors.len(), rule.methods.len(), rule.currencies.len(), rule.countries.len()), (2, 2, 1, 2));
/// assert_eq!(rule.to_string().parse(), Ok(rule));
/// assert!("stripe-eu currencies=CHOCOLATE".parse::<ProcessorRule>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorRule {
    /// One at least, none twice.
    pub processors: Vec<ProcessorId>,
    /// Ids of payment methods; empty for any.
    pub methods: Vec<String>,
    /// Currencies; empty for any.
    pub currencies: Vec<Currency>,
    /// Billing countries, ISO 3166-1 alpha-2; empty for any.
    pub countries: Vec<String>,
}

impl ProcessorRule {
    fn is_about(&self, payment: &RoutedPayment<'_>) -> bool {
        let names = |all: &[String], one: &str| all.is_empty() || all.iter().any(|named| named == one);
        let of_currency = self.currencies.is_empty() || self.currencies.contains(&payment.currency);
        of_currency && names(&self.methods, payment.method) && names(&self.countries, payment.country)
    }
}

/// The text is no [`ProcessorRule`].
///
/// ```
/// use dropin_access::ProcessorRule;
///
/// let refused = "stripe colour=red".parse::<ProcessorRule>().unwrap_err();
/// assert_eq!(refused.to_string(), "colour=red is no condition: write methods=, currencies= or countries= and a list with commas between");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidProcessorRule {
    /// It names no processor, one twice, or one whose name is none.
    #[error("a rule begins with the names of processors, each once, with commas between, such as stripe-eu,stripe-us")]
    Processors,
    /// What is no condition.
    #[error("{0} is no condition: write methods=, currencies= or countries= and a list with commas between")]
    Condition(String),
    /// A value of a condition that there is not.
    #[error("{0} stands in a condition, and is none of what is known there")]
    Value(String),
}

impl FromStr for ProcessorRule {
    type Err = InvalidProcessorRule;

    fn from_str(text: &str) -> Result<Self, InvalidProcessorRule> {
        let mut words = text.split_ascii_whitespace();
        let mut processors: Vec<ProcessorId> = Vec::new();
        for name in words.next().ok_or(InvalidProcessorRule::Processors)?.split(',') {
            let id: ProcessorId = name.parse().map_err(|_invalid| InvalidProcessorRule::Processors)?;
            if processors.contains(&id) {
                return Err(InvalidProcessorRule::Processors);
            }
            processors.push(id);
        }
        let mut rule = Self { processors, methods: Vec::new(), currencies: Vec::new(), countries: Vec::new() };
        for word in words {
            let no_condition = || InvalidProcessorRule::Condition(word.to_owned());
            let (name, values) = word.split_once('=').ok_or_else(no_condition)?;
            for value in values.split(',') {
                let unknown = || InvalidProcessorRule::Value(value.to_owned());
                match name {
                    "methods" => {
                        let is_id = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
                        let is_method = (1..=64).contains(&value.len()) && value.bytes().all(is_id);
                        rule.methods.push(is_method.then(|| value.to_owned()).ok_or_else(unknown)?);
                    }
                    "currencies" => rule.currencies.push(value.parse().map_err(|_unknown| unknown())?),
                    "countries" => {
                        let country: Country = value.parse().map_err(|_unknown| unknown())?;
                        rule.countries.push(country.code().to_owned());
                    }
                    _ => return Err(no_condition()),
                }
            }
        }
        Ok(rule)
    }
}

impl fmt::Display for ProcessorRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.processors.iter().map(ProcessorId::as_str).collect();
        f.write_str(&names.join(","))?;
        let codes: Vec<_> = self.currencies.iter().map(|currency| currency.code()).collect();
        let conditions = [
            ("methods", self.methods.join(",")),
            ("currencies", codes.join(",")),
            ("countries", self.countries.join(",")),
        ];
        for (name, values) in conditions.into_iter().filter(|(_, values)| !values.is_empty()) {
            write!(f, " {name}={values}")?;
        }
        Ok(())
    }
}

/// A merchant's rules, of which the first that is about a payment decides. Its text has a rule a line.
///
/// ```
/// use dropin_access::{ProcessorProfile, ProcessorRouting, RoutedPayment};
/// use dropin_money::Currency;
///
/// let routing: ProcessorRouting = "stripe-us currencies=USD\nstripe-eu,stripe-us".parse().unwrap();
/// let any = |id: &str| ProcessorProfile { id: id.parse().unwrap(), methods: None, currencies: None };
/// let all = [any("sandbox"), any("stripe-us"), any("stripe-eu")];
/// let payment = RoutedPayment { method: "VISA", currency: Currency::Eur, country: "DE" };
/// let names = |routing: &ProcessorRouting| routing.candidates(&all, &payment).map(|id| id.to_string()).collect::<Vec<_>>();
/// assert_eq!(names(&routing), ["stripe-eu", "stripe-us"]);
/// assert_eq!(names(&ProcessorRouting::default()), ["sandbox"], "the main processor, where no rule is about it");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessorRouting(Vec<ProcessorRule>);

/// The text is no [`ProcessorRouting`].
///
/// ```
/// use dropin_access::{InvalidProcessorRouting, ProcessorRouting};
///
/// let many = "stripe\n".repeat(ProcessorRouting::MAX_RULES + 1);
/// assert_eq!(many.parse::<ProcessorRouting>(), Err(InvalidProcessorRouting::TooMany));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidProcessorRouting {
    /// More rules than a merchant may have.
    #[error("a merchant has at most {} rules of processors", ProcessorRouting::MAX_RULES)]
    TooMany,
    /// One of them.
    #[error(transparent)]
    Rule(#[from] InvalidProcessorRule),
}

impl ProcessorRouting {
    /// Most rules of one merchant.
    pub const MAX_RULES: usize = 50;

    /// These rules, in this order.
    ///
    /// # Errors
    /// [`InvalidProcessorRouting::TooMany`].
    pub fn new(rules: Vec<ProcessorRule>) -> Result<Self, InvalidProcessorRouting> {
        if Self::MAX_RULES < rules.len() {
            return Err(InvalidProcessorRouting::TooMany);
        }
        Ok(Self(rules))
    }

    /// The rules, the first that decides first.
    pub fn rules(&self) -> &[ProcessorRule] {
        &self.0
    }

    /// Of `all`, whose first is the deployment's main one, those that may be asked for `payment`, in this order; none where none that the rules name can take
    /// it. An account of the merchant's own takes what the processor does that it is at.
    pub fn candidates<'a>(
        &'a self,
        all: &'a [ProcessorProfile],
        payment: &RoutedPayment<'a>,
    ) -> impl Iterator<Item = &'a ProcessorId> {
        let rule = self.0.iter().find(|rule| rule.is_about(payment));
        let main = all.first().filter(|_| rule.is_none()).map(|profile| &profile.id);
        let payment = *payment;
        let named = rule.into_iter().flat_map(|rule| &rule.processors).chain(main);
        named.filter(move |id| {
            let processor = id.processor();
            all.iter().any(|profile| profile.id == processor && profile.takes(&payment))
        })
    }

    /// The accounts of the merchant's own that the rules name, each once.
    ///
    /// ```
    /// use dropin_access::ProcessorRouting;
    ///
    /// let routing: ProcessorRouting = "stripe.acme,stripe methods=VISA\nstripe.acme".parse().unwrap();
    /// assert_eq!(routing.accounts().iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["stripe.acme"]);
    /// ```
    pub fn accounts(&self) -> BTreeSet<&ProcessorId> {
        self.0.iter().flat_map(|rule| &rule.processors).filter(|id| id.is_account()).collect()
    }

    /// Whether a rule names this processor or account.
    pub fn names(&self, id: &ProcessorId) -> bool {
        self.0.iter().any(|rule| rule.processors.contains(id))
    }

    /// Whether some payment by this method may go to one of `all`: in one of these currencies, from this country or, where none is named, from any.
    ///
    /// ```
    /// use dropin_access::{ProcessorProfile, ProcessorRouting};
    /// use dropin_money::Currency;
    ///
    /// let cards = ProcessorProfile { id: "cards".parse().unwrap(), methods: Some(vec!["VISA".to_owned()]), currencies: None };
    /// let routing: ProcessorRouting = "cards countries=DE\nnobody".parse().unwrap();
    /// let takes = |method, country| routing.may_take(&[cards.clone()], method, &[Currency::Eur], country);
    /// assert!(takes("VISA", None) && takes("VISA", Some("DE")) && !takes("VISA", Some("FR")) && !takes("IDEAL", None));
    /// ```
    pub fn may_take(
        &self,
        all: &[ProcessorProfile],
        method: &str,
        currencies: &[Currency],
        country: Option<&str>,
    ) -> bool {
        let elsewhere = "";
        let named = self.0.iter().flat_map(|rule| rule.countries.iter().map(String::as_str));
        let countries: Vec<&str> = match country {
            Some(country) => vec![country],
            None => named.chain([elsewhere]).collect(),
        };
        let mut payments = currencies.iter().flat_map(|currency| {
            countries.iter().map(|country| RoutedPayment { method, currency: *currency, country })
        });
        payments.any(|payment| self.candidates(all, &payment).next().is_some())
    }
}

impl FromStr for ProcessorRouting {
    type Err = InvalidProcessorRouting;

    fn from_str(text: &str) -> Result<Self, InvalidProcessorRouting> {
        let rules = text.lines().filter(|line| !line.trim().is_empty()).map(str::parse);
        Self::new(rules.collect::<Result<_, InvalidProcessorRule>>()?)
    }
}

impl fmt::Display for ProcessorRouting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ProcessorRule::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(id: &str, methods: &[&str], currencies: &[Currency]) -> ProcessorProfile {
        let some = |all: &[&str]| (!all.is_empty()).then(|| all.iter().map(|one| (*one).to_owned()).collect());
        let currencies = (!currencies.is_empty()).then(|| currencies.to_vec());
        ProcessorProfile { id: id.parse().unwrap(), methods: some(methods), currencies }
    }

    #[test]
    fn the_first_rule_that_is_about_a_payment_decides_who_is_asked() {
        use Currency::{Eur, Jpy, Usd};
        let all = [
            profile("main", &[], &[]),
            profile("cards", &["VISA", "MC"], &[]),
            profile("euro", &["VISA", "IDEAL"], &[Eur]),
        ];
        let routing = "euro,cards methods=VISA countries=DE,AT\n\
                       cards,main currencies=USD\n\
                       gone,euro methods=IDEAL\n\
                       euro countries=JP";
        for (routing, method, currency, country, asked) in [
            ("", "VISA", Eur, "DE", &["main"][..]),
            (routing, "VISA", Eur, "DE", &["euro", "cards"]),
            (routing, "VISA", Usd, "AT", &["cards"]),
            (routing, "MC", Usd, "DE", &["cards", "main"]),
            (routing, "PAYPAL", Usd, "DE", &["main"]),
            (routing, "IDEAL", Eur, "NL", &["euro"]),
            (routing, "IDEAL", Jpy, "NL", &[]),
            (routing, "VISA", Eur, "JP", &["euro"]),
            (routing, "MC", Eur, "JP", &[]),
            (routing, "MC", Eur, "NL", &["main"]),
            ("euro.ana,main.ana,gone.ana", "IDEAL", Eur, "NL", &["euro.ana", "main.ana"]),
            ("euro.ana,main.ana", "MC", Eur, "NL", &["main.ana"]),
        ] {
            let routing: ProcessorRouting = routing.parse().unwrap();
            let payment = RoutedPayment { method, currency, country };
            let found: Vec<_> = routing.candidates(&all, &payment).map(ProcessorId::as_str).collect();
            assert_eq!(found, asked, "{payment:?}");
        }
        let payment = RoutedPayment { method: "VISA", currency: Eur, country: "DE" };
        assert_eq!(ProcessorRouting::default().candidates(&[], &payment).count(), 0);
    }

    #[test]
    fn what_is_written_is_read_again_and_what_makes_no_sense_is_refused() {
        let text = "a,b methods=VISA currencies=EUR,USD countries=DE\nmain";
        assert_eq!(text.parse::<ProcessorRouting>().unwrap().to_string(), text);
        for wrong in
            ["A", "a,a", "a,", "a x", "a methods=visa", "a methods=", "a currencies=EURO", "a countries=XX", "a b=c"]
        {
            assert!(wrong.parse::<ProcessorRouting>().is_err(), "{wrong}");
        }
    }
}
