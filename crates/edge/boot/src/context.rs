use std::any::Any;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dropin_http::{AuthState, Flows};
use dropin_keyring::{
    AuditKeys, AuditKeysError, CredentialKeys, CredentialKeysError, KeyFileError, MasterKey, MasterKeyError, StashKeys,
    VelocityKeys,
};
use dropin_ports::{AuditSealStore, Clock, ContractStore, IdSource, Secrets};
use dropin_store::Store;
use dropin_usecases::access::Authenticator;
use dropin_usecases::contracts::Contracts;
use dropin_usecases::idempotency::{IdempotencyService, KEEP};
use dropin_usecases::sessions::Sessions;
use dropin_usecases::stash::KEY_PERIOD;
use tokio::sync::{Mutex, watch};

use crate::access::AccessArgs;
use crate::database::StoreArgs;
use crate::mode::Mode;
use crate::process::{Failure, Process};
use crate::settings::KeyArgs;
use crate::system::{SystemClock, SystemIds};

/// Below what the services stand on their listener: nothing, unless they share one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Prefixes {
    /// Of {checkout_url}.
    pub checkout: &'static str,
    /// Of {asset_url}.
    pub asset: &'static str,
    /// Of {stash_url}.
    pub stash: &'static str,
}

/// What a service is composed from.
#[derive(Clone)]
pub struct Context {
    /// The store, which implements every store port.
    pub store: Arc<Store>,
    /// Folder for what is kept on this machine.
    pub data: PathBuf,
    /// The folder with the keys.
    pub keys: PathBuf,
    /// Whether money moves.
    pub mode: Mode,
    /// Whether it is production that other machines reach: public addresses of this machine are wrong there.
    pub is_public_production: bool,
    /// Whether browsers reach the listener over TLS, its own or that of the proxy in front of it.
    pub is_https: bool,
    /// Below what the services stand.
    pub prefixes: Prefixes,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Where money flows run.
    pub flows: Flows,
    /// Becomes `true` when the process shall stop.
    pub stop: watch::Receiver<bool>,
    shared: Arc<Mutex<Vec<Arc<dyn Any + Send + Sync>>>>,
}

impl Context {
    /// What the services of `process` are composed from where each has a listener of its own.
    pub fn new(
        process: &Process,
        store: Store,
        settings: &StoreArgs,
        keys: &KeyArgs,
        mode: Mode,
        is_public_production: bool,
    ) -> Self {
        Self {
            store: Arc::new(store),
            data: settings.data.clone(),
            keys: keys.folder(&settings.data),
            mode,
            is_public_production,
            is_https: false,
            prefixes: Prefixes::default(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            flows: process.flows.clone(),
            stop: process.stop.clone(),
            shared: Arc::default(),
        }
    }

    /// Whether no money moves.
    pub fn is_sandbox(&self) -> bool {
        self.mode == Mode::Sandbox
    }

    /// What the services of a process share: one value of a type. `open` makes it for the first service that asks; it must not ask for another one.
    ///
    /// # Errors
    /// Those of `open`.
    pub async fn share<T: Any + Send + Sync, E>(
        &self,
        open: impl AsyncFnOnce() -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        let mut shared = self.shared.lock().await;
        if let Some(opened) = shared.iter().find_map(|any| any.clone().downcast().ok()) {
            return Ok(opened);
        }
        let opened = open().await?;
        shared.push(opened.clone());
        Ok(opened)
    }

    /// The master key of the deployment.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub async fn master_key(&self) -> Result<Arc<MasterKey>, MasterKeyError> {
        self.share(async || Ok(Arc::new(MasterKey::of_deployment(&self.keys, &*self.store).await?))).await
    }

    /// The keys of the stash, whose entries are kept for `lifetime`. New ones are made in the background when their time has come.
    ///
    /// # Errors
    /// Why they cannot be opened.
    pub async fn stash_keys(&self, lifetime: Duration) -> Result<Arc<StashKeys>, Failure> {
        self.share(async || {
            let keys = Arc::new(StashKeys::open(&self.keys.join("stash"), KEY_PERIOD, lifetime)?);
            StashKeys::rotate_in_background(&keys, self.clock.clone())?;
            Ok(keys)
        })
        .await
    }

    /// The keys of stored credentials. Only checkout-api and settler ask for them, and the program that has both.
    ///
    /// # Errors
    /// Why they cannot be opened.
    pub async fn credential_keys(&self) -> Result<Arc<CredentialKeys>, CredentialKeysError> {
        let keys = CredentialKeys::of_deployment(&self.keys, self.store.has_credentials(), self.clock.now());
        self.share(async || Ok(Arc::new(keys.await?))).await
    }

    /// The keys of what tries to pay are counted by. Only checkout-api asks for them, and the program that has it: where cards are opened.
    ///
    /// # Errors
    /// Why they cannot be opened.
    pub async fn velocity_keys(&self) -> Result<Arc<VelocityKeys>, KeyFileError> {
        self.share(async || Ok(Arc::new(VelocityKeys::open_or_create(&self.keys, self.clock.now())?))).await
    }

    /// The keys of the audit log's seals. Only the settler asks for them.
    ///
    /// # Errors
    /// Why they cannot be opened.
    pub async fn audit_keys(&self) -> Result<Arc<AuditKeys>, AuditKeysError> {
        let keys = AuditKeys::of_deployment(&self.keys, self.store.has_audit_seals(), self.clock.now());
        self.share(async || Ok(Arc::new(keys.await?))).await
    }

    /// Contracts.
    pub fn contracts(&self) -> Contracts {
        let (store, clock, ids) = (self.store.clone(), self.clock.clone(), self.ids.clone());
        Contracts { store, clock, ids }
    }

    /// Authenticates API users: one cache of logins, and one count of wrong passwords, for all services of the process.
    pub async fn auth(&self, access: &AccessArgs, secrets: Arc<dyn Secrets>) -> AuthState {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let (sandbox, limit) = (self.is_sandbox(), access.limit());
        let make = async || Ok::<_, Infallible>(Arc::new(Authenticator::new(store, secrets, clock, sandbox, limit)));
        let Ok(authenticator) = self.share(make).await;
        AuthState(authenticator)
    }

    /// Sessions.
    pub fn sessions(&self) -> Sessions {
        let (store, contracts) = (self.store.clone(), self.store.clone());
        let (clock, ids) = (self.clock.clone(), self.ids.clone());
        Sessions { store, contracts, clock, ids, url_policy: self.mode.url_policy() }
    }

    /// Stored responses to repeated requests.
    pub fn answers(&self) -> IdempotencyService {
        IdempotencyService { store: self.store.clone(), clock: self.clock.clone(), keep: KEEP }
    }
}
