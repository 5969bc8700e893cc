//! Clients of the accounts that merchants have of their own at the deployment's processors (docs/SPECIFICATION.md#processor-account).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dropin_access::SealedSecret;
use dropin_boot::{Mode, ProcessorArgs, ProcessorKind, ProcessorLimitArgs, Secret};
use dropin_kernel::{MerchantId, ProcessorId};
use dropin_ports::{ProcessorAccount, ProcessorAccountStore, Secrets, StoreError};
use dropin_processor_stripe::EventSecrets;
use dropin_usecases::access::ProcessorAccountSecrets;

use crate::client::ProcessorClient;
use crate::router::NamedProcessor;

/// How long what the store says of an account is used without asking again.
const FRESH: Duration = Duration::from_secs(1);

/// The accounts, each with a client that is made when it is first asked for; a key that is replaced is used within a second.
pub struct ProcessorAccountClients {
    store: Arc<dyn ProcessorAccountStore>,
    secrets: Arc<dyn Secrets>,
    /// The deployment's processors, at which the accounts are.
    processors: Vec<ProcessorArgs>,
    ids: Vec<ProcessorId>,
    limits: ProcessorLimitArgs,
    mode: Mode,
    open: Mutex<BTreeMap<ProcessorId, OpenAccount>>,
}

/// An account as it was found a moment ago.
#[derive(Clone)]
pub(crate) struct OpenAccount {
    /// Its client.
    pub(crate) named: NamedProcessor,
    /// Whose it is.
    pub(crate) merchant: MerchantId,
    /// Whether it was removed: what began there is gone on with, and nothing begins.
    pub(crate) is_removed: bool,
    /// What its events are signed with, where it has secrets of them.
    pub(crate) events: Option<Arc<EventSecrets>>,
    sealed: SealedSecret,
    asked: Instant,
}

impl ProcessorAccountClients {
    /// Accounts at these processors. None is asked for yet.
    pub fn new(
        store: Arc<dyn ProcessorAccountStore>,
        secrets: Arc<dyn Secrets>,
        processors: Vec<(ProcessorId, ProcessorArgs)>,
        limits: ProcessorLimitArgs,
        mode: Mode,
    ) -> Self {
        let (ids, processors) = processors.into_iter().unzip();
        Self { store, secrets, processors, ids, limits, mode, open: Mutex::default() }
    }

    /// The account of this name.
    pub(crate) async fn find(&self, id: &ProcessorId) -> Result<OpenAccount, String> {
        let asked = Instant::now();
        let known = self.known(id);
        if let Some(known) = known.as_ref().filter(|known| asked.duration_since(known.asked) < FRESH) {
            return Ok(known.clone());
        }
        match self.store.find_processor_account(id).await {
            Ok(Some(account)) => self.opened(&account, asked),
            Ok(None) => {
                self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                Err(format!(
                    "no merchant has an account {id} any more: set its key again with `dropin merchant credentials set`"
                ))
            }
            Err(error) => known.ok_or_else(|| format!("the key of the account {id} cannot be read: {error}")),
        }
    }

    /// All of them.
    pub(crate) async fn list(&self) -> Result<Vec<OpenAccount>, StoreError> {
        let asked = Instant::now();
        let accounts = self.store.list_processor_accounts(None).await?;
        // The client of one that is gone ends with it.
        let is_there = |id: &ProcessorId| accounts.iter().any(|account| account.processor == *id);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|id, _| is_there(id));
        let opened = accounts.iter().filter_map(|account| {
            let opened = self.opened(account, asked);
            opened.inspect_err(|why| log::error!("a merchant's account at a processor cannot be used: {why}")).ok()
        });
        Ok(opened.collect())
    }

    /// Those that were asked for.
    pub(crate) fn used(&self) -> Vec<NamedProcessor> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().map(|account| account.named.clone()).collect()
    }

    fn known(&self, id: &ProcessorId) -> Option<OpenAccount> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The client of an account as the store has it: that of before with the key of now, or a new one.
    fn opened(&self, account: &ProcessorAccount, asked: Instant) -> Result<OpenAccount, String> {
        let id = &account.processor;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_removed = account.removed_at.is_some();
        if let Some(known) = open.get_mut(id)
            && (known.merchant, &known.sealed) == (account.merchant_id, &account.sealed)
        {
            (known.asked, known.is_removed) = (known.asked.max(asked), is_removed);
            return Ok(known.clone());
        }
        // Whoever asked later has opened what stands there now.
        if let Some(known) = open.get(id).filter(|known| known.merchant == account.merchant_id && asked < known.asked) {
            return Ok(known.clone());
        }
        let secrets = ProcessorAccountSecrets::open(&*self.secrets, account)
            .map_err(|error| format!("the key of the account {id}: {error}"))?;
        let named = match open.get(id).filter(|known| known.merchant == account.merchant_id) {
            Some(known) => {
                known.named.client.key().replace(secrets.key.to_string());
                known.named.clone()
            }
            None => NamedProcessor { id: id.clone(), client: self.start(id, &secrets)? },
        };
        let events = account.has_events.then(|| Arc::new(EventSecrets::new(&secrets.events)));
        let (merchant, sealed) = (account.merchant_id, account.sealed.clone());
        let opened = OpenAccount { named, merchant, is_removed, events, sealed, asked };
        open.insert(id.clone(), opened.clone());
        Ok(opened)
    }

    fn start(&self, id: &ProcessorId, secrets: &ProcessorAccountSecrets) -> Result<ProcessorClient, String> {
        let key = Secret::new(secrets.key.to_string());
        self.client(&id.processor(), &key).map_err(|why| format!("the account {id}: {why}"))
    }

    /// A client of `processor` by another key than the deployment's.
    ///
    /// # Errors
    /// What to do about it.
    pub fn client(&self, processor: &ProcessorId, key: &Secret) -> Result<ProcessorClient, String> {
        let place = self.ids.iter().position(|id| id == processor);
        let args = place.and_then(|place| self.processors.get(place)).ok_or_else(|| {
            format!("the deployment has no processor {processor} any more: name it in the file of --processors again")
        })?;
        if args.processor == ProcessorKind::Sandbox {
            return Err(format!(
                "merchants have no accounts of their own at {processor}, which is a sandbox processor: only at Stripe"
            ));
        }
        args.processor.check_key(key, self.mode).map_err(|error| error.to_string())?;
        crate::start_client(args, &self.limits, key).map_err(|error| error.to_string())
    }
}

impl std::fmt::Debug for ProcessorAccountClients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProcessorAccountClients(..)")
    }
}
