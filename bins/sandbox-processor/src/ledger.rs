//! The rules: what a call does to the books. Every function is one transaction, and every effect is journaled in it.

use std::time::Duration;

use diesel::prelude::*;
use dropin_kernel::{OpId, Timestamp};
use dropin_money::Amount;

use crate::card::Verdict;
use crate::request::Request;
use crate::rows::{Account, Entry, NewOperation, Operation};
use crate::store::{authorizations, journal, operations};
use crate::words::{Kind, Outcome, Reason, Scenario};

/// Under which circumstances a call is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// The time.
    pub(crate) now: Timestamp,
    /// How long pending operations take.
    pub(crate) capture_delay: Duration,
    /// Whether the fault switch `refuse` is on for this call.
    pub(crate) refuse: bool,
}

/// An operation, and whether this call made it.
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) operation: Operation,
    /// The key was known: nothing was done by this call.
    pub(crate) replayed: bool,
    /// The scenario of a fresh, approved authorization.
    pub(crate) scenario: Option<Scenario>,
}

/// Why nothing was executed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerError {
    /// The key was used for something else.
    #[error("the key was used with another body")]
    KeyReused,
    /// The key was abandoned.
    #[error("the key was abandoned")]
    KeyAbandoned,
    /// The card's scenario: no answer, nothing done.
    #[error("this card gets no answer")]
    Silent,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] diesel::result::Error),
}

/// What a rule decided; `account` is the authorization afterwards, when it changed.
struct Decision {
    outcome: Outcome,
    reason: Option<(Reason, bool)>,
    due_outcome: Option<Outcome>,
    account: Option<Account>,
}

impl Decision {
    fn approved(account: Account) -> Self {
        Self { outcome: Outcome::Approved, reason: None, due_outcome: None, account: Some(account) }
    }

    fn pending(account: Account, due_outcome: Outcome) -> Self {
        Self { outcome: Outcome::Pending, reason: None, due_outcome: Some(due_outcome), account: Some(account) }
    }

    fn declined(reason: Reason) -> Self {
        Self { outcome: Outcome::Declined, reason: Some((reason, false)), due_outcome: None, account: None }
    }

    /// Declined by the fault switch: the same call under a new key may pass.
    fn refused(kind: Kind) -> Self {
        let reason = match kind {
            Kind::Capture => Reason::CaptureRefused,
            Kind::Refund => Reason::RefundRefused,
            Kind::Authorize | Kind::Void => Reason::GenericDecline,
        };
        Self { reason: Some((reason, true)), ..Self::declined(reason) }
    }
}

/// Does what is asked under `key`, once; a key that is known answers with its operation as it stands.
pub(crate) fn execute(
    store: &mut SqliteConnection,
    key: OpId,
    request: &Request,
    terms: Terms,
) -> Result<Executed, LedgerError> {
    store.immediate_transaction(|store| {
        settle_due(store, terms.now)?;
        if let Some(operation) = find(store, key)? {
            return match operation.outcome {
                Outcome::Abandoned => Err(LedgerError::KeyAbandoned),
                _ if !request.matches(&operation) => Err(LedgerError::KeyReused),
                _ => Ok(Executed { operation, replayed: true, scenario: None }),
            };
        }
        let account = match request.authorization() {
            Some(authorization) => account(store, authorization)?,
            None => None,
        };
        let context = match request.authorization() {
            Some(authorization) => find(store, authorization)?,
            None => None,
        };
        let decision = decide(key, request, account.as_ref(), terms)?;
        let row = new_operation(key, request, &decision, account.as_ref(), context.as_ref(), terms);
        let operation = insert(store, &row, terms.now)?;
        if let Some(account) = &decision.account {
            save(store, account)?;
        }
        let scenario = decision.account.map(|account| account.scenario).filter(|_| row.kind == Kind::Authorize);
        Ok(Executed { operation, replayed: false, scenario })
    })
}

/// Leaves a tombstone under an unknown key, so that it is refused for ever; a known operation stays as it is.
pub(crate) fn abandon(store: &mut SqliteConnection, key: OpId, now: Timestamp) -> QueryResult<Operation> {
    store.immediate_transaction(|store| {
        settle_due(store, now)?;
        match find(store, key)? {
            Some(operation) => Ok(operation),
            None => insert(store, &NewOperation::tombstone(key), now),
        }
    })
}

/// The operation of a key, as it stands at `now`.
pub(crate) fn look_up(store: &mut SqliteConnection, key: OpId, now: Timestamp) -> QueryResult<Option<Operation>> {
    bring_up_to(store, now)?;
    find(store, key)
}

/// Up to `limit` journal entries after number `after`, oldest first.
pub(crate) fn entries(store: &mut SqliteConnection, after: i64, limit: i64, now: Timestamp) -> QueryResult<Vec<Entry>> {
    bring_up_to(store, now)?;
    journal::table
        .filter(journal::number.gt(after))
        .order(journal::number)
        .limit(limit)
        .select(Entry::as_select())
        .load(store)
}

fn decide(key: OpId, request: &Request, account: Option<&Account>, terms: Terms) -> Result<Decision, LedgerError> {
    if let Request::Authorize { verdict: Verdict::Silence, .. } = request {
        return Err(LedgerError::Silent);
    }
    if terms.refuse {
        return Ok(Decision::refused(request.kind()));
    }
    Ok(match (request, account) {
        (Request::Authorize { verdict: Verdict::Approve(scenario), amount, .. }, _) => {
            Decision::approved(Account::open(key, *scenario, amount))
        }
        (Request::Authorize { verdict: Verdict::Decline(reason), .. }, _) => Decision::declined(*reason),
        (Request::Authorize { verdict: Verdict::Silence, .. }, _) => return Err(LedgerError::Silent),
        (_, None) => Decision::declined(Reason::NotAuthorized),
        (Request::Capture { amount, .. }, Some(account)) => decide_capture(account, amount),
        (Request::Void { .. }, Some(account)) => decide_void(account),
        (Request::Refund { amount, .. }, Some(account)) => decide_refund(account, amount),
    })
}

fn decide_capture(account: &Account, amount: &Amount) -> Decision {
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
            Decision::pending(Account { capture_pending: minor, ..account.clone() }, Outcome::Approved)
        }
        Scenario::Plain | Scenario::PendingRefund | Scenario::FailingRefund | Scenario::LostAnswer => {
            Decision::approved(Account { captured: minor, ..account.clone() })
        }
    }
}

fn decide_void(account: &Account) -> Decision {
    match used_up(account) {
        Some(reason) => Decision::declined(reason),
        None => Decision::approved(Account { voided: true, ..account.clone() }),
    }
}

fn decide_refund(account: &Account, amount: &Amount) -> Decision {
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
        Scenario::PendingRefund => Decision::pending(reserved(), Outcome::Approved),
        Scenario::FailingRefund => Decision::pending(reserved(), Outcome::Declined),
        Scenario::Plain | Scenario::PendingCapture | Scenario::RefusedCapture | Scenario::LostAnswer => {
            Decision::approved(Account { refunded: account.refunded + minor, ..account.clone() })
        }
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

fn new_operation(
    key: OpId,
    request: &Request,
    decision: &Decision,
    account: Option<&Account>,
    authorization: Option<&Operation>,
    terms: Terms,
) -> NewOperation {
    let (order_id, last4) = match request {
        Request::Authorize { order_id, last4, .. } => (Some(order_id.clone()), Some(last4.clone())),
        _ => authorization.map_or((None, None), |found| (found.order_id.clone(), found.last4.clone())),
    };
    let money = match request.amount() {
        Some(amount) => Some((amount.minor(), amount.currency().code().to_owned())),
        None => account.map(|account| (account.authorized, account.currency.clone())),
    };
    let (amount, currency) = money.unzip();
    NewOperation {
        key: key.to_string(),
        kind: request.kind(),
        outcome: decision.outcome,
        reason: decision.reason.map(|(reason, _)| reason),
        retryable: decision.reason.map(|(_, retryable)| retryable),
        amount,
        currency,
        order_id,
        authorization_key: request.authorization().map(|key| key.to_string()),
        last4,
        due_at: decision.due_outcome.map(|_| terms.now.plus(terms.capture_delay).micros()),
        due_outcome: decision.due_outcome,
    }
}

/// Settles what is due, taking the write lock only when something is.
fn bring_up_to(store: &mut SqliteConnection, now: Timestamp) -> QueryResult<()> {
    let due = operations::table.filter(operations::due_at.le(now.micros()));
    if diesel::select(diesel::dsl::exists(due)).get_result(store)? {
        store.immediate_transaction(|store| settle_due(store, now))?;
    }
    Ok(())
}

/// Ends every pending operation whose time has come; part of the caller's transaction.
fn settle_due(store: &mut SqliteConnection, now: Timestamp) -> QueryResult<()> {
    let due: Vec<Operation> = operations::table
        .filter(operations::due_at.le(now.micros()))
        .order((operations::due_at, operations::key))
        .select(Operation::as_select())
        .load(store)?;
    for pending in due {
        settle(store, &pending, now)?;
    }
    Ok(())
}

fn settle(store: &mut SqliteConnection, pending: &Operation, now: Timestamp) -> QueryResult<()> {
    let approved = pending.due_outcome == Some(Outcome::Approved);
    let minor = pending.amount.unwrap_or(0);
    let mut account: Account = authorizations::table
        .filter(authorizations::key.nullable().eq(&pending.authorization_key))
        .select(Account::as_select())
        .first(store)?;
    match pending.kind {
        Kind::Capture => {
            account.capture_pending -= minor;
            account.captured += if approved { minor } else { 0 };
        }
        Kind::Refund => {
            account.refund_pending -= minor;
            account.refunded += if approved { minor } else { 0 };
        }
        Kind::Authorize | Kind::Void => {}
    }
    let reason = match (approved, pending.kind) {
        (true, _) => None,
        (false, Kind::Refund) => Some(Reason::RefundRefused),
        (false, _) => Some(Reason::CaptureRefused),
    };
    let settled: Operation = diesel::update(operations::table.find(&pending.key))
        .set((
            operations::outcome.eq(if approved { Outcome::Approved } else { Outcome::Declined }),
            operations::reason.eq(reason),
            operations::retryable.eq(reason.map(|_| false)),
            operations::due_at.eq(None::<i64>),
            operations::due_outcome.eq(None::<Outcome>),
        ))
        .returning(Operation::as_returning())
        .get_result(store)?;
    append(store, &settled, now)?;
    save(store, &account)
}

fn find(store: &mut SqliteConnection, key: OpId) -> QueryResult<Option<Operation>> {
    operations::table.find(key.to_string()).select(Operation::as_select()).first(store).optional()
}

fn account(store: &mut SqliteConnection, key: OpId) -> QueryResult<Option<Account>> {
    authorizations::table.find(key.to_string()).select(Account::as_select()).first(store).optional()
}

fn insert(store: &mut SqliteConnection, row: &NewOperation, now: Timestamp) -> QueryResult<Operation> {
    let operation =
        diesel::insert_into(operations::table).values(row).returning(Operation::as_returning()).get_result(store)?;
    append(store, &operation, now)?;
    Ok(operation)
}

fn save(store: &mut SqliteConnection, account: &Account) -> QueryResult<()> {
    diesel::insert_into(authorizations::table)
        .values(account)
        .on_conflict(authorizations::key)
        .do_update()
        .set(account)
        .execute(store)
        .map(drop)
}

fn append(store: &mut SqliteConnection, operation: &Operation, now: Timestamp) -> QueryResult<()> {
    diesel::insert_into(journal::table)
        .values((
            journal::at.eq(now.micros()),
            journal::key.eq(&operation.key),
            journal::kind.eq(operation.kind),
            journal::outcome.eq(operation.outcome),
            journal::amount.eq(operation.amount),
            journal::currency.eq(&operation.currency),
            journal::order_id.eq(&operation.order_id),
            journal::authorization_key.eq(&operation.authorization_key),
            journal::last4.eq(&operation.last4),
        ))
        .execute(store)
        .map(drop)
}
