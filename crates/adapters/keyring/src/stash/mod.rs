//! The keys of the stash: one per period, shared by processes through a directory.

mod key_id;
mod keys;

pub use keys::{Rotation, StashKeys};
