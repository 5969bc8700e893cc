//! Those who write notifications while they are delivered, each at its moment, whether the last one took long or not; on PostgreSQL each as a
//! transaction of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::delivery_log::{NotificationKey, PER_PAYMENT};
use super::sql;
use super::testbed::{Testbed, WRITER};
use crate::bench::deployment::Database;
use crate::bench::usage;
use crate::failure::{Context, Failure, Outcome};
use crate::programs::Programs;

/// Between the notifications of one payment a writer begins so many others.
const PAYMENTS_BETWEEN_EVENTS: u32 = 20;
/// How long the server may be away.
const MAX_SERVER_OUTAGE: Duration = Duration::from_secs(60);
/// How often at most a program wakes others.
const WAKE_DEBOUNCE: Duration = Duration::from_millis(10);
/// No run is as long.
const SHELL_TIMEOUT: Duration = Duration::from_secs(3 * 3_600);

/// What is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) per_second: u32,
    pub(crate) seconds: u32,
}

impl Load {
    /// Whole payments.
    pub(crate) fn payments(self) -> u32 {
        self.per_second * self.seconds / PER_PAYMENT
    }
}

/// What it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Processor time of the server's processes that served it; seconds.
    pub(crate) server: f64,
    pub(crate) events: u64,
    pub(crate) transactions: u64,
    /// The longest that one was late.
    pub(crate) late: Duration,
}

/// Connections that are ready to write.
pub(crate) struct Writers {
    shells: Vec<Shell>,
    /// Sends the wake signal; none on SQLite.
    waker: Option<Shell>,
}

impl Writers {
    /// Several where the database takes several writers.
    pub(crate) fn ready(bench: &Programs, testbed: &Testbed) -> Outcome<Self> {
        let is_postgres = testbed.deployment.is_postgres();
        let writer_count = if is_postgres { 4 } else { 1 };
        let shells = (0..writer_count).map(|_| Shell::start(bench, testbed, sql::PREPARE));
        let shells = shells.collect::<Outcome<_>>()?;
        let waker = is_postgres.then(|| Shell::start(bench, testbed, "SET synchronous_commit = off;")).transpose()?;
        Ok(Self { shells, waker })
    }

    /// Writes all of it while `other` is done; stops when that fails. `shop_of` says whose a payment is.
    pub(crate) fn write<T>(
        self,
        testbed: &Testbed,
        load: Load,
        shop_of: impl Fn(u32) -> usize + Send + Sync,
        other: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<(T, Written)> {
        run_both(other, |stop| self.write_until(testbed, load, shop_of, stop))
    }

    /// Writes until it is all written, or `stop` is set.
    fn write_until(
        self,
        testbed: &Testbed,
        load: Load,
        shop_of: impl Fn(u32) -> usize + Sync,
        stop: &AtomicBool,
    ) -> Outcome<Written> {
        let (began, writer_count) = (Instant::now(), self.shells.len() as u32);
        let (tell, news) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || self.waker.map(|waker| wake(waker, &news)));
            let writing = (0..).zip(self.shells).map(|(number, shell)| {
                let (shop_of, tell) = (&shop_of, tell.clone());
                let moments = moments(load, number, writer_count).take_while(|_| !stop.load(Ordering::Relaxed));
                scope.spawn(move || work(shell, testbed, began, moments, shop_of, &tell))
            });
            let writing: Vec<_> = writing.collect();
            // The waker ends with the last of those who tell it something.
            drop(tell);
            let written = writing.into_iter().map(|writer| joined(writer.join())).collect::<Outcome<Vec<Written>>>()?;
            Ok(written.into_iter().fold(Written::default(), Written::plus))
        })
    }
}

impl Written {
    fn plus(self, other: Self) -> Self {
        Self {
            server: self.server + other.server,
            events: self.events + other.events,
            transactions: self.transactions + other.transactions,
            late: self.late.max(other.late),
        }
    }
}

/// Does `other` while `write` runs on a thread of its own, which is told to stop when `other` fails.
fn run_both<T, W: Send>(
    other: impl FnOnce() -> Outcome<T>,
    write: impl FnOnce(&AtomicBool) -> Outcome<W> + Send,
) -> Outcome<(T, W)> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(&stop));
        let other = other().inspect_err(|_| stop.store(true, Ordering::Relaxed));
        let written = joined(writing.join());
        Ok((other?, written?))
    })
}

/// One writer: each notification at its moment.
fn work(
    mut shell: Shell,
    testbed: &Testbed,
    began: Instant,
    moments: impl Iterator<Item = (NotificationKey, Duration)>,
    shop_of: &impl Fn(u32) -> usize,
    tell: &Sender<()>,
) -> Outcome<Written> {
    let database = testbed.deployment.database;
    // What is due within such a time is written with one commit: SQLite's one writer in the all-in-one does so with what waits.
    let batch_window = Duration::from_millis(if database == Database::Sqlite { 20 } else { 0 });
    let mut written = Written::default();
    let mut moments = moments.peekable();
    while let Some((first, at)) = moments.next() {
        let mut batch = vec![first];
        while let Some((key, _)) = moments.next_if(|(_, next)| *next < at + batch_window) {
            batch.push(key);
        }
        std::thread::sleep((began + at).saturating_duration_since(Instant::now()));
        written.late = written.late.max(began.elapsed().saturating_sub(at));
        let sql = batch.iter().map(|key| sql::enqueue(database, *key, &testbed.shops[shop_of(key.payment)]));
        shell.write(&sql.collect::<Vec<_>>().join("\n"))?;
        batch.iter().for_each(|key| testbed.delivery_log.record_committed(*key));
        // On SQLite nobody listens.
        let _ = tell.send(());
        written.events += batch.len() as u64;
        written.transactions += 1;
    }
    written.server = shell.server_process.map(usage::cpu_of).transpose()?.unwrap_or_default().as_secs_f64();
    Ok(written)
}

fn joined<T>(ended: std::thread::Result<Outcome<T>>) -> Outcome<T> {
    ended.unwrap_or_else(|_panicked| Err(Failure::new("a writer broke; its words stand above")))
}

/// What one of the writers writes, and when: every third moment begins a payment, the others go on with one of before.
fn moments(load: Load, writer_number: u32, writer_count: u32) -> impl Iterator<Item = (NotificationKey, Duration)> {
    let payments = (load.payments() + writer_count - 1 - writer_number) / writer_count;
    let between = Duration::from_secs(1) * writer_count / load.per_second.max(1);
    let turns = (0..payments + PAYMENTS_BETWEEN_EVENTS * (PER_PAYMENT - 1)).flat_map(move |turn| {
        (0..PER_PAYMENT).filter_map(move |at| {
            let number = turn.checked_sub(at * PAYMENTS_BETWEEN_EVENTS).filter(|number| *number < payments)?;
            Some(NotificationKey { payment: number * writer_count + writer_number, sequence: at + 1 })
        })
    });
    (0..).map(move |tick| between * tick + between * writer_number / writer_count).zip(turns).map(|(at, key)| (key, at))
}

/// What SQLite's shell or psql says of a transaction that was committed: psql's is SQLSTATE.
const DONE: &str = "00000";
/// How the SQLSTATE of a connection that is lost begins: connection exceptions, and a server that ends or starts.
const LOST_STATES: [&str; 2] = ["08", "57P"];

/// What the shell's answer to a transaction means.
#[derive(Debug, PartialEq)]
enum Verdict {
    Committed,
    /// The connection is lost, before or after the commit; another one may serve.
    Disconnected,
    Refused,
}

impl Verdict {
    /// Of what the shell says, "SQLSTATE message"; the state is empty where it is libpq that says it.
    fn of(said: &str) -> Self {
        match said.split(' ').next().unwrap_or_default() {
            DONE => Self::Committed,
            state if state.is_empty() || LOST_STATES.iter().any(|start| state.starts_with(start)) => Self::Disconnected,
            // Another connection was lost after the commit of this very notification.
            _ if said.contains("outbox_event_id_key") => Self::Committed,
            _ => Self::Refused,
        }
    }
}

struct Shell {
    /// Starts it again after the server went away.
    command: Command,
    setup: String,
    /// What a transaction stands between.
    frame: [&'static str; 2],
    process: Option<(Child, ChildStdin, BufReader<ChildStdout>)>,
    /// Whether a server is behind it, which may be away for a while.
    is_server: bool,
    /// The server's process that serves it.
    server_process: Option<u32>,
}

impl Shell {
    fn start(bench: &Programs, testbed: &Testbed, setup: &str) -> Outcome<Self> {
        let mut command = bench.tool("stdbuf", SHELL_TIMEOUT);
        command.arg("-oL").stdin(Stdio::piped()).stdout(Stdio::piped());
        let (setup, frame) = match testbed.deployment.database {
            Database::Postgres => {
                let url = testbed.deployment.postgres_url(bench).replace("postgres@", &format!("{WRITER}@"));
                // What it says of a server that has died is not worth telling.
                command.args(["psql", "-X", "-q", "-A", "-t", &url]).stderr(Stdio::null());
                (setup.to_owned(), ["", "\\echo :SQLSTATE :LAST_ERROR_MESSAGE"])
            }
            Database::Sqlite => {
                command.args(["sqlite3", "-batch", "-bail", "-cmd", ".timeout 60000"]).arg(testbed.deployment.file());
                // As the store does: with each commit the log is on the disk. The last one answers with a line.
                let settings = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;\n".to_owned();
                (settings, ["BEGIN IMMEDIATE;\n", "COMMIT;\n.print 00000"])
            }
        };
        let is_server = testbed.deployment.is_postgres();
        let mut shell = Self { command, setup, frame, is_server, process: None, server_process: None };
        let said = shell.connect()?;
        if Verdict::of(&said) == Verdict::Committed { Ok(shell) } else { Err(refused(&said)) }
    }

    /// Starts the shell and prepares its connection; what it says of that.
    fn connect(&mut self) -> Outcome<String> {
        let mut process = self.command.spawn().context(|| "start a database's shell".to_owned())?;
        let (orders, answers) = (process.stdin.take(), process.stdout.take());
        let orders = orders.expect("it was started with a pipe");
        let answers = BufReader::new(answers.expect("it was started with a pipe"));
        self.process = Some((process, orders, answers));
        let setup = self.setup.clone();
        if !self.is_server {
            return self.run(&setup).map(|_| DONE.to_owned());
        }
        let said = self.run_framed(&setup)?;
        self.server_process = self.run("SELECT pg_backend_pid();\n")?.parse().ok();
        Ok(said)
    }

    /// Says something and reads the line that answers it. A shell that ends or cannot be spoken to has lost its connection.
    fn run(&mut self, words: &str) -> Outcome<String> {
        let ended = || Failure::new("the database's shell has ended; is the server away?");
        let (_, orders, answers) = self.process.as_mut().ok_or_else(ended)?;
        orders.write_all(words.as_bytes()).context(|| "tell a database's shell".to_owned())?;
        let mut line = String::new();
        match answers.read_line(&mut line).context(|| "hear a database's shell".to_owned())? {
            0 => Err(ended()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    /// Runs SQL within the frame; what the shell says of it.
    fn run_framed(&mut self, sql: &str) -> Outcome<String> {
        let [begin, end] = self.frame;
        self.run(&format!("{begin}{sql}\n{end}\n"))
    }

    /// One transaction, if need be with another connection.
    fn transact(&mut self, sql: &str) -> Outcome<String> {
        if self.process.is_none() {
            let said = self.connect()?;
            if Verdict::of(&said) != Verdict::Committed {
                return Ok(said);
            }
        }
        self.run_framed(sql)
    }

    /// Writes notifications, again where the connection is lost: whether that was before or after the commit is seen by their ids.
    fn write(&mut self, sql: &str) -> Outcome<()> {
        let since = Instant::now();
        loop {
            let said = self.transact(sql);
            let failure = match said.as_deref().map_or(Verdict::Disconnected, Verdict::of) {
                Verdict::Committed => return Ok(()),
                Verdict::Refused => return said.and_then(|said| Err(refused(&said))),
                Verdict::Disconnected => said.map_or_else(|failure| failure, |said| refused(&said)),
            };
            if !self.is_server || MAX_SERVER_OUTAGE < since.elapsed() {
                return Err(failure);
            }
            self.disconnect();
            std::thread::sleep(WAKE_DEBOUNCE);
        }
    }

    fn disconnect(&mut self) {
        if let Some((mut process, orders, _)) = self.process.take() {
            drop(orders);
            // One that cannot be waited for has ended.
            let _ = process.wait();
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.disconnect();
    }
}

fn refused(said: &str) -> Failure {
    Failure::new(format!("the database says {said}"))
}

/// Wakes the notifier after commits as our programs do: at most once in a while, outside of the transactions.
fn wake(mut waker: Shell, news: &Receiver<()>) {
    while news.recv().is_ok() {
        while news.try_recv().is_ok() {}
        // A signal that cannot be sent is dropped: the notifier polls.
        let said = waker.transact(&format!("{};", sql::WAKE));
        if !said.is_ok_and(|said| Verdict::of(&said) == Verdict::Committed) {
            waker.disconnect();
        }
        std::thread::sleep(WAKE_DEBOUNCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_stop_when_the_other_half_fails() {
        let was_stopped = AtomicBool::new(false);
        let write = |stop: &AtomicBool| {
            let since = Instant::now();
            while !stop.load(Ordering::Relaxed) && since.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
            was_stopped.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            Ok(())
        };
        let ended = run_both(|| Err::<(), _>(Failure::new("the notifier does not start")), write);
        assert_eq!(ended.unwrap_err().to_string(), "the notifier does not start");
        assert!(was_stopped.load(Ordering::Relaxed), "the writers were not told to stop");
        assert_eq!(run_both(|| Ok(1), |_| Ok(2)).unwrap(), (1, 2));
    }

    #[test]
    fn only_a_lost_connection_is_tried_again() {
        let are = |verdict, all: &[&str]| all.iter().for_each(|said| assert_eq!(Verdict::of(said), verdict, "{said}"));
        are(Verdict::Committed, &["00000", "00000 an error of before", "23505 outbox_event_id_key"]);
        let lost = ["08006 connection failure", "57P01 terminating connection", "57P03", "", " server closed it"];
        are(Verdict::Disconnected, &lost);
        let refused = ["42P01 relation does not exist", "23505 duplicate key", "57014 canceled", "out of reach"];
        are(Verdict::Refused, &refused);
    }

    #[test]
    fn every_notification_is_written_once_in_the_order_of_its_payment() {
        let load = Load { per_second: 1_000, seconds: 1 };
        let mut written: Vec<(NotificationKey, Duration)> =
            (0..4).flat_map(|writer_number| moments(load, writer_number, 4)).collect();
        assert_eq!(written.len(), 999);
        written.sort_by_key(|(_, at)| *at);
        for payment in 0..load.payments() {
            let of_payment = written.iter().filter(|(key, _)| key.payment == payment);
            assert!(of_payment.map(|(key, _)| key.sequence).eq(1..=PER_PAYMENT), "{payment}");
        }
        let last = written.last().unwrap().1.as_secs_f64();
        assert!((0.9..1.1).contains(&last), "{last}");
    }
}
