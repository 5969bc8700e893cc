//! The payers: the process that pays and is the merchants' endpoint. It stands apart so that its processor time is known, and so that it is
//! built for speed like everything it measures.
//!
//! It says `listening ADDRESS`, is told a [`Meeting`], and then a [`Load`] for each run, of which it says `begun`, `ended` and `report`.

mod book;
mod client;
mod receiver;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::talk::{Load, Meeting, Report, Step, Troubles};
use crate::bench::figures::percentile;
use crate::bench::usage::cpu_by_thread;
use crate::failure::{Context, Failure, Outcome};
use book::Book;
use client::{Client, Paid};
use receiver::Receiver;

/// The task name under which this tool starts itself as the payers.
pub(crate) const TASK: &str = "bench-payers";

/// Name of every thread that pays.
const CLIENT: &str = "client";

/// Pays until the pipe closes.
pub(crate) fn run() -> Outcome<()> {
    let receiver = Receiver::start()?;
    say(&format!("listening {}", receiver.address))?;
    let mut lines = std::io::stdin().lock().lines();
    let Some(line) = lines.next() else { return Ok(()) };
    let meeting: Meeting = serde_json::from_str(&line.context(|| "read whom to deal with".to_owned())?)
        .context(|| "understand whom to deal with".to_owned())?;
    receiver.trust(&meeting.shops)?;
    for line in lines {
        let load: Load = serde_json::from_str(&line.context(|| "read an order".to_owned())?)
            .context(|| "understand an order".to_owned())?;
        let report = pay(&meeting, &load, &receiver)?;
        let report = serde_json::to_string(&report).context(|| "write the report".to_owned())?;
        say(&format!("report {report}"))?;
    }
    Ok(())
}

fn say(line: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context(|| "tell the bench; has it ended?".to_owned())
}

/// One run: every client pays one after the other, each waiting for the ORDER_PROCESSED of its last.
fn pay(meeting: &Meeting, load: &Load, receiver: &Receiver) -> Outcome<Report> {
    let (bells, heard): (Vec<_>, Vec<_>) = (0..load.clients).map(|_| mpsc::channel()).unzip();
    let book = Arc::new(Book::new(load.way, bells));
    receiver.note_in(&book);
    let stop = AtomicBool::new(false);
    let mut report = Report::default();
    let (paid, window) = std::thread::scope(|scope| {
        let clients = heard.into_iter().enumerate().map(|(number, heard)| {
            let client = Client::new(meeting, load, number, heard);
            let thread = std::thread::Builder::new().name(CLIENT.to_owned());
            thread.spawn_scoped(scope, || client.work(&stop)).context(|| "start a client".to_owned())
        });
        let clients: Vec<_> = clients.collect();
        std::thread::sleep(Duration::from_secs(load.warm_up.into()));
        let window = measure(load, &mut report);
        stop.store(true, Ordering::Relaxed);
        let done = clients.into_iter().map(|client| {
            client?.join().map_err(|_panicked| Failure::new("a client broke; its words stand in the log"))
        });
        Ok::<_, Failure>((done.collect::<Outcome<Vec<_>>>()?, window?))
    })?;
    let troubles = paid.iter().fold(book.troubles(), |sum, client| add(sum, &client.troubles));
    let counted: Vec<&Paid> =
        paid.iter().flat_map(|client| &client.paid).filter(|paid| window.contains(&paid.done)).collect();
    report.payments = counted.len() as u64;
    let steps = load.way.calls().iter().chain(&["from its answer until ORDER_PROCESSED", "whole payment"]);
    report.steps = steps.enumerate().map(|(at, name)| step(name, at, &counted)).collect();
    report.troubles = troubles;
    write_down(meeting, &book)?;
    Ok(report)
}

/// Lets the seconds pass that count, and notes what they took.
fn measure(load: &Load, report: &mut Report) -> Outcome<std::ops::Range<Instant>> {
    let spent = || cpu_by_thread(std::process::id());
    let (before, begun) = (spent()?, Instant::now());
    say("begun")?;
    std::thread::sleep(Duration::from_secs(load.seconds.into()));
    let (after, ended) = (spent()?, Instant::now());
    say("ended")?;
    report.seconds = (ended - begun).as_secs_f64();
    let between = |is_client: bool| {
        let sum = |spent: &BTreeMap<String, Duration>| -> f64 {
            spent.iter().filter(|(name, _)| (*name == CLIENT) == is_client).map(|(_, time)| time.as_secs_f64()).sum()
        };
        (sum(&after) - sum(&before)).max(0.0)
    };
    (report.clients_cpu, report.receiver_cpu) = (between(true), between(false));
    Ok(begun..ended)
}

fn step(name: &str, at: usize, paid: &[&Paid]) -> Step {
    let mut micros: Vec<u64> = paid.iter().map(|paid| paid.micros[at]).collect();
    micros.sort_unstable();
    let at = |percent| percentile(&micros, percent).unwrap_or_default();
    Step { name: name.to_owned(), p50: at(50), p99: at(99), max: at(100) }
}

fn add(mut sum: Troubles, one: &Troubles) -> Troubles {
    sum.refused += one.refused;
    sum.lost += one.lost;
    sum.first_refusal = sum.first_refusal.or_else(|| one.first_refusal.clone());
    sum
}

fn write_down(meeting: &Meeting, book: &Book) -> Outcome<()> {
    let doing = || format!("write {}", meeting.paid.display());
    let mut file = OpenOptions::new().create(true).append(true).open(&meeting.paid).context(doing)?;
    file.write_all(book.paid().as_bytes()).context(doing)
}
