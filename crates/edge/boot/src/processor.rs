use std::ops::RangeInclusive;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, value_parser};

/// How many calls go to the payment processor at once, and when none do because it answers nobody. Each program has limits of its own.
#[derive(Debug, Clone, Args)]
pub struct ProcessorLimitArgs {
    /// Authorizations, captures, voids and refunds under way at once; more wait in line, for half of a call's time
    #[arg(
        long, env = "PROCESSOR_PAYMENTS", default_value_t = 128, value_name = "NUMBER", value_parser = numbers().range(CALLS)
    )]
    pub processor_payments: usize,
    /// Questions to the processor under way at once: they never take the place of a payment, nor a payment theirs
    #[arg(
        long, env = "PROCESSOR_QUESTIONS", default_value_t = 64, value_name = "NUMBER", value_parser = numbers().range(CALLS)
    )]
    pub processor_questions: usize,
    /// How much of either number one merchant may have, so that its slow calls never hold up those of others
    #[arg(
        long, env = "PROCESSOR_MERCHANT_SHARE", default_value_t = 50, value_name = "PERCENT", value_parser = value_parser!(u8).range(1..=100)
    )]
    pub processor_merchant_share: u8,
    /// Calls in a row that end without an answer, within ten seconds, after which the processor is asked whether it is there; if not, calls are
    /// held back until it is
    #[arg(
        long, env = "PROCESSOR_FAILURES", default_value_t = 10, value_name = "NUMBER", value_parser = numbers().range(FAILURES)
    )]
    pub processor_failures: usize,
    /// Longest pause between two questions to a processor that answers nobody; the first is half a second
    #[arg(
        long, env = "PROCESSOR_PAUSE", default_value_t = 4, value_name = "SECONDS", value_parser = value_parser!(u64).range(PAUSE)
    )]
    pub processor_pause: u64,
}

/// A room without a place would be no room; far more than this is a flood.
const CALLS: RangeInclusive<u64> = 1..=10_000;
/// One lost answer says nothing about a processor.
const FAILURES: RangeInclusive<u64> = 2..=1_000;
/// Whoever waits longer notices late that the processor is back.
const PAUSE: RangeInclusive<u64> = 1..=60;

fn numbers() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new()
}

impl ProcessorLimitArgs {
    /// The longest pause between two questions.
    pub const fn pause(&self) -> Duration {
        Duration::from_secs(self.processor_pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Demo {
        #[command(flatten)]
        limits: ProcessorLimitArgs,
    }

    fn limits(line: &str) -> Result<(usize, usize, u8, usize, Duration), clap::Error> {
        let read = <Demo as clap::Parser>::try_parse_from(line.split(' ')).map(|demo| demo.limits);
        read.map(|all| {
            (
                all.processor_payments,
                all.processor_questions,
                all.processor_merchant_share,
                all.processor_failures,
                all.pause(),
            )
        })
    }

    #[test]
    fn the_limits_are_safe_unless_somebody_says_otherwise() {
        assert_eq!(limits("demo").unwrap(), (128, 64, 50, 10, Duration::from_secs(4)));
        let given = limits(
            "demo --processor-payments 20 --processor-questions 10 --processor-merchant-share 30 --processor-failures 5 --processor-pause 9",
        );
        assert_eq!(given.unwrap(), (20, 10, 30, 5, Duration::from_secs(9)));
    }

    #[test]
    fn limits_that_would_stop_every_payment_are_refused() {
        for wrong in [
            "demo --processor-payments 0",
            "demo --processor-questions 0",
            "demo --processor-merchant-share 0",
            "demo --processor-merchant-share 101",
            "demo --processor-failures 1",
            "demo --processor-pause 0",
            "demo --processor-pause 61",
        ] {
            assert!(limits(wrong).is_err(), "{wrong}");
        }
    }
}
