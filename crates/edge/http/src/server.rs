use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_server::ServerHandle;
use actix_web::web;
use dropin_ports::{KeyringError, MetricSource, StoreHealth};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::acceptor::ListenerContext;
use crate::connections::ConnectionLimiter;
use crate::health::{KeyCheck, LatestRequest, MetricsAccess, Readiness};
use crate::limits::Limits;
use crate::listener::{ListenerFactory, ServeError, bind};
use crate::metrics::Metrics;
use crate::metrics_registry::MetricsRegistry;
use crate::mounted::Mounted;
use crate::observe::MountPoint;
use crate::rate_limiter::RateLimiter;
use crate::tls::TlsFiles;

/// One or more listeners with the same services behind them.
pub struct Server {
    name: &'static str,
    listeners: Vec<(SocketAddr, TcpListener)>,
    mounted: Vec<Mounted>,
    tls: Option<TlsFiles>,
    limits: Limits,
    behind_proxy: bool,
    metrics: Option<TcpListener>,
    metrics_sources: Vec<Arc<dyn MetricSource>>,
    store: Option<(Arc<dyn StoreHealth>, Duration)>,
    keys: Vec<KeyCheck>,
    stop: Option<watch::Receiver<bool>>,
}

impl Server {
    /// A server that its log lines call `name`, without address and services yet.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            listeners: Vec::new(),
            mounted: Vec::new(),
            tls: None,
            limits: Limits::default(),
            behind_proxy: false,
            metrics: None,
            metrics_sources: Vec::new(),
            store: None,
            keys: Vec::new(),
            stop: None,
        }
    }

    /// Takes that address too; port 0 lets the system choose. Nothing is answered before [`Server::start`]. Has to be
    /// called from a tokio runtime.
    ///
    /// # Errors
    /// [`ServeError::InUse`] or [`ServeError::Bind`].
    pub fn listen(mut self, address: SocketAddr) -> Result<Self, ServeError> {
        self.listeners.push(bind(address)?);
        Ok(self)
    }

    /// Serves `/metrics`, beside health and readiness, on an address of its own in place of the others: plain HTTP, to whoever reaches
    /// it. Without this, programs of the same machine may read it on every address.
    ///
    /// # Errors
    /// [`ServeError::MetricsInUse`] or [`ServeError::Bind`].
    pub fn metrics_on(mut self, address: Option<SocketAddr>) -> Result<Self, ServeError> {
        let bound = address.map(bind).transpose().map_err(|error| match error {
            ServeError::InUse(address) => ServeError::MetricsInUse(address),
            other => other,
        });
        self.metrics = bound?.map(|(_, listener)| listener);
        Ok(self)
    }

    /// Adds a source of measurements to `/metrics`.
    #[must_use]
    pub fn register_metrics(mut self, source: Arc<dyn MetricSource>) -> Self {
        self.metrics_sources.push(source);
        self
    }

    /// The addresses taken so far, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|(address, _)| *address).collect()
    }

    /// Mounts a service below `prefix`: empty, or beginning with a slash.
    #[must_use]
    pub fn mount(
        self,
        prefix: &'static str,
        configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    ) -> Self {
        self.mount_at(MountPoint { prefix, counted: true, polled: &[] }, configure)
    }

    /// Mounts a service below `prefix` as [`Server::mount`] does, whose requests do not count against [`Limits::client_rate`]: it knows
    /// its callers in a way of its own. `polled` are paths below the prefix that they ask for again and again: the access log tells a success there at
    /// level debug alone.
    #[must_use]
    pub fn mount_uncounted(
        self,
        prefix: &'static str,
        polled: &'static [&'static str],
        configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    ) -> Self {
        self.mount_at(MountPoint { prefix, counted: false, polled }, configure)
    }

    fn mount_at(
        mut self,
        mount_point: MountPoint,
        configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    ) -> Self {
        self.mounted.push(Mounted { mount_point, configure: Box::new(configure) });
        self
    }

    /// Serves TLS 1.2 and 1.3 in place of plain HTTP.
    #[must_use]
    pub fn tls(mut self, files: Option<TlsFiles>) -> Self {
        self.tls = files;
        self
    }

    /// Replaces the default limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether a proxy in front ends TLS, so that plain HTTP may be served to other machines, and tells the client's address as the last entry of
    /// `X-Forwarded-For`.
    #[must_use]
    pub fn behind_proxy(mut self, behind_proxy: bool) -> Self {
        self.behind_proxy = behind_proxy;
        self
    }

    /// `/readyz` asks this store. While it does not answer, the yes of before counts for `grace`.
    #[must_use]
    pub fn ready_when(mut self, store: Arc<dyn StoreHealth>, grace: Duration) -> Self {
        self.store = Some((store, grace));
        self
    }

    /// `/readyz` asks whether these keys can be used too.
    #[must_use]
    pub fn ready_with_keys(mut self, check: impl Fn() -> Result<(), KeyringError> + Send + Sync + 'static) -> Self {
        self.keys.push(Arc::new(check));
        self
    }

    /// As soon as this is `true` `/readyz` says no, and each answer closes its connection, so that clients send no more while the process stops.
    #[must_use]
    pub fn ready_until(mut self, stop: watch::Receiver<bool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Serves on every address. Has to be called from a tokio runtime.
    ///
    /// # Errors
    /// [`ServeError`]: nothing is served then.
    pub fn start(self) -> Result<RunningServer, ServeError> {
        let addresses = self.addresses();
        let Self {
            name,
            listeners,
            mut mounted,
            tls,
            limits,
            behind_proxy,
            metrics,
            metrics_sources,
            store,
            keys,
            stop,
        } = self;
        let protected = tls.is_some() || behind_proxy;
        if let Some(open) = addresses.iter().find(|address| !protected && !address.ip().is_loopback()) {
            return Err(ServeError::Unprotected(*open));
        }
        // The root comes last: its services may match what belongs to a prefix.
        mounted.sort_by_key(|service| std::cmp::Reverse(service.mount_point.prefix.len()));
        let limits = limits.fit_open_files();
        let counts = Arc::<Metrics>::default();
        let rate_limiter = RateLimiter::new(&limits, counts.clone());
        RateLimiter::spawn_cleanup(&rate_limiter);
        let builder = actix_server::Server::build()
            .workers(limits.workers)
            .max_concurrent_connections(limits.max_connections.div_ceil(limits.workers.max(1)))
            .shutdown_timeout(limits.stop_deadline.as_secs())
            .disable_signals();
        let context = ListenerContext {
            limits,
            tls: tls.map(|files| files.load()).transpose()?.map(|tls| TlsAcceptor::from(Arc::new(tls))),
            // Behind a proxy all connections are the proxy's.
            connection_limiter: ConnectionLimiter::new(if behind_proxy { 0 } else { limits.client_connections }),
            metrics: counts,
            stop: builder.graceful_shutdown_signal(),
        };
        let metrics_access = if metrics.is_some() { MetricsAccess::Nobody } else { MetricsAccess::Local };
        let readiness = Readiness::new(store, keys, stop);
        let metrics_registry = Arc::new(MetricsRegistry::new(metrics_sources));
        let latest = readiness.latest();
        let factory = ListenerFactory { context, rate_limiter, behind_proxy, readiness, metrics_registry, mounted };
        let scheme = if factory.context.tls.is_some() { "https" } else { "http" };
        let mut server = builder;
        for (address, listener) in listeners {
            server = factory
                .listen(server, listener, metrics_access)
                .map_err(|source| ServeError::Bind { address, source })?;
            log::info!("{name} listens on {scheme}://{address}");
        }
        if let Some(listener) = metrics {
            server = factory.listen_for_metrics(name, server, listener)?;
        }
        let server = server.run();
        Ok(RunningServer { name, addresses, latest, handle: server.handle(), task: tokio::spawn(server) })
    }
}

/// A server that serves.
pub struct RunningServer {
    name: &'static str,
    addresses: Vec<SocketAddr>,
    latest: Arc<LatestRequest>,
    handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
}

impl RunningServer {
    /// The addresses it listens on, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// For how long no client has sent anything but health checks, since the process was asked to stop.
    pub fn quiet_for(&self) -> Duration {
        self.latest.quiet_for()
    }

    /// Stops accepting, lets running requests finish within [`Limits::stop_deadline`], and ends.
    pub async fn stop(self) {
        log::info!("{} stops; running requests may finish", self.name);
        self.handle.stop(true).await;
        match self.task.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log::error!("{} ended with an error: {error}", self.name),
            Err(error) => log::error!("{} ended abnormally: {error}", self.name),
        }
    }
}
