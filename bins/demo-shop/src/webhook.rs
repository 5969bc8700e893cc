//! Inbound notifications: is it really from the payment service, and what does it say?

use std::fmt;

use actix_web::http::header::HeaderMap;
use actix_web::web::Bytes;
use serde::Deserialize;
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook, WebhookError};
use uuid::Uuid;

/// Tells the place of a notification within its payment; larger is later.
const HEADER_WEBHOOK_SEQUENCE: &str = "webhook-sequence";
/// Longest `webhook-id` that is kept.
const MAX_ID: usize = 128;

/// Knows the secret. Its Debug does not show it.
pub(super) struct Verifier(Webhook);

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(***)")
    }
}

/// Why a delivery is not believed or not understood. The service sends it again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum VerificationError {
    /// The signature does not fit the bytes, the secret is another one, or the signing headers are missing.
    #[error("The signature does not fit. Check that the shop has the endpoint's current secret.")]
    BadSignature,
    /// Rightly signed, but more than five minutes ago or ahead: somebody may be repeating an old delivery.
    #[error("The timestamp is more than five minutes off. Check the clocks on both sides.")]
    TimestampOutOfRange,
    /// Signed, but not a notification.
    #[error("The body is not a notification, or webhook-sequence is missing.")]
    Malformed,
}

/// A believed notification.
#[derive(Debug, Clone)]
pub(super) struct Notification {
    /// `webhook-id`: the same for every try of one notification.
    pub(super) id: String,
    /// `webhook-sequence`.
    pub(super) sequence: u64,
    /// When this try was signed, in seconds since 1970.
    pub(super) timestamp: i64,
    /// What the body says.
    pub(super) event: Event,
    /// The body as it came.
    pub(super) body: String,
}

/// The members of a notification that the shop uses. Unknown ones are ignored: new ones may come at any time.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Event {
    pub(super) event_type: String,
    pub(super) order: Option<EventOrder>,
    pub(super) session: Option<EventSession>,
    pub(super) contract: Option<EventContract>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct EventOrder {
    pub(super) order_id: Uuid,
    pub(super) state: String,
    pub(super) merchant_reference: String,
    pub(super) session_id: Option<Uuid>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct EventSession {
    pub(super) session_id: Uuid,
    pub(super) state: String,
    pub(super) merchant_reference: String,
}

/// Of CONTRACT_* events, which have no reference of the shop's.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct EventContract {
    pub(super) state: String,
    pub(super) session_id: Option<Uuid>,
}

impl Event {
    /// The Session it is about; none for the Order of a charge.
    pub(super) fn session_id(&self) -> Option<Uuid> {
        let of_order = self.order.as_ref().and_then(|order| order.session_id);
        of_order
            .or_else(|| self.session.as_ref().map(|session| session.session_id))
            .or_else(|| self.contract.as_ref().and_then(|contract| contract.session_id))
    }

    /// The shop's own order number.
    pub(super) fn merchant_reference(&self) -> &str {
        let of_order = self.order.as_ref().map(|order| order.merchant_reference.as_str());
        of_order
            .or_else(|| self.session.as_ref().map(|session| session.merchant_reference.as_str()))
            .unwrap_or_default()
    }

    /// State of what the notification is about: of the Session when it carries one, else of the Order or the contract.
    pub(super) fn state(&self) -> &str {
        let of_session = self.session.as_ref().map(|session| session.state.as_str());
        of_session
            .or_else(|| self.order.as_ref().map(|order| order.state.as_str()))
            .or_else(|| self.contract.as_ref().map(|contract| contract.state.as_str()))
            .unwrap_or_default()
    }
}

impl Verifier {
    /// # Errors
    /// The secret is not `whsec_` and base64.
    pub(super) fn new(secret: &str) -> Result<Self, WebhookError> {
        Webhook::new(secret).map(Self)
    }

    /// Checks signature and timestamp over the bytes as they came, and only then reads them.
    ///
    /// # Errors
    /// [`VerificationError`].
    pub(super) fn read(&self, headers: &HeaderMap, body: &Bytes) -> Result<Notification, VerificationError> {
        let id =
            text(headers, HEADER_WEBHOOK_ID).filter(|id| id.len() <= MAX_ID).ok_or(VerificationError::BadSignature)?;
        let timestamp = text(headers, HEADER_WEBHOOK_TIMESTAMP).ok_or(VerificationError::BadSignature)?;
        // Seconds since 1970 fit 32 bits until 2106; anything else is nobody's clock.
        let seconds: u32 = timestamp.parse().map_err(|_not_seconds| VerificationError::TimestampOutOfRange)?;
        let signature = text(headers, HEADER_WEBHOOK_SIGNATURE).ok_or(VerificationError::BadSignature)?;
        let mut signed = http::HeaderMap::new();
        for (name, value) in
            [(HEADER_WEBHOOK_ID, id), (HEADER_WEBHOOK_TIMESTAMP, timestamp), (HEADER_WEBHOOK_SIGNATURE, signature)]
        {
            signed.insert(name, value.parse().map_err(|_unprintable| VerificationError::BadSignature)?);
        }
        self.0.verify(body, &signed).map_err(|error| match error {
            WebhookError::TimestampTooOldError | WebhookError::FutureTimestampError => {
                VerificationError::TimestampOutOfRange
            }
            _ => VerificationError::BadSignature,
        })?;
        let sequence = text(headers, HEADER_WEBHOOK_SEQUENCE).and_then(|sequence| sequence.parse().ok());
        let body = std::str::from_utf8(body).map_err(|_not_text| VerificationError::Malformed)?;
        Ok(Notification {
            id: id.to_owned(),
            sequence: sequence.ok_or(VerificationError::Malformed)?,
            timestamp: seconds.into(),
            event: serde_json::from_str(body).map_err(|_no_event| VerificationError::Malformed)?,
            body: body.to_owned(),
        })
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
