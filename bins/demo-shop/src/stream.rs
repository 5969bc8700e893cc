//! The live view of the notifications, as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use actix_web::error::Error;
use actix_web::web::{Bytes, Data};
use futures_util::stream::{self, Stream};
use tokio::sync::watch;

use super::ShopState;
use super::purchases::Entry;

/// A comment this often keeps proxies from closing a quiet stream, and lets the server notice a reader that left.
const HEARTBEAT: Duration = Duration::from_secs(15);

enum StreamEvent {
    NewEntries,
    HeartbeatDue,
    Stopped,
}

struct Reader {
    state: Data<ShopState>,
    newest: watch::Receiver<u64>,
    stop: watch::Receiver<bool>,
    after: u64,
    is_opened: bool,
}

/// Everything after entry `after`, then everything that comes, until the shop stops.
pub(super) fn notifications(state: Data<ShopState>, after: u64) -> impl Stream<Item = Result<Bytes, Error>> {
    let (newest, stop) = (state.purchases.watch(), state.stop.clone());
    stream::unfold(Reader { state, newest, stop, after, is_opened: false }, next)
}

async fn next(mut reader: Reader) -> Option<(Result<Bytes, Error>, Reader)> {
    // At once, so that the page knows that it is connected.
    if !reader.is_opened {
        reader.is_opened = true;
        return Some((Ok(Bytes::from_static(b"retry: 2000\n\n")), reader));
    }
    loop {
        reader.newest.mark_unchanged();
        let entries = reader.state.purchases.entries_after(reader.after);
        if let Some(last) = entries.last() {
            reader.after = last.number;
            return Some((Ok(events(&entries)), reader));
        }
        let event = tokio::select! {
            changed = reader.newest.changed() => changed.map_or(StreamEvent::Stopped, |()| StreamEvent::NewEntries),
            _ = reader.stop.wait_for(|stop| *stop) => StreamEvent::Stopped,
            () = tokio::time::sleep(HEARTBEAT) => StreamEvent::HeartbeatDue,
        };
        match event {
            StreamEvent::NewEntries => {}
            StreamEvent::HeartbeatDue => return Some((Ok(Bytes::from_static(b": still here\n\n")), reader)),
            StreamEvent::Stopped => return None,
        }
    }
}

fn events(entries: &[Arc<Entry>]) -> Bytes {
    let mut text = String::new();
    for entry in entries {
        let data = serde_json::to_string(entry.as_ref()).expect("strings and numbers always make JSON");
        text.push_str(&format!("id: {}\nevent: notification\ndata: {data}\n\n", entry.number));
    }
    Bytes::from(text)
}
