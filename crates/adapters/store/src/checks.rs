//! What `dropin doctor` asks of the store.

use dropin_ports::StoreError;

use crate::start_state::StartRefused;
use crate::store::Store;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreCheck {
    /// What: `database`, `schema`, `pooler`, `grants`, `deployment`, `write` or `clock`.
    pub name: &'static str,
    /// What was found, or what is wrong and what to do.
    pub result: Result<String, String>,
}

fn check(name: &'static str, result: Result<String, String>) -> StoreCheck {
    StoreCheck { name, result }
}

fn said(result: Result<(), StoreError>, good: &str) -> Result<String, String> {
    result.map(|()| good.to_owned()).map_err(|error| error.to_string())
}

impl Store {
    /// Looks at everything about the database that an operator can put right. Compares with what [`Store::set_deployment`] was told; writes only the
    /// time of the look. Where the database does not answer, that is the one thing it tells.
    pub async fn check_all(&self) -> Vec<StoreCheck> {
        let reached = self.find_missing_grants().await;
        let missing = match reached {
            Ok(missing) => missing,
            Err(error) => return vec![check("database", Err(error.to_string()))],
        };
        let schema = self.check_schema().await;
        // Grants are of tables: those that a migration makes are granted after it.
        let grants = match (&schema, missing.is_empty()) {
            (Err(_), false) => Err(GRANTS_AFTER_MIGRATION.to_owned()),
            _ => describe_grants(&missing),
        };
        vec![
            check("database", Ok(self.target().describe())),
            check("schema", said(schema, "up to date")),
            check("pooler", self.check_pooler().await),
            check("grants", grants),
            check("deployment", self.check_remembered().await),
            check("write", said(self.prove_write().await, "a write works")),
            check("clock", self.check_clock().await),
        ]
    }

    async fn check_pooler(&self) -> Result<String, String> {
        match self.is_behind_sharing_pooler().await {
            Ok(false) => Ok("connections are not shared between transactions".to_owned()),
            Ok(true) => Err(StartRefused::Pooler.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn check_remembered(&self) -> Result<String, String> {
        let remembered = self.find_deployment().await.map_err(|error| error.to_string())?;
        self.compare_deployment(&remembered).map_err(|refused| refused.to_string())?;
        let mode = remembered.mode.map_or("no mode yet", |mode| mode.as_str());
        let key = remembered.master_key.as_deref().unwrap_or("none yet");
        Ok(format!("{mode}, master key with the fingerprint {key}"))
    }

    async fn check_clock(&self) -> Result<String, String> {
        match self.measure_clock().await {
            Ok(None) => Ok("the database has the clock of this machine".to_owned()),
            Ok(Some(difference)) if difference.is_too_much() => {
                Err(format!("{difference}: payments fail; keep both machines' clocks right by NTP"))
            }
            Ok(Some(difference)) => Ok(difference.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What is said of grants while the schema is not up to date.
const GRANTS_AFTER_MIGRATION: &str =
    "`dropin migrate` comes first; then run the SQL that `dropin grants` prints as the database's owner";

fn describe_grants(missing: &[String]) -> Result<String, String> {
    match missing {
        [] => Ok("the database's role may do what the programs do".to_owned()),
        missing => Err(format!(
            "the database's role lacks {}: run the SQL that `dropin grants` prints as the database's owner",
            missing.join(", ")
        )),
    }
}
