use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use dropin_money::{Amount, Currency};

use crate::adjustment::{Adjustment, Adjustments};
use crate::merchant::MerchantMethods;
use crate::method::{Method, SalesChannel};
use crate::range::Range;
use crate::table::{find_method, methods};

/// What is known of a payment. What is not known does not narrow.
///
/// ```
/// use dropin_catalogue::{Ask, MerchantMethods};
/// use dropin_money::Currency;
///
/// let (merchant, currencies) = (MerchantMethods::default(), [Currency::Eur]);
/// let ask = Ask { country: Some("NL"), ..Ask::new(&merchant, &currencies) };
/// assert!(!ask.sandbox && ask.amount.is_none());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Billing country, ISO 3166-1 alpha-2.
    pub country: Option<&'a str>,
    /// Its currency; several where it is still to be chosen: a method fits that fits one of them.
    pub currencies: &'a [Currency],
    /// How much.
    pub amount: Option<&'a Amount>,
    /// What is particular to the merchant.
    pub merchant: &'a MerchantMethods,
    /// Whether it is a sandbox account's: nothing is charged.
    pub sandbox: bool,
    /// Whether it begins a series of charges without the shopper.
    pub recurring: bool,
    /// Whether the money must not be taken before the merchant asks for it (AutoCapture false, Capture false).
    pub capture_later: bool,
    /// Where it is made.
    pub channel: SalesChannel,
}

impl<'a> Ask<'a> {
    /// About a payment to `merchant` in one of `currencies`, in the drop-in, once, captured at once and not in a sandbox; nothing else is known.
    ///
    /// ```
    /// use dropin_catalogue::{Ask, Catalogue, MerchantMethods};
    /// use dropin_money::Currency;
    ///
    /// let merchant = MerchantMethods::default();
    /// let ask = Ask::new(&merchant, &[Currency::Usd]);
    /// assert!(Catalogue::of_sandbox().offer("VISA", &ask).is_ok());
    /// ```
    pub const fn new(merchant: &'a MerchantMethods, currencies: &'a [Currency]) -> Self {
        Self {
            country: None,
            currencies,
            amount: None,
            merchant,
            sandbox: false,
            recurring: false,
            capture_later: false,
            channel: SalesChannel::DropIn,
        }
    }
}

/// Why a method may not be used. Its text is for the merchant's developer, and says what to do.
///
/// ```
/// use dropin_catalogue::MethodRefusal;
///
/// let text = MethodRefusal::Country.to_string();
/// assert_eq!(text, "is not offered in the shopper's billing country: use another method");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MethodRefusal {
    /// No method of this id that the processor can do.
    Unknown,
    /// Paid with another way: a card has to be stashed, and nothing else is.
    Class,
    /// Switched off, in this deployment or for the merchant.
    Off,
    /// Not in a sandbox.
    Sandbox,
    /// Not for charges that are repeated.
    Recurring,
    /// Not where the merchant captures later: it takes the money at once.
    Capture,
    /// Not here: the drop-in, the checkout.
    Channel,
    /// Not in the country.
    Country,
    /// Not in the currency.
    Currency,
    /// Not so little or so much.
    Amount(Range),
}

impl std::error::Error for MethodRefusal {}

impl fmt::Display for MethodRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown | Self::Off => "is not offered here: send one of the Ids that getPaymentMethods lists",
            Self::Class => "needs a stashed card: send its StashId",
            Self::Sandbox => "cannot be tried out in a sandbox: use another method",
            Self::Recurring => "cannot be charged again later: use another method",
            Self::Capture => {
                "takes the money at once and cannot wait for a capture: send Capture true, or use another method"
            }
            Self::Channel => "cannot be paid with here: use another method",
            Self::Country => "is not offered in the shopper's billing country: use another method",
            Self::Currency => "does not charge in this currency: use another method, or another currency",
            Self::Amount(range) => {
                return write!(f, "takes {range}: use another method for this amount");
            }
        })
    }
}

/// A method of a catalogue: a built-in one, or an own one that the catalogue's copies and offers share.
#[derive(Debug, Clone)]
enum Entry {
    BuiltIn(&'static Method),
    Own(Arc<Method>),
}

impl Deref for Entry {
    type Target = Method;

    fn deref(&self) -> &Method {
        match self {
            Self::BuiltIn(method) => method,
            Self::Own(method) => method,
        }
    }
}

/// A method that may be used for what was asked. There is no other way to one than [`Catalogue::offer`] and [`Catalogue::offers`]: code that
/// holds it has asked. To copy one allocates nothing.
///
/// ```
/// use dropin_catalogue::{Ask, Catalogue, MerchantMethods, Offered};
/// use dropin_money::Currency;
///
/// let merchant = MerchantMethods::default();
/// let offered: Offered = Catalogue::of_sandbox().offer("VISA", &Ask::new(&merchant, &[Currency::Usd]))?;
/// assert_eq!(offered.name(), "Visa", "it is read as a Method");
/// # Ok::<(), dropin_catalogue::MethodRefusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Offered(Entry);

impl Deref for Offered {
    type Target = Method;

    fn deref(&self) -> &Method {
        &self.0
    }
}

/// The methods that the processor can do, as this deployment offers them.
///
/// ```
/// use dropin_catalogue::{Adjustments, Catalogue, Class, Method};
///
/// let own = Method::builder("TIKKIE", "Tikkie", Class::Online).countries(["NL"]).build()?;
/// let catalogue = Catalogue::new(|method| method.class() == Class::Card, &Adjustments::default()).with([own])?;
/// assert!(catalogue.has("VISA") && catalogue.has("TIKKIE") && !catalogue.has("PAYPAL"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Catalogue {
    methods: Vec<(Entry, Adjustment)>,
    /// Own methods that the processor cannot do here.
    known: Vec<Arc<Method>>,
}

/// A method of this id is there already: built in, or among the own ones.
///
/// ```
/// use dropin_catalogue::{Catalogue, Class, Method};
///
/// let second = Method::builder("VISA", "Our Visa", Class::Card).build()?;
/// let refused = Catalogue::of_sandbox().with([second]).unwrap_err();
/// assert_eq!(refused.to_string(), "there is a payment method VISA already: give yours another id");
/// # Ok::<(), dropin_catalogue::InvalidMethod>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DuplicateMethod {
    /// The id.
    pub id: String,
}

impl fmt::Display for DuplicateMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a payment method {} already: give yours another id", self.id)
    }
}

impl std::error::Error for DuplicateMethod {}

impl Catalogue {
    /// Those of the built-in methods that the processor `can` do, adjusted for this deployment, in the order of the table.
    ///
    /// ```
    /// use dropin_catalogue::{Adjustments, Catalogue};
    ///
    /// let catalogue = Catalogue::new(|method| method.id() == "BLIK", &Adjustments::default());
    /// assert!(catalogue.has("BLIK") && !catalogue.has("VISA"));
    /// ```
    pub fn new(can: impl Fn(&Method) -> bool, adjustments: &Adjustments) -> Self {
        let adjusted = |method: &'static Method| {
            (Entry::BuiltIn(method), adjustments.of(method.id()).cloned().unwrap_or_default())
        };
        Self { methods: methods().filter(|method| can(method)).map(adjusted).collect(), known: Vec::new() }
    }

    /// What the sandbox processor can do (docs/SPECIFICATION.md#sandbox-methods), without adjustments.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// assert!(Catalogue::of_sandbox().has("IDEAL"));
    /// ```
    pub fn of_sandbox() -> Self {
        Self::new(Method::is_in_sandbox, &Adjustments::default())
    }

    /// The same, and `own` methods after those that it has. The caller vouches that the processor can do them.
    ///
    /// # Errors
    /// [`DuplicateMethod`] when one has the id of a built-in method, whether or not that is offered here, or of another own one.
    ///
    /// ```
    /// use dropin_catalogue::{Ask, Catalogue, Class, MerchantMethods, Method};
    /// use dropin_money::Currency;
    ///
    /// let own = Method::builder("TIKKIE", "Tikkie", Class::Online).currencies([Currency::Eur]).build()?;
    /// let catalogue = Catalogue::of_sandbox().with([own])?;
    /// let merchant = MerchantMethods::default();
    /// assert!(catalogue.offer("TIKKIE", &Ask::new(&merchant, &[Currency::Eur])).is_ok());
    /// assert!(catalogue.offer("TIKKIE", &Ask::new(&merchant, &[Currency::Usd])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with(mut self, own: impl IntoIterator<Item = Method>) -> Result<Self, DuplicateMethod> {
        for method in own {
            let method = self.unique(method)?;
            self.methods.push((Entry::Own(method), Adjustment::default()));
        }
        Ok(self)
    }

    /// The same, and `own` methods that are never offered here: they say what holds of payments that were made with them
    /// ([`Catalogue::payment_rules`]).
    ///
    /// # Errors
    /// As [`Catalogue::with`].
    ///
    /// ```
    /// use dropin_catalogue::{Catalogue, Class, Method};
    ///
    /// let own = Method::builder("TIKKIE", "Tikkie", Class::Online).partial_capture(true).build()?;
    /// let catalogue = Catalogue::of_sandbox().with_known([own])?;
    /// assert!(!catalogue.has("TIKKIE") && catalogue.payment_rules("TIKKIE").partial_capture());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_known(mut self, own: impl IntoIterator<Item = Method>) -> Result<Self, DuplicateMethod> {
        for method in own {
            let method = self.unique(method)?;
            self.known.push(method);
        }
        Ok(self)
    }

    fn unique(&self, method: Method) -> Result<Arc<Method>, DuplicateMethod> {
        match self.method(method.id()) {
            Some(_) => Err(DuplicateMethod { id: method.id.into_owned() }),
            None => Ok(Arc::new(method)),
        }
    }

    /// The method with this id, own or built in, whether or not the processor can do it or it may be used.
    ///
    /// ```
    /// use dropin_catalogue::{Catalogue, Class, Method};
    ///
    /// let own = Method::builder("TIKKIE", "Tikkie", Class::Online).build()?;
    /// let catalogue = Catalogue::of_sandbox().with([own])?;
    /// assert!(catalogue.method("TIKKIE").is_some() && catalogue.method("BLIK").is_some());
    /// assert!(catalogue.method("CASH").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn method(&self, id: &str) -> Option<&Method> {
        let known = || self.known.iter().find(|method| method.id() == id).map(|method| &**method);
        self.entry(id).map(|(method, _)| &**method).or_else(known).or_else(|| find_method(id))
    }

    /// Every method that [`Catalogue::method`] finds: the built-in ones, then the own ones.
    ///
    /// ```
    /// use dropin_catalogue::{Catalogue, Class, Method, methods};
    ///
    /// let own = Method::builder("TIKKIE", "Tikkie", Class::Online).build()?;
    /// let catalogue = Catalogue::of_sandbox().with([own])?;
    /// assert_eq!(catalogue.known().count(), methods().count() + 1);
    /// assert_eq!(catalogue.known().last().map(Method::id), Some("TIKKIE"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn known<'a>(&'a self) -> impl Iterator<Item = &'a Method> {
        let offered = self.methods.iter().filter_map(|(method, _)| match method {
            Entry::BuiltIn(_) => None,
            Entry::Own(method) => Some(&**method),
        });
        let built_in = methods().map(|method| -> &'a Method { method });
        built_in.chain(offered).chain(self.known.iter().map(|method| &**method))
    }

    /// Whether the processor can do the method with this id.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// assert!(!Catalogue::of_sandbox().has("BLIK"));
    /// ```
    pub fn has(&self, id: &str) -> bool {
        self.entry(id).is_some()
    }

    fn entry(&self, id: &str) -> Option<&(Entry, Adjustment)> {
        self.methods.iter().find(|(method, _)| method.id() == id)
    }

    /// The methods that may be used, in the order they are shown; wallets with a token too.
    ///
    /// ```
    /// # use dropin_catalogue::{Ask, Catalogue, MerchantMethods};
    /// # use dropin_money::Currency;
    /// let merchant = MerchantMethods::default();
    /// let dutch = Ask { country: Some("NL"), ..Ask::new(&merchant, &[Currency::Eur]) };
    /// assert!(Catalogue::of_sandbox().offers(&dutch).iter().any(|method| method.id() == "IDEAL"));
    /// ```
    pub fn offers(&self, ask: &Ask<'_>) -> Vec<Offered> {
        let fits = |(method, adjustment): &&(Entry, Adjustment)| eligible(method, adjustment, ask).is_ok();
        self.methods.iter().filter(fits).map(|(method, _)| Offered(method.clone())).collect()
    }

    /// The method with this id, when it may be used.
    ///
    /// # Errors
    /// Why it may not.
    ///
    /// ```
    /// # use dropin_catalogue::{Ask, Catalogue, MerchantMethods, MethodRefusal};
    /// # use dropin_money::Currency;
    /// let merchant = MerchantMethods::default();
    /// let german = Ask { country: Some("DE"), ..Ask::new(&merchant, &[Currency::Eur]) };
    /// assert_eq!(Catalogue::of_sandbox().offer("IDEAL", &german).unwrap_err(), MethodRefusal::Country);
    /// ```
    pub fn offer(&self, id: &str, ask: &Ask<'_>) -> Result<Offered, MethodRefusal> {
        let (method, adjustment) = self.entry(id).ok_or(MethodRefusal::Unknown)?;
        eligible(method, adjustment, ask).map(|()| Offered(method.clone()))
    }
}

/// Whether a method may be used: the one function that the drop-in's list, the payment itself and getPaymentMethods ask.
fn eligible(method: &Method, deployment: &Adjustment, ask: &Ask<'_>) -> Result<(), MethodRefusal> {
    let plain = Adjustment::default();
    let merchant = ask.merchant.adjustments.of(method.id()).unwrap_or(&plain);
    let able =
        |own: bool, of: fn(&Adjustment) -> Option<bool>| of(deployment).unwrap_or(own) && of(merchant).unwrap_or(true);
    let check = |fits: bool, refusal: MethodRefusal| if fits { Ok(()) } else { Err(refusal) };
    check(merchant.offered.or(deployment.offered).unwrap_or(true), MethodRefusal::Off)?;
    check(!ask.sandbox || able(method.sandbox, |adjusted| adjusted.sandbox), MethodRefusal::Sandbox)?;
    check(!ask.recurring || able(method.recurring, |adjusted| adjusted.recurring), MethodRefusal::Recurring)?;
    check(!ask.capture_later || able(method.capture_later, |adjusted| adjusted.capture_later), MethodRefusal::Capture)?;
    let channels = deployment.channels.as_deref().unwrap_or(&method.channels);
    let here = |channels: &[SalesChannel]| channels.contains(&ask.channel);
    check(here(channels) && merchant.channels.as_deref().is_none_or(here), MethodRefusal::Channel)?;
    check(ask.country.is_none_or(|country| in_country(method, deployment, merchant, country)), MethodRefusal::Country)?;
    let charges = |currency: &Currency| in_currency(method, deployment, merchant, *currency);
    check(ask.currencies.iter().any(charges), MethodRefusal::Currency)?;
    match ask.amount.and_then(|amount| broken(method, deployment, merchant, amount)) {
        Some(range) => Err(MethodRefusal::Amount(range)),
        None => Ok(()),
    }
}

fn in_country(method: &Method, deployment: &Adjustment, merchant: &Adjustment, country: &str) -> bool {
    let listed = |all: &Vec<String>| all.iter().any(|one| one == country);
    let own = || method.countries.is_empty() || method.countries.iter().any(|one| one == country);
    deployment.countries.as_ref().map_or_else(own, listed) && merchant.countries.as_ref().is_none_or(listed)
}

fn in_currency(method: &Method, deployment: &Adjustment, merchant: &Adjustment, currency: Currency) -> bool {
    let listed = |all: &Vec<Currency>| all.contains(&currency);
    let own = || method.currencies.is_empty() || method.currencies.contains(&currency);
    deployment.currencies.as_ref().map_or_else(own, listed) && merchant.currencies.as_ref().is_none_or(listed)
}

/// The limit that `amount` breaks.
fn broken(method: &Method, deployment: &Adjustment, merchant: &Adjustment, amount: &Amount) -> Option<Range> {
    let of = |ranges: &[Range]| ranges.iter().find(|range| range.currency() == amount.currency()).copied();
    let adjusted = |adjustment: &Adjustment| adjustment.amounts.as_deref().and_then(of);
    let limits = [adjusted(deployment).or_else(|| of(&method.amounts)), adjusted(merchant)];
    limits.into_iter().flatten().find(|range| !range.holds(amount))
}

#[cfg(test)]
mod tests;
