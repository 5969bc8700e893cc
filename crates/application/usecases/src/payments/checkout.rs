//! The merchant's server pays for the shopper (docs/SPECIFICATION.md#checkout): the same flow as the drop-in's
//! submit, without a Session.

use std::sync::Arc;

use dropin_catalogue::SalesChannel;
use dropin_contract::ChargeRefused;
use dropin_kernel::{OrderId, Violation, ViolationCode};
use dropin_money::{Amount, Currency};
use dropin_order::NewOrder;
use dropin_ports::{
    Actor, CheckoutRecord, ContractName, ContractStore, KeyUse, KeyringError, OrderName, StashStore, StashVault,
    StoreError,
};
use dropin_risk::Rules;

use super::authorization_flow::{Attempt, AuthorizationFlow, PrepareOutcome};
use super::instrument::{Buyer, PaymentInstrument, PaymentInstrumentError, not_offered};
use super::{MAX_CAS_RETRIES, Payments, busy};
use crate::access::Caller;
use crate::catalogue::Purchase;
use crate::idempotency::IdempotentOutcome;
use crate::screening::ScreeningSubject;
use crate::wallet::WalletOffers;

/// A checkout as it is asked for; checked for everything that needs no store.
#[derive(Debug, Clone)]
pub struct CheckoutAsk {
    /// ReferenceId: shares the namespace of MerchantReference.
    pub reference: String,
    /// What is to be paid.
    pub total: Amount,
    /// The consumer's country, ISO 3166-1 alpha-2.
    pub country: String,
    /// Id of the payment method; a stashed wallet token needs none.
    pub method: Option<String>,
    /// Where the card or the token waits; of card methods and wallets only.
    pub stash_id: Option<String>,
    /// The consumer's e-mail address.
    pub email: String,
    /// Of the browser that stashed the card.
    pub fingerprint: String,
    /// Whether it is captured as soon as it is authorized.
    pub capture: bool,
    /// Where the shopper comes back to from a hosted page.
    pub return_url: Option<String>,
    /// Consumer and Items as JSON, kept beside the Order.
    pub document: String,
}

impl CheckoutAsk {
    /// What is known of it when it is screened.
    pub(super) fn screened_by(&self, rules: Arc<Rules>) -> ScreeningSubject {
        ScreeningSubject {
            rules,
            session: None,
            fingerprint: self.fingerprint.clone(),
            email: Some(self.email.clone()),
            profile: None,
            billing_country: self.country.parse().ok(),
            shipping_country: None,
        }
    }
}

/// Why a checkout was not started. Nothing was charged and nothing will be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckoutError {
    /// Not enabled for the merchant.
    #[error("{} is not enabled for the merchant", .0.code())]
    Currency(Currency),
    /// The stashed card cannot be used.
    #[error("the stashed card cannot be used")]
    Stash(Violation),
    /// The method cannot be used.
    #[error("the method cannot be used")]
    Method(Violation),
    /// The merchant used the reference before.
    #[error("the reference was used before")]
    DuplicateReference,
    /// The merchant has no such contract.
    #[error("there is no such contract")]
    NoContract,
    /// The contract may not be charged.
    #[error(transparent)]
    Charge(ChargeRefused),
    /// The key of the stashed or stored card cannot be used now.
    #[error("the key of the card cannot be used: {0}")]
    Keyring(KeyringError),
    /// No processor that may be asked can be: each refuses the key that it knows us by. Nothing was written down.
    #[error("no payment processor that may be asked accepts the key of this deployment")]
    ProcessorUnusable,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<PaymentInstrumentError> for CheckoutError {
    fn from(error: PaymentInstrumentError) -> Self {
        match error {
            PaymentInstrumentError::Card(violation) => Self::Stash(violation),
            PaymentInstrumentError::Method(violation) => Self::Method(violation),
            PaymentInstrumentError::Keyring(error) => Self::Keyring(error),
            PaymentInstrumentError::Store(error) => Self::Store(error),
        }
    }
}

/// Payments from server to server.
#[derive(Clone)]
pub struct Checkouts {
    /// The money flows.
    pub payments: Payments,
    /// Stashed cards.
    pub stash: Arc<dyn StashStore>,
    /// Opens them, once.
    pub vault: Arc<dyn StashVault>,
    /// {asset_url}: hosted pages send the shopper back below it.
    pub return_base: String,
    /// Says which merchants take wallets' tokens.
    pub wallets: WalletOffers,
    /// Contracts.
    pub contracts: Arc<dyn ContractStore>,
}

impl Checkouts {
    pub(super) fn authorization_flow(&self) -> AuthorizationFlow<'_> {
        let (stash, vault) = (self.stash.as_ref(), self.vault.as_ref());
        AuthorizationFlow {
            payments: &self.payments,
            stash,
            vault,
            return_base: &self.return_base,
            wallets: &self.wallets,
        }
    }

    /// Pays. With Capture, the answer waits for the capture too.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`CheckoutError`].
    pub async fn pay(
        &self,
        caller: &Caller,
        ask: &CheckoutAsk,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, CheckoutError> {
        let currency = ask.total.currency();
        if !caller.merchant.currencies.contains(&currency) {
            return Err(CheckoutError::Currency(currency));
        }
        let screened_by = self.payments.screening.rules(&caller.merchant).await;
        for round in 0..MAX_CAS_RETRIES {
            let now = self.payments.clock.now();
            let instrument = match self.instrument(caller, ask, false, now).await {
                // The stash may be used up by this very checkout, sent before.
                Err(CheckoutError::Stash(_)) if self.is_known(caller, &ask.reference).await? => {
                    return Err(CheckoutError::DuplicateReference);
                }
                instrument => instrument?,
            };
            let attempt = self.attempt(caller, ask, instrument, screened_by.clone(), key_use, now);
            let attempt = Attempt { round, ..attempt };
            match self.authorization_flow().prepare(attempt).await? {
                PrepareOutcome::Prepared(prepared) => {
                    return Ok(IdempotentOutcome::Concluded(self.authorize_and_capture(*prepared).await?));
                }
                PrepareOutcome::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                PrepareOutcome::DuplicateReference => return Err(CheckoutError::DuplicateReference),
                PrepareOutcome::ProcessorUnusable => return Err(CheckoutError::ProcessorUnusable),
                // The stash entry changed in between; an Order without a Session is no attempt.
                PrepareOutcome::Stale | PrepareOutcome::AttemptUsed => {}
            }
        }
        Err(busy("paid").into())
    }

    /// Whether the merchant has made an Order or a contract under this reference.
    pub(super) async fn is_known(&self, caller: &Caller, reference: &str) -> Result<bool, StoreError> {
        let name = OrderName::Reference(reference.to_owned());
        let merchant = caller.merchant.id;
        if self.payments.store.find_order(merchant, &name).await?.is_some() {
            return Ok(true);
        }
        let name = ContractName::Reference(reference.to_owned());
        Ok(self.contracts.find_contract(merchant, &name).await?.is_some())
    }

    /// What is paid with; `recurring` where the card is to be stored.
    pub(super) async fn instrument(
        &self,
        caller: &Caller,
        ask: &CheckoutAsk,
        recurring: bool,
        now: dropin_kernel::Timestamp,
    ) -> Result<PaymentInstrument, CheckoutError> {
        let purchase = Purchase {
            merchant: &caller.merchant,
            country: &ask.country,
            total: &ask.total,
            recurring,
            capture_later: !ask.capture,
            channel: SalesChannel::Checkout,
        };
        let buyer = Buyer { purchase, fingerprint: &ask.fingerprint };
        let missing = |field, why: &str| CheckoutError::Method(Violation::new(field, ViolationCode::Missing, why));
        let method = ask.method.as_deref();
        let Some(stash_id) = &ask.stash_id else {
            let method = method.ok_or_else(|| missing("PaymentMethod", "is required without a StashId"))?;
            return Ok(self.authorization_flow().method(&buyer, method)?);
        };
        // Before the card is looked at, so that the merchant learns of the method that it named.
        let named = method.map(|id| purchase.offer(&self.payments.catalogue, id)).transpose();
        let named = named.map_err(|refusal| CheckoutError::Method(not_offered(refusal)))?;
        let chosen = named.as_ref().map(|named| named.id());
        let instrument = self.authorization_flow().card(&buyer, stash_id, chosen, now).await?;
        match chosen {
            None if !instrument.method.is_token() => {
                Err(missing("PaymentMethod", "is required: what is stashed is a card, and no wallet's token"))
            }
            _ if !instrument.method.is_token() && ask.return_url.is_none() => {
                Err(missing("Return", "is required for a card: the shopper comes back to it"))
            }
            _ => Ok(instrument),
        }
    }

    fn attempt(
        &self,
        caller: &Caller,
        ask: &CheckoutAsk,
        instrument: PaymentInstrument,
        screened_by: Option<Arc<Rules>>,
        key_use: Option<KeyUse>,
        now: dropin_kernel::Timestamp,
    ) -> Attempt {
        let order = NewOrder {
            id: OrderId::new(self.payments.ids.random()),
            merchant_id: caller.merchant.id,
            session_id: None,
            attempt_id: None,
            merchant_reference: ask.reference.clone(),
            total: ask.total,
            auto_capture: ask.capture,
            payment_method: instrument.method.id().to_owned(),
            return_url: ask.return_url.clone(),
        };
        Attempt {
            session: None,
            order,
            instrument,
            contract: None,
            refused_cards: Vec::new(),
            country: ask.country.clone(),
            postcode: None,
            actor: Actor::Merchant(caller.username.clone()),
            checkout: Some(CheckoutRecord { document: ask.document.clone() }),
            key_use,
            now,
            round: 0,
            screening: screened_by.map(|rules| ask.screened_by(rules)),
        }
    }
}
