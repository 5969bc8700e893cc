//! What the shopper's browser may see and do, knowing nothing but the SessionId.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dropin_access::Merchant;
use dropin_catalogue::{Catalogue, Offered, SalesChannel};
use dropin_contract::ContractKind;
use dropin_kernel::{AttemptId, MerchantId, OrderId, SessionId, Timestamp};
use dropin_order::{BankDetails, OpKind, OpState, Order, OrderState, ShopperCode};
use dropin_ports::{SessionStore, SessionWithOrder, StashStore, StashVault, StoreError};
use dropin_session::{CancelReason, FailedAttempt, Session, SessionState, SessionStateKind};
use dropin_validation::Country;
use dropin_wire::shopper::SavedCardBody;
use dropin_wire::wallet::TokenMethodBody;

use super::address_check::asked_postcode;
use super::authorization_flow::AuthorizationFlow;
use super::{Payments, PollThrottle};
use crate::access::KnownMerchants;
use crate::catalogue::Purchase;
use crate::contracts::Contracts;
use crate::sessions::as_of;
use crate::wallet::WalletOffers;

/// First pause of the browser's long poll; short enough to feel immediate.
const FIRST_POLL_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause of the browser's long poll: a slow payment is polled seldom.
const MAX_POLL_PAUSE: Duration = Duration::from_secs(1);

/// An attempt whose outcome is missing for this long is called being checked.
const CHECKING_AFTER: Duration = Duration::from_secs(10);

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
    /// Contracts, whose cards returning shoppers pay with.
    pub contracts: Contracts,
    /// {asset_url}: hosted pages send the shopper back below it.
    pub return_base: String,
    /// Says which merchants may offer the wallet.
    pub wallets: WalletOffers,
    /// Keeps shoppers who come back from asking the processor too often.
    pub poll_throttle: PollThrottle,
    /// Keeps shoppers who want to pay another way from asking the processor too often.
    pub page_closings: PollThrottle,
    /// Whether the deployment is a sandbox: pages of the origins in CompleteUrl and CancelUrl may then embed the drop-in, too.
    pub sandbox: bool,
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
    /// The contract that a payment by a new card opens, or whose card it replaces.
    pub opens_contract: Option<ContractKind>,
    /// The contract that a payment by a new card opens where the shopper wants it.
    pub allows_contract: Option<ContractKind>,
    /// The stored cards that it may be paid with.
    pub saved_cards: Vec<SavedCardBody>,
    /// The country whose postcode the shopper is asked for, who pays by a new card.
    pub asked_postcode: Option<Country>,
    /// Origins whose pages may embed the drop-in for it.
    pub origins: Vec<String>,
    /// The attempt that failed last, while another may follow.
    pub failed_attempt: Option<AttemptFailure>,
    /// When it was looked at.
    pub now: Timestamp,
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
    /// Whether the outcome of the attempt is being asked for.
    pub checking: bool,
    /// The attempt that failed last, while CREATED.
    pub failed_attempt: Option<AttemptFailure>,
    /// The Order, once COMPLETED.
    pub order: Option<ShownOrder>,
}

/// An attempt that failed, as the shopper's browser may know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptFailure {
    /// As the browser named it.
    pub attempt: AttemptId,
    /// Never the exact reason.
    pub code: ShopperCode,
    /// How many more may be made.
    pub attempts_left: u32,
}

impl AttemptFailure {
    pub(super) fn of(session: &Session, failed: FailedAttempt) -> Self {
        let attempts_left = session.attempts.left();
        Self { attempt: failed.attempt, code: failed.reason.rule().shopper_code, attempts_left }
    }

    /// The last one of a Session that may be tried again.
    fn last(session: &Session) -> Option<Self> {
        let created = session.state.kind() == SessionStateKind::Created;
        session.attempts.last_failed().filter(|_| created).map(|failed| Self::of(session, failed))
    }
}

/// The Order that completed a Session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownOrder {
    /// Identifier.
    pub id: OrderId,
    /// Where it stands.
    pub state: OrderState,
    /// Id of the payment method in the catalogue.
    pub payment_method: String,
}

/// A hosted page that the shopper has to visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub url: String,
    /// Whether it is the 3-D Secure challenge of a card, which may be framed.
    pub challenge: bool,
    /// The attempt that waits there, as the browser named it that began it.
    pub attempt: AttemptId,
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
    /// How the Session stands; `order` is the one of its attempt, by a method of `catalogue`.
    pub fn of(session: &Session, order: Option<&Order>, catalogue: &Catalogue) -> Self {
        let error_code = match &session.state {
            SessionState::Failed { reason, .. } => Some(reason.rule().shopper_code.as_str()),
            SessionState::Cancelled { reason: CancelReason::Merchant } => Some("SESSION_CANCELLED"),
            SessionState::Cancelled { reason: CancelReason::Expired } => Some("SESSION_EXPIRED"),
            _ => None,
        };
        let state = session.state.kind();
        let page = order.filter(|_| state == SessionStateKind::Redirected).and_then(|order| {
            let challenge = catalogue.payment_rules(&order.payment_method).is_card();
            let attempt = session.state.attempt()?;
            order.page.clone().map(|url| Page { url, challenge, attempt })
        });
        let completed = order.filter(|_| state == SessionStateKind::Completed);
        let bank_details = completed.filter(|order| order.awaits_transfer());
        let bank_details = bank_details.and_then(|order| order.bank_details.clone());
        let order = completed.map(|order| ShownOrder {
            id: order.id,
            state: order.state,
            payment_method: order.payment_method.clone(),
        });
        let failed_attempt = AttemptFailure::last(session);
        Self { state, error_code, page, bank_details, checking: false, failed_attempt, order }
    }
}

impl Shopper {
    pub(super) fn authorization_flow(&self) -> AuthorizationFlow<'_> {
        let (stash, vault) = (self.stash.as_ref(), self.vault.as_ref());
        AuthorizationFlow {
            payments: &self.payments,
            stash,
            vault,
            return_base: &self.return_base,
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
        let now = self.payments.clock.now();
        let session = self.load(id).await?.ok_or(ShopperError::NotFound)?.session;
        let failed_attempt = AttemptFailure::last(&session);
        let merchant = self.merchant(session.merchant_id).await?;
        let purchase = purchase(&session, &merchant);
        let mut methods = purchase.offers(&self.payments.catalogue);
        methods.retain(|method| self.payments.candidates(&purchase, method.id()).is_ok());
        let token_methods = self.wallets.of(&merchant, &methods).await?;
        let origins = self.origins(&session, &merchant);
        let offer = self.contract_offer(&session, &merchant).await?;
        let saved_cards = self.saved_cards(&session, &merchant, now).await?;
        let asked_postcode = asked_postcode(&session, &merchant);
        Ok(ShopperView {
            session,
            merchant,
            methods,
            token_methods,
            opens_contract: offer.opens(),
            allows_contract: offer.allows(),
            saved_cards,
            asked_postcode,
            origins,
            failed_attempt,
            now,
        })
    }

    /// Lists the origins whose pages may embed the drop-in for a Session, as browsers write them.
    ///
    /// # Errors
    /// [`ShopperError`].
    pub async fn embedding_origins(&self, id: SessionId) -> Result<Vec<String>, ShopperError> {
        let session = self.load(id).await?.ok_or(ShopperError::NotFound)?.session;
        let merchant = self.merchant(session.merchant_id).await?;
        Ok(self.origins(&session, &merchant))
    }

    /// The merchant's registered origins. The addresses in a Session add theirs in a sandbox only, so that a first try needs no registration:
    /// in production the API credentials alone must not be enough to have any page frame the card form.
    fn origins(&self, session: &Session, merchant: &Merchant) -> Vec<String> {
        let mut origins: Vec<_> = merchant.origins.iter().map(|origin| origin.as_str().to_owned()).collect();
        if self.sandbox {
            origins.extend([session.terms.complete_url.origin(), session.terms.cancel_url.origin()]);
        }
        origins.sort();
        origins.dedup();
        origins
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
        let load = || async { self.load(id).await?.ok_or(ShopperError::NotFound) };
        let moved = poll_until(wait, || async {
            load().await.map(|found| (found.session.state.kind() != from).then_some(found))
        });
        let found = match moved.await? {
            Some(found) => found,
            None => load().await?,
        };
        Ok(self.progress_of(&found).await?)
    }

    pub(super) async fn progress_of(&self, found: &SessionWithOrder) -> Result<Progress, StoreError> {
        let progress = Progress::of(&found.session, found.order.as_ref(), &self.payments.catalogue);
        let checking = match &found.order {
            Some(order) if matches!(progress.state, SessionStateKind::Processing | SessionStateKind::Redirected) => {
                self.is_being_checked(order, &found.session).await?
            }
            _ => false,
        };
        Ok(Progress { checking, ..progress })
    }

    /// Whether the outcome of an attempt is unknown, or takes long without the shopper having to do anything.
    async fn is_being_checked(&self, order: &Order, session: &Session) -> Result<bool, StoreError> {
        let takes_long = CHECKING_AFTER < self.payments.clock.now().since(session.updated_at);
        if session.state.kind() == SessionStateKind::Processing && takes_long {
            return Ok(true);
        }
        let operations = self.payments.store.list_operations(order.id).await?;
        Ok(operations.iter().any(|one| one.kind == OpKind::Authorize && one.state == OpState::Unknown))
    }
}

/// What a Session is about, as the catalogue has to know it.
pub(super) fn purchase<'a>(session: &'a Session, merchant: &'a Merchant) -> Purchase<'a> {
    let terms = &session.terms;
    Purchase {
        merchant,
        country: terms.billing.details.address.country.code(),
        total: &terms.total,
        recurring: session.takes_cards_alone(),
        capture_later: !terms.auto_capture,
        channel: SalesChannel::DropIn,
    }
}

/// Polls until there is a result, for about `wait`.
pub(super) async fn poll_until<T, F>(wait: Duration, mut load: impl FnMut() -> F) -> Result<Option<T>, ShopperError>
where
    F: Future<Output = Result<Option<T>, ShopperError>>,
{
    let (mut waited, mut pause) = (Duration::ZERO, FIRST_POLL_PAUSE);
    loop {
        if let Some(found) = load().await? {
            return Ok(Some(found));
        }
        if wait <= waited {
            return Ok(None);
        }
        let this = pause.min(wait - waited);
        tokio::time::sleep(this).await;
        waited += this;
        pause = (pause * 3 / 2).min(MAX_POLL_PAUSE);
    }
}
