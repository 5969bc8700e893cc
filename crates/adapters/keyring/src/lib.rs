#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod files;
mod master;
mod sealing;
mod stash;

pub use files::KeyFileError;
pub use master::{MasterKey, MasterKeyError};
pub use stash::{Rotation, StashKeys};
