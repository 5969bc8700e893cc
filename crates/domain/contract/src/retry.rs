//! Whether, and when, a merchant may charge a stored card again.

use std::time::Duration;

use dropin_card::Scheme;
use dropin_kernel::Timestamp;

use crate::contract::StoredCard;
use crate::decline::{CredentialDecline, DeclineCategory, DeclineEffect};

const DAY: Duration = Duration::from_secs(86_400);
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// How many tries without success a scheme bears for one card at one merchant, in how long.
///
/// ```
/// use dropin_card::Scheme;
/// use dropin_contract::TRY_LIMITS;
///
/// let visa: Vec<_> = TRY_LIMITS.iter().filter(|limit| limit.scheme == Some(Scheme::Visa)).collect();
/// assert_eq!((visa.len(), visa[0].max_tries), (1, 15));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryLimit {
    /// The scheme whose limit it is; `None` for schemes that have no row of their own.
    pub scheme: Option<Scheme>,
    /// Tries without success.
    pub max_tries: usize,
    /// The time that they are counted in, backwards from now.
    pub within: Duration,
    /// Whose rule it is; "ours" where the schemes leave it open.
    pub source: &'static str,
}

/// Every limit. Visa counts what follows the first decline; the first counts here too, so that a limit is reached one try early and never late.
///
/// ```
/// use dropin_contract::TRY_LIMITS;
///
/// assert!(TRY_LIMITS.iter().any(|limit| limit.scheme.is_none()), "a scheme without a row has a limit");
/// ```
pub const TRY_LIMITS: &[TryLimit] = {
    const fn row(scheme: Option<Scheme>, max_tries: usize, within: Duration, source: &'static str) -> TryLimit {
        TryLimit { scheme, max_tries, within, source }
    }
    const VISA: &str = "ours: the limit until May 2025, which acquirers still count by; Visa Core Rules, table 7-2 (April 2026), allow 20";
    const MASTERCARD: &str = "Mastercard Transaction Processing Excellence, excessive authorization attempts";
    &[
        row(Some(Scheme::Visa), 15, MONTH, VISA),
        row(Some(Scheme::Mastercard), 10, DAY, MASTERCARD),
        row(Some(Scheme::Mastercard), 35, MONTH, MASTERCARD),
        row(None, 15, MONTH, "ours: as for Visa, since these schemes publish no number"),
    ]
};

/// What came of one try to charge a card.
///
/// ```
/// use dropin_contract::{DeclineCategory, TryResult};
///
/// let declined = TryResult::Declined(DeclineCategory::InsufficientFunds.into());
/// assert_ne!(declined, TryResult::Unknown);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryResult {
    /// The issuer approved.
    Approved,
    /// The issuer declined.
    Declined(CredentialDecline),
    /// The outcome is open. It counts against the limits as a decline does, and makes nothing wait.
    Unknown,
}

/// One try to charge a contract's card, by the merchant or by the shopper.
///
/// ```
/// use dropin_contract::{ChargeTry, TryResult};
/// use dropin_kernel::Timestamp;
///
/// let charged = ChargeTry { at: Timestamp::from_micros(0), result: TryResult::Approved };
/// assert_eq!(charged.at.unix_seconds(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargeTry {
    /// When the processor was asked.
    pub at: Timestamp,
    /// What came of it.
    pub result: TryResult,
}

/// Whether the merchant may try to charge a card now.
///
/// ```
/// use dropin_contract::TryDecision;
///
/// assert_ne!(TryDecision::Allowed, TryDecision::ShopperRequired);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryDecision {
    /// Now.
    Allowed,
    /// No sooner than this.
    NotBefore(Timestamp),
    /// Not before the shopper has authenticated.
    ShopperRequired,
    /// Never with this card, because of this decline.
    Never(DeclineCategory),
}

/// Whether the merchant may try to charge `card` at `now`, given all `tries` of the last 30 days, in any order.
///
/// - Tries of the card before it was last updated say nothing of it; they count against the limits as long as the number is the same.
/// - After an approval the declines before it count against the limits alone.
/// - The shopper is asked for once: 30 days after the issuer asked, the next period of a subscription is tried without the shopper again.
/// - A decline that forbids another try outweighs one that lets the merchant wait.
///
/// ```
/// use dropin_contract::{CardSummary, ChargeTry, DeclineCategory, StoredCard, TryDecision, TryResult, decide_try};
/// use dropin_kernel::Timestamp;
///
/// let day = |day: u32| format!("2026-11-{day:02}T08:00:00.000000Z").parse::<Timestamp>().unwrap();
/// let visa = CardSummary {
///     scheme: dropin_card::Scheme::Visa,
///     last_four: "4242".parse().unwrap(),
///     expiry: "2031-12".parse().unwrap(),
/// };
/// let card = StoredCard::new(visa, day(1));
/// let declined = |at, category: DeclineCategory| ChargeTry { at, result: TryResult::Declined(category.into()) };
///
/// let poor = declined(day(2), DeclineCategory::InsufficientFunds);
/// assert_eq!(decide_try(&card, &[poor], day(2)), TryDecision::NotBefore(day(3)));
/// assert_eq!(decide_try(&card, &[poor], day(3)), TryDecision::Allowed);
///
/// let stolen = declined(day(3), DeclineCategory::CardLost);
/// assert_eq!(decide_try(&card, &[poor, stolen], day(9)), TryDecision::Never(DeclineCategory::CardLost));
/// ```
pub fn decide_try(card: &StoredCard, tries: &[ChargeTry], now: Timestamp) -> TryDecision {
    let approved_at = tries.iter().filter(|one| one.result == TryResult::Approved).map(|one| one.at).max();
    let counts = |at: Timestamp| card.updated_at <= at && approved_at.is_none_or(|approved| approved <= at);
    let declines = tries.iter().filter(|one| counts(one.at)).filter_map(|one| match one.result {
        TryResult::Declined(decline) => Some((one.at, decline)),
        TryResult::Approved | TryResult::Unknown => None,
    });
    let (mut not_before, mut shopper, mut never) = (free_at(card, tries), false, None);
    for (at, decline) in declines {
        match decline.category.rule().effect {
            DeclineEffect::TryAgain { .. } => not_before = not_before.max(decline.wait().map(|wait| at.plus(wait))),
            DeclineEffect::AskShopper => shopper |= now.since(at) < MONTH,
            DeclineEffect::Suspend(_) | DeclineEffect::Close(_) => never = never.max(Some((at, decline.category))),
        }
    }
    match (never, shopper, not_before) {
        (Some((_, category)), _, _) => TryDecision::Never(category),
        (None, true, _) => TryDecision::ShopperRequired,
        (None, false, Some(at)) if now < at => TryDecision::NotBefore(at),
        (None, false, _) => TryDecision::Allowed,
    }
}

/// When the limits of the card's scheme allow another try; `None` where too few tries failed to reach one.
fn free_at(card: &StoredCard, tries: &[ChargeTry]) -> Option<Timestamp> {
    let failed = tries.iter().filter(|one| one.result != TryResult::Approved && card.number_since <= one.at);
    let mut failed: Vec<Timestamp> = failed.map(|one| one.at).collect();
    failed.sort_unstable_by(|one, other| other.cmp(one));
    let scheme = Some(card.summary.scheme);
    let own = TRY_LIMITS.iter().any(|limit| limit.scheme == scheme);
    let limits = TRY_LIMITS.iter().filter(|limit| limit.scheme == scheme.filter(|_| own));
    // The newest `max_tries` hold the next back until the oldest of them is out of the count.
    let frees = limits.filter_map(|limit| failed.get(limit.max_tries - 1).map(|at| at.plus(limit.within)));
    frees.max()
}
