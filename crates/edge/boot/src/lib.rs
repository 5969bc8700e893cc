#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod config;
mod docs;
mod logs;
mod process;
mod service;
mod settings;
mod stop;
mod system;

pub use config::{ConfigArgs, ConfigError, Loaded, hide_password, load};
pub use docs::DocsArgs;
pub use logs::{LogFormat, start_logs};
pub use process::{Failure, Process};
pub use service::{Context, NoArgs, Parts, serve};
pub use settings::{
    AddressArgs, KeyArgs, ListenArgs, LogArgs, Mode, ModeArgs, ProcessorArgs, PublicArgs, PublicUrls, Secret, StoreArgs,
};
pub use stop::{stop_on_signals, stopped};
pub use system::{SystemClock, SystemIds};
