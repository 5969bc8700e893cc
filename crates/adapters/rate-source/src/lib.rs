#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod file;
mod http;
mod location;
mod reader;
mod source;

pub use location::{Location, LocationError};
pub use source::{FileRateSource, RateSourceConfig};
