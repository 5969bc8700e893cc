//! Readiness: whether the schema is new enough and a write works.

use async_trait::async_trait;
use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};
use dropin_ports::{StoreError, StoreHealth};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::migrate;

use crate::migrations;
use crate::store::Store;

#[derive(QueryableByName)]
struct NewestVersion {
    #[diesel(sql_type = Nullable<Text>)]
    version: Option<String>,
}

#[async_trait]
impl StoreHealth for Store {
    async fn ready(&self) -> Result<(), StoreError> {
        self.check_schema().await?;
        self.check_write().await
    }
}

impl Store {
    /// Whether the schema is as new as this program needs.
    pub(crate) async fn check_schema(&self) -> Result<(), StoreError> {
        let needed = migrate::newest(&migrations::SQLITE);
        let found = self.read(newest_version).await.map_err(|error| match error {
            // A database without our table of versions was never migrated.
            StoreError::Refused(why) => StoreError::Refused(format!("{why}; run `dropin migrate`")),
            other => other,
        })?;
        match found {
            Some(found) if needed <= found => Ok(()),
            found => {
                let found = found.unwrap_or_else(|| "nothing".to_owned());
                Err(StoreError::Refused(format!(
                    "the schema is at {found}, the program needs {needed}: run `dropin migrate`"
                )))
            }
        }
    }
}

fn newest_version(connection: &mut AnyConnection) -> Result<Option<String>, Fault> {
    use diesel::RunQueryDsl;
    let query = diesel::sql_query("SELECT max(version) AS version FROM __diesel_schema_migrations");
    let newest: NewestVersion = match connection {
        AnyConnection::Postgres(connection) => query.get_result(connection)?,
        AnyConnection::Sqlite(connection) => query.get_result(connection)?,
    };
    Ok(newest.version)
}
