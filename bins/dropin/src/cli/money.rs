//! `dropin op …`, `dropin order …` and `dropin ledger …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use dropin_kernel::OrderId;

use super::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum OpCommand {
    /// Show operations whose outcome is not known yet
    List(ListOperations),
}

#[derive(Debug, Args)]
pub(crate) struct ListOperations {
    /// Only those that somebody has to look after: unknown for over ten minutes, or due for as long without anybody taking them up
    #[arg(long)]
    pub(crate) stuck: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrderCommand {
    /// Show an Order of any merchant with its refunds, operations and life
    Show {
        /// OrderId
        id: OrderId,
        #[command(flatten)]
        output: Output,
    },
    /// Decide about an Order that is held for review
    Review(ReviewOrder),
}

#[derive(Debug, Args)]
pub(crate) struct ReviewOrder {
    /// OrderId
    pub(crate) id: OrderId,
    /// What becomes of it
    #[arg(value_enum)]
    pub(crate) decision: Decision,
    /// Who decides; kept in the Order's history [default: the login name]
    #[arg(long = "as", value_name = "NAME", env = "USER", hide_env = true)]
    pub(crate) operator: Option<String>,
    #[command(flatten)]
    pub(crate) processor: ProcessorFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decision {
    /// It may be captured; what was to be captured already is captured now
    Approve,
    /// Its authorization is voided
    Decline,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Compare Orders, operations, refunds and ledger with each other and with the processor's journal
    ///
    /// Changes nothing and runs beside services. Exit status 0: everything fits; 1: something does not; 2: it could not be compared.
    Verify(VerifyLedger),
}

#[derive(Debug, Args)]
pub(crate) struct VerifyLedger {
    /// Leave the processor's journal out
    #[arg(long)]
    pub(crate) without_processor: bool,
    #[command(flatten)]
    pub(crate) processor: ProcessorFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// As the services take them.
#[derive(Debug, Args)]
pub(crate) struct ProcessorFlags {
    /// Address of the payment processor [default: that of a service started with the same settings]
    #[arg(long, env = "PROCESSOR_URL", value_name = "URL")]
    pub(crate) processor_url: Option<String>,
    /// File with the key that the processor knows us by; without it the environment variable PROCESSOR_KEY holds the key
    /// [default: the sandbox processor's key in the data folder]
    #[arg(long, env = "PROCESSOR_KEY_FILE", value_name = "FILE")]
    pub(crate) processor_key_file: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Cli, Command};
    use super::*;

    const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let cli = Cli::try_parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()))?;
        Ok(cli.command.unwrap())
    }

    #[test]
    fn a_review_names_its_order_and_its_decision() {
        let line = format!("order review {ID} decline --as ada --processor-url http://127.0.0.1:1 --json");
        let Ok(Command::Order(OrderCommand::Review(review))) = parse(&line) else { panic!() };
        assert_eq!((review.decision, review.operator.as_deref()), (Decision::Decline, Some("ada")));
        assert_eq!(review.processor.processor_url.as_deref(), Some("http://127.0.0.1:1"));
        assert!(review.output.json);
        for wrong in [format!("order review {ID}"), format!("order review {ID} maybe"), "order show 1".to_owned()] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_processor_is_found_before_and_behind_the_command() {
        for line in
            ["--processor-url http://127.0.0.1:1 ledger verify", "ledger verify --processor-url http://127.0.0.1:1"]
        {
            let cli = Cli::parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()));
            let Some(Command::Ledger(LedgerCommand::Verify(verify))) = &cli.command else { panic!() };
            let url = verify.processor.processor_url.as_ref().or(cli.serve.processor_url.as_ref());
            assert_eq!(url.map(String::as_str), Some("http://127.0.0.1:1"), "{line}");
        }
        let Ok(Command::Op(OpCommand::List(list))) = parse("op list --stuck") else { panic!() };
        assert!(list.stuck && !list.output.json);
    }
}
