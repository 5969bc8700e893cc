use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};
use dropin_ports::{StoreError, StoreHealth};
use dropin_store_runtime::config::{
    DatabaseAddress, OpenError, Role, SERVICE_DEADLINE, StoreConfig, Target, lock_path,
};
use dropin_store_runtime::connection::{self, AnyConnection};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::migrate;
use dropin_store_runtime::wake::{self, WakeSignal, WakeSubscription};
use dropin_store_runtime::worker_pool::{self, DeadlineTimer, Job, Kind, Queue, TxOutcome, WalWriter, spawn};
use tokio::sync::Notify;

use crate::batch_queues::BatchQueues;
use crate::clock::Measurement;
use crate::deployment::StartState;
use crate::{event_log, migrations};

/// Reading threads beside SQLite's one writer.
const SQLITE_READERS: usize = 2;

/// How long an opener waits for a lock that a migrating tool may hold.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The store, on either database. Cheap to clone; all clones share one set of threads.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    target: Target,
    writes: Arc<Queue<Box<dyn Job>>>,
    reads: Arc<Queue<Box<dyn Job>>>,
    batch_queues: BatchQueues,
    deadline_timer: Arc<DeadlineTimer>,
    /// Sent when notifications were committed.
    wake_signal: Arc<WakeSignal>,
    threads: Mutex<Threads>,
    role: Role,
    write_check: Duration,
    start: Mutex<StartState>,
    clock: Measurement,
}

#[derive(Default)]
struct Threads {
    workers: Vec<JoinHandle<()>>,
    /// The threads of the wake signal. They end after the workers, which send it.
    wake_threads: Vec<JoinHandle<()>>,
    deadline_timer: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0.target {
            Target::Postgres(_) => "Store(PostgreSQL)",
            Target::Sqlite(_) => "Store(SQLite)",
        })
    }
}

impl Store {
    /// Opens the store. Blocks: for the start of a program.
    ///
    /// SQLite: takes the lock (a service), creates the file and applies migrations when no service runs on it. PostgreSQL: connects with
    /// the first step and never migrates by itself, so that a service starts, and says so, while its database is away.
    ///
    /// # Errors
    /// [`OpenError`] says what to do.
    pub fn open(config: StoreConfig) -> Result<Self, OpenError> {
        let target = Target::parse(&config.url, event_log::SET_CLOCK)?;
        if config.role == Role::Service {
            target.log_encryption();
        }
        let lock = match &target {
            Target::Postgres(_) => None,
            Target::Sqlite(path) => prepare_sqlite(path, config.role)?,
        };
        let writes = Arc::new(Queue::default());
        let reads = match &target {
            Target::Postgres(_) => writes.clone(),
            Target::Sqlite(_) => Arc::new(Queue::default()),
        };
        let deadline_timer = Arc::new(DeadlineTimer::new(config.deadline));
        // From here on a failure drops the store, which ends the threads that already run.
        let (batch_queues, wake_signal, threads) = Default::default();
        let (role, write_check) = (config.role, config.write_check);
        let (start, clock) = Default::default();
        let inner = Inner {
            target,
            writes,
            reads,
            batch_queues,
            deadline_timer,
            wake_signal,
            threads,
            role,
            write_check,
            start,
            clock,
        };
        let store = Self(Arc::new(inner));
        store.start(config.connections.max(1), config.deadline, lock)?;
        Ok(store)
    }

    fn start(&self, connections: u16, deadline: Duration, lock: Option<File>) -> Result<(), OpenError> {
        let inner = &self.0;
        let mut threads = inner.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline_timer = inner.deadline_timer.clone();
        threads.deadline_timer = Some(spawn("dropin-store-time", move || deadline_timer.serve())?);
        match &inner.target {
            Target::Postgres(address) => {
                for _ in 0..connections {
                    let (queue, address, wake_signal) =
                        (inner.writes.clone(), address.clone(), inner.wake_signal.clone());
                    let serve = move || worker_pool::serve_postgres(&queue, &address, deadline, &wake_signal);
                    threads.workers.push(spawn("dropin-store-pg", serve)?);
                }
                inner.batch_queues.start(address, deadline, &inner.wake_signal, &mut threads.workers)?;
                let (address, wake_signal) = (address.clone(), inner.wake_signal.clone());
                threads
                    .wake_threads
                    .push(spawn("dropin-store-notify", move || wake::serve_notify(&wake_signal, &address))?);
            }
            Target::Sqlite(path) => {
                let path = path_text(path)?;
                let (queue, file, wake_signal) = (inner.writes.clone(), path.clone(), inner.wake_signal.clone());
                let wal = WalWriter(Arc::default());
                let (activity, wal_of) = (wal.0.clone(), path.clone());
                let copy = move || worker_pool::serve_sqlite_checkpoints(&activity, &wal_of, deadline);
                threads.workers.push(spawn("dropin-store-wal", copy)?);
                threads.workers.push(spawn("dropin-store-write", move || {
                    worker_pool::serve_sqlite_writes(&queue, &file, deadline, &wake_signal, &wal);
                    // Held until the last write is done.
                    drop(lock);
                })?);
                for _ in 0..SQLITE_READERS {
                    let (queue, file) = (inner.reads.clone(), path.clone());
                    let serve = move || worker_pool::serve_sqlite_reads(&queue, &file, deadline);
                    threads.workers.push(spawn("dropin-store-read", serve)?);
                }
            }
        }
        Ok(())
    }

    /// Applies the migrations that are missing and returns their versions. Blocks, however long it takes: for the command line.
    ///
    /// # Errors
    /// [`OpenError::Connect`], [`OpenError::Migrate`]. SQLite has been migrated when it was opened, or that failed.
    pub fn migrate(&self) -> Result<Vec<String>, OpenError> {
        match &self.0.target {
            Target::Postgres(address) => {
                let mut connection = address.connect(SERVICE_DEADLINE, "").map_err(OpenError::Connect)?;
                migrate::postgres(&mut connection, migrations::POSTGRES)
            }
            // Opening it has done so already.
            Target::Sqlite(_) => Ok(Vec::new()),
        }
    }

    /// Lets nothing new in, finishes what waits, and ends the threads. Blocks; call it when the services have stopped. Every other clone
    /// answers [`StoreError::Unavailable`] from then on.
    pub fn close(&self) {
        self.0.let_nothing_in();
        let threads = std::mem::take(&mut *self.0.threads.lock().unwrap_or_else(PoisonError::into_inner));
        join(threads.workers);
        self.0.wake_signal.close();
        join(threads.wake_threads);
        self.0.deadline_timer.close();
        join(threads.deadline_timer);
    }

    /// Runs a step that writes, in a transaction of its own.
    pub(crate) async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<TxOutcome<T>, Fault> + Send + 'static,
    {
        worker_pool::run(&self.0.writes, &self.0.deadline_timer, Kind::Write, work).await
    }

    /// Runs a step that only reads.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<T, Fault> + Send + 'static,
    {
        let keep = move |connection: &mut AnyConnection| work(connection).map(TxOutcome::Commit);
        worker_pool::run(&self.0.reads, &self.0.deadline_timer, Kind::Read, keep).await
    }

    /// Where PostgreSQL is, whose user name and password may change while the store is open; `None` on SQLite.
    pub fn address(&self) -> Option<Arc<DatabaseAddress>> {
        match &self.0.target {
            Target::Postgres(address) => Some(address.clone()),
            Target::Sqlite(_) => None,
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.0.target
    }

    pub(crate) fn role(&self) -> Role {
        self.0.role
    }

    pub(crate) fn start_state(&self) -> MutexGuard<'_, StartState> {
        // Nothing can panic while it is held.
        self.0.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn clock(&self) -> &Measurement {
        &self.0.clock
    }

    pub(crate) fn batch_queues(&self) -> &BatchQueues {
        &self.0.batch_queues
    }

    pub(crate) fn deadline_timer(&self) -> &DeadlineTimer {
        &self.0.deadline_timer
    }

    /// Wakes `notifier` from now on as soon as notifications have been committed: by this process, and on PostgreSQL by any other, for which a
    /// connection of its own listens. Ends when `notifier` is dropped or the store is closed.
    ///
    /// It is only a hint: one may come too often, and none may come at all (a connection pooler that shares connections between transactions
    /// lets nobody listen). Then it comes every tenth of a second until listening works again.
    ///
    /// # Errors
    /// [`OpenError::Thread`].
    pub fn wake(&self, notifier: &Arc<Notify>) -> Result<WakeSubscription, OpenError> {
        let (subscription, thread) = self.0.wake_signal.subscribe(notifier, self.address())?;
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner).wake_threads.extend(thread);
        Ok(subscription)
    }

    /// The queue of tasks that run one by one.
    pub(crate) fn queue_of(&self, kind: Kind) -> &Queue<Box<dyn Job>> {
        match kind {
            Kind::Read => &self.0.reads,
            Kind::Write => &self.0.writes,
        }
    }
}

impl Inner {
    fn let_nothing_in(&self) {
        self.writes.close();
        self.reads.close();
        self.batch_queues.close();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Not joined: the last clone may be dropped anywhere.
        self.let_nothing_in();
        self.wake_signal.close();
        self.deadline_timer.close();
    }
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            log::error!("a thread of the store had panicked");
        }
    }
}

fn path_text(path: &Path) -> Result<String, OpenError> {
    path.to_str().map(str::to_owned).ok_or(OpenError::Url("the path is not valid UTF-8"))
}

/// Brings the SQLite database up to date, unless a service is running on it. Returns the lock that a service holds from now on.
fn prepare_sqlite(path: &Path, role: Role) -> Result<Option<File>, OpenError> {
    let lock_path = lock_path(path);
    let file_error = |action| {
        let path = lock_path.clone();
        move |source: io::Error| OpenError::File { action, path, source }
    };
    // Nothing is ever written to it.
    let lock = private_file(&lock_path)
        .map_err(file_error("create the lock file (does its folder exist, and may it be written?)"))?;
    // SQLite gives its side files the permissions of the database.
    private_file(path).map_err(|source| OpenError::File { action: "create", path: path.to_path_buf(), source })?;
    let give_up = Instant::now() + LOCK_TIMEOUT;
    while let Err(error) = lock.try_lock() {
        match error {
            TryLockError::Error(source) => return Err(file_error("lock")(source)),
            TryLockError::WouldBlock if role == Role::Tool => match beside_a_service(path)? {
                None => return Ok(None),
                Some(too_old) if give_up < Instant::now() => return Err(too_old),
                Some(_) => {}
            },
            TryLockError::WouldBlock if give_up < Instant::now() => return Err(OpenError::InUse(path.to_path_buf())),
            TryLockError::WouldBlock => {}
        }
        // Perhaps only a tool that is migrating holds it.
        thread::sleep(Duration::from_millis(20));
    }
    let mut connection = connection::sqlite(&path_text(path)?, true, SERVICE_DEADLINE).map_err(OpenError::Connect)?;
    migrate::sqlite(&mut connection, migrations::SQLITE)?;
    event_log::move_ahead(&mut connection).map_err(|error| OpenError::Migrate(error.to_string()))?;
    drop(connection);
    Ok((role == Role::Service).then_some(lock))
}

/// Opens a file, made for its owner alone when it is not there: shoppers' names and addresses stand in the database.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether a tool may work on the database that a service serves right now: `None`, or why not.
fn beside_a_service(path: &Path) -> Result<Option<OpenError>, OpenError> {
    let mut connection = connection::sqlite(&path_text(path)?, true, SERVICE_DEADLINE).map_err(OpenError::Connect)?;
    let (found, needed) = (migrate::newest_applied(&mut connection)?, migrate::newest(&migrations::SQLITE));
    if found.as_ref().is_some_and(|found| needed <= *found) {
        return Ok(None);
    }
    let found = found.unwrap_or_else(|| "nothing".to_owned());
    let remedy = "restart the running service with the new version first";
    Ok(Some(OpenError::SchemaTooOld { found, needed, remedy }))
}

#[derive(QueryableByName)]
struct NewestVersion {
    #[diesel(sql_type = Nullable<Text>)]
    version: Option<String>,
}

#[async_trait]
impl StoreHealth for Store {
    async fn ready(&self) -> Result<(), StoreError> {
        self.check_schema().await?;
        self.check_write(self.0.write_check).await
    }
}

impl Store {
    /// Whether the schema is as new as this program needs.
    pub(crate) async fn check_schema(&self) -> Result<(), StoreError> {
        let needed = migrate::newest(&migrations::SQLITE);
        let found = self.read(newest_version).await.map_err(|error| match error {
            // A database without our table of versions was never migrated.
            StoreError::Refused(why) => StoreError::Refused(format!("{why}; run `dropin migrate`")),
            other => other,
        })?;
        match found {
            Some(found) if needed <= found => Ok(()),
            found => {
                let found = found.unwrap_or_else(|| "nothing".to_owned());
                Err(StoreError::Refused(format!(
                    "the schema is at {found}, the program needs {needed}: run `dropin migrate`"
                )))
            }
        }
    }
}

fn newest_version(connection: &mut AnyConnection) -> Result<Option<String>, Fault> {
    use diesel::RunQueryDsl;
    let query = diesel::sql_query("SELECT max(version) AS version FROM __diesel_schema_migrations");
    let newest: NewestVersion = match connection {
        AnyConnection::Postgres(connection) => query.get_result(connection)?,
        AnyConnection::Sqlite(connection) => query.get_result(connection)?,
    };
    Ok(newest.version)
}
