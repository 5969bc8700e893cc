#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod audit;
mod credential;
mod files;
mod master;
mod ring;
mod sealing;
mod stash;
mod velocity;

pub use audit::{AuditKeys, AuditKeysError};
pub use credential::{CredentialKeys, CredentialKeysError};
pub use files::KeyFileError;
pub use master::{MasterKey, MasterKeyError};
pub use ring::{KeyInfo, RELOAD_INTERVAL};
pub use stash::{Rotation, StashKeys};
pub use velocity::VelocityKeys;
