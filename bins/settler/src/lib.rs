#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

use std::time::Duration;

use dropin_usecases::payments::Payments;
use dropin_usecases::sessions::Sessions;
use tokio::sync::watch;

/// Operations taken over at once.
const BATCH: u32 = 64;

/// How often to look for due work: an outcome that became known is written down within this.
pub const POLL: Duration = Duration::from_millis(250);

/// What the settler works with.
#[derive(Clone)]
pub struct SettlerDeps {
    /// Operations at the processor.
    pub payments: Payments,
    /// Sessions that expire.
    pub sessions: Sessions,
    /// How often to look for due work.
    pub poll: Duration,
}

/// Works until `stop` turns true; what is under way then is finished first.
pub async fn run(deps: SettlerDeps, mut stop: watch::Receiver<bool>) {
    let operations = operations(&deps, stop.clone());
    let sessions = sessions(&deps, stop.clone());
    log::info!("settler: looking for due work every {} ms", deps.poll.as_millis());
    tokio::join!(operations, sessions);
    // The loops end with the signal; a closed channel means that whoever started us is gone.
    drop(stop.wait_for(|stopping| *stopping).await);
}

async fn operations(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.payments.settle_due(BATCH).await {
            Ok(swept) => swept.looked_at == BATCH as usize,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot claim due operations; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll, &mut stop).await;
        }
    }
}

/// Expired Sessions are a matter of hours; looking every few seconds is plenty.
async fn sessions(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.sessions.expire_due(BATCH).await {
            Ok(expired) => expired == BATCH,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot expire Sessions; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll * 20, &mut stop).await;
        }
    }
}

async fn pause(for_: Duration, stop: &mut watch::Receiver<bool>) {
    // Either ends the pause; which one is seen at the top of the loop.
    drop(tokio::time::timeout(for_, stop.wait_for(|stopping| *stopping)).await);
}
