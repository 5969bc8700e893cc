use std::borrow::Cow;
use std::time::Duration;

use dropin_kernel::coded_enum;
use dropin_money::Currency;

use crate::builder::MethodBuilder;
use crate::locale::Name;
use crate::range::Range;

const DAY: u64 = 24 * 60 * 60;

coded_enum! {
    /// How a method is paid with (docs/SPECIFICATION.md#payment-method-entry).
    ///
    /// ```
    /// use dropin_catalogue::Class;
    ///
    /// assert_eq!(Class::Online.as_str(), "Online");
    /// assert_eq!("Offline".parse(), Ok(Class::Offline));
    /// ```
    pub enum Class: "class of payment methods" {
        /// The shopper types a card, or a wallet hands one over.
        Card = "Card",
        /// The shopper is sent to a hosted page.
        Online = "Online",
        /// The shopper pays later and elsewhere: a bank transfer, a voucher.
        Offline = "Offline",
    }
}

coded_enum! {
    /// When the time to capture an authorization begins (docs/SPECIFICATION.md#capture-window).
    ///
    /// ```
    /// use dropin_catalogue::{WindowFrom, find_method};
    ///
    /// assert_eq!(find_method("VISA").map(|method| method.window_from()), Some(WindowFrom::Authorization));
    /// ```
    pub enum WindowFrom: "begin of the time to capture" {
        /// When it was authorized.
        Authorization = "AUTHORIZATION",
        /// When the Order was created.
        Creation = "CREATION",
    }
}

coded_enum! {
    /// Where a payment is made.
    ///
    /// ```
    /// use dropin_catalogue::SalesChannel;
    ///
    /// assert_eq!(SalesChannel::ALL.map(SalesChannel::as_str), ["drop-in", "checkout"]);
    /// ```
    pub enum SalesChannel: "sales channel" {
        /// In the drop-in, by the shopper.
        DropIn = "drop-in",
        /// From server to server, by the merchant.
        Checkout = "checkout",
    }
}

/// A payment method: what is known of it. Where it may be used is for [`crate::Catalogue`] alone to say.
///
/// The built-in ones come from [`crate::methods`] and [`crate::find_method`]; an own one is made by [`Method::builder`].
///
/// ```
/// use dropin_catalogue::find_method;
///
/// let method = find_method("IDEAL").expect("a built-in method");
/// assert_eq!((method.name(), method.is_local(), method.capture_later()), ("iDEAL", true, false));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Method {
    pub(crate) id: Cow<'static, str>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) class: Class,
    pub(crate) token: bool,
    pub(crate) local: bool,
    pub(crate) patience: Duration,
    pub(crate) capture_window: Duration,
    pub(crate) window_from: WindowFrom,
    pub(crate) partial_capture: bool,
    pub(crate) capture_later: bool,
    pub(crate) refunds: bool,
    pub(crate) recurring: bool,
    pub(crate) source: Cow<'static, str>,
    pub(crate) names: Name,
    /// Empty for all of [`Currency`].
    pub(crate) currencies: Cow<'static, [Currency]>,
    /// Billing countries, ISO 3166-1 alpha-2; empty for all.
    pub(crate) countries: Vec<Cow<'static, str>>,
    /// Of the currencies that have a limit.
    pub(crate) amounts: Cow<'static, [Range]>,
    pub(crate) channels: Cow<'static, [SalesChannel]>,
    pub(crate) sandbox: bool,
}

/// What the table of built-in methods is written with.
impl Method {
    /// How a card works; a start for every other entry.
    pub(crate) fn card(
        id: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        source: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            class: Class::Card,
            token: false,
            local: false,
            patience: Duration::from_secs(15 * 60),
            capture_window: Duration::from_secs(7 * DAY),
            window_from: WindowFrom::Authorization,
            partial_capture: true,
            capture_later: true,
            refunds: true,
            recurring: true,
            source: source.into(),
            names: Name::Brand,
            currencies: Cow::Borrowed(&[]),
            countries: Vec::new(),
            amounts: Cow::Borrowed(&[]),
            channels: Cow::Borrowed(&SalesChannel::ALL),
            sandbox: false,
        }
    }

    /// How a method with a hosted page works that takes the money at once.
    pub(crate) fn online(
        id: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        source: impl Into<Cow<'static, str>>,
    ) -> Self {
        let patience = Duration::from_secs(2 * DAY);
        let class = Class::Online;
        let card = Self::card(id, name, source);
        Self { class, patience, partial_capture: false, capture_later: false, recurring: false, ..card }
    }

    /// How a voucher or a transfer works that is waited for this many days.
    pub(crate) fn offline(
        id: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        days: u64,
        source: impl Into<Cow<'static, str>>,
    ) -> Self {
        let patience = Duration::from_secs(days * DAY);
        Self { class: Class::Offline, patience, ..Self::online(id, name, source) }
    }

    /// The same, used in these countries and currencies only.
    pub(crate) fn only(self, countries: &[&'static str], currencies: &'static [Currency]) -> Self {
        let countries = countries.iter().map(|code| Cow::Borrowed(*code)).collect();
        Self { local: true, countries, currencies: Cow::Borrowed(currencies), ..self }
    }

    /// The same, with these limits.
    pub(crate) fn within<const N: usize>(self, amounts: [Range; N]) -> Self {
        Self { amounts: Vec::from(amounts).into(), ..self }
    }

    /// The same; the sandbox processor can do it.
    pub(crate) fn in_sandbox(self) -> Self {
        Self { sandbox: true, ..self }
    }
}

impl Method {
    /// Begins an own method with what its class has in common.
    ///
    /// | | Card | Online | Offline |
    /// |---|---|---|---|
    /// | patience | 15 minutes | 2 days | 14 days |
    /// | waits for a capture, captured in part, charged again later | yes | no | no |
    ///
    /// All of them: capture within 7 days of the authorization, refunds, every country, currency, amount and channel, not in a sandbox.
    /// Nothing is checked before [`MethodBuilder::build`].
    ///
    /// ```
    /// use dropin_catalogue::{Class, Method};
    /// use dropin_money::Currency;
    ///
    /// let method = Method::builder("TIKKIE", "Tikkie", Class::Online).countries(["NL"]).currencies([Currency::Eur]).build()?;
    /// assert_eq!((method.id(), method.capture_later()), ("TIKKIE", false));
    /// assert!(Method::builder("tikkie", "Tikkie", Class::Online).build().is_err(), "ids are capital letters and digits");
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn builder(
        id: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        class: Class,
    ) -> MethodBuilder {
        MethodBuilder::new(match class {
            Class::Card => Self::card(id, name, ""),
            Class::Online => Self::online(id, name, ""),
            Class::Offline => Self::offline(id, name, 14, ""),
        })
    }

    /// Identifier in requests, answers and databases: 1 to 32 of `A`-`Z` and `0`-`9`.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("MC").is_some_and(|method| method.id() == "MC"));
    /// ```
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Name shown to shoppers, in English or as the brand writes it.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("MC").is_some_and(|method| method.name() == "Mastercard"));
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name in `language` (ISO 639), and the language that this is: English where no other is known. A brand is the same everywhere.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// let transfer = find_method("BANKTRANSFER").expect("a built-in method");
    /// assert_eq!(transfer.name_in("de"), ("Überweisung", "de"));
    /// assert_eq!(transfer.name_in("xx"), ("Bank transfer", "en"));
    /// ```
    pub fn name_in<'a>(&'a self, language: &'a str) -> (&'a str, &'a str) {
        match &self.names {
            Name::Brand => (&*self.name, language),
            Name::Translated(names) => {
                let found = names.iter().find(|(known, _)| *known == language);
                found.map_or((&*self.name, "en"), |(_, name)| (&**name, language))
            }
        }
    }

    /// Its names by language (ISO 639); none for a brand, which is called the same everywhere.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// let later = find_method("PAYLATER").expect("a built-in method");
    /// assert!(later.names().any(|named| named == ("sv", "Betala senare")));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let names: &[(Cow<'static, str>, Cow<'static, str>)] = match &self.names {
            Name::Brand => &[],
            Name::Translated(names) => names,
        };
        names.iter().map(|(language, name)| (&**language, &**name))
    }

    /// How it is paid with.
    ///
    /// ```
    /// # use dropin_catalogue::{Class, find_method};
    /// assert!(find_method("PIX").is_some_and(|method| method.class() == Class::Online));
    /// ```
    pub const fn class(&self) -> Class {
        self.class
    }

    /// Whether it is a wallet that hands over a token (docs/SPECIFICATION.md#token-method-entry): it is listed apart, and its charges are a card's.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("APPLEPAY").is_some_and(|method| method.is_token()));
    /// ```
    pub const fn is_token(&self) -> bool {
        self.token
    }

    /// Whether it belongs to a country or region, as a scheme of its banks does, and is not used all over the world.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("BLIK").is_some_and(|method| method.is_local()));
    /// ```
    pub const fn is_local(&self) -> bool {
        self.local
    }

    /// How long the shopper may take on the hosted page (docs/SPECIFICATION.md#hosted-pages), or to pay elsewhere.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("BLIK").is_some_and(|method| method.patience().as_secs() == 15 * 60));
    /// ```
    pub const fn patience(&self) -> Duration {
        self.patience
    }

    /// How long an authorization may be captured (docs/SPECIFICATION.md#capture-window), counted from [`Method::window_from`].
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("VISA").is_some_and(|method| method.capture_window().as_secs() == 7 * 86_400));
    /// ```
    pub const fn capture_window(&self) -> Duration {
        self.capture_window
    }

    /// When the time to capture begins.
    ///
    /// ```
    /// # use dropin_catalogue::{WindowFrom, find_method};
    /// assert!(find_method("PAYLATER").is_some_and(|method| method.window_from() == WindowFrom::Creation));
    /// ```
    pub const fn window_from(&self) -> WindowFrom {
        self.window_from
    }

    /// Whether less than what is authorized may be captured, once: the rest is released (docs/SPECIFICATION.md#partial-capture).
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("VISA").is_some_and(|method| method.partial_capture()));
    /// ```
    pub const fn partial_capture(&self) -> bool {
        self.partial_capture
    }

    /// Whether an authorization waits for a capture; where not, the money is taken as soon as the shopper pays
    /// (docs/SPECIFICATION.md#no-capture-by-itself).
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("IDEAL").is_some_and(|method| !method.capture_later()));
    /// ```
    pub const fn capture_later(&self) -> bool {
        self.capture_later
    }

    /// Whether money is given back the way it came; where not, the merchant has to transfer it.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("OXXO").is_some_and(|method| !method.refunds()));
    /// ```
    pub const fn refunds(&self) -> bool {
        self.refunds
    }

    /// Whether the merchant may charge again later without the shopper.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("PAYPAL").is_some_and(|method| method.recurring()));
    /// ```
    pub const fn recurring(&self) -> bool {
        self.recurring
    }

    /// Where its facts were read; empty for an own method that says nothing.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// assert!(find_method("VISA").is_some_and(|method| method.source() == "Visa Core Rules"));
    /// ```
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it may be used, for people to read: billing countries, currencies and limits.
    ///
    /// ```
    /// # use dropin_catalogue::find_method;
    /// let ideal = find_method("IDEAL").expect("a built-in method");
    /// assert_eq!(ideal.reach(), ["NL", "EUR", "0.01 to 50000.00 EUR"]);
    /// ```
    pub fn reach(&self) -> [String; 3] {
        let currencies: Vec<_> = self.currencies.iter().map(|currency| currency.code()).collect();
        let amounts: Vec<_> = self.amounts.iter().map(Range::to_string).collect();
        let or = |words: String, all: &str| if words.is_empty() { all.to_owned() } else { words };
        [or(self.countries.join(" "), "all"), or(currencies.join(" "), "all"), amounts.join(", ")]
    }

    /// Whether it can be used in a sandbox; of a built-in one: whether the sandbox processor can do it (docs/SPECIFICATION.md#sandbox-methods).
    ///
    /// ```
    /// # use dropin_catalogue::{Method, methods};
    /// assert_eq!(methods().filter(|method| method.is_in_sandbox()).count(), 13);
    /// ```
    pub const fn is_in_sandbox(&self) -> bool {
        self.sandbox
    }
}
