//! The authorization flow of the drop-in and of server-to-server checkouts: prepare, screen, call, settle.

mod ask;

use dropin_card::{CardHash, ClientFacts, StashContents, StashedData};
use dropin_catalogue::Class;
use dropin_contract::{Consent, Contract, ContractStateKind, ContractTrigger};
use dropin_kernel::{Change, Timestamp};
use dropin_order::{Channel, DeclineReason, NewOrder, Operation, Order, OrderState, OrderTrigger, transfer_reference};
use dropin_ports::{
    Actor, AuthorizationPrepared, CheckoutRecord, ContractUse, KeyUse, KeyringError, NewHistoryEntry, Payment,
    PaymentMethodData, PrepareAuthorization, ProcessorReply, SealedCard, StashKey, StashStore, StashVault, StoreError,
    StoredCredentialPayment, Subject,
};
use dropin_risk::{Decision, language_country, time_zone_country};
use dropin_session::{Session, SessionTransition};

use super::decide::DecisionPolicy;
use super::instrument::{PaymentInstrument, code_alone};
use super::routing::choose;
use super::screened::ScreenedReply;
use super::{Asker, Conclusion, Payments, after_asking};
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
    /// Of a new card's billing address, where its issuer shall compare it.
    pub(super) postcode: Option<String>,
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
    /// Every processor that may be asked would refuse, for example our key. Nothing was written down: the same request may come again.
    ProcessorUnusable,
}

/// A prepared payment: the processor may be called for it.
pub(super) struct Prepared {
    payment: Payment,
    country: String,
    postcode: Option<String>,
    card: Option<(SealedCard, StashKey)>,
    stored: Option<Box<StoredCredentialPayment>>,
    refused_cards: Vec<CardHash>,
    screening: Option<ScreeningSubject>,
    /// Who posted what the payment uses up of the stash.
    client: ClientFacts,
}

impl AuthorizationFlow<'_> {
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

    /// Writes everything down that must be known before the processor is asked, unless it would surely refuse.
    pub(super) async fn prepare(&self, attempt: Attempt) -> Result<PrepareOutcome, StoreError> {
        let Attempt {
            session,
            order,
            instrument,
            contract,
            refused_cards,
            country,
            postcode,
            actor,
            checkout,
            key_use,
            now,
            round,
            screening,
        } = attempt;
        let Ok(processor) = choose(self.payments.processor.as_ref(), &instrument.candidates).await else {
            return Ok(PrepareOutcome::ProcessorUnusable);
        };
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
        // The processor may have been asked about the key meanwhile.
        let due_at = self.payments.clock.now().plus(self.payments.timing.lease);
        let channel = if checkout.is_some() { Channel::CheckoutPayment } else { Channel::Nobody };
        let operation = Operation::authorize(self.payments.op_id(), order.id, order.total, now, due_at);
        let operation = operation.through(channel).at_processor(processor);
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
            audit: None,
        };
        Ok(match self.payments.store.prepare_authorization(prepare).await? {
            AuthorizationPrepared::Done(sealed) => PrepareOutcome::Prepared(Box::new(Prepared {
                payment,
                country,
                postcode,
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
                let exemption = screened.as_ref().and_then(ScreenedPayment::exemption);
                let unasked = prepared.unasked(decision, &method_data);
                is_in_vain = unasked == Some(DeclineReason::AuthenticationFailed);
                let answer = match unasked {
                    Some(reason) => self.decline_unasked(reason).await,
                    None => self.ask(&mut prepared, method_data, decision, exemption).await,
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
        let Payments { screening, ids, .. } = self.payments;
        Some(screening.screen(&**ids, &prepared.payment.order, subject, &instrument).await)
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

    /// What stands for the answer of a processor that is not asked. A block comes no sooner than an answer would.
    async fn decline_unasked(&self, reason: DeclineReason) -> ProcessorReply {
        if reason == DeclineReason::Blocked {
            self.payments.screening.wait_as_for_processor().await;
        }
        ProcessorReply::Declined { reason, retryable: false, credential: None }
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
            // By which it is paid, of a card that bears more than one.
            PaymentMethodData::Card(card) => {
                (Some(card.expose_digits()), self.payment.order.payment_method.parse().ok())
            }
            PaymentMethodData::StoredCredential(_) => (None, stored.map(|card| card.summary.scheme)),
            PaymentMethodData::WalletToken(_) | PaymentMethodData::Method(_) => (None, None),
        };
        InstrumentFacts {
            digits,
            scheme,
            address: self.client.address(),
            time_zone_country: self.client.time_zone().and_then(time_zone_country),
            language_country: self.client.language().and_then(language_country),
            is_stored: self.payment.contract.is_some() && !self.payment.is_charge,
        }
    }

    /// Whether the issuer forbade to try this card again at an earlier attempt of the Session (docs/SPECIFICATION.md#forbidden-cards).
    fn is_refused(&self) -> bool {
        self.payment.order.card.is_some_and(|card| self.refused_cards.contains(&card))
    }
}
