use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, value_parser};
use dropin_notification::{EndpointBreakerRules, Schedule};
use dropin_usecases::deliver::DeliverySettings;

use crate::config_error::ConfigError;
use crate::{RetentionArgs, WebhookArgs};

/// How notifications are sent.
#[derive(Debug, Clone, Args)]
pub struct DeliveryArgs {
    /// Notifications under way to one endpoint at once; those of one payment always follow each other
    #[arg(
        long, env = "DROPIN_ENDPOINT_SLOTS", default_value_t = 32, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=512)
    )]
    pub endpoint_slots: u32,
    /// Notifications under way in all; each holds a connection. Of four or more, the last quarter is for endpoints that have nothing under way
    #[arg(
        long, env = "DROPIN_DELIVERY_SLOTS", default_value_t = 512, value_name = "NUMBER", value_parser = value_parser!(u32).range(2..=4_096)
    )]
    pub delivery_slots: u32,
    /// Time for one try, from connecting to the end of the answer
    #[arg(
        long, env = "DROPIN_DELIVERY_DEADLINE", default_value_t = 10, value_name = "SECONDS", value_parser = value_parser!(u64).range(DEADLINE)
    )]
    pub delivery_deadline: u64,
    /// How often is looked for notifications when no wake signal comes, and for those to be tried again
    #[arg(
        long, env = "DROPIN_DELIVERY_POLL", default_value_t = 250, value_name = "MILLISECONDS", value_parser = value_parser!(u64).range(POLL)
    )]
    pub delivery_poll: u64,
    /// When what failed is tried again, where an endpoint has no schedule of its own: the waits between tries, the last one repeated, and when it
    /// is given up
    #[arg(
        long, env = "DROPIN_RETRY_SCHEDULE", default_value = "5s,30s,2m,10m,30m,1h,3h,6h,12h;3d", value_name = "SCHEDULE", value_parser = Schedule::from_str
    )]
    pub retry_schedule: Schedule,
    /// Tries in a row without an answer after which an endpoint counts as dead and is only probed
    #[arg(
        long, env = "DROPIN_ENDPOINT_FAILURES", default_value_t = 5, value_name = "NUMBER", value_parser = value_parser!(u32).range(2..=1_000)
    )]
    pub endpoint_failures: u32,
    /// It also counts as dead when more than so many of its last twenty tries failed; 100 for never
    #[arg(
        long, env = "DROPIN_ENDPOINT_FAILED_PERCENT", default_value_t = 50, value_name = "PERCENT", value_parser = value_parser!(u32).range(10..=100)
    )]
    pub endpoint_failed_percent: u32,
    /// Longest pause between two looks at a dead endpoint; the first is 5 s
    #[arg(
        long, env = "DROPIN_ENDPOINT_PAUSE", default_value_t = 300, value_name = "SECONDS", value_parser = value_parser!(u64).range(PAUSE)
    )]
    pub endpoint_pause: u64,
    /// Where they may go.
    #[command(flatten)]
    pub webhook: WebhookArgs,
    /// For how long they are kept.
    #[command(flatten)]
    pub retention: RetentionArgs,
}

/// A slot is held for that long by whoever never answers, and a stop waits for it: with the time for writing down what came of it less than the 30 s
/// that a process gives its services.
const DEADLINE: RangeInclusive<u64> = 1..=25;
/// More often costs the database more than it tells; more seldom makes every retry late.
const POLL: RangeInclusive<u64> = 10..=60_000;
/// More often is no pause; more seldom leaves a merchant who is back without notifications.
const PAUSE: RangeInclusive<u64> = 5..=3_600;

impl DeliveryArgs {
    /// Time for one try.
    pub const fn deadline(&self) -> Duration {
        Duration::from_secs(self.delivery_deadline)
    }

    /// How many tries at once, how often the outbox is polled, and when an endpoint counts as dead.
    ///
    /// # Errors
    /// [`ConfigError::EndpointSlots`] when one endpoint could take more than three quarters of all slots: the last quarter is kept for others.
    pub fn settings(&self) -> Result<DeliverySettings, ConfigError> {
        if self.delivery_slots * 3 < self.endpoint_slots * 4 {
            return Err(ConfigError::EndpointSlots { most: self.delivery_slots * 3 / 4 });
        }
        let usual = EndpointBreakerRules::default();
        let longest_wait = Duration::from_secs(self.endpoint_pause);
        Ok(DeliverySettings {
            per_endpoint: self.endpoint_slots,
            in_flight: self.delivery_slots,
            poll: Duration::from_millis(self.delivery_poll),
            breaker: EndpointBreakerRules {
                unreached_in_a_row: self.endpoint_failures,
                failed_percent: self.endpoint_failed_percent,
                longest_wait,
                ..usual
            },
            ..DeliverySettings::within(self.deadline())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Demo {
        #[command(flatten)]
        delivery: DeliveryArgs,
    }

    fn parsed(line: &str) -> Result<DeliveryArgs, clap::Error> {
        <Demo as clap::Parser>::try_parse_from(line.split(' ')).map(|demo| demo.delivery)
    }

    #[test]
    fn nothing_said_means_the_usual() {
        let usual = parsed("demo").unwrap();
        assert_eq!(
            (usual.settings().unwrap(), usual.retry_schedule),
            (DeliverySettings::default(), Schedule::standard())
        );
    }

    #[test]
    fn what_is_said_counts() {
        let given = parsed(
            "demo --endpoint-slots 1 --delivery-slots 2 --delivery-deadline 3 --delivery-poll 40 --retry-schedule 5s;1d --endpoint-failures 6 \
             --endpoint-failed-percent 70 --endpoint-pause 80",
        );
        let given = given.unwrap();
        let settings = given.settings().unwrap();
        assert_eq!((settings.per_endpoint, settings.in_flight), (1, 2));
        assert_eq!(
            [settings.send_deadline, settings.lease, settings.poll].map(|time| time.as_millis()),
            [3_000, 7_500, 40]
        );
        let EndpointBreakerRules { unreached_in_a_row, failed_percent, longest_wait, .. } = settings.breaker;
        assert_eq!((unreached_in_a_row, failed_percent, longest_wait.as_secs()), (6, 70, 80));
        assert_eq!(given.retry_schedule.to_string(), "5s;1d");
    }

    #[test]
    fn one_endpoint_leaves_a_quarter_of_the_slots_to_others() {
        for (slots, of, most) in
            [(3, 4, None), (4, 4, Some(3)), (384, 512, None), (385, 512, Some(384)), (2, 2, Some(1))]
        {
            let given = parsed(&format!("demo --endpoint-slots {slots} --delivery-slots {of}")).unwrap();
            let refused = given.settings().err().map(|error| error.to_string());
            assert_eq!(refused.is_some(), most.is_some(), "{slots} of {of}");
            if let (Some(refused), Some(most)) = (refused, most) {
                assert!(refused.contains(&format!("at most {most}")), "{refused}");
            }
        }
    }

    #[test]
    fn what_would_deliver_nothing_is_refused() {
        for wrong in [
            "--endpoint-slots 0",
            "--endpoint-slots 513",
            "--delivery-slots 1",
            "--delivery-deadline 0",
            "--delivery-deadline 26",
            "--delivery-poll 0",
            "--retry-schedule 5s",
            "--endpoint-failures 1",
            "--endpoint-failed-percent 101",
            "--endpoint-pause 0",
        ] {
            assert!(parsed(&format!("demo {wrong}")).is_err(), "{wrong}");
        }
    }
}
