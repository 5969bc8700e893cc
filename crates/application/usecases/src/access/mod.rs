//! Who calls, and the operator's side of accounts: merchants, their API users and their webhook endpoints.

mod authenticate;
mod endpoint_test;
mod endpoints;
mod failures;
mod known;
mod merchants;
mod processor_accounts;
mod screening_rules;
mod trigger_user;
mod users;

use std::sync::Arc;
use std::time::Duration;

use dropin_access::{AuditAction, InvalidMerchant, TargetPolicy};
use dropin_kernel::{MerchantId, Timestamp, Violation, ViolationCode};
use dropin_ports::{
    AccessStore, AccountChanged, Acting, AuditSubject, Clock, IdSource, KeyringError, NewAuditEntry, OutboxStore,
    Secrets, StoreError,
};

use crate::audit_log::AuditWriter;

pub(crate) use authenticate::client_network;
pub use authenticate::{AuthenticateError, Authenticator, Caller, NotPermitted, authenticate};
pub use endpoints::{EndpointAdded, EndpointUpdate, SecretRotated};
pub use failures::FailureLimit;
pub use known::KnownMerchants;
pub use merchants::{CreateMerchant, MerchantAccount, MerchantCreated};
pub(crate) use processor_accounts::owner as processor_account_owner;
pub use processor_accounts::{
    MAX_PROCESSOR_ACCOUNTS, ProcessorAccountError, ProcessorAccountSecrets, ProcessorAccounts,
};
pub use screening_rules::{MerchantScreening, ScreeningRulesError, ScreeningRulesSet};
pub use users::{PasswordRotated, UserAdded};

/// Longest time for which a password or secret that was replaced counts beside the new one: it should end some day.
const LONGEST_OVERLAP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How the names of API users begin.
const USERNAME_PREFIX: &str = "api-";

/// How often a user name that is taken is drawn again; one draw has 48 random bits.
const DRAWS: usize = 4;

/// The operator's side of merchant accounts, in the name of one who acts. The rules are here.
#[derive(Clone)]
pub struct Merchants {
    /// Where accounts are kept.
    pub store: Arc<dyn AccessStore>,
    /// Where notifications wait.
    pub outbox: Arc<dyn OutboxStore>,
    /// Hashes passwords and seals webhook secrets.
    pub secrets: Arc<dyn Secrets>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids and secrets.
    pub ids: Arc<dyn IdSource>,
    /// Where notifications may go, in a sandbox or in production, as the deployment's new merchants then are.
    pub targets: TargetPolicy,
    /// Who acts. A server that serves many makes one of these for each request.
    pub by: Acting,
}

/// Why something about an account was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// What was given makes no sense; every field that is wrong.
    #[error("{}", .0.iter().map(|one| format!("{} {}", one.field, one.message)).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Violation>),
    /// No merchant has that id.
    #[error("there is no merchant with this id")]
    NoMerchant,
    /// No API user has that name.
    #[error("there is no API user of this name")]
    NoUser,
    /// The API user was revoked, which is for ever.
    #[error("this API user was revoked, which is for ever")]
    Revoked,
    /// No endpoint has that id.
    #[error("there is no endpoint with this id")]
    NoEndpoint,
    /// The endpoint was removed, which is for ever.
    #[error("this endpoint was removed, which is for ever")]
    Removed,
    /// Only a sandbox's payments are nobody's.
    #[error("events are made to happen in a sandbox alone, for a merchant of a sandbox")]
    NotSandbox,
    /// It is another than was seen.
    #[error("somebody else changed this meanwhile, or removed an account that it names: look at it as it stands now")]
    Changed,
    /// What was given makes no merchant.
    #[error(transparent)]
    Merchant(#[from] InvalidMerchant),
    /// The keyring failed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Merchants {
    /// Makes the entries of the audit log.
    pub fn writer(&self) -> AuditWriter {
        AuditWriter { by: self.by.clone(), clock: self.clock.clone(), ids: self.ids.clone() }
    }

    fn entry(&self, merchant: MerchantId, action: AuditAction, subject: impl Into<AuditSubject>) -> NewAuditEntry {
        self.writer().entry(Some(merchant), action, subject)
    }

    /// 256 random bits as a password.
    fn password(&self) -> String {
        hex(&self.ids.secret())
    }

    /// A user name that begins so.
    fn username(&self, prefix: &str) -> String {
        format!("{prefix}{}", hex(&self.ids.secret()[..6]))
    }

    /// Until when what is replaced now still counts; `None` when it ends at once.
    fn end_of(&self, overlap: Duration) -> Result<Option<Timestamp>, AccountError> {
        if LONGEST_OVERLAP < overlap {
            return Err(invalid("Overlap", ViolationCode::OutOfRange, "must be at most 30 days"));
        }
        Ok((!overlap.is_zero()).then(|| self.clock.now().plus(overlap)))
    }
}

fn invalid(field: &str, code: ViolationCode, message: &str) -> AccountError {
    AccountError::Invalid(vec![Violation::new(field, code, message)])
}

/// The names were all taken, which chance does not do.
fn unlucky() -> AccountError {
    StoreError::Refused("every drawn user name was taken".to_owned()).into()
}

fn of_user(changed: AccountChanged) -> Result<(), AccountError> {
    match changed {
        AccountChanged::Done => Ok(()),
        AccountChanged::Missing => Err(AccountError::NoUser),
        AccountChanged::Ended => Err(AccountError::Revoked),
        AccountChanged::Stale => Err(AccountError::Changed),
    }
}

fn of_endpoint(changed: AccountChanged) -> Result<(), AccountError> {
    match changed {
        AccountChanged::Done => Ok(()),
        AccountChanged::Missing => Err(AccountError::NoEndpoint),
        AccountChanged::Ended => Err(AccountError::Removed),
        AccountChanged::Stale => Err(AccountError::Changed),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
