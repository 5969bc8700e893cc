//! Opening a store, and its migrations.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dropin_store_runtime::config::{OpenError, Role, SERVICE_DEADLINE, StoreConfig, Target, lock_path};
use dropin_store_runtime::worker_pool::WorkerPool;
use dropin_store_runtime::{connection, migrate};

use crate::store::Store;
use crate::{event_log, migrations};

/// How long an opener waits for a lock that a migrating tool may hold.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

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
        let pool = WorkerPool::start(target, config.connections, config.deadline, lock)?;
        Ok(Self::new(pool, config.role, config.write_check))
    }

    /// Applies the migrations that are missing and returns their versions. Blocks, however long it takes: for the command line.
    ///
    /// # Errors
    /// [`OpenError::Connect`], [`OpenError::Migrate`]. SQLite has been migrated when it was opened, or that failed.
    pub fn migrate(&self) -> Result<Vec<String>, OpenError> {
        match self.address() {
            Some(address) => {
                let mut connection = address.connect(SERVICE_DEADLINE, "").map_err(OpenError::Connect)?;
                migrate::postgres(&mut connection, migrations::POSTGRES)
            }
            // Opening it has done so already.
            None => Ok(Vec::new()),
        }
    }
}

/// Brings the SQLite database up to date, unless a service is running on it. Returns the lock that a service holds from now on.
fn prepare_sqlite(path: &str, role: Role) -> Result<Option<File>, OpenError> {
    let lock_path = lock_path(path);
    let file_error = |action| {
        let path = lock_path.clone();
        move |source: io::Error| OpenError::File { action, path, source }
    };
    // Nothing is ever written to it.
    let lock = private_file(&lock_path)
        .map_err(file_error("create the lock file (does its folder exist, and may it be written?)"))?;
    // SQLite gives its side files the permissions of the database.
    private_file(Path::new(path)).map_err(|source| OpenError::File { action: "create", path: path.into(), source })?;
    let give_up = Instant::now() + LOCK_TIMEOUT;
    while let Err(error) = lock.try_lock() {
        match error {
            TryLockError::Error(source) => return Err(file_error("lock")(source)),
            TryLockError::WouldBlock if role == Role::Tool => match beside_a_service(path)? {
                None => return Ok(None),
                Some(too_old) if give_up < Instant::now() => return Err(too_old),
                Some(_) => {}
            },
            TryLockError::WouldBlock if give_up < Instant::now() => return Err(OpenError::InUse(path.into())),
            TryLockError::WouldBlock => {}
        }
        // Perhaps only a tool that is migrating holds it.
        thread::sleep(Duration::from_millis(20));
    }
    let mut connection = connection::sqlite(path, true, SERVICE_DEADLINE).map_err(OpenError::Connect)?;
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
fn beside_a_service(path: &str) -> Result<Option<OpenError>, OpenError> {
    let mut connection = connection::sqlite(path, true, SERVICE_DEADLINE).map_err(OpenError::Connect)?;
    let (found, needed) = (migrate::newest_applied(&mut connection)?, migrate::newest(&migrations::SQLITE));
    if found.as_ref().is_some_and(|found| needed <= *found) {
        return Ok(None);
    }
    let found = found.unwrap_or_else(|| "nothing".to_owned());
    let remedy = "restart the running service with the new version first";
    Ok(Some(OpenError::SchemaTooOld { found, needed, remedy }))
}
