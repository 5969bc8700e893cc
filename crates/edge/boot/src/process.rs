use std::error::Error;
use std::future::Future;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use actix_web::rt::System;
use dropin_http::{Flows, RunningServer};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::logs::report_failure;
use crate::stop::{stop_on_signals, stopped};

/// How long a stop waits for background services, and then for money flows.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// No request for so long means that the load balancer sends no more.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
const QUIET_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Why a program does not run; its text tells a person what to do.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A running process: its listeners, its background services, its money flows, and the order in which they stop.
pub struct Process {
    /// Where money flows run.
    pub flows: Flows,
    /// Becomes `true` when a stop was requested: `/readyz` says no from then on, and everything else goes on for the drain delay.
    pub draining: watch::Receiver<bool>,
    /// Becomes `true` when the process shall stop, the drain delay after [`Process::draining`].
    pub stop: watch::Receiver<bool>,
    stopper: watch::Sender<bool>,
    drain_delay: Duration,
    /// Whether a listener of this process is called by its own money flows.
    calls_itself: bool,
    servers: Vec<RunningServer>,
    services: JoinSet<&'static str>,
}

impl Process {
    /// Runs `program` inside the runtime that actix needs, and reports its failure on standard error.
    pub fn run(program: impl Future<Output = Result<ExitCode, Failure>>) -> ExitCode {
        System::new().block_on(program).unwrap_or_else(|failure| {
            report_failure(&failure.to_string());
            ExitCode::FAILURE
        })
    }

    /// A process without parts yet, which listens to signals. Between one and the stop it goes on for `drain_delay`, in which the load balancer
    /// learns from `/readyz` to send it no more.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn start(drain_delay: Duration) -> Result<Self, Failure> {
        let flows = Flows::start().map_err(|error| format!("cannot start threads for money flows: {error}"))?;
        let (requested, stopper) = (stop_on_signals(), watch::Sender::new(false));
        let (draining, stop) = (requested.subscribe(), stopper.subscribe());
        let (servers, services) = (Vec::new(), JoinSet::new());
        Ok(Self { flows, draining, stop, stopper, drain_delay, calls_itself: false, servers, services })
    }

    /// Money flows of this process call a listener of its own, as those of an all-in-one with its sandbox processor do.
    pub fn calls_itself(&mut self) {
        self.calls_itself = true;
    }

    /// Adds a listener.
    pub fn add_server(&mut self, server: RunningServer) {
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

    /// Runs until a stop is requested and the drain delay is over, or a background service ends by itself, which is a failure. Then the listeners take
    /// nothing new and finish what they have, beside the background services; money flows come last, because requests wait for them. Where
    /// flows call a listener of this very process they come first.
    pub async fn until_stopped(mut self) -> ExitCode {
        let mut code = ExitCode::SUCCESS;
        let mut draining = self.draining.clone();
        tokio::select! {
            biased;
            () = stopped(&mut draining) => self.serve_while_draining().await,
            Some(ended) = self.services.join_next() => {
                match ended {
                    Ok(name) => log::error!("{name} ended by itself: the process stops so that it can be started again"),
                    Err(error) => log::error!("a background service broke ({error}): the process stops"),
                }
                code = ExitCode::FAILURE;
            }
        }
        self.stopper.send_replace(true);
        let (flows, servers) = (self.flows.clone(), std::mem::take(&mut self.servers));
        let flows = match self.calls_itself {
            true => {
                let (_, flows) = tokio::join!(self.end_services(), flows.drain(SHUTDOWN_TIMEOUT));
                stop_all(servers).await;
                flows
            }
            false => {
                tokio::join!(self.end_services(), stop_all(servers));
                flows.drain(SHUTDOWN_TIMEOUT).await
            }
        };
        if 0 < flows {
            log::warn!("{flows} money flows did not end in time; they are taken up after the next start");
        }
        log::info!("stopped");
        code
    }

    /// Goes on for the drain delay, and then as long as requests still come, at most twice the delay in all: the load balancer may ask `/readyz` more
    /// seldom than was thought.
    async fn serve_while_draining(&self) {
        let (begun, delay) = (Instant::now(), self.drain_delay);
        if delay.is_zero() {
            return;
        }
        log::info!("/readyz says no; the listeners close in {} s", delay.as_secs());
        tokio::time::sleep(delay).await;
        while begun.elapsed() < 2 * delay && self.servers.iter().any(|server| server.quiet_for() < QUIET_PERIOD) {
            tokio::time::sleep(QUIET_POLL_INTERVAL).await;
        }
    }

    /// Waits until the background services have ended by themselves, for a while; then ends them.
    async fn end_services(&mut self) {
        let all = async { while self.services.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, all).await.is_err() {
            log::warn!("background work did not end in time; it is taken up after the next start");
        }
        self.services.shutdown().await;
    }
}

async fn stop_all(servers: Vec<RunningServer>) {
    let stopping: Vec<_> = servers.into_iter().map(|server| actix_web::rt::spawn(server.stop())).collect();
    for stopping in stopping {
        // Only a panic is lost here, and it was logged.
        let _ = stopping.await;
    }
}
