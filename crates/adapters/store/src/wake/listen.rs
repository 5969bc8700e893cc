//! Hears what other processes tell, on PostgreSQL.
//!
//! The client library can only be asked whether a notice has come; so it is asked every few milliseconds, which costs no round trip.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use diesel::PgConnection;
use diesel::connection::SimpleConnection;

use super::{Bell, CHANNEL, Ear};
use crate::config::SERVICE_DEADLINE;
use crate::connection;

/// How often is asked while notices come.
const BUSY: Duration = Duration::from_millis(2);
/// How often is asked otherwise: each time costs up to 60 µs of a processor, for waking up more than for asking.
const IDLE: Duration = Duration::from_millis(25);
/// How long after the last notice it counts as busy.
const LULL: Duration = Duration::from_millis(100);

/// How long a notice of our own may take until nobody believes in it any more.
const PROBE: Duration = Duration::from_secs(1);

/// How often the notifier is woken blindly while it cannot hear.
const DEAF: Duration = Duration::from_millis(100);
/// Pauses between attempts to hear again: the first, which doubles, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Listens until the bell is closed or the notifier has ended.
pub(super) fn serve(bell: &Bell, url: &str, ear: &Ear) {
    let (mut pause, mut told) = (PAUSES.0, false);
    while ear.is_wanted() {
        let why = match listen(bell, url) {
            Ok(mut connection) => {
                if told {
                    log::info!("notifier: hears again of what other processes commit");
                }
                (pause, told) = (PAUSES.0, false);
                ear.hears.store(true, Ordering::Relaxed);
                // What was committed before anybody listened.
                ear.notify(None);
                let end = hear(bell, &mut connection, ear);
                ear.hears.store(false, Ordering::Relaxed);
                let Err(why) = end else { return };
                why
            }
            Err(why) => why,
        };
        if !std::mem::replace(&mut told, true) {
            let (why, every): (Vec<_>, _) = (why.split_whitespace().collect(), DEAF.as_millis());
            log::warn!(
                "notifier: cannot hear of what other processes commit and looks for it every {every} ms; trying again: {}",
                why.join(" ")
            );
        }
        if wake_blindly(bell, ear, pause) {
            return;
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// A connection that listens, and has heard what was told on another one: behind a pooler that shares connections between transactions LISTEN
/// succeeds, and nothing is ever heard.
fn listen(bell: &Bell, url: &str) -> Result<PgConnection, String> {
    let run = |connection: &mut PgConnection, sql: &str| {
        connection.batch_execute(&format!("{sql} {CHANNEL}")).map_err(|error| error.to_string())
    };
    let mut connection = connection::postgres(url, SERVICE_DEADLINE, "")?;
    run(&mut connection, "LISTEN")?;
    run(&mut connection::postgres(url, SERVICE_DEADLINE, "")?, "NOTIFY")?;
    let give_up = Instant::now() + PROBE;
    while !has_come(&mut connection)? {
        if give_up < Instant::now() {
            return Err("a notice of our own did not arrive: connect past the pooler".to_owned());
        }
        if bell.pause(BUSY) {
            break;
        }
    }
    Ok(connection)
}

/// Whether any notice has come since the last time.
fn has_come(connection: &mut PgConnection) -> Result<bool, String> {
    let mut any = false;
    for notice in connection.notifications_iter() {
        notice.map_err(|error| format!("the connection was lost: {error}"))?;
        any = true;
    }
    Ok(any)
}

/// Wakes the notifier whenever a notice comes, until nobody wants it any more.
fn hear(bell: &Bell, connection: &mut PgConnection, ear: &Ear) -> Result<(), String> {
    let mut busy_until = Instant::now();
    loop {
        if has_come(connection)? {
            ear.notify(Some(&ear.from_elsewhere));
            busy_until = Instant::now() + LULL;
        }
        let pause = if Instant::now() < busy_until { BUSY } else { IDLE };
        if bell.pause(pause) || !ear.is_wanted() {
            return Ok(());
        }
    }
}

/// Lets the notifier look every now and then for so long. Returns whether nobody wants that any more.
fn wake_blindly(bell: &Bell, ear: &Ear, pause: Duration) -> bool {
    let end = Instant::now() + pause;
    while Instant::now() < end {
        if !ear.notify(None) || bell.pause(DEAF.min(pause)) {
            return true;
        }
    }
    false
}
