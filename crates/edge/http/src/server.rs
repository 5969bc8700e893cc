use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpResponse, HttpServer, web};
use dropin_ports::StoreHealth;
use dropin_wire::ErrorCode;
use tokio::net::TcpSocket;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::ApiError;
use crate::body::BodyLimit;
use crate::body_guard::guard;
use crate::health::{self, Readiness};
use crate::observe::{Observer, observe};
use crate::tls::{TlsError, TlsFiles};

/// Connections that the system keeps for us until a worker takes them.
const BACKLOG: u32 = 1024;

/// How much a listener puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Threads that serve requests.
    pub workers: usize,
    /// Open connections, over all workers; more wait to be accepted.
    pub max_connections: usize,
    /// Time for the head of a request.
    pub head_deadline: Duration,
    /// Time for the body of a request, from its head on.
    pub body_deadline: Duration,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// Time that a stop gives to requests that run.
    pub stop_deadline: Duration,
    /// Largest body.
    pub body: BodyLimit,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            workers: 2,
            max_connections: 10_000,
            head_deadline: Duration::from_secs(5),
            body_deadline: Duration::from_secs(10),
            keep_alive: Duration::from_secs(75),
            stop_deadline: Duration::from_secs(30),
            body: BodyLimit::default(),
        }
    }
}

/// Why a listener does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Everybody on the network could read along.
    #[error(
        "{0} is reachable from other machines and has no TLS: configure a certificate and key, listen on 127.0.0.1, or \
         set behind_proxy when a proxy in front of it ends TLS"
    )]
    Unprotected(SocketAddr),
    /// The address is taken.
    #[error("{0} is in use: stop the program that listens there, or choose another address with --listen")]
    InUse(SocketAddr),
    /// The system refuses the address.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The configured address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A mounted service. Cloned once for each worker.
trait Configure: Send {
    fn apply(&self, config: &mut web::ServiceConfig);
    fn boxed_clone(&self) -> Box<dyn Configure>;
}

impl<F: Fn(&mut web::ServiceConfig) + Clone + Send + 'static> Configure for F {
    fn apply(&self, config: &mut web::ServiceConfig) {
        self(config);
    }

    fn boxed_clone(&self) -> Box<dyn Configure> {
        Box::new(self.clone())
    }
}

struct Mounted {
    prefix: &'static str,
    configure: Box<dyn Configure>,
}

impl Clone for Mounted {
    fn clone(&self) -> Self {
        Self { prefix: self.prefix, configure: self.configure.boxed_clone() }
    }
}

/// One or more listeners with the same services behind them.
pub struct Server {
    name: &'static str,
    listeners: Vec<(SocketAddr, TcpListener)>,
    mounted: Vec<Mounted>,
    tls: Option<TlsFiles>,
    limits: Limits,
    behind_proxy: bool,
    store: Option<Arc<dyn StoreHealth>>,
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
            store: None,
            stop: None,
        }
    }

    /// Takes that address too; port 0 lets the system choose. Nothing is answered before [`Server::start`]. Has to be
    /// called inside a tokio runtime.
    ///
    /// # Errors
    /// [`ServeError::InUse`] or [`ServeError::Bind`].
    pub fn listen(mut self, address: SocketAddr) -> Result<Self, ServeError> {
        let listener = bind(address).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::InUse(address),
            _ => ServeError::Bind { address, source },
        })?;
        let address = listener.local_addr().map_err(|source| ServeError::Bind { address, source })?;
        self.listeners.push((address, listener));
        Ok(self)
    }

    /// The addresses taken so far, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|(address, _)| *address).collect()
    }

    /// Mounts a service below `prefix`: empty, or beginning with a slash.
    #[must_use]
    pub fn mount(
        mut self,
        prefix: &'static str,
        configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    ) -> Self {
        self.mounted.push(Mounted { prefix, configure: Box::new(configure) });
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

    /// Whether a proxy in front ends TLS, so that plain HTTP may leave the machine.
    #[must_use]
    pub fn behind_proxy(mut self, behind_proxy: bool) -> Self {
        self.behind_proxy = behind_proxy;
        self
    }

    /// `/readyz` asks this store.
    #[must_use]
    pub fn ready_when(mut self, store: Arc<dyn StoreHealth>) -> Self {
        self.store = Some(store);
        self
    }

    /// `/readyz` says no as soon as this is `true`, so that nobody sends more while the process stops.
    #[must_use]
    pub fn ready_until(mut self, stop: watch::Receiver<bool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Serves on every address. Has to be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`ServeError`]: nothing is served then.
    pub fn start(self) -> Result<Running, ServeError> {
        let addresses = self.addresses();
        let Self { name, listeners, mut mounted, tls, limits, behind_proxy, store, stop } = self;
        let protected = tls.is_some() || behind_proxy;
        if let Some(open) = addresses.iter().find(|address| !protected && !address.ip().is_loopback()) {
            return Err(ServeError::Unprotected(*open));
        }
        // The root comes last: its services may match what belongs to a prefix.
        mounted.sort_by_key(|service| std::cmp::Reverse(service.prefix.len()));
        let tls = tls.map(|files| files.load()).transpose()?;
        let readiness = Readiness { store, stop };
        let observer = Observer { metrics: Arc::default(), tls: tls.is_some() };
        let mut server = HttpServer::new(move || {
            let (observer, patience) = (observer.clone(), limits.body_deadline);
            let (readiness, metrics) = (readiness.clone(), observer.metrics.clone());
            let mounted = mounted.clone();
            App::new()
                .wrap(from_fn(move |request, next| guard(patience, request, next)))
                .wrap(from_fn(move |request, next| observe(observer.clone(), request, next)))
                .app_data(limits.body)
                .app_data(web::PathConfig::default().error_handler(|_, _| bad_path().into()))
                .app_data(web::QueryConfig::default().error_handler(|error, _| bad_query(error).into()))
                .configure(move |config| health::mount(config, readiness, metrics))
                .configure(move |config| mount_all(config, &mounted))
                .default_service(web::to(no_route))
        })
        .workers(limits.workers)
        .max_connections(limits.max_connections.div_ceil(limits.workers.max(1)))
        .client_request_timeout(limits.head_deadline)
        .keep_alive(limits.keep_alive)
        .shutdown_timeout(limits.stop_deadline.as_secs())
        .disable_signals();
        for (address, listener) in listeners {
            server = match tls.clone() {
                Some(tls) => server.listen_rustls_0_23(listener, tls),
                None => server.listen(listener),
            }
            .map_err(|source| ServeError::Bind { address, source })?;
        }
        let scheme = if tls.is_some() { "https" } else { "http" };
        for address in &addresses {
            log::info!("{name} listens on {scheme}://{address}");
        }
        let server = server.run();
        Ok(Running { name, addresses, handle: server.handle(), task: tokio::spawn(server) })
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart may take the address over while the system still remembers connections of before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?.into_std()
}

fn mount_all(config: &mut web::ServiceConfig, mounted: &[Mounted]) {
    for Mounted { prefix, configure } in mounted {
        if prefix.is_empty() {
            configure.apply(config);
        } else {
            config.service(web::scope(prefix).configure(|scope| configure.apply(scope)));
        }
    }
}

async fn no_route() -> Result<HttpResponse, ApiError> {
    Err(ApiError::new(ErrorCode::NotFound, "There is nothing under this address; compare it with the documentation."))
}

fn bad_path() -> ApiError {
    ApiError::new(
        ErrorCode::ValidationError,
        "A part of the address has the wrong form; compare it with the documentation.",
    )
}

fn bad_query(error: actix_web::error::QueryPayloadError) -> ApiError {
    ApiError::new(
        ErrorCode::InvalidRequest,
        "The query string cannot be understood; compare it with the documentation.",
    )
    .with_detail(match error {
        actix_web::error::QueryPayloadError::Deserialize(_) => "a query parameter is missing or has the wrong form",
        _ => "the query string has the wrong form",
    })
}

/// A server that serves.
pub struct Running {
    name: &'static str,
    addresses: Vec<SocketAddr>,
    handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
}

impl Running {
    /// The addresses it listens on, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
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
