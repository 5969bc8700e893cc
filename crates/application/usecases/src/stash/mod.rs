//! Cards and wallet tokens on their way to one authorization (docs/SPECIFICATION.md#stash).

mod quota;

use std::sync::Arc;
use std::time::Duration;

use dropin_access::{Merchant, Origin};
use dropin_card::{ClientFacts, StashContents, StashedData, Wallet, Warning};
use dropin_kernel::{MerchantId, SessionId, Timestamp};
use dropin_ports::{
    Clock, KeyringError, SessionStore, StashEntry, StashKey, StashStore, StashSummary, StashVault, StoreError,
    WalletStore,
};
use dropin_session::SessionStateKind;

use crate::access::KnownMerchants;
use crate::sessions::as_of;

use quota::{Admission, Put};
pub use quota::{StashLimits, StashQuota};

/// How long an entry lives unless configured (docs/SPECIFICATION.md#stash-lifetime).
pub const STASH_LIFETIME: Duration = Duration::from_secs(30 * 60);

/// How long is sealed under one key before the next takes its place. Such that with [`STASH_LIFETIME`] and some minutes for clocks and the look
/// around, a key is gone an hour after anything was sealed under it: a backup of the database that is older opens nothing.
pub const KEY_PERIOD: Duration = Duration::from_secs(20 * 60);

/// Expired entries deleted in one transaction.
const PURGE_BATCH: u32 = 1_000;

/// The stash: cards and tokens in, nothing out but a card's last four digits and what is wrong with it.
#[derive(Clone)]
pub struct Stashing {
    /// Keeps the ciphertexts.
    pub store: Arc<dyn StashStore>,
    /// Knows the merchants.
    pub merchants: KnownMerchants,
    /// Knows the Sessions that posts name.
    pub sessions: Arc<dyn SessionStore>,
    /// Knows which merchants take wallets.
    pub wallets: Arc<dyn WalletStore>,
    /// Encrypts before any store sees a card.
    pub vault: Arc<dyn StashVault>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where the drop-in's card frame lives; it may always post.
    pub asset_origin: Origin,
    /// How long an entry lives; [`STASH_LIFETIME`] unless configured.
    pub lifetime: Duration,
    /// Says how much may be left here.
    pub quota: Arc<StashQuota>,
}

/// What is put into the stash, and by whom.
pub struct NewEntry {
    /// The client's address, as a number of its own for each; an IPv6 client is its network.
    pub client: u128,
    /// The Session that it is for, if it names one.
    pub session: Option<SessionId>,
    /// Chosen by the merchant or its page.
    pub stash_id: String,
    /// Of the browser.
    pub fingerprint: String,
    /// The card, or a wallet's token.
    pub data: StashedData,
    /// What is known of the client, for screening.
    pub facts: ClientFacts,
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stashed {
    /// The caller's own id, echoed.
    pub stash_id: String,
    /// The last four digits of the card's number; `None` for a wallet's token.
    pub last4: Option<String>,
    /// What is wrong with the card; it is stashed all the same.
    pub warnings: Vec<Warning>,
}

/// Why nothing was stashed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StashError {
    /// There is no such merchant.
    #[error("there is no merchant with this id")]
    MerchantNotFound,
    /// The merchant does not take the wallet.
    #[error("the merchant does not take the wallet")]
    NoWallet,
    /// The merchant's stash, or all of it, is full.
    #[error("the stash is full")]
    Full,
    /// The client has left as much as it may.
    #[error("the client has left too much in the stash")]
    ClientFull,
    /// The vault failed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Stashing {
    /// The merchant that a card is stashed for.
    ///
    /// # Errors
    /// [`StashError::MerchantNotFound`], [`StashError::Store`].
    pub async fn merchant(&self, id: MerchantId) -> Result<Arc<Merchant>, StashError> {
        self.merchants.find(id).await?.ok_or(StashError::MerchantNotFound)
    }

    /// Whether a page of `origin` (the header as a browser sends it) may stash cards for `merchant`: the card frame always, and the origins
    /// that the merchant registered.
    pub fn admits(&self, merchant: &Merchant, origin: &str) -> bool {
        Origin::parse(origin).is_ok_and(|origin| origin == self.asset_origin || merchant.origins.contains(&origin))
    }

    /// Whether `session` is a Session of `merchant` that can be paid now.
    ///
    /// # Errors
    /// [`StashError::Store`].
    pub async fn is_live(&self, merchant: MerchantId, session: SessionId) -> Result<bool, StashError> {
        let found = self.sessions.find_session_for_shopper(session).await?;
        let now = self.clock.now();
        Ok(found.map(|found| as_of(found.session, now)).is_some_and(|session| {
            session.merchant_id == merchant && session.state.kind() == SessionStateKind::Created
        }))
    }

    /// Keeps a card or token, encrypted, under merchant, StashId and fingerprint together; an earlier one under the same three is replaced.
    ///
    /// # Errors
    /// [`StashError`].
    pub async fn put(&self, merchant: &Merchant, entry: NewEntry) -> Result<Stashed, StashError> {
        let NewEntry { client, session, stash_id, fingerprint, data, facts } = entry;
        let now = self.clock.now();
        if let StashedData::WalletToken(token) = &data
            && !self.takes_wallet(token.wallet(), merchant, now).await?
        {
            return Err(StashError::NoWallet);
        }
        let (last4, kind, warnings) = (data.last4(), data.kind(), data.warnings(now));
        let key = StashKey { merchant_id: merchant.id, stash_id: stash_id.clone(), fingerprint };
        let contents = StashContents { data, client: facts };
        let sealed = self.vault.seal(&contents, &key, now)?;
        // Wiped here, before anything is waited for.
        drop(contents);
        let bytes = StashEntry::stored_bytes(&key, &sealed);
        let put = Put { client, merchant: merchant.id, bytes, session: None };
        self.admit(put, session, now).await?;
        let summary = StashSummary { kind, usable: warnings.is_empty() };
        let entry = StashEntry { key, sealed, summary, created_at: now, expires_at: now.plus(self.lifetime) };
        self.store.put_stash(entry).await?;
        Ok(Stashed { stash_id, last4, warnings })
    }

    async fn takes_wallet(&self, wallet: Wallet, merchant: &Merchant, now: Timestamp) -> Result<bool, StoreError> {
        if wallet == Wallet::GooglePay {
            return Ok(merchant.methods.google_pay.is_some());
        }
        let identity = self.wallets.find_wallet(merchant.id).await?;
        Ok(identity.is_some_and(|identity| identity.is_valid_at(now)))
    }

    /// Counts one more entry. The Session that it names is only looked up when it decides.
    async fn admit(&self, put: Put, session: Option<SessionId>, now: Timestamp) -> Result<(), StashError> {
        let mut admission = self.quota.admit(put, self.store.as_ref(), now).await?;
        if let (Admission::SessionsOnly, Some(session)) = (admission, session)
            && self.is_live(put.merchant, session).await?
        {
            admission = self.quota.admit(Put { session: Some(session), ..put }, self.store.as_ref(), now).await?;
        }
        match admission {
            Admission::Admitted => Ok(()),
            Admission::SessionsOnly | Admission::Full => Err(StashError::Full),
            Admission::ClientFull => Err(StashError::ClientFull),
        }
    }

    /// Deletes entries that have expired, a batch of them; says how many, and whether there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn purge_due(&self) -> Result<(u32, bool), StoreError> {
        let purged = self.store.purge_stash(self.clock.now(), PURGE_BATCH).await?;
        Ok((purged, purged == PURGE_BATCH))
    }
}
