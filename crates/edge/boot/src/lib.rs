#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod catalogue;
mod config;
mod delivery;
mod docs;
mod listen;
mod logs;
mod private_memory;
mod process;
mod processor;
mod rates;
mod retention;
mod service;
mod settings;
mod stop;
mod system;
mod wallet;
mod webhook;

pub use access::AccessArgs;
pub use catalogue::{CatalogueArgs, read_adjustments};
pub use config::{ConfigArgs, ConfigError, Loaded, hide_password, load};
pub use delivery::DeliveryArgs;
pub use docs::DocsArgs;
pub use listen::ListenArgs;
pub use logs::{LogFormat, start_logs};
pub use private_memory::keep_memory_private;
pub use process::{Failure, Process};
pub use processor::ProcessorLimitArgs;
pub use rates::{OfferArgs, RateFeedArgs};
pub use retention::RetentionArgs;
pub use service::{Context, NoArgs, Parts, serve};
pub use settings::{
    AddressArgs, KeyArgs, LogArgs, Mode, ModeArgs, ProcessorArgs, PublicArgs, PublicUrls, Secret, StashArgs,
    StashLimitArgs, StoreArgs,
};
pub use stop::{stop_on_signals, stopped};
pub use system::{SystemClock, SystemIds};
pub use wallet::WalletArgs;
pub use webhook::WebhookArgs;
