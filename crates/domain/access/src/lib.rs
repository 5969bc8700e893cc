#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod credential;
mod endpoint;
mod merchant;
mod origin;
mod permission;
mod user;

pub use credential::{PasswordHash, Retiring, SealedSecret};
pub use endpoint::Endpoint;
pub use merchant::Merchant;
pub use origin::{InvalidOrigin, Origin};
pub use permission::{Permission, Permissions, UnknownPermission};
pub use user::ApiUser;
