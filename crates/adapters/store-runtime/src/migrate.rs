//! The runner of embedded migrations.

use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::migration::{Migration, MigrationSource, MigrationVersion};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel::{PgConnection, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness};

use crate::config::OpenError;

/// Key of the advisory lock that makes migrations wait for each other ("dropin" in ASCII).
const ADVISORY_LOCK: i64 = 0x6472_6f70_696e;

fn failed(error: Box<dyn std::error::Error + Send + Sync>) -> OpenError {
    OpenError::Migrate(error.to_string())
}

/// Their names as CHANGELOG.md has them: `2026-11-21-100000_foundation`.
fn names<DB: Backend>(known: &[Box<dyn Migration<DB>>], versions: &[MigrationVersion<'_>]) -> Vec<String> {
    let name = |version: &MigrationVersion<'_>| {
        let found = known.iter().find(|migration| migration.name().version() == *version);
        found.map_or_else(|| version.to_string(), |migration| migration.name().to_string())
    };
    versions.iter().map(name).collect()
}

/// Applies what is missing; the names of what was applied. Waits while another program migrates.
///
/// # Errors
/// [`OpenError::Migrate`]; what was applied before the failing migration stays.
pub fn postgres(connection: &mut PgConnection, migrations: EmbeddedMigrations) -> Result<Vec<String>, OpenError> {
    let known = MigrationSource::<Pg>::migrations(&migrations).map_err(failed)?;
    // Building an index on a large table takes longer than any statement of a service may.
    let patient =
        format!("SET statement_timeout = 0; SET lock_timeout = '10s'; SELECT pg_advisory_lock({ADVISORY_LOCK})");
    connection.batch_execute(&patient).map_err(|error| OpenError::Migrate(error.to_string()))?;
    let applied =
        connection.run_pending_migrations(migrations).map(|versions| names(&known, &versions)).map_err(failed);
    // The lock would end with the connection too.
    let unlocked = connection.batch_execute(&format!("SELECT pg_advisory_unlock({ADVISORY_LOCK})"));
    applied.and_then(|versions| {
        unlocked.map_err(|error| OpenError::Migrate(error.to_string()))?;
        Ok(versions)
    })
}

/// Applies what is missing; the names of what was applied. The caller holds the lock file.
///
/// Foreign keys are not looked after meanwhile: a table that others refer to is exchanged by dropping the old one, and this can be allowed
/// outside of a transaction only, while each migration and the note that it was applied are one. A migration that does so counts the
/// references that lead nowhere itself, and fails by them.
///
/// # Errors
/// [`OpenError::Migrate`]; what was applied before the failing migration stays.
pub fn sqlite(connection: &mut SqliteConnection, migrations: EmbeddedMigrations) -> Result<Vec<String>, OpenError> {
    let known = MigrationSource::<Sqlite>::migrations(&migrations).map_err(failed)?;
    let looked_after = |connection: &mut SqliteConnection, on: &str| {
        let pragma = format!("PRAGMA foreign_keys = {on}");
        connection.batch_execute(&pragma).map_err(|error| OpenError::Migrate(error.to_string()))
    };
    looked_after(connection, "OFF")?;
    let applied =
        connection.run_pending_migrations(migrations).map(|versions| names(&known, &versions)).map_err(failed);
    looked_after(connection, "ON")?;
    applied
}

/// The newest of `migrations`, as the database stores versions.
pub fn newest(migrations: &EmbeddedMigrations) -> String {
    let known: Vec<Box<dyn Migration<Sqlite>>> = migrations.migrations().unwrap_or_default();
    known.iter().map(|migration| migration.name().version().to_string()).max().unwrap_or_default()
}

/// The newest migration that is applied to the SQLite database.
///
/// # Errors
/// [`OpenError::Migrate`].
pub fn newest_applied(connection: &mut SqliteConnection) -> Result<Option<String>, OpenError> {
    let applied = connection.applied_migrations().map_err(failed)?;
    Ok(applied.iter().map(ToString::to_string).max())
}
