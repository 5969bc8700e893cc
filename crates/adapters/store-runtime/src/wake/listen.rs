//! Receives the NOTIFY of other processes, on PostgreSQL.
//!
//! The client library can only be asked whether a notice has come; so it is asked every few milliseconds, which costs no round trip.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use diesel::PgConnection;
use diesel::connection::SimpleConnection;

use super::signal::{CHANNEL, Subscription, WakeSignal};
use crate::config::{DatabaseAddress, SERVICE_DEADLINE};

/// Pause between two looks while notices arrive.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Pause between two looks otherwise: each look costs up to 60 µs of a processor, most of it for waking up.
const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(25);
/// How long after the last notice it counts as busy.
const BUSY_PERIOD: Duration = Duration::from_millis(100);

/// How long the NOTIFY that tests a new connection may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the notifier polls while LISTEN does not work.
const FALLBACK_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Backoff between attempts to LISTEN again: the first, which doubles, and the longest.
const RECONNECT_BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Listens until the signal is closed or the notifier has ended.
pub(super) fn serve(wake_signal: &WakeSignal, address: &DatabaseAddress, subscription: &Subscription) {
    let (mut pause, mut is_logged) = (RECONNECT_BACKOFF.0, false);
    while subscription.is_wanted() {
        let why = match listen(wake_signal, address) {
            Ok(mut connection) => {
                if is_logged {
                    log::info!("notifier: hears again of what other processes commit");
                }
                (pause, is_logged) = (RECONNECT_BACKOFF.0, false);
                subscription.is_listening.store(true, Ordering::Relaxed);
                // Notifications that were committed before LISTEN.
                subscription.notify(None);
                let end = receive(wake_signal, &mut connection, subscription);
                subscription.is_listening.store(false, Ordering::Relaxed);
                let Err(why) = end else { return };
                why
            }
            Err(why) => why,
        };
        if !std::mem::replace(&mut is_logged, true) {
            let (why, every): (Vec<_>, _) = (why.split_whitespace().collect(), FALLBACK_POLL_INTERVAL.as_millis());
            log::warn!(
                "notifier: cannot hear of what other processes commit and looks for it every {every} ms; trying again: {}",
                why.join(" ")
            );
        }
        if poll_until_retry(wake_signal, subscription, pause) {
            return;
        }
        pause = (pause * 2).min(RECONNECT_BACKOFF.1);
    }
}

/// A connection that listens and has received a NOTIFY of another one: behind a pooler that shares connections between transactions, LISTEN
/// succeeds and no NOTIFY ever arrives.
fn listen(wake_signal: &WakeSignal, address: &DatabaseAddress) -> Result<PgConnection, String> {
    let run = |connection: &mut PgConnection, sql: &str| {
        connection.batch_execute(&format!("{sql} {CHANNEL}")).map_err(|error| error.to_string())
    };
    let mut connection = address.connect(SERVICE_DEADLINE, "")?;
    run(&mut connection, "LISTEN")?;
    run(&mut address.connect(SERVICE_DEADLINE, "")?, "NOTIFY")?;
    let give_up = Instant::now() + PROBE_TIMEOUT;
    while !has_notice(&mut connection)? {
        if give_up < Instant::now() {
            return Err("a notice of our own did not arrive: connect past the pooler".to_owned());
        }
        if wake_signal.pause(BUSY_POLL_INTERVAL) {
            break;
        }
    }
    Ok(connection)
}

/// Whether any notice has come since the last time.
fn has_notice(connection: &mut PgConnection) -> Result<bool, String> {
    let mut any = false;
    for notice in connection.notifications_iter() {
        notice.map_err(|error| format!("the connection was lost: {error}"))?;
        any = true;
    }
    Ok(any)
}

/// Wakes the notifier for each notice, until the notifier has ended or the signal is closed.
fn receive(wake_signal: &WakeSignal, connection: &mut PgConnection, subscription: &Subscription) -> Result<(), String> {
    let mut busy_until = Instant::now();
    loop {
        if has_notice(connection)? {
            subscription.notify(Some(&subscription.remote_wake_ups));
            busy_until = Instant::now() + BUSY_PERIOD;
        }
        let pause = if Instant::now() < busy_until { BUSY_POLL_INTERVAL } else { IDLE_POLL_INTERVAL };
        if wake_signal.pause(pause) || !subscription.is_wanted() {
            return Ok(());
        }
    }
}

/// Polling fallback: wakes the notifier at intervals for `pause`. Returns whether the notifier has ended or the signal is closed.
fn poll_until_retry(wake_signal: &WakeSignal, subscription: &Subscription, pause: Duration) -> bool {
    let end = Instant::now() + pause;
    while Instant::now() < end {
        if !subscription.notify(None) || wake_signal.pause(FALLBACK_POLL_INTERVAL.min(pause)) {
            return true;
        }
    }
    false
}
