//! Payment methods: what a merchant offers for a payment, decided for every API by the one function of the catalogue.

use std::sync::Arc;

use dropin_access::Merchant;
use dropin_catalogue::{Ask, Catalogue, Class, MethodRefusal, Offered, PAY_LATER, PayLaterRegion, SalesChannel};
use dropin_kernel::MerchantId;
use dropin_money::Amount;
use dropin_ports::StoreError;
use dropin_validation::Country;
use dropin_wire::catalogue::{ListedMethodBody, MethodParametersBody, MethodsBody, MethodsQuery};

use crate::access::KnownMerchants;
use crate::payments::ProcessorProfiles;
use crate::wallet::WalletOffers;

/// What is known of a payment that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purchase<'a> {
    /// Whose shop it is.
    pub(crate) merchant: &'a Merchant,
    /// Billing country, ISO 3166-1 alpha-2.
    pub(crate) country: &'a str,
    /// How much, in which currency.
    pub(crate) total: &'a Amount,
    /// Whether its card is stored to be charged again, or was: then nothing but a card pays it.
    pub(crate) recurring: bool,
    /// Whether the money must not be taken before the merchant captures.
    pub(crate) capture_later: bool,
    /// Where it is made.
    pub(crate) channel: SalesChannel,
}

impl Purchase<'_> {
    /// The methods that it may be paid with, in the order they are shown.
    pub(crate) fn offers(&self, catalogue: &Catalogue) -> Vec<Offered> {
        let mut offers = self.asked(|ask| catalogue.offers(ask));
        offers.retain(|method| self.fits(method));
        offers
    }

    /// The method with this id, when it may be paid with that.
    pub(crate) fn offer(&self, catalogue: &Catalogue, id: &str) -> Result<Offered, MethodRefusal> {
        let method = self.asked(|ask| catalogue.offer(id, ask))?;
        if self.fits(&method) { Ok(method) } else { Err(MethodRefusal::Recurring) }
    }

    /// The processor stores cards alone: a wallet's token is of one payment.
    fn fits(&self, method: &Offered) -> bool {
        !self.recurring || (method.class() == Class::Card && !method.is_token())
    }

    /// The card scheme or wallet with this id, when it may be paid with a stashed card or token of that.
    pub(crate) fn stashed(&self, catalogue: &Catalogue, id: &str) -> Result<Offered, MethodRefusal> {
        self.offer(catalogue, id).and_then(|method| of_class(method, |class| class == Class::Card))
    }

    /// The method without a card with this id, when it may be paid with that.
    pub(crate) fn method(&self, catalogue: &Catalogue, id: &str) -> Result<Offered, MethodRefusal> {
        self.offer(catalogue, id).and_then(|method| of_class(method, |class| class != Class::Card))
    }

    fn asked<T>(&self, answer: impl FnOnce(&Ask<'_>) -> T) -> T {
        answer(&Ask {
            country: Some(self.country),
            currencies: &[self.total.currency()],
            // Of a card that is only verified, no amount is charged that a limit could be about.
            amount: Some(self.total).filter(|total| !total.is_zero()),
            merchant: &self.merchant.methods,
            sandbox: self.merchant.sandbox,
            recurring: self.recurring,
            capture_later: self.capture_later,
            channel: self.channel,
        })
    }
}

fn of_class(method: Offered, right: fn(Class) -> bool) -> Result<Offered, MethodRefusal> {
    if right(method.class()) { Ok(method) } else { Err(MethodRefusal::Class) }
}

/// The lists of methods that anybody may read (docs/SPECIFICATION.md#catalogue).
#[derive(Clone)]
pub struct MethodLists {
    /// Merchants, by their public ids.
    pub merchants: KnownMerchants,
    /// Says what may be paid with what.
    pub catalogue: Arc<Catalogue>,
    /// The deployment's processors, by which payments are routed.
    pub processors: ProcessorProfiles,
    /// Merchants' wallets.
    pub wallets: WalletOffers,
    /// Address of the pay-later provider's messaging script, with `{region}` in it; `None` where there is none.
    pub pay_later_script: Option<String>,
}

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MethodsError {
    /// There is no such merchant.
    #[error("there is no merchant with this id")]
    MerchantNotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MethodLists {
    /// What the merchant's checkout takes, as far as the query tells.
    ///
    /// # Errors
    /// [`MethodsError`].
    pub async fn list(&self, query: &MethodsQuery) -> Result<MethodsBody, MethodsError> {
        let id: MerchantId = query.merchant_id.parse().map_err(|_no_id| MethodsError::MerchantNotFound)?;
        let merchant = self.merchants.find(id).await?.ok_or(MethodsError::MerchantNotFound)?;
        let mut offered = listed(&self.catalogue, &merchant, query);
        if !self.processors.is_empty() {
            let (named, country) = (query.currency.map(|one| vec![one]), query.country.map(Country::code));
            let currencies = named.as_deref().unwrap_or(&merchant.currencies);
            let goes_somewhere = |id: &str| merchant.processors.may_take(&self.processors, id, currencies, country);
            offered.retain(|method| goes_somewhere(method.id()));
        }
        let token_methods = self.wallets.of(&merchant, &offered).await?;
        let language = query.locale.as_ref().map_or("en", |locale| locale.language());
        let entry =
            |method: &Offered| ListedMethodBody::new(method, language, self.parameters(&merchant, method, query));
        Ok(MethodsBody {
            payment_methods: offered.iter().filter(|method| !method.is_token()).map(entry).collect(),
            token_methods,
        })
    }

    /// Of the pay-later method, in a region that is known and where the merchant has an account; none of any other.
    fn parameters(&self, merchant: &Merchant, method: &Offered, query: &MethodsQuery) -> MethodParametersBody {
        let none = MethodParametersBody::default();
        if method.id() != PAY_LATER {
            return none;
        }
        let country = query.country.map(Country::code);
        let Some(region) = PayLaterRegion::of(country, query.currency, query.locale.as_ref()) else { return none };
        match (pay_later_client(merchant, region), &self.pay_later_script) {
            (Some(client_id), Some(script)) => MethodParametersBody {
                client_id: Some(client_id),
                on_site_java_script_url: Some(script.replace("{region}", region.as_str())),
            },
            _ => none,
        }
    }
}

/// The merchant's own client id with the pay-later provider; every sandbox account has one: `sandbox-eu`, `sandbox-na` or `sandbox-oc`.
fn pay_later_client(merchant: &Merchant, region: PayLaterRegion) -> Option<String> {
    let own = merchant.methods.pay_later_clients.get(&region).cloned();
    own.or_else(|| merchant.sandbox.then(|| format!("sandbox-{}", region.as_str())))
}

/// The methods of a list: those that a checkout which says the same is taken with.
fn listed(catalogue: &Catalogue, merchant: &Merchant, query: &MethodsQuery) -> Vec<Offered> {
    let chosen = query.currency.map(|currency| [currency]);
    // The checkout takes no currency that is not enabled, whatever the method.
    let currencies = match &chosen {
        Some(currency) if merchant.accepts(currency[0]) => &currency[..],
        Some(_) => &[],
        None => &merchant.currencies,
    };
    catalogue.offers(&Ask {
        country: query.country.map(Country::code),
        currencies,
        amount: query.amount.as_ref(),
        merchant: &merchant.methods,
        sandbox: merchant.sandbox,
        recurring: false,
        capture_later: false,
        channel: SalesChannel::Checkout,
    })
}

#[cfg(test)]
mod tests;
