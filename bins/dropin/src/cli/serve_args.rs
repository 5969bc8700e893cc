//! What serving takes.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dropin_boot::{
    AccessArgs, CatalogueArgs, CatalogueFileArgs, DeliveryArgs, DocsArgs, IpCountriesArgs, ListenArgs, OfferArgs,
    OutsideScoreArgs, ProcessorEventArgs, ProcessorKind, ProcessorLimitArgs, RateSourceArgs, ScreeningArgs,
    ScreeningRetentionArgs, StashArgs, StashLimitArgs, WalletArgs, socket_address,
};

/// A part of the service that can run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// All of them
    All,
    /// Sessions and Orders, for merchants' servers
    SessionApi,
    /// The drop-in and the shopper's calls
    CheckoutApi,
    /// Where cards are stashed
    StashApi,
    /// Sends notifications
    Notifier,
    /// Settles unknown outcomes and expires Sessions
    Settler,
    /// What operators do in a browser
    AdminPanel,
    /// A payment processor that moves no money
    SandboxProcessor,
    /// The demo shop
    Shop,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Parts to run, separated by commas
    #[arg(long, env = "DROPIN_TARGET", value_enum, value_delimiter = ',', default_value = "all")]
    pub(crate) target: Vec<Target>,
    /// Address of the service
    #[arg(
        long, env = "DROPIN_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS",
        value_parser = socket_address
    )]
    pub(crate) listen: SocketAddr,
    /// Address of the demo shop; loopback only
    #[arg(
        long, env = "DROPIN_SHOP_LISTEN", default_value = "127.0.0.1:8081", value_name = "ADDRESS",
        value_parser = socket_address
    )]
    pub(crate) shop_listen: SocketAddr,
    /// Address of the admin panel, an origin of its own
    #[arg(
        long, env = "DROPIN_ADMIN_LISTEN", default_value = "127.0.0.1:8082", value_name = "ADDRESS",
        value_parser = socket_address
    )]
    pub(crate) admin_listen: SocketAddr,
    /// Leave out the demo merchant and the demo shop
    #[arg(
        long, env = "DROPIN_NO_DEMO", value_name = "true|false", default_value_t = false,
        default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set
    )]
    pub(crate) no_demo: bool,
    #[command(flatten)]
    pub(crate) listener: ListenArgs,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) methods: CatalogueFileArgs,
    #[command(flatten)]
    pub(crate) screening: ScreeningArgs,
    #[command(flatten)]
    pub(crate) ip_countries: IpCountriesArgs,
    #[command(flatten)]
    pub(crate) outside_score: OutsideScoreArgs,
    #[command(flatten)]
    pub(crate) docs: DocsArgs,
    #[command(flatten)]
    pub(crate) wallet: WalletArgs,
    #[command(flatten)]
    pub(crate) stash: StashArgs,
    #[command(flatten)]
    pub(crate) stash_limits: StashLimitArgs,
    #[command(flatten)]
    pub(crate) rates: RateSourceArgs,
    #[command(flatten)]
    pub(crate) screening_retention: ScreeningRetentionArgs,
    #[command(flatten)]
    pub(crate) offers: OfferArgs,
    /// Public address of the Session and Order APIs ({base_url}) [default: where the service listens]
    #[arg(long, env = "DROPIN_BASE_URL", value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Public address of the server-to-server checkout ({checkout_url}) [default: /checkout where the service listens]
    #[arg(long, env = "DROPIN_CHECKOUT_URL", value_name = "URL")]
    pub(crate) checkout_url: Option<String>,
    /// Public address of the drop-in's scripts and calls ({asset_url}) [default: /asset where the service listens]
    #[arg(long, env = "DROPIN_ASSET_URL", value_name = "URL")]
    pub(crate) asset_url: Option<String>,
    /// Public address of the stash ({stash_url}) [default: /stash where the service listens]
    #[arg(long, env = "DROPIN_STASH_URL", value_name = "URL")]
    pub(crate) stash_url: Option<String>,
    /// Whose API the payment processor speaks
    #[arg(long, env = "PROCESSOR", value_enum, default_value_t = ProcessorKind::Sandbox, value_name = "KIND")]
    pub(crate) processor: ProcessorKind,
    /// Address of the payment processor [default: /sandbox where the service listens, or Stripe's]
    #[arg(long, env = "PROCESSOR_URL", value_name = "URL")]
    pub(crate) processor_url: Option<String>,
    /// File with the key that the processor knows us by; without it the environment variable PROCESSOR_KEY holds the key
    /// [default: a key of our own for the sandbox processor, kept in the data folder]
    #[arg(long, env = "PROCESSOR_KEY_FILE", value_name = "FILE")]
    pub(crate) processor_key_file: Option<PathBuf>,
    /// TOML file that names further payment processors, beside this main one, for merchants whose payments are routed to them
    #[arg(long, env = "DROPIN_PROCESSORS", value_name = "FILE")]
    pub(crate) processors: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) processor_events: ProcessorEventArgs,
    #[command(flatten)]
    pub(crate) processor_limits: ProcessorLimitArgs,
    #[command(flatten)]
    pub(crate) delivery: DeliveryArgs,
    /// File with the demo merchant's credentials [default: demo-merchant.json in the data folder]
    #[arg(long, env = "DROPIN_MERCHANT_FILE", value_name = "FILE")]
    pub(crate) merchant_file: Option<PathBuf>,
}
