//! The body of a request as a naive handler sees it: JSON of whatever kind.

use actix_web::error::ErrorBadRequest;
use serde_json::{Value, json};
use uuid::Uuid;

/// A Session to be created, with its new ids.
pub(crate) struct Request {
    pub(crate) id: Uuid,
    pub(crate) profile: Uuid,
    pub(crate) reference: String,
    pub(crate) currency: String,
    pub(crate) details: Value,
    pub(crate) terms: Value,
}

/// What every Session of this program belongs to.
pub(crate) const MERCHANT: Uuid = Uuid::nil();

/// What every Session of this program costs: adding up is the service's business.
pub(crate) const TOTAL_MINOR: i64 = 4_089;

impl Request {
    /// Takes the billing profile out of the rest, which becomes the terms.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, actix_web::Error> {
        let mut terms: Value = serde_json::from_slice(body)?;
        let text = |name: &str| terms[name].as_str().map(str::to_owned).ok_or_else(|| ErrorBadRequest(name.to_owned()));
        let (reference, currency) = (text("MerchantReference")?, text("Currency")?);
        let details = terms["BillingProfile"].take();
        Ok(Self { id: Uuid::new_v4(), profile: Uuid::new_v4(), reference, currency, details, terms })
    }

    /// What a merchant is told.
    pub(crate) fn answer(self) -> Value {
        answer(self.id, "CREATED", self.profile, self.details, self.terms)
    }
}

/// A Session as it is shown: its terms with what was added to them.
pub(crate) fn answer(id: Uuid, state: &str, profile: Uuid, details: Value, mut terms: Value) -> Value {
    terms["BillingProfile"] = details;
    terms["SessionId"] = json!(id.to_string());
    terms["BillingProfileId"] = json!(profile.to_string());
    terms["State"] = json!(state);
    terms["TotalAmount"] = json!(40.89);
    terms
}
