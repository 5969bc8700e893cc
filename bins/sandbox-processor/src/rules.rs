//! The rules: what a call that has not been seen before comes to.

use std::time::Duration;

use dropin_kernel::{OpId, Timestamp};
use dropin_money::Amount;

use crate::Waits;
use crate::card::Verdict;
use crate::credential::IssuerCodes;
use crate::enums::{Kind, Method, Outcome, Reason, Scenario, Stage};
use crate::request::{Authorization, Request};
use crate::rows::{Account, Operation};

/// Under which circumstances a call is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallContext {
    /// The time.
    pub(crate) now: Timestamp,
    /// How long pending captures and refunds take.
    pub(crate) capture_delay: Duration,
    /// How long everything else is waited for.
    pub(crate) waits: Waits,
    /// What the issuer says, where the fault switch `refuse` is on for this call.
    pub(crate) refuse: Option<IssuerCodes>,
}

/// What a rule decided.
pub(crate) struct Decision {
    pub(crate) outcome: Outcome,
    /// Why not, and whether the same call under a new key may pass.
    pub(crate) refusal: Option<(Reason, bool)>,
    /// When a pending operation ends by itself, and how.
    pub(crate) due: Option<(Duration, Outcome)>,
    /// What a pending authorization waits for.
    pub(crate) stage: Option<Stage>,
    /// Approved, but somebody should look at it.
    pub(crate) under_review: bool,
    /// The authorization's money afterwards, when it changed.
    pub(crate) account: Option<Account>,
    /// A pending authorization that is stopped by this.
    pub(crate) stops: Option<Operation>,
}

impl Decision {
    const fn of(outcome: Outcome) -> Self {
        Self { outcome, refusal: None, due: None, stage: None, under_review: false, account: None, stops: None }
    }

    fn approved(account: Account) -> Self {
        Self { account: Some(account), ..Self::of(Outcome::Approved) }
    }

    fn pending(account: Account, due: (Duration, Outcome)) -> Self {
        Self { account: Some(account), due: Some(due), ..Self::of(Outcome::Pending) }
    }

    fn declined(reason: Reason) -> Self {
        Self { refusal: Some((reason, false)), ..Self::of(Outcome::Declined) }
    }

    /// Declined by the fault switch: the same call under a new key may pass.
    fn refused(kind: Kind) -> Self {
        let reason = match kind {
            Kind::Capture => Reason::CaptureRefused,
            Kind::Refund => Reason::RefundRefused,
            Kind::Authorize | Kind::Void => Reason::GenericDecline,
        };
        Self { refusal: Some((reason, true)), ..Self::of(Outcome::Declined) }
    }
}

/// What `request` comes to; `authorization` and `account` are those that it is about, `verdict` is that of an authorization. None: no answer, and
/// nothing done.
pub(crate) fn decide(
    key: OpId,
    request: &Request,
    verdict: Option<Verdict>,
    authorization: Option<&Operation>,
    account: Option<&Account>,
    context: CallContext,
) -> Option<Decision> {
    if verdict == Some(Verdict::Silence) {
        return None;
    }
    if context.refuse.is_some() {
        return Some(Decision::refused(request.kind()));
    }
    Some(match (request, account) {
        (Request::Authorize(asked), _) => return decide_authorization(key, asked, verdict?, context),
        (Request::Void { .. }, None) => decide_stop(authorization),
        (Request::Capture { .. } | Request::Refund { .. }, None) => Decision::declined(not_authorized(authorization)),
        (Request::Capture { amount, .. }, Some(account)) => decide_capture(account, amount, context),
        (Request::Void { .. }, Some(account)) => decide_void(account),
        (Request::Refund { amount, .. }, Some(account)) => decide_refund(account, amount, context),
    })
}

fn decide_authorization(key: OpId, asked: &Authorization, verdict: Verdict, context: CallContext) -> Option<Decision> {
    Some(match verdict {
        // Nothing is reserved, so there is nothing to look at either.
        Verdict::Approve(_) | Verdict::ApproveUnderReview if asked.is_verification() => Decision::of(Outcome::Approved),
        Verdict::Approve(scenario) => Decision::approved(Account::open(key, scenario, &asked.amount)),
        Verdict::ApproveUnderReview => {
            Decision { under_review: true, ..Decision::approved(Account::open(key, Scenario::Plain, &asked.amount)) }
        }
        Verdict::Await(stage) => {
            let wait = match (stage, asked.method) {
                (Stage::Review, _) => context.waits.review,
                (Stage::Transfer, _) => context.waits.transfer,
                (Stage::Page, Method::Card) => context.waits.challenge,
                (Stage::Page, _) => context.waits.page,
            };
            Decision { stage: Some(stage), due: Some((wait, Outcome::Declined)), ..Decision::of(Outcome::Pending) }
        }
        Verdict::Decline(reason) => Decision::declined(reason),
        Verdict::Silence => return None,
    })
}

fn decide_capture(account: &Account, amount: &Amount, context: CallContext) -> Decision {
    let minor = amount.minor();
    if let Some(reason) = used_up(account) {
        return Decision::declined(reason);
    }
    if account.currency != amount.currency().code() {
        return Decision::declined(Reason::CurrencyMismatch);
    }
    if account.authorized < minor {
        return Decision::declined(Reason::AmountTooLarge);
    }
    match account.scenario {
        Scenario::RefusedCapture => Decision::declined(Reason::CaptureRefused),
        Scenario::PendingCapture => {
            let account = Account { capture_pending: minor, ..account.clone() };
            Decision::pending(account, (context.capture_delay, Outcome::Approved))
        }
        Scenario::Plain
        | Scenario::PendingRefund
        | Scenario::FailingRefund
        | Scenario::LostAnswer
        | Scenario::Disputed => Decision::approved(Account { captured: minor, ..account.clone() }),
    }
}

fn decide_void(account: &Account) -> Decision {
    match used_up(account) {
        Some(reason) => Decision::declined(reason),
        None => Decision::approved(Account { voided: true, ..account.clone() }),
    }
}

/// A void of what has no money yet: it stops what is pending.
fn decide_stop(authorization: Option<&Operation>) -> Decision {
    match authorization {
        Some(pending) if pending.kind == Kind::Authorize && pending.outcome == Outcome::Pending => {
            Decision { stops: Some(pending.clone()), ..Decision::of(Outcome::Approved) }
        }
        other => Decision::declined(not_authorized(other)),
    }
}

fn decide_refund(account: &Account, amount: &Amount, context: CallContext) -> Decision {
    let minor = amount.minor();
    if account.captured == 0 {
        return Decision::declined(Reason::NotCaptured);
    }
    if account.currency != amount.currency().code() {
        return Decision::declined(Reason::CurrencyMismatch);
    }
    if account.captured - account.refunded - account.refund_pending < minor {
        return Decision::declined(Reason::AmountTooLarge);
    }
    let reserved = || Account { refund_pending: account.refund_pending + minor, ..account.clone() };
    match account.scenario {
        Scenario::PendingRefund => Decision::pending(reserved(), (context.capture_delay, Outcome::Approved)),
        Scenario::FailingRefund => Decision::pending(reserved(), (context.capture_delay, Outcome::Declined)),
        Scenario::Plain
        | Scenario::PendingCapture
        | Scenario::RefusedCapture
        | Scenario::LostAnswer
        | Scenario::Disputed => Decision::approved(Account { refunded: account.refunded + minor, ..account.clone() }),
    }
}

/// Why an authorization can be neither captured nor voided any more.
const fn used_up(account: &Account) -> Option<Reason> {
    if account.voided {
        Some(Reason::AlreadyVoided)
    } else if 0 < account.captured + account.capture_pending {
        Some(Reason::AlreadyCaptured)
    } else {
        None
    }
}

/// Why nothing can be done with an authorization that has no money.
fn not_authorized(authorization: Option<&Operation>) -> Reason {
    match authorization.and_then(|found| found.reason) {
        Some(Reason::Voided) => Reason::AlreadyVoided,
        _ => Reason::NotAuthorized,
    }
}
