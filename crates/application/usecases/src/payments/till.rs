//! What a payment in the drop-in and one from server to server have in common: what it is paid with, the durable record, the question.

use dropin_card::{StashedData, StashedKind};
use dropin_catalogue::{Catalogue, Offered, Refusal};
use dropin_kernel::{Change, Timestamp, Violation, ViolationCode};
use dropin_order::{Channel, NewOrder, Operation, Order, OrderState, OrderTrigger};
use dropin_ports::{
    Actor, AuthorizationPrepared, AuthorizeRequest, CheckoutRecord, History, KeyUse, Means, Payment,
    PrepareAuthorization, ProcessorAnswer, SealedCard, StashKey, StashStore, StashUse, StashVault, StoreError, Subject,
};
use dropin_session::{Session, Transition};

use super::decide::Terms;
use super::{Asker, Conclusion, Payments, after_asking};
use crate::catalogue::Purchase;
use crate::wallet::WalletOffers;

/// Where payments begin.
pub(super) struct Till<'a> {
    pub(super) payments: &'a Payments,
    pub(super) stash: &'a dyn StashStore,
    pub(super) vault: &'a dyn StashVault,
    /// {asset_url}: hosted pages send the shopper back below it.
    pub(super) return_base: &'a str,
    /// Says what may be paid with what.
    pub(super) catalogue: &'a Catalogue,
    /// Says which merchants take wallets' tokens.
    pub(super) wallets: &'a WalletOffers,
}

/// Who pays, and what.
pub(super) struct Buyer<'a> {
    pub(super) purchase: Purchase<'a>,
    pub(super) fingerprint: &'a str,
}

/// A method that may be used, and the stash entry that it uses up.
pub(super) struct Tender {
    pub(super) method: Offered,
    pub(super) stash: Option<StashUse>,
}

/// Why something cannot be paid with.
pub(super) enum TenderError {
    /// About the stashed card.
    Card(Violation),
    /// About the method.
    Method(Violation),
    /// The store failed.
    Store(StoreError),
}

/// An attempt about to be written down.
pub(super) struct Attempt {
    pub(super) session: Option<(Change<Session>, Transition)>,
    pub(super) order: NewOrder,
    pub(super) tender: Tender,
    pub(super) country: String,
    pub(super) actor: Actor,
    pub(super) checkout: Option<CheckoutRecord>,
    pub(super) key_use: Option<KeyUse>,
    pub(super) now: Timestamp,
}

/// What came of writing it down.
pub(super) enum Begun {
    /// The processor may be asked now.
    Prepared(Box<Prepared>),
    /// Somebody else changed the Session, or used the stash entry: look again.
    Stale,
    /// The merchant used the reference before.
    DuplicateReference,
    /// The request's key was used before.
    KeyTaken,
}

/// A payment that was written down and may now be asked for.
pub(super) struct Prepared {
    payment: Payment,
    country: String,
    card: Option<(SealedCard, StashKey)>,
}

/// What is said of a PaymentMethod that may not be used.
pub(super) fn not_offered(refusal: Refusal) -> Violation {
    Violation::new("PaymentMethod", ViolationCode::NotAllowed, refusal.to_string())
}

impl Till<'_> {
    /// The method of the stashed card or wallet's token, which must be usable here.
    pub(super) async fn card(&self, buyer: &Buyer<'_>, stash_id: &str, now: Timestamp) -> Result<Tender, TenderError> {
        let key = StashKey {
            merchant_id: buyer.purchase.merchant.id,
            stash_id: stash_id.to_owned(),
            fingerprint: buyer.fingerprint.to_owned(),
        };
        let found = self.stash.peek_stash(&key, now).await.map_err(TenderError::Store)?;
        let refuse = |code, why: &str| TenderError::Card(Violation::new("StashId", code, why));
        let summary = found.ok_or_else(|| {
            refuse(ViolationCode::NotFound, "is not stashed for this browser, was used before, or has expired")
        })?;
        if !summary.usable {
            let why = "the card's number, expiry or code is not valid: stash it again, corrected";
            return Err(refuse(ViolationCode::Invalid, why));
        }
        let why = match summary.kind {
            StashedKind::Card(_) => "cards of this scheme are not accepted for this payment: use another card",
            StashedKind::Wallet(_) => "is a wallet's token, which is not accepted for this payment: use a card",
        };
        let id = summary.kind.method_id().ok_or_else(|| refuse(ViolationCode::NotAllowed, why))?;
        let method = buyer.purchase.stashed(self.catalogue, id);
        let method = method.map_err(|_refused| refuse(ViolationCode::NotAllowed, why))?;
        if method.token {
            let (merchant, offers) = (buyer.purchase.merchant.id, buyer.purchase.offers(self.catalogue));
            if !self.wallets.takes_token(merchant, &offers).await.map_err(TenderError::Store)? {
                return Err(refuse(ViolationCode::NotAllowed, why));
            }
        }
        Ok(Tender { method, stash: Some(StashUse { key, summary }) })
    }

    /// The method without a card that has this id, which must be usable here.
    pub(super) fn method(&self, buyer: &Buyer<'_>, id: &str) -> Result<Tender, TenderError> {
        let method = buyer.purchase.method(self.catalogue, id);
        method.map(|method| Tender { method, stash: None }).map_err(|refusal| TenderError::Method(not_offered(refusal)))
    }

    /// Writes everything down that must be known before the processor is asked.
    pub(super) async fn begin(&self, attempt: Attempt) -> Result<Begun, StoreError> {
        let Attempt { session, order, tender, country, actor, checkout, key_use, now } = attempt;
        let order = Order::start(order, now);
        let due_at = now.plus(self.payments.timing.lease);
        let channel = if checkout.is_some() { Channel::CheckoutPayment } else { Channel::Nobody };
        let operation = Operation::authorize(self.payments.op_id(), order.id, order.total.clone(), now, due_at);
        let operation = operation.through(channel);
        let step = |subject, what, before, after| History {
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
        let key = tender.stash.as_ref().map(|stash| stash.key.clone());
        let payment = Payment {
            operation: operation.clone(),
            order: order.clone(),
            session: session.as_ref().map(|(change, _row)| change.next.clone()),
            refund: None,
        };
        let prepare = PrepareAuthorization {
            session: session.map(|(change, _row)| change),
            order,
            checkout,
            operation,
            stash: tender.stash,
            now,
            history,
            key_use,
        };
        Ok(match self.payments.store.prepare_authorization(prepare).await? {
            AuthorizationPrepared::Done(sealed) => {
                Begun::Prepared(Box::new(Prepared { payment, country, card: sealed.zip(key) }))
            }
            // Missing now, and there a moment ago: used, expired, or replaced by another card.
            AuthorizationPrepared::Stale | AuthorizationPrepared::StashMissing => Begun::Stale,
            AuthorizationPrepared::DuplicateReference => Begun::DuplicateReference,
            AuthorizationPrepared::KeyTaken => Begun::KeyTaken,
        })
    }

    /// Asks the processor and writes down what it said.
    pub(super) async fn authorize(&self, prepared: Prepared) -> Result<Conclusion, StoreError> {
        let Prepared { payment, country, card } = prepared;
        let (operation, order) = (&payment.operation, &payment.order);
        let means = match card {
            None => Ok(Means::Method(order.payment_method.clone())),
            Some((sealed, key)) => self.vault.open(&sealed, &key).map(|data| match data {
                StashedData::Card(card) => Means::Card(card),
                StashedData::WalletToken(token) => Means::WalletToken(token),
            }),
        };
        let answer = match means {
            Ok(means) => {
                let request = AuthorizeRequest {
                    key: operation.id,
                    merchant_id: order.merchant_id,
                    order_id: order.id,
                    amount: operation.amount.clone(),
                    means,
                    return_url: Some(format!("{}/v1/return/{}", self.return_base.trim_end_matches('/'), order.id)),
                    country: Some(country),
                };
                self.payments.processor.authorize(request).await
            }
            Err(error) => {
                let operation = operation.id.to_string();
                log::error!(operation = operation.as_str(), error:% = error; "a stashed card cannot be opened: the attempt fails");
                ProcessorAnswer::NotSent
            }
        };
        let terms = Terms { asker: Asker::Nobody, accept: false };
        self.payments.conclude_known(payment, answer, terms).await.map_err(after_asking)
    }
}
