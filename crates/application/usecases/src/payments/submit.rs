//! The shopper pays: prepare, call, settle.

use dropin_access::Merchant;
use dropin_card::CardHash;
use dropin_contract::{Consent, Contract, ContractKind, ContractOrigin, NewContract};
use dropin_kernel::{AttemptId, ContractId, OrderId, Revision, SessionId, Timestamp, Violation, ViolationCode};
use dropin_order::{FailureReason, NewOrder, OpState};
use dropin_ports::{Actor, KeyringError, Payment, SessionWithOrder, StoreError, StoredCredentialPayment};
use dropin_session::{FailedAttempt, Session, SessionStateKind, SubmitRefused, WrongState};
use dropin_wire::RequestError;
use dropin_wire::checkout::ConsentRequest;
use dropin_wire::shopper::SubmitMeans;

use super::address_check::postcode_to_check;
use super::authorization_flow::{Attempt, AttemptContract, PrepareOutcome, Prepared};
use super::instrument::{Buyer, PaymentInstrument, PaymentInstrumentError};
use super::routing::Candidates;
use super::saved_cards::ContractOffer;
use super::shopper::{AttemptFailure, Progress, Shopper, purchase};
use super::{CredentialError, MAX_CAS_RETRIES, corrupt};
use crate::catalogue::Purchase;
use crate::screening::ScreeningSubject;

/// What the shopper's browser sends: no money fields at all, the total is the one of the version it names.
#[derive(Debug, Clone)]
pub struct Submit {
    /// The version of the Session that was on the screen.
    pub version: Revision,
    /// Made by the browser before sending, so that a repeat is recognised.
    pub attempt: AttemptId,
    /// Where the card waits, or the method without one.
    pub means: SubmitMeans,
    /// Of the browser, and so of the one that stashed the card.
    pub fingerprint: String,
    /// What the shopper read and agreed to, where the payment opens a contract.
    pub consent: Option<ConsentRequest>,
    /// The postcode of the card's billing address, as it was typed, where the shopper was asked for it. It is of this attempt alone.
    pub postcode: Option<String>,
}

/// What a submit led to.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// For the shopper.
    pub progress: Progress,
    /// A capture to ask for now ([`super::Payments::follow_up`]); the shopper need not wait for it.
    pub follow_up: Option<Payment>,
}

/// Why a payment was not started. Nothing was charged and nothing will be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// No such Session.
    #[error("no such Session")]
    NotFound,
    /// The request makes no sense.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The Session changed after it was shown.
    #[error("the Session changed since it was shown")]
    Changed,
    /// Another attempt was made, or its time is over.
    #[error("the Session is {}", .0.as_str())]
    WrongState(SessionStateKind),
    /// The guarantee of the rate that it is priced by has ended; the merchant can replace the Session.
    #[error("the rate offer has expired")]
    RateExpired,
    /// The stashed card cannot be used.
    #[error("the stashed card cannot be used")]
    Card(Violation),
    /// The method cannot be used.
    #[error("the method cannot be used")]
    Method(Violation),
    /// A contract is opened exactly by consent.
    #[error("the consent does not fit the Session")]
    Consent(Violation),
    /// The billing address that the shopper typed is not what was asked for.
    #[error("the billing address does not fit what was asked for")]
    Address(Violation),
    /// The Session cannot be paid with that saved card.
    #[error("the saved card cannot be used")]
    SavedCard(Violation),
    /// The key of the stashed card, or the one for the card that is to be stored, cannot be used now.
    #[error("the key of the card cannot be used: {0}")]
    Keyring(KeyringError),
    /// No processor that may be asked can be: each refuses the key that it knows us by. Nothing was written down.
    #[error("no payment processor that may be asked accepts the key of this deployment")]
    ProcessorUnusable,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<PaymentInstrumentError> for SubmitError {
    fn from(error: PaymentInstrumentError) -> Self {
        match error {
            PaymentInstrumentError::Card(violation) => Self::Card(violation),
            PaymentInstrumentError::Method(violation) => Self::Method(violation),
            PaymentInstrumentError::Keyring(error) => Self::Keyring(error),
            PaymentInstrumentError::Store(error) => Self::Store(error),
        }
    }
}

impl Shopper {
    /// Pays a Session. Repeating it with the same attempt is harmless and tells how the first one stands, or how it ended.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`SubmitError`]; after [`StoreError::OutcomeUnknown`] the same attempt may be repeated.
    pub async fn submit(&self, id: SessionId, submit: Submit) -> Result<Submitted, SubmitError> {
        self.submit_read(id, || Ok(submit)).await
    }

    /// The same for a request that `read` reads once its Session was found: a stranger who knows no Session costs one look into the store.
    ///
    /// # Errors
    /// As [`Shopper::submit`].
    pub async fn submit_read(
        &self,
        id: SessionId,
        read: impl FnOnce() -> Result<Submit, RequestError>,
    ) -> Result<Submitted, SubmitError> {
        let mut first = Some(self.load(id).await?.ok_or(SubmitError::NotFound)?);
        let submit = read()?;
        for round in 0..MAX_CAS_RETRIES {
            let found = match first.take() {
                Some(found) => found,
                None => self.load(id).await?.ok_or(SubmitError::NotFound)?,
            };
            if let Some(progress) = self.known_attempt(&found, submit.attempt).await? {
                return Ok(Submitted { progress, follow_up: None });
            }
            let session = found.session;
            match self.prepare(&session, &submit, round).await {
                Ok(Some(prepared)) => return Ok(self.authorize(prepared).await?),
                Ok(None) => {}
                // The entry may be gone because this very attempt, sent before, has used it: then its Session has moved.
                Err(gone @ (SubmitError::Card(_) | SubmitError::SavedCard(_))) => {
                    let now = self.load(id).await?.ok_or(SubmitError::NotFound)?.session;
                    if now.revision == session.revision {
                        return Err(gone);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unavailable("the Session changes faster than it can be paid".to_owned()).into())
    }

    /// How the Session stands, and how that attempt ended, when it was made before.
    async fn known_attempt(
        &self,
        found: &SessionWithOrder,
        attempt: AttemptId,
    ) -> Result<Option<Progress>, StoreError> {
        let session = &found.session;
        let progress = || Progress::of(session, found.order.as_ref(), &self.payments.catalogue);
        let is_last = session.attempts.last_failed().is_some_and(|last| last.attempt == attempt);
        if is_last || session.state.attempt() == Some(attempt) {
            return Ok(Some(progress()));
        }
        // Only where it may be one before the last.
        if session.attempts.failed() < 2 {
            return Ok(None);
        }
        let attempts = self.sessions.list_attempts(session.id).await?;
        let order = attempts.into_iter().find(|order| order.attempt_id == Some(attempt));
        Ok(order.map(|order| match (session.state.kind(), order.failure) {
            (SessionStateKind::Created, Some(reason)) => {
                let failed_attempt = Some(AttemptFailure::of(session, FailedAttempt { attempt, reason }));
                Progress { failed_attempt, ..progress() }
            }
            _ => progress(),
        }))
    }

    /// `None` when somebody else changed the Session first.
    async fn prepare(&self, session: &Session, submit: &Submit, round: u32) -> Result<Option<Prepared>, SubmitError> {
        // Before the lease begins: rules that have changed are read from the store.
        let merchant = self.merchant(session.merchant_id).await?;
        let screened_by = self.payments.screening.rules(&merchant).await;
        let now = self.payments.clock.now();
        let order_id = OrderId::new(self.payments.ids.random());
        let session_step = session
            .as_created()
            .map_err(|WrongState { found }| SubmitError::WrongState(found))?
            .submit(submit.version, order_id, submit.attempt, now)
            .map_err(|refused| match refused {
                SubmitRefused::Changed { .. } => SubmitError::Changed,
                SubmitRefused::Expired => SubmitError::WrongState(SessionStateKind::Cancelled),
                SubmitRefused::RateExpired => SubmitError::RateExpired,
                other => SubmitError::Store(corrupt(&other.to_string())),
            })?;
        let offer = self.contract_offer(session, &merchant).await?;
        self.check_consent(submit, &offer)?;
        let (authorization_flow, terms) = (self.authorization_flow(), &session.terms);
        let buyer = Buyer { purchase: purchase(session, &merchant), fingerprint: &submit.fingerprint };
        let (instrument, contract) = match &submit.means {
            SubmitMeans::Stash { stash_id, scheme } => {
                let instrument = authorization_flow.card(&buyer, stash_id, scheme.as_deref(), now).await?;
                let contract = self.agreed(session, order_id, submit, offer, &buyer, &instrument, now)?;
                (instrument, contract)
            }
            SubmitMeans::Method(id) => {
                let instrument = authorization_flow.method(&buyer, id)?;
                let contract = self.agreed(session, order_id, submit, offer, &buyer, &instrument, now)?;
                (instrument, contract)
            }
            SubmitMeans::SavedCard { contract, stash_id } => {
                match self.saved_card(session, &merchant, *contract, &buyer, stash_id, now).await? {
                    Some((instrument, charge)) => (instrument, Some(charge)),
                    // Removed a moment ago: it is looked at again.
                    None => return Ok(None),
                }
            }
        };
        let is_new_card = matches!(submit.means, SubmitMeans::Stash { .. }) && !instrument.method.is_token();
        let postcode = postcode_to_check(session, &merchant, submit.postcode.as_deref(), is_new_card);
        let postcode = postcode.map_err(SubmitError::Address)?;
        let refused_cards = match (&instrument.stash, &contract) {
            (Some(_), None | Some(AttemptContract::Opens(_) | AttemptContract::Replaces { .. }))
                if 0 < session.attempts.failed() =>
            {
                self.refused_cards(session.id).await?
            }
            _ => Vec::new(),
        };
        let method_id = instrument.method.id();
        let order = NewOrder {
            id: order_id,
            merchant_id: session.merchant_id,
            session_id: Some(session.id),
            attempt_id: Some(submit.attempt),
            merchant_reference: terms.merchant_reference.as_str().to_owned(),
            total: terms.total,
            auto_capture: terms.auto_capture,
            payment_method: method_id.to_owned(),
            return_url: None,
        };
        let attempt = Attempt {
            session: Some(session_step),
            order,
            instrument,
            contract,
            refused_cards,
            country: buyer.purchase.country.to_owned(),
            postcode,
            actor: Actor::Shopper,
            checkout: None,
            key_use: None,
            now,
            round,
            screening: screened_by.map(|rules| ScreeningSubject::of_session(rules, session, &submit.fingerprint)),
        };
        Ok(match authorization_flow.prepare(attempt).await? {
            PrepareOutcome::Prepared(prepared) => Some(*prepared),
            PrepareOutcome::ProcessorUnusable => return Err(SubmitError::ProcessorUnusable),
            PrepareOutcome::Stale
            | PrepareOutcome::AttemptUsed
            | PrepareOutcome::DuplicateReference
            | PrepareOutcome::KeyTaken => None,
        })
    }

    /// Whether the consent fits what a payment by these means does with a contract, as far as that is known before the card is.
    fn check_consent(&self, submit: &Submit, offer: &ContractOffer) -> Result<(), SubmitError> {
        let refuse = |code, why: &str| Err(SubmitError::Consent(Violation::new("Consent", code, why)));
        let is_saved_card = matches!(submit.means, SubmitMeans::SavedCard { .. });
        match (&submit.consent, offer.opens(), offer.allows()) {
            (None, Some(_), _) if !is_saved_card => {
                refuse(ViolationCode::Missing, "is required: this payment opens a contract, or gives one another card")
            }
            (Some(_), _, _) if is_saved_card => {
                refuse(ViolationCode::NotAllowed, "is of no use: a saved card opens no contract")
            }
            (Some(_), None, None) => refuse(ViolationCode::NotAllowed, "is of no use: this payment opens no contract"),
            _ => Ok(()),
        }
    }

    /// What the shopper agreed to, and what follows for a contract. The processor stores the card before its credential is sealed: it is not asked
    /// while there is no key to seal with.
    #[expect(clippy::too_many_arguments, reason = "each is decided before, and used once")]
    fn agreed(
        &self,
        session: &Session,
        order: OrderId,
        submit: &Submit,
        offer: ContractOffer,
        buyer: &Buyer<'_>,
        instrument: &PaymentInstrument,
        now: Timestamp,
    ) -> Result<Option<AttemptContract>, SubmitError> {
        let Some(consent) = &submit.consent else { return Ok(None) };
        let method = instrument.method.id();
        let storable = Purchase { recurring: true, ..buyer.purchase }.stashed(&self.payments.catalogue, method);
        if storable.is_err() {
            let why = "is of no use: what is paid with cannot be saved";
            return Err(SubmitError::Consent(Violation::new("Consent", ViolationCode::NotAllowed, why)));
        }
        if let Some(vault) = &self.payments.credentials {
            vault.check().map_err(SubmitError::Keyring)?;
        }
        let consent = consent.clone().given_at(now);
        Ok(match offer {
            ContractOffer::Opens(kind) | ContractOffer::Allows(kind) => {
                Some(self.opening(session, order, method, kind, consent)?)
            }
            ContractOffer::Replaces(contract) => Some(AttemptContract::Replaces { contract, consent }),
            ContractOffer::None => None,
        })
    }

    /// The payment by a saved card, once its verification code waits in the stash; `None` when the card is gone since it was looked for. Its credential is
    /// opened before anything is written.
    async fn saved_card(
        &self,
        session: &Session,
        merchant: &Merchant,
        contract: ContractId,
        buyer: &Buyer<'_>,
        stash_id: &str,
        now: Timestamp,
    ) -> Result<Option<(PaymentInstrument, AttemptContract)>, SubmitError> {
        let refuse = || {
            let why = "names no saved card that this Session may be paid with now: load the Session again";
            SubmitError::SavedCard(Violation::new("ContractId", ViolationCode::NotFound, why))
        };
        let contract = self.payable(session, merchant, contract, now).await?.ok_or_else(refuse)?;
        let mark = contract.plan_shopper_payment(&session.terms.total, now).map_err(|_refused| refuse())?;
        let card = contract.card.ok_or_else(refuse)?.summary;
        let purchase = Purchase { recurring: true, ..buyer.purchase };
        let method = purchase.offer(&self.payments.catalogue, &contract.payment_method).map_err(|_refused| refuse())?;
        let stash = self.authorization_flow().code(buyer, stash_id, card.scheme, now).await?;
        let credential = self.payments.credential(self.contracts.store.as_ref(), &contract).await;
        let credential = credential.map_err(|error| match error {
            CredentialError::Keyring(error) => SubmitError::Keyring(error),
            CredentialError::Store(error) => SubmitError::Store(error),
        });
        let Some(credential) = credential? else { return Ok(None) };
        let (holder, credential) = self.payments.processor.holder(credential);
        let candidates = Candidates::only(holder);
        let payment = Box::new(StoredCredentialPayment::new(credential, mark));
        let instrument = PaymentInstrument { method, stash: Some(stash), candidates };
        Ok(Some((instrument, AttemptContract::Charges { contract: Box::new(contract), payment })))
    }

    /// The contract that an attempt opens.
    fn opening(
        &self,
        session: &Session,
        order: OrderId,
        method: &str,
        kind: ContractKind,
        consent: Consent,
    ) -> Result<AttemptContract, StoreError> {
        let at = consent.at;
        let new = NewContract {
            id: ContractId::new(self.payments.ids.random()),
            merchant_id: session.merchant_id,
            kind,
            origin: ContractOrigin::Session { session: session.id, order },
            payment_method: method.to_owned(),
            currency: session.terms.currency,
            billing_profile_reference: session.terms.billing.details.reference.clone(),
            consent,
        };
        let contract = Contract::open(new, at).map_err(|invalid| StoreError::Refused(invalid.to_string()))?;
        Ok(AttemptContract::Opens(Box::new(contract)))
    }

    /// The cards that their issuers forbade to try again at earlier attempts of the Session. An attempt that ends meanwhile has changed the Session,
    /// which is then looked at again.
    async fn refused_cards(&self, id: SessionId) -> Result<Vec<CardHash>, StoreError> {
        let attempts = self.sessions.list_attempts(id).await?;
        let refused = attempts.into_iter().filter(|order| order.failure == Some(FailureReason::CardRefused));
        Ok(refused.filter_map(|order| order.card).collect())
    }

    async fn authorize(&self, prepared: Prepared) -> Result<Submitted, StoreError> {
        let conclusion = self.authorization_flow().authorize(prepared).await?;
        let session = conclusion.session.as_ref();
        let session = session.ok_or_else(|| corrupt("an attempt in the drop-in without its Session"))?;
        let progress = Progress::of(session, Some(&conclusion.order), &self.payments.catalogue);
        let checking = progress.state == SessionStateKind::Processing && conclusion.state == OpState::Unknown;
        let progress = Progress { checking, ..progress };
        Ok(Submitted { progress, follow_up: conclusion.into_next() })
    }
}
