use std::time::Duration;

use dropin_kernel::{MerchantId, RateOfferId, Timestamp};
use dropin_money::{Amount, Currency};

use crate::{Rate, SettlementError, refund_share, settlement_amount};

/// A rate that is guaranteed to a merchant until it expires (contract, Rates: RateOffers), and after that for refunds of what was sold at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The contract's RateOfferId.
    pub id: RateOfferId,
    /// To whom it is guaranteed; nobody else can use it.
    pub merchant_id: MerchantId,
    /// What the merchant is paid out in.
    pub settlement: Currency,
    /// What the shopper pays in.
    pub currency: Currency,
    /// Shopper units for one settlement unit, markup included.
    pub rate: Rate,
    /// When it was made.
    pub created_at: Timestamp,
    /// From then on nothing new can be begun with it.
    pub expires_at: Timestamp,
}

impl Offer {
    /// Whether nothing new can be begun with it. What was begun before holds to its end.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// What a sale of `total` settles for ([`settlement_amount`]).
    ///
    /// # Errors
    /// [`SettlementError`]; a total in another currency than the offer's is a mismatch.
    pub fn settlement_amount(&self, total: &Amount) -> Result<Amount, SettlementError> {
        if total.currency() != self.currency {
            return Err(SettlementError::CurrencyMismatch);
        }
        settlement_amount(total, self.settlement, self.rate)
    }

    /// What a refund of `amount` takes back, after `refunded` took back `settled` ([`refund_share`]).
    ///
    /// # Errors
    /// [`SettlementError`].
    pub fn refund_share(
        &self,
        refunded: &Amount,
        settled: &Amount,
        amount: &Amount,
    ) -> Result<Amount, SettlementError> {
        if amount.currency() != self.currency || settled.currency() != self.settlement {
            return Err(SettlementError::CurrencyMismatch);
        }
        refund_share(self.rate, refunded, settled, amount)
    }
}

/// Which of a merchant's sets of offers: sets are numbered from one, without gaps, and a number is given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OfferSetId {
    /// The number.
    pub number: i64,
    /// When its offers were made.
    pub created_at: Timestamp,
}

/// The lives of offers make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OfferPolicyError {
    /// Less than an hour or more than seven days.
    #[error("an offer lives between 1 hour and 7 days")]
    Life,
    /// Less than a minute, or longer than an offer lives.
    #[error("a new set of offers is made every minute at most, and before the former one expires")]
    Period,
}

/// How long offers live, and how often new ones are made (decisions.md section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferPolicy {
    life: Duration,
    period: Duration,
}

impl Default for OfferPolicy {
    /// 24 hours, and a new set every 6 hours at most.
    fn default() -> Self {
        Self { life: Duration::from_secs(24 * 3600), period: Duration::from_secs(6 * 3600) }
    }
}

impl OfferPolicy {
    /// A policy of a deployment's own.
    ///
    /// # Errors
    /// [`OfferPolicyError`].
    pub fn new(life: Duration, period: Duration) -> Result<Self, OfferPolicyError> {
        let hour = Duration::from_secs(3600);
        if life < hour || 7 * 24 * hour < life {
            return Err(OfferPolicyError::Life);
        }
        if period < Duration::from_secs(60) || life < period {
            return Err(OfferPolicyError::Period);
        }
        Ok(Self { life, period })
    }

    /// The set that is to be made when somebody asks now and `newest` is the newest there is; `None` when that one is to be shown.
    ///
    /// Callers who ask at the same moment are told the same number, and the store gives each number once: exactly one of them makes the set,
    /// the others read it.
    pub fn due(&self, newest: Option<OfferSetId>, now: Timestamp) -> Option<OfferSetId> {
        match newest {
            None => Some(OfferSetId { number: 1, created_at: now }),
            Some(set) if self.next_change(set) <= now => Some(OfferSetId { number: set.number + 1, created_at: now }),
            Some(_) => None,
        }
    }

    /// When the set after `newest` may be made: until then caches may keep what they have.
    pub fn next_change(&self, newest: OfferSetId) -> Timestamp {
        newest.created_at.plus(self.period)
    }

    /// When the offers of a set expire.
    pub fn expires_at(&self, set: OfferSetId) -> Timestamp {
        set.created_at.plus(self.life)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            settlement: Currency::Eur,
            currency: Currency::Usd,
            rate: "1.25".parse().unwrap(),
            created_at: at(0),
            expires_at: at(24),
        };
        assert_eq!((offer.is_expired(at(23)), offer.is_expired(at(24))), (false, true));
        let (usd, eur) = (Amount::from_minor(Currency::Usd, 10_00).unwrap(), Amount::zero(Currency::Eur));
        assert_eq!(offer.settlement_amount(&usd).map(|amount| amount.to_string()), Ok("8.00".to_owned()));
        assert_eq!(offer.settlement_amount(&eur), Err(SettlementError::CurrencyMismatch));
        let nothing = Amount::zero(Currency::Usd);
        assert_eq!(offer.refund_share(&nothing, &eur, &usd).map(|amount| amount.minor()), Ok(8_00));
        assert_eq!(offer.refund_share(&nothing, &usd, &usd), Err(SettlementError::CurrencyMismatch));
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
