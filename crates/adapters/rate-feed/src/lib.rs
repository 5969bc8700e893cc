#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod feed;
mod file;
mod format;
mod http;
mod location;
mod reader;

pub use feed::{Feed, FeedSources};
pub use format::{Days, FormatError, MAX_BYTES, Place, Wrong, read_days};
pub use location::{Location, LocationError};
