//! The shopper pays: prepare, call, settle.

use dropin_kernel::{AttemptId, OrderId, Revision, SessionId, Violation};
use dropin_order::NewOrder;
use dropin_ports::{Actor, Payment, StoreError};
use dropin_session::{Session, SessionStateKind, SubmitRefused, WrongState};
use dropin_wire::shopper::SubmitMeans;

use super::DECISIONS;
use super::shopper::{Progress, Shopper, purchase};
use super::till::{Attempt, Begun, Buyer, Prepared, TenderError};

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
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TenderError> for SubmitError {
    fn from(error: TenderError) -> Self {
        match error {
            TenderError::Card(violation) => Self::Card(violation),
            TenderError::Method(violation) => Self::Method(violation),
            TenderError::Store(error) => Self::Store(error),
        }
    }
}

impl Shopper {
    /// Pays a Session. Repeating it with the same attempt is harmless and tells how the first one stands.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`SubmitError`]; after [`StoreError::OutcomeUnknown`] the same attempt may be repeated.
    pub async fn submit(&self, id: SessionId, submit: Submit) -> Result<Submitted, SubmitError> {
        for _ in 0..DECISIONS {
            let found = self.load(id).await?.ok_or(SubmitError::NotFound)?;
            let session = found.session;
            if session.state.attempt() == Some(submit.attempt) {
                let progress = Progress::of(&session, found.order.as_ref());
                return Ok(Submitted { progress, follow_up: None });
            }
            match self.prepare(&session, &submit).await {
                Ok(Some(prepared)) => return Ok(self.authorize(prepared).await?),
                Ok(None) => {}
                // The entry may be gone because this very attempt, sent before, has used it: then its Session has moved.
                Err(SubmitError::Card(violation)) => {
                    let now = self.load(id).await?.ok_or(SubmitError::NotFound)?.session;
                    if now.revision == session.revision {
                        return Err(SubmitError::Card(violation));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unavailable("the Session changes faster than it can be paid".to_owned()).into())
    }

    /// `None` when somebody else changed the Session first.
    async fn prepare(&self, session: &Session, submit: &Submit) -> Result<Option<Prepared>, SubmitError> {
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
            })?;
        let (till, terms) = (self.till(), &session.terms);
        let merchant = self.merchant(session.merchant_id).await?;
        let buyer = Buyer { purchase: purchase(session, &merchant), fingerprint: &submit.fingerprint };
        let tender = match &submit.means {
            SubmitMeans::Stash(stash_id) => till.card(&buyer, stash_id, now).await?,
            SubmitMeans::Method(id) => till.method(&buyer, id)?,
        };
        let order = NewOrder {
            id: order_id,
            merchant_id: session.merchant_id,
            session_id: Some(session.id),
            merchant_reference: terms.merchant_reference.as_str().to_owned(),
            total: terms.total.clone(),
            auto_capture: terms.auto_capture,
            payment_method: tender.method.id.to_owned(),
            return_url: None,
        };
        let attempt = Attempt {
            session: Some(session_step),
            order,
            tender,
            country: buyer.purchase.country.to_owned(),
            actor: Actor::Shopper,
            checkout: None,
            key_use: None,
            now,
        };
        Ok(match till.begin(attempt).await? {
            Begun::Prepared(prepared) => Some(*prepared),
            Begun::Stale | Begun::DuplicateReference | Begun::KeyTaken => None,
        })
    }

    async fn authorize(&self, prepared: Prepared) -> Result<Submitted, StoreError> {
        let conclusion = self.till().authorize(prepared).await?;
        let session = conclusion.session.as_ref();
        let session = session.ok_or_else(|| super::corrupt("an attempt in the drop-in without its Session"))?;
        let progress = Progress::of(session, Some(&conclusion.order));
        Ok(Submitted { progress, follow_up: conclusion.into_next() })
    }
}
