//! Accepts connections for actix: applies the client's connection limit, makes the TLS handshake, and tracks the connection.

use std::future::{self, Future};
use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_http::Protocol;
use actix_server::GracefulShutdownSignal;
use actix_service::{Service, ServiceFactory};
use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use futures_util::future::abortable;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::client::Client;
use crate::connections::{Connection, ConnectionLimiter, ConnectionPermit, Connections, check_interval};
use crate::guarded_stream::{GuardedStream, Transport};
use crate::limits::Limits;
use crate::metrics::{Counters, Metrics};
use crate::refusal::{closing_answer, too_many_connections};

/// What all workers of one server share about connections.
#[derive(Clone)]
pub(crate) struct ListenerContext {
    pub(crate) limits: Limits,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) connection_limiter: Arc<ConnectionLimiter>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) stop: GracefulShutdownSignal,
}

/// Makes an [`Acceptor`] for each worker.
pub(crate) struct AcceptorFactory<F> {
    pub(crate) http: F,
    pub(crate) context: ListenerContext,
}

/// Accepts the connections of one worker.
pub(crate) struct Acceptor<S> {
    http: Rc<S>,
    connections: Rc<Connections>,
    context: ListenerContext,
}

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// A connection as actix' HTTP service takes it.
pub(crate) type AcceptedConnection = (GuardedStream, Protocol, Option<SocketAddr>);

/// Stores the connection in actix' extensions, where its requests find it.
pub(crate) fn attach_connection(stream: &GuardedStream, extensions: &mut Extensions) {
    extensions.insert(stream.connection().clone());
}

impl<F> ServiceFactory<TcpStream> for AcceptorFactory<F>
where
    F: ServiceFactory<AcceptedConnection, Response = (), Config = (), InitError = ()>,
    F::Future: 'static,
    F::Service: 'static,
{
    type Response = ();
    type Error = ();
    type Config = ();
    type Service = Acceptor<F::Service>;
    type InitError = ();
    type Future = Boxed<Result<Self::Service, ()>>;

    fn new_service(&self, (): ()) -> Self::Future {
        let (http, context) = (self.http.new_service(()), self.context.clone());
        Box::pin(async move {
            let connections = Connections::new(context.metrics.clone());
            actix_web::rt::spawn(enforce_deadlines(Rc::downgrade(&connections), context.limits, context.stop.clone()));
            Ok(Acceptor { http: Rc::new(http.await?), connections, context })
        })
    }
}

/// Closes overdue connections of a worker at each check interval, until the worker has none and accepts none.
async fn enforce_deadlines(connections: std::rc::Weak<Connections>, limits: Limits, stop: GracefulShutdownSignal) {
    let mut stopping = false;
    let stopped = stop.notified();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            () = &mut stopped, if !stopping => stopping = true,
            () = tokio::time::sleep(check_interval(&limits)) => {}
        }
        let Some(connections) = connections.upgrade() else { return };
        connections.close_overdue(&limits, stopping);
    }
}

impl<S> Service<TcpStream> for Acceptor<S>
where
    S: Service<AcceptedConnection, Response = ()> + 'static,
{
    type Response = ();
    type Error = ();
    type Future = Boxed<Result<(), ()>>;

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
        // actix logs what is wrong.
        self.http.poll_ready(cx).map_err(drop)
    }

    fn call(&self, stream: TcpStream) -> Self::Future {
        // A peer that has no address any more is gone.
        let Ok(peer) = stream.peer_addr() else { return Box::pin(future::ready(Err(()))) };
        let Some(permit) = self.context.connection_limiter.acquire(Client::from(peer.ip())) else {
            Counters::increment(&self.context.metrics.counters.refused);
            if self.context.tls.is_none() {
                refuse_connection(stream, self.context.limits.client_connections);
            }
            return Box::pin(future::ready(Ok(())));
        };
        let (http, connections, context) = (self.http.clone(), self.connections.clone(), self.context.clone());
        Box::pin(serve(http, connections, context, stream, peer, permit))
    }
}

async fn serve<S: Service<AcceptedConnection, Response = ()>>(
    http: Rc<S>,
    connections: Rc<Connections>,
    context: ListenerContext,
    stream: TcpStream,
    peer: SocketAddr,
    _permit: ConnectionPermit,
) -> Result<(), ()> {
    // An answer is written at once: Nagle's algorithm would wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let (transport, protocol) = match &context.tls {
        None => (Transport::Plain(stream), Protocol::Http1),
        Some(acceptor) => {
            let handshake = timeout(context.limits.head_deadline, acceptor.accept(stream)).await.map_err(drop)?;
            let stream = handshake.map_err(drop)?;
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            (Transport::Tls(Box::new(stream)), if http2 { Protocol::Http2 } else { Protocol::Http1 })
        }
    };
    let connection = Connection::new();
    let stream =
        GuardedStream::new(transport, protocol == Protocol::Http1, connection.clone(), context.metrics.clone());
    let (served, close) = abortable(http.call((stream, protocol, Some(peer))));
    let _tracked = connections.track(connection, close);
    // A connection that was closed on its client ends like any other, and actix logs what else goes wrong with one.
    match served.await {
        Ok(Ok(())) | Err(_) => Ok(()),
        Ok(Err(_)) => Err(()),
    }
}

/// Sends the 429 answer, as far as the socket takes it without waiting, and closes the connection.
fn refuse_connection(stream: TcpStream, limit: usize) {
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(&closing_answer(&too_many_connections(limit)));
        let _ = stream.shutdown(Shutdown::Write);
    }
}
