//! Who calls (docs/SPECIFICATION.md#http-authentication).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_access::{ApiUser, Merchant, Permission, Permissions};
use dropin_kernel::Timestamp;
use dropin_ports::{AccessStore, Acting, Actor, Clock, Fingerprint, Secrets, StoreError};

use super::failures::{FailureLimit, Failures, ThrottleDecision};
use crate::audit_log::MerchantAct;
use crate::store_cache::{Cached, StoreCache};

/// An authenticated API user and its merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The API user, for history rows.
    pub username: String,
    /// Its merchant; everything it sees or changes is this merchant's.
    pub merchant: Merchant,
    /// What it may do.
    pub permissions: Permissions,
}

/// The API user is known, but may not do this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the API user lacks the permission {0}")]
pub struct NotPermitted(
    /// What it lacks.
    pub Permission,
);

impl Caller {
    /// An act of this caller's on its merchant's affairs; `address` is where the request comes from.
    pub fn act(&self, address: Option<IpAddr>) -> MerchantAct {
        let by = Acting::new(Actor::Merchant(self.username.clone()), address);
        MerchantAct { merchant: self.merchant.id, by }
    }

    /// Whether it may do that.
    ///
    /// # Errors
    /// [`NotPermitted`].
    pub fn require(&self, permission: Permission) -> Result<(), NotPermitted> {
        if self.permissions.contains(permission) { Ok(()) } else { Err(NotPermitted(permission)) }
    }
}

/// Why a caller is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticateError {
    /// The user name or password is wrong; which one is not told.
    #[error("the user name or password is not valid")]
    Invalid,
    /// Wrong once more, after too many wrong ones from this client for this user name.
    #[error("too many wrong passwords for this user name from this address")]
    Throttled {
        /// When one more wrong one is looked at again.
        retry_after: Duration,
    },
    /// Right, but of an account that is not for deployments of this kind.
    #[error("an account of a {} does not work here", if *.sandbox { "sandbox" } else { "production deployment" })]
    OtherMode {
        /// Whether the account was made in a sandbox.
        sandbox: bool,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks a user name and password against the store. An unknown user costs the same work as a wrong password: one row is looked up, two hashes
/// are compared; the merchant is loaded only for who is right.
///
/// # Errors
/// [`AuthenticateError::Invalid`], [`AuthenticateError::Store`].
pub async fn authenticate(
    store: &dyn AccessStore,
    secrets: &dyn Secrets,
    now: Timestamp,
    username: &str,
    password: &str,
) -> Result<Caller, AuthenticateError> {
    let user = store.find_user(username).await?;
    let right = is_right(secrets, now, user.as_ref(), password);
    let Some(user) = user.filter(|_| right) else { return Err(AuthenticateError::Invalid) };
    let merchant = store.find_merchant(user.merchant_id).await?;
    let merchant = merchant
        .ok_or_else(|| StoreError::Corrupt { table: "api_user", what: "its merchant is missing".to_owned() })?;
    Ok(Caller { username: user.username, merchant, permissions: user.permissions })
}

/// Whether `password` is one of the user's that counts now. Both comparisons are made whatever the first says.
fn is_right(secrets: &dyn Secrets, now: Timestamp, user: Option<&ApiUser>, password: &str) -> bool {
    let current = secrets.verify_password(password, user.map(|user| &user.password));
    let previous = user.and_then(|user| user.previous.as_ref()).and_then(|old| old.at(now));
    let previous = secrets.verify_password(password, previous);
    (current | previous) && user.is_some_and(|user| user.revoked_at.is_none())
}

/// Lets callers in: remembers for a moment who was right, so that a busy caller costs no database read, and slows down who guesses.
///
/// What was right is looked up again after one second, and not used any more after one and a half: a password that was revoked or replaced, a
/// permission that was taken away and a merchant's changed setting are in force within two seconds, and without the database nobody is let in for
/// longer than that.
pub struct Authenticator {
    store: Arc<dyn AccessStore>,
    secrets: Arc<dyn Secrets>,
    clock: Arc<dyn Clock>,
    sandbox: bool,
    /// Who was right, by a keyed hash of user name and password together. Only what was right is kept, so that nobody fills it with guesses.
    seen: StoreCache<Fingerprint, Arc<Caller>>,
    failures: Failures,
}

impl Authenticator {
    /// An authenticator for one deployment, a sandbox or not. Share one among all services of a process.
    pub fn new(
        store: Arc<dyn AccessStore>,
        secrets: Arc<dyn Secrets>,
        clock: Arc<dyn Clock>,
        sandbox: bool,
        limit: FailureLimit,
    ) -> Self {
        Self { store, secrets, clock, sandbox, seen: StoreCache::default(), failures: Failures::new(limit) }
    }

    /// Lets in who gives a right user name and password; `client` is where the request comes from.
    ///
    /// # Errors
    /// [`AuthenticateError`]. A right password is never throttled.
    pub async fn authenticate(
        &self,
        client: IpAddr,
        username: &str,
        password: &str,
    ) -> Result<Arc<Caller>, AuthenticateError> {
        let key = self.secrets.fingerprint(&[username.as_bytes(), password.as_bytes()]);
        let caller = match self.seen.recall(&key, Instant::now()) {
            Cached::Known(caller) => caller,
            Cached::Due => self.look_up(key, client, username, password).await?,
            Cached::Unknown => self.look_up_stranger(key, client, username, password).await?,
        };
        if caller.merchant.sandbox != self.sandbox {
            return Err(AuthenticateError::OtherMode { sandbox: caller.merchant.sandbox });
        }
        Ok(caller)
    }

    /// Asks the store, and remembers what it says.
    async fn look_up(
        &self,
        key: Fingerprint,
        client: IpAddr,
        username: &str,
        password: &str,
    ) -> Result<Arc<Caller>, AuthenticateError> {
        // What the store says may be as old as the question.
        let asked = Instant::now();
        let found = authenticate(&*self.store, &*self.secrets, self.clock.now(), username, password).await;
        match found {
            Ok(caller) => {
                let caller = Arc::new(caller);
                self.seen.keep(key, caller.clone(), asked);
                Ok(caller)
            }
            Err(AuthenticateError::Invalid) => {
                self.seen.forget(&key);
                self.failures.record(self.pair(client, username), Instant::now());
                Err(AuthenticateError::Invalid)
            }
            Err(other) => Err(other),
        }
    }

    /// The same for credentials that were not right a moment ago: where too many were wrong, the password is first compared with what the store
    /// said within the last second, so that a flood of guesses costs one read a second.
    async fn look_up_stranger(
        &self,
        key: Fingerprint,
        client: IpAddr,
        username: &str,
        password: &str,
    ) -> Result<Arc<Caller>, AuthenticateError> {
        let pair = self.pair(client, username);
        if let ThrottleDecision::Throttle { retry_after, user } = self.failures.check(&pair, Instant::now()) {
            let user = match user {
                Some(user) => user,
                None => {
                    let user = Arc::new(self.store.find_user(username).await?);
                    self.failures.keep(&pair, user.clone(), Instant::now());
                    user
                }
            };
            if !is_right(&*self.secrets, self.clock.now(), Option::as_ref(&user), password) {
                return Err(AuthenticateError::Throttled { retry_after });
            }
        }
        let caller = self.look_up(key, client, username, password).await?;
        self.failures.reset(&pair);
        Ok(caller)
    }

    fn pair(&self, client: IpAddr, username: &str) -> Fingerprint {
        self.secrets.fingerprint(&[&client_network(client), username.as_bytes()])
    }
}

/// What of a client's address is counted together: an IPv4 address, or a /64, which one subscriber has whole.
pub(crate) fn client_network(client: IpAddr) -> Vec<u8> {
    match client {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets()[..8].to_vec(),
    }
}
