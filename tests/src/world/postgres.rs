use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::program::binary;

/// A database of one test's own on the throw-away PostgreSQL.
pub(super) struct Database {
    pub(super) url: String,
    admin: String,
    name: String,
}

/// A URL to a maintenance database, set by `cargo xtask test` or `cargo xtask pg start`.
const VARIABLE: &str = "DROPIN_TEST_POSTGRES";

impl Database {
    /// With the schema in it. The first one of a test program migrates an empty database; the others are copies of that, which goes with the server.
    pub(super) async fn create() -> Self {
        let admin = std::env::var(VARIABLE).unwrap_or_else(|_unset| {
            panic!("{VARIABLE} is not set: run `cargo xtask test`, or `eval \"$(cargo xtask pg start)\"` first")
        });
        static MIGRATED: OnceLock<String> = OnceLock::new();
        let migrated = MIGRATED.get_or_init(|| migrated(&admin));
        let name = format!("e2e_{}", uuid::Uuid::new_v4().simple());
        psql(&admin, &format!("CREATE DATABASE {name} TEMPLATE {migrated}"));
        Self { url: url_of(&admin, &name), admin, name }
    }

    /// The whole database as text.
    pub(super) fn dump(&self) -> String {
        let output = Command::new("pg_dump").arg(&self.url).output().expect("pg_dump starts");
        assert!(output.status.success(), "pg_dump: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The server's folder, everything written out; the throw-away server's log lies beside its data.
    pub(super) fn files(&self) -> PathBuf {
        psql(&self.admin, "CHECKPOINT");
        let output = Command::new("psql").args([&self.admin, "-XAtc", "SHOW data_directory"]).output();
        let output = output.expect("psql starts");
        assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
        let data = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let folder = data.parent().filter(|folder| folder.join("server.log").exists());
        folder.map_or(data.clone(), PathBuf::from)
    }

    /// Ends every connection and lets no new one in.
    pub(super) fn disconnect(&self) {
        psql(&self.admin, &format!("ALTER DATABASE {} ALLOW_CONNECTIONS false", self.name));
        let statement =
            format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'", self.name);
        psql(&self.admin, &statement);
    }

    /// Lets connections in again.
    pub(super) fn reconnect(&self) {
        psql(&self.admin, &format!("ALTER DATABASE {} ALLOW_CONNECTIONS true", self.name));
    }

    pub(super) async fn remove(self) {
        psql(&self.admin, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Creates a database that nobody is connected to and brings its schema up to date; its name.
fn migrated(admin: &str) -> String {
    let name = format!("e2e_migrated_{}", uuid::Uuid::new_v4().simple());
    psql(admin, &format!("CREATE DATABASE {name}"));
    let mut migrate = Command::new(binary("dropin"));
    let output = migrate.arg("migrate").env("DATABASE_URL", url_of(admin, &name)).output();
    let output = output.expect("dropin starts; run `cargo build --workspace` first");
    assert!(output.status.success(), "dropin migrate: {}", String::from_utf8_lossy(&output.stderr));
    name
}

fn url_of(admin: &str, name: &str) -> String {
    match admin.rsplit_once('/') {
        Some((server, _maintenance)) => format!("{server}/{name}"),
        None => panic!("{VARIABLE} must name a database, such as postgres://postgres@127.0.0.1:5432/postgres"),
    }
}

fn psql(url: &str, statement: &str) {
    let output =
        Command::new("psql").args([url, "-v", "ON_ERROR_STOP=1", "-qc", statement]).output().expect("psql starts");
    assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
}
