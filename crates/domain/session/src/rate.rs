use std::ops::Deref;

use dropin_kernel::{RateOfferId, Timestamp, Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency};
use dropin_rates::{ExchangeError, ExchangeRate, Offer};

/// Everything that a [`SaleRate`] consists of, to be read, and to be stored and restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct SaleRateParts {
    /// The offer.
    pub offer_id: RateOfferId,
    /// What one unit of the settlement currency (base) costs in the Session's currency (quote).
    pub rate: ExchangeRate,
    /// What the merchant is paid out for the Session's total.
    pub settlement: Amount,
    /// From then on no payment begins at this rate; one that was begun before holds to its end.
    pub expires_at: Timestamp,
}

/// The guaranteed rate that a Session is priced by, and what its total settles for (docs/SPECIFICATION.md#session-rate).
///
/// ```
/// use dropin_kernel::{RateOfferId, Timestamp, uuid::Uuid};
/// use dropin_session::{InvalidSaleRate, SaleRate, SaleRateParts};
///
/// let parts = SaleRateParts {
///     offer_id: RateOfferId::new(Uuid::from_u128(1)),
///     rate: "GBP/USD 1.5".parse().unwrap(),
///     settlement: "19.93 GBP".parse().unwrap(),
///     expires_at: Timestamp::from_micros(0),
/// };
/// let sale = SaleRate::restore(parts.clone()).unwrap();
/// assert_eq!(sale.settlement.to_string(), "19.93");
///
/// let dollars = SaleRateParts { settlement: "29.90 USD".parse().unwrap(), ..parts };
/// assert_eq!(SaleRate::restore(dollars), Err(InvalidSaleRate));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "SaleRateParts", into = "SaleRateParts")
)]
pub struct SaleRate(SaleRateParts);

/// The parts are no rate of a sale: it settles for something, in the currency of its rate's base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Settlement must be above zero, in the currency that the rate settles in")]
pub struct InvalidSaleRate;

impl SaleRate {
    /// The rate of a sale from its stored parts.
    ///
    /// # Errors
    /// [`InvalidSaleRate`].
    pub fn restore(parts: SaleRateParts) -> Result<Self, InvalidSaleRate> {
        let settles = parts.settlement.currency() == parts.rate.base() && !parts.settlement.is_zero();
        if settles { Ok(Self(parts)) } else { Err(InvalidSaleRate) }
    }

    /// The parts, to be stored.
    pub fn into_parts(self) -> SaleRateParts {
        self.0
    }

    /// What a sale of `total` at `offer` comes to.
    fn of(offer: &Offer, total: &Amount) -> Result<Self, Violation> {
        let settlement = offer.rate.settlement_amount(total).map_err(|error| {
            let why = match error {
                ExchangeError::TooSmall => {
                    format!("come to less than the smallest unit of the settlement currency, {}", offer.rate.base())
                }
                _ => "come to more in the settlement currency than can be settled".to_owned(),
            };
            Violation::new("Items", ViolationCode::OutOfRange, why)
        })?;
        Ok(Self(SaleRateParts { offer_id: offer.id, rate: offer.rate, settlement, expires_at: offer.expires_at }))
    }
}

impl TryFrom<SaleRateParts> for SaleRate {
    type Error = InvalidSaleRate;

    fn try_from(parts: SaleRateParts) -> Result<Self, InvalidSaleRate> {
        Self::restore(parts)
    }
}

impl From<SaleRate> for SaleRateParts {
    fn from(sale: SaleRate) -> Self {
        sale.0
    }
}

impl Deref for SaleRate {
    type Target = SaleRateParts;

    fn deref(&self) -> &SaleRateParts {
        &self.0
    }
}

/// What the RateOfferId of a request led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedRate {
    /// None was sent.
    None,
    /// An offer that holds.
    Offer(Offer),
    /// It names none that could be used.
    Refused(Violation),
}

impl RequestedRate {
    /// What was found of the merchant's own under a RateOfferId, as it counts at `now` (docs/SPECIFICATION.md#session-rate).
    pub fn found(offer: Option<Offer>, now: Timestamp) -> Self {
        let refused = |why: String| Self::Refused(Violation::new("RateOfferId", ViolationCode::NotFound, why));
        match offer {
            None => refused("names no rate offer of yours; send the Id of one that getRates lists".to_owned()),
            Some(offer) if offer.is_expired(now) => {
                let end = offer.expires_at;
                refused(format!("names a rate offer that expired at {end}; send the Id of one that getRates lists now"))
            }
            Some(offer) => Self::Offer(offer),
        }
    }

    /// The currency of the request, which may be given too, and must then be the offer's (docs/SPECIFICATION.md#session-rate). `None` when there is none
    /// that all of the request agrees on.
    pub(crate) fn currency(
        &self,
        given: Option<Result<Currency, Violation>>,
        all: &mut Violations,
    ) -> Option<Currency> {
        let given = given.map(|given| all.check(given));
        match (self, given) {
            (Self::None, given) => given.flatten(),
            (Self::Refused(violation), given) => {
                all.add(violation.clone());
                given.flatten()
            }
            // A code that is none of ours leaves nothing to compare.
            (Self::Offer(_), Some(None)) => None,
            (Self::Offer(offer), Some(Some(given))) if given != offer.rate.quote() => {
                let currency = offer.rate.quote();
                let why = format!("is another one than the rate offer's, {currency}; leave it out or send that");
                all.push("Currency", ViolationCode::Conflict, why);
                None
            }
            (Self::Offer(offer), _) => Some(offer.rate.quote()),
        }
    }

    /// What `total` comes to; `None` without an offer.
    pub(crate) fn sale(&self, total: &Amount) -> Result<Option<SaleRate>, Violation> {
        match self {
            Self::Offer(offer) => SaleRate::of(offer, total).map(Some),
            Self::None | Self::Refused(_) => Ok(None),
        }
    }
}
