//! Sends NOTIFY to the notifiers of other processes, on PostgreSQL.

use std::time::{Duration, Instant};

use diesel::PgConnection;
use diesel::connection::SimpleConnection;

use super::signal::{CHANNEL, WakeSignal};
use crate::config::{DatabaseAddress, SERVICE_DEADLINE};

/// Shortest time between two NOTIFYs. The first is sent at once; commits meanwhile share the next one.
const MIN_NOTIFY_INTERVAL: Duration = Duration::from_millis(10);

/// A notice is a transaction of its own, and none of the notifications hangs on it: nobody waits until it stands on the disk. That is said of this
/// transaction alone, so that no payment can inherit it through a pooler.
fn notice() -> String {
    format!("BEGIN; SET LOCAL synchronous_commit = off; NOTIFY {CHANNEL}; COMMIT")
}

/// How long no NOTIFY is tried after the server could not be reached.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Sends NOTIFYs until the signal is closed.
pub(crate) fn serve(wake_signal: &WakeSignal, address: &DatabaseAddress) {
    let mut notifier = NotifyConnection { address, connection: None, again_at: None };
    at_intervals(wake_signal, || notifier.notify());
}

/// Calls `notify` for each signal, for the first at once; for a signal from before the close too.
fn at_intervals(wake_signal: &WakeSignal, mut notify: impl FnMut()) {
    while wake_signal.wait() {
        notify();
        wake_signal.pause(MIN_NOTIFY_INTERVAL);
    }
}

/// The connection that sends NOTIFY; made for the first one.
struct NotifyConnection<'a> {
    address: &'a DatabaseAddress,
    connection: Option<PgConnection>,
    /// Set while it is not worth trying.
    again_at: Option<Instant>,
}

impl NotifyConnection<'_> {
    /// Sends one NOTIFY. One that fails is dropped: notifiers poll as well.
    fn notify(&mut self) {
        if self.again_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        // A connection that was cut while it was idle is found dead now; another one will do.
        let result = self.try_notify().or_else(|_cut| self.try_notify());
        match (result, self.again_at.is_some()) {
            (Ok(()), _) => self.again_at = None,
            (Err(why), was_away) => {
                if !was_away {
                    let why: Vec<_> = why.split_whitespace().collect();
                    log::warn!(
                        "cannot wake notifiers of other processes, they find what is new by looking: {}",
                        why.join(" ")
                    );
                }
                self.again_at = Some(Instant::now() + RETRY_DELAY);
            }
        }
    }

    fn try_notify(&mut self) -> Result<(), String> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.address.connect(SERVICE_DEADLINE, "")?,
        };
        connection.batch_execute(&notice()).map_err(|error| error.to_string())?;
        self.connection = Some(connection);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thousand_commits_in_a_tenth_of_a_second_send_a_dozen_notifies() {
        let (wake_signal, mut sent_count) = (WakeSignal::default(), 0);
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| at_intervals(&wake_signal, || sent_count += 1));
            for number in 1..=1_000 {
                while begun.elapsed() < Duration::from_micros(100) * number {
                    thread::yield_now();
                }
                wake_signal.send();
            }
            wake_signal.close();
        });
        // The first, one for each interval that passed, and the last signal from before the close.
        let most = 2 + begun.elapsed().as_millis() / MIN_NOTIFY_INTERVAL.as_millis();
        assert!((2..=most).contains(&sent_count), "{sent_count} of at most {most}");
    }

    #[test]
    fn the_first_notify_is_sent_at_once() {
        let wake_signal = WakeSignal::default();
        thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let sent = Instant::now();
            wake_signal.send();
            scope.spawn(|| at_intervals(&wake_signal, move || sender.send(Instant::now()).expect("somebody counts")));
            let first = receiver.recv().expect("sent");
            assert!(first.duration_since(sent) < Duration::from_secs(1));
            wake_signal.close();
        });
    }
}
