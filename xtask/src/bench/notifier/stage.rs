//! Everything around the notifier that is measured: a database of its own, merchants, the receivers of their endpoints, and a look at what it takes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::book::{Book, PAYMENT_PREFIX};
use super::sink::{Manner, Sink};
use super::sql::{Due, Shop, backlog};
use crate::bench::figures::{figure, table};
use crate::bench::fill::Place;
use crate::bench::payments::statements;
use crate::bench::run::Bench;
use crate::bench::service::{Kind, NO_PROCESSOR, START, configured};
use crate::bench::usage;
use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};
use crate::programs::{Program, answers, free_address};

/// The server's role of whoever writes notifications, so that its statements are told apart.
pub(crate) const WRITER: &str = "writer";

/// Without any progress for so long, what has not come is lost: longer than a lease, and than the first delays of the schedule.
const STALLED: Duration = Duration::from_secs(45);
/// Connections are opened and statements planned meanwhile.
const WARM_UP: Duration = Duration::from_secs(2);
/// Merchants are made by so many commands at once.
const HANDS: usize = 4;

/// Where a scenario takes place.
pub(crate) struct Stage {
    pub(crate) kind: Kind,
    folder: PathBuf,
    pub(crate) book: Arc<Book>,
    sink: Sink,
    pub(crate) shops: Vec<Shop>,
}

/// The notifier, and what was taken when it started.
pub(crate) struct Running {
    program: Program,
    server_before: Duration,
    bench_before: Duration,
}

/// Processor time since the notifier started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) notifier: Duration,
    pub(crate) server: Duration,
    pub(crate) bench: Duration,
}

impl Stage {
    /// Prepares a database and merchants with one endpoint each.
    pub(crate) fn set(bench: &Bench, kind: &Kind, payments: u32, manners: &[Manner]) -> Outcome<Self> {
        let name = bench.new_name();
        let folder = bench.new_folder(&name)?;
        let kind = match kind {
            Kind::Postgres(_) => Kind::Postgres(name.replace('-', "_")),
            Kind::Sqlite => Kind::Sqlite,
        };
        if let Kind::Postgres(database) = &kind {
            bench.sql("postgres", &format!("CREATE DATABASE {database}"))?;
            statements::prepare(bench, database)?;
        }
        captured(configured(bench, "dropin", &kind, &folder).arg("migrate"))?;
        let book = Arc::new(Book::new(payments, WARM_UP));
        let sink = Sink::start(&book)?;
        let mut stage = Self { kind, folder, book, sink, shops: Vec::new() };
        stage.open_shops(bench, manners)?;
        Ok(stage)
    }

    /// Creates merchants, a few at once; the last part of an endpoint's path is the number of its merchant.
    fn open_shops(&mut self, bench: &Bench, manners: &[Manner]) -> Outcome<()> {
        let commands = manners.iter().enumerate().map(|(number, manner)| {
            let url = format!("http://{}/{}/{number}", self.sink.address, manner.path());
            let mut command = configured(bench, "dropin", &self.kind, &self.folder);
            command.args(["merchant", "create", "--json", "--name", "Bench", "--webhook-url", &url]);
            command
        });
        let mut commands: Vec<Command> = commands.collect();
        // SQLite has one writer; the keys are made by the first.
        let hands = if matches!(self.kind, Kind::Sqlite) { 1 } else { HANDS };
        commands.first_mut().map(captured).transpose()?;
        let rest = commands.get_mut(1..).unwrap_or_default();
        std::thread::scope(|scope| {
            let parts = rest.chunks_mut(rest.len().div_ceil(hands).max(1));
            let working = parts
                .map(|part| scope.spawn(move || part.iter_mut().try_for_each(|command| captured(command).map(drop))));
            let working: Vec<_> = working.collect();
            working.into_iter().try_for_each(|hand| hand.join().expect("making merchants does not panic"))
        })?;
        let rows = self.sql(bench, "SELECT merchant_id || ' ' || id || ' ' || url FROM endpoint")?;
        let mut shops: Vec<(usize, Shop)> = rows.lines().filter_map(read_shop).collect();
        shops.sort_by_key(|(number, _)| *number);
        if !shops.iter().map(|(number, _)| *number).eq(0..manners.len()) {
            return Err(Failure::new(format!("not every merchant of the bench has its endpoint:\n{rows}")));
        }
        self.shops = shops.into_iter().map(|(_, shop)| shop).collect();
        Ok(())
    }

    /// What SQL answers.
    pub(crate) fn sql(&self, bench: &Bench, sql: &str) -> Outcome<String> {
        let file = self.file();
        self.place(&file).sql(bench, sql)
    }

    fn place<'a>(&'a self, file: &'a std::path::Path) -> Place<'a> {
        match &self.kind {
            Kind::Postgres(database) => Place::Postgres(database),
            Kind::Sqlite => Place::Sqlite(file),
        }
    }

    /// The SQLite file, when it is one.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("dropin.db")
    }

    /// Writes whole payments before anybody looks; `shares` says of which shop. `counts`: whether they are to come.
    pub(crate) fn write_backlog(
        &self,
        bench: &Bench,
        shares: impl Iterator<Item = (u32, usize)>,
        due: Due,
    ) -> Outcome<()> {
        let script = backlog(&self.kind, &self.shops, shares, due);
        let file = bench.file(&format!("{}.sql", bench.new_name()), &script)?;
        let mut tool = match &self.kind {
            Kind::Postgres(database) => {
                let mut psql = bench.tool("psql", Duration::from_secs(600));
                psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file).arg(bench.database_url(database));
                psql
            }
            Kind::Sqlite => {
                let mut sqlite = bench.tool("sqlite3", Duration::from_secs(600));
                sqlite.args(["-batch", "-bail"]).arg(self.file()).arg(format!(".read {}", file.display()));
                sqlite
            }
        };
        captured(&mut tool).map(drop)
    }

    /// Starts the notifier. On SQLite it is the all-in-one with that part alone.
    pub(crate) fn start(&self, bench: &mut Bench) -> Outcome<Running> {
        let (name, arguments): (_, &[&str]) = match self.kind {
            Kind::Postgres(_) => ("notifier", &[]),
            Kind::Sqlite => ("dropin", &["--target", "notifier"]),
        };
        let address = free_address()?;
        let mut command = configured(bench, name, &self.kind, &self.folder);
        command.args(arguments).env("DROPIN_LISTEN", address.to_string()).envs(NO_PROCESSOR);
        let server_before = self.server(bench)?;
        let bench_before = usage::cpu_of(std::process::id())?;
        let mut program = bench.spawn(name, &mut command)?;
        program.wait_until("ready", START, || is_ready(address))?;
        Ok(Running { program, server_before, bench_before })
    }

    fn server(&self, bench: &Bench) -> Outcome<Duration> {
        match self.kind {
            Kind::Postgres(_) => usage::cpu_of_server(bench.postmaster()),
            Kind::Sqlite => Ok(Duration::ZERO),
        }
    }

    /// Processor time so far.
    pub(crate) fn spent(&self, bench: &Bench, running: &Running) -> Outcome<Spent> {
        Ok(Spent {
            notifier: usage::cpu_of(running.program.id())?,
            server: self.server(bench)?.saturating_sub(running.server_before),
            bench: usage::cpu_of(std::process::id())?.saturating_sub(running.bench_before),
        })
    }

    /// Waits until so many notifications are acknowledged, or none has been for long.
    pub(crate) fn wait_for(&self, running: &mut Running, done: u64) -> Outcome<()> {
        let (mut seen, mut since) = (self.book.done(), Instant::now());
        let wanted = || {
            let now = self.book.done();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            done <= now || STALLED < since.elapsed()
        };
        running.program.wait_until("done", Duration::from_secs(3_600), wanted)
    }

    /// Payment and sequence of what is under way. After a kill it may hold a little more than the dead one had sent: what the server did with its
    /// last words.
    pub(crate) fn leased(&self, bench: &Bench) -> Outcome<Vec<(u32, u32)>> {
        let leased = "SELECT payment_id || ' ' || next_sequence FROM outbox_stream WHERE leased AND next_sequence <= last_sequence";
        let rows = self.sql(bench, leased)?;
        rows.lines().map(|row| read_leased(row).ok_or_else(|| Failure::new(format!("strange stream: {row}")))).collect()
    }

    /// Transactions that the server has counted in the database; they are counted when a connection ends.
    pub(crate) fn transactions(&self, bench: &Bench) -> Outcome<u64> {
        let Kind::Postgres(database) = &self.kind else { return Ok(0) };
        let sql = format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{database}'");
        let mut before = None;
        loop {
            let said = bench.sql("postgres", &sql)?;
            let now: u64 = said.trim().parse().context(|| format!("understand the number `{}`", said.trim()))?;
            if before == Some(now) {
                return Ok(now);
            }
            before = Some(now);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Statements that the notifier's connections have run since they were forgotten.
    pub(crate) fn statements(&self, bench: &Bench) -> Outcome<u64> {
        let Kind::Postgres(database) = &self.kind else { return Ok(0) };
        let said = bench.sql(
            database,
            "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements \
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND userid = 'postgres'::regrole",
        )?;
        said.trim().parse().context(|| format!("understand the number `{}`", said.trim()))
    }

    /// The dearest of them, as a table; per delivery.
    pub(crate) fn show_statements(&self, bench: &Bench, deliveries: u64) -> Outcome<String> {
        let Kind::Postgres(database) = &self.kind else { return Ok(String::new()) };
        Ok(statements::show(&statements::read(bench, database)?, deliveries))
    }

    /// Begins to count statements anew.
    pub(crate) fn forget_statements(&self, bench: &Bench) -> Outcome<()> {
        let Kind::Postgres(database) = &self.kind else { return Ok(()) };
        statements::forget(bench, database)
    }
}

impl Running {
    /// Asks it to end and waits for it.
    pub(crate) fn stop(self, bench: &mut Bench) -> Outcome<()> {
        bench.end(self.program)
    }

    /// Kills it, without a word.
    pub(crate) fn kill(&mut self, bench: &mut Bench) -> Outcome<()> {
        bench.kill(&mut self.program)
    }

    /// What its threads took of the processor, as a table; per delivery.
    pub(crate) fn show_threads(&self, deliveries: u64) -> Outcome<String> {
        let mut threads: Vec<_> = usage::cpu_by_thread(self.program.id())?.into_iter().collect();
        threads.sort_by_key(|(_, spent)| std::cmp::Reverse(*spent));
        let micros = |spent: Duration| figure(spent.as_secs_f64() * 1e6 / deliveries.max(1) as f64);
        let rows: Vec<_> = threads.into_iter().map(|(name, spent)| vec![name, micros(spent)]).collect();
        Ok(format!("\n{}", table(&["threads of the notifier", "CPU us per delivery"], &rows)))
    }
}

fn is_ready(address: SocketAddr) -> bool {
    answers(address, "/readyz")
}

/// "payment sequence".
fn read_leased(row: &str) -> Option<(u32, u32)> {
    let (payment, sequence) = row.split_once(' ')?;
    let payment = u32::from_str_radix(payment.strip_prefix(PAYMENT_PREFIX)?, 16).ok()?;
    Some((payment, sequence.parse().ok()?))
}

/// "merchant endpoint url"; the last part of the url is the number.
fn read_shop(row: &str) -> Option<(usize, Shop)> {
    let mut words = row.split(' ').map(str::to_owned);
    let shop = Shop { merchant: words.next()?, endpoint: words.next()? };
    let number = words.next()?.rsplit_once('/')?.1.parse().ok()?;
    Some((number, shop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_known_by_its_numbers() {
        assert_eq!(read_leased(&format!("{PAYMENT_PREFIX}00000000001f 2")), Some((31, 2)));
        assert_eq!(read_leased("somebody's 2"), None);
    }

    #[test]
    fn shops_are_known_by_the_end_of_their_address() {
        let shop = Shop { merchant: "m".to_owned(), endpoint: "e".to_owned() };
        assert_eq!(read_shop("m e http://127.0.0.1:9/kind/17"), Some((17, shop)));
        assert_eq!(read_shop("m e http://127.0.0.1:9/kind/x"), None);
    }
}
