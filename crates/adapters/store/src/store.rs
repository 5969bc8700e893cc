use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};
use dropin_ports::{StoreError, StoreHealth};

use crate::config::{OpenError, Role, SERVICE_DEADLINE, StoreConfig, Target, lock_path};
use crate::connection::{self, AnyConnection};
use crate::fault::Fault;
use crate::feed;
use crate::lane::{self, Job, Kind, Queue, Timekeeper, Verdict};
use crate::migrate;
use crate::sorts::Sorts;
use crate::wake::{self, Bell};

/// Reading threads beside SQLite's one writer.
const SQLITE_READERS: usize = 2;

/// How long an opener waits for a lock that a migrating tool may hold.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The store, on either database. Cheap to clone; all clones share one set of threads.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    target: Target,
    writes: Arc<Queue<Box<dyn Job>>>,
    reads: Arc<Queue<Box<dyn Job>>>,
    sorts: Sorts,
    timekeeper: Arc<Timekeeper>,
    /// Rung when notifications were committed.
    bell: Arc<Bell>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    lanes: Vec<JoinHandle<()>>,
    /// Those that end after the lanes, because lanes ring the bell.
    wakers: Vec<JoinHandle<()>>,
    timekeeper: Option<JoinHandle<()>>,
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
        let target = Target::parse(&config.url)?;
        let lock = match &target {
            Target::Postgres(_) => None,
            Target::Sqlite(path) => prepare_sqlite(path, config.role)?,
        };
        let writes = Arc::new(Queue::default());
        let reads = match &target {
            Target::Postgres(_) => writes.clone(),
            Target::Sqlite(_) => Arc::new(Queue::default()),
        };
        let timekeeper = Arc::new(Timekeeper::new(config.deadline));
        // From here on a failure drops the store, which ends the threads that already run.
        let (sorts, bell, threads) = Default::default();
        let store = Self(Arc::new(Inner { target, writes, reads, sorts, timekeeper, bell, threads }));
        store.start(config.threads.max(1), config.deadline, lock)?;
        Ok(store)
    }

    fn start(&self, connections: usize, deadline: Duration, lock: Option<File>) -> Result<(), OpenError> {
        let inner = &self.0;
        let mut threads = inner.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let timekeeper = inner.timekeeper.clone();
        threads.timekeeper = Some(spawn("dropin-store-time", move || timekeeper.serve())?);
        match &inner.target {
            Target::Postgres(url) => {
                for _ in 0..connections {
                    let (queue, url, bell) = (inner.writes.clone(), url.clone(), inner.bell.clone());
                    let serve = move || lane::serve_postgres(&queue, &url, deadline, &bell);
                    threads.lanes.push(spawn("dropin-store-pg", serve)?);
                }
                inner.sorts.start(url, deadline, &inner.bell, &mut threads.lanes)?;
                let (url, bell) = (url.clone(), inner.bell.clone());
                threads.wakers.push(spawn("dropin-store-tell", move || wake::serve_tell(&bell, &url))?);
            }
            Target::Sqlite(path) => {
                let path = path_text(path)?;
                let (queue, file, bell) = (inner.writes.clone(), path.clone(), inner.bell.clone());
                threads.lanes.push(spawn("dropin-store-write", move || {
                    lane::serve_sqlite_writes(&queue, &file, deadline, &bell);
                    // Held until the last write is done.
                    drop(lock);
                })?);
                for _ in 0..SQLITE_READERS {
                    let (queue, file) = (inner.reads.clone(), path.clone());
                    let serve = move || lane::serve_sqlite_reads(&queue, &file, deadline);
                    threads.lanes.push(spawn("dropin-store-read", serve)?);
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
            Target::Postgres(url) => {
                let mut connection = connection::postgres(url, SERVICE_DEADLINE, "").map_err(OpenError::Connect)?;
                migrate::postgres(&mut connection)
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
        join(threads.lanes);
        self.0.bell.close();
        join(threads.wakers);
        self.0.timekeeper.close();
        join(threads.timekeeper);
    }

    /// Runs a step that writes, in a transaction of its own.
    pub(crate) async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<Verdict<T>, Fault> + Send + 'static,
    {
        lane::run(&self.0.writes, &self.0.timekeeper, Kind::Write, work).await
    }

    /// Runs a step that only reads.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<T, Fault> + Send + 'static,
    {
        let keep = move |connection: &mut AnyConnection| work(connection).map(Verdict::Keep);
        lane::run(&self.0.reads, &self.0.timekeeper, Kind::Read, keep).await
    }

    pub(crate) fn target(&self) -> &Target {
        &self.0.target
    }

    pub(crate) fn sorts(&self) -> &Sorts {
        &self.0.sorts
    }

    pub(crate) fn timekeeper(&self) -> &Timekeeper {
        &self.0.timekeeper
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.0.bell
    }

    /// Waits for a thread that ends with the bell when the store is closed.
    pub(crate) fn keep(&self, waker: JoinHandle<()>) {
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner).wakers.push(waker);
    }

    /// Where steps wait that are done one by one.
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
        self.sorts.close();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Not joined: the last clone may be dropped anywhere.
        self.let_nothing_in();
        self.bell.close();
        self.timekeeper.close();
    }
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            log::error!("a thread of the store had panicked");
        }
    }
}

/// Starts a thread of the store.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(OpenError::Thread)
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
    let give_up = Instant::now() + LOCK_PATIENCE;
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
    migrate::sqlite(&mut connection)?;
    feed::move_ahead(&mut connection).map_err(|error| OpenError::Migrate(error.to_string()))?;
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
    let (found, needed) = (migrate::newest_applied(&mut connection)?, migrate::newest_known());
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
        let needed = migrate::newest_known();
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
