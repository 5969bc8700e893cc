//! `dropin notification …`

mod args;
mod replay;

use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_boot::{Failure, SystemClock, SystemIds};
use dropin_ports::{
    Acting, AuditLog, AuditSubject, DeliveryState, DeliveryStatus, Notification, NotificationDetails,
    NotificationQuery, PastAttempt,
};
use dropin_store::Store;
use dropin_usecases::audit_log::AuditWriter;
use dropin_usecases::notifications::{DiscardError, DiscardOrder, DiscardWhich, Notifications};
use dropin_validation::Text;
use serde_json::{Map, Value, json};

use super::acting::writer;
use super::{Cli, acting, say, say_lines};

pub(crate) use args::NotificationCommand;
pub(super) use args::moment;
use args::{Discard, ListNotifications, Purge, ShowNotification};

/// Runs one of the commands.
pub(super) async fn run(cli: &Cli, store: &Store, command: &NotificationCommand) -> Result<(), Failure> {
    let notifications =
        Notifications { store: Arc::new(store.clone()), clock: Arc::new(SystemClock), ids: Arc::new(SystemIds) };
    match command {
        NotificationCommand::List(wanted) => list(&notifications, wanted).await,
        NotificationCommand::Show(wanted) => show(&notifications, wanted).await,
        NotificationCommand::Replay(wanted) => replay::run(&notifications, acting(cli)?, wanted).await,
        NotificationCommand::Discard(wanted) => discard(&notifications, acting(cli)?, wanted).await,
        NotificationCommand::Purge(wanted) => purge(&notifications, store, &writer(cli)?, wanted).await,
    }
}

async fn list(notifications: &Notifications, wanted: &ListNotifications) -> Result<(), Failure> {
    let mut query = NotificationQuery {
        filter: wanted.chosen.filter(),
        after: wanted.after,
        oldest_first: false,
        limit: wanted.limit,
    };
    let mut found = Vec::new();
    // One query scans a bounded number of events; go on until the page is full or there are no more.
    loop {
        let page = notifications.list(query.clone()).await?;
        query.limit -= u32::try_from(page.notifications.len()).unwrap_or(query.limit).min(query.limit);
        found.extend(page.notifications);
        query.after = page.next;
        if query.after.is_none() || query.limit == 0 {
            break;
        }
    }
    if wanted.output.json {
        return say(&Value::from_iter(found.iter().map(|one| Value::from(of(one)))).to_string());
    }
    let more = query.after.map(|after| format!("There may be more: --after {after}"));
    let lines = found.iter().flat_map(in_lines).chain(more.filter(|_| !found.is_empty()));
    say_lines(lines, if wanted.chosen.filter().state == Some(DeliveryState::Parked) { NONE_PARKED } else { NONE })
}

const NONE: &str = "There is no such notification.";
const NONE_PARKED: &str = "No notification is parked.";

/// One line for each endpoint.
fn in_lines(one: &Notification) -> Vec<String> {
    let Notification { event_id, merchant_id, payment_id, sequence, event_type, happened_at, statuses } = one;
    let about =
        format!("{event_id}  {happened_at}  {event_type}  merchant {merchant_id}  payment {payment_id} no. {sequence}");
    match statuses.as_slice() {
        [] => vec![format!("{about}  told to no endpoint")],
        _ => statuses.iter().map(|status| format!("{about}  {}", at_endpoint(status))).collect(),
    }
}

fn at_endpoint(status: &DeliveryStatus) -> String {
    let DeliveryStatus { endpoint_id, removed, state, tries, due_at, parked_at, delivered_at, wanted: _ } = status;
    let when = match (state, due_at, parked_at, delivered_at) {
        (DeliveryState::Pending, Some(due), ..) => format!(", due {due}"),
        (DeliveryState::Pending, None, ..) => ", behind the one before".to_owned(),
        (DeliveryState::Parked, _, Some(at), _) | (DeliveryState::Delivered, _, _, Some(at)) => format!(" {at}"),
        _ => String::new(),
    };
    let removed = if *removed { ", which was removed" } else { "" };
    let tries = if *tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
    format!("{}{when}  {tries}  endpoint {endpoint_id}{removed}", state.as_str())
}

async fn show(notifications: &Notifications, wanted: &ShowNotification) -> Result<(), Failure> {
    let file = notifications.show(wanted.id).await?.ok_or_else(|| unknown(&wanted.id))?;
    let body = wanted.body.then(|| String::from_utf8_lossy(&file.body).into_owned());
    if wanted.output.json {
        let mut shown = of(&file.notification);
        shown.insert("Attempts".to_owned(), Value::from_iter(file.tries.iter().map(of_try)));
        if let Some(body) = body {
            shown.insert("Body".to_owned(), body.into());
        }
        return say(&Value::from(shown).to_string());
    }
    say(&file_in_words(&file, body))
}

fn unknown(id: &impl std::fmt::Display) -> Failure {
    format!("there is no notification {id} here; `dropin notification list` shows those there are").into()
}

fn file_in_words(file: &NotificationDetails, body: Option<String>) -> String {
    let one = &file.notification;
    let mut lines = vec![
        format!("Notification  {}", one.event_id),
        format!("Type          {}", one.event_type),
        format!("Merchant      {}", one.merchant_id),
        format!("Payment       {} no. {}", one.payment_id, one.sequence),
        format!("Happened      {}", one.happened_at),
    ];
    let mut list = |name: &str, of: Vec<String>, none: &str| {
        lines.push(format!("\n{name}"));
        let none = of.is_empty().then(|| none.to_owned());
        lines.extend(of.into_iter().chain(none).map(|line| format!("  {line}")));
    };
    list("Endpoints", one.statuses.iter().map(at_endpoint).collect(), "It was told to no endpoint.");
    list("Attempts", file.tries.iter().map(try_line).collect(), "None is known.");
    if let Some(body) = body {
        list("Body", vec![body], "");
    }
    lines.join("\n")
}

/// What came of a try, on one line. Whatever the endpoint answered cannot steer a terminal.
fn try_line(one: &PastAttempt) -> String {
    let came = match (one.status, &one.why) {
        (Some(status), _) => format!("answered {status}"),
        (None, Some(why)) => why.clone(),
        (None, None) => "no answer".to_owned(),
    };
    let answer = match String::from_utf8_lossy(&one.answer).escape_debug().to_string() {
        answer if answer.is_empty() => answer,
        answer => format!("  {answer}"),
    };
    let PastAttempt { started_at, attempt, took, endpoint_id, .. } = one;
    format!("{started_at}  no. {attempt}  {} ms  endpoint {endpoint_id}  {came}{answer}", took.as_millis())
}

/// Who asks, as it is kept. Where nobody is logged in, as in a container, there is no name.
fn operator(given: Option<&str>) -> Result<String, Failure> {
    let name = given.filter(|name| !name.is_empty()).unwrap_or("command line");
    let name =
        Text::parse("--as", name).map_err(|violation| format!("the name that --as gives {}", violation.message))?;
    Ok(name.as_str().to_owned())
}

async fn discard(notifications: &Notifications, acting: Acting, wanted: &Discard) -> Result<(), Failure> {
    wanted.check()?;
    let which = match wanted.id {
        Some(event) => DiscardWhich::One { event, endpoint: wanted.chosen.endpoint },
        None => DiscardWhich::All(wanted.chosen.filter()),
    };
    let by = operator(wanted.operator.as_deref())?;
    let order = DiscardOrder { which, by, acting, dry_run: wanted.dry_run };
    let (done, broke_off) = match (notifications.discard(&order).await, wanted.id) {
        (Ok(done), _) => (done, None),
        (Err(DiscardError::NotFound), Some(id)) => return Err(unknown(&id)),
        (Err(DiscardError::Store { error, done }), _) => (done, Some(error)),
        (Err(error), _) => return Err(error.into()),
    };
    if wanted.output.json {
        say(&json!({ "DryRun": wanted.dry_run, "Discarded": done }).to_string())?;
    } else {
        say(&match (done, wanted.dry_run) {
            (1, false) => "1 parked notification is discarded.".to_owned(),
            (1, true) => "1 parked notification would be discarded.".to_owned(),
            (count, false) => format!("{count} parked notifications are discarded."),
            (count, true) => format!("{count} parked notifications would be discarded."),
        })?;
    }
    match broke_off {
        Some(error) => Err(format!("it broke off: {error}; the same command goes on with the others").into()),
        None => Ok(()),
    }
}

async fn purge(
    notifications: &Notifications,
    store: &Store,
    writer: &AuditWriter,
    wanted: &Purge,
) -> Result<(), Failure> {
    if !wanted.dry_run {
        // Deleting is many transactions: the entry comes before the first.
        let entry = writer.entry(None, AuditAction::NotificationPurge, AuditSubject::deployment());
        store.append_audit_entry(entry).await?;
    }
    let purged = notifications.purge(wanted.retention.retention(), wanted.dry_run).await?;
    if wanted.output.json {
        let shown = json!({ "DryRun": wanted.dry_run, "Events": purged.events, "Attempts": purged.tries });
        return say(&shown.to_string());
    }
    let done = if wanted.dry_run { "would be deleted" } else { "are deleted" };
    say(&format!("{} old notifications and {} attempts {done}.", purged.events, purged.tries))
}

fn of(one: &Notification) -> Map<String, Value> {
    let shown = json!({
        "EventId": one.event_id.to_string(),
        "EventType": one.event_type,
        "MerchantId": one.merchant_id.to_string(),
        "PaymentId": one.payment_id.to_string(),
        "Sequence": one.sequence,
        "HappenedAt": one.happened_at.to_string(),
        "Endpoints": Value::from_iter(one.statuses.iter().map(of_status)),
    });
    match shown {
        Value::Object(shown) => shown,
        _ => Map::new(),
    }
}

fn of_status(status: &DeliveryStatus) -> Value {
    let mut shown = json!({
        "EndpointId": status.endpoint_id.to_string(),
        "State": status.state.as_str(),
        "Attempts": status.tries,
    });
    for (member, value) in [
        ("Removed", status.removed.then(|| Value::from(true))),
        ("DueAt", status.due_at.map(|at| at.to_string().into())),
        ("ParkedAt", status.parked_at.map(|at| at.to_string().into())),
        ("DeliveredAt", status.delivered_at.map(|at| at.to_string().into())),
    ] {
        if let Some(value) = value {
            shown[member] = value;
        }
    }
    shown
}

fn of_try(one: &PastAttempt) -> Value {
    json!({
        "EndpointId": one.endpoint_id.to_string(),
        "Attempt": one.attempt,
        "StartedAt": one.started_at.to_string(),
        "TookMilliseconds": u64::try_from(one.took.as_millis()).unwrap_or(u64::MAX),
        "Status": one.status,
        "Why": one.why,
        "Answer": String::from_utf8_lossy(&one.answer),
    })
}
