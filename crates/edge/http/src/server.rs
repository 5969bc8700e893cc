use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;

use actix_http::{HttpService, Request, Response};
use actix_server::{ServerBuilder, ServerHandle};
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, map_config};
use actix_web::body::MessageBody;
use actix_web::dev::AppConfig;
use actix_web::middleware::from_fn;
use actix_web::{App, Error, HttpResponse, web};
use dropin_ports::{Measured, StoreHealth};
use dropin_wire::ErrorCode;
use tokio::net::TcpSocket;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::ApiError;
use crate::connections::Crowd;
use crate::door::{DoorFactory, Terms, introduce};
use crate::health::{self, Readers, Readiness};
use crate::limits::{LINGER, Limits};
use crate::metrics::Metrics;
use crate::observe::{Observer, Place, Refusals, observe};
use crate::rates::Rates;
use crate::tls::{TlsError, TlsFiles};
use crate::watched::Watched;

/// Connections that the system keeps for us until a worker takes them.
const BACKLOG: u32 = 1024;

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
    #[error("{0} is in use: stop the program that listens there, or choose another address")]
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
    place: Place,
    configure: Box<dyn Configure>,
}

impl Clone for Mounted {
    fn clone(&self) -> Self {
        Self { place: self.place, configure: self.configure.boxed_clone() }
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
    metrics: Option<TcpListener>,
    watched: Vec<Arc<dyn Measured>>,
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
            metrics: None,
            watched: Vec::new(),
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
        self.listeners.push(bind(address)?);
        Ok(self)
    }

    /// Serves `/metrics`, beside health and readiness, on an address of its own in place of the others: plain HTTP, to whoever reaches
    /// it. Without this, programs of the same machine may read it on every address.
    ///
    /// # Errors
    /// As [`Server::listen`].
    pub fn metrics_on(mut self, address: Option<SocketAddr>) -> Result<Self, ServeError> {
        self.metrics = address.map(bind).transpose()?.map(|(_, listener)| listener);
        Ok(self)
    }

    /// `/metrics` tells what this part knows too.
    #[must_use]
    pub fn watch(mut self, part: Arc<dyn Measured>) -> Self {
        self.watched.push(part);
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
        self.mount_at(Place { prefix, counted: true }, configure)
    }

    /// Mounts a service below `prefix` as [`Server::mount`] does, whose requests do not count against [`Limits::client_rate`]: it knows
    /// its callers in a way of its own.
    #[must_use]
    pub fn mount_uncounted(
        self,
        prefix: &'static str,
        configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    ) -> Self {
        self.mount_at(Place { prefix, counted: false }, configure)
    }

    fn mount_at(mut self, place: Place, configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static) -> Self {
        self.mounted.push(Mounted { place, configure: Box::new(configure) });
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

    /// Whether a proxy in front ends TLS, so that plain HTTP may leave the machine, and tells the client's address as the last entry of
    /// `X-Forwarded-For`.
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
        let Self { name, listeners, mut mounted, tls, limits, behind_proxy, metrics, watched, store, stop } = self;
        let protected = tls.is_some() || behind_proxy;
        if let Some(open) = addresses.iter().find(|address| !protected && !address.ip().is_loopback()) {
            return Err(ServeError::Unprotected(*open));
        }
        // The root comes last: its services may match what belongs to a prefix.
        mounted.sort_by_key(|service| std::cmp::Reverse(service.place.prefix.len()));
        let limits = limits.fit_open_files();
        let counts = Arc::<Metrics>::default();
        let rates = Rates::new(&limits, counts.clone());
        Rates::tidy(&rates);
        let builder = actix_server::Server::build()
            .workers(limits.workers)
            .max_concurrent_connections(limits.max_connections.div_ceil(limits.workers.max(1)))
            .shutdown_timeout(limits.stop_deadline.as_secs())
            .disable_signals();
        let terms = Terms {
            limits,
            tls: tls.map(|files| files.load()).transpose()?.map(|tls| TlsAcceptor::from(Arc::new(tls))),
            // Behind a proxy all connections are the proxy's.
            crowd: Crowd::new(if behind_proxy { 0 } else { limits.client_connections }),
            metrics: counts,
            stop: builder.graceful_shutdown_signal(),
        };
        let readers = if metrics.is_some() { Readers::Nobody } else { Readers::Local };
        let readiness = Readiness::new(store, stop);
        let watched = Arc::new(Watched::new(watched));
        let inside = Inside { terms, rates, behind_proxy, readiness, watched, mounted };
        let scheme = if inside.terms.tls.is_some() { "https" } else { "http" };
        let mut server = builder;
        for (address, listener) in listeners {
            server = inside.listen(server, listener, readers).map_err(|source| ServeError::Bind { address, source })?;
            log::info!("{name} listens on {scheme}://{address}");
        }
        if let Some(listener) = metrics {
            server = inside.listen_for_metrics(name, server, listener)?;
        }
        let server = server.run();
        Ok(Running { name, addresses, handle: server.handle(), task: tokio::spawn(server) })
    }
}

/// What stands behind every listener of a server.
#[derive(Clone)]
struct Inside {
    terms: Terms,
    rates: Arc<Rates>,
    behind_proxy: bool,
    readiness: Readiness,
    watched: Arc<Watched>,
    mounted: Vec<Mounted>,
}

impl Inside {
    fn listen(&self, server: ServerBuilder, listener: TcpListener, readers: Readers) -> io::Result<ServerBuilder> {
        let inside = self.clone();
        listen(server, listener, &self.terms, move || {
            let inside = inside.clone();
            let (observer, metrics) = (inside.observer(), inside.terms.metrics.clone());
            App::new()
                .wrap(from_fn(move |request, next| observe(observer.clone(), request, next)))
                .app_data(inside.terms.limits.body)
                .app_data(web::PathConfig::default().error_handler(|_, _| bad_path().into()))
                .app_data(web::QueryConfig::default().error_handler(|error, _| bad_query(error).into()))
                .configure(move |config| health::mount(config, inside.readiness, metrics, inside.watched, readers))
                .configure(move |config| mount_all(config, &inside.mounted))
                .default_service(web::to(no_route))
        })
    }

    /// A listener without services, for those who watch the program.
    fn listen_for_metrics(
        &self,
        name: &str,
        server: ServerBuilder,
        listener: TcpListener,
    ) -> Result<ServerBuilder, ServeError> {
        let unknown = SocketAddr::from(([0; 4], 0));
        let address = listener.local_addr().map_err(|source| ServeError::Bind { address: unknown, source })?;
        let inside = Self {
            terms: Terms { tls: None, ..self.terms.clone() },
            behind_proxy: false,
            mounted: Vec::new(),
            ..self.clone()
        };
        log::info!("{name} tells its metrics on http://{address}/metrics");
        inside.listen(server, listener, Readers::All).map_err(|source| ServeError::Bind { address, source })
    }

    /// What one worker's requests of one listener meet first.
    fn observer(&self) -> Rc<Observer> {
        Rc::new(Observer {
            metrics: self.terms.metrics.clone(),
            counts: self.terms.metrics.shard(),
            rates: self.rates.clone(),
            limits: self.terms.limits,
            tls: self.terms.tls.is_some(),
            behind_proxy: self.behind_proxy,
            places: self.mounted.iter().map(|mounted| mounted.place).collect(),
            refusals: Refusals::new(),
        })
    }
}

/// Lets actix serve `app` to the connections of a listener.
fn listen<A, S, B>(
    server: ServerBuilder,
    listener: TcpListener,
    terms: &Terms,
    app: impl Fn() -> A + Clone + Send + 'static,
) -> io::Result<ServerBuilder>
where
    A: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    S::Service: 'static,
    <S::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let (name, terms) = (listener.local_addr()?.to_string(), terms.clone());
    server.listen(name, listener, move || {
        let (terms, stop) = (terms.clone(), terms.stop.clone());
        let app = app().into_factory().map_err(|error| error.into().error_response());
        let http = HttpService::build()
            .keep_alive(terms.limits.keep_alive)
            .client_request_timeout(terms.limits.head_deadline)
            .client_disconnect_timeout(LINGER)
            .graceful_shutdown_signal(move || {
                let stop = stop.clone();
                async move { stop.notified().await }
            })
            .on_connect_ext(introduce)
            .finish(map_config(app, |()| AppConfig::default()));
        DoorFactory { http, terms }
    })
}

fn bind(address: SocketAddr) -> Result<(SocketAddr, TcpListener), ServeError> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // A restart may take the address over while the system still remembers connections of before.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?.into_std()?;
        Ok((listener.local_addr()?, listener))
    };
    bound().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse(address),
        _ => ServeError::Bind { address, source },
    })
}

fn mount_all(config: &mut web::ServiceConfig, mounted: &[Mounted]) {
    for Mounted { place: Place { prefix, .. }, configure } in mounted {
        if prefix.is_empty() {
            configure.apply(config);
        } else {
            config.service(web::scope(prefix).configure(|scope| configure.apply(scope)));
        }
    }
}

async fn no_route() -> Result<HttpResponse, ApiError> {
    Err(nothing_here())
}

/// 404 NOT_FOUND.
pub(crate) fn nothing_here() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "There is nothing under this address; compare it with the documentation.")
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
