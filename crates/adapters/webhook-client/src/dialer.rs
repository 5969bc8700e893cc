//! Opens connections: finds the addresses, checks every one of them, and calls exactly those.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use actix_service::Service;
use actix_tls::connect::{ConnectError, ConnectInfo, Connection};
use actix_web::http::Uri;
use dropin_access::{TargetRefused, address};
use dropin_notification::DeliveryFailure;
use futures_util::future::LocalBoxFuture;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::client::WebhookClientConfig;
use crate::internet::{Internet, Lookups};
use crate::meter::Metered;
use crate::stream::{AnswerGuard, Stopped, Transport};

/// Most addresses that a name may have. Every one is checked before any is called, and nobody needs so many.
const MAX_ADDRESSES: usize = 32;
/// Addresses of one name that are tried, each with an equal part of the time.
const MAX_TRIED_ADDRESSES: u32 = 4;

/// Why there is no connection, for the outcome of the try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotConnected(pub(crate) DeliveryFailure);

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl Error for NotConnected {}

impl From<TargetRefused> for NotConnected {
    fn from(refused: TargetRefused) -> Self {
        Self(DeliveryFailure::Forbidden(refused.why()))
    }
}

impl From<io::Error> for NotConnected {
    fn from(error: io::Error) -> Self {
        Self(match error.kind() {
            io::ErrorKind::ConnectionRefused => DeliveryFailure::Refused,
            io::ErrorKind::InvalidData if Stopped::of(&error).is_some() => DeliveryFailure::HandshakeLong,
            io::ErrorKind::InvalidData => DeliveryFailure::HandshakeFailed,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => DeliveryFailure::Closed,
            io::ErrorKind::TimedOut => DeliveryFailure::ConnectLate,
            _ => DeliveryFailure::NoConnection,
        })
    }
}

/// The connector under the HTTP client's pool. It ends TLS itself, so that what watches over answers sees them as they are.
#[derive(Clone)]
pub(crate) struct Dialer {
    config: Rc<WebhookClientConfig>,
    internet: Arc<dyn Internet>,
    lookups: Rc<Lookups>,
    /// For https.
    tls: Option<TlsConnector>,
}

impl Dialer {
    pub(crate) fn new(
        config: Rc<WebhookClientConfig>,
        internet: Arc<dyn Internet>,
        lookups: Rc<Lookups>,
        tls: Option<Arc<rustls::ClientConfig>>,
    ) -> Self {
        Self { config, internet, lookups, tls: tls.map(TlsConnector::from) }
    }

    async fn connect(&self, uri: &Uri) -> Result<AnswerGuard, NotConnected> {
        let (Some(host), Some(port)) = (uri.host(), uri.port_u16()) else {
            return Err(NotConnected(DeliveryFailure::Uncallable));
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let within = self.config.connect_deadline;
        let Ok(reached) = timeout(within, self.reach(host, port)).await else {
            return Err(NotConnected(DeliveryFailure::ConnectLate));
        };
        let stream = reached?;
        let transport = match &self.tls {
            None => Transport::Plain(stream),
            Some(tls) => {
                let name = ServerName::try_from(host.to_owned());
                let name = name.map_err(|_no_name| NotConnected(DeliveryFailure::Uncertifiable))?;
                let Ok(shaken) = timeout(within, tls.connect(name, Metered::new(stream))).await else {
                    return Err(NotConnected(DeliveryFailure::HandshakeLate));
                };
                Transport::Tls(Box::new(shaken?))
            }
        };
        Ok(AnswerGuard::new(transport, self.config.answer_limit))
    }

    /// All of a name's addresses have to be allowed, then they are called in turn.
    async fn reach(&self, host: &str, port: u16) -> Result<TcpStream, NotConnected> {
        const UNKNOWN: NotConnected = NotConnected(DeliveryFailure::Unresolved);
        let found = match host.parse::<IpAddr>() {
            Ok(literal) => Rc::from([literal]),
            Err(_a_name) => self.lookups.find(host).await.ok_or(UNKNOWN)?,
        };
        if MAX_ADDRESSES < found.len() {
            return Err(NotConnected(DeliveryFailure::TooManyAddresses));
        }
        found.iter().try_for_each(|address| self.admit(*address))?;
        let tried = u32::try_from(found.len()).unwrap_or(MAX_TRIED_ADDRESSES).clamp(1, MAX_TRIED_ADDRESSES);
        let share = self.config.connect_deadline / tried;
        let mut why = UNKNOWN;
        for address in found.iter().take(MAX_TRIED_ADDRESSES as usize) {
            why = match timeout(share, self.internet.dial(SocketAddr::new(*address, port))).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => error.into(),
                Err(_late) => NotConnected(DeliveryFailure::ConnectLate),
            };
        }
        Err(why)
    }

    fn admit(&self, address: IpAddr) -> Result<(), TargetRefused> {
        self.config.policy.admit(address)?;
        if self.config.policy.is_sandbox() {
            return Ok(());
        }
        let inside = match address {
            IpAddr::V4(_) => [None; 4],
            IpAddr::V6(v6) => address::carried(v6),
        };
        let mut all = [address].into_iter().chain(inside.into_iter().flatten().map(IpAddr::V4));
        if all.any(|address| self.internet.is_own(address)) { Err(TargetRefused::Own) } else { Ok(()) }
    }
}

impl Service<ConnectInfo<Uri>> for Dialer {
    type Response = Connection<Uri, AnswerGuard>;
    type Error = ConnectError;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Self::Error>>;

    actix_service::always_ready!();

    fn call(&self, wanted: ConnectInfo<Uri>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let uri = wanted.request().clone();
            match this.connect(&uri).await {
                Ok(stream) => Ok(Connection::new(uri, stream)),
                Err(why) => Err(ConnectError::Resolver(Box::new(why))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_that_we_stopped_is_told_from_a_bad_certificate() {
        let why = |error: io::Error| NotConnected::from(error).0;
        assert_eq!(why(Stopped::Limit.into()), DeliveryFailure::HandshakeLong);
        assert_eq!(why(io::ErrorKind::InvalidData.into()), DeliveryFailure::HandshakeFailed);
    }
}
