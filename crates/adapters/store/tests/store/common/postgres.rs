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
    role: String,
}

impl Database {
    /// Creates an empty one on the server that the environment names. Its absence fails the test: a test that is skipped proves nothing.
    pub(crate) fn create() -> Self {
        Self::create_from("template1")
    }

    /// Creates one with the schema in it: a copy of the first that was brought up to date, which goes with the server, as its role does.
    pub(crate) fn migrated() -> Self {
        static FIRST: OnceLock<String> = OnceLock::new();
        let first = FIRST.get_or_init(|| {
            let first = ManuallyDrop::new(Self::create());
            let store = Store::open(StoreConfig::new(first.url(), Role::Tool)).unwrap();
            assert!(!store.migrate().unwrap().is_empty());
            store.close();
            let role = role_of(&first.name);
            first.on_server(&format!("CREATE ROLE {role} LOGIN"));
            let mut owner = PgConnection::establish(&first.url()).unwrap();
            owner.batch_execute(NO_AUTOVACUUM).unwrap();
            owner.batch_execute(&dropin_store::grants(&role, &first.name)).unwrap();
            drop(owner);
            // A copy is refused while somebody is connected.
            first.cut_connections();
            first.name.clone()
        });
        Self::create_from(first)
    }

    fn create_from(template: &str) -> Self {
        let server = std::env::var("DROPIN_TEST_POSTGRES").expect(
            "DROPIN_TEST_POSTGRES must name a PostgreSQL database to work from: run `cargo xtask pg start` and paste the line it prints",
        );
        let name = format!("store_{}", dropin_store_contract::fresh().simple());
        let database = Self { server, name, role: role_of(template) };
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

    /// A role that may do in a migrated one what the programs need and nothing else.
    pub(crate) fn role(&self) -> &str {
        &self.role
    }

    /// Its address for [`Database::role`].
    pub(crate) fn restricted_url(&self) -> String {
        let (_, place) = self.server.split_once('@').expect("a URL with a user");
        let (place, _) = place.rsplit_once('/').unwrap();
        format!("postgres://{}@{place}/{}", self.role, self.name)
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

fn role_of(template: &str) -> String {
    format!("role_{template}")
}

impl Drop for Database {
    fn drop(&mut self) {
        self.on_server(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}
