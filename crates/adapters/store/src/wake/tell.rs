//! Tells the notifiers of other processes, on PostgreSQL.

use std::time::{Duration, Instant};

use diesel::PgConnection;
use diesel::connection::SimpleConnection;

use super::{Bell, CHANNEL};
use crate::config::SERVICE_DEADLINE;
use crate::connection;

/// Shortest time between two notices. The first goes at once; what is committed meanwhile is told with the next one.
const APART: Duration = Duration::from_millis(10);

/// A notice is a transaction of its own, and none of the notifications hangs on it: nobody waits until it stands on the disk. That is said of this
/// transaction alone, so that no payment can inherit it through a pooler.
fn notice() -> String {
    format!("BEGIN; SET LOCAL synchronous_commit = off; NOTIFY {CHANNEL}; COMMIT")
}

/// How long nothing is tried after the server could not be reached.
const PAUSE: Duration = Duration::from_secs(1);

/// Tells until the bell is closed.
pub(crate) fn serve(bell: &Bell, url: &str) {
    let mut line = Line { url, connection: None, again_at: None };
    at_intervals(bell, || line.tell());
}

/// Tells when the bell is rung, the first time at once; what was rung before it was closed too.
fn at_intervals(bell: &Bell, mut tell: impl FnMut()) {
    while bell.wait_for_ring() {
        tell();
        bell.pause(APART);
    }
}

/// The connection on which is told; there from the first notice on.
struct Line<'a> {
    url: &'a str,
    connection: Option<PgConnection>,
    /// Set while it is not worth trying.
    again_at: Option<Instant>,
}

impl Line<'_> {
    /// Tells once. One that cannot be told is forgotten: notifiers look by themselves.
    fn tell(&mut self) {
        if self.again_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        // A connection that was cut while it was idle is found dead now; another one will do.
        let told = self.try_to_tell().or_else(|_cut| self.try_to_tell());
        match (told, self.again_at.is_some()) {
            (Ok(()), _) => self.again_at = None,
            (Err(why), was_away) => {
                if !was_away {
                    let why: Vec<_> = why.split_whitespace().collect();
                    log::warn!(
                        "cannot wake notifiers of other processes, they find what is new by looking: {}",
                        why.join(" ")
                    );
                }
                self.again_at = Some(Instant::now() + PAUSE);
            }
        }
    }

    fn try_to_tell(&mut self) -> Result<(), String> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connection::postgres(self.url, SERVICE_DEADLINE, "")?,
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
    fn a_thousand_commits_in_a_tenth_of_a_second_are_told_a_dozen_times() {
        let (bell, mut told) = (Bell::default(), 0);
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| at_intervals(&bell, || told += 1));
            for number in 1..=1_000 {
                while begun.elapsed() < Duration::from_micros(100) * number {
                    thread::yield_now();
                }
                bell.ring();
            }
            bell.close();
        });
        // The first, one for each interval that passed, and the last that was rung before the end.
        let most = 2 + begun.elapsed().as_millis() / APART.as_millis();
        assert!((2..=most).contains(&told), "{told} of at most {most}");
    }

    #[test]
    fn the_first_is_told_at_once() {
        let bell = Bell::default();
        thread::scope(|scope| {
            let (told, telling) = std::sync::mpsc::channel();
            let rung = Instant::now();
            bell.ring();
            scope.spawn(|| at_intervals(&bell, move || told.send(Instant::now()).expect("somebody counts")));
            let first = telling.recv().expect("told");
            assert!(first.duration_since(rung) < Duration::from_secs(1));
            bell.close();
        });
    }
}
