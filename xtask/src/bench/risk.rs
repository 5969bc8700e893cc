//! `cargo xtask bench risk`: what screening stops, whom it bothers, and what it costs a payment.

use clap::Args;

use super::goal;
use super::payments::client::PaymentFlow;
use super::payments::{self, SiteOptions};
use crate::command::{cargo, finished};
use crate::failure::Outcome;

/// Processor time that screening may add to a payment, in microseconds.
const COST_MAX: f64 = 150.0;

/// Screens made-up weeks of a shop with six attacks in each by the rules that are built in, and tells by seed how many tries of each attack were stopped, and
/// how many honest payments were challenged or blocked. With --cost it measures payments in turn at a merchant whose payments are screened and at one whose
/// are not: shoppers who have paid before, each with one card in one browser.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Seeds of the weeks [default: 1001 1002 1003, which the rules were not tuned on]
    #[arg(long, value_name = "SEED", num_args = 1.., conflicts_with = "cost")]
    seeds: Vec<u64>,
    /// What it costs a payment, in place of what it stops
    #[arg(long)]
    cost: bool,
    #[command(flatten)]
    site: SiteOptions,
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    if options.cost { cost(&options.site) } else { traffic(&options.seeds) }
}

fn traffic(seeds: &[u64]) -> Outcome<()> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "-p", "dropin-risk", "--example", "traffic", "--"]);
    finished(command.args(seeds.iter().map(ToString::to_string)))
}

fn cost(options: &SiteOptions) -> Outcome<()> {
    payments::run(options, &[], &[PaymentFlow::DropIn, PaymentFlow::Screened], |_, _, rows| {
        let [off, on] = rows else { return Ok(()) };
        println!("Screened: {:.0} payments per second; not screened: {:.0}.", on.per_second(), off.per_second());
        let cost = on.cpu(payments::is_measured) - off.cpu(payments::is_measured);
        print!("{}", goal(cost <= COST_MAX, &format!("screening takes {cost:.0} us of a payment; wanted: {COST_MAX}")));
        Ok(())
    })
}
