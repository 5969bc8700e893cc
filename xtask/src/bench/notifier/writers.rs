//! Those who write notifications while they are delivered, each at its moment, whether the last one took long or not; on PostgreSQL each as a
//! transaction of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::book::{Heard, PER_PAYMENT};
use super::sql;
use super::stage::{Stage, WRITER};
use super::wire::Connection;
use crate::bench::run::Bench;
use crate::bench::service::Kind;
use crate::bench::usage;
use crate::failure::{Context, Failure, Outcome};

/// Name of their threads.
const THREAD: &str = "writer";
/// Between the notifications of one payment a writer begins so many others.
const LAG: u32 = 20;
/// How long the server may be away.
const AWAY: Duration = Duration::from_secs(60);
/// How often at most a program wakes others.
const DEBOUNCE: Duration = Duration::from_millis(10);

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
    pens: Vec<Pen>,
    /// Where to tell the notifier; SQLite has no such place.
    waker: Option<String>,
}

impl Writers {
    /// Several where the database takes several writers.
    pub(crate) fn ready(bench: &Bench, stage: &Stage) -> Outcome<Self> {
        let hands = if matches!(stage.kind, Kind::Sqlite) { 1 } else { 4 };
        let pens = (0..hands).map(|_| Pen::new(bench, stage)).collect::<Outcome<_>>()?;
        let waker = match &stage.kind {
            Kind::Postgres(database) => Some(bench.database_url(database)),
            Kind::Sqlite => None,
        };
        Ok(Self { pens, waker })
    }

    /// Writes all of it. `shop_of` says whose a payment is.
    pub(crate) fn write(self, stage: &Stage, load: Load, shop_of: impl Fn(u32) -> usize + Sync) -> Outcome<Written> {
        let Self { pens, waker } = self;
        let (is_over, has_news) = (AtomicBool::new(false), AtomicBool::new(false));
        let began = Instant::now();
        let hands = pens.len() as u32;
        std::thread::scope(|scope| {
            let named = || std::thread::Builder::new().name(THREAD.to_owned());
            let waking = named().spawn_scoped(scope, || waker.map(|url| wake(&url, &is_over, &has_news)));
            let waking = waking.context(|| "start a thread".to_owned())?;
            let (thread, flag) = (waking.thread().clone(), &has_news);
            let tell = move || {
                flag.store(true, Ordering::Release);
                thread.unpark();
            };
            let starting = |(hand, pen)| {
                let (shop_of, tell) = (&shop_of, tell.clone());
                let moments = moments(load, hand, hands);
                let work = move || work(pen, stage, began, moments, shop_of, tell);
                named().spawn_scoped(scope, work).context(|| "start a writer".to_owned())
            };
            let writers: Vec<_> = (0..).zip(pens).map(starting).collect::<Outcome<_>>()?;
            let written = writers.into_iter().map(|writer| joined(writer.join()));
            let written = written.collect::<Outcome<Vec<Written>>>();
            is_over.store(true, Ordering::Release);
            waking.thread().unpark();
            waking.join().map_err(|_panicked| Failure::new("who wakes the notifier broke; its words stand above"))?;
            Ok(written?.into_iter().fold(Written::default(), |sum, one| Written {
                server: sum.server + one.server,
                events: sum.events + one.events,
                transactions: sum.transactions + one.transactions,
                late: sum.late.max(one.late),
            }))
        })
    }
}

/// One writer: each notification at its moment.
fn work(
    mut pen: Pen,
    stage: &Stage,
    began: Instant,
    moments: impl Iterator<Item = (Heard, Duration)>,
    shop_of: &impl Fn(u32) -> usize,
    tell: impl Fn(),
) -> Outcome<Written> {
    let mut written = Written::default();
    let mut moments = moments.peekable();
    while let Some((first, at)) = moments.next() {
        let mut together = vec![first];
        while let Some((heard, _)) = moments.next_if(|(_, next)| *next < at + pen.together()) {
            together.push(heard);
        }
        std::thread::sleep((began + at).saturating_duration_since(Instant::now()));
        written.late = written.late.max(began.elapsed().saturating_sub(at));
        let sql = together.iter().map(|heard| sql::announce(&stage.kind, *heard, &stage.shops[shop_of(heard.payment)]));
        pen.write(&sql.collect::<Vec<_>>().join("\n"))?;
        together.iter().for_each(|heard| stage.book.note_committed(*heard));
        tell();
        written.events += together.len() as u64;
        written.transactions += 1;
    }
    written.server = pen.end()?;
    Ok(written)
}

fn joined<T>(ended: std::thread::Result<Outcome<T>>) -> Outcome<T> {
    ended.unwrap_or_else(|_panicked| Err(Failure::new("a writer broke; its words stand above")))
}

/// What one of the writers writes, and when: every third moment begins a payment, the others go on with one of before.
fn moments(load: Load, hand: u32, hands: u32) -> impl Iterator<Item = (Heard, Duration)> {
    let payments = (load.payments() + hands - 1 - hand) / hands;
    let between = Duration::from_secs(1) * hands / load.per_second.max(1);
    let turns = (0..payments + LAG * (PER_PAYMENT - 1)).flat_map(move |turn| {
        (0..PER_PAYMENT).filter_map(move |at| {
            let number = turn.checked_sub(at * LAG).filter(|number| *number < payments)?;
            Some(Heard { payment: number * hands + hand, sequence: at + 1 })
        })
    });
    (0..).map(move |tick| between * tick + between * hand / hands).zip(turns).map(|(at, heard)| (heard, at))
}

/// One connection that writes.
enum Pen {
    /// `None` after the server went away.
    Server {
        url: String,
        connection: Option<Connection>,
    },
    Shell {
        process: Child,
        orders: ChildStdin,
        answers: BufReader<ChildStdout>,
    },
}

impl Pen {
    fn new(bench: &Bench, stage: &Stage) -> Outcome<Self> {
        match &stage.kind {
            Kind::Postgres(database) => {
                let url = bench.database_url(database);
                let connection = Some(prepared(&url)?);
                Ok(Self::Server { url, connection })
            }
            Kind::Sqlite => {
                let mut shell = bench.tool("stdbuf", Duration::from_secs(3_600));
                shell.args(["-oL", "sqlite3", "-batch", "-bail", "-cmd", ".timeout 60000"]).arg(stage.file());
                shell.stdin(Stdio::piped()).stdout(Stdio::piped());
                let mut process = shell.spawn().context(|| "start sqlite3".to_owned())?;
                let (orders, answers) = (process.stdin.take(), process.stdout.take());
                let mut orders = orders.expect("it was started with a pipe");
                let answers = BufReader::new(answers.expect("it was started with a pipe"));
                // As the store does: with each commit the log is on the disk.
                let settings = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;\n";
                orders.write_all(settings.as_bytes()).context(|| "tell sqlite3".to_owned())?;
                let mut pen = Self::Shell { process, orders, answers };
                // The last of the pragmas answers with its value.
                pen.hear()?;
                Ok(pen)
            }
        }
    }

    /// What is due within such a time is written with one commit: SQLite's one writer in the all-in-one does so with what waits.
    fn together(&self) -> Duration {
        match self {
            Self::Server { .. } => Duration::ZERO,
            Self::Shell { .. } => Duration::from_millis(20),
        }
    }

    fn write(&mut self, sql: &str) -> Outcome<()> {
        match self {
            Self::Server { url, connection } => write_once(url, connection, sql),
            Self::Shell { orders, .. } => {
                writeln!(orders, "BEGIN IMMEDIATE;\n{sql}\nCOMMIT;\n.print done")
                    .context(|| "tell sqlite3".to_owned())?;
                self.hear()
            }
        }
    }

    fn hear(&mut self) -> Outcome<()> {
        let Self::Shell { answers, .. } = self else { return Ok(()) };
        let mut line = String::new();
        let read = answers.read_line(&mut line).context(|| "hear sqlite3".to_owned())?;
        if read == 0 { Err(Failure::new("sqlite3 has ended; its words stand above")) } else { Ok(()) }
    }

    /// Seconds of processor time that the server gave it.
    fn end(self) -> Outcome<f64> {
        match self {
            Self::Server { connection, .. } => {
                let spent = connection.map(|connection| usage::cpu_of(connection.process)).transpose()?;
                Ok(spent.unwrap_or_default().as_secs_f64())
            }
            Self::Shell { mut process, orders, .. } => {
                drop(orders);
                process.wait().context(|| "wait for sqlite3".to_owned())?;
                Ok(0.0)
            }
        }
    }
}

fn prepared(url: &str) -> Outcome<Connection> {
    let mut connection = Connection::open(url, WRITER)?;
    connection.run(sql::PREPARE)?;
    Ok(connection)
}

/// Writes a notification, if need be with another connection: whether the last one was cut before or after the commit is seen by the id.
fn write_once(url: &str, connection: &mut Option<Connection>, sql: &str) -> Outcome<()> {
    let since = Instant::now();
    loop {
        let written = match connection {
            Some(connection) => connection.run(sql),
            None => prepared(url).and_then(|new| connection.insert(new).run(sql)),
        };
        match written {
            Ok(()) => return Ok(()),
            Err(failure) if failure.to_string().contains("outbox_event_id_key") => return Ok(()),
            Err(failure) if since.elapsed() > AWAY => return Err(failure),
            Err(_away) => *connection = None,
        }
        std::thread::sleep(DEBOUNCE);
    }
}

/// Does what our programs do after a commit: tells the notifier, at most once in a while and beside the transactions.
fn wake(url: &str, is_over: &AtomicBool, has_news: &AtomicBool) {
    let mut connection = None;
    while !is_over.load(Ordering::Acquire) {
        if !has_news.swap(false, Ordering::AcqRel) {
            std::thread::park_timeout(DEBOUNCE);
            continue;
        }
        let mut open = || {
            let mut connection = Connection::open(url, WRITER)?;
            connection.run("SET synchronous_commit = off").map(|()| connection)
        };
        let told = connection.take().map_or_else(&mut open, Ok).and_then(|mut open| open.run(sql::WAKE).map(|()| open));
        // One that cannot be told is forgotten: the notifier looks by itself.
        connection = told.ok();
        std::thread::sleep(DEBOUNCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notification_is_written_once_in_the_order_of_its_payment() {
        let load = Load { per_second: 1_000, seconds: 1 };
        let mut written: Vec<(Heard, Duration)> = (0..4).flat_map(|hand| moments(load, hand, 4)).collect();
        assert_eq!(written.len(), 999);
        written.sort_by_key(|(_, at)| *at);
        for payment in 0..load.payments() {
            let of_payment = written.iter().filter(|(heard, _)| heard.payment == payment);
            assert!(of_payment.map(|(heard, _)| heard.sequence).eq(1..=PER_PAYMENT), "{payment}");
        }
        let last = written.last().unwrap().1.as_secs_f64();
        assert!((0.9..1.1).contains(&last), "{last}");
    }
}
