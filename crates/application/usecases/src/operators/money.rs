//! Refunds that operators ask for: within their limits, and above a merchant's limit with a second operator.

use dropin_access::AuditAction;
use dropin_access::operator::{
    APPROVAL_LIFETIME, ActionRefused, MoneyDecision, MoneyKind, MoneyRefused, MoneyRequest, MoneyRequestState,
    OperatorScope, PanelAction, REFUND_WINDOW, decide_refund,
};
use dropin_kernel::{MerchantId, MoneyRequestId, OrderId, Violation, ViolationCode};
use dropin_money::Amount;
use dropin_ports::{AccountChanged, MoneyRequested, NewAuditEntry, OpenMoneyRequests, StoreError};
use dropin_wire::audit_log::Document;

use super::sessions::CurrentOperator;
use super::{Operators, acts, list_violations};

/// How often a request is decided again that others came before.
const MAX_CAS_RETRIES: usize = 8;

/// Longest note, in characters.
const MAX_NOTE_CHARS: usize = 500;

/// Requests that are listed at once.
const MAX_LISTED: u32 = 200;

/// A refund to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRefundRequest {
    /// Names the request: drawn with the form, so that a form that is sent twice is one request.
    pub id: MoneyRequestId,
    /// The Order's merchant.
    pub merchant: MerchantId,
    /// The Order.
    pub order: OrderId,
    /// How much.
    pub amount: Amount,
    /// Why.
    pub note: String,
}

/// Why money is not moved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// What was given makes no sense; every field that is wrong.
    #[error("{}", list_violations(.0))]
    Invalid(Vec<Violation>),
    /// Who asks may not, or not for this merchant.
    #[error(transparent)]
    NotAllowed(#[from] ActionRefused),
    /// Limits or the second operator.
    #[error(transparent)]
    Refused(#[from] MoneyRefused),
    /// More than the Order has left to be refunded.
    #[error("at most {0} {currency} of the Order can be refunded", currency = .0.currency())]
    Exceeds(Amount),
    /// The merchant has no such Order in that currency.
    #[error("the merchant has no such Order in this currency")]
    NoOrder,
    /// There is no such request, or it is of a merchant out of the operator's scope.
    #[error("there is no such request")]
    NoRequest,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Operators {
    /// Asks for a refund, of at most what is `refundable` of the Order. [`MoneyRequestState::Granted`]: the caller makes it now, with the request's id as its reference, and calls
    /// [`Operators::release_money`] when surely no money moved. [`MoneyRequestState::Waiting`]: a second operator has to approve it. Asked for again
    /// with the same id, it answers what became of the first, as long as that is open: what was refused, taken back, released or too long ago is
    /// over ([`MoneyRefused::NotWaiting`]).
    ///
    /// # Errors
    /// [`MoneyError`].
    pub async fn request_refund(
        &self,
        by: &CurrentOperator,
        new: &NewRefundRequest,
        refundable: &Amount,
    ) -> Result<MoneyRequest, MoneyError> {
        by.require(PanelAction::RefundOrder, Some(new.merchant))?;
        check_request(new)?;
        if let Some(known) = self.store.find_money_request(new.id).await? {
            return self.same_request(known, by, new);
        }
        if new.amount.currency() != refundable.currency() {
            return Err(MoneyError::NoOrder);
        }
        if refundable.minor() < new.amount.minor() {
            return Err(MoneyError::Exceeds(*refundable));
        }
        for _ in 0..MAX_CAS_RETRIES {
            let now = self.clock.now();
            let since = now.minus(REFUND_WINDOW);
            let (operator, currency) = (by.operator.id, new.amount.currency());
            let basis = self.store.money_basis(operator, new.merchant, new.order, currency, since).await?;
            let decision =
                decide_refund(&by.operator.rights, &new.amount, &basis.totals, basis.merchant_limit.as_ref())?;
            let request = MoneyRequest {
                id: new.id,
                kind: MoneyKind::Refund,
                merchant: new.merchant,
                order: new.order,
                amount: new.amount,
                note: new.note.trim().to_owned(),
                requested_by: operator,
                requested_at: now,
                state: match decision {
                    MoneyDecision::Alone => MoneyRequestState::Granted,
                    MoneyDecision::SecondOperator => MoneyRequestState::Waiting,
                },
                decided_by: None,
                decided_at: None,
            };
            let audit = (request.state == MoneyRequestState::Waiting)
                .then(|| self.approval_entry(by, AuditAction::ApprovalRequest, &request, Some(request.note.clone())));
            match self.store.insert_money_request(request.clone(), basis, since, audit).await? {
                MoneyRequested::Done => return Ok(request),
                MoneyRequested::Stale => {}
                MoneyRequested::NoOrder => return Err(MoneyError::NoOrder),
                MoneyRequested::Exists => {
                    let known = self.store.find_money_request(new.id).await?.ok_or(MoneyError::NoRequest)?;
                    return self.same_request(known, by, new);
                }
            }
        }
        Err(StoreError::Unavailable("other refunds of this Order or operator came first, again and again".to_owned())
            .into())
    }

    /// Approves what another operator asked for: the caller makes the refund now, with the request's id as its reference. Approved again by the same
    /// operator, it answers the same, as long as it counts towards the limits.
    ///
    /// # Errors
    /// [`MoneyError::NotAllowed`], [`MoneyError::NoRequest`], [`MoneyError::Refused`], [`MoneyError::Store`].
    pub async fn approve_money(&self, by: &CurrentOperator, id: MoneyRequestId) -> Result<MoneyRequest, MoneyError> {
        let request = self.find_money_request(by, id).await?;
        by.require(PanelAction::ApproveMoney, Some(request.merchant))?;
        if request.state == MoneyRequestState::Granted && request.decided_by == Some(by.operator.id) {
            let is_open = request.may_be_made(self.clock.now());
            return if is_open { Ok(request) } else { Err(MoneyRefused::NotWaiting.into()) };
        }
        request.check_second(by.operator.id, self.clock.now())?;
        match self.settle(by, request, MoneyRequestState::Granted).await {
            // The same approval at the same moment.
            Err(MoneyError::Refused(MoneyRefused::Granted)) => {
                let granted = self.find_money_request(by, id).await?;
                let is_own = granted.decided_by == Some(by.operator.id);
                if is_own { Ok(granted) } else { Err(MoneyRefused::Granted.into()) }
            }
            settled => settled,
        }
    }

    /// Takes back what this operator asked for.
    ///
    /// # Errors
    /// [`MoneyError::NoRequest`], [`MoneyError::Refused`], [`MoneyError::Store`].
    pub async fn withdraw_money(&self, by: &CurrentOperator, id: MoneyRequestId) -> Result<MoneyRequest, MoneyError> {
        let request = self.find_money_request(by, id).await?;
        if request.requested_by != by.operator.id {
            return Err(MoneyError::NoRequest);
        }
        self.settle(by, request, MoneyRequestState::Refused).await
    }

    /// Refuses what another operator asked for.
    ///
    /// # Errors
    /// [`MoneyError::NotAllowed`], [`MoneyError::NoRequest`], [`MoneyError::Refused`], [`MoneyError::Store`].
    pub async fn refuse_money(&self, by: &CurrentOperator, id: MoneyRequestId) -> Result<MoneyRequest, MoneyError> {
        let request = self.find_money_request(by, id).await?;
        by.require(PanelAction::ApproveMoney, Some(request.merchant))?;
        request.check_second(by.operator.id, self.clock.now())?;
        self.settle(by, request, MoneyRequestState::Refused).await
    }

    /// Writes down that a granted refund surely moved no money: it counts towards no limit any more. For who asked for it or approved it, after the
    /// refund was refused.
    ///
    /// # Errors
    /// [`MoneyError::NoRequest`], [`MoneyError::Refused`], [`MoneyError::Store`].
    pub async fn release_money(&self, by: &CurrentOperator, id: MoneyRequestId) -> Result<(), MoneyError> {
        let request = self.find_money_request(by, id).await?;
        let own = Some(by.operator.id);
        if own != Some(request.requested_by) && own != request.decided_by {
            return Err(MoneyError::NoRequest);
        }
        self.settle(by, request, MoneyRequestState::Released).await.map(|_| ())
    }

    /// What became of the first request with an id, when this one asks for the same.
    fn same_request(
        &self,
        known: MoneyRequest,
        by: &CurrentOperator,
        new: &NewRefundRequest,
    ) -> Result<MoneyRequest, MoneyError> {
        let is_same = (known.requested_by, known.merchant, known.order) == (by.operator.id, new.merchant, new.order)
            && known.amount == new.amount;
        let now = self.clock.now();
        if !is_same {
            Err(MoneyError::NoRequest)
        } else if known.is_waiting(now) || known.may_be_made(now) {
            Ok(known)
        } else {
            Err(MoneyRefused::NotWaiting.into())
        }
    }

    async fn settle(
        &self,
        by: &CurrentOperator,
        request: MoneyRequest,
        state: MoneyRequestState,
    ) -> Result<MoneyRequest, MoneyError> {
        let old = match state {
            MoneyRequestState::Released => MoneyRequestState::Granted,
            _ => MoneyRequestState::Waiting,
        };
        // Who approved it stays written down when it is released.
        let decided_by = if old == MoneyRequestState::Granted { request.decided_by } else { Some(by.operator.id) };
        let settled = MoneyRequest { state, decided_by, decided_at: Some(self.clock.now()), ..request };
        let action = match state {
            MoneyRequestState::Granted => AuditAction::ApprovalGrant,
            MoneyRequestState::Refused => AuditAction::ApprovalRefuse,
            MoneyRequestState::Released => AuditAction::ApprovalRelease,
            MoneyRequestState::Waiting => AuditAction::ApprovalRequest,
        };
        let audit = self.approval_entry(by, action, &settled, None);
        match self.store.settle_money_request(settled.clone(), old, audit).await? {
            AccountChanged::Done => Ok(settled),
            AccountChanged::Missing => Err(MoneyError::NoRequest),
            AccountChanged::Ended | AccountChanged::Stale => {
                Err(self.find_money_request(by, settled.id).await?.decided().into())
            }
        }
    }

    /// One request of a merchant in the operator's scope.
    ///
    /// # Errors
    /// [`MoneyError::NoRequest`], [`MoneyError::Store`].
    pub async fn find_money_request(
        &self,
        by: &CurrentOperator,
        id: MoneyRequestId,
    ) -> Result<MoneyRequest, MoneyError> {
        let found = self.store.find_money_request(id).await?;
        found.filter(|request| by.operator.rights.scope.covers(request.merchant)).ok_or(MoneyError::NoRequest)
    }

    /// The open requests of the merchants in the operator's scope, about one Order or all, oldest first: those that wait for a second operator, and those
    /// that were granted and whose refund was not made.
    ///
    /// # Errors
    /// [`MoneyError::Store`].
    pub async fn list_open_money_requests(
        &self,
        by: &CurrentOperator,
        order: Option<OrderId>,
    ) -> Result<Vec<MoneyRequest>, MoneyError> {
        let merchants = match &by.operator.rights.scope {
            OperatorScope::Deployment => None,
            OperatorScope::Merchants(merchants) => Some(merchants.iter().copied().collect()),
        };
        let since = self.clock.now().minus(APPROVAL_LIFETIME);
        let query = OpenMoneyRequests { merchants, order, since, limit: MAX_LISTED };
        Ok(self.store.list_open_money_requests(query).await?)
    }

    /// Above which amounts a merchant's refunds need a second operator.
    ///
    /// # Errors
    /// [`MoneyError::NotAllowed`], [`MoneyError::Store`].
    pub async fn approval_limits(&self, by: &CurrentOperator, merchant: MerchantId) -> Result<Vec<Amount>, MoneyError> {
        by.require(PanelAction::ViewMerchants, Some(merchant))?;
        Ok(self.store.list_approval_limits(merchant).await?)
    }

    /// Sets them, in place of all; an amount of zero means that every refund needs two.
    ///
    /// # Errors
    /// [`MoneyError::Invalid`] (Limits), [`MoneyError::NotAllowed`], [`MoneyError::Store`].
    pub async fn set_approval_limits(
        &self,
        by: &CurrentOperator,
        merchant: MerchantId,
        limits: Vec<Amount>,
    ) -> Result<(), MoneyError> {
        by.require(PanelAction::ChangeMerchant, Some(merchant))?;
        if dropin_access::operator::RefundLimits::new(limits.iter().cloned()).is_none() {
            return Err(invalid("Limits", ViolationCode::NotAllowed, "must name each currency once, with 0 or more"));
        }
        let before = self.store.list_approval_limits(merchant).await?;
        let document = |limits: &[Amount]| Document::new().texts("ApprovalLimits", acts::amounts(limits)).finish();
        let audit = NewAuditEntry {
            merchant_id: Some(merchant),
            before: Some(document(&before)),
            after: Some(document(&limits)),
            ..self.entry(by.acting(None), AuditAction::MerchantChange, merchant.into())
        };
        match self.store.set_approval_limits(merchant, limits, audit).await? {
            AccountChanged::Done => Ok(()),
            AccountChanged::Missing | AccountChanged::Ended | AccountChanged::Stale => Err(MoneyError::NoRequest),
        }
    }
}

fn invalid(field: &str, code: ViolationCode, message: &str) -> MoneyError {
    MoneyError::Invalid(vec![Violation::new(field, code, message)])
}

fn check_request(new: &NewRefundRequest) -> Result<(), MoneyError> {
    if new.amount.minor() <= 0 {
        return Err(invalid("Amount", ViolationCode::OutOfRange, "must be more than 0"));
    }
    match new.note.trim().chars().count() {
        0 => Err(invalid("Note", ViolationCode::Missing, "must say why")),
        chars if MAX_NOTE_CHARS < chars => {
            Err(invalid("Note", ViolationCode::OutOfRange, "must have at most 500 characters"))
        }
        _ => Ok(()),
    }
}
