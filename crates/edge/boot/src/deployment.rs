//! Whether a program may work on the database that it was given: the mode and the master key are those that the database remembers, and no pooler
//! mixes up its statements.

use std::path::Path;
use std::time::Duration;

use dropin_store::{Deployment, DeploymentMode, Role, StartRefused, Store, StoreConfig};
use tokio::sync::watch;

use crate::database::StoreArgs;
use crate::mode::{Mode, ModeArgs};
use crate::process::Failure;
use crate::stop::stopped;

/// Pause between two tries to compare, while the database does not answer.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between two measurements of the clock.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// How long the start waits for the database to tell its mode.
const MODE_DEADLINE: Duration = Duration::from_secs(3);

impl From<Mode> for DeploymentMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Sandbox => Self::Sandbox,
            Mode::Production => Self::Production,
        }
    }
}

impl From<DeploymentMode> for Mode {
    fn from(mode: DeploymentMode) -> Self {
        match mode {
            DeploymentMode::Sandbox => Self::Sandbox,
            DeploymentMode::Production => Self::Production,
        }
    }
}

impl ModeArgs {
    /// Takes the mode that the database remembers where none is configured. A database that does not answer, or is not there yet, knows none.
    ///
    /// # Errors
    /// The database's URL cannot be used.
    pub async fn complete(&mut self, settings: &StoreArgs) -> Result<(), Failure> {
        let url = settings.url()?;
        if self.mode.is_some() || url.strip_prefix("sqlite://").is_some_and(|path| !Path::new(path).exists()) {
            return Ok(());
        }
        let mut config = StoreConfig::new(url, Role::Tool);
        (config.deadline, config.connections) = (MODE_DEADLINE, 1);
        // What is wrong with it is told when it is opened to be used.
        let Ok(store) = Store::open(config) else { return Ok(()) };
        self.mode = store.find_deployment().await.ok().and_then(|deployment| deployment.mode).map(Mode::from);
        store.close();
        Ok(())
    }
}

/// Compares the program with what the database remembers; a service writes down what is not remembered yet, but no mode that is a default. A database
/// that does not answer is left to [`watch_database`]. `mode` holds the default too; a tool that works for accounts of either mode gives none.
///
/// # Errors
/// [`StartRefused`] says what to do.
pub async fn join_deployment(
    store: &Store,
    mode: Option<&ModeArgs>,
    master_key: Option<&str>,
) -> Result<(), StartRefused> {
    let is_mode_chosen = mode.is_some_and(|mode| mode.mode.is_some());
    let mode = mode.map(|mode| DeploymentMode::from(mode.mode()));
    store.set_deployment(Deployment { mode, master_key: master_key.map(str::to_owned) }, is_mode_chosen);
    // The caller says what is missing, once it asks for readiness.
    store.check_start().await.unwrap_or(Ok(()))
}

/// Compares until the database has answered, then measures every 30 seconds how far the clocks are apart. Ends when `stop` becomes `true`, and by itself,
/// which stops the process, when the program must not work on this database.
pub async fn watch_database(store: Store, mut stop: watch::Receiver<bool>) {
    loop {
        match store.check_start().await {
            Ok(Ok(())) => break,
            Ok(Err(refused)) => return log::error!("{refused}"),
            Err(_away) => {}
        }
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
        }
    }
    let mut was_wrong = false;
    loop {
        if let Ok(Some(difference)) = store.measure_clock().await {
            let is_wrong = difference.is_too_much();
            if is_wrong {
                log::error!(
                    "{difference}: cards and leases end at the wrong time and payments fail; keep the clocks right by NTP"
                );
            } else if was_wrong {
                log::info!("{difference}: right again");
            }
            was_wrong = is_wrong;
        }
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = tokio::time::sleep(CLOCK_CHECK_INTERVAL) => {}
        }
    }
}
