//! From names to addresses, and which of them are called.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use actix_tls::connect::Resolve;
use dropin_access::address;
use futures_util::future::LocalBoxFuture;

/// What a name server says. A port of its own, so that tests can play one.
pub(crate) trait Names: Send + Sync {
    fn find<'a>(&'a self, host: &'a str, port: u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + 'a>>;
}

/// The operating system's resolver.
pub(crate) struct SystemNames;

impl Names for SystemNames {
    fn find<'a>(&'a self, host: &'a str, port: u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + 'a>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// Where one call may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To this address, whatever the name: the sandbox's own provider.
    Fixed(SocketAddr),
    /// To public addresses.
    Public,
    /// To this machine.
    Local,
}

/// An address that may not be called.
#[derive(Debug, thiserror::Error)]
#[error("the name leads into a private, local or reserved network")]
pub(crate) struct NotReachable;

/// Why a call brought nothing, for the operator.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// Nothing was called.
    #[error(transparent)]
    NotReachable(#[from] NotReachable),
    #[error("{0}")]
    Failed(String),
}

impl From<String> for CallError {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<&str> for CallError {
    fn from(why: &str) -> Self {
        Self::Failed(why.to_owned())
    }
}

/// Lets the addresses of a name pass only when all of them may be called; what passes is what is dialled.
pub(crate) struct GuardedNames {
    pub(crate) reach: Reach,
    pub(crate) names: Arc<dyn Names>,
}

impl Resolve for GuardedNames {
    fn lookup<'a>(&'a self, host: &'a str, port: u16) -> LocalBoxFuture<'a, Result<Vec<SocketAddr>, Box<dyn Error>>> {
        Box::pin(async move {
            if let Reach::Fixed(address) = self.reach {
                return Ok(vec![address]);
            }
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let found = match host.parse::<IpAddr>() {
                Ok(literal) => vec![SocketAddr::new(literal, port)],
                Err(_a_name) => self.names.find(host, port).await?,
            };
            let may = |found: &SocketAddr| match self.reach {
                Reach::Local => address::is_loopback(found.ip()),
                Reach::Public | Reach::Fixed(_) => address::is_public(found.ip()),
            };
            if found.iter().all(may) { Ok(found) } else { Err(NotReachable.into()) }
        })
    }
}
