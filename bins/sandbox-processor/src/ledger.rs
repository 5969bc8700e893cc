//! What the caller's calls do to the books. Every function is one step, and every effect is journaled in it.

use diesel::prelude::*;
use dropin_kernel::{OpId, Timestamp};

use crate::books::{account, bring_up_to, conclude, find, insert, save, secret, settle_due};
use crate::request::Request;
use crate::rows::{Account, Entry, NewOperation, Operation};
use crate::rules::{Decision, Terms, decide};
use crate::store::{journal, step};
use crate::words::{Kind, Outcome, Reason, Scenario};

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

/// Does what is asked under `key`, once; a key that is known answers with its operation as it stands.
pub(crate) fn execute(
    store: &mut SqliteConnection,
    key: OpId,
    request: &Request,
    terms: Terms,
) -> Result<Executed, LedgerError> {
    step(store, |store| {
        settle_due(store, terms.now)?;
        if let Some(operation) = find(store, key)? {
            return match operation.outcome {
                Outcome::Abandoned => Err(LedgerError::KeyAbandoned),
                _ if !request.matches(&operation) => Err(LedgerError::KeyReused),
                _ => Ok(Executed { operation, replayed: true, scenario: None }),
            };
        }
        let (authorization, money) = match request.authorization() {
            Some(authorization) => (find(store, authorization)?, account(store, authorization)?),
            None => (None, None),
        };
        let decision =
            decide(key, request, authorization.as_ref(), money.as_ref(), terms).ok_or(LedgerError::Silent)?;
        let mut row = new_operation(key, request, &decision, money.as_ref(), authorization.as_ref(), terms);
        if row.stage.is_some() {
            (row.page_token, row.form_token) = (Some(secret(store)?), Some(secret(store)?));
        }
        let operation = insert(store, &row, terms.now)?;
        if let Some(account) = &decision.account {
            save(store, account)?;
        }
        if let Some(stopped) = &decision.stops {
            conclude(store, stopped, Some((Reason::Voided, false)), terms.now)?;
        }
        let scenario = decision.account.map(|account| account.scenario).filter(|_| row.kind == Kind::Authorize);
        Ok(Executed { operation, replayed: false, scenario })
    })
}

/// Leaves a tombstone under an unknown key, so that it is refused for ever; a known operation stays as it is.
pub(crate) fn abandon(store: &mut SqliteConnection, key: OpId, now: Timestamp) -> QueryResult<Operation> {
    step(store, |store| {
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

fn new_operation(
    key: OpId,
    request: &Request,
    decision: &Decision,
    account: Option<&Account>,
    authorization: Option<&Operation>,
    terms: Terms,
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
        due_at: decision.due.map(|(wait, _)| terms.now.plus(wait).micros()),
        due_outcome: decision.due.map(|(_, outcome)| outcome),
        method,
        return_url: asked.and_then(|asked| asked.return_url.clone()),
        shopper_country: asked.and_then(|asked| asked.shopper_country.clone()),
        review_allowed: asked.is_some_and(|asked| asked.review_allowed),
        under_review: decision.under_review,
        stage: decision.stage,
        page_token: None,
        form_token: None,
    }
}
