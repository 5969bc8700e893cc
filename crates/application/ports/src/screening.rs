use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_risk::{
    CardFunding, ExemptedPayments, Facts, OutsideScore, Screening, ScreeningLabel, Velocity, VelocityKey,
};
use dropin_validation::Country;

use crate::keyring::KeyringError;
use crate::store::{NewEvent, StoreError};

/// A keyed hash of what tries are counted by, a card's number among them: tells whether two are the same, and nothing else of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VelocityHash(pub [u8; 32]);

impl std::fmt::Debug for VelocityHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VelocityHash(..)")
    }
}

/// What one try is counted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedVelocityKey {
    /// Which of its properties.
    pub key: VelocityKey,
    /// Its hash under the newest key of the ring: tries are counted under this one.
    pub hash: VelocityHash,
    /// Its hashes under older keys that are still there: what was counted under them counts too.
    pub former: Vec<VelocityHash>,
}

/// The key ring of what tries are counted by. It stands outside the database, so that a dump of that tells nothing of a card, an address or a person.
pub trait VelocityKeyring: Send + Sync {
    /// The hashes of `value`; the same in every process of the deployment, and others for each merchant and each kind of key.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn hash_velocity_key(
        &self,
        merchant: MerchantId,
        key: VelocityKey,
        value: &[u8],
    ) -> Result<HashedVelocityKey, KeyringError>;
}

/// How long a merchant's alarm lasts after it was seen last: as long as its declines count.
pub const ALARM_LASTS: Duration = Duration::from_secs(10 * 60);

/// How long payments under an exemption count that none by the same card follows.
pub const EXEMPTED_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// How long it is known of a card what a processor told of it.
pub const CARD_FACTS_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// How long a shopper who has paid is known without coming again.
pub const KNOWN_SHOPPER_LIFETIME: Duration = Duration::from_secs(400 * 86_400);

/// No score came from outside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutsideScoreUnavailable(pub String);

/// A service outside that scores payments.
#[async_trait]
pub trait OutsideScorer: Send + Sync {
    /// How suspicious it finds a payment with these facts, in which no card number stands. The caller waits for a moment and no longer: a future that is
    /// dropped is a call that failed.
    ///
    /// # Errors
    /// [`OutsideScoreUnavailable`].
    async fn score_payment(
        &self,
        order: OrderId,
        merchant: MerchantId,
        facts: &Facts,
    ) -> Result<OutsideScore, OutsideScoreUnavailable>;
}

/// A try to pay, before the processor is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPaymentTry {
    /// Its Order.
    pub order_id: OrderId,
    /// Whose payment it is.
    pub merchant_id: MerchantId,
    /// When.
    pub at: Timestamp,
    /// What it is counted by beside its merchant, each kind at most once. A kind that the payment does not have is absent. Of the card it is also how
    /// different cards are told apart.
    pub keys: Vec<HashedVelocityKey>,
    /// Euro cents.
    pub amount_cents: u64,
}

/// What a processor has told of a card: nothing, where it is the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CardFacts {
    /// The country of its issuer.
    pub country: Option<Country>,
    /// How it is funded.
    pub funding: Option<CardFunding>,
}

/// What was counted for a try.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedPaymentTry {
    /// Of the merchant and each of its keys, of each window, the try included. Different cards of the merchant are not counted.
    pub velocity: Velocity,
    /// When the same profile or browser was first paid with at this merchant; `None` for a new shopper.
    pub known_since: Option<Timestamp>,
    /// Payments by the same card under an exemption since its shopper authenticated last; `None` where the card is not known.
    pub exempted: Option<ExemptedPayments>,
    /// What was told with an earlier payment by the same card.
    pub card: CardFacts,
}

/// Decides on a try by what was counted for it. It may be asked more than once about the same try, and waits for nothing.
pub type TryScreening = Arc<dyn Fn(&CountedPaymentTry) -> Screening + Send + Sync>;

/// A try that was counted and decided on.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenedPaymentTry {
    /// What was counted.
    pub counted: CountedPaymentTry,
    /// What was decided by that.
    pub screening: Screening,
    /// Whether it is in the store: it is not where another decision on the Order was kept before, or the merchant has no such Order.
    pub is_kept: bool,
}

/// What became of a try that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentTryOutcome {
    /// Screening blocked it: counts as a block.
    Blocked,
    /// The shopper was asked to authenticate: counts as declined until it is paid.
    Challenged,
    /// The issuer or the authentication refused it: counts as declined, once.
    Declined,
    /// Authorized with nothing to pay, or held for a person: nobody is known by it.
    Authorized,
    /// Authorized to be paid: from then on its profile and browser have paid.
    Paid,
}

/// What an approval says of its card's exemptions from authentication.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CardAuthentication {
    /// Nothing.
    #[default]
    Unchanged,
    /// It was approved under an exemption: one more of this many euro cents.
    Exempted(u64),
    /// The shopper authenticated: those before count no more.
    Authenticated,
}

/// What is counted of a try once its outcome is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountableOutcome {
    /// What became of it.
    pub outcome: PaymentTryOutcome,
    /// Whether the merchant's declines jumped when it was screened.
    pub in_alarm: bool,
    /// Counted with an approval, once.
    pub authentication: CardAuthentication,
    /// What was told of the card with an approval: known from then on, in place of what was told before.
    pub card: CardFacts,
}

impl CountableOutcome {
    /// An outcome outside of an alarm that says nothing of the card.
    pub const fn plain(outcome: PaymentTryOutcome) -> Self {
        let card = CardFacts { country: None, funding: None };
        Self { outcome, in_alarm: false, authentication: CardAuthentication::Unchanged, card }
    }
}

/// Counts of tries, and what screening made of each Order (docs/SCREENING.md).
#[async_trait]
pub trait ScreeningStore: Send + Sync {
    /// Counts a try, decides on it by what its keys have by then, and keeps the decision, in one step. Tries that run at the same time, in any process, are
    /// each counted once, and each hears of those counted before it. Counting the same Order again changes no count, and a decision that was kept before
    /// stays: whoever waited no longer for this one has decided without it.
    ///
    /// A REVIEW and a BLOCK are on the disk when this returns. Of another decision a crash of the database's server may lose the last half second; the
    /// first commit that waits for the disk keeps it, too.
    async fn screen_try(
        &self,
        payment_try: NewPaymentTry,
        decision: TryScreening,
    ) -> Result<ScreenedPaymentTry, StoreError>;

    /// Counts what became of a try; the time of the try says in which bucket. The same again, what came before it, and an Order that was never counted
    /// change nothing: an outcome follows TRIED → CHALLENGED → DECLINED or PAID, and BLOCKED ends. A challenge that was asked for in an alarm is no decline
    /// of the merchant's: it is counted there by itself, and whether it was paid, or passed for nothing.
    async fn count_outcome(&self, order: OrderId, countable: CountableOutcome) -> Result<(), StoreError>;

    /// Notes that the declines of the event's merchant jump, as it was seen when the event happened. Where no alarm lasts, one is raised, and the event is
    /// queued with it, in a stream of the merchant's own. Whether one was raised: of programs that see it at once, by one.
    async fn note_alarm(&self, event: NewEvent) -> Result<bool, StoreError>;

    /// Keeps what screening made of an Order of the merchant's, in place of what was kept before. It is on the disk when this returns.
    async fn put_screening(&self, order: OrderId, merchant: MerchantId, screening: Screening)
    -> Result<(), StoreError>;

    /// What screening made of an Order of the merchant's; `None` when it was not screened.
    async fn find_screening(&self, merchant: MerchantId, order: OrderId) -> Result<Option<Screening>, StoreError>;

    /// The screenings of the merchant's Orders that were created since `since` and whose facts are still kept, newest first, at most `limit`: for a dry run.
    async fn list_screenings(
        &self,
        merchant: MerchantId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<(OrderId, Screening)>, StoreError>;

    /// The screenings of the merchant's Orders that were created since `since`, whose facts are still kept and about which a person has decided, newest
    /// first, at most `limit`: declined is fraud, approved is legitimate.
    async fn list_labelled_screenings(
        &self,
        merchant: MerchantId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<(Screening, ScreeningLabel)>, StoreError>;

    /// Deletes counts whose windows are over at `now`, shoppers who have not come for [`KNOWN_SHOPPER_LIFETIME`], and the facts of screenings of Orders
    /// that were created before `facts_before`; their decision, score and reasons stay. At most `limit` rows of each, each kind in
    /// a step of its own; how many together.
    async fn purge_screening(&self, now: Timestamp, facts_before: Timestamp, limit: u32) -> Result<u32, StoreError>;
}
