use std::fmt;
use std::ops::Deref;

use dropin_money::{Amount, Currency};

use crate::adjustment::{Adjustment, Adjustments, MerchantMethods};
use crate::method::{Channel, Method, Range};
use crate::table::methods;

/// What is known of a payment. What is not known does not narrow.
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
    /// Where it is made.
    pub channel: Channel,
}

/// Why a method may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
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
    /// Not here: the drop-in, the checkout.
    Channel,
    /// Not in the country.
    Country,
    /// Not in the currency.
    Currency,
    /// Not so little or so much.
    Amount(Range),
}

/// For the merchant's developer: what to do about it.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown | Self::Off => "is not offered here: send one of the Ids that getPaymentMethods lists",
            Self::Class => "needs a stashed card: send its StashId",
            Self::Sandbox => "cannot be tried out in a sandbox: use another method",
            Self::Recurring => "cannot be charged again later: use another method",
            Self::Channel => "cannot be paid with here: use another method",
            Self::Country => "is not offered in the shopper's billing country: use another method",
            Self::Currency => "does not charge in this currency: use another method, or another currency",
            Self::Amount(range) => {
                return write!(f, "takes {range}: use another method for this amount");
            }
        })
    }
}

/// A method that may be used for what was asked. There is no other way to one than [`Catalogue::offer`] and [`Catalogue::offers`], so whoever
/// holds it has asked.
#[derive(Debug, Clone, Copy)]
pub struct Offered(&'static Method);

impl Deref for Offered {
    type Target = Method;

    fn deref(&self) -> &Method {
        self.0
    }
}

/// The methods that the processor can do, as this deployment offers them.
#[derive(Debug, Clone)]
pub struct Catalogue {
    methods: Vec<(&'static Method, Adjustment)>,
}

impl Catalogue {
    /// Those of `methods` that the processor `can` do, adjusted for this deployment, in the order of the table.
    pub fn new(can: impl Fn(&Method) -> bool, adjustments: &Adjustments) -> Self {
        let adjusted = |method: &'static Method| (method, adjustments.of(method.id).cloned().unwrap_or_default());
        Self { methods: methods().filter(|method| can(method)).map(adjusted).collect() }
    }

    /// What the sandbox processor can do (decisions.md section 10), without adjustments.
    pub fn of_sandbox() -> Self {
        Self::new(Method::is_in_sandbox, &Adjustments::default())
    }

    /// Whether the processor can do the method with this id.
    pub fn has(&self, id: &str) -> bool {
        self.methods.iter().any(|(method, _)| method.id == id)
    }

    /// The methods that may be used, in the order they are shown; wallets with a token too.
    pub fn offers(&self, ask: &Ask<'_>) -> Vec<Offered> {
        let fits = |(method, adjustment): &&(&'static Method, Adjustment)| eligible(method, adjustment, ask).is_ok();
        self.methods.iter().filter(fits).map(|(method, _)| Offered(method)).collect()
    }

    /// The method with this id, when it may be used.
    ///
    /// # Errors
    /// Why it may not.
    pub fn offer(&self, id: &str, ask: &Ask<'_>) -> Result<Offered, Refusal> {
        let found = self.methods.iter().find(|(method, _)| method.id == id);
        let (method, adjustment) = found.ok_or(Refusal::Unknown)?;
        eligible(method, adjustment, ask).map(|()| Offered(method))
    }
}

/// Whether a method may be used: the one function that the drop-in's list, the payment itself and getPaymentMethods ask.
fn eligible(method: &Method, deployment: &Adjustment, ask: &Ask<'_>) -> Result<(), Refusal> {
    let plain = Adjustment::default();
    let merchant = ask.merchant.adjustments.of(method.id).unwrap_or(&plain);
    let able =
        |own: bool, of: fn(&Adjustment) -> Option<bool>| of(deployment).unwrap_or(own) && of(merchant).unwrap_or(true);
    let check = |fits: bool, refusal: Refusal| if fits { Ok(()) } else { Err(refusal) };
    check(merchant.offered.or(deployment.offered).unwrap_or(true), Refusal::Off)?;
    check(!ask.sandbox || able(method.sandbox, |adjusted| adjusted.sandbox), Refusal::Sandbox)?;
    check(!ask.recurring || able(method.recurring, |adjusted| adjusted.recurring), Refusal::Recurring)?;
    let channels = deployment.channels.as_deref().unwrap_or(method.channels);
    let here = |channels: &[Channel]| channels.contains(&ask.channel);
    check(here(channels) && merchant.channels.as_deref().is_none_or(here), Refusal::Channel)?;
    check(ask.country.is_none_or(|country| in_country(method, deployment, merchant, country)), Refusal::Country)?;
    let charges = |currency: &Currency| in_currency(method, deployment, merchant, *currency);
    check(ask.currencies.iter().any(charges), Refusal::Currency)?;
    match ask.amount.and_then(|amount| broken(method, deployment, merchant, amount)) {
        Some(range) => Err(Refusal::Amount(range)),
        None => Ok(()),
    }
}

fn in_country(method: &Method, deployment: &Adjustment, merchant: &Adjustment, country: &str) -> bool {
    let listed = |all: &Vec<String>| all.iter().any(|one| one == country);
    let own = || method.countries.is_empty() || method.countries.contains(&country);
    deployment.countries.as_ref().map_or_else(own, listed) && merchant.countries.as_ref().is_none_or(listed)
}

fn in_currency(method: &Method, deployment: &Adjustment, merchant: &Adjustment, currency: Currency) -> bool {
    let listed = |all: &Vec<Currency>| all.contains(&currency);
    let own = || method.currencies.is_empty() || method.currencies.contains(&currency);
    deployment.currencies.as_ref().map_or_else(own, listed) && merchant.currencies.as_ref().is_none_or(listed)
}

/// The limit that `amount` breaks.
fn broken(method: &Method, deployment: &Adjustment, merchant: &Adjustment, amount: &Amount) -> Option<Range> {
    let of = |ranges: &[Range]| ranges.iter().find(|range| range.currency == amount.currency()).copied();
    let adjusted = |adjustment: &Adjustment| adjustment.amounts.as_deref().and_then(of);
    let limits = [adjusted(deployment).or_else(|| of(method.amounts)), adjusted(merchant)];
    limits.into_iter().flatten().find(|range| !range.holds(amount))
}

#[cfg(test)]
mod tests;
