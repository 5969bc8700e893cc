//! `dropin merchant endpoint …`

use std::collections::HashMap;

use dropin_access::{Endpoint, EndpointSettings};
use dropin_boot::Failure;
use dropin_ports::{BacklogStore, EndpointStatus, LastAttempt, STATUS_COUNT_LIMIT};
use dropin_store::Store;
use dropin_usecases::access::{EndpointUpdate, Merchants};
use serde_json::{Map, Value, json};

use super::args::EndpointCommand;
use super::{explain, say, say_lines, tell};

pub(super) async fn run(merchants: &Merchants, store: &Store, command: &EndpointCommand) -> Result<(), Failure> {
    match command {
        EndpointCommand::Add { id, url, events, retry, output } => {
            let settings = EndpointSettings { events: events.clone(), retry: retry.clone() };
            let added = merchants.add_endpoint(*id, url, settings).await.map_err(explain)?;
            let (id, secret) = (added.endpoint_id, &added.webhook_secret);
            let shown = json!({ "EndpointId": id.to_string(), "Url": added.url, "WebhookSecret": secret });
            tell(*output, &shown, || {
                format!(
                    "EndpointId      {id}\nWebhook secret  {secret}\n\nKeep the webhook secret now: it cannot be shown again."
                )
            })
        }
        EndpointCommand::List { id, output } => {
            let endpoints = merchants.endpoints(*id).await.map_err(explain)?;
            let statuses = store.endpoint_statuses(*id).await?.into_iter().map(|one| (one.endpoint_id, one));
            let statuses: HashMap<_, _> = statuses.collect();
            // An endpoint that was added or removed between the two reads has none.
            let stands = |endpoint: &Endpoint| statuses.get(&endpoint.id);
            if output.json {
                let all = endpoints.iter().map(|one| with_status(shown(one), stands(one)));
                return say(&Value::from_iter(all).to_string());
            }
            say_lines(
                endpoints.iter().map(|one| line(one) + &stands(one).map(in_words).unwrap_or_default()),
                "It has no endpoint; add one with `dropin merchant endpoint add ID --url URL`.",
            )
        }
        EndpointCommand::Set { id, settings, output } => {
            let update = EndpointUpdate {
                url: settings.url.clone(),
                events: settings.events.clone().map(Some).or(settings.all_events.then_some(None)),
                retry: settings.retry.clone().map(Some).or(settings.standard_retry.then_some(None)),
            };
            merchants.set_endpoint(*id, update.clone()).await.map_err(explain)?;
            tell(*output, &json_of(&id.to_string(), &update), || said(&update))
        }
        EndpointCommand::Remove { id, output } => {
            let parked = merchants.remove_endpoint(*id).await.map_err(explain)?;
            let shown = json!({ "EndpointId": id.to_string(), "Parked": parked });
            tell(*output, &shown, || match parked {
                0 => "Nothing is sent there any more; nothing waited for it.".to_owned(),
                _ => format!(
                    "Nothing is sent there any more. Parked, because they waited for it: {parked}; \
                     `dropin notification replay --endpoint {id} --to ENDPOINT_ID` sends them to another endpoint of the merchant's."
                ),
            })
        }
    }
}

/// An endpoint as JSON; `null` for what is as everywhere.
pub(super) fn shown(endpoint: &Endpoint) -> Value {
    let EndpointSettings { events, retry } = &endpoint.settings;
    let mut shown = Map::new();
    shown.insert("EndpointId".to_owned(), endpoint.id.to_string().into());
    shown.insert("Url".to_owned(), endpoint.url.clone().into());
    shown.insert("Events".to_owned(), events.as_ref().map(ToString::to_string).into());
    shown.insert("Retry".to_owned(), retry.as_ref().map(ToString::to_string).into());
    if let Some(old) = &endpoint.previous {
        shown.insert("OldSecretUntil".to_owned(), old.until.to_string().into());
    }
    shown.into()
}

/// An endpoint on a line of its own, with what is particular about it.
fn line(endpoint: &Endpoint) -> String {
    let EndpointSettings { events, retry } = &endpoint.settings;
    let events = events.as_ref().map(|events| format!("  events {events}")).unwrap_or_default();
    let retry = retry.as_ref().map(|retry| format!("  retry {retry}")).unwrap_or_default();
    format!("{}  {}{events}{retry}", endpoint.id, endpoint.url)
}

/// How it stands, behind that.
fn in_words(endpoint_status: &EndpointStatus) -> String {
    let counted =
        |count: u32| if count < STATUS_COUNT_LIMIT { count.to_string() } else { format!("{STATUS_COUNT_LIMIT}+") };
    let waiting = match endpoint_status.oldest_due {
        Some(due) => format!("  waiting {} first due {due}", counted(endpoint_status.waiting)),
        None => "  waiting 0".to_owned(),
    };
    let tried = endpoint_status.last_attempt.as_ref().map(|LastAttempt { started_at, status, why }| {
        let came = match (status, why) {
            (Some(status), _) => format!("answered {status}"),
            (None, why) => why.clone().unwrap_or_else(|| "no answer".to_owned()),
        };
        format!("  last try {started_at} {came}")
    });
    format!("{waiting}{}  parked {}", tried.unwrap_or_default(), counted(endpoint_status.parked))
}

/// The same as JSON, where counts end at 10,000.
fn with_status(mut shown: Value, endpoint_status: Option<&EndpointStatus>) -> Value {
    if let Some(EndpointStatus { waiting, oldest_due, parked, last_attempt, .. }) = endpoint_status {
        shown["Waiting"] = (*waiting).into();
        shown["OldestDue"] = oldest_due.map(|due| due.to_string()).into();
        shown["LastTry"] = last_attempt.as_ref().map(of_try).into();
        shown["Parked"] = (*parked).into();
    }
    shown
}

fn of_try(LastAttempt { started_at, status, why }: &LastAttempt) -> Value {
    json!({ "StartedAt": started_at.to_string(), "Status": status, "Why": why })
}

/// What was set, and nothing else.
fn json_of(id: &str, update: &EndpointUpdate) -> Value {
    let mut shown = Map::new();
    shown.insert("EndpointId".to_owned(), id.into());
    if let Some(url) = &update.url {
        shown.insert("Url".to_owned(), url.clone().into());
    }
    if let Some(events) = &update.events {
        shown.insert("Events".to_owned(), events.as_ref().map(ToString::to_string).into());
    }
    if let Some(retry) = &update.retry {
        shown.insert("Retry".to_owned(), retry.as_ref().map(ToString::to_string).into());
    }
    shown.into()
}

fn said(update: &EndpointUpdate) -> String {
    let url = update.url.as_ref().map(|url| format!("What waits and what comes goes to {url} now."));
    let events = update.events.as_ref().map(|events| match events {
        Some(events) => format!("It is told of {events} now; what waits of other events is left out."),
        None => "It is told of everything now; what was left out stays so.".to_owned(),
    });
    let retry = update.retry.as_ref().map(|retry| match retry {
        Some(retry) => format!("What fails from now on is tried again by {retry}."),
        None => "What fails from now on is tried again as the notifier does by itself.".to_owned(),
    });
    [url, events, retry].into_iter().flatten().collect::<Vec<_>>().join("\n")
}
