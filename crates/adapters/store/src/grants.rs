//! What a PostgreSQL role needs that runs the programs and owns nothing.

use diesel::sql_types::{Nullable, Text};
use diesel::{QueryableByName, RunQueryDsl};
use dropin_ports::StoreError;
use dropin_store_runtime::connection::AnyConnection;

use crate::store::Store;

/// Tables and views with the privileges that the programs use. What is only appended gets neither UPDATE nor DELETE;
/// PostgreSQL wants UPDATE for locking a row as well (FOR UPDATE, FOR KEY SHARE).
const TABLES: [(&str, &str); 61] = [
    ("__diesel_schema_migrations", "SELECT"),
    ("answer", "SELECT, INSERT, UPDATE, DELETE"),
    ("api_user", "SELECT, INSERT, UPDATE"),
    ("audit_log", "SELECT, INSERT"),
    ("audit_seal", "SELECT, INSERT"),
    ("audit_sealer", "SELECT, UPDATE"),
    ("audit_unsealed", "SELECT, INSERT, DELETE"),
    ("billing_profile", "SELECT, INSERT"),
    ("checkout", "SELECT, INSERT"),
    ("contract", "SELECT, INSERT, UPDATE"),
    ("contract_credential", "SELECT, INSERT, UPDATE, DELETE"),
    ("contract_try", "SELECT, INSERT, UPDATE, DELETE"),
    ("deployment", "SELECT, UPDATE"),
    ("discarded_credential", "SELECT, INSERT, UPDATE, DELETE"),
    ("dispute", "SELECT, INSERT, UPDATE"),
    ("dispute_answer", "SELECT, INSERT, UPDATE"),
    ("dispute_evidence", "SELECT, INSERT, UPDATE"),
    ("dispute_position", "SELECT, INSERT, UPDATE"),
    ("endpoint", "SELECT, INSERT, UPDATE"),
    ("event_clock", "SELECT, UPDATE"),
    ("history", "SELECT, INSERT"),
    ("known_shopper", "SELECT, INSERT, UPDATE, DELETE"),
    ("ledger_posting", "SELECT, INSERT"),
    ("merchant", "SELECT, INSERT, UPDATE"),
    ("merchant_approval_limit", "SELECT, INSERT, DELETE"),
    ("merchant_currency", "SELECT, INSERT, DELETE"),
    ("merchant_origin", "SELECT, INSERT, DELETE"),
    ("merchant_rates", "SELECT, INSERT, UPDATE"),
    ("merchant_reference", "SELECT, INSERT"),
    ("merchant_screening_rules", "SELECT, INSERT, DELETE"),
    ("money_request", "SELECT, INSERT, UPDATE"),
    ("operator", "SELECT, INSERT, UPDATE"),
    ("operator_invitation", "SELECT, INSERT, DELETE"),
    ("operator_merchant", "SELECT, INSERT, DELETE"),
    ("operator_recovery_code", "SELECT, INSERT, DELETE"),
    ("operator_refund_limit", "SELECT, INSERT, DELETE"),
    ("operator_session", "SELECT, INSERT, UPDATE, DELETE"),
    ("outbox_attempt", "SELECT, INSERT, UPDATE, DELETE"),
    ("outbox_discarded", "SELECT, INSERT, UPDATE, DELETE"),
    ("outbox_event", "SELECT, INSERT, UPDATE, DELETE"),
    ("outbox_parked", "SELECT, INSERT, UPDATE, DELETE"),
    ("outbox_replay", "SELECT, INSERT, UPDATE, DELETE"),
    ("outbox_replay_rest", "SELECT, INSERT, UPDATE, DELETE"),
    ("outbox_stream", "SELECT, INSERT, UPDATE, DELETE"),
    ("payment_try", "SELECT, INSERT, UPDATE, DELETE"),
    ("processor_account", "SELECT, INSERT, UPDATE, DELETE"),
    ("processor_op", "SELECT, INSERT, UPDATE"),
    ("purchase_order", "SELECT, INSERT, UPDATE"),
    ("rate_feed", "SELECT, INSERT, UPDATE"),
    ("rate_offer", "SELECT, INSERT"),
    ("rate_offer_set", "SELECT, INSERT"),
    ("rate_table", "SELECT, INSERT"),
    ("refund", "SELECT, INSERT, UPDATE"),
    ("screening", "SELECT, INSERT, UPDATE"),
    ("screening_alarm", "SELECT, INSERT, UPDATE"),
    ("session", "SELECT, INSERT, UPDATE"),
    ("stash", "SELECT, INSERT, UPDATE, DELETE"),
    ("velocity_counter", "SELECT, INSERT, UPDATE, DELETE"),
    ("wallet_domain", "SELECT, INSERT, UPDATE, DELETE"),
    ("wallet_identity", "SELECT, INSERT, UPDATE, DELETE"),
    // A sequence, which has the privileges of a table.
    ("event_clock_ahead", "SELECT, UPDATE"),
];

/// SQL that lets `role` run the programs on the PostgreSQL database called `database`, and nothing else. To be run in that database by its owner, after
/// each migration; applying migrations stays with the owner.
///
/// ```
/// let sql = dropin_store::grants("dropin_service", "dropin");
/// assert!(sql.contains("GRANT SELECT, INSERT ON TABLE ledger_posting TO \"dropin_service\";"));
/// ```
pub fn grants(role: &str, database: &str) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let (role, database) = (quoted(role), quoted(database));
    let mut sql = format!(
        "-- What the programs of Dropin need. Run it as the database's owner, and again after each `dropin migrate`.\n\
         -- The role itself is yours to make: CREATE ROLE {role} LOGIN PASSWORD '...';\n\
         GRANT CONNECT ON DATABASE {database} TO {role};\nGRANT USAGE ON SCHEMA public TO {role};\n"
    );
    for (table, privileges) in TABLES {
        sql.push_str(&format!("GRANT {privileges} ON TABLE {table} TO {role};\n"));
    }
    sql
}

#[derive(QueryableByName)]
struct Missing {
    #[diesel(sql_type = Nullable<Text>)]
    missing: Option<String>,
}

impl Store {
    /// The privileges that the role of this program lacks, each as `INSERT on session`; none on SQLite.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find_missing_grants(&self) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let AnyConnection::Postgres(connection) = connection else { return Ok(Vec::new()) };
            let values: Vec<_> =
                TABLES.iter().map(|(table, privileges)| format!("('{table}', '{privileges}')")).collect();
            // Without USAGE on its schema no name is found; what is not found is not granted.
            let query = format!(
                "SELECT privilege || ' on ' || name AS missing \
                 FROM (VALUES {}) AS needed (name, privileges), regexp_split_to_table(privileges, ', ') AS privilege \
                 WHERE NOT coalesce(has_table_privilege(to_regclass(name), privilege), false) ORDER BY name, privilege",
                values.join(", ")
            );
            let missing: Vec<Missing> = diesel::sql_query(query).load(connection)?;
            Ok(missing.into_iter().filter_map(|one| one.missing).collect())
        })
        .await
    }
}
