use dropin_kernel::{RateOfferId, Timestamp, Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency};
use dropin_rates::{Offer, Rate};

/// The guaranteed rate that a Session is priced by, and what its total settles for (contract, Session.RateOfferId; decisions.md section 5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleRate {
    /// The offer.
    pub offer_id: RateOfferId,
    /// Shopper units for one settlement unit.
    pub rate: Rate,
    /// What the merchant is paid out for the Session's total.
    pub settlement: Amount,
    /// From then on no payment begins at this rate; one that was begun before holds to its end.
    pub expires_at: Timestamp,
}

impl SaleRate {
    /// What a sale of `total` at `offer` comes to.
    fn of(offer: &Offer, total: &Amount) -> Result<Self, Violation> {
        let why = "come to more in the settlement currency than can be settled";
        let settlement = offer.settlement_amount(total);
        let settlement = settlement.map_err(|_too_large| Violation::new("Items", ViolationCode::OutOfRange, why))?;
        Ok(Self { offer_id: offer.id, rate: offer.rate, settlement, expires_at: offer.expires_at })
    }
}

/// What the RateOfferId of a request led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateWish {
    /// None was sent.
    None,
    /// An offer that holds.
    Offer(Offer),
    /// It names none that could be used.
    Refused(Violation),
}

impl RateWish {
    /// What was found of the merchant's own under a RateOfferId, as it counts at `now` (decisions.md section 2).
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

    /// The currency of the request, which may be given too, and must then be the offer's (decisions.md section 5). `None` when there is none
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
            (Self::Offer(offer), Some(Some(given))) if given != offer.currency => {
                let why =
                    format!("is another one than the rate offer's, {}; leave it out or send that", offer.currency);
                all.push("Currency", ViolationCode::Conflict, why);
                None
            }
            (Self::Offer(offer), _) => Some(offer.currency),
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
