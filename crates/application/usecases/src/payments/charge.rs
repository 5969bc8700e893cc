//! The merchant charges a contract while the shopper is away (docs/SPECIFICATION.md#contract-checkout): a checkout whose card the processor
//! keeps.

use dropin_catalogue::SalesChannel;
use dropin_kernel::{ContractId, OrderId, Timestamp};
use dropin_money::Amount;
use dropin_order::NewOrder;
use dropin_ports::{Actor, CheckoutRecord, ContractName, KeyUse, StoreError, StoredCredentialPayment};

use super::authorization_flow::{Attempt, AttemptContract, PrepareOutcome};
use super::checkout::{CheckoutError, Checkouts};
use super::instrument::{PaymentInstrument, not_offered};
use super::routing::Candidates;
use super::{Conclusion, CredentialError, MAX_CAS_RETRIES, busy, response};
use crate::access::Caller;
use crate::catalogue::Purchase;
use crate::idempotency::IdempotentOutcome;

/// As many tries as any scheme's limit counts, and some more.
const TRIES: u32 = 100;

/// A charge as it is asked for; checked for everything that needs no store.
#[derive(Debug, Clone)]
pub struct ChargeAsk {
    /// ReferenceId: shares the namespace of MerchantReference.
    pub reference: String,
    /// What is to be paid.
    pub total: Amount,
    /// The consumer's country, ISO 3166-1 alpha-2.
    pub country: String,
    /// The contract.
    pub contract: ContractId,
    /// Whether it is captured as soon as it is authorized.
    pub capture: bool,
    /// Consumer and Items as JSON, kept beside the Order.
    pub document: String,
}

impl Checkouts {
    /// Charges a contract, unless its own rules or the scheme's forbid it now. With Capture, the answer waits for the capture too.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`CheckoutError`].
    pub async fn charge(
        &self,
        caller: &Caller,
        ask: &ChargeAsk,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, CheckoutError> {
        let currency = ask.total.currency();
        if !caller.merchant.currencies.contains(&currency) {
            return Err(CheckoutError::Currency(currency));
        }
        for round in 0..MAX_CAS_RETRIES {
            self.payments.backoff(round).await;
            let now = self.payments.clock.now();
            // Closed a moment ago: it is looked at again.
            let Some(attempt) = self.charging(caller, ask, key_use, now).await? else { continue };
            let attempt = Attempt { round, ..attempt };
            match self.authorization_flow().prepare(attempt).await? {
                PrepareOutcome::Prepared(prepared) => {
                    return Ok(IdempotentOutcome::Concluded(self.authorize_and_capture(*prepared).await?));
                }
                PrepareOutcome::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                PrepareOutcome::DuplicateReference => return Err(CheckoutError::DuplicateReference),
                PrepareOutcome::ProcessorUnusable => return Err(CheckoutError::ProcessorUnusable),
                // The contract changed in between.
                PrepareOutcome::Stale | PrepareOutcome::AttemptUsed => {}
            }
        }
        Err(busy("charged").into())
    }

    /// `None` when the contract's credential is gone: it was closed after it was read.
    async fn charging(
        &self,
        caller: &Caller,
        ask: &ChargeAsk,
        key_use: Option<KeyUse>,
        now: Timestamp,
    ) -> Result<Option<Attempt>, CheckoutError> {
        let merchant = caller.merchant.id;
        let found = self.contracts.find_contract(merchant, &ContractName::Id(ask.contract)).await?;
        let contract = found.ok_or(CheckoutError::NoContract)?;
        let tries = self.contracts.list_charge_tries(contract.id, TRIES).await?;
        let mark = contract.plan_merchant_charge(&ask.total, &tries, now).map_err(CheckoutError::Charge)?;
        let purchase = Purchase {
            merchant: &caller.merchant,
            country: &ask.country,
            total: &ask.total,
            recurring: true,
            capture_later: !ask.capture,
            channel: SalesChannel::Checkout,
        };
        let method = purchase.offer(&self.payments.catalogue, &contract.payment_method);
        let method = method.map_err(|refusal| CheckoutError::Method(not_offered(refusal)))?;
        let credential = self.payments.credential(self.contracts.as_ref(), &contract).await;
        let credential = credential.map_err(|error| match error {
            CredentialError::Keyring(error) => CheckoutError::Keyring(error),
            CredentialError::Store(error) => CheckoutError::Store(error),
        });
        let Some(credential) = credential? else { return Ok(None) };
        let (holder, credential) = self.payments.processor.holder(credential);
        let candidates = Candidates::only(holder);
        let payment = StoredCredentialPayment::new(credential, mark);
        let order = NewOrder {
            id: OrderId::new(self.payments.ids.random()),
            merchant_id: merchant,
            session_id: None,
            attempt_id: None,
            merchant_reference: ask.reference.clone(),
            total: ask.total,
            auto_capture: ask.capture,
            payment_method: contract.payment_method.clone(),
            return_url: None,
        };
        Ok(Some(Attempt {
            session: None,
            order,
            instrument: PaymentInstrument { method, stash: None, candidates },
            contract: Some(AttemptContract::Charges { contract: Box::new(contract), payment: Box::new(payment) }),
            refused_cards: Vec::new(),
            country: ask.country.clone(),
            postcode: None,
            actor: Actor::Merchant(caller.username.clone()),
            checkout: Some(CheckoutRecord { document: ask.document.clone() }),
            key_use,
            now,
            round: 0,
            // No shopper is there.
            screening: None,
        }))
    }

    /// Asks for what was prepared, and for the capture that follows; how things stand then.
    pub(super) async fn authorize_and_capture(
        &self,
        prepared: super::authorization_flow::Prepared,
    ) -> Result<dropin_ports::StoredResponse, StoreError> {
        let mut conclusion = self.authorization_flow().authorize(prepared).await?;
        let answered = conclusion.clone();
        let Some(capture) = conclusion.into_next().filter(|next| next.operation.tries == 0) else {
            return Ok(response::authorized(&answered, &self.payments.catalogue));
        };
        conclusion = self.payments.go_on(capture).await?;
        let order = Conclusion { order: conclusion.order, ..answered };
        Ok(response::authorized(&order, &self.payments.catalogue))
    }
}
