//! The authorization flow of the drop-in and of server-to-server checkouts: resolve the payment instrument, prepare, call, settle.

mod ask;

use dropin_card::{CardHash, ClientFacts, Scheme, StashContents, StashedData, StashedKind};
use dropin_catalogue::{Class, MethodRefusal, Offered};
use dropin_contract::{Consent, Contract, ContractStateKind, ContractTrigger};
use dropin_kernel::{Change, Timestamp, Violation, ViolationCode};
use dropin_order::{Channel, DeclineReason, NewOrder, Operation, Order, OrderState, OrderTrigger, transfer_reference};
use dropin_ports::{
    Actor, AuthorizationPrepared, CheckoutRecord, ContractUse, KeyUse, KeyringError, NewHistoryEntry, Payment,
    PaymentMethodData, PrepareAuthorization, ProcessorReply, SealedCard, StashFound, StashKey, StashStore, StashUse,
    StashVault, StoreError, StoredCredentialPayment, Subject, VerificationCode,
};
use dropin_risk::{Decision, language_country, time_zone_country};
use dropin_session::{Session, SessionTransition};

use super::decide::DecisionPolicy;
use super::screened::ScreenedReply;
use super::{Asker, Conclusion, Payments, after_asking};
use crate::catalogue::Purchase;
use crate::screening::{InstrumentFacts, ScreenedPayment, ScreeningSubject};
use crate::wallet::WalletOffers;

/// The flow of one authorization.
pub(super) struct AuthorizationFlow<'a> {
    pub(super) payments: &'a Payments,
    pub(super) stash: &'a dyn StashStore,
    pub(super) vault: &'a dyn StashVault,
    /// {asset_url}: hosted pages send the shopper back below it.
    pub(super) return_base: &'a str,
    /// Says which merchants take wallets' tokens.
    pub(super) wallets: &'a WalletOffers,
}

/// Who pays, and what.
pub(super) struct Buyer<'a> {
    pub(super) purchase: Purchase<'a>,
    pub(super) fingerprint: &'a str,
}

/// The payment method, and the stash entry that the payment uses up.
pub(super) struct PaymentInstrument {
    pub(super) method: Offered,
    pub(super) stash: Option<StashUse>,
}

/// Why a payment instrument cannot be used.
pub(super) enum PaymentInstrumentError {
    /// About the stashed card.
    Card(Violation),
    /// About the method.
    Method(Violation),
    /// The stashed card's key cannot be used now. Nothing was written down, so the same request may come again.
    Keyring(KeyringError),
    /// The store failed.
    Store(StoreError),
}

/// An attempt that is about to be prepared.
pub(super) struct Attempt {
    pub(super) session: Option<(Change<Session>, SessionTransition)>,
    pub(super) order: NewOrder,
    pub(super) instrument: PaymentInstrument,
    /// The contract that it opens or is made under.
    pub(super) contract: Option<AttemptContract>,
    /// Cards that their issuers forbade to try again earlier in the Session: the processor is not asked about one of them.
    pub(super) refused_cards: Vec<CardHash>,
    pub(super) country: String,
    pub(super) actor: Actor,
    pub(super) checkout: Option<CheckoutRecord>,
    pub(super) key_use: Option<KeyUse>,
    pub(super) now: Timestamp,
    /// How often it was prepared before, in vain.
    pub(super) round: u32,
    /// What it is screened by; `None` where it is not.
    pub(super) screening: Option<ScreeningSubject>,
}

/// What an attempt does with a contract.
pub(super) enum AttemptContract {
    /// Its card is stored for it.
    Opens(Box<Contract>),
    /// It is charged with its stored credential.
    Charges {
        /// As it was when this was decided.
        contract: Box<Contract>,
        /// What the card is charged by.
        payment: Box<StoredCredentialPayment>,
    },
    /// Its card takes the place of this one's.
    Replaces {
        /// As it was when this was decided.
        contract: Box<Contract>,
        /// What the shopper agreed to.
        consent: Consent,
    },
}

/// The outcome of preparing an attempt.
pub(super) enum PrepareOutcome {
    /// The processor may be called now.
    Prepared(Box<Prepared>),
    /// Another request changed the Session or used the stash entry: load both again.
    Stale,
    /// The Session had an attempt of that id before.
    AttemptUsed,
    /// The merchant used the reference before.
    DuplicateReference,
    /// The request's key was used before.
    KeyTaken,
}

/// A prepared payment: the processor may be called for it.
pub(super) struct Prepared {
    payment: Payment,
    country: String,
    card: Option<(SealedCard, StashKey)>,
    stored: Option<Box<StoredCredentialPayment>>,
    refused_cards: Vec<CardHash>,
    screening: Option<ScreeningSubject>,
    /// Who posted what the payment uses up of the stash.
    client: ClientFacts,
}

/// What is said of a PaymentMethod that may not be used.
pub(super) fn not_offered(refusal: MethodRefusal) -> Violation {
    Violation::new("PaymentMethod", ViolationCode::NotAllowed, refusal.to_string())
}

impl AuthorizationFlow<'_> {
    /// The method of the stashed card or wallet's token, which must be usable here.
    pub(super) async fn card(
        &self,
        buyer: &Buyer<'_>,
        stash_id: &str,
        now: Timestamp,
    ) -> Result<PaymentInstrument, PaymentInstrumentError> {
        let key = buyer.stash_key(stash_id);
        let found = self.stash.peek_stash(&key, now).await.map_err(PaymentInstrumentError::Store)?;
        let refuse = |code, why: &str| PaymentInstrumentError::Card(Violation::new("StashId", code, why));
        let StashFound { summary, key_id } = found.ok_or_else(not_stashed)?;
        if !summary.usable {
            let why = "the card's number, expiry or code is not valid: stash it again, corrected";
            return Err(refuse(ViolationCode::Invalid, why));
        }
        let why = match summary.kind {
            StashedKind::Card(_) => "cards of this scheme are not accepted for this payment: use another card",
            StashedKind::Wallet(_) => "is a wallet's token, which is not accepted for this payment: use a card",
        };
        let id = summary.kind.method_id().ok_or_else(|| refuse(ViolationCode::NotAllowed, why))?;
        let method = buyer.purchase.stashed(&self.payments.catalogue, id);
        let method = method.map_err(|_refused| refuse(ViolationCode::NotAllowed, why))?;
        if method.is_token() {
            let (merchant, offers) = (buyer.purchase.merchant.id, buyer.purchase.offers(&self.payments.catalogue));
            if !self.wallets.takes_token(merchant, &offers).await.map_err(PaymentInstrumentError::Store)? {
                return Err(refuse(ViolationCode::NotAllowed, why));
            }
        }
        // A payment that begins with a card that cannot be opened would fail, and its reference would be used up.
        self.vault.check_key(&key_id).map_err(PaymentInstrumentError::Keyring)?;
        Ok(PaymentInstrument { method, stash: Some(StashUse { key, summary }) })
    }

    /// The verification code that waits for a stored card of this scheme (docs/SPECIFICATION.md#saved-card-payment).
    pub(super) async fn code(
        &self,
        buyer: &Buyer<'_>,
        stash_id: &str,
        scheme: Scheme,
        now: Timestamp,
    ) -> Result<StashUse, PaymentInstrumentError> {
        let key = buyer.stash_key(stash_id);
        let found = self.stash.read_stash(&key, now).await.map_err(PaymentInstrumentError::Store)?;
        let (summary, sealed) = found.ok_or_else(not_stashed)?;
        let opened = self.vault.open(&sealed, &key).map_err(PaymentInstrumentError::Keyring)?;
        let code = code_alone(&opened.data).filter(|code| code.expose().len() == scheme.code_length());
        if code.is_none() {
            let why = format!(
                "must hold the {} digits of the saved card's verification code, and nothing else: stash {{\"VerificationCode\"}} again",
                scheme.code_length()
            );
            return Err(PaymentInstrumentError::Card(Violation::new("StashId", ViolationCode::Invalid, why)));
        }
        Ok(StashUse { key, summary })
    }

    /// The method without a card that has this id, which must be usable here.
    pub(super) fn method(&self, buyer: &Buyer<'_>, id: &str) -> Result<PaymentInstrument, PaymentInstrumentError> {
        let method = buyer.purchase.method(&self.payments.catalogue, id);
        method
            .map(|method| PaymentInstrument { method, stash: None })
            .map_err(|refusal| PaymentInstrumentError::Method(not_offered(refusal)))
    }

    /// The Order, with what only a transfer needs.
    fn start(&self, new: NewOrder, instrument: &PaymentInstrument, round: u32, now: Timestamp) -> Order {
        let order = Order::start(new, now);
        if instrument.method.class() != Class::Offline {
            return order;
        }
        let base = self.return_base.trim_end_matches('/');
        let transfer_page = order.session_id.is_none().then(|| format!("{base}/v1/transfer/{}", order.id));
        let transfer_reference = Some(transfer_reference(&order.merchant_reference, order.id, round));
        order.with_transfer(transfer_reference, transfer_page)
    }

    /// Writes everything down that must be known before the processor is asked.
    pub(super) async fn prepare(&self, attempt: Attempt) -> Result<PrepareOutcome, StoreError> {
        let Attempt {
            session,
            order,
            instrument,
            contract,
            refused_cards,
            country,
            actor,
            checkout,
            key_use,
            now,
            round,
            screening,
        } = attempt;
        let order = self.start(order, &instrument, round, now);
        let (contract, stored) = match contract {
            None => (None, None),
            Some(AttemptContract::Opens(contract)) => (Some(ContractUse::Opens(contract)), None),
            Some(AttemptContract::Charges { contract, payment }) => {
                (Some(ContractUse::Charges(Box::new(contract.charge_begun()))), Some(payment))
            }
            Some(AttemptContract::Replaces { contract, consent }) => {
                (Some(ContractUse::Replaces(Box::new(contract.replacement_begun(consent)))), None)
            }
        };
        let order = match &contract {
            Some(using) => order.with_contract(using.contract().id),
            None => order,
        };
        let charged = contract.as_ref().filter(|_| stored.is_some()).and_then(|using| using.contract().card.as_ref());
        let order = match charged {
            Some(card) => order.with_last_four(card.summary.last_four),
            None => order,
        };
        let due_at = now.plus(self.payments.timing.lease);
        let channel = if checkout.is_some() { Channel::CheckoutPayment } else { Channel::Nobody };
        let operation = Operation::authorize(self.payments.op_id(), order.id, order.total, now, due_at);
        let operation = operation.through(channel);
        let step = |subject, what, before, after| NewHistoryEntry {
            merchant_id: order.merchant_id,
            subject,
            actor: actor.clone(),
            what,
            at: now,
            before,
            after,
        };
        let mut history = Vec::with_capacity(2);
        if let Some((change, row)) = &session {
            let from = row.from.map(|state| state.as_str());
            history.push(step(Subject::Session(change.next.id), row.trigger.as_str(), from, row.to.as_str()));
        }
        let started = OrderTrigger::Start.as_str();
        history.push(step(Subject::Order(order.id), started, None, OrderState::Processing.as_str()));
        let key = instrument.stash.as_ref().map(|stash| stash.key.clone());
        let payment = Payment {
            operation: operation.clone(),
            order: order.clone(),
            session: session.as_ref().map(|(change, _row)| change.next.clone()),
            refund: None,
            contract: contract.as_ref().map(|using| using.contract().clone()),
            is_charge: stored.is_some(),
        };
        if let Some(ContractUse::Opens(opened)) = &contract {
            let to = ContractStateKind::Opening.as_str();
            history.push(step(Subject::Contract(opened.id), ContractTrigger::Open.as_str(), None, to));
        }
        let prepare = PrepareAuthorization {
            session: session.map(|(change, _row)| change),
            order,
            checkout,
            contract,
            operation,
            stash: instrument.stash,
            now,
            history,
            key_use,
        };
        Ok(match self.payments.store.prepare_authorization(prepare).await? {
            AuthorizationPrepared::Done(sealed) => PrepareOutcome::Prepared(Box::new(Prepared {
                payment,
                country,
                card: sealed.zip(key),
                stored,
                refused_cards,
                screening,
                client: ClientFacts::default(),
            })),
            // Missing now, and there a moment ago: used, expired, or replaced by another card.
            AuthorizationPrepared::Stale
            | AuthorizationPrepared::StashMissing
            | AuthorizationPrepared::TransferReferenceTaken => PrepareOutcome::Stale,
            AuthorizationPrepared::AttemptUsed => PrepareOutcome::AttemptUsed,
            AuthorizationPrepared::DuplicateReference => PrepareOutcome::DuplicateReference,
            AuthorizationPrepared::KeyTaken => PrepareOutcome::KeyTaken,
        })
    }

    /// Screens it, asks the processor unless that or the issuer forbids it, and writes down the outcome.
    pub(super) async fn authorize(&self, mut prepared: Prepared) -> Result<Conclusion, StoreError> {
        let mut is_in_vain = false;
        let (answer, screened) = match self.open(&mut prepared) {
            Ok(method_data) => {
                let screened = self.screen(&prepared, &method_data).await;
                let decision = screened.as_ref().map_or(Decision::Allow, ScreenedPayment::decision);
                let unasked = prepared.unasked(decision, &method_data);
                is_in_vain = unasked == Some(DeclineReason::AuthenticationFailed);
                let answer = match unasked {
                    Some(reason) => ProcessorReply::Declined { reason, retryable: false, credential: None },
                    None => self.ask(&mut prepared, method_data, decision).await,
                };
                (answer, screened)
            }
            Err(error) => {
                let operation = prepared.payment.operation.id.to_string();
                log::error!(operation = operation.as_str(), error:% = error; "a stashed card cannot be opened: the attempt fails");
                (ProcessorReply::NotSent, None)
            }
        };
        let ScreenedReply { reply, outcome } =
            self.payments.after_screening(&prepared.payment.order, screened, answer).await;
        let policy = DecisionPolicy::of(Asker::Nobody);
        let conclusion = self.payments.conclude_known(prepared.payment, reply, policy).await.map_err(after_asking)?;
        // Neither issuer nor shopper refused what nobody was asked for.
        self.payments.count_outcome(&conclusion, outcome.filter(|_| !is_in_vain)).await;
        Ok(conclusion)
    }

    /// What screening makes of it; `None` where it is not screened.
    async fn screen(&self, prepared: &Prepared, method_data: &PaymentMethodData) -> Option<ScreenedPayment> {
        let subject = prepared.screening.as_ref()?;
        let instrument = prepared.instrument_facts(method_data);
        Some(self.payments.screening.screen(&prepared.payment.order, subject, &instrument).await)
    }

    /// What the Order is paid with. The hash of a card becomes known here and nowhere before, so that none is stored of a card that is paid with; so does
    /// the end of its number, which is written down with what came of asking.
    fn open(&self, prepared: &mut Prepared) -> Result<PaymentMethodData, KeyringError> {
        if let Some(payment) = prepared.stored.take() {
            let Some((sealed, key)) = &prepared.card else { return Ok(PaymentMethodData::StoredCredential(payment)) };
            // Another entry may have taken the place of the one that was looked at.
            let StashContents { data, client } = self.vault.open(sealed, key)?;
            prepared.client = client;
            let code = code_alone(&data).ok_or(KeyringError::CannotOpen)?;
            return Ok(PaymentMethodData::StoredCredential(Box::new(payment.with_verification_code(code))));
        }
        let order = &mut prepared.payment.order;
        let Some((sealed, key)) = &prepared.card else {
            return Ok(PaymentMethodData::Method(order.payment_method.clone()));
        };
        let StashContents { data, client } = self.vault.open(sealed, key)?;
        prepared.client = client;
        Ok(match data {
            StashedData::Card(card) => {
                if order.session_id.is_some() {
                    let hash = self.vault.hash_card(order.merchant_id, &card.expose_digits())?;
                    *order = order.clone().with_card(hash);
                }
                if let Some(last_four) = card.last_four() {
                    *order = order.clone().with_last_four(last_four);
                }
                PaymentMethodData::Card(card)
            }
            StashedData::WalletToken(token) => PaymentMethodData::WalletToken(token),
        })
    }
}

impl Buyer<'_> {
    fn stash_key(&self, stash_id: &str) -> StashKey {
        StashKey {
            merchant_id: self.purchase.merchant.id,
            stash_id: stash_id.to_owned(),
            fingerprint: self.fingerprint.to_owned(),
        }
    }
}

fn not_stashed() -> PaymentInstrumentError {
    let why = "is not stashed for this browser, was used before, or has expired";
    PaymentInstrumentError::Card(Violation::new("StashId", ViolationCode::NotFound, why))
}

/// The code of an entry that holds nothing else.
fn code_alone(data: &StashedData) -> Option<VerificationCode> {
    match data {
        StashedData::Card(card) if card.is_code_alone() => card.expose_verification_code().parse().ok(),
        StashedData::Card(_) | StashedData::WalletToken(_) => None,
    }
}

impl Prepared {
    /// Why the processor is not asked at all; `None` when it is.
    fn unasked(&self, decision: Decision, method_data: &PaymentMethodData) -> Option<DeclineReason> {
        let order = &self.payment.order;
        // The shopper of a checkout without a way back cannot be sent to the bank's page.
        let nobody_to_ask = order.session_id.is_none() && order.return_url.is_none();
        let asks_in_vain = nobody_to_ask && !matches!(method_data, PaymentMethodData::Method(_));
        if !decision.asks_processor() {
            Some(DeclineReason::Blocked)
        } else if self.is_refused() {
            Some(DeclineReason::DoNotTryAgain)
        } else {
            (decision.asks_authentication() && asks_in_vain).then_some(DeclineReason::AuthenticationFailed)
        }
    }

    /// What the opened instrument tells screening.
    fn instrument_facts(&self, method_data: &PaymentMethodData) -> InstrumentFacts {
        let stored = self.payment.contract.as_ref().and_then(|contract| contract.card.as_ref());
        let (digits, scheme) = match method_data {
            PaymentMethodData::Card(card) => (Some(card.expose_digits()), card.scheme()),
            PaymentMethodData::StoredCredential(_) => (None, stored.map(|card| card.summary.scheme)),
            PaymentMethodData::WalletToken(_) | PaymentMethodData::Method(_) => (None, None),
        };
        InstrumentFacts {
            digits,
            scheme,
            address: self.client.address(),
            time_zone_country: self.client.time_zone().and_then(time_zone_country),
            language_country: self.client.language().and_then(language_country),
        }
    }

    /// Whether the issuer forbade to try this card again at an earlier attempt of the Session (docs/SPECIFICATION.md#forbidden-cards).
    fn is_refused(&self) -> bool {
        self.payment.order.card.is_some_and(|card| self.refused_cards.contains(&card))
    }
}
