//! The embedded migrations.

use diesel_migrations::{EmbeddedMigrations, embed_migrations};

/// For PostgreSQL.
pub(crate) const POSTGRES: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");
/// For SQLite, with the same names.
pub(crate) const SQLITE: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");

#[cfg(test)]
mod tests {
    use diesel::migration::{Migration, MigrationSource};
    use diesel::pg::Pg;
    use diesel::sqlite::Sqlite;

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
