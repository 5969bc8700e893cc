//! Which deployment a database belongs to, and what a program has found of it.

use std::fmt;
use std::time::Instant;

/// Whether a deployment moves money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeploymentMode {
    /// For trying out.
    Sandbox,
    /// For real.
    Production,
}

impl DeploymentMode {
    pub(crate) const ALL: [Self; 2] = [Self::Sandbox, Self::Production];

    /// The value of DROPIN_MODE.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Production => "production",
        }
    }

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Sandbox => "SANDBOX",
            Self::Production => "PRODUCTION",
        }
    }
}

impl fmt::Display for DeploymentMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A deployment, as the database remembers it or as a program is configured; `None` is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deployment {
    /// Whether it moves money.
    pub mode: Option<DeploymentMode>,
    /// The fingerprint of its master key.
    pub master_key: Option<String>,
}

/// Why a program must not work on this database. Says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartRefused {
    /// The API passwords and webhook secrets in the database were made with another key.
    #[error(
        "the database belongs to the master key with the fingerprint {remembered}, and this program has {configured}: give the folder with that key \
         (--keys or DROPIN_KEYS); if the key was replaced on purpose, stop all programs and run `dropin deployment --forget-key` first"
    )]
    MasterKey {
        /// The fingerprint in the database.
        remembered: String,
        /// The fingerprint of the program's key.
        configured: String,
    },
    /// Real payments and trials would share a database.
    #[error(
        "the database belongs to a {remembered} deployment, and this program was started for {configured}: set DROPIN_MODE={remembered}; if the \
         deployment is to become {configured}, stop all programs and run `dropin deployment --forget-mode` first"
    )]
    Mode {
        /// The mode in the database.
        remembered: DeploymentMode,
        /// The mode of the program.
        configured: DeploymentMode,
    },
    /// Statements of several clients would get mixed up.
    #[error(
        "a pooler shares the database's connections between transactions, which mixes up prepared statements and settings: give the address of \
         PostgreSQL itself, or let the pooler keep a connection for as long as its client (PgBouncer: pool_mode = session)"
    )]
    Pooler,
}

impl Deployment {
    /// Compares a program's configuration with what is remembered. What one of the two does not know, fits.
    pub(crate) fn check(&self, configured: &Self) -> Result<(), StartRefused> {
        match (&self.master_key, &configured.master_key) {
            (Some(remembered), Some(configured)) if remembered != configured => {
                let (remembered, configured) = (remembered.clone(), configured.clone());
                return Err(StartRefused::MasterKey { remembered, configured });
            }
            _ => {}
        }
        match (self.mode, configured.mode) {
            (Some(remembered), Some(configured)) if remembered != configured => {
                Err(StartRefused::Mode { remembered, configured })
            }
            _ => Ok(()),
        }
    }
}

/// What this program is, and what was found of the database.
#[derive(Default)]
pub(crate) struct StartState {
    pub(crate) configured: Deployment,
    /// What is to be written down where the database does not know it; nothing once that is done.
    pub(crate) unwritten: Deployment,
    /// Whether connections are this program's own.
    pub(crate) has_no_pooler: bool,
    /// When a write succeeded last.
    pub(crate) proved: Option<Instant>,
}
