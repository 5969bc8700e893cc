//! The mobile wallet's provider, as the sandbox plays it: on a TLS listener of its own that lets nobody in without a certificate which this
//! provider issued, it gives payment sessions to the merchant that the certificate names. It shares nothing with the processor but the program.

mod authority;
mod server;

pub use authority::{IssuedIdentity, WalletAuthority, WalletError};
