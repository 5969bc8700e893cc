use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};

/// A database of the test's own, dropped with it.
pub(crate) struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Creates an empty one on the server that the environment names. Its absence fails the test: a test that is skipped proves nothing.
    pub(crate) fn create() -> Self {
        let server = std::env::var("DROPIN_TEST_POSTGRES").expect(
            "DROPIN_TEST_POSTGRES must name a PostgreSQL database to work from: run `cargo xtask pg start` and paste the line it prints",
        );
        let name = format!("store_{}", dropin_store_contract::fresh().simple());
        let database = Self { server, name };
        database.on_server(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        let (server, _maintenance) = self.server.rsplit_once('/').expect("a URL that ends in /database");
        format!("{server}/{}", self.name)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs a statement in the maintenance database.
    pub(crate) fn on_server(&self, sql: &str) {
        let mut connection = PgConnection::establish(&self.server).unwrap_or_else(|error| {
            panic!("no PostgreSQL answers at DROPIN_TEST_POSTGRES ({error}): run `cargo xtask pg start`")
        });
        connection.batch_execute(sql).unwrap();
    }

    /// Cuts every connection to it.
    pub(crate) fn cut_connections(&self) {
        self.on_server(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
            self.name
        ));
    }

    /// Lets nobody connect any more, and cuts those who have.
    pub(crate) fn take_away(&self) {
        self.on_server(&format!("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false", self.name));
        self.cut_connections();
    }

    /// Lets everybody connect again.
    pub(crate) fn bring_back(&self) {
        self.on_server(&format!("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true", self.name));
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.on_server(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}
