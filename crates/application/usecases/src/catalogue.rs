//! Payment methods: what a merchant offers for a payment, decided for every door by the one function of the catalogue.

use dropin_access::Merchant;
use dropin_catalogue::{Ask, Catalogue, Channel, Offered, Refusal};
use dropin_money::Amount;

/// What is known of a payment that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purchase<'a> {
    /// Whose shop it is.
    pub(crate) merchant: &'a Merchant,
    /// Billing country, ISO 3166-1 alpha-2.
    pub(crate) country: &'a str,
    /// How much, in which currency.
    pub(crate) total: &'a Amount,
    /// Whether it begins a series of charges.
    pub(crate) recurring: bool,
    /// Where it is made.
    pub(crate) channel: Channel,
}

impl Purchase<'_> {
    /// The methods that it may be paid with, in the order they are shown.
    pub(crate) fn offers(&self, catalogue: &Catalogue) -> Vec<Offered> {
        self.asked(|ask| catalogue.offers(ask))
    }

    /// The method with this id, when it may be paid with that.
    pub(crate) fn offer(&self, catalogue: &Catalogue, id: &str) -> Result<Offered, Refusal> {
        self.asked(|ask| catalogue.offer(id, ask))
    }

    fn asked<T>(&self, answer: impl FnOnce(&Ask<'_>) -> T) -> T {
        answer(&Ask {
            country: Some(self.country),
            currencies: &[self.total.currency()],
            amount: Some(self.total),
            merchant: &self.merchant.methods,
            sandbox: self.merchant.sandbox,
            recurring: self.recurring,
            channel: self.channel,
        })
    }
}
