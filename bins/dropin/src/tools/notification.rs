//! `dropin notification …`

use dropin_boot::{Failure, SystemClock};
use dropin_kernel::EndpointId;
use dropin_ports::{Clock, OutboxStore, ParkedEvent, Replayed};
use dropin_store::Store;
use serde_json::{Value, json};

use super::{MOST, say, say_lines};
use crate::cli::{Output, Replay};

/// Notifications that were given up.
pub(super) async fn list_parked(store: &Store, output: Output) -> Result<(), Failure> {
    let parked = store.list_parked(MOST).await?;
    if output.json {
        let rows = parked.iter().map(|event| {
            json!({
                "EventId": event.event_id.to_string(),
                "EventType": event.event_type,
                "MerchantId": event.merchant_id.to_string(),
                "EndpointId": event.endpoint_id.to_string(),
                "PaymentId": event.payment_id.to_string(),
                "Attempts": event.attempts,
                "ParkedAt": event.parked_at.to_string(),
            })
        });
        return say(&Value::from_iter(rows).to_string());
    }
    let lines = parked.iter().map(|event| {
        let ParkedEvent { event_id, parked_at, merchant_id, event_type, attempts, .. } = event;
        format!("{event_id}  {parked_at}  merchant {merchant_id}  {event_type}  {attempts} tries")
    });
    say_lines(lines, "No notification is parked.")
}

/// Sends one notification again, or all that are parked: where they were to go, or to another endpoint where that one was removed.
pub(super) async fn replay(store: &Store, wanted: &Replay) -> Result<(), Failure> {
    let id = wanted.which.id;
    let mut replayed = 0;
    let stranded = loop {
        let parked = store.list_parked(MOST).await?;
        let (mut now_replayed, mut stranded) = (0, 0);
        for event in parked.iter().filter(|event| id.is_none_or(|id| id == event.event_id)) {
            match replay_one(store, event, wanted.to).await? {
                Replayed::Done => now_replayed += 1,
                Replayed::NoEndpoint => stranded += 1,
                Replayed::NotParked => {}
            }
        }
        if now_replayed == 0 {
            break stranded;
        }
        replayed += now_replayed;
    };
    match (replayed, id) {
        (0, Some(id)) if stranded == 0 => {
            return Err(format!("{id} is not parked; `dropin notification list --state parked` shows what is").into());
        }
        (1, _) => say("1 notification is sent again.")?,
        (count, _) => say(&format!("{count} notifications are sent again."))?,
    }
    match (stranded, wanted.to) {
        (0, _) => Ok(()),
        (count, None) => Err(format!(
            "{count} stay parked because their endpoint was removed; send them to another one of the merchant's with --to ENDPOINT_ID"
        )
        .into()),
        (count, Some(to)) => Err(format!(
            "{count} stay parked: their endpoint was removed, and {to} was removed too, does not exist or is another merchant's; \
             `dropin merchant show ID` lists a merchant's endpoints"
        )
        .into()),
    }
}

async fn replay_one(store: &Store, event: &ParkedEvent, to: Option<EndpointId>) -> Result<Replayed, Failure> {
    let now = SystemClock.now();
    let own = store.replay_parked(event.event_id, event.endpoint_id, event.endpoint_id, now).await?;
    match (own, to) {
        (Replayed::NoEndpoint, Some(to)) => Ok(store.replay_parked(event.event_id, event.endpoint_id, to, now).await?),
        (own, _) => Ok(own),
    }
}
