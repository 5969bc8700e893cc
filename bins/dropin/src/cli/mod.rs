//! The command line: what it takes, and the commands beside serving. Scripts rely on it: what is here stays.

mod acting;
mod assets;
mod audit_log;
mod client;
mod contract;
mod dispute;
mod doctor;
mod keys;
mod ledger;
mod ledger_import;
mod listen;
mod merchant;
mod notification;
mod operations;
mod operator;
mod order;
mod output;
mod processor;
mod rates;
mod run;
mod screening;
mod serve_args;
mod trigger;
mod wallet;

use clap::{Args, Parser, Subcommand};
use dropin_boot::{ConfigArgs, KeyArgs, LogArgs, ModeArgs, StoreArgs};

use assets::AssetsCommand;
use audit_log::AuditCommand;
use contract::ContractCommand;
use dispute::DisputeCommand;
use doctor::Doctor;
use keys::KeysCommand;
use ledger::LedgerCommand;
use listen::Listen;
use merchant::MerchantCommand;
use notification::NotificationCommand;
use operations::OpCommand;
use operator::OperatorCommand;
use order::OrderCommand;
use output::{Output, say, say_lines};
use rates::RatesCommand;
use screening::ScreeningCommand;
use trigger::Trigger;
use wallet::WalletCommand;

pub(crate) use acting::acting;
pub(crate) use run::{merchants, run};
pub(crate) use serve_args::{ServeArgs, Target};
pub(crate) use wallet::setup as wallet_setup;

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
    /// Why, for the audit log; of commands that change something
    #[arg(long, global = true, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bring the database's schema up to date
    Migrate,
    /// Check that this deployment is configured well: keys, modes and owners of files, addresses, certificates, disk, database; exit status 1
    /// when something is wrong
    Doctor(Doctor),
    /// Show to which mode and master key the database belongs, or let the next start write down others
    Deployment(DeploymentCommand),
    /// Print the SQL that lets a PostgreSQL role run the programs, and nothing else
    Grants(Grants),
    /// The long-lived keys: which there are, rotating them, destroying those that are not needed any more
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Merchant accounts
    #[command(subcommand)]
    Merchant(MerchantCommand),
    /// Notifications: what became of them, sending again, deleting
    #[command(subcommand)]
    Notification(NotificationCommand),
    /// Print a merchant's notifications as they come, until ctrl-c
    Listen(Listen),
    /// Make an event happen in a sandbox, by a payment or a contract that leads to it
    Trigger(Trigger),
    /// Operations at the payment processor
    #[command(subcommand)]
    Op(OpCommand),
    /// Orders, as somebody who runs this deployment sees them
    #[command(subcommand)]
    Order(OrderCommand),
    /// Disputes (chargebacks), as somebody who runs this deployment sees them
    #[command(subcommand)]
    Dispute(DisputeCommand),
    /// A merchant's contracts, over HTTP with its credentials as its server has them
    #[command(subcommand)]
    Contract(ContractCommand),
    /// Operators: the people who sign in to the admin panel
    #[command(subcommand)]
    Operator(OperatorCommand),
    /// The audit log: who changed what, and proving that nothing of it was altered
    #[command(subcommand)]
    Audit(AuditCommand),
    /// The books
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Screening of payments: files of rules, merchants' own rules, and how well they do
    #[command(subcommand, visible_alias = "risk")]
    Screening(ScreeningCommand),
    /// Exchange rates
    #[command(subcommand)]
    Rates(RatesCommand),
    /// The drop-in's scripts: an inventory of them, and whether an address serves these
    #[command(subcommand)]
    Assets(AssetsCommand),
    /// The mobile wallet: merchants' certificates and domains
    #[command(subcommand)]
    Wallet(WalletCommand),
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DeploymentCommand {
    /// Forget the mode: the next service that starts writes down its own
    #[arg(long)]
    pub(crate) forget_mode: bool,
    /// Forget the master key: the next service that starts writes down its own. Passwords and secrets made with the old key stay worthless
    #[arg(long)]
    pub(crate) forget_key: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Grants {
    /// The role that the programs connect as
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: String,
    /// The PostgreSQL database
    #[arg(long, default_value = "dropin", value_name = "NAME")]
    pub(crate) database: String,
}

#[cfg(test)]
#[path = "../../tests/cli/audited_commands.rs"]
mod audited_commands;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The commands that do something, by their words.
    fn leaves(command: &clap::Command, words: &str) -> Vec<String> {
        let mut below = command.get_subcommands().peekable();
        if below.peek().is_none() {
            return vec![words.trim_start().to_owned()];
        }
        below.flat_map(|one| leaves(one, &format!("{words} {}", one.get_name()))).collect()
    }

    #[test]
    fn every_command_says_what_it_leaves_in_the_audit_log() {
        let mut rows: Vec<_> = audited_commands::COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut commands = leaves(&Cli::command(), "");
        rows.sort();
        commands.sort();
        assert_eq!(commands, rows, "commands on the left, rows of tests/cli/audited_commands.rs on the right");
        for action in audited_commands::COMMANDS.iter().flat_map(|(_, actions)| *actions) {
            assert!(action.parse::<dropin_access::AuditAction>().is_ok(), "{action}");
        }
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
