//! Rings of long-lived keys: a folder with a file for each key.

mod key_id;
mod keys;
mod operations;

pub(crate) use key_id::RingKeyId;
pub(crate) use keys::KeyRing;
pub use keys::{KeyInfo, RELOAD_INTERVAL};
pub(crate) use operations::ring_operations;
