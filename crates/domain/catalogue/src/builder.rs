use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use dropin_money::Currency;

use crate::locale::{Name, is_language};
use crate::method::{Method, SalesChannel, WindowFrom};
use crate::range::Range;

/// The longest [`Method::id`], in bytes.
pub const MAX_METHOD_ID_BYTES: usize = 32;

/// The longest [`Method::name`], in characters.
pub const MAX_METHOD_NAME_CHARS: usize = 64;

/// An own payment method that is being described; begun by [`Method::builder`].
///
/// Each setting takes the place of what was said of the same before. [`MethodBuilder::build`] checks them all.
///
/// ```
/// use std::time::Duration;
/// use dropin_catalogue::{Class, Method, Range, SalesChannel};
/// use dropin_money::Currency;
///
/// let voucher = Method::builder("KIOSK", "Pay at the kiosk", Class::Offline)
///     .translated([("de", "Am Kiosk bezahlen")])
///     .countries(["AT", "DE"])
///     .currencies([Currency::Eur])
///     .amounts([Range::new(Currency::Eur, 100, Some(50_000))?])
///     .channels([SalesChannel::DropIn])
///     .patience(Duration::from_secs(3 * 86_400))
///     .refunds(false)
///     .build()?;
/// assert_eq!(voucher.reach(), ["AT DE", "EUR", "1.00 to 500.00 EUR"]);
/// assert_eq!(voucher.name_in("de"), ("Am Kiosk bezahlen", "de"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder describes a method; build() makes it"]
pub struct MethodBuilder(Method);

/// Why there is no such [`Method`].
///
/// ```
/// use dropin_catalogue::{Class, InvalidMethod, Method};
///
/// let refused = Method::builder("KIOSK", "Kiosk", Class::Offline).countries(["de"]).build();
/// assert_eq!(refused, Err(InvalidMethod::Country("de".to_owned())));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidMethod {
    /// The id is not 1 to [`MAX_METHOD_ID_BYTES`] of `A`-`Z` and `0`-`9`.
    Id,
    /// The name is blank, has more than [`MAX_METHOD_NAME_CHARS`] characters, or a control character.
    Name,
    /// A language of a name is not two or three lower-case letters (ISO 639).
    Language(String),
    /// A country is not two upper-case letters (ISO 3166-1 alpha-2).
    Country(String),
    /// A currency has two limits.
    TwoLimits(Currency),
    /// A limit is in a currency that the method does not charge.
    Limit(Currency),
    /// There is no channel that it can be paid with in.
    Channels,
    /// The time to pay is nothing, or no whole seconds.
    Patience,
    /// The time to capture is nothing, or no whole seconds.
    CaptureWindow,
}

impl fmt::Display for InvalidMethod {
    /// What to write in its place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => write!(f, "id: has to be 1 to {MAX_METHOD_ID_BYTES} capital letters A-Z and digits"),
            Self::Name => write!(f, "name: has to be 1 to {MAX_METHOD_NAME_CHARS} characters that can be read"),
            Self::Language(code) => write!(f, "names: {code} is no language: write its lower-case ISO 639 code"),
            Self::Country(code) => write!(f, "countries: {code} is no upper-case ISO 3166-1 alpha-2 code"),
            Self::TwoLimits(currency) => write!(f, "amounts: {} has two limits: write one", currency.code()),
            Self::Limit(currency) => {
                write!(f, "amounts: {0} is not among its currencies: add it there, or leave {0} out", currency.code())
            }
            Self::Channels => f.write_str("channels: is empty: name one of drop-in and checkout"),
            Self::Patience => f.write_str("patience: has to be whole seconds, one at least"),
            Self::CaptureWindow => f.write_str("capture_window: has to be whole seconds, one at least"),
        }
    }
}

impl std::error::Error for InvalidMethod {}

impl MethodBuilder {
    pub(crate) fn new(method: Method) -> Self {
        Self(method)
    }

    /// Names in other languages than English, by their ISO 639 codes. Without any it is a brand, whose name is the same everywhere.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// let method = Method::builder("KIOSK", "Kiosk", Class::Offline).translated([("fr", "Kiosque")]).build()?;
    /// assert_eq!((method.name_in("fr"), method.name_in("it")), (("Kiosque", "fr"), ("Kiosk", "en")));
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn translated<L, N>(mut self, names: impl IntoIterator<Item = (L, N)>) -> Self
    where
        L: Into<Cow<'static, str>>,
        N: Into<Cow<'static, str>>,
    {
        let names: BTreeMap<Cow<'static, str>, Cow<'static, str>> =
            names.into_iter().map(|(language, name)| (language.into(), name.into())).collect();
        self.0.names = if names.is_empty() { Name::Brand } else { Name::Translated(names.into_iter().collect()) };
        self
    }

    /// Billing countries that it is offered in, ISO 3166-1 alpha-2; none of them for all. A method with countries is local.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// let method = Method::builder("KIOSK", "Kiosk", Class::Offline).countries(["FR", "BE"]).build()?;
    /// assert_eq!((method.reach()[0].as_str(), method.is_local()), ("BE FR", true));
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn countries<C: Into<Cow<'static, str>>>(mut self, countries: impl IntoIterator<Item = C>) -> Self {
        let countries: BTreeSet<Cow<'static, str>> = countries.into_iter().map(Into::into).collect();
        self.0.countries = countries.into_iter().collect();
        self.0.local = !self.0.countries.is_empty();
        self
    }

    /// Currencies that it can charge; none of them for all.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// # use dropin_money::Currency;
    /// let method = Method::builder("KIOSK", "Kiosk", Class::Offline).currencies([Currency::Eur]).build()?;
    /// assert_eq!(method.reach()[1], "EUR");
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn currencies(mut self, currencies: impl IntoIterator<Item = Currency>) -> Self {
        let mut currencies: Vec<_> = currencies.into_iter().collect();
        currencies.sort_by_key(|currency| currency.code());
        currencies.dedup();
        self.0.currencies = currencies.into();
        self
    }

    /// How much may be paid, in the currencies that have a limit: one for each.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, InvalidMethod, Method, Range};
    /// # use dropin_money::Currency;
    /// let yen = Range::new(Currency::Jpy, 1, Some(300_000))?;
    /// let builder = Method::builder("KIOSK", "Kiosk", Class::Offline).amounts([yen]);
    /// assert!(builder.clone().build().is_ok());
    /// assert_eq!(builder.currencies([Currency::Eur]).build(), Err(InvalidMethod::Limit(Currency::Jpy)));
    /// # Ok::<(), dropin_catalogue::InvalidRange>(())
    /// ```
    pub fn amounts(mut self, amounts: impl IntoIterator<Item = Range>) -> Self {
        self.0.amounts = amounts.into_iter().collect::<Vec<_>>().into();
        self
    }

    /// Where it can be paid with; one at least.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, InvalidMethod, Method};
    /// assert_eq!(Method::builder("KIOSK", "Kiosk", Class::Offline).channels([]).build(), Err(InvalidMethod::Channels));
    /// ```
    pub fn channels(mut self, channels: impl IntoIterator<Item = SalesChannel>) -> Self {
        self.0.channels = channels.into_iter().collect::<Vec<_>>().into();
        self
    }

    /// How long the shopper may take to pay: whole seconds, one at least.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dropin_catalogue::{Class, Method};
    /// let method = Method::builder("KIOSK", "Kiosk", Class::Offline).patience(Duration::from_secs(60)).build()?;
    /// assert_eq!(method.patience().as_secs(), 60);
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn patience(mut self, patience: Duration) -> Self {
        self.0.patience = patience;
        self
    }

    /// How long an authorization may be captured, and from when: whole seconds, one at least.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dropin_catalogue::{Class, InvalidMethod, Method, WindowFrom};
    /// let builder = Method::builder("KIOSK", "Kiosk", Class::Offline);
    /// let refused = builder.capture_window(Duration::ZERO, WindowFrom::Creation).build();
    /// assert_eq!(refused, Err(InvalidMethod::CaptureWindow));
    /// ```
    pub fn capture_window(mut self, window: Duration, from: WindowFrom) -> Self {
        self.0.capture_window = window;
        self.0.window_from = from;
        self
    }

    /// Whether less than what is authorized may be captured, once.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// assert!(Method::builder("LATER", "Later", Class::Online).partial_capture(true).build()?.partial_capture());
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn partial_capture(mut self, able: bool) -> Self {
        self.0.partial_capture = able;
        self
    }

    /// Whether an authorization waits for a capture; where not, the money is taken as soon as the shopper pays.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// assert!(Method::builder("LATER", "Later", Class::Online).capture_later(true).build()?.capture_later());
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn capture_later(mut self, able: bool) -> Self {
        self.0.capture_later = able;
        self
    }

    /// Whether money is given back the way it came.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// assert!(!Method::builder("CASH", "Cash", Class::Offline).refunds(false).build()?.refunds());
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn refunds(mut self, able: bool) -> Self {
        self.0.refunds = able;
        self
    }

    /// Whether the merchant may charge again later without the shopper.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// assert!(Method::builder("WALLET", "Wallet", Class::Online).recurring(true).build()?.recurring());
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn recurring(mut self, able: bool) -> Self {
        self.0.recurring = able;
        self
    }

    /// Whether accounts of a sandbox may use it.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// assert!(Method::builder("WALLET", "Wallet", Class::Online).sandbox(true).build()?.is_in_sandbox());
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn sandbox(mut self, able: bool) -> Self {
        self.0.sandbox = able;
        self
    }

    /// Where its facts were read, for people.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, Method};
    /// let method = Method::builder("WALLET", "Wallet", Class::Online).source("wallet.example/docs").build()?;
    /// assert_eq!(method.source(), "wallet.example/docs");
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn source(mut self, source: impl Into<Cow<'static, str>>) -> Self {
        self.0.source = source.into();
        self
    }

    /// The method, when all of it makes sense.
    ///
    /// # Errors
    /// The first thing that does not, in the order of [`InvalidMethod`].
    ///
    /// ```
    /// # use dropin_catalogue::{Class, InvalidMethod, Method};
    /// assert!(Method::builder("WALLET", "Wallet", Class::Online).build().is_ok());
    /// assert_eq!(Method::builder("WALLET", " ", Class::Online).build(), Err(InvalidMethod::Name));
    /// ```
    pub fn build(self) -> Result<Method, InvalidMethod> {
        let method = self.0;
        check(&method)?;
        Ok(method)
    }
}

/// The rules that hold for every method, built in or own.
pub(crate) fn check(method: &Method) -> Result<(), InvalidMethod> {
    let holds = |rule: bool, error: fn() -> InvalidMethod| if rule { Ok(()) } else { Err(error()) };
    holds(is_id(&method.id), || InvalidMethod::Id)?;
    holds(is_name(&method.name) && method.names().all(|(_, name)| is_name(name)), || InvalidMethod::Name)?;
    if let Some((language, _)) = method.names().find(|(language, _)| !is_language(language)) {
        return Err(InvalidMethod::Language(language.to_owned()));
    }
    if let Some(country) = method.countries.iter().find(|country| !is_country(country)) {
        return Err(InvalidMethod::Country(country.clone().into_owned()));
    }
    if let Some(currency) = limited_twice(&method.amounts) {
        return Err(InvalidMethod::TwoLimits(currency));
    }
    let charged = |range: &&Range| method.currencies.is_empty() || method.currencies.contains(&range.currency());
    if let Some(range) = method.amounts.iter().find(|range| !charged(range)) {
        return Err(InvalidMethod::Limit(range.currency()));
    }
    holds(!method.channels.is_empty(), || InvalidMethod::Channels)?;
    let is_time = |span: Duration| !span.is_zero() && span.subsec_nanos() == 0;
    holds(is_time(method.patience), || InvalidMethod::Patience)?;
    holds(is_time(method.capture_window), || InvalidMethod::CaptureWindow)
}

pub(crate) fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    (1..=MAX_METHOD_ID_BYTES).contains(&text.len()) && text.bytes().all(fits)
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_METHOD_NAME_CHARS && !text.chars().any(char::is_control)
}

/// Two upper-case letters; whether there is such a country is not looked up.
pub(crate) fn is_country(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The first currency that has a second limit.
pub(crate) fn limited_twice(amounts: &[Range]) -> Option<Currency> {
    let mut seen = BTreeSet::new();
    amounts.iter().map(Range::currency).find(|currency| !seen.insert(*currency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Class;

    fn online() -> MethodBuilder {
        Method::builder("TIKKIE", "Tikkie", Class::Online)
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_says_what_to_write() {
        let euros = Range::new(Currency::Eur, 1, None).unwrap();
        let long = "A".repeat(MAX_METHOD_ID_BYTES + 1);
        for (builder, expected, word) in [
            (Method::builder("", "Tikkie", Class::Online), InvalidMethod::Id, "1 to 32"),
            (Method::builder("tikkie", "Tikkie", Class::Online), InvalidMethod::Id, "capital"),
            (Method::builder("TIK-KIE", "Tikkie", Class::Online), InvalidMethod::Id, "digits"),
            (Method::builder(long, "Tikkie", Class::Online), InvalidMethod::Id, "id:"),
            (Method::builder("TIKKIE", "", Class::Online), InvalidMethod::Name, "name:"),
            (Method::builder("TIKKIE", "a\nb", Class::Online), InvalidMethod::Name, "read"),
            (
                Method::builder("TIKKIE", "a".repeat(MAX_METHOD_NAME_CHARS + 1), Class::Online),
                InvalidMethod::Name,
                "64",
            ),
            (online().translated([("de", " ")]), InvalidMethod::Name, "name:"),
            (online().translated([("DE", "Tikkie")]), InvalidMethod::Language("DE".to_owned()), "ISO 639"),
            (online().countries(["NL", "bel"]), InvalidMethod::Country("bel".to_owned()), "bel"),
            (online().amounts([euros, euros]), InvalidMethod::TwoLimits(Currency::Eur), "EUR"),
            (
                online().currencies([Currency::Usd]).amounts([euros]),
                InvalidMethod::Limit(Currency::Eur),
                "not among its currencies",
            ),
            (online().channels([]), InvalidMethod::Channels, "drop-in"),
            (online().patience(Duration::ZERO), InvalidMethod::Patience, "patience:"),
            (online().patience(Duration::from_millis(1_500)), InvalidMethod::Patience, "whole seconds"),
            (
                online().capture_window(Duration::ZERO, WindowFrom::Creation),
                InvalidMethod::CaptureWindow,
                "capture_window:",
            ),
        ] {
            let refused = builder.build().unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
            assert_eq!(refused, expected);
        }
    }

    #[test]
    fn a_class_brings_what_its_methods_have_in_common() {
        for class in Class::ALL {
            let method = Method::builder("OWN", "Own", class).build().unwrap();
            let card = class == Class::Card;
            assert_eq!(method.class(), class);
            assert_eq!((method.capture_later(), method.recurring(), method.partial_capture()), (card, card, card));
            assert!(method.refunds() && !method.is_in_sandbox() && !method.is_token() && !method.is_local());
        }
    }

    #[test]
    fn lists_are_sorted_and_without_repeats() {
        let method = online().countries(["NL", "BE", "NL"]).currencies([Currency::Usd, Currency::Eur, Currency::Usd]);
        assert_eq!(method.build().unwrap().reach(), ["BE NL", "EUR USD", ""]);
    }
}
