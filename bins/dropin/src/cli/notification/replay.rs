//! `dropin notification replay`

use dropin_boot::Failure;
use dropin_ports::{Acting, DeliveryState, StoreError};
use dropin_usecases::notifications::{Notifications, ReplayError, ReplayOrder, ReplayOutcome, ReplayWhich};
use serde_json::{Map, Value, json};

use super::args::Replay;
use super::{operator, say, unknown};

pub(super) async fn run(notifications: &Notifications, acting: Acting, wanted: &Replay) -> Result<(), Failure> {
    wanted.check()?;
    let filter = wanted.chosen.filter();
    let which = match wanted.id {
        Some(event) => ReplayWhich::One { event, endpoint: wanted.chosen.endpoint },
        None => ReplayWhich::All { state: filter.state.unwrap_or(DeliveryState::Parked), filter },
    };
    let at_once = wanted.id.is_some() || wanted.chosen.payment.is_some();
    let order = ReplayOrder {
        which,
        to: wanted.to,
        rate: Some(wanted.rate).filter(|_| !at_once),
        by: operator(wanted.operator.as_deref())?,
        acting,
        dry_run: wanted.dry_run,
    };
    let (outcome, broke_off) = match (notifications.replay(&order).await, wanted.id) {
        (Ok(outcome), _) => (outcome, None),
        (Err(ReplayError::NotFound), Some(id)) => return Err(unknown(&id)),
        (Err(error @ ReplayError::Nowhere), _) => return Err(format!("{error}, with --endpoint ENDPOINT_ID").into()),
        (Err(ReplayError::Store { error, done, since }), _) => {
            let on = since.map_or("ask again".to_owned(), |since| format!("go on with --since {since}"));
            (done, Some(broken_off(&error, &on, wanted.dry_run)))
        }
        (Err(error), _) => return Err(error.into()),
    };
    let told = tell(&outcome, wanted);
    broke_off.map_or(told, Err)
}

fn broken_off(error: &StoreError, on: &str, dry_run: bool) -> Failure {
    let done = if dry_run { "what is told above was only counted" } else { "what is told above is done" };
    format!("it broke off: {error}; {done}, {on}").into()
}

fn tell(outcome: &ReplayOutcome, wanted: &Replay) -> Result<(), Failure> {
    if wanted.output.json {
        return say(&json_of(outcome, wanted.dry_run).to_string());
    }
    for line in in_words(outcome, wanted.dry_run) {
        say(&line)?;
    }
    match (outcome.stranded, wanted.to) {
        (0, _) => Ok(()),
        (count, None) => Err(format!(
            "{count} stay as they are because their endpoint was removed, does not exist or is another merchant's; send them to another one of the \
             merchant's with --to ENDPOINT_ID"
        )
        .into()),
        (count, Some(to)) => Err(format!(
            "{count} stay as they are: their endpoint was removed, and {to} was removed too, does not exist or is another merchant's; \
             `dropin merchant show ID` lists a merchant's endpoints"
        )
        .into()),
    }
}

fn json_of(outcome: &ReplayOutcome, dry_run: bool) -> Value {
    let queued = outcome.queued.iter().map(|(endpoint, count)| (endpoint.to_string(), Value::from(*count)));
    json!({
        "DryRun": dry_run,
        "Queued": outcome.total(),
        "ByEndpoint": Map::from_iter(queued),
        "Hurried": outcome.hurried,
        "Waiting": outcome.waiting,
        "Changed": outcome.changed,
        "NotWanted": outcome.unwanted,
        "Stranded": outcome.stranded,
    })
}

/// What came of it but for what could go nowhere.
fn in_words(outcome: &ReplayOutcome, dry_run: bool) -> Vec<String> {
    let ReplayOutcome { queued, hurried, waiting, changed, unwanted, stranded: _ } = outcome;
    let mut lines = vec![match (outcome.total(), dry_run) {
        (1, false) => "1 notification is sent again.".to_owned(),
        (1, true) => "1 notification would be sent again.".to_owned(),
        (count, false) => format!("{count} notifications are sent again."),
        (count, true) => format!("{count} notifications would be sent again."),
    }];
    lines.extend(queued.iter().map(|(endpoint, count)| format!("  {count} to endpoint {endpoint}")));
    let is_due = if dry_run { "would be" } else { "is" };
    for (count, what) in [
        (hurried, format!("waited there for the next try, which {is_due} due at once now.")),
        (waiting, "wait there already.".to_owned()),
        (changed, "stood otherwise by then, or were gone; `dropin notification list` shows how they stand.".to_owned()),
        (
            unwanted,
            "are of a type that their endpoint is not told of; `dropin merchant endpoint set` changes what it is told"
                .to_owned(),
        ),
    ] {
        if 0 < *count {
            lines.push(format!("{count} {what}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_came_of_it_is_told() {
        let endpoint = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().expect("an id");
        let outcome = ReplayOutcome {
            queued: [(endpoint, 2)].into(),
            hurried: 3,
            waiting: 4,
            changed: 5,
            unwanted: 6,
            stranded: 0,
        };
        let told = in_words(&outcome, false).join("\n");
        for words in [
            "2 notifications are sent again.",
            "  2 to endpoint 6f1c",
            "\n3 waited there for the next try, which is due at once now.",
            "\n4 wait there already.",
            "\n5 stood otherwise by then",
            "\n6 are of a type",
        ] {
            assert!(told.contains(words), "{words} is not in\n{told}");
        }
        assert_eq!(in_words(&ReplayOutcome::default(), true), ["0 notifications would be sent again."]);
        let json = json_of(&outcome, false);
        assert_eq!((&json["Queued"], &json["Hurried"], &json["Changed"]), (&json!(2), &json!(3), &json!(5)));
    }

    #[test]
    fn what_broke_off_says_where_to_go_on() {
        let error = StoreError::Unavailable("no answer came within the deadline".to_owned());
        let on = "go on with --since 2026-11-21T12:00:00.000000Z";
        let told = broken_off(&error, on, false).to_string();
        assert!(told.contains("no answer came") && told.ends_with(on) && told.contains("is done"), "{told}");
        let told = broken_off(&error, on, true).to_string();
        assert!(told.ends_with(on) && told.contains("only counted") && !told.contains("done"), "{told}");
    }
}
