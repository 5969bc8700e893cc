//! Who is woken when notifications are committed, in this process and in others.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use dropin_ports::{MetricSource, Payment, PaymentStore, Settled, StoreError};
use dropin_store::{Role, Store, StoreConfig, WakeSubscription};
use dropin_store_contract::{Harness, Raw, approval};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::migrated;
use crate::common::postgres::Database;
use crate::common::{RawPostgres, wakes};

/// Far longer than any wake-up takes.
const LONG: Duration = Duration::from_secs(20);

/// A store of the process that writes, with payments that wait for their processor's answer.
struct Writer {
    database: Arc<Database>,
    store: Store,
    harness: Harness,
    payments: Vec<Payment>,
}

impl Writer {
    async fn with(count: usize) -> Self {
        let (database, store) = migrated();
        let database = Arc::new(database);
        let harness = Harness::new(store.clone(), RawPostgres::open(&database.url()), database.clone());
        let (merchant, _) = harness.merchant().await;
        let mut payments = vec![];
        for _ in 0..count {
            payments.push(harness.submitted(merchant.id).await);
        }
        Self { database, store, harness, payments }
    }

    async fn settle(&self, payment: usize) -> Result<Settled, StoreError> {
        self.store.settle(approval(&self.payments[payment])).await
    }

    /// Hears what the writer tells other processes.
    fn listen(&self) -> PgConnection {
        let mut connection = PgConnection::establish(&self.database.url()).unwrap();
        connection.batch_execute("LISTEN dropin_outbox").unwrap();
        connection
    }

    /// Ends the writer, which tells what it has not told yet, and counts what was heard.
    fn count(self, connection: &mut PgConnection) -> usize {
        self.store.close();
        connection.batch_execute("SELECT").unwrap();
        connection.notifications_iter().map(Result::unwrap).count()
    }
}

/// A notifier of another process.
struct Notifier {
    notify: Arc<Notify>,
    wake_ups: WakeSubscription,
    _store: Store,
}

impl Notifier {
    fn on(url: &str) -> Self {
        let (store, notify) = (Store::open(StoreConfig::new(url, Role::Service)).unwrap(), Arc::default());
        Self { wake_ups: store.wake(&notify).unwrap(), notify, _store: store }
    }

    async fn number(&self, name: &str) -> u64 {
        let all = self.wake_ups.collect_metrics().await.unwrap();
        all.iter().find(|measure| measure.name == name).unwrap().samples()[0].value
    }

    /// How often another process has woken it.
    async fn woken(&self) -> u64 {
        self.number("dropin_notifier_woken_elsewhere_total").await
    }

    async fn until_listening_is(&self, listening: bool) {
        let end = Instant::now() + LONG;
        while self.wake_ups.is_listening() != listening {
            assert!(Instant::now() < end, "never: listening {listening}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(self.number("dropin_notifier_listening").await, u64::from(listening));
    }

    /// Waits until another process has woken it once more; how long that took.
    async fn until_woken_after(&self, before: u64) -> Duration {
        let begun = Instant::now();
        while self.woken().await == before {
            timeout(LONG, self.notify.notified()).await.expect("never woken");
        }
        begun.elapsed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_process_commits_wakes_the_notifier_of_another() {
    let writer = Writer::with(5).await;
    let notifier = Notifier::on(&writer.database.url());
    notifier.until_listening_is(true).await;
    for payment in 0..5 {
        let before = notifier.woken().await;
        assert_eq!(writer.settle(payment).await, Ok(Settled::Done));
        let took = notifier.until_woken_after(before).await;
        // Usually a few milliseconds; nobody looks here.
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_that_tells_something_wakes_the_notifier() {
    let (database, store) = migrated();
    let notify = Arc::default();
    let wake_ups = store.wake(&notify).unwrap();
    let harness = Harness::new(store.clone(), RawPostgres::open(&database.url()), database);
    wakes::once_for_each_change(store, harness, &wake_ups).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_with_a_notifier_of_its_own_wakes_that_one() {
    let writer = Writer::with(2).await;
    let mut elsewhere = writer.listen();
    let notify = Arc::default();
    let wake_ups = writer.store.wake(&notify).unwrap();
    assert_eq!(writer.settle(0).await, Ok(Settled::Done));
    timeout(LONG, notify.notified()).await.expect("never woken");
    let here = Notifier { notify, wake_ups, _store: writer.store.clone() };
    while here.number("dropin_notifier_woken_here_total").await == 0 {
        timeout(LONG, here.notify.notified()).await.expect("never woken by its own process");
    }
    // So that the notice with which listening is tried is heard before the count begins.
    here.until_listening_is(true).await;
    elsewhere.batch_execute("SELECT").unwrap();
    elsewhere.notifications_iter().for_each(|notice| drop(notice.unwrap()));
    drop(here.notify);
    assert_eq!(writer.settle(1).await, Ok(Settled::Done));
    assert_eq!(writer.count(&mut elsewhere), 1, "its notifier has ended, others are told");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_rolled_back_wakes_nobody() {
    let writer = Writer::with(2).await;
    let mut elsewhere = writer.listen();
    // Refused when it is to be committed, with all of it written.
    let refused = &writer.payments[1];
    let session = refused.session.as_ref().unwrap().id;
    writer
        .harness
        .raw
        .execute(&format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF NEW.payment_id = '{session}' THEN RAISE EXCEPTION 'no' USING ERRCODE = '23514'; END IF; RETURN NULL; END $$"
        ))
        .unwrap();
    let trigger = "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON outbox_event DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION refuse()";
    writer.harness.raw.execute(trigger).unwrap();
    let changed = writer.payments[0].order.id;
    let change = format!("UPDATE purchase_order SET revision = revision + 1 WHERE id = '{changed}'");
    writer.harness.raw.execute(&change).unwrap();
    assert_eq!(writer.settle(0).await, Ok(Settled::Stale));
    assert!(matches!(writer.settle(1).await, Err(StoreError::Refused(_))));
    assert_eq!(writer.count(&mut elsewhere), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commits_are_told_now_and_then() {
    let writer = Arc::new(Writer::with(120).await);
    let mut elsewhere = writer.listen();
    let begun = Instant::now();
    let settling: Vec<_> = (0..120)
        .map(|payment| {
            let writer = writer.clone();
            tokio::spawn(async move { writer.settle(payment).await })
        })
        .collect();
    for one in settling {
        assert_eq!(one.await.unwrap(), Ok(Settled::Done));
    }
    let writer = Arc::into_inner(writer).unwrap();
    let told = writer.count(&mut elsewhere);
    let most = 2 + usize::try_from(begun.elapsed().as_millis() / 10).unwrap();
    assert!((1..=most).contains(&told), "{told} of at most {most}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_lost_comes_back() {
    let writer = Writer::with(2).await;
    let notifier = Notifier::on(&writer.database.url());
    notifier.until_listening_is(true).await;
    writer.database.take_away();
    notifier.until_listening_is(false).await;
    writer.database.bring_back();
    notifier.until_listening_is(true).await;
    let before = notifier.woken().await;
    assert_eq!(writer.settle(0).await, Ok(Settled::Done));
    notifier.until_woken_after(before).await;
    // Lost by the writer alone, without anybody noticing.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%NOTIFY%' AND pid <> pg_backend_pid() AND datname = current_database()";
    RawPostgres::open(&writer.database.url()).execute(cut).unwrap();
    let before = notifier.woken().await;
    assert_eq!(writer.settle(1).await, Ok(Settled::Done));
    notifier.until_woken_after(before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_lets_nobody_listen_is_noticed() {
    let writer = Writer::with(1).await;
    let pooler = Pooler::before(&writer.database.url());
    let notifier = Notifier::on(&pooler.url);
    assert_eq!(writer.settle(0).await, Ok(Settled::Done));
    for _ in 0..3 {
        timeout(LONG, notifier.notify.notified()).await.expect("it looks by itself");
    }
    assert_eq!((notifier.wake_ups.is_listening(), notifier.woken().await), (false, 0));
    pooler.passes_notices.store(true, Ordering::SeqCst);
    notifier.until_listening_is(true).await;
}

/// Stands between a client and the server and swallows notices, as a pooler does that shares connections between transactions.
struct Pooler {
    url: String,
    passes_notices: Arc<AtomicBool>,
}

impl Pooler {
    fn before(url: &str) -> Self {
        let (user, rest) = url.split_once('@').unwrap();
        let (server, database) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let passes_notices = Arc::new(AtomicBool::new(false));
        let (server, passes) = (server.to_owned(), passes_notices.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&server).unwrap();
                let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || io::copy(&mut from_client, &mut to_server));
                let passes = passes.clone();
                thread::spawn(move || answers(server, client, &passes));
            }
        });
        Self { url: format!("{user}@{address}/{database}?sslmode=disable&gssencmode=disable"), passes_notices }
    }
}

/// Passes the server's messages on, each a letter, its length and what it says.
fn answers(mut server: TcpStream, mut client: TcpStream, passes_notices: &AtomicBool) -> io::Result<()> {
    loop {
        let mut head = [0; 5];
        server.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let mut message = vec![0; u32::from_be_bytes(length) as usize - length.len()];
        server.read_exact(&mut message)?;
        if kind != b'A' || passes_notices.load(Ordering::SeqCst) {
            client.write_all(&[&head[..], &message].concat())?;
        }
    }
}
