//! The embedded migrations.

use diesel::connection::SimpleConnection;
use diesel::migration::{Migration, MigrationSource, MigrationVersion};
use diesel::sqlite::Sqlite;
use diesel::{PgConnection, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::config::OpenError;

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");

/// Key of the advisory lock that makes migrations wait for each other ("dropin" in ASCII).
const ADVISORY_LOCK: i64 = 0x6472_6f70_696e;

fn failed(error: Box<dyn std::error::Error + Send + Sync>) -> OpenError {
    OpenError::Migrate(error.to_string())
}

/// Their names as CHANGELOG.md has them: `2026-11-21-100000_foundation`. Both dialects have the same (a test sees to that).
fn names(versions: Vec<MigrationVersion<'_>>) -> Vec<String> {
    let known: Vec<Box<dyn Migration<Sqlite>>> = SQLITE.migrations().unwrap_or_default();
    let name = |version: &MigrationVersion<'_>| {
        let found = known.iter().find(|migration| migration.name().version() == *version);
        found.map_or_else(|| version.to_string(), |migration| migration.name().to_string())
    };
    versions.iter().map(name).collect()
}

/// Applies what is missing; the names of what was applied. Waits while another program migrates.
pub(crate) fn postgres(connection: &mut PgConnection) -> Result<Vec<String>, OpenError> {
    // Building an index on a large table takes longer than any statement of a service may.
    let patient =
        format!("SET statement_timeout = 0; SET lock_timeout = '10s'; SELECT pg_advisory_lock({ADVISORY_LOCK})");
    connection.batch_execute(&patient).map_err(|error| OpenError::Migrate(error.to_string()))?;
    let applied = connection.run_pending_migrations(POSTGRES).map(names).map_err(failed);
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
pub(crate) fn sqlite(connection: &mut SqliteConnection) -> Result<Vec<String>, OpenError> {
    let looked_after = |connection: &mut SqliteConnection, on: &str| {
        let pragma = format!("PRAGMA foreign_keys = {on}");
        connection.batch_execute(&pragma).map_err(|error| OpenError::Migrate(error.to_string()))
    };
    looked_after(connection, "OFF")?;
    let applied = connection.run_pending_migrations(SQLITE).map(names).map_err(failed);
    looked_after(connection, "ON")?;
    applied
}

/// The newest migration this program knows, as the database stores versions: the same for both dialects (a test sees to that).
pub(crate) fn newest_known() -> String {
    let known: Vec<Box<dyn Migration<Sqlite>>> = SQLITE.migrations().unwrap_or_default();
    known.iter().map(|migration| migration.name().version().to_string()).max().unwrap_or_default()
}

/// The newest migration that is applied to the SQLite database.
pub(crate) fn newest_applied(connection: &mut SqliteConnection) -> Result<Option<String>, OpenError> {
    let applied = connection.applied_migrations().map_err(failed)?;
    Ok(applied.iter().map(ToString::to_string).max())
}

#[cfg(test)]
mod tests {
    use diesel::pg::Pg;

    use super::*;

    #[test]
    fn both_dialects_have_the_same_migrations() {
        let sqlite: Vec<Box<dyn Migration<Sqlite>>> = SQLITE.migrations().unwrap();
        let postgres: Vec<Box<dyn Migration<Pg>>> = POSTGRES.migrations().unwrap();
        let sqlite: Vec<_> = sqlite.iter().map(|one| one.name().to_string()).collect();
        let postgres: Vec<_> = postgres.iter().map(|one| one.name().to_string()).collect();
        assert_eq!(sqlite, postgres);
        assert!(!sqlite.is_empty());
    }
}
