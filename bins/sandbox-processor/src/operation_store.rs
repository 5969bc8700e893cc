//! Reads and writes operations and amounts. The caller's savepoint holds each change together with its journal entry.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use dropin_kernel::{OpId, Timestamp};

use crate::credential::issue;
use crate::enums::{Kind, Outcome, Reason, Scenario, Stage};
use crate::rows::{Account, NewOperation, Operation};
use crate::statement::statement;
use crate::store::{authorizations, in_savepoint, journal, operations};

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

statement! {
    /// An authorization's money, new or changed.
    Save<'a> {
        key: &'a str => Text,
        scenario: Scenario => Text,
        currency: &'a str => Text,
        authorized: i64 => BigInt,
        captured: i64 => BigInt,
        capture_pending: i64 => BigInt,
        refunded: i64 => BigInt,
        refund_pending: i64 => BigInt,
        voided: bool => Bool,
    }
    "INSERT INTO authorizations \
        (key, scenario, currency, authorized, captured, capture_pending, refunded, refund_pending, voided) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET scenario = excluded.scenario, \
        currency = excluded.currency, authorized = excluded.authorized, captured = excluded.captured, \
        capture_pending = excluded.capture_pending, refunded = excluded.refunded, \
        refund_pending = excluded.refund_pending, voided = excluded.voided";
}

/// Writes an authorization's money.
pub(crate) fn save(store: &mut SqliteConnection, account: &Account) -> QueryResult<()> {
    let save = Save {
        key: &account.key,
        scenario: account.scenario,
        currency: &account.currency,
        authorized: account.authorized,
        captured: account.captured,
        capture_pending: account.capture_pending,
        refunded: account.refunded,
        refund_pending: account.refund_pending,
        voided: account.voided,
    };
    save.execute(store).map(drop)
}

statement! {
    /// What changes of an operation.
    Change<'a> {
        outcome: Outcome => Text,
        reason: Option<Reason> => Nullable<Text>,
        retryable: Option<bool> => Nullable<Bool>,
        stage: Option<Stage> => Nullable<Text>,
        received: i64 => BigInt,
        due_at: Option<i64> => Nullable<BigInt>,
        due_outcome: Option<Outcome> => Nullable<Text>,
        under_review: bool => Bool,
        key: &'a str => Text,
    }
    "UPDATE operations SET outcome = ?, reason = ?, retryable = ?, stage = ?, received = ?, due_at = ?, due_outcome = ?, \
        under_review = ? WHERE key = ?";
}

/// Writes what has changed of an operation, and journals it.
fn change(store: &mut SqliteConnection, after: &Operation, now: Timestamp) -> QueryResult<()> {
    let change = Change {
        outcome: after.outcome,
        reason: after.reason,
        retryable: after.retryable,
        stage: after.stage,
        received: after.received,
        due_at: after.due_at,
        due_outcome: after.due_outcome,
        under_review: after.under_review,
        key: &after.key,
    };
    match change.execute(store)? {
        0 => Err(diesel::result::Error::NotFound),
        _ => append(store, after, now),
    }
}

/// Moves a pending operation to a later stage, or notes money that has arrived, as `after` says.
pub(crate) fn advance(store: &mut SqliteConnection, after: Operation, now: Timestamp) -> QueryResult<Operation> {
    change(store, &after, now)?;
    Ok(after)
}

/// Ends a pending operation, approved unless there is a refusal, and moves the money that hangs on it.
pub(crate) fn conclude(
    store: &mut SqliteConnection,
    pending: &Operation,
    refusal: Option<(Reason, bool)>,
    now: Timestamp,
) -> QueryResult<Operation> {
    let concluded = Operation {
        outcome: if refusal.is_none() { Outcome::Approved } else { Outcome::Declined },
        reason: refusal.map(|(reason, _)| reason),
        retryable: refusal.map(|(_, retryable)| retryable),
        stage: None,
        due_at: None,
        due_outcome: None,
        ..pending.clone()
    };
    change(store, &concluded, now)?;
    match concluded.kind {
        Kind::Authorize => {
            if let Some(account) = Account::of(&concluded).filter(|_| refusal.is_none()) {
                save(store, &account)?;
            }
            issue(store, &concluded, now)?;
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

/// Settles what is due, all of it or nothing.
pub(crate) fn settle_until(store: &mut SqliteConnection, now: Timestamp) -> QueryResult<()> {
    in_savepoint(store, |store| settle_due(store, now))
}

/// Ends every pending operation whose time has come; within the caller's savepoint.
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

statement! {
    /// 128 random bits.
    Random {}
    "SELECT lower(hex(randomblob(16)))";
    returns Text;
}

/// A text of 128 random bits that nobody can guess.
pub(crate) fn secret(store: &mut SqliteConnection) -> QueryResult<String> {
    Random {}.get_result(store)
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
