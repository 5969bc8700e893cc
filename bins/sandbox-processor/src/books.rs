//! Reading and writing the books. Every change of an operation is journaled in the transaction that makes it, which is the caller's.

use diesel::prelude::*;
use dropin_kernel::{OpId, Timestamp};

use crate::rows::{Account, NewOperation, Operation};
use crate::store::{authorizations, journal, operations};
use crate::words::{Kind, Outcome, Reason, Stage};

/// The operation of a key.
pub(crate) fn find(store: &mut SqliteConnection, key: OpId) -> QueryResult<Option<Operation>> {
    operations::table.find(key.to_string()).select(Operation::as_select()).first(store).optional()
}

/// The operation of a page.
pub(crate) fn find_page(store: &mut SqliteConnection, token: &str) -> QueryResult<Option<Operation>> {
    operations::table.filter(operations::page_token.eq(token)).select(Operation::as_select()).first(store).optional()
}

/// The money of an approved authorization.
pub(crate) fn account(store: &mut SqliteConnection, key: OpId) -> QueryResult<Option<Account>> {
    authorizations::table.find(key.to_string()).select(Account::as_select()).first(store).optional()
}

/// Whether the provider has ever reviewed it, by the journal.
pub(crate) fn was_reviewed(store: &mut SqliteConnection, operation: &Operation) -> QueryResult<bool> {
    let reviews = journal::table.filter(journal::key.eq(&operation.key).and(journal::stage.eq(Stage::Review)));
    diesel::select(diesel::dsl::exists(reviews)).get_result(store)
}

/// Writes a new operation and its first journal entry.
pub(crate) fn insert(store: &mut SqliteConnection, row: &NewOperation, now: Timestamp) -> QueryResult<Operation> {
    let operation =
        diesel::insert_into(operations::table).values(row).returning(Operation::as_returning()).get_result(store)?;
    append(store, &operation, now)?;
    Ok(operation)
}

/// Writes an authorization's money.
pub(crate) fn save(store: &mut SqliteConnection, account: &Account) -> QueryResult<()> {
    diesel::insert_into(authorizations::table)
        .values(account)
        .on_conflict(authorizations::key)
        .do_update()
        .set(account)
        .execute(store)
        .map(drop)
}

/// Moves a pending operation to a later stage, or notes money that has arrived, as `after` says.
pub(crate) fn advance(store: &mut SqliteConnection, after: &Operation, now: Timestamp) -> QueryResult<Operation> {
    let advanced = diesel::update(operations::table.find(&after.key))
        .set((
            operations::stage.eq(after.stage),
            operations::received.eq(after.received),
            operations::due_at.eq(after.due_at),
            operations::due_outcome.eq(after.due_outcome),
        ))
        .returning(Operation::as_returning())
        .get_result(store)?;
    append(store, &advanced, now)?;
    Ok(advanced)
}

/// Ends a pending operation, approved unless there is a refusal, and moves the money that hangs on it.
pub(crate) fn conclude(
    store: &mut SqliteConnection,
    pending: &Operation,
    refusal: Option<(Reason, bool)>,
    now: Timestamp,
) -> QueryResult<Operation> {
    let outcome = if refusal.is_none() { Outcome::Approved } else { Outcome::Declined };
    let concluded: Operation = diesel::update(operations::table.find(&pending.key))
        .set((
            operations::outcome.eq(outcome),
            operations::reason.eq(refusal.map(|(reason, _)| reason)),
            operations::retryable.eq(refusal.map(|(_, retryable)| retryable)),
            operations::received.eq(pending.received),
            operations::stage.eq(None::<Stage>),
            operations::due_at.eq(None::<i64>),
            operations::due_outcome.eq(None::<Outcome>),
        ))
        .returning(Operation::as_returning())
        .get_result(store)?;
    append(store, &concluded, now)?;
    match concluded.kind {
        Kind::Authorize => {
            if let Some(account) = Account::of(&concluded).filter(|_| refusal.is_none()) {
                save(store, &account)?;
            }
        }
        Kind::Capture | Kind::Refund | Kind::Void => release(store, &concluded)?,
    }
    Ok(concluded)
}

/// Turns what a pending capture or refund had reserved into what came of it.
fn release(store: &mut SqliteConnection, concluded: &Operation) -> QueryResult<()> {
    let minor = concluded.amount.unwrap_or(0);
    let done = if concluded.outcome == Outcome::Approved { minor } else { 0 };
    let mut account: Account = authorizations::table
        .filter(authorizations::key.nullable().eq(&concluded.authorization_key))
        .select(Account::as_select())
        .first(store)?;
    match concluded.kind {
        Kind::Capture => {
            account.capture_pending -= minor;
            account.captured += done;
        }
        Kind::Refund => {
            account.refund_pending -= minor;
            account.refunded += done;
        }
        Kind::Authorize | Kind::Void => {}
    }
    save(store, &account)
}

/// Settles what is due, taking the write lock only when something is.
pub(crate) fn bring_up_to(store: &mut SqliteConnection, now: Timestamp) -> QueryResult<()> {
    let due = operations::table.filter(operations::due_at.le(now.micros()));
    if diesel::select(diesel::dsl::exists(due)).get_result(store)? {
        store.immediate_transaction(|store| settle_due(store, now))?;
    }
    Ok(())
}

/// Ends every pending operation whose time has come; part of the caller's transaction.
pub(crate) fn settle_due(store: &mut SqliteConnection, now: Timestamp) -> QueryResult<()> {
    let due: Vec<Operation> = operations::table
        .filter(operations::due_at.le(now.micros()))
        .order((operations::due_at, operations::key))
        .select(Operation::as_select())
        .load(store)?;
    for pending in due {
        let refusal = match pending.due_outcome {
            Some(Outcome::Approved) => None,
            _ => Some((when_due(&pending), false)),
        };
        conclude(store, &pending, refusal, now)?;
    }
    Ok(())
}

/// Why a pending operation is declined when its time has come.
fn when_due(pending: &Operation) -> Reason {
    match (pending.kind, pending.stage) {
        (Kind::Refund, _) => Reason::RefundRefused,
        (Kind::Authorize, Some(Stage::Review)) => Reason::ReviewDeclined,
        (Kind::Authorize, _) => Reason::Expired,
        (Kind::Capture | Kind::Void, _) => Reason::CaptureRefused,
    }
}

/// A text of 128 random bits that nobody can guess.
pub(crate) fn secret(store: &mut SqliteConnection) -> QueryResult<String> {
    diesel::select(diesel::dsl::sql::<diesel::sql_types::Text>("lower(hex(randomblob(16)))")).get_result(store)
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
            journal::method.eq(operation.method),
            journal::stage.eq(operation.stage),
            journal::received.eq(operation.received),
        ))
        .execute(store)
        .map(drop)
}
