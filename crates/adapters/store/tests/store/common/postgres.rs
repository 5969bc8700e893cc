use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use dropin_store::{Role, Store, StoreConfig};

/// What it finds in the middle of a test gives statements another plan than they had.
const NO_AUTOVACUUM: &str = "DO $$ DECLARE name TEXT; BEGIN \
    FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP \
        EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', name); END LOOP; END $$";

/// A database of the test's own, dropped with it.
pub(crate) struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Creates an empty one on the server that the environment names. Its absence fails the test: a test that is skipped proves nothing.
    pub(crate) fn create() -> Self {
        Self::create_from("template1")
    }

    /// Creates one with the schema in it: a copy of the first that was brought up to date, which goes with the server.
    pub(crate) fn migrated() -> Self {
        static FIRST: OnceLock<String> = OnceLock::new();
        Self::create_from(FIRST.get_or_init(|| {
            let first = ManuallyDrop::new(Self::create());
            let store = Store::open(StoreConfig::new(first.url(), Role::Tool)).unwrap();
            assert!(!store.migrate().unwrap().is_empty());
            store.close();
            PgConnection::establish(&first.url()).unwrap().batch_execute(NO_AUTOVACUUM).unwrap();
            // A copy is refused while somebody is connected.
            first.cut_connections();
            first.name.clone()
        }))
    }

    fn create_from(template: &str) -> Self {
        let server = std::env::var("DROPIN_TEST_POSTGRES").expect(
            "DROPIN_TEST_POSTGRES must name a PostgreSQL database to work from: run `cargo xtask pg start` and paste the line it prints",
        );
        let name = format!("store_{}", dropin_store_contract::fresh().simple());
        let database = Self { server, name };
        database.on_server(&format!("CREATE DATABASE {} TEMPLATE {template}", database.name));
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

    /// Cuts every connection to it, and those first that wait for a lock: the end of its holder would let them go on.
    pub(crate) fn cut_connections(&self) {
        self.on_server(&format!(
            "SELECT pg_terminate_backend(pid, 5000) FROM (SELECT pid FROM pg_stat_activity WHERE datname = '{}' \
             ORDER BY wait_event_type IS NOT DISTINCT FROM 'Lock' DESC) AS found",
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

/// A role that may do what the programs need and nothing else, dropped with this; the database has to be dropped before.
pub(crate) struct Restricted {
    server: String,
    url: String,
    name: String,
}

impl Restricted {
    pub(crate) fn create(database: &Database) -> Self {
        let name = format!("role_{}", database.name());
        database.on_server(&format!("CREATE ROLE {name} LOGIN"));
        let mut owner = PgConnection::establish(&database.url()).unwrap();
        owner.batch_execute(&dropin_store::grants(&name, database.name())).unwrap();
        let (_, place) = database.server.split_once('@').expect("a URL with a user");
        let (place, _) = place.rsplit_once('/').unwrap();
        let url = format!("postgres://{name}@{place}/{}", database.name());
        Self { server: database.server.clone(), url, name }
    }

    /// The database's address for it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Restricted {
    fn drop(&mut self) {
        // Where the database is still there, the role has privileges in it and stays.
        let mut connection = PgConnection::establish(&self.server).unwrap();
        let _still_needed = connection.batch_execute(&format!("DROP ROLE IF EXISTS {}", self.name));
    }
}
