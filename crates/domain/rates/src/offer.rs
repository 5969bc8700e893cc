use std::time::Duration;

use dropin_kernel::{MerchantId, RateOfferId, Timestamp};

use crate::ExchangeRate;

/// A rate that is guaranteed to a merchant until it expires (docs/SPECIFICATION.md#rate-offers), and after that for refunds of what was sold at it.
///
/// ```
/// use dropin_kernel::Timestamp;
/// use dropin_money::{Amount, Currency};
/// use dropin_rates::Offer;
///
/// let offer = Offer {
///     id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap(),
///     merchant_id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113".parse().unwrap(),
///     rate: "EUR/USD 1.25".parse().unwrap(),
///     created_at: Timestamp::from_micros(0),
///     expires_at: Timestamp::from_micros(86_400_000_000),
/// };
/// let total = Amount::from_minor(Currency::Usd, 10_00).unwrap();
/// assert_eq!(offer.rate.settlement_amount(&total).unwrap().to_string(), "8.00");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct Offer {
    /// The RateOfferId of a Session.
    pub id: RateOfferId,
    /// To whom it is guaranteed; no other merchant can use it.
    pub merchant_id: MerchantId,
    /// What one unit of the currency that the merchant is paid out in (base) costs in the one that the shopper pays in (quote), markup included.
    pub rate: ExchangeRate,
    /// When it was made.
    pub created_at: Timestamp,
    /// From then on nothing new can be begun with it.
    pub expires_at: Timestamp,
}

impl Offer {
    /// Whether nothing new can be begun with it. What was begun before holds to its end.
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// # let offer = dropin_rates::Offer {
    /// #     id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap(),
    /// #     merchant_id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113".parse().unwrap(),
    /// #     rate: "EUR/USD 1.25".parse().unwrap(),
    /// #     created_at: Timestamp::from_micros(0),
    /// #     expires_at: Timestamp::from_micros(86_400_000_000),
    /// # };
    /// assert!(offer.is_expired(offer.expires_at));
    /// assert!(!offer.is_expired(offer.created_at));
    /// ```
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }
}

/// Which of a merchant's sets of offers: sets are numbered from one, without gaps, and a number is given once.
///
/// ```
/// use dropin_kernel::Timestamp;
/// use dropin_rates::{OfferPolicy, OfferSetId};
///
/// let first = OfferPolicy::default().due(None, Timestamp::from_micros(0)).unwrap();
/// assert_eq!(first, OfferSetId { number: 1, created_at: Timestamp::from_micros(0) });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct OfferSetId {
    /// The number.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::serialized::from_one"))]
    pub number: i64,
    /// When its offers were made.
    pub created_at: Timestamp,
}

/// The lives of offers make no sense.
///
/// ```
/// use std::time::Duration;
/// use dropin_rates::{OfferPolicy, OfferPolicyError};
///
/// let (minute, day) = (Duration::from_secs(60), Duration::from_secs(86_400));
/// assert_eq!(OfferPolicy::new(minute, minute), Err(OfferPolicyError::Life));
/// assert_eq!(OfferPolicy::new(day, 2 * day), Err(OfferPolicyError::Period));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum OfferPolicyError {
    /// Less than an hour or more than seven days.
    #[error("an offer lives between 1 hour and 7 days")]
    Life,
    /// Less than a minute, or longer than an offer lives.
    #[error("a new set of offers is made every minute at most, and before the former one expires")]
    Period,
}

/// How long offers live, and how often new ones are made (docs/SPECIFICATION.md#rate-offers). Serialized with both as spans such as `6h`.
///
/// ```
/// use dropin_kernel::Timestamp;
/// use dropin_rates::OfferPolicy;
///
/// let policy = OfferPolicy::default(); // 24 hours, and a new set every 6 hours at most
/// let set = policy.due(None, Timestamp::from_micros(0)).unwrap();
/// assert_eq!(policy.expires_at(set).to_string(), "1970-01-02T00:00:00.000000Z");
/// assert_eq!(policy.next_change(set).to_string(), "1970-01-01T06:00:00.000000Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "StoredOfferPolicy")
)]
pub struct OfferPolicy {
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialized::span::serialize"))]
    life: Duration,
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialized::span::serialize"))]
    period: Duration,
}

impl Default for OfferPolicy {
    /// 24 hours, and a new set every 6 hours at most.
    fn default() -> Self {
        Self { life: Duration::from_secs(24 * 3600), period: Duration::from_secs(6 * 3600) }
    }
}

impl OfferPolicy {
    /// A policy of a deployment's own: offers live 1 hour to 7 days, and a set is made every minute at most and before the former one expires.
    /// Parts of a millisecond are left out, so that a policy is read back as it is written.
    ///
    /// # Errors
    /// [`OfferPolicyError`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let hour = Duration::from_secs(3_600);
    /// assert_eq!(dropin_rates::OfferPolicy::new(24 * hour, 6 * hour), Ok(dropin_rates::OfferPolicy::default()));
    /// ```
    pub fn new(life: Duration, period: Duration) -> Result<Self, OfferPolicyError> {
        let hour = Duration::from_secs(3600);
        let (life, period) = (whole_millis(life), whole_millis(period));
        if life < hour || 7 * 24 * hour < life {
            return Err(OfferPolicyError::Life);
        }
        if period < Duration::from_secs(60) || life < period {
            return Err(OfferPolicyError::Period);
        }
        Ok(Self { life, period })
    }

    /// The set that is to be made when a client asks now and `newest` is the newest there is; `None` when that one is to be shown.
    ///
    /// Callers who ask at the same moment are told the same number, and the store gives each number once: exactly one of them makes the set,
    /// the others read it.
    ///
    /// ```
    /// use dropin_kernel::Timestamp;
    ///
    /// let (policy, now) = (dropin_rates::OfferPolicy::default(), Timestamp::from_micros(0));
    /// let first = policy.due(None, now).unwrap();
    /// assert_eq!(policy.due(Some(first), now), None);
    /// assert_eq!(policy.due(Some(first), policy.next_change(first)).map(|set| set.number), Some(2));
    /// ```
    pub fn due(&self, newest: Option<OfferSetId>, now: Timestamp) -> Option<OfferSetId> {
        match newest {
            None => Some(OfferSetId { number: 1, created_at: now }),
            Some(set) if self.next_change(set) <= now => Some(OfferSetId { number: set.number + 1, created_at: now }),
            Some(_) => None,
        }
    }

    /// When the set after `newest` may be made: until then caches may keep what they have.
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// let policy = dropin_rates::OfferPolicy::default();
    /// let set = dropin_rates::OfferSetId { number: 1, created_at: Timestamp::from_micros(0) };
    /// assert_eq!(policy.next_change(set).to_string(), "1970-01-01T06:00:00.000000Z");
    /// ```
    pub fn next_change(&self, newest: OfferSetId) -> Timestamp {
        newest.created_at.plus(self.period)
    }

    /// When the offers of a set expire.
    ///
    /// ```
    /// # use dropin_kernel::Timestamp;
    /// let policy = dropin_rates::OfferPolicy::default();
    /// let set = dropin_rates::OfferSetId { number: 1, created_at: Timestamp::from_micros(0) };
    /// assert_eq!(policy.expires_at(set).to_string(), "1970-01-02T00:00:00.000000Z");
    /// ```
    pub fn expires_at(&self, set: OfferSetId) -> Timestamp {
        set.created_at.plus(self.life)
    }
}

fn whole_millis(span: Duration) -> Duration {
    Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// The serialized form, before it is checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct StoredOfferPolicy {
    #[serde(deserialize_with = "crate::serialized::span::deserialize")]
    life: Duration,
    #[serde(deserialize_with = "crate::serialized::span::deserialize")]
    period: Duration,
}

#[cfg(feature = "serde")]
impl TryFrom<StoredOfferPolicy> for OfferPolicy {
    type Error = OfferPolicyError;

    fn try_from(stored: StoredOfferPolicy) -> Result<Self, OfferPolicyError> {
        Self::new(stored.life, stored.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExchangeError;
    use dropin_money::{Amount, Currency};
    use proptest::prelude::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn at(hours: u32) -> Timestamp {
        Timestamp::from_micros(1_790_000_000_000_000).plus(HOUR * hours)
    }

    #[test]
    fn a_new_set_every_six_hours_at_most() {
        let policy = OfferPolicy::default();
        let first = policy.due(None, at(0)).unwrap();
        assert_eq!((first, policy.expires_at(first)), (OfferSetId { number: 1, created_at: at(0) }, at(24)));
        assert_eq!(policy.due(Some(first), at(5)), None);
        // A clock that is behind makes nothing new.
        assert_eq!(policy.due(Some(first), Timestamp::from_micros(0)), None);
        assert_eq!(policy.next_change(first), at(6));
        assert_eq!(policy.due(Some(first), at(6)), Some(OfferSetId { number: 2, created_at: at(6) }));
        assert_eq!(policy.due(Some(first), at(100)), Some(OfferSetId { number: 2, created_at: at(100) }));
    }

    #[test]
    fn policies_that_make_no_sense_are_refused() {
        assert_eq!(OfferPolicy::new(24 * HOUR, 6 * HOUR), Ok(OfferPolicy::default()));
        assert_eq!(OfferPolicy::new(HOUR, HOUR).map(drop), Ok(()));
        assert_eq!(OfferPolicy::new(HOUR / 2, HOUR / 4), Err(OfferPolicyError::Life));
        assert_eq!(OfferPolicy::new(169 * HOUR, HOUR), Err(OfferPolicyError::Life));
        assert_eq!(OfferPolicy::new(6 * HOUR, 7 * HOUR), Err(OfferPolicyError::Period));
        assert_eq!(OfferPolicy::new(6 * HOUR, HOUR / 61), Err(OfferPolicyError::Period));
    }

    #[test]
    fn an_offer_counts_in_its_own_currencies_only() {
        let offer = Offer {
            id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap(),
            merchant_id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113".parse().unwrap(),
            rate: "EUR/USD 1.25".parse().unwrap(),
            created_at: at(0),
            expires_at: at(24),
        };
        assert_eq!((offer.is_expired(at(23)), offer.is_expired(at(24))), (false, true));
        let (usd, eur) = (Amount::from_minor(Currency::Usd, 10_00).unwrap(), Amount::zero(Currency::Eur));
        assert_eq!(offer.rate.settlement_amount(&usd).map(|amount| amount.to_string()), Ok("8.00".to_owned()));
        assert_eq!(offer.rate.settlement_amount(&eur), Err(ExchangeError::CurrencyMismatch));
        let nothing = Amount::zero(Currency::Usd);
        assert_eq!(offer.rate.refund_share(&nothing, &eur, &usd).map(|amount| amount.minor()), Ok(8_00));
        assert_eq!(offer.rate.refund_share(&nothing, &usd, &usd), Err(ExchangeError::CurrencyMismatch));
    }

    proptest! {
        #[test]
        fn whoever_asks_is_shown_an_offer_that_still_holds(asks in prop::collection::vec(0..3_000_u32, 1..50)) {
            let policy = OfferPolicy::default();
            let (mut newest, mut minutes) = (None::<OfferSetId>, 0);
            for pause in asks {
                minutes += pause;
                let now = at(0).plus(Duration::from_secs(60) * minutes);
                if let Some(set) = policy.due(newest, now) {
                    prop_assert!(newest.is_none_or(|former| 6 * HOUR <= set.created_at.since(former.created_at)));
                    newest = Some(set);
                }
                let shown = newest.unwrap();
                prop_assert!(now < policy.expires_at(shown) && now < policy.next_change(shown));
            }
        }
    }
}
