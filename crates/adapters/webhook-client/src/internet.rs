//! Names, connections, and which addresses are our own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;

use actix_web::rt::spawn;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared};
use rustls::RootCertStore;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// What the client needs of the network. A port of its own, so that tests can play name servers and watch every call.
pub(crate) trait Internet: Send + Sync {
    /// What a name server says.
    fn find(&self, host: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>>;
    /// Opens a connection to exactly this address.
    fn dial(&self, address: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>>;
    /// Whether this machine itself has the address.
    fn is_own(&self, address: IpAddr) -> bool;
    /// The authorities whose certificates are believed.
    fn roots(&self) -> RootCertStore {
        system_roots()
    }
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        log::warn!(
            "webhooks: the system has no root certificates, so no https address can be called; install ca-certificates"
        );
    }
    roots
}

/// Addresses for documentation, which no machine has (RFC 5737, RFC 3849).
const UNASSIGNED: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const UNASSIGNED_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// The operating system's resolver and sockets.
pub(crate) struct SystemInternet;

impl Internet for SystemInternet {
    fn find(&self, host: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    fn dial(&self, address: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        let (any, unassigned) = match address {
            IpAddr::V4(_) => (IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(UNASSIGNED)),
            IpAddr::V6(_) => (IpAddr::from(Ipv6Addr::UNSPECIFIED), IpAddr::from(UNASSIGNED_V6)),
        };
        let may_have = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
        // A machine speaks to its own main address from there. Nothing is sent.
        let from = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect((address, 9))?;
            socket.local_addr()
        });
        // Some systems are set up to take every address for one that they may have (net.ipv4.ip_nonlocal_bind).
        from.is_ok_and(|from| from.ip() == address) || (may_have(address) && !may_have(unassigned))
    }
}

type Found = Option<Rc<[IpAddr]>>;

/// Asks for each name once at a time: a name server that takes its time holds one thread of the resolver, however many notifications wait.
pub(crate) struct Lookups {
    internet: Arc<dyn Internet>,
    under_way: RefCell<HashMap<String, Shared<LocalBoxFuture<'static, Found>>>>,
}

impl Lookups {
    pub(crate) fn new(internet: Arc<dyn Internet>) -> Self {
        Self { internet, under_way: RefCell::default() }
    }

    /// The name's addresses; `None` when it has none.
    pub(crate) async fn find(self: &Rc<Self>, host: &str) -> Found {
        let known = self.under_way.borrow().get(host).cloned();
        let answer = known.unwrap_or_else(|| self.ask(host.to_owned()));
        answer.await
    }

    fn ask(self: &Rc<Self>, host: String) -> Shared<LocalBoxFuture<'static, Found>> {
        let (tell, told) = oneshot::channel();
        let answer = told.map(|found| found.ok().flatten()).boxed_local().shared();
        self.under_way.borrow_mut().insert(host.clone(), answer.clone());
        let this = Rc::clone(self);
        spawn(async move {
            let found = this.internet.find(host.clone()).await;
            this.under_way.borrow_mut().remove(&host);
            // Whoever asked may have given up.
            drop(tell.send(found.ok().filter(|found| !found.is_empty()).map(Rc::from)));
        });
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_web::rt::System;

    use super::*;

    #[test]
    fn a_machine_knows_its_own_addresses() {
        let is_own = |address: &str| SystemInternet.is_own(address.parse().expect("an address"));
        assert!(is_own("127.0.0.1") && is_own("127.0.0.2"));
        assert!(!is_own("192.0.2.1") && !is_own("8.8.8.8") && !is_own("2001:db8::1"));
        // The address by which this machine would call others, where it has a route to them.
        let outside = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("192.0.2.1:9")?;
            socket.local_addr()
        });
        if let Ok(own) = outside {
            assert!(SystemInternet.is_own(own.ip()), "{own}");
        }
    }

    #[test]
    fn a_name_is_asked_for_once_at_a_time() {
        /// Counts, and answers after a while.
        struct Slow(std::sync::atomic::AtomicUsize);
        impl Internet for Slow {
            fn find(&self, _: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>> {
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                Box::pin(async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Ok(vec![IpAddr::from([8, 8, 8, 8])])
                })
            }
            fn dial(&self, _: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>> {
                Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
            }
            fn is_own(&self, _: IpAddr) -> bool {
                false
            }
        }
        System::new().block_on(async {
            let slow = Arc::new(Slow(Default::default()));
            let lookups = Rc::new(Lookups::new(slow.clone()));
            for round in 1..=2 {
                let (one, other) = tokio::join!(lookups.find("shop.test"), lookups.find("shop.test"));
                assert_eq!(one.as_deref(), Some(&[IpAddr::from([8, 8, 8, 8])][..]));
                assert_eq!(one, other);
                let asked = slow.0.load(std::sync::atomic::Ordering::SeqCst);
                assert_eq!(asked, round, "once for both, and anew for who comes later");
            }
        });
    }
}
