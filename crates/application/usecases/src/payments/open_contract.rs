//! The merchant's server has a stashed card stored, and charges nothing (docs/SPECIFICATION.md#open-contract): a checkout of nothing, whose
//! Order nobody sees.

use std::sync::Arc;

use dropin_contract::{Consent, Contract, ContractKind, ContractOrigin, NewContract};
use dropin_kernel::{ContractId, OrderId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::NewOrder;
use dropin_ports::{Actor, CheckoutRecord, KeyUse, StoreError};
use dropin_risk::Rules;
use dropin_validation::Text;

use super::authorization_flow::{Attempt, AttemptContract, PrepareOutcome};
use super::checkout::{CheckoutAsk, CheckoutError, Checkouts};
use super::instrument::PaymentInstrument;
use super::{MAX_CAS_RETRIES, busy, response};
use crate::access::Caller;
use crate::idempotency::IdempotentOutcome;
use crate::screening::ScreeningSubject;

/// A contract as it is asked for; checked for everything that needs no store.
#[derive(Debug, Clone)]
pub struct OpenContractAsk {
    /// ReferenceId: shares the namespace of MerchantReference.
    pub reference: Text,
    /// RECURRING or UNSCHEDULED.
    pub kind: ContractKind,
    /// The currency of every payment under it.
    pub currency: Currency,
    /// The consumer's country, ISO 3166-1 alpha-2.
    pub country: String,
    /// Id of the payment method, of class Card.
    pub method: String,
    /// Where the card waits.
    pub stash_id: String,
    /// The consumer's e-mail address.
    pub email: String,
    /// Of the browser that stashed the card.
    pub fingerprint: String,
    /// Where the shopper comes back to from the bank's page.
    pub return_url: Option<String>,
    /// The merchant's reference of the shopper's billing profile.
    pub billing_profile_reference: Option<Text>,
    /// What the shopper agreed to.
    pub consent: Consent,
    /// Consumer as JSON, kept beside the Order.
    pub document: String,
}

impl Checkouts {
    /// Stores a card: the issuer is asked to verify it, and the processor to store it.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`CheckoutError`].
    pub async fn open_contract(
        &self,
        caller: &Caller,
        ask: &OpenContractAsk,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, CheckoutError> {
        if !caller.merchant.currencies.contains(&ask.currency) {
            return Err(CheckoutError::Currency(ask.currency));
        }
        // The processor stores the card before its credential is sealed: it is not asked while there is no key to seal with.
        if let Some(vault) = &self.payments.credentials {
            vault.check().map_err(CheckoutError::Keyring)?;
        }
        let screened_by = self.payments.screening.rules(&caller.merchant).await;
        for round in 0..MAX_CAS_RETRIES {
            let now = self.payments.clock.now();
            let instrument = match self.card_to_store(caller, ask, now).await {
                // The stash may be used up by this very request, sent before.
                Err(CheckoutError::Stash(_)) if self.is_known(caller, ask.reference.as_str()).await? => {
                    return Err(CheckoutError::DuplicateReference);
                }
                instrument => instrument?,
            };
            let attempt = self.opening(caller, ask, instrument, screened_by.clone(), key_use, now)?;
            let attempt = Attempt { round, ..attempt };
            match self.authorization_flow().prepare(attempt).await? {
                PrepareOutcome::Prepared(prepared) => {
                    let conclusion = self.authorization_flow().authorize(*prepared).await?;
                    return Ok(IdempotentOutcome::Concluded(response::authorized(
                        &conclusion,
                        &self.payments.catalogue,
                    )));
                }
                PrepareOutcome::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                PrepareOutcome::DuplicateReference => return Err(CheckoutError::DuplicateReference),
                PrepareOutcome::ProcessorUnusable => return Err(CheckoutError::ProcessorUnusable),
                // The stash entry changed in between; an Order without a Session is no attempt.
                PrepareOutcome::Stale | PrepareOutcome::AttemptUsed => {}
            }
        }
        Err(busy("opened").into())
    }

    async fn card_to_store(
        &self,
        caller: &Caller,
        ask: &OpenContractAsk,
        now: Timestamp,
    ) -> Result<PaymentInstrument, CheckoutError> {
        self.instrument(caller, &ask.as_checkout(), true, now).await
    }

    fn opening(
        &self,
        caller: &Caller,
        ask: &OpenContractAsk,
        instrument: PaymentInstrument,
        screened_by: Option<Arc<Rules>>,
        key_use: Option<KeyUse>,
        now: Timestamp,
    ) -> Result<Attempt, StoreError> {
        let new = NewContract {
            id: ContractId::new(self.payments.ids.random()),
            merchant_id: caller.merchant.id,
            kind: ask.kind,
            origin: ContractOrigin::Server { reference: ask.reference.clone() },
            payment_method: instrument.method.id().to_owned(),
            currency: ask.currency,
            billing_profile_reference: ask.billing_profile_reference.clone(),
            consent: ask.consent.clone(),
        };
        let contract = Contract::open(new, now).map_err(|invalid| StoreError::Refused(invalid.to_string()))?;
        let order = NewOrder {
            id: OrderId::new(self.payments.ids.random()),
            merchant_id: caller.merchant.id,
            session_id: None,
            attempt_id: None,
            merchant_reference: ask.reference.as_str().to_owned(),
            total: Amount::zero(ask.currency),
            auto_capture: true,
            payment_method: instrument.method.id().to_owned(),
            return_url: ask.return_url.clone(),
        };
        Ok(Attempt {
            session: None,
            order,
            instrument,
            contract: Some(AttemptContract::Opens(Box::new(contract))),
            refused_cards: Vec::new(),
            country: ask.country.clone(),
            postcode: None,
            actor: Actor::Merchant(caller.username.clone()),
            checkout: Some(CheckoutRecord { document: ask.document.clone() }),
            key_use,
            now,
            round: 0,
            screening: screened_by.map(|rules| ScreeningSubject {
                profile: ask.billing_profile_reference.as_ref().map(|reference| reference.as_str().to_owned()),
                ..ask.as_checkout().screened_by(rules)
            }),
        })
    }
}

impl OpenContractAsk {
    /// As a checkout of nothing.
    fn as_checkout(&self) -> CheckoutAsk {
        CheckoutAsk {
            reference: self.reference.as_str().to_owned(),
            total: Amount::zero(self.currency),
            country: self.country.clone(),
            method: Some(self.method.clone()),
            stash_id: Some(self.stash_id.clone()),
            email: self.email.clone(),
            fingerprint: self.fingerprint.clone(),
            capture: true,
            return_url: self.return_url.clone(),
            document: String::new(),
        }
    }
}
