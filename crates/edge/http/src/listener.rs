use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;

use actix_http::{ConnectionType, HttpService, Request, Response};
use actix_server::ServerBuilder;
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, map_config};
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, ServiceRequest, ServiceResponse};
use actix_web::middleware::from_fn;
use actix_web::{App, Error, web};
use tokio::net::TcpSocket;

use crate::acceptor::{AcceptorFactory, ListenerContext, attach_connection};
use crate::health::{self, MetricsAccess, Readiness};
use crate::limits::LINGER_TIMEOUT;
use crate::metrics_registry::MetricsRegistry;
use crate::mounted::{Mounted, bad_path, bad_query, mount_all, no_route};
use crate::observe::{Observer, RefusalLog, observe};
use crate::rate_limiter::RateLimiter;
use crate::tls::TlsError;

/// Connections that the system keeps for us until a worker takes them.
const BACKLOG: u32 = 1024;

/// Why a listener does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines could read the traffic.
    #[error(
        "{0} is reachable from other machines and has no TLS: configure a certificate and key, listen on 127.0.0.1, or \
         set behind_proxy when a proxy in front of it ends TLS"
    )]
    Unprotected(SocketAddr),
    /// The address is taken.
    #[error("{0} is in use: stop the program that listens there, or choose another address with --listen")]
    InUse(SocketAddr),
    /// The address for metrics is taken.
    #[error("{0} is in use: stop the program that listens there, or choose another address with --metrics-listen")]
    MetricsInUse(SocketAddr),
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

/// Builds the listeners of a server; they share everything in it.
#[derive(Clone)]
pub(crate) struct ListenerFactory {
    pub(crate) context: ListenerContext,
    pub(crate) rate_limiter: Arc<RateLimiter>,
    pub(crate) behind_proxy: bool,
    pub(crate) readiness: Readiness,
    pub(crate) metrics_registry: Arc<MetricsRegistry>,
    pub(crate) mounted: Vec<Mounted>,
}

impl ListenerFactory {
    pub(crate) fn listen(
        &self,
        server: ServerBuilder,
        listener: TcpListener,
        metrics_access: MetricsAccess,
    ) -> io::Result<ServerBuilder> {
        let factory = self.clone();
        listen(server, listener, &self.context, move || {
            let factory = factory.clone();
            let (observer, metrics, readiness) =
                (factory.observer(), factory.context.metrics.clone(), factory.readiness.clone());
            App::new()
                .wrap(from_fn(move |request: ServiceRequest, next| {
                    readiness.record_while_stopping(request.path());
                    close_when_stopping(readiness.clone(), observe(observer.clone(), request, next))
                }))
                .app_data(factory.context.limits.body)
                .app_data(web::PathConfig::default().error_handler(|_, _| bad_path().into()))
                .app_data(web::QueryConfig::default().error_handler(|error, _| bad_query(error).into()))
                .configure(move |config| {
                    health::mount(config, factory.readiness, metrics, factory.metrics_registry, metrics_access)
                })
                .configure(move |config| mount_all(config, &factory.mounted))
                .default_service(web::to(no_route))
        })
    }

    /// A listener without services, for monitoring.
    pub(crate) fn listen_for_metrics(
        &self,
        name: &str,
        server: ServerBuilder,
        listener: TcpListener,
    ) -> Result<ServerBuilder, ServeError> {
        let unknown = SocketAddr::from(([0; 4], 0));
        let address = listener.local_addr().map_err(|source| ServeError::Bind { address: unknown, source })?;
        let factory = Self {
            context: ListenerContext { tls: None, ..self.context.clone() },
            behind_proxy: false,
            mounted: Vec::new(),
            ..self.clone()
        };
        log::info!("{name} tells its metrics on http://{address}/metrics");
        factory.listen(server, listener, MetricsAccess::All).map_err(|source| ServeError::Bind { address, source })
    }

    /// The middleware state of one worker of one listener.
    fn observer(&self) -> Rc<Observer> {
        Rc::new(Observer {
            metrics: self.context.metrics.clone(),
            counts: self.context.metrics.shard(),
            rate_limiter: self.rate_limiter.clone(),
            limits: self.context.limits,
            tls: self.context.tls.is_some(),
            behind_proxy: self.behind_proxy,
            mount_points: self.mounted.iter().map(|mounted| mounted.mount_point).collect(),
            refusal_log: RefusalLog::new(),
        })
    }
}

/// Closes the connection with this answer when the process is about to stop: a client that kept it would get no answer to its next request.
async fn close_when_stopping<B>(
    readiness: Readiness,
    answer: impl Future<Output = Result<ServiceResponse<B>, Error>>,
) -> Result<ServiceResponse<B>, Error> {
    let mut answer = answer.await?;
    if readiness.is_stopping() {
        answer.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    Ok(answer)
}

/// Lets actix serve `app` to the connections of a listener.
fn listen<A, S, B>(
    server: ServerBuilder,
    listener: TcpListener,
    context: &ListenerContext,
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
    let (name, context) = (listener.local_addr()?.to_string(), context.clone());
    server.listen(name, listener, move || {
        let (context, stop) = (context.clone(), context.stop.clone());
        let app = app().into_factory().map_err(|error| error.into().error_response());
        let http = HttpService::build()
            .keep_alive(context.limits.keep_alive)
            .client_request_timeout(context.limits.head_deadline)
            .client_disconnect_timeout(LINGER_TIMEOUT)
            .graceful_shutdown_signal(move || {
                let stop = stop.clone();
                async move { stop.notified().await }
            })
            .on_connect_ext(attach_connection)
            .finish(map_config(app, |()| AppConfig::default()));
        AcceptorFactory { http, context }
    })
}

pub(crate) fn bind(address: SocketAddr) -> Result<(SocketAddr, TcpListener), ServeError> {
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
