//! Executes the caller's calls. Every function runs in one savepoint, which also writes the journal entry of each effect.

use diesel::prelude::*;
use dropin_kernel::{OpId, Timestamp};

use crate::card::Verdict;
use crate::credential::{self, CredentialView, keep_terms};
use crate::dispute;
use crate::enums::{Outcome, Reason, Scenario, Stage};
use crate::operation_store::{account, conclude, find, insert, save, secret, settle_due, settle_until};
use crate::request::Request;
use crate::rows::{Account, Credential, Entry, NewOperation, Operation};
use crate::rules::{CallContext, Decision, decide};
use crate::store::{in_savepoint, journal};

/// An operation, and whether this call made it.
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) operation: Operation,
    pub(crate) credential: Option<CredentialView>,
    /// The key was known: nothing was done by this call.
    pub(crate) replayed: bool,
    /// The scenario of a fresh, approved authorization.
    pub(crate) scenario: Option<Scenario>,
}

/// Why nothing was executed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecuteError {
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

/// Does what is asked under `key`, once; a key that is known answers with its operation as it stands.
pub(crate) fn execute(
    store: &mut SqliteConnection,
    key: OpId,
    request: &Request,
    context: CallContext,
) -> Result<Executed, ExecuteError> {
    in_savepoint(store, |store| {
        settle_due(store, context.now)?;
        if let Some(operation) = find(store, key)? {
            let credential = credential::view(store, &operation)?;
            let terms = credential.as_ref().map(|view| &view.terms);
            return match operation.outcome {
                Outcome::Abandoned => Err(ExecuteError::KeyAbandoned),
                _ if !request.matches(&operation, terms) => Err(ExecuteError::KeyReused),
                _ => Ok(Executed { operation, credential, replayed: true, scenario: None }),
            };
        }
        let (verdict, paid_by) = judge(store, request, context.now)?;
        let (authorization, money) = match request.authorization() {
            Some(authorization) => (find(store, authorization)?, account(store, authorization)?),
            None => (None, None),
        };
        let decision = decide(key, request, verdict, authorization.as_ref(), money.as_ref(), context)
            .ok_or(ExecuteError::Silent)?;
        let mut row = new_operation(key, request, &decision, money.as_ref(), authorization.as_ref(), context);
        row.last4 = row.last4.or(paid_by.map(|credential| credential.last4));
        if row.stage.is_some() {
            (row.page_token, row.form_token) = (Some(secret(store)?), Some(secret(store)?));
        }
        let operation = insert(store, &row, context.now)?;
        if let Some(terms) = request.terms() {
            keep_terms(store, terms, &operation, context.refuse.unwrap_or_default(), context.now)?;
        }
        if let Some(account) = &decision.account {
            save(store, account)?;
        }
        dispute::open_of(store, &operation, decision.account.as_ref(), context)?;
        if let Some(stopped) = &decision.stops {
            conclude(store, stopped, Some((Reason::Voided, false)), context.now)?;
        }
        let scenario = match verdict {
            Some(Verdict::Approve(scenario)) if operation.outcome == Outcome::Approved => Some(scenario),
            _ => None,
        };
        let credential = match request.terms() {
            Some(_) => credential::view(store, &operation)?,
            None => None,
        };
        Ok(Executed { operation, credential, replayed: false, scenario })
    })
}

/// What an authorization comes to, and the stored credential that it is paid by.
fn judge(
    store: &mut SqliteConnection,
    request: &Request,
    now: Timestamp,
) -> QueryResult<(Option<Verdict>, Option<Credential>)> {
    let Request::Authorize(asked) = request else {
        return Ok((None, None));
    };
    match asked.credential() {
        None => Ok((asked.verdict, None)),
        Some((merchant, payment)) => {
            let (verdict, credential) = credential::judge(store, asked, merchant, payment, now)?;
            Ok((Some(verdict), credential))
        }
    }
}

/// Leaves a tombstone under an unknown key, so that it is refused for ever, and closes a page that waits for the shopper; any other known operation
/// stays as it is.
pub(crate) fn abandon(
    store: &mut SqliteConnection,
    key: OpId,
    now: Timestamp,
) -> QueryResult<(Operation, Option<CredentialView>)> {
    in_savepoint(store, |store| {
        settle_due(store, now)?;
        let operation = match find(store, key)? {
            Some(operation) if operation.stage == Some(Stage::Page) => {
                conclude(store, &operation, Some((Reason::PageClosed, false)), now)?
            }
            Some(operation) => operation,
            None => insert(store, &NewOperation::tombstone(key), now)?,
        };
        let credential = credential::view(store, &operation)?;
        Ok((operation, credential))
    })
}

/// The operation of a key, as it stands at `now`.
pub(crate) fn look_up(
    store: &mut SqliteConnection,
    key: OpId,
    now: Timestamp,
) -> QueryResult<Option<(Operation, Option<CredentialView>)>> {
    settle_until(store, now)?;
    let Some(operation) = find(store, key)? else {
        return Ok(None);
    };
    let credential = credential::view(store, &operation)?;
    Ok(Some((operation, credential)))
}

/// Up to `limit` journal entries after number `after`, oldest first.
pub(crate) fn entries(store: &mut SqliteConnection, after: i64, limit: i64, now: Timestamp) -> QueryResult<Vec<Entry>> {
    settle_until(store, now)?;
    journal::table
        .filter(journal::number.gt(after))
        .order(journal::number)
        .limit(limit)
        .select(Entry::as_select())
        .load(store)
}

fn new_operation(
    key: OpId,
    request: &Request,
    decision: &Decision,
    account: Option<&Account>,
    authorization: Option<&Operation>,
    context: CallContext,
) -> NewOperation {
    let asked = match request {
        Request::Authorize(asked) => Some(asked),
        Request::Capture { .. } | Request::Void { .. } | Request::Refund { .. } => None,
    };
    let (order_id, last4, method) = match (asked, authorization) {
        (Some(asked), _) => (Some(asked.order_id.clone()), asked.last4.clone(), Some(asked.method)),
        (None, Some(found)) => (found.order_id.clone(), found.last4.clone(), found.method),
        (None, None) => (None, None, None),
    };
    let stopped = decision.stops.as_ref().and_then(|stopped| stopped.amount.zip(stopped.currency.clone()));
    let money = match request.amount() {
        Some(amount) => Some((amount.minor(), amount.currency().code().to_owned())),
        None => account.map(|account| (account.authorized, account.currency.clone())).or(stopped),
    };
    let (amount, currency) = money.unzip();
    NewOperation {
        key: key.to_string(),
        kind: request.kind(),
        outcome: decision.outcome,
        reason: decision.refusal.map(|(reason, _)| reason),
        retryable: decision.refusal.map(|(_, retryable)| retryable),
        amount,
        currency,
        order_id,
        authorization_key: request.authorization().map(|key| key.to_string()),
        last4,
        due_at: decision.due.map(|(wait, _)| context.now.plus(wait).micros()),
        due_outcome: decision.due.map(|(_, outcome)| outcome),
        method,
        return_url: asked.and_then(|asked| asked.return_url.clone()),
        shopper_country: asked.and_then(|asked| asked.shopper_country.clone()),
        review_allowed: asked.is_some_and(|asked| asked.review_allowed),
        challenge: asked.is_some_and(|asked| asked.challenge),
        exemption: asked.and_then(|asked| asked.exemption),
        scheme: asked.and_then(|asked| asked.scheme),
        has_code: asked.is_some_and(|asked| asked.has_code),
        has_postcode: asked.is_some_and(|asked| asked.has_postcode),
        under_review: decision.under_review,
        stage: decision.stage,
        page_token: None,
        form_token: None,
        payment_reference: asked.and_then(|asked| asked.payment_reference.clone()),
    }
}
