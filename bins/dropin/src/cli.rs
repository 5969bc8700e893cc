//! The command line. Scripts rely on it: what is here stays.

mod merchant;
mod money;
mod notification;
mod wallet;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dropin_boot::{
    AccessArgs, CatalogueArgs, ConfigArgs, DeliveryArgs, DocsArgs, KeyArgs, ListenArgs, LogArgs, ModeArgs, OfferArgs,
    ProcessorLimitArgs, RateFeedArgs, StashArgs, StashLimitArgs, StoreArgs, WalletArgs,
};

pub(crate) use merchant::{CreateMerchant, EndpointCommand, MerchantCommand, SecretCommand, SetMerchant, UserCommand};
pub(crate) use money::{
    Decision, LedgerCommand, ListOperations, OpCommand, OrderCommand, ProcessorFlags, ReviewOrder, VerifyLedger,
};
pub(crate) use notification::{Discard, ListNotifications, NotificationCommand, Purge, Replay, ShowNotification};
pub(crate) use wallet::{DomainCommand, SetWallet, WalletCommand};

/// A drop-in payment service in one process: without a command it serves everything, with a demo shop to try it out.
#[derive(Debug, Parser)]
#[command(name = "dropin", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) mode: ModeArgs,
    #[command(flatten)]
    pub(crate) logs: LogArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

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
    /// A payment processor that moves no money
    SandboxProcessor,
    /// The demo shop
    Shop,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Parts to run, separated by commas
    #[arg(long, env = "DROPIN_TARGET", value_enum, value_delimiter = ',', default_value = "all")]
    pub(crate) target: Vec<Target>,
    /// Address of the service
    #[arg(long, env = "DROPIN_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    pub(crate) listen: SocketAddr,
    /// Address of the demo shop; loopback only
    #[arg(long, env = "DROPIN_SHOP_LISTEN", default_value = "127.0.0.1:8081", value_name = "ADDRESS")]
    pub(crate) shop_listen: SocketAddr,
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
    pub(crate) docs: DocsArgs,
    #[command(flatten)]
    pub(crate) wallet: WalletArgs,
    #[command(flatten)]
    pub(crate) stash: StashArgs,
    #[command(flatten)]
    pub(crate) stash_limits: StashLimitArgs,
    #[command(flatten)]
    pub(crate) rates: RateFeedArgs,
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
    /// Address of the payment processor [default: /sandbox where the service listens]
    #[arg(long, env = "PROCESSOR_URL", value_name = "URL")]
    pub(crate) processor_url: Option<String>,
    /// File with the key that the processor knows us by; without it the environment variable PROCESSOR_KEY holds the key
    /// [default: a key of our own for the sandbox processor, kept in the data folder]
    #[arg(long, env = "PROCESSOR_KEY_FILE", value_name = "FILE")]
    pub(crate) processor_key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) processor_limits: ProcessorLimitArgs,
    #[command(flatten)]
    pub(crate) delivery: DeliveryArgs,
    /// File with the demo merchant's credentials [default: demo-merchant.json in the data folder]
    #[arg(long, env = "DROPIN_MERCHANT_FILE", value_name = "FILE")]
    pub(crate) merchant_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bring the database's schema up to date
    Migrate,
    /// Merchant accounts
    #[command(subcommand)]
    Merchant(MerchantCommand),
    /// Notifications: what became of them, sending again, deleting
    #[command(subcommand)]
    Notification(NotificationCommand),
    /// Operations at the payment processor
    #[command(subcommand)]
    Op(OpCommand),
    /// Orders, as somebody who runs this deployment sees them
    #[command(subcommand)]
    Order(OrderCommand),
    /// The books
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Exchange rates
    #[command(subcommand)]
    Rates(RatesCommand),
    /// The mobile wallet: merchants' certificates and domains
    #[command(subcommand)]
    Wallet(WalletCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RatesCommand {
    /// Show the rates in force, how old they are, and which were not believed
    Show(Output),
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn targets_are_a_list() {
        let cli = Cli::parse_from(["dropin", "--target", "session-api,notifier", "--no-demo"]);
        assert_eq!(cli.serve.target, [Target::SessionApi, Target::Notifier]);
        assert!(cli.serve.no_demo && cli.command.is_none());
    }

    #[test]
    fn global_flags_stand_anywhere() {
        for line in [["dropin", "--data", "x", "migrate"], ["dropin", "migrate", "--data", "x"]] {
            assert_eq!(Cli::parse_from(line).store.data, PathBuf::from("x"));
        }
    }
}
