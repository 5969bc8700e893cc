//! The store: one SQLite file, one connection, one thread that owns it and commits whatever waits together.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use tokio::sync::{mpsc, oneshot};

use crate::statement::statement;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// How many calls may wait for the store before callers wait to get in line.
const QUEUE: usize = 256;

/// Most calls that share one COMMIT, and so one wait for the disk.
const BATCH: usize = 32;

/// WAL with FULL: an answered effect has reached the disk, whatever happens to the process or the machine.
const PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                       PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA trusted_schema = OFF;";

diesel::table! {
    operations (key) {
        key -> Text,
        reference -> Text,
        kind -> Text,
        outcome -> Text,
        reason -> Nullable<Text>,
        retryable -> Nullable<Bool>,
        amount -> Nullable<BigInt>,
        currency -> Nullable<Text>,
        order_id -> Nullable<Text>,
        authorization_key -> Nullable<Text>,
        last4 -> Nullable<Text>,
        due_at -> Nullable<BigInt>,
        due_outcome -> Nullable<Text>,
        method -> Nullable<Text>,
        return_url -> Nullable<Text>,
        shopper_country -> Nullable<Text>,
        review_allowed -> Bool,
        challenge -> Bool,
        exemption -> Nullable<Text>,
        scheme -> Nullable<Text>,
        has_code -> Bool,
        has_postcode -> Bool,
        under_review -> Bool,
        stage -> Nullable<Text>,
        received -> BigInt,
        page_token -> Nullable<Text>,
        form_token -> Nullable<Text>,
        payment_reference -> Nullable<Text>,
    }
}

diesel::table! {
    authorizations (key) {
        key -> Text,
        scenario -> Text,
        currency -> Text,
        authorized -> BigInt,
        captured -> BigInt,
        capture_pending -> BigInt,
        refunded -> BigInt,
        refund_pending -> BigInt,
        voided -> Bool,
    }
}

diesel::table! {
    credential_terms (key) {
        key -> Text,
        merchant -> Text,
        store -> Nullable<Text>,
        expiry -> Nullable<Text>,
        credential -> Nullable<Text>,
        credential_use -> Nullable<Text>,
        linked_transaction_id -> Nullable<Text>,
        network_transaction_id -> Text,
        response_code -> Nullable<Text>,
        advice_code -> Nullable<Text>,
    }
}

diesel::table! {
    credentials (number) {
        number -> BigInt,
        reference -> Text,
        key -> Text,
        merchant -> Text,
        kind -> Text,
        last4 -> Text,
        expiry -> Text,
        stored_at -> BigInt,
        deleted_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    disputes (number) {
        number -> BigInt,
        reference -> Text,
        authorization_key -> Text,
        state -> Text,
        amount -> BigInt,
        currency -> Text,
        opened_at -> BigInt,
        due_at -> BigInt,
        answer_key -> Nullable<Text>,
        decided_at -> Nullable<BigInt>,
        decision -> Nullable<Text>,
    }
}

diesel::table! {
    journal (number) {
        number -> BigInt,
        at -> BigInt,
        key -> Text,
        kind -> Text,
        outcome -> Text,
        amount -> Nullable<BigInt>,
        currency -> Nullable<Text>,
        order_id -> Nullable<Text>,
        authorization_key -> Nullable<Text>,
        last4 -> Nullable<Text>,
        method -> Nullable<Text>,
        stage -> Nullable<Text>,
        received -> BigInt,
    }
}

/// Why the processor's store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// The bearer key is empty or has characters that a header cannot carry.
    #[error("the processor's bearer key must be visible ASCII characters, at least one")]
    Key,
    /// The public address is no address.
    #[error(
        "the processor's public address must be an http or https URL without query, such as https://pay.example/sandbox"
    )]
    PublicUrl,
    /// The file or its folder cannot be made.
    #[error("cannot create the processor's database {path}: {source}")]
    File {
        /// The configured file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path is not UTF-8, which SQLite's file names need here.
    #[error("the processor's database path {0} is not UTF-8; choose another")]
    Path(PathBuf),
    /// The file is no database, or is locked by somebody else for more than five seconds.
    #[error("cannot open the processor's database {path}: {reason}")]
    Database {
        /// The configured file.
        path: PathBuf,
        /// What SQLite or the migration said.
        reason: String,
    },
    /// The system gives no thread.
    #[error("cannot start the processor's store thread: {0}")]
    Thread(std::io::Error),
}

/// The store gave no answer: what was asked was not committed, or nobody knows, or the process is stopping. The log says which.
#[derive(Debug)]
pub(crate) struct StoreGone;

/// Does its work and tells how to answer when that is committed; a job that is dropped, or whose answer is, leaves its caller with
/// [`StoreGone`].
type Job = Box<dyn FnOnce(&mut SqliteConnection) -> ResultSender + Send>;
type ResultSender = Box<dyn FnOnce()>;

/// A handle to the store's thread, which ends after the last handle is dropped and the waiting jobs are done.
#[derive(Clone)]
pub(crate) struct Store {
    jobs: mpsc::Sender<Job>,
}

impl Store {
    /// Opens or creates the file, brings its schema up to date and starts the thread.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenStoreError> {
        let connection = connect(path)?;
        let path = path.to_owned();
        let (jobs, waiting) = mpsc::channel::<Job>(QUEUE);
        std::thread::Builder::new()
            .name("sandbox-processor".to_owned())
            .spawn(move || serve(&path, connection, waiting))
            .map_err(OpenStoreError::Thread)?;
        Ok(Self { jobs })
    }

    /// Runs `work` on the store's thread, in a transaction that it may share with others, and returns its result when that is committed. What must be
    /// kept whole or not at all runs [`in_savepoint`]. Once accepted it runs to its end, also when the caller has gone away.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> T + Send + 'static,
    ) -> Result<T, StoreGone> {
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let answer = work(connection);
            Box::new(move || {
                // A caller that went away misses the answer, not the effect.
                let _caller_gone = done.send(answer);
            })
        });
        self.jobs.send(job).await.map_err(|_closed| StoreGone)?;
        result.await.map_err(|_dropped| StoreGone)
    }
}

/// Does whatever waits, until there is nobody left who could ask.
fn serve(path: &Path, connection: SqliteConnection, mut waiting: mpsc::Receiver<Job>) {
    let mut connection = Some(connection);
    let mut jobs = Vec::with_capacity(BATCH);
    while 0 < waiting.blocking_recv_many(&mut jobs, BATCH) {
        let jobs = jobs.drain(..);
        let Some(mut open) = connection.take().or_else(|| reopen(path)) else { continue };
        match commit_batch(&mut open, jobs) {
            Ok(senders) => {
                senders.into_iter().for_each(|send| send());
                connection = Some(open);
            }
            // Nothing may go on in what is left of that transaction: the connection ends with it.
            Err(error) => log::error!("the store could not commit, and answers nobody who waited for that: {error}"),
        }
    }
}

fn reopen(path: &Path) -> Option<SqliteConnection> {
    connect(path).map_err(|error| log::error!("{error}")).ok()
}

/// One transaction for all of `jobs`, each in its savepoint. Returns the senders of their results once they are committed.
fn commit_batch(connection: &mut SqliteConnection, jobs: impl Iterator<Item = Job>) -> QueryResult<Vec<ResultSender>> {
    AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN IMMEDIATE")?;
    let mut senders = Vec::with_capacity(BATCH);
    for job in jobs {
        BeginJob {}.execute(connection)?;
        senders.push(job(connection));
        // A disk that is full takes the whole transaction along: then this fails, and nothing is done outside of it.
        EndJob {}.execute(connection)?;
    }
    AnsiTransactionManager::commit_transaction(connection)?;
    Ok(senders)
}

statement! { BeginJob {} "SAVEPOINT job"; }
statement! { EndJob {} "RELEASE job"; }
statement! { BeginStep {} "SAVEPOINT step"; }
statement! { UndoStep {} "ROLLBACK TO step"; }
statement! { EndStep {} "RELEASE step"; }

/// Does a part of the transaction under way whole or, when it fails, not at all.
///
/// # Errors
/// Those of `work`; none of it was done.
pub(crate) fn in_savepoint<T, E: From<diesel::result::Error>>(
    store: &mut SqliteConnection,
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, E>,
) -> Result<T, E> {
    BeginStep {}.execute(store)?;
    match work(store) {
        Ok(done) => {
            EndStep {}.execute(store)?;
            Ok(done)
        }
        Err(error) => {
            // What ended the transaction took the mark along; that it is missing says nothing, and the job's own is looked for as well.
            let _gone = UndoStep {}.execute(store).and_then(|_| EndStep {}.execute(store));
            Err(error)
        }
    }
}

fn connect(path: &Path) -> Result<SqliteConnection, OpenStoreError> {
    let address = path.to_str().ok_or_else(|| OpenStoreError::Path(path.to_owned()))?;
    create_private(path).map_err(|source| OpenStoreError::File { path: path.to_owned(), source })?;
    let failed = |reason: String| OpenStoreError::Database { path: path.to_owned(), reason };
    let mut connection = SqliteConnection::establish(address).map_err(|error| failed(error.to_string()))?;
    connection.batch_execute(PRAGMAS).map_err(|error| failed(error.to_string()))?;
    // In one transaction, so that two programs that start at once do not both create the schema.
    connection
        .immediate_transaction(|connection| {
            connection.run_pending_migrations(MIGRATIONS).map(drop).map_err(MigrationFailed::Migration)
        })
        .map_err(|error| failed(error.to_string()))?;
    Ok(connection)
}

/// Creates the file, readable by its owner only (SQLite gives its side files the same permissions).
fn create_private(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path).map(drop)
}

#[derive(Debug, thiserror::Error)]
enum MigrationFailed {
    #[error("{0}")]
    Migration(Box<dyn std::error::Error + Send + Sync>),
    #[error("{0}")]
    Database(#[from] diesel::result::Error),
}

#[cfg(test)]
mod tests;
