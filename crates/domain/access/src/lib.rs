#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod merchant;
mod origin;
mod permission;

pub use merchant::{ApiUser, Endpoint, Merchant, PasswordHash, SealedSecret};
pub use origin::{InvalidOrigin, Origin};
pub use permission::{Permission, Permissions, UnknownPermission};
