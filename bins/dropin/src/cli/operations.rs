//! `dropin op …`

use std::time::Duration;

use clap::{Args, Subcommand};
use dropin_boot::{Failure, SystemClock};
use dropin_order::Operation;
use dropin_ports::{Clock, PaymentStore};
use dropin_store::Store;
use serde_json::{Map, Value, json};

use super::{Output, say, say_lines};

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

/// Most rows that the list shows.
const MAX_LIST_ROWS: u32 = 1_000;
/// Most open operations that are looked through for those that are stuck.
const MAX_OPEN_SCANNED: u32 = 100_000;

/// Operations whose outcome is not known yet.
pub(super) async fn list(store: &Store, wanted: &ListOperations) -> Result<(), Failure> {
    let now = SystemClock.now();
    let mut open = store.list_open_operations(if wanted.stuck { MAX_OPEN_SCANNED } else { MAX_LIST_ROWS }).await?;
    if wanted.stuck {
        open.retain(|operation| operation.stuck(now).is_some());
        open.truncate(MAX_LIST_ROWS as usize);
    }
    if wanted.output.json {
        let rows = open.iter().map(|operation| {
            let mut row = of(operation);
            row.insert("AgeSeconds".to_owned(), now.since(operation.created_at).as_secs().into());
            let stuck = operation.stuck(now);
            row.insert("Stuck".to_owned(), stuck.is_some().into());
            if let Some(stuck) = stuck {
                row.insert("Advice".to_owned(), stuck.advice().into());
            }
            Value::from(row)
        });
        return say(&Value::from_iter(rows).to_string());
    }
    let lines = open.iter().map(|operation| {
        let (state, kind) = (operation.state.as_str(), operation.kind.as_str());
        let since = age(now.since(operation.created_at));
        let next = match now.since(operation.due_at) {
            Duration::ZERO => format!("next look in {}", age(operation.due_at.since(now))),
            overdue => format!("due for {}", age(overdue)),
        };
        let mark = operation.stuck(now).map(|stuck| format!("  STUCK: {}", stuck.advice())).unwrap_or_default();
        format!(
            "{}  {kind:<9}  {} {}  {state:<8}  for {since}  {} tries  {next}  order {}{mark}",
            operation.id,
            operation.amount,
            operation.amount.currency(),
            operation.tries,
            operation.order_id
        )
    });
    say_lines(lines, if wanted.stuck { "No operation is stuck." } else { "Every operation has a known outcome." })
}

/// What scripts are told of an operation.
pub(super) fn of(operation: &Operation) -> Map<String, Value> {
    let shown = json!({
        "OperationId": operation.id.to_string(),
        "OrderId": operation.order_id.to_string(),
        "Kind": operation.kind.as_str(),
        "State": operation.state.as_str(),
        "Amount": operation.amount.to_string(),
        "Currency": operation.amount.currency().code(),
        "Tries": operation.tries,
        "CreatedAt": operation.created_at.to_string(),
        "DueAt": operation.due_at.to_string(),
    });
    let Value::Object(mut shown) = shown else { return Map::new() };
    if let Some(processor) = &operation.processor {
        shown.insert("Processor".to_owned(), processor.to_string().into());
    }
    if let Some(refund) = operation.refund {
        shown.insert("RefundId".to_owned(), refund.to_string().into());
    }
    shown
}

/// A time as people say it, in its two largest units.
pub(super) fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Cli, Command};
    use super::*;

    #[test]
    fn ages_are_said_in_two_units() {
        let said = [0, 59, 60, 3_599, 3_600, 86_399, 90_000].map(|seconds| age(Duration::from_secs(seconds)));
        assert_eq!(said, ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "23 h 59 min", "1 d 1 h"]);
    }

    #[test]
    fn those_that_are_stuck_are_asked_for() {
        let cli = Cli::parse_from(["dropin", "op", "list", "--stuck"]);
        let Some(Command::Op(OpCommand::List(list))) = cli.command else { panic!() };
        assert!(list.stuck && !list.output.json);
    }
}
