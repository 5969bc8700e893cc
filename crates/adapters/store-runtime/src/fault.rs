//! The errors of a task, reported by constraint name and kind. The DETAIL of a database error carries row values, so it is never read.

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};
use dropin_ports::StoreError;

/// Why a step stopped.
#[derive(Debug)]
pub enum Fault {
    /// The database said no.
    Database(Error),
    /// A stored row makes no sense.
    Corrupt {
        /// Which table.
        table: &'static str,
        /// What is wrong with it, without its value.
        what: String,
    },
    /// What was asked makes no sense: a defect of ours.
    Refused(String),
    /// Lost a race that another try from the start decides.
    Retry,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

/// A stored row makes no sense. `what` must not repeat a stored value.
pub fn corrupt(table: &'static str, what: impl Into<String>) -> Fault {
    Fault::Corrupt { table, what: what.into() }
}

/// Names the table of a query, for columns that cannot be read.
pub trait InTable<T> {
    /// A column that cannot be read makes the row corrupt; every other error stays what it is.
    fn in_table(self, table: &'static str) -> Result<T, Fault>;
}

impl<T> InTable<T> for Result<T, Error> {
    fn in_table(self, table: &'static str) -> Result<T, Fault> {
        self.map_err(|error| match error {
            Error::DeserializationError(why) => corrupt(table, format!("a column cannot be read: {why}")),
            other => Fault::Database(other),
        })
    }
}

/// The name of the broken constraint on PostgreSQL; on SQLite that of a CHECK, or the columns of a UNIQUE (`table.column, table.column`).
pub fn constraint(information: &dyn DatabaseErrorInformation) -> Option<&str> {
    let message = information.message();
    information.constraint_name().or_else(|| message.split_once("constraint failed: ").map(|(_kind, name)| name))
}

impl Fault {
    /// Whether `error` breaks the UNIQUE constraint of that name (PostgreSQL) on those columns (SQLite).
    pub fn breaks(&self, name: &str, columns: &str) -> bool {
        match self {
            Self::Database(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, information)) => {
                constraint(information.as_ref()).is_some_and(|found| found == name || found == columns)
            }
            _ => false,
        }
    }

    /// Whether the whole step may succeed when it is run again from its start.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Retry | Self::Database(Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
            Self::Database(Error::DatabaseError(DatabaseErrorKind::Unknown, information)) => {
                // 40P01 has no kind of its own in diesel; connections ask for English messages.
                information.message() == "deadlock detected"
            }
            _ => false,
        }
    }

    /// Whether the connection is of no use any more.
    pub fn is_lost_connection(&self) -> bool {
        use DatabaseErrorKind::{ClosedConnection, UnableToSendCommand};
        self.is_standby()
            || matches!(
                self,
                Self::Database(
                    Error::DatabaseError(ClosedConnection | UnableToSendCommand, _) | Error::BrokenTransactionManager
                )
            )
    }

    /// Whether the connection leads to a server that may only be read: after a failover, another connection leads elsewhere.
    pub fn is_standby(&self) -> bool {
        matches!(self, Self::Database(Error::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _)))
    }

    /// Whether it names a rule that was broken, which the database judged: nothing of the step was kept.
    pub fn is_judged(&self) -> bool {
        use DatabaseErrorKind::{
            CheckViolation, ExclusionViolation, ForeignKeyViolation, NotNullViolation, RestrictViolation,
            SerializationFailure, UniqueViolation,
        };
        matches!(
            self,
            Self::Database(Error::DatabaseError(
                CheckViolation
                    | ExclusionViolation
                    | ForeignKeyViolation
                    | NotNullViolation
                    | RestrictViolation
                    | SerializationFailure
                    | UniqueViolation,
                _
            ))
        )
    }

    /// The error of the port. Logged as an error where the operator has to act.
    pub fn into_store_error(self) -> StoreError {
        let error = self.classify();
        match &error {
            StoreError::Corrupt { table, what } => log::error!("corrupt row in {table}: {what}"),
            StoreError::Refused(why) => log::error!("the database refused a step: {why}"),
            StoreError::Unavailable(why) => log::warn!("the database is not available: {why}"),
            StoreError::OutcomeUnknown => {}
        }
        error
    }

    /// The error of the port, for a caller that logs it itself.
    pub fn classify(self) -> StoreError {
        if self.is_standby() {
            return StoreError::Unavailable("the server is a standby".to_owned());
        }
        if self.is_lost_connection() {
            return StoreError::Unavailable("the connection was lost".to_owned());
        }
        match self {
            Self::Corrupt { table, what } => StoreError::Corrupt { table, what },
            Self::Refused(why) => StoreError::Refused(why),
            Self::Retry => StoreError::Unavailable("too many writers at once".to_owned()),
            Self::Database(Error::DatabaseError(kind, information)) => classify(kind, information.as_ref()),
            Self::Database(Error::DeserializationError(_)) => {
                StoreError::Corrupt { table: "unknown", what: "a column cannot be read".to_owned() }
            }
            Self::Database(Error::SerializationError(why)) => {
                StoreError::Refused(format!("a value cannot be stored: {why}"))
            }
            Self::Database(Error::RollbackErrorOnCommit { .. }) => {
                StoreError::Unavailable("the connection broke while a step was given up".to_owned())
            }
            Self::Database(other) => StoreError::Refused(first_line(&other.to_string())),
        }
    }
}

/// Beginnings of messages that say "not now" rather than "never".
const TRANSIENT_MESSAGES: [&str; 9] = [
    "unable to open database file",
    "canceling statement due to",
    "terminating connection due to",
    "database is locked",
    "database table is locked",
    "database or disk is full",
    "disk I/O error",
    "sorry, too many clients already",
    "could not extend file",
];

fn classify(kind: DatabaseErrorKind, information: &dyn DatabaseErrorInformation) -> StoreError {
    match (kind, constraint(information)) {
        (kind, Some(name)) => StoreError::Refused(format!("{kind:?} of {name}")),
        (DatabaseErrorKind::SerializationFailure, None) => {
            StoreError::Unavailable("too many writers at once".to_owned())
        }
        (DatabaseErrorKind::Unknown, None) => {
            let message = first_line(information.message());
            if message == "deadlock detected" || TRANSIENT_MESSAGES.iter().any(|not_now| message.starts_with(not_now)) {
                StoreError::Unavailable(message)
            } else {
                StoreError::Refused(message)
            }
        }
        (kind, None) => StoreError::Refused(format!("{kind:?}")),
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
