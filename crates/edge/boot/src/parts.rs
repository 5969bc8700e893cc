use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::web::ServiceConfig;
use dropin_http::Server;
use dropin_ports::{KeyringError, MetricSource};

use crate::process::Process;

/// What a service, or several of one process, consist of.
#[derive(Default)]
pub struct Parts {
    mounted: Vec<Box<dyn FnOnce(Server) -> Server>>,
    metrics: Vec<Arc<dyn MetricSource>>,
    services: BackgroundServices,
    master_key: Option<String>,
}

/// Work that goes on until the process stops.
type BackgroundWork = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What works without being asked.
#[derive(Default)]
pub struct BackgroundServices(Vec<(&'static str, BackgroundWork)>);

impl Parts {
    /// Nothing but health, readiness and metrics yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds routes below `prefix`: empty, or beginning with a slash.
    #[must_use]
    pub fn mount(
        mut self,
        prefix: &'static str,
        configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    ) -> Self {
        self.mounted.push(Box::new(move |server| server.mount(prefix, configure)));
        self
    }

    /// Adds a source of measurements to `/metrics`.
    #[must_use]
    pub fn register_metrics(mut self, source: Arc<dyn MetricSource>) -> Self {
        // What services share is measured once.
        if !self.metrics.iter().any(|known| Arc::ptr_eq(known, &source)) {
            self.metrics.push(source);
        }
        self
    }

    /// Lets `/readyz` ask whether these keys can be used too.
    #[must_use]
    pub fn ready_with_keys(mut self, check: impl Fn() -> Result<(), KeyringError> + Send + Sync + 'static) -> Self {
        self.mounted.push(Box::new(|server| server.ready_with_keys(check)));
        self
    }

    /// The id of the master key, which the database remembers.
    #[must_use]
    pub fn with_master_key(mut self, id: &str) -> Self {
        self.master_key = Some(id.to_owned());
        self
    }

    /// The id of the master key, where this service has one.
    pub(crate) fn master_key(&self) -> Option<&str> {
        self.master_key.as_deref()
    }

    /// Adds a background service, which ends by itself when [`crate::Context::stop`] becomes `true`.
    #[must_use]
    pub fn run(mut self, name: &'static str, service: impl Future<Output = ()> + Send + 'static) -> Self {
        self.services.0.push((name, Box::pin(service)));
        self
    }

    /// Adds another service of the same process.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.mounted.extend(other.mounted);
        self.services.0.extend(other.services.0);
        self.master_key = self.master_key.or(other.master_key);
        other.metrics.into_iter().fold(self, Self::register_metrics)
    }

    /// Mounts what answers requests; what remains is to be run.
    pub fn mount_on(self, server: Server) -> (Server, BackgroundServices) {
        let server = self.mounted.into_iter().fold(server, |server, mount| mount(server));
        (self.metrics.into_iter().fold(server, Server::register_metrics), self.services)
    }
}

impl BackgroundServices {
    /// Starts them.
    pub fn run_in(self, process: &mut Process) {
        for (name, service) in self.0 {
            process.add_service(name, service);
        }
    }
}
