//! What `dropin notification …` takes.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dropin_boot::{RetentionArgs, SystemClock};
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp, parse_span};
use dropin_notification::{EventFilter, EventFilterError};
use dropin_ports::{Clock, DeliveryState, NotificationFilter};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum NotificationCommand {
    /// Show notifications and how they stand at each endpoint, newest first
    List(ListNotifications),
    /// Show one with what is known of its tries
    Show(ShowNotification),
    /// Send notifications again, unchanged and under their old ids, in order within each payment
    Replay(Replay),
    /// Take parked notifications off the list: they need not arrive any more, and are deleted by age as those are that did
    Discard(Discard),
    /// Delete notifications and tries that are older than they are kept, as the notifier does by itself
    Purge(Purge),
}

/// Which notifications.
#[derive(Debug, Clone, Args)]
pub(crate) struct Chosen {
    /// Of this merchant
    #[arg(long, value_name = "MERCHANT_ID")]
    merchant: Option<MerchantId>,
    /// To this endpoint
    #[arg(long, value_name = "ENDPOINT_ID")]
    pub(crate) endpoint: Option<EndpointId>,
    /// Of these types, such as ORDER_PROCESSED or ORDER_*,SESSION_FAILED
    #[arg(long = "type", value_name = "TYPES", value_parser = event_filter)]
    types: Option<EventFilter>,
    /// That stand so
    #[arg(long, value_enum)]
    state: Option<State>,
    /// That happened then or later: a time such as 2026-11-21T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// That happened before then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
    /// Of this payment: its PaymentId, SessionId or OrderId
    #[arg(long, value_name = "ID")]
    pub(crate) payment: Option<PaymentId>,
}

impl Chosen {
    /// Whether nothing is said.
    fn is_open(&self) -> bool {
        self.filter() == NotificationFilter::default()
    }

    /// Whether anything but the endpoint is said.
    pub(crate) fn says_more_than_endpoint(&self) -> bool {
        self.filter() != NotificationFilter { endpoint: self.endpoint, ..NotificationFilter::default() }
    }

    /// Whether it is said whose they are: without that they are everybody's.
    const fn says_whose(&self) -> bool {
        self.merchant.is_some() || self.endpoint.is_some() || self.payment.is_some()
    }

    pub(crate) fn filter(&self) -> NotificationFilter {
        NotificationFilter {
            merchant: self.merchant,
            endpoint: self.endpoint,
            types: self.types.clone(),
            state: self.state.map(State::meant),
            since: self.since,
            until: self.until,
            payment: self.payment,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ListNotifications {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// At most so many
    #[arg(long, default_value_t = 100, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Those that come after this one in the list
    #[arg(long, value_name = "EVENT_ID")]
    pub(crate) after: Option<EventId>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ShowNotification {
    /// Id of the notification (webhook-id)
    pub(crate) id: EventId,
    /// Print what is sent too; it may hold what is the shopper's own business
    #[arg(long)]
    pub(crate) body: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Id of the notification (webhook-id): goes where it is parked, or parked nowhere, wherever it arrived; with --endpoint there alone, whatever became
    /// of it
    pub(crate) id: Option<EventId>,
    /// Every parked notification
    #[arg(long)]
    pub(crate) all: bool,
    /// Without --state the parked ones
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// Where its own endpoint was removed, send to this one of the same merchant's
    #[arg(long, value_name = "ENDPOINT_ID")]
    pub(crate) to: Option<EndpointId>,
    /// So many in a second to each endpoint, behind what was asked for before; one notification, or those of one payment, go at once
    #[arg(long, default_value = "50", value_name = "NUMBER", value_parser = rate)]
    pub(crate) rate: NonZeroU32,
    /// Only say how many there are
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Who asks; kept with what was asked for [default: $USER, if it is set]
    #[arg(long = "as", value_name = "NAME", env = "USER", hide_env = true)]
    pub(crate) operator: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Replay {
    /// What is contradictory or missing, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        match (self.id, self.all) {
            (Some(_), true) => Err("give an id or --all, not both".to_owned()),
            (Some(_), false) if self.chosen.says_more_than_endpoint() => {
                Err("a notification's id says which one it is; only --endpoint and --to go with it".to_owned())
            }
            (None, false) if self.chosen.is_open() => Err(
                "say which notifications: an id, --all for every parked one, or --merchant, --endpoint, --type, --state, --since, --until, --payment"
                    .to_owned(),
            ),
            (None, _) if self.chosen.state.is_some_and(|state| !state.can_be_sent_again()) => {
                Err("only --state parked, --state delivered and --state discarded can be sent again".to_owned())
            }
            (None, _) if !self.chosen.says_whose() && self.chosen.since.is_none() => self.check_open(),
            _ => Ok(()),
        }
    }

    /// What is over for everybody, and since ever, is more than anybody may mean; what is parked is not.
    fn check_open(&self) -> Result<(), String> {
        let all = match self.chosen.state {
            Some(State::Delivered) => "--state delivered alone would send everything again that ever arrived",
            Some(State::Discarded) => "--state discarded alone would send everything again that was ever discarded",
            _ => return Ok(()),
        };
        Err(format!("{all}; say also --merchant, --endpoint, --payment or --since"))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Discard {
    /// Id of the notification (webhook-id): wherever it is parked; with --endpoint there alone
    pub(crate) id: Option<EventId>,
    /// Parked ones only
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// Only say how many there are
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Who says so; kept with each [default: $USER, if it is set]
    #[arg(long = "as", value_name = "NAME", env = "USER", hide_env = true)]
    pub(crate) operator: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Discard {
    /// What is contradictory or missing, in words. What is parked for everybody, of whatever type and time, is more than anybody may mean.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.id {
            Some(_) if self.chosen.says_more_than_endpoint() => {
                Err("a notification's id says which one it is; only --endpoint goes with it".to_owned())
            }
            Some(_) => Ok(()),
            None if self.chosen.state.is_some_and(|state| state != State::Parked) => {
                Err("only --state parked can be discarded".to_owned())
            }
            None if !self.chosen.says_whose() => Err(
                "say whose parked notifications: an id, or --merchant, --endpoint or --payment; --type, --since and --until choose among those"
                    .to_owned(),
            ),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    pub(crate) retention: RetentionArgs,
    /// Only say how much there is
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// Under way, to be tried again, or waiting for the one before
    Pending,
    /// Given up after the last retry
    Parked,
    /// Acknowledged
    Delivered,
    /// Of a type that the endpoint is not told of
    NotWanted,
    /// Given up there, and sent to another endpoint
    Moved,
    /// Given up, and taken off the list of what is parked
    Discarded,
}

impl State {
    const fn meant(self) -> DeliveryState {
        match self {
            Self::Pending => DeliveryState::Pending,
            Self::Parked => DeliveryState::Parked,
            Self::Delivered => DeliveryState::Delivered,
            Self::NotWanted => DeliveryState::NotWanted,
            Self::Moved => DeliveryState::Moved,
            Self::Discarded => DeliveryState::Discarded,
        }
    }

    const fn can_be_sent_again(self) -> bool {
        matches!(self, Self::Parked | Self::Delivered | Self::Discarded)
    }
}

fn rate(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|rate: &NonZeroU32| rate.get() <= 10_000);
    number.ok_or_else(|| "must be from 1 to 10000".to_owned())
}

/// A filter each of whose names fits an event that there is: of a slip of the pen nothing would be found, and nothing said.
fn event_filter(text: &str) -> Result<EventFilter, String> {
    let filter: EventFilter = text.parse().map_err(|error: EventFilterError| error.to_string())?;
    let all: Vec<&str> = dropin_wire::event::types().collect();
    match filter.fits_none_of(&all) {
        Some(unknown) => Err(format!("names {unknown}, and there is no such event; there are {}", all.join(", "))),
        None => Ok(filter),
    }
}

/// As long ago as anybody may ask for: a hundred years. Databases know no moments far before our time.
const MAX_LOOKBACK: Duration = Duration::from_secs(36_500 * 86_400);

/// A moment as people write it.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = OffsetDateTime::parse(text, &Rfc3339) {
        return Ok(Timestamp::from(moment));
    }
    let advice = || "must be a time such as 2026-11-21T12:00:00Z, or how long ago, such as 30m, 24h or 7d".to_owned();
    let ago = parse_span(text).filter(|ago| *ago <= MAX_LOOKBACK).ok_or_else(advice)?;
    Ok(SystemClock.now().minus(ago))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn parse(line: &str) -> Result<NotificationCommand, clap::Error> {
        let cli = Cli::try_parse_from(["dropin", "notification"].into_iter().chain(line.split_ascii_whitespace()))?;
        let Some(Command::Notification(command)) = cli.command else { panic!("{line}") };
        Ok(command)
    }

    fn replay(line: &str) -> Replay {
        let Ok(NotificationCommand::Replay(replay)) = parse(&format!("replay {line}")) else { panic!("{line}") };
        replay
    }

    #[test]
    fn a_list_is_filtered() {
        let line = format!(
            "list --merchant {ID} --type ORDER_*,SESSION_FAILED --state not-wanted --since 2026-11-21T12:00:00+01:00 --until 1m --payment {ID}"
        );
        let Ok(NotificationCommand::List(list)) = parse(&line) else { panic!() };
        let filter = list.chosen.filter();
        assert_eq!(filter.state, Some(DeliveryState::NotWanted));
        assert_eq!(filter.since.unwrap().to_string(), "2026-11-21T11:00:00.000000Z");
        assert!(filter.until.unwrap() < SystemClock.now() && list.limit == 100);
        for wrong in [
            "list --since yesterday",
            "list --since 1y",
            "list --since 36501d",
            "list --limit 0",
            "list --type order",
            "list --type FOO",
            "replay --type ORDER_*,FOO_* --since 1h",
            "list --state lost",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_replay_says_clearly_what_it_means() {
        for right in [
            ID.to_owned(),
            format!("{ID} --endpoint {ID}"),
            "--all --dry-run".to_owned(),
            format!("--all --merchant {ID}"),
            format!("--payment {ID} --state delivered"),
            "--since 2h --rate 5".to_owned(),
            "--since 2h --state delivered".to_owned(),
            format!("--state delivered --merchant {ID} --type ORDER_*"),
            format!("--state discarded --endpoint {ID}"),
            "--state discarded --since 2h".to_owned(),
            "--state parked --until 2h".to_owned(),
        ] {
            assert_eq!(replay(&right).check(), Ok(()), "{right}");
        }
        for wrong in [
            String::new(),
            format!("{ID} --all"),
            format!("{ID} --state parked"),
            "--state pending".to_owned(),
            format!("--state moved --endpoint {ID}"),
            "--state delivered".to_owned(),
            "--state discarded".to_owned(),
            "--state discarded --type ORDER_* --until 2h".to_owned(),
            "--all --state delivered --until 2h".to_owned(),
            "--state delivered --type ORDER_*".to_owned(),
            "--dry-run".to_owned(),
        ] {
            replay(&wrong).check().expect_err(&wrong);
        }
        for wrong in ["replay --all --rate 0", "replay --all --rate 10001", "replay 7"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_discard_says_which_and_never_means_all() {
        let check = |line: &str| match parse(&format!("discard {line}")) {
            Ok(NotificationCommand::Discard(discard)) => discard.check(),
            other => panic!("{line}: {other:?}"),
        };
        for right in [
            ID.to_owned(),
            format!("{ID} --endpoint {ID}"),
            format!("--endpoint {ID} --dry-run"),
            format!("--merchant {ID} --state parked"),
            format!("--payment {ID} --type ORDER_*"),
            format!("--merchant {ID} --since 100d --until 90d"),
        ] {
            assert_eq!(check(&right), Ok(()), "{right}");
        }
        for wrong in [
            String::new(),
            "--dry-run".to_owned(),
            "--state parked".to_owned(),
            "--until 1m".to_owned(),
            "--since 100d".to_owned(),
            "--type ORDER_* --since 100d --state parked".to_owned(),
            format!("--state delivered --merchant {ID}"),
            format!("{ID} --merchant {ID}"),
        ] {
            check(&wrong).expect_err(&wrong);
        }
        assert!(parse("discard --all").is_err());
    }

    #[test]
    fn a_purge_takes_the_notifiers_settings() {
        let Ok(NotificationCommand::Purge(purge)) = parse("purge --dry-run --event-retention 0") else { panic!() };
        assert!(purge.dry_run && purge.retention.retention().events.is_none());
        assert!(purge.retention.retention().tries.is_some());
    }
}
