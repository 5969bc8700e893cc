//! The way of a connection from the listener to actix: its client's share, TLS, somebody who watches over it.

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
use crate::connections::{Connection, Connections, Crowd, Entered, pause};
use crate::limits::Limits;
use crate::metrics::{Events, Metrics};
use crate::refusal::{last_answer, too_many_connections};
use crate::wire::{Carrier, Wire};

/// What all workers of one server share about connections.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) limits: Limits,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) crowd: Arc<Crowd>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) stop: GracefulShutdownSignal,
}

/// Makes a [`Door`] for each worker.
pub(crate) struct DoorFactory<F> {
    pub(crate) http: F,
    pub(crate) terms: Terms,
}

/// Where a worker's connections come in.
pub(crate) struct Door<S> {
    http: Rc<S>,
    connections: Rc<Connections>,
    terms: Terms,
}

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// A connection as actix' HTTP service takes it.
pub(crate) type Opened = (Wire, Protocol, Option<SocketAddr>);

/// Puts what a connection's requests have to know where they find it.
pub(crate) fn introduce(wire: &Wire, extensions: &mut Extensions) {
    extensions.insert(wire.connection().clone());
}

impl<F> ServiceFactory<TcpStream> for DoorFactory<F>
where
    F: ServiceFactory<Opened, Response = (), Config = (), InitError = ()>,
    F::Future: 'static,
    F::Service: 'static,
{
    type Response = ();
    type Error = ();
    type Config = ();
    type Service = Door<F::Service>;
    type InitError = ();
    type Future = Boxed<Result<Self::Service, ()>>;

    fn new_service(&self, (): ()) -> Self::Future {
        let (http, terms) = (self.http.new_service(()), self.terms.clone());
        Box::pin(async move {
            let connections = Connections::new(terms.metrics.clone());
            actix_web::rt::spawn(watch(Rc::downgrade(&connections), terms.limits, terms.stop.clone()));
            Ok(Door { http: Rc::new(http.await?), connections, terms })
        })
    }
}

/// Looks through a worker's connections until it has none any more and takes none.
async fn watch(connections: std::rc::Weak<Connections>, limits: Limits, stop: GracefulShutdownSignal) {
    let mut stopping = false;
    let stopped = stop.notified();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            () = &mut stopped, if !stopping => stopping = true,
            () = tokio::time::sleep(pause(&limits)) => {}
        }
        let Some(connections) = connections.upgrade() else { return };
        connections.look_through(&limits, stopping);
    }
}

impl<S> Service<TcpStream> for Door<S>
where
    S: Service<Opened, Response = ()> + 'static,
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
        let Some(entered) = self.terms.crowd.enter(Client::from(peer.ip())) else {
            Events::count(&self.terms.metrics.events.refused);
            if self.terms.tls.is_none() {
                turn_away(stream, self.terms.limits.client_connections);
            }
            return Box::pin(future::ready(Ok(())));
        };
        let (http, connections, terms) = (self.http.clone(), self.connections.clone(), self.terms.clone());
        Box::pin(serve(http, connections, terms, stream, peer, entered))
    }
}

async fn serve<S: Service<Opened, Response = ()>>(
    http: Rc<S>,
    connections: Rc<Connections>,
    terms: Terms,
    stream: TcpStream,
    peer: SocketAddr,
    _entered: Entered,
) -> Result<(), ()> {
    // An answer is written at once; what waits for more would only wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let (carrier, protocol) = match &terms.tls {
        None => (Carrier::Plain(stream), Protocol::Http1),
        Some(acceptor) => {
            let handshake = timeout(terms.limits.head_deadline, acceptor.accept(stream)).await.map_err(drop)?;
            let stream = handshake.map_err(drop)?;
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            (Carrier::Tls(Box::new(stream)), if http2 { Protocol::Http2 } else { Protocol::Http1 })
        }
    };
    let connection = Connection::new();
    let wire = Wire::new(carrier, protocol == Protocol::Http1, connection.clone(), terms.metrics.clone());
    let (served, close) = abortable(http.call((wire, protocol, Some(peer))));
    let _watched = connections.watch(connection, close);
    // A connection that was closed on its client ends like any other, and actix logs what else goes wrong with one.
    match served.await {
        Ok(Ok(())) | Err(_) => Ok(()),
        Ok(Err(_)) => Err(()),
    }
}

/// Tells a client that it has enough connections, as far as the system takes it at once.
fn turn_away(stream: TcpStream, limit: usize) {
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(&last_answer(&too_many_connections(limit)));
        let _ = stream.shutdown(Shutdown::Write);
    }
}
