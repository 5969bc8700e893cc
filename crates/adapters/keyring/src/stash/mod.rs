//! The keys of the stash: one per period, and one for card hashes, shared by processes through a directory.

mod hash_key;
mod key_id;
mod keys;

pub use keys::{Rotation, StashKeys};
