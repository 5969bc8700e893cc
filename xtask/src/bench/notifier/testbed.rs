//! The testbed of the notifier that is measured: a database of its own, merchants, the receivers of their endpoints, and what it takes.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::delivery_log::{DeliveryLog, NotificationKey, PAYMENT_PREFIX, PER_PAYMENT};
use super::endpoints::{EndpointBehavior, receive};
use super::kills::{Deaths, Victim};
use super::sql::{Due, Shop, backlog};
use super::writers::{Load, Writers, Written};
use crate::bench::deployment::{ALL_IN_ONE, Database, Deployment, Service};
use crate::bench::figures::{Figures, dearest};
use crate::bench::receiver::Receiver;
use crate::bench::statements;
use crate::bench::usage::{CpuMeter, CpuSource, per};
use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};
use crate::programs::{Programs, free_address};

/// The server's role of the writers, so that their statements are counted apart.
pub(crate) const WRITER: &str = "writer";

/// Whose processor time is measured: the notifier's, the server's, and that of this program with the writers.
pub(crate) const NOTIFIER: &str = "notifier";
pub(crate) const SERVER: &str = "PostgreSQL";
pub(crate) const OURS: &str = "the bench";

/// Without any progress for so long, what has not come is lost: longer than a lease, and than the first delays of the schedule.
const STALL_TIMEOUT: Duration = Duration::from_secs(45);
/// Connections are opened and statements planned meanwhile.
const WARM_UP: Duration = Duration::from_secs(2);
/// How long the notifier has to write down the last acknowledgements.
const WRITE_DOWN: Duration = Duration::from_millis(500);
/// Merchants are made by so many commands at once.
const MAX_COMMANDS_AT_ONCE: usize = 4;

/// The database, the merchants and the receivers of a scenario.
pub(crate) struct Testbed {
    pub(crate) deployment: Deployment,
    pub(crate) delivery_log: Arc<DeliveryLog>,
    pub(crate) shops: Vec<Shop>,
    behaviors: Vec<EndpointBehavior>,
    receiver: Receiver,
}

/// The notifier, and what others take since it started.
pub(crate) struct RunningNotifier {
    service: Service,
    meter: CpuMeter,
}

impl Testbed {
    /// Has the server count statements, and those of writers apart, from now on.
    pub(crate) fn prepare(bench: &mut Programs) -> Outcome<()> {
        statements::load(bench)?;
        bench.sql("postgres", &format!("CREATE ROLE {WRITER} SUPERUSER LOGIN")).map(drop)
    }

    /// Prepares a database and merchants with one endpoint each.
    pub(crate) fn set_up(
        bench: &Programs,
        database: Database,
        payments: u32,
        behaviors: &[EndpointBehavior],
    ) -> Outcome<Self> {
        let deployment = Deployment::new(bench, database)?;
        deployment.postgres_name().map(|database| statements::prepare(bench, database)).transpose()?;
        captured(deployment.command(bench, ALL_IN_ONE).arg("migrate"))?;
        let delivery_log = Arc::new(DeliveryLog::new(payments, WARM_UP));
        let receiver = receive(&delivery_log)?;
        let mut testbed = Self { deployment, delivery_log, behaviors: behaviors.to_vec(), receiver, shops: Vec::new() };
        testbed.open_shops(bench, behaviors)?;
        Ok(testbed)
    }

    /// Creates merchants, a few at once; the last part of an endpoint's path is the number of its merchant.
    fn open_shops(&mut self, bench: &Programs, behaviors: &[EndpointBehavior]) -> Outcome<()> {
        let commands = behaviors.iter().enumerate().map(|(number, behavior)| {
            let url = format!("http://{}/{}/{number}", self.receiver.address, behavior.path());
            let mut command = self.deployment.command(bench, ALL_IN_ONE);
            command.args(["merchant", "create", "--json", "--name", "Bench", "--webhook-url", &url]);
            command
        });
        let mut commands: Vec<Command> = commands.collect();
        // SQLite has one writer; the keys are made by the first.
        let hands = if self.deployment.is_postgres() { MAX_COMMANDS_AT_ONCE } else { 1 };
        commands.first_mut().map(captured).transpose()?;
        let rest = commands.get_mut(1..).unwrap_or_default();
        std::thread::scope(|scope| {
            let parts = rest.chunks_mut(rest.len().div_ceil(hands).max(1));
            let working = parts
                .map(|part| scope.spawn(move || part.iter_mut().try_for_each(|command| captured(command).map(drop))));
            let working: Vec<_> = working.collect();
            working.into_iter().try_for_each(|hand| hand.join().expect("making merchants does not panic"))
        })?;
        let rows = self.deployment.sql(bench, "SELECT merchant_id || ' ' || id || ' ' || url FROM endpoint")?;
        let mut shops: Vec<(usize, Shop)> = rows.lines().filter_map(read_shop).collect();
        shops.sort_by_key(|(number, _)| *number);
        if !shops.iter().map(|(number, _)| *number).eq(0..behaviors.len()) {
            return Err(Failure::new(format!("not every merchant of the bench has its endpoint:\n{rows}")));
        }
        self.shops = shops.into_iter().map(|(_, shop)| shop).collect();
        Ok(())
    }

    /// Writes whole payments before anybody looks; `shares` says of which shop.
    pub(crate) fn write_backlog(
        &self,
        bench: &Programs,
        shares: impl Iterator<Item = (u32, usize)>,
        due: Due,
    ) -> Outcome<()> {
        self.deployment.run_script(bench, &backlog(self.deployment.database, &self.shops, shares, due))
    }

    /// Starts the notifier. On SQLite it is the all-in-one with that part alone.
    pub(crate) fn start(&self, bench: &mut Programs) -> Outcome<RunningNotifier> {
        let (name, arguments): (_, &[&str]) = match self.deployment.database {
            Database::Postgres => ("notifier", &[]),
            Database::Sqlite => (ALL_IN_ONE, &["--target", "notifier"]),
        };
        let server = self.deployment.postmaster(bench)?;
        let server = server.map(|postmaster| (SERVER.to_owned(), CpuSource::Server(postmaster)));
        let ours = (OURS.to_owned(), CpuSource::Ours);
        let meter = CpuMeter::start(server.into_iter().chain([ours]).collect())?;
        let service = self.deployment.launch(bench, name, free_address()?, arguments, &[])?;
        Ok(RunningNotifier { service, meter })
    }

    /// Waits until so many notifications are acknowledged, or none has been for long.
    pub(crate) fn wait_for(&self, running: &mut RunningNotifier, done: u64) -> Outcome<()> {
        let (mut seen, mut since) = (self.delivery_log.counts().done, Instant::now());
        let wanted = || {
            let now = self.delivery_log.counts().done;
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            done <= now || STALL_TIMEOUT < since.elapsed()
        };
        running.service.program.wait_until("done", Duration::from_secs(3_600), wanted)?;
        std::thread::sleep(WRITE_DOWN);
        Ok(())
    }

    /// Has notifications written, payment by payment for one shop after the other, and delivered, while notifiers and the server die.
    pub(crate) fn deliver<V: Iterator<Item = (Instant, Victim)>>(
        &self,
        bench: &mut Programs,
        running: &mut [RunningNotifier],
        load: Load,
        victims: impl FnOnce() -> V,
    ) -> Outcome<(Deaths, Written)> {
        let writers = Writers::ready(bench, self)?;
        let shop_of = |payment| payment as usize % self.shops.len();
        let outcome = writers.write(self, load, shop_of, || Deaths::cause(bench, self, running, victims()))?;
        let wanted = (0..load.payments()).filter(|payment| self.is_answered(*payment)).count();
        self.wait_for(&mut running[0], wanted as u64 * u64::from(PER_PAYMENT))?;
        Ok(outcome)
    }

    /// Whether what is written of a payment arrives: an endpoint that never answers acknowledges nothing.
    pub(crate) fn is_answered(&self, payment: u32) -> bool {
        self.behaviors[payment as usize % self.behaviors.len()] != EndpointBehavior::Unresponsive
    }

    /// What is under way. After a kill it may hold a little more than the dead one had sent: what the server did with its
    /// last words.
    pub(crate) fn leased(&self, bench: &Programs) -> Outcome<Vec<NotificationKey>> {
        let leased = "SELECT payment_id || ' ' || next_sequence FROM outbox_stream WHERE leased AND next_sequence <= last_sequence";
        let rows = self.deployment.sql(bench, leased)?;
        rows.lines().map(|row| read_leased(row).ok_or_else(|| Failure::new(format!("strange stream: {row}")))).collect()
    }

    /// Transactions that the server has counted in the database; they are counted when a connection ends. None on SQLite.
    pub(crate) fn transactions(&self, bench: &Programs) -> Outcome<Option<u64>> {
        let Some(database) = self.deployment.postgres_name() else { return Ok(None) };
        let sql = format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{database}'");
        let mut before = String::new();
        loop {
            let now = bench.sql("postgres", &sql)?;
            if before == now {
                return now.trim().parse().map(Some).context(|| format!("understand the number `{now}`"));
            }
            before = now;
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Statements that the notifier's connections have run since they were forgotten; none on SQLite.
    pub(crate) fn statements(&self, bench: &Programs) -> Outcome<Option<u64>> {
        let calls = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements \
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND userid = 'postgres'::regrole";
        self.deployment.is_postgres().then(|| self.deployment.number(bench, calls)).transpose()
    }
}

impl RunningNotifier {
    pub(crate) fn stop(self, bench: &mut Programs) -> Outcome<()> {
        bench.end(self.service.program)
    }

    /// Kills it, without a word.
    pub(crate) fn kill(&mut self, bench: &mut Programs) -> Outcome<()> {
        bench.kill(&mut self.service.program)
    }

    /// Processor time so far, of the notifier and since its start of others; microseconds.
    pub(crate) fn spent(&self) -> Outcome<Figures> {
        let notifier = (NOTIFIER.to_owned(), CpuSource::Process(self.service.program.id()));
        Ok([CpuMeter::of_lifetime(vec![notifier]).read()?, self.meter.read()?].concat())
    }

    /// What its threads took of the processor, as a table; per delivery.
    pub(crate) fn show_threads(&self, deliveries: u64) -> Outcome<String> {
        let threads = (String::new(), CpuSource::ThreadsOf(self.service.program.id()));
        let threads = per(CpuMeter::of_lifetime(vec![threads]).read()?, deliveries);
        Ok(format!("\n{}", dearest(["threads of the notifier", "CPU us per delivery"], threads)))
    }
}

/// "payment sequence".
fn read_leased(row: &str) -> Option<NotificationKey> {
    let (payment, sequence) = row.split_once(' ')?;
    let payment = u32::from_str_radix(payment.strip_prefix(PAYMENT_PREFIX)?, 16).ok()?;
    Some(NotificationKey { payment, sequence: sequence.parse().ok()? })
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
        assert_eq!(
            read_leased(&format!("{PAYMENT_PREFIX}00000000001f 2")),
            Some(NotificationKey { payment: 31, sequence: 2 })
        );
        assert_eq!(read_leased("somebody's 2"), None);
    }

    #[test]
    fn shops_are_known_by_the_end_of_their_address() {
        let shop = Shop { merchant: "m".to_owned(), endpoint: "e".to_owned() };
        assert_eq!(read_shop("m e http://127.0.0.1:9/kind/17"), Some((17, shop)));
        assert_eq!(read_shop("m e http://127.0.0.1:9/kind/x"), None);
    }
}
