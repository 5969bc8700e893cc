//! The shop's client of the payment service: eight calls, HTTP Basic, JSON.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::{StatusCode, header};
use awc::{Client, ClientRequest, Connector};
use rustls::ClientConfig;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::pricing::RateList;

/// Longer than the service takes to ask a slow processor about a capture.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer that is read.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;

/// What went wrong between the shop and the payment service.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// No answer: it is not running, or the network is down.
    #[error("The shop cannot reach the payment service at {0}. See that it is running, then try again.")]
    Unreachable(String),
    /// It answered, but not as the specification says.
    #[error("The payment service answered in a way the shop does not understand (HTTP {0}). Try again in a moment.")]
    UnexpectedResponse(u16),
    /// It cannot work right now.
    #[error("The payment service is busy or being restarted (HTTP {0}). Nothing was charged; try again in a moment.")]
    Unavailable(u16),
    /// 401 and 403: the operator of the shop has to act.
    #[error("The payment service does not accept the shop's API user: {0}")]
    Credentials(String),
    /// It refused, with an Error object.
    #[error("{}", .1.message)]
    Refused(u16, ErrorBody),
}

/// The Error object (docs/SPECIFICATION.md#http-errors).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ErrorBody {
    code: String,
    message: String,
    #[serde(default)]
    field_errors: Vec<FieldError>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FieldError {
    field: String,
    message: String,
}

impl ApiError {
    /// The code the shop's page gets.
    pub(super) fn code(&self) -> &str {
        match self {
            Self::Unreachable(_) => "PAYMENT_SERVICE_AWAY",
            Self::UnexpectedResponse(_) => "PAYMENT_SERVICE_STRANGE",
            Self::Unavailable(_) => "PAYMENT_SERVICE_BUSY",
            Self::Credentials(_) => "CREDENTIALS_REFUSED",
            Self::Refused(_, body) => &body.code,
        }
    }

    /// The status the shop's page gets: what the service refused stays, its troubles become gateway errors.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Unreachable(_) | Self::UnexpectedResponse(_) | Self::Credentials(_) => StatusCode::BAD_GATEWAY,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Refused(status, _) => StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY),
        }
    }
}

/// What the shop reads of a Session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Session {
    pub(super) session_id: Uuid,
    pub(super) state: String,
    pub(super) merchant_reference: String,
    pub(super) auto_capture: bool,
    pub(super) currency: String,
    /// Kept as the digits that were sent: amounts never pass through a float.
    pub(super) total_amount: Box<RawValue>,
    pub(super) order: Option<Order>,
    /// Once it is COMPLETED.
    pub(super) payment_method: Option<String>,
    /// What the shopper tried, the failed tries too; the exact codes are for the merchant's eyes.
    #[serde(default)]
    pub(super) attempts: Vec<Attempt>,
    /// What was sold, at the prices of then.
    #[serde(default)]
    pub(super) items: Vec<SoldItem>,
    pub(super) billing_profile: Option<BillingProfile>,
}

/// A line of what was sold.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SoldItem {
    pub(super) name: String,
    /// Of the whole line, in the digits that were sent.
    pub(super) amount: Box<RawValue>,
    pub(super) quantity: u32,
}

/// What the shop reads of who pays.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BillingProfile {
    pub(super) address: Option<BillingAddress>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BillingAddress {
    pub(super) country: String,
}

/// What the shop reads of an Order.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Order {
    pub(super) order_id: Uuid,
    pub(super) state: String,
    /// Whether it is held until a reviewer has decided.
    #[serde(default)]
    under_review: bool,
    /// The contract that the payment opened: the card is stored, and can be charged again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contract_id: Option<Uuid>,
    /// Where to transfer the money to; of a bank transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_details: Option<BankDetails>,
}

/// What the shopper needs for a transfer. A country has some of them; the others are missing or empty.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct BankDetails {
    account_holder: Option<String>,
    account_number: Option<String>,
    bank_name: Option<String>,
    city: Option<String>,
    country: Option<String>,
    iban: Option<String>,
    payment_reference: Option<String>,
    swift_code: Option<String>,
    extra_bank_data: Option<String>,
}

/// One try to pay a Session.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Attempt {
    payment_method: Option<String>,
    outcome: String,
    code: Option<String>,
}

/// The answer to a capture.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Captured {
    pub(super) order_id: Uuid,
    pub(super) state: String,
    pub(super) reason: Reason,
}

/// How far a capture came: Captured, PendingNotification or UnderReview; the last two finish later, with ORDER_PROCESSED.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Reason {
    pub(super) code: String,
    pub(super) retryable: bool,
}

/// What the shop reads of a contract.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Contract {
    pub(super) contract_id: Uuid,
    pub(super) state: String,
    /// Why it is SUSPENDED or CLOSED.
    pub(super) state_reason: Option<String>,
    /// The payments under it, oldest first; in the answer to a GET alone.
    #[serde(default)]
    pub(super) orders: Vec<ContractOrder>,
}

/// A payment under a contract.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ContractOrder {
    pub(super) order_id: Uuid,
    pub(super) merchant_reference: String,
    pub(super) state: String,
    pub(super) amount: Box<RawValue>,
}

/// The answer to a charge.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Charged {
    pub(super) order_id: Uuid,
    /// Whether all of the money is taken; otherwise a notification tells.
    pub(super) captured: bool,
}

/// The payment service, as this merchant. Lives on one thread.
pub(super) struct ApiClient {
    base_url: String,
    checkout_url: String,
    client: Client,
}

impl ApiClient {
    /// `urls` are `{base_url}` and `{checkout_url}`.
    pub(super) fn new(urls: [&str; 2], username: &str, password: &str, tls: Option<Arc<ClientConfig>>) -> Self {
        let [base_url, checkout_url] = urls.map(str::to_owned);
        let builder = Client::builder().timeout(TIMEOUT).disable_redirects().basic_auth(username, Some(password));
        let client = match tls {
            Some(tls) => builder.connector(Connector::new().rustls_0_23(tls)).finish(),
            None => builder.finish(),
        };
        Self { base_url, checkout_url, client }
    }

    /// `POST /v1/session`. When the answer is lost, a Session may stay behind that nobody pays: it costs nothing and expires.
    pub(super) async fn create_session(&self, request: &impl Serialize) -> Result<Session, ApiError> {
        let url = format!("{}/v1/session", self.base_url);
        self.ask(self.client.post(url), Some(request)).await
    }

    /// `PUT /v1/session/{SessionId}`: the same Session with another basket, as long as nobody pays it.
    pub(super) async fn replace_session(&self, session: Uuid, request: &impl Serialize) -> Result<Session, ApiError> {
        let url = format!("{}/v1/session/{session}", self.base_url);
        self.ask(self.client.put(url), Some(request)).await
    }

    /// `GET /v2.2/getRates`, the same that the shop's page reads.
    pub(super) async fn rates(&self, merchant: &str) -> Result<RateList, ApiError> {
        let url = format!("{}/v2.2/getRates?merchantId={merchant}", self.base_url);
        self.ask(self.client.get(url), None::<&()>).await
    }

    /// `GET /v1/session/{SessionId}`.
    pub(super) async fn session(&self, session: Uuid) -> Result<Session, ApiError> {
        let url = format!("{}/v1/session/{session}", self.base_url);
        self.ask(self.client.get(url), None::<&()>).await
    }

    /// `POST /v1/order/{OrderId}/capture` of the whole amount. Repeating it moves nothing twice.
    pub(super) async fn capture(&self, order: Uuid) -> Result<Captured, ApiError> {
        let url = format!("{}/v1/order/{order}/capture", self.base_url);
        self.ask(self.client.post(url), None::<&()>).await
    }

    /// `GET /v1/contract/{ContractId}`.
    pub(super) async fn contract(&self, contract: Uuid) -> Result<Contract, ApiError> {
        let url = format!("{}/v1/contract/{contract}", self.base_url);
        self.ask(self.client.get(url), None::<&()>).await
    }

    /// `POST {checkout_url}/v2.21` of a contract. A ReferenceId that was used before is refused, so that repeating it charges nothing twice.
    pub(super) async fn charge(&self, request: &impl Serialize) -> Result<Charged, ApiError> {
        let url = format!("{}/v2.21", self.checkout_url);
        self.ask(self.client.post(url), Some(request)).await
    }

    /// `POST {checkout_url}/v2.21/closeContract`.
    pub(super) async fn close_contract(&self, request: &impl Serialize) -> Result<Contract, ApiError> {
        let url = format!("{}/v2.21/closeContract", self.checkout_url);
        self.ask(self.client.post(url), Some(request)).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: ClientRequest,
        body: Option<&impl Serialize>,
    ) -> Result<T, ApiError> {
        let request = request.insert_header((header::ACCEPT, "application/json"));
        let sent = match body {
            Some(body) => request.send_json(body).await,
            None => request.send().await,
        };
        let mut answer = sent.map_err(|error| {
            log::warn!("payment service at {} gave no answer: {error}", self.base_url);
            ApiError::Unreachable(self.base_url.clone())
        })?;
        let status = answer.status();
        let bytes = answer.body().limit(MAX_RESPONSE_BYTES).await.map_err(|error| {
            log::warn!("the payment service's answer broke off: {error}");
            ApiError::Unreachable(self.base_url.clone())
        })?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|_unreadable| ApiError::UnexpectedResponse(status.as_u16()));
        }
        Err(refusal(status, &bytes))
    }
}

fn refusal(status: StatusCode, bytes: &[u8]) -> ApiError {
    let number = status.as_u16();
    let body = serde_json::from_slice::<ErrorBody>(bytes);
    match (number, body) {
        (429 | 502..=504, _) => ApiError::Unavailable(number),
        (401 | 403, Ok(body)) => ApiError::Credentials(body.message),
        (_, Ok(body)) => {
            for problem in &body.field_errors {
                log::warn!("payment service: {} {}: {}", body.code, problem.field, problem.message);
            }
            ApiError::Refused(number, body)
        }
        (_, Err(_not_an_error_object)) => ApiError::UnexpectedResponse(number),
    }
}
