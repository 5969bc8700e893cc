//! What the shopper's browser may see and do, knowing nothing but the SessionId.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dropin_access::Merchant;
use dropin_catalogue::{Catalogue, Channel, Class, Offered, find_method};
use dropin_kernel::{MerchantId, SessionId};
use dropin_order::{BankDetails, Order};
use dropin_ports::{SessionStore, SessionWithOrder, StashStore, StashVault, StoreError};
use dropin_session::{CancelReason, Session, SessionState, SessionStateKind};
use dropin_wire::wallet::TokenMethodBody;

use super::till::Till;
use super::{Looks, Payments};
use crate::access::KnownMerchants;
use crate::catalogue::Purchase;
use crate::sessions::as_of;
use crate::wallet::WalletOffers;

/// When the browser's long poll looks again for the first time; short enough to feel immediate.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// Longest pause between two looks: a payment that takes its time is not looked at often.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The shopper's side of a payment.
#[derive(Clone)]
pub struct Shopper {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Merchants' names, origins and methods.
    pub merchants: KnownMerchants,
    /// Stashed cards.
    pub stash: Arc<dyn StashStore>,
    /// Opens them, once.
    pub vault: Arc<dyn StashVault>,
    /// The money flows.
    pub payments: Payments,
    /// {asset_url}: hosted pages send the shopper back below it.
    pub return_base: String,
    /// Says what may be paid with what.
    pub catalogue: Arc<Catalogue>,
    /// Says which merchants may offer the wallet.
    pub wallets: WalletOffers,
    /// Keeps shoppers who come back from asking the processor too often.
    pub looks: Looks,
}

/// What a shopper may see of a Session: nothing of billing, nothing of the merchant's credentials.
#[derive(Debug, Clone)]
pub struct ShopperView {
    /// The Session; the edge shows a part of it only.
    pub session: Session,
    /// Whose shop it is.
    pub merchant: Arc<Merchant>,
    /// What it may be paid with.
    pub methods: Vec<Offered>,
    /// The wallets that it may be paid with.
    pub token_methods: Vec<TokenMethodBody>,
    /// Origins whose pages may embed the drop-in for it.
    pub origins: Vec<String>,
}

/// How an attempt stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The Session's state.
    pub state: SessionStateKind,
    /// Why it ended without an Order.
    pub error_code: Option<&'static str>,
    /// Where the shopper has to go on, while REDIRECTED.
    pub page: Option<Page>,
    /// Where the shopper transfers the money to, once COMPLETED by bank transfer.
    pub bank_details: Option<Box<BankDetails>>,
}

/// A hosted page that the shopper has to visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub url: String,
    /// Whether it is the 3-D Secure challenge of a card, which may be framed.
    pub challenge: bool,
}

/// Why a question of the shopper's page has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShopperError {
    /// No such Session.
    #[error("no such Session")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Progress {
    /// How the Session stands; `order` is the one of its attempt.
    pub fn of(session: &Session, order: Option<&Order>) -> Self {
        let error_code = match &session.state {
            SessionState::Failed { reason, .. } => Some(reason.as_str()),
            SessionState::Cancelled { reason: CancelReason::Merchant } => Some("SESSION_CANCELLED"),
            SessionState::Cancelled { reason: CancelReason::Expired } => Some("SESSION_EXPIRED"),
            _ => None,
        };
        let state = session.state.kind();
        let page = order.filter(|_| state == SessionStateKind::Redirected).and_then(|order| {
            let challenge = find_method(&order.payment_method).is_some_and(|method| method.class == Class::Card);
            order.page.clone().map(|url| Page { url, challenge })
        });
        let completed = order.filter(|_| state == SessionStateKind::Completed);
        let bank_details = completed.and_then(|order| order.bank_details.clone());
        Self { state, error_code, page, bank_details }
    }
}

impl Shopper {
    pub(super) fn till(&self) -> Till<'_> {
        let (stash, vault) = (self.stash.as_ref(), self.vault.as_ref());
        Till {
            payments: &self.payments,
            stash,
            vault,
            return_base: &self.return_base,
            catalogue: &self.catalogue,
            wallets: &self.wallets,
        }
    }

    pub(super) async fn load(&self, id: SessionId) -> Result<Option<SessionWithOrder>, StoreError> {
        let found = self.sessions.find_session_for_shopper(id).await?;
        let now = self.payments.clock.now();
        Ok(found.map(|found| SessionWithOrder { session: as_of(found.session, now), order: found.order }))
    }

    /// Whose Session it is.
    pub(super) async fn merchant(&self, id: MerchantId) -> Result<Arc<Merchant>, StoreError> {
        let missing = || StoreError::Corrupt { table: "session", what: "its merchant is missing".to_owned() };
        self.merchants.find(id).await?.ok_or_else(missing)
    }

    /// What the drop-in shows.
    ///
    /// # Errors
    /// [`ShopperError`].
    pub async fn view(&self, id: SessionId) -> Result<ShopperView, ShopperError> {
        let session = self.load(id).await?.ok_or(ShopperError::NotFound)?.session;
        let merchant = self.merchant(session.merchant_id).await?;
        let methods = purchase(&session, &merchant).offers(&self.catalogue);
        let token_methods = self.wallets.of(merchant.id, &methods).await?;
        let mut origins: Vec<_> = merchant.origins.iter().map(|origin| origin.as_str().to_owned()).collect();
        origins.extend([session.terms.complete_url.origin(), session.terms.cancel_url.origin()]);
        origins.sort();
        origins.dedup();
        Ok(ShopperView { session, merchant, methods, token_methods, origins })
    }

    /// How the attempt stands; waits up to `wait` while the Session is in the state `from`.
    ///
    /// # Errors
    /// [`ShopperError`].
    pub async fn progress(
        &self,
        id: SessionId,
        from: SessionStateKind,
        wait: Duration,
    ) -> Result<Progress, ShopperError> {
        let look = || async {
            let found = self.load(id).await?.ok_or(ShopperError::NotFound)?;
            Ok::<_, ShopperError>(Progress::of(&found.session, found.order.as_ref()))
        };
        let moved = patiently(wait, || async { look().await.map(|now| (now.state != from).then_some(now)) }).await?;
        match moved {
            Some(progress) => Ok(progress),
            None => look().await,
        }
    }
}

/// What a Session is about, as the catalogue has to know it.
pub(super) fn purchase<'a>(session: &'a Session, merchant: &'a Merchant) -> Purchase<'a> {
    let terms = &session.terms;
    Purchase {
        merchant,
        country: terms.billing.details.address.country.code(),
        total: &terms.total,
        recurring: terms.open_contract == Some(true),
        channel: Channel::DropIn,
    }
}

/// Looks again and again until there is something to tell, for about `wait`.
pub(super) async fn patiently<T, F>(wait: Duration, mut look: impl FnMut() -> F) -> Result<Option<T>, ShopperError>
where
    F: Future<Output = Result<Option<T>, ShopperError>>,
{
    let (mut waited, mut pause) = (Duration::ZERO, FIRST_LOOK);
    loop {
        if let Some(found) = look().await? {
            return Ok(Some(found));
        }
        if wait <= waited {
            return Ok(None);
        }
        let this = pause.min(wait - waited);
        tokio::time::sleep(this).await;
        waited += this;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}
