use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dropin_access::WalletDomain;
use dropin_kernel::Timestamp;
use dropin_ports::{WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest};
use tokio::sync::{mpsc, oneshot};

use crate::identity::Identity;
use crate::names::{CallError, Names, SystemNames};
use crate::thread;

/// Calls in flight, over all merchants.
const MAX_CALLS: usize = 64;
/// Calls in flight for one merchant, so that no page uses up what the others need.
const MAX_CALLS_PER_MERCHANT: usize = 16;
/// Of these, calls in flight for one client, so that no stranger uses up what the merchant's shoppers need.
const MAX_CALLS_PER_CLIENT: usize = 4;

/// Limits of one call, and whom to believe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletClientConfig {
    /// File with the root certificates of the sandbox's own provider, read when it is called; `None` in production, where the system's roots are
    /// believed alone.
    pub sandbox_roots: Option<PathBuf>,
    /// Whether domains of this machine are looked at, over http.
    pub sandbox: bool,
    /// Longest time until a connection stands, finding the address included; the TLS handshake has as much again.
    pub connect_deadline: Duration,
    /// Longest time for all of it.
    pub deadline: Duration,
    /// Most bytes of an answer; a longer one is none.
    pub answer_limit: usize,
}

impl WalletClientConfig {
    /// 3 s to connect, 8 s in all (the wallet gives a page 30 s), 64 KiB of the answer.
    pub const fn production() -> Self {
        Self {
            sandbox_roots: None,
            sandbox: false,
            connect_deadline: Duration::from_secs(3),
            deadline: Duration::from_secs(8),
            answer_limit: 64 * 1024,
        }
    }

    /// The same, and the sandbox's own provider, which proves itself by a root in the file `roots`.
    pub fn sandbox(roots: PathBuf) -> Self {
        Self { sandbox_roots: Some(roots), sandbox: true, ..Self::production() }
    }
}

/// What the thread does.
pub(crate) enum Job {
    Session {
        identity: Box<Identity>,
        request: WalletSessionRequest,
        reply: oneshot::Sender<Result<Vec<u8>, CallError>>,
    },
    Association {
        domain: WalletDomain,
        reply: oneshot::Sender<Result<Vec<u8>, CallError>>,
    },
}

/// Calls the wallet's provider. The HTTP client lives on a thread of its own, since it cannot move between threads; the thread ends with the last
/// clone of this handle.
#[derive(Clone)]
pub struct WalletClient {
    inbox: mpsc::UnboundedSender<Job>,
    under_way: Arc<Mutex<UnderWay>>,
}

/// How many calls are under way, by merchant and client.
type UnderWay = HashMap<(String, u128), usize>;

impl WalletClient {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(config: WalletClientConfig) -> io::Result<Self> {
        Self::start_with(config, Arc::new(SystemNames))
    }

    pub(crate) fn start_with(config: WalletClientConfig, names: Arc<dyn Names>) -> io::Result<Self> {
        let (inbox, work) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("wallet".to_owned()).spawn(move || thread::run(config, names, work))?;
        Ok(Self { inbox, under_way: Arc::default() })
    }

    /// A permit for one call; `None` when no permit is left.
    fn try_acquire(&self, merchant: &str, client: u128) -> Option<Permit> {
        let mut under_way = lock(&self.under_way);
        let all: usize = under_way.values().sum();
        let own: usize = under_way.iter().filter(|((whose, _), _)| whose == merchant).map(|(_, count)| count).sum();
        let whose = (merchant.to_owned(), client);
        let of_client = under_way.get(&whose).copied().unwrap_or_default();
        if MAX_CALLS <= all || MAX_CALLS_PER_MERCHANT <= own || MAX_CALLS_PER_CLIENT <= of_client {
            return None;
        }
        under_way.insert(whose.clone(), of_client + 1);
        Some(Permit { under_way: self.under_way.clone(), whose })
    }
}

/// A permit for one call, until it is dropped.
struct Permit {
    under_way: Arc<Mutex<UnderWay>>,
    whose: (String, u128),
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        match under_way.get_mut(&self.whose) {
            Some(count) if 1 < *count => *count -= 1,
            _ => drop(under_way.remove(&self.whose)),
        }
    }
}

fn lock(under_way: &Mutex<UnderWay>) -> MutexGuard<'_, UnderWay> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl WalletProvider for WalletClient {
    fn inspect(&self, credentials: &WalletCredentials) -> Result<Timestamp, WalletFailure> {
        Identity::read(credentials).map(|identity| identity.ends).map_err(WalletFailure::Credentials)
    }

    async fn start_session(
        &self,
        credentials: WalletCredentials,
        request: WalletSessionRequest,
    ) -> Result<Vec<u8>, WalletFailure> {
        let _permit = self.try_acquire(&request.identifier, request.client).ok_or(WalletFailure::Busy)?;
        let identity = Box::new(Identity::read(&credentials).map_err(WalletFailure::Credentials)?);
        let (reply, answer) = oneshot::channel();
        self.ask(Job::Session { identity, request, reply }, answer).await.map_err(|error| match error {
            CallError::NotReachable(_) => WalletFailure::HostNotPublic,
            CallError::Failed(why) => WalletFailure::Provider(why),
        })
    }

    async fn fetch_association(&self, domain: &WalletDomain) -> Result<Vec<u8>, String> {
        let (reply, answer) = oneshot::channel();
        self.ask(Job::Association { domain: domain.clone(), reply }, answer).await.map_err(|error| error.to_string())
    }
}

impl WalletClient {
    async fn ask(
        &self,
        work: Job,
        answer: oneshot::Receiver<Result<Vec<u8>, CallError>>,
    ) -> Result<Vec<u8>, CallError> {
        let stopped = "the wallet client has stopped";
        self.inbox.send(work).map_err(|_stopped| stopped)?;
        answer.await.unwrap_or_else(|_stopped| Err(stopped.into()))
    }
}
