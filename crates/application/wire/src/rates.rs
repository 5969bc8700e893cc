//! Rates: the answer to getRates in its two forms (docs/SPECIFICATION.md#rate-forms).

use dropin_rates::{ExchangeRate, Offer};
use serde::Serialize;
use utoipa::ToSchema;

use crate::number::ExactNumber;
use crate::schema;

/// The answer to GET /v2.2/getRates: Rates for merchants with spot rates, RateOffers for those with guaranteed ones. Every currency that is enabled
/// for the merchant and that a rate is known of, in the merchant's order; the settlement currency among them at 1.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Rates)]
pub struct RatesBody {
    /// Indications: the rate that a sale is settled at may differ slightly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<RateBody>)]
    rates: Option<Vec<RateBody>>,
    /// The newest offers: price by them what new visitors see. Earlier ones hold until they expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<RateOfferBody>)]
    rate_offers: Option<Vec<RateOfferBody>>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Rate, description = "What a unit of the merchant's settlement currency costs.")]
struct RateBody {
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    #[schema(value_type = schema::RateNumber)]
    rate: ExactNumber,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = RateOffer, description = "What a unit of the merchant's settlement currency costs, guaranteed until Expiry.")]
struct RateOfferBody {
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    /// The RateOfferId of a Session.
    #[schema(value_type = schema::Id)]
    id: String,
    /// From then on no Session is created and no payment begins at this rate; what was begun before holds.
    #[schema(value_type = schema::Moment)]
    expiry: String,
    #[schema(value_type = schema::RateNumber)]
    rate: ExactNumber,
}

impl RatesBody {
    /// The spot form.
    pub fn spot(rates: impl IntoIterator<Item = ExchangeRate>) -> Self {
        let rate = |rate: ExchangeRate| RateBody { currency: rate.quote().code(), rate: rate.rate().into() };
        Self { rates: Some(rates.into_iter().map(rate).collect()), rate_offers: None }
    }

    /// The guaranteed form.
    pub fn guaranteed<'a>(offers: impl IntoIterator<Item = &'a Offer>) -> Self {
        let offer = |offer: &Offer| RateOfferBody {
            currency: offer.rate.quote().code(),
            id: offer.id.to_string(),
            expiry: offer.expires_at.to_string(),
            rate: offer.rate.rate().into(),
        };
        Self { rates: None, rate_offers: Some(offers.into_iter().map(offer).collect()) }
    }

    /// The exact bytes that every caller gets until something changes.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("rates have string keys and exact numbers only")
    }
}

#[cfg(test)]
mod tests {
    use dropin_kernel::Timestamp;

    use super::*;

    #[test]
    fn the_two_forms_of_the_contract() {
        let rate = |text: &str| text.parse::<ExchangeRate>().unwrap();
        let spot = [rate("EUR/USD 1.1172"), rate("EUR/VND 30412.50"), rate("EUR/EUR 1")];
        assert_eq!(
            String::from_utf8(RatesBody::spot(spot).bytes()).unwrap(),
            r#"{"Rates":[{"Currency":"USD","Rate":1.1172},{"Currency":"VND","Rate":30412.5},{"Currency":"EUR","Rate":1}]}"#
        );
        let offer = Offer {
            id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap(),
            merchant_id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113".parse().unwrap(),
            rate: rate("EUR/KWD 0.000000010203040506"),
            created_at: Timestamp::from_micros(1_795_000_000_000_000),
            expires_at: Timestamp::from_micros(1_795_086_400_000_000),
        };
        assert_eq!(
            String::from_utf8(RatesBody::guaranteed([&offer]).bytes()).unwrap(),
            r#"{"RateOffers":[{"Currency":"KWD","Id":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112","Expiry":"2026-11-19T11:06:40.000000Z","Rate":0.000000010203040506}]}"#
        );
        assert_eq!(RatesBody::spot([]).bytes(), br#"{"Rates":[]}"#);
    }
}
