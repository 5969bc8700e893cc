//! Which deployment the database belongs to: its mode and its master key, remembered by the first program that starts.

use std::time::Instant;

use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use dropin_ports::{NewAuditEntry, StoreError};
use dropin_store_runtime::config::{Role, Target};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::pooler;
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};

use crate::audit_log;
use crate::schema::deployment;
use crate::start_state::{Deployment, DeploymentMode, StartRefused};
use crate::store::Store;

const TABLE: &str = "deployment";

statement! {
    /// Remembers what is not remembered yet, which proves that a write works, and returns what is.
    Remember<'a> { mode: Option<&'static str> => Nullable<Text>, master_key: Option<&'a str> => Nullable<Text>, }
    postgres "UPDATE deployment SET mode = coalesce(mode, $1), master_key = coalesce(master_key, $2), written_at = clock_timestamp() \
        WHERE id = 1 RETURNING mode, master_key";
    sqlite "UPDATE deployment \
        SET mode = coalesce(mode, $1), master_key = coalesce(master_key, $2), \
            written_at = CAST(unixepoch('subsec') * 1000000 AS INTEGER) \
        WHERE id = 1 RETURNING mode, master_key";
    returns (Nullable<Text>, Nullable<Text>);
}

type Row = (Option<String>, Option<String>);

fn restore((mode, master_key): Row) -> Result<Deployment, Fault> {
    let known = |code: String| DeploymentMode::ALL.into_iter().find(|mode| mode.code() == code);
    let mode = mode.map(|code| known(code).ok_or_else(|| corrupt(TABLE, "the mode is unknown"))).transpose()?;
    Ok(Deployment { mode, master_key })
}

fn read_or_write(connection: &mut AnyConnection, configured: &Deployment) -> Result<Deployment, Fault> {
    let mode = configured.mode.map(DeploymentMode::code);
    let statement = Remember { mode, master_key: configured.master_key.as_deref() };
    let rows: Vec<Row> = on_each!(connection, inner => statement.load(inner)?);
    restore(rows.into_iter().next().ok_or_else(|| corrupt(TABLE, "its one row is missing"))?)
}

/// Compares `configured` with what is remembered, and writes `unwritten` down where all of it fits.
fn join(
    connection: &mut AnyConnection,
    configured: &Deployment,
    unwritten: &Deployment,
) -> Result<TxOutcome<Result<(), StartRefused>>, Fault> {
    Ok(match read_or_write(connection, unwritten)?.check(configured) {
        Ok(()) => TxOutcome::Commit(Ok(())),
        refused => TxOutcome::Rollback(refused),
    })
}

fn find(connection: &mut AnyConnection) -> Result<Deployment, Fault> {
    restore(deployment::table.select((deployment::mode, deployment::master_key)).first(connection)?)
}

impl Store {
    /// The deployment that the database belongs to.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find_deployment(&self) -> Result<Deployment, StoreError> {
        self.read(find).await
    }

    /// Says what this program is. From now on [`dropin_ports::StoreHealth::ready`] compares it with what the database remembers. Once, when all of it
    /// fits, a service writes down what the database does not know yet: the key, and the mode where `is_mode_chosen`, not where it is a default.
    pub fn set_deployment(&self, configured: Deployment, is_mode_chosen: bool) {
        let mut state = self.start_state();
        let mode = configured.mode.filter(|_| is_mode_chosen);
        state.unwritten = Deployment { mode, master_key: configured.master_key.clone() };
        (state.configured, state.proved) = (configured, None);
    }

    /// Compares this program with what the database remembers, and looks for a pooler that shares connections between transactions. A service writes
    /// down what is not remembered, which proves that a write works; a tool only reads.
    ///
    /// # Errors
    /// [`StoreError`], when the database cannot tell.
    pub async fn check_start(&self) -> Result<Result<(), StartRefused>, StoreError> {
        let (configured, unwritten, has_no_pooler) = {
            let state = self.start_state();
            (state.configured.clone(), state.unwritten.clone(), state.has_no_pooler)
        };
        if !has_no_pooler {
            if self.is_behind_sharing_pooler().await? {
                return Ok(Err(StartRefused::Pooler));
            }
            self.start_state().has_no_pooler = true;
        }
        let checked = match self.role() {
            Role::Service => self.write(move |connection| join(connection, &configured, &unwritten)).await?,
            Role::Tool => self.read(find).await?.check(&configured),
        };
        let mut state = self.start_state();
        state.proved = checked.is_ok().then(Instant::now);
        if checked.is_ok() && self.role() == Role::Service {
            // A program that runs on must not write down again what an operator made the database forget.
            state.unwritten = Deployment::default();
        }
        Ok(checked)
    }

    /// Compares this program with `remembered`.
    pub(crate) fn compare_deployment(&self, remembered: &Deployment) -> Result<(), StartRefused> {
        remembered.check(&self.start_state().configured)
    }

    /// Whether a pooler that shares connections between transactions stands before the database.
    pub(crate) async fn is_behind_sharing_pooler(&self) -> Result<bool, StoreError> {
        let Target::Postgres(address) = self.target() else { return Ok(false) };
        let address = address.clone();
        // On a thread of the store, which may block, and whose connection saves another one.
        let compare = move |connection: &mut AnyConnection| match connection {
            AnyConnection::Postgres(own) => Ok(pooler::shares_connections(own, &address)?),
            AnyConnection::Sqlite(_) => Ok(Some(false)),
        };
        let found = self.read(compare).await?;
        found.ok_or_else(|| StoreError::Unavailable("cannot connect".to_owned()))
    }

    /// The same as [`Store::check_start`], unless it was right a moment ago ([`Store::write_check`]): asking for readiness often costs no write each time.
    pub(crate) async fn check_write(&self) -> Result<(), StoreError> {
        if self.start_state().proved.is_some_and(|proved| proved.elapsed() < self.write_check()) {
            return Ok(());
        }
        self.check_start().await?.map_err(|refused| StoreError::Refused(refused.to_string()))
    }

    /// Writes, and changes nothing but the time of the last proof.
    pub(crate) async fn prove_write(&self) -> Result<(), StoreError> {
        let nothing = Deployment::default();
        self.write(move |connection| read_or_write(connection, &nothing).map(TxOutcome::Commit))
            .await
            .map(|_remembered| ())
    }

    /// Forgets the mode, the master key or both: the next service that starts writes down its own. Written with its entry of the audit log.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn forget_deployment(
        &self,
        forget_mode: bool,
        forget_key: bool,
        audit: NewAuditEntry,
    ) -> Result<(), StoreError> {
        self.write(move |connection| {
            if forget_mode {
                diesel::update(deployment::table).set(deployment::mode.eq(None::<String>)).execute(connection)?;
            }
            if forget_key {
                diesel::update(deployment::table).set(deployment::master_key.eq(None::<String>)).execute(connection)?;
            }
            audit_log::append(connection, &audit)?;
            Ok(TxOutcome::Commit(()))
        })
        .await
    }
}
