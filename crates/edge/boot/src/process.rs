use std::error::Error;
use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use actix_web::rt::System;
use dropin_http::{Flows, Running};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::stop::{stop_on_signals, stopped};

/// How long a stop waits for background services, and then for money flows.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a program does not run; its text tells a person what to do.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A running process: its listeners, its background services, its money flows, and the order in which they stop.
pub struct Process {
    /// Where money flows run.
    pub flows: Flows,
    /// Becomes `true` when the process shall stop.
    pub stop: watch::Receiver<bool>,
    stopper: watch::Sender<bool>,
    servers: Vec<Running>,
    services: JoinSet<&'static str>,
}

impl Process {
    /// Runs `program` inside the runtime that actix needs, and reports its failure on standard error.
    pub fn run(program: impl Future<Output = Result<ExitCode, Failure>>) -> ExitCode {
        System::new().block_on(program).unwrap_or_else(|failure| {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        })
    }

    /// A process without parts yet, which listens to signals.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn start() -> Result<Self, Failure> {
        let flows = Flows::start().map_err(|error| format!("cannot start threads for money flows: {error}"))?;
        let stopper = stop_on_signals();
        Ok(Self { flows, stop: stopper.subscribe(), stopper, servers: Vec::new(), services: JoinSet::new() })
    }

    /// Adds a listener.
    pub fn add_server(&mut self, server: Running) {
        self.servers.push(server);
    }

    /// Starts a background service, which ends by itself when [`Process::stop`] becomes `true`.
    pub fn add_service(&mut self, name: &'static str, service: impl Future<Output = ()> + Send + 'static) {
        log::info!("{name} runs");
        self.services.spawn(async move {
            service.await;
            name
        });
    }

    /// Starts a background service that has to stay on this thread, as actix' servers do.
    pub fn add_local_service(&mut self, name: &'static str, service: impl Future<Output = ()> + 'static) {
        log::info!("{name} runs");
        self.services.spawn_local(async move {
            service.await;
            name
        });
    }

    /// Runs until somebody asks for a stop, or a background service ends by itself, which is a failure. Then stops whoever
    /// calls others before whoever is called: background services and money flows, which take nothing new and finish
    /// what they have begun, then the listeners.
    pub async fn until_stopped(mut self) -> ExitCode {
        let mut code = ExitCode::SUCCESS;
        tokio::select! {
            biased;
            () = stopped(&mut self.stop) => {}
            Some(ended) = self.services.join_next() => {
                match ended {
                    Ok(name) => log::error!("{name} ended by itself: the process stops so that it can be started again"),
                    Err(error) => log::error!("a background service broke ({error}): the process stops"),
                }
                self.stopper.send_replace(true);
                code = ExitCode::FAILURE;
            }
        }
        let services = tokio::time::timeout(PATIENCE, async { while self.services.join_next().await.is_some() {} });
        let (services, flows) = tokio::join!(services, self.flows.drain(PATIENCE));
        if services.is_err() || 0 < flows {
            log::warn!(
                "background work ({flows} money flows) did not end in time; it is taken up after the next start"
            );
        }
        self.services.shutdown().await;
        let stopping: Vec<_> = self.servers.into_iter().map(|server| actix_web::rt::spawn(server.stop())).collect();
        for stopping in stopping {
            // Only a panic is lost here, and it was logged.
            let _ = stopping.await;
        }
        log::info!("stopped");
        code
    }
}
