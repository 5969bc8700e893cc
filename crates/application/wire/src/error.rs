use dropin_kernel::{ContractId, OrderId, Violation};
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema;

/// Writes the enumeration and everything that is known of a code from one table.
macro_rules! error_codes {
    ($($name:ident = $code:literal, $status:literal, $meaning:literal;)+) => {
        /// The machine-readable code of an Error object; the whole table of errors (docs/SPECIFICATION.md#http-errors).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $name,)+
        }

        impl ErrorCode {
            /// Every code, by status.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The code as integrators see it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// The HTTP status it is answered with.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// What it means, in one sentence, for the documentation.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)+ }
            }
        }
    };
}

error_codes! {
    InvalidRequest = "INVALID_REQUEST", 400, "The body is not valid JSON, or FieldErrors says which fields are wrong.";
    InvalidCurrency = "INVALID_CURRENCY", 400, "The currency is not enabled for the merchant.";
    ValidationError = "VALIDATION_ERROR", 400, "The identifier in the address is not a UUID.";
    AuthenticationRequired = "AUTHENTICATION_REQUIRED", 401, "The user name and password are missing or invalid.";
    CaptureFailed = "CAPTURE_FAILED", 402, "The processor refused the capture; Retryable says whether another try may succeed.";
    PaymentDeclined = "PAYMENT_DECLINED", 402, "The issuer or screening refused the payment; OrderId names the Order it was tried for.";
    ShopperAuthenticationRequired = "SHOPPER_AUTHENTICATION_REQUIRED", 402,
        "The shopper has to authenticate, and is away or has no Return to come back to; OrderId names the Order it was tried for.";
    NotAuthorized = "NOT_AUTHORIZED", 403, "The user may not do this.";
    OriginNotAllowed = "ORIGIN_NOT_ALLOWED", 403, "Pages of this origin may not embed the drop-in; the merchant can register it.";
    NotFound = "NOT_FOUND", 404, "There is nothing under this address.";
    SessionNotFound = "SESSION_NOT_FOUND", 404, "The merchant has no Session with this id.";
    OrderNotFound = "ORDER_NOT_FOUND", 404, "The merchant has no Order with this id or reference.";
    RefundNotFound = "REFUND_NOT_FOUND", 404, "The Order has no refund with this id.";
    DisputeNotFound = "DISPUTE_NOT_FOUND", 404, "The Order has no dispute with this id.";
    ContractNotFound = "CONTRACT_NOT_FOUND", 404, "The merchant has no contract with this id.";
    MerchantNotFound = "MERCHANT_NOT_FOUND", 404, "There is no merchant with this id.";
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405, "The address does not take this method; the header Allow lists those it takes.";
    RequestTimeout = "REQUEST_TIMEOUT", 408, "The request did not arrive in time.";
    DuplicateMerchantReferenceId = "DUPLICATE_MERCHANT_REFERENCE_ID", 409,
        "The merchant has used this MerchantReference or ReferenceId before.";
    DuplicateRefundReference = "DUPLICATE_REFUND_REFERENCE", 409,
        "The Order has a refund with this RefundReference and another amount.";
    RefundExceedsCaptured = "REFUND_EXCEEDS_CAPTURED", 409, "More would be given back than is left of what was captured and is not disputed.";
    DuplicateRequest = "DUPLICATE_REQUEST", 409,
        "Another request changed the same Session at the same time, or the first one with this Idempotency-Key still runs.";
    InvalidSessionState = "INVALID_SESSION_STATE", 409, "The Session is not in a state that allows this.";
    SessionChanged = "SESSION_CHANGED", 409, "The Session changed since it was shown to the shopper.";
    RateOfferExpired = "RATE_OFFER_EXPIRED", 409,
        "The rate offer that the Session is priced by expired before it was paid; the merchant can replace the Session.";
    InvalidOrderState = "INVALID_ORDER_STATE", 409, "The Order is not in a state that allows this.";
    InvalidDisputeState = "INVALID_DISPUTE_STATE", 409, "The dispute is not in a state that allows this, or its time is over.";
    DisputeAnswerRefused = "DISPUTE_ANSWER_REFUSED", 409, "The processor does not take this answer to the dispute.";
    InvalidContractState = "INVALID_CONTRACT_STATE", 409, "The contract is not in a state that allows this.";
    PreconditionFailed = "PRECONDITION_FAILED", 412, "The Session is another version than If-Match names.";
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, "The body is larger than this address takes.";
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415, "The body has another content type than this address takes.";
    IdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED", 422,
        "The Idempotency-Key came with another body before; every new request needs a new key.";
    RateLimited = "RATE_LIMITED", 429, "Too many requests; the header Retry-After says how long to wait.";
    InternalServerError = "INTERNAL_SERVER_ERROR", 500, "A defect of the service; report the X-Request-Id.";
    WalletProviderFailed = "WALLET_PROVIDER_FAILED", 502,
        "The wallet's provider gave no payment session; the shopper may try again, or pay otherwise.";
    RatesStale = "RATES_STALE", 503, "The exchange rates are too old to guarantee any; the header Retry-After says when they are looked at again.";
    ServiceUnavailable = "SERVICE_UNAVAILABLE", 503, "Something the service needs is away; nothing was changed.";
    OutcomeUnknown = "OUTCOME_UNKNOWN", 503, "It could not be learned in time whether this was done; safe to repeat.";
}

/// Most FieldErrors of one answer: the largest body could earn tens of thousands, and the answer to a request with a key is stored.
const MAX_FIELD_ERRORS: usize = 200;

/// One field that is wrong (docs/SPECIFICATION.md#field-errors).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(description = "One field that is wrong.")]
pub struct FieldError {
    /// Path of the field, for example `Items[2].Amount`.
    pub field: String,
    /// For programs.
    #[schema(value_type = schema::FieldErrorCode)]
    pub code: &'static str,
    /// For people; never repeats the rejected value.
    pub message: String,
}

impl From<Violation> for FieldError {
    fn from(violation: Violation) -> Self {
        Self { field: violation.field, code: violation.code.as_str(), message: violation.message }
    }
}

/// The body of every 4xx and 5xx answer (docs/SPECIFICATION.md#http-errors).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Error, description = "The body of every 4xx and 5xx answer.")]
pub struct ErrorBody {
    /// For programs.
    code: &'static str,
    /// For people.
    message: String,
    /// What is wrong with which field; only when fields are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    field_errors: Vec<FieldError>,
    /// Whether another try may succeed; only with CAPTURE_FAILED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool)]
    retryable: Option<bool>,
    /// The Order that was to be paid; only with PAYMENT_DECLINED and SHOPPER_AUTHENTICATION_REQUIRED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    order_id: Option<String>,
    /// The contract that was to be opened; only with PAYMENT_DECLINED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    contract_id: Option<String>,
}

impl ErrorBody {
    /// An Error object; `message` is for people and says what to do.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.as_str(),
            message: message.into(),
            field_errors: Vec::new(),
            retryable: None,
            order_id: None,
            contract_id: None,
        }
    }

    /// Names the fields that are wrong, the first 200 of them; left out of the body when there are none.
    #[must_use]
    pub fn with_field_errors(self, mut field_errors: Vec<FieldError>) -> Self {
        field_errors.truncate(MAX_FIELD_ERRORS);
        Self { field_errors, ..self }
    }

    /// Says whether another try may succeed (docs/SPECIFICATION.md#capture-failed).
    #[must_use]
    pub fn with_retryable(self, retryable: bool) -> Self {
        Self { retryable: Some(retryable), ..self }
    }

    /// Names the Order that was to be paid (docs/SPECIFICATION.md#checkout-refusals).
    #[must_use]
    pub fn with_order(self, order: OrderId) -> Self {
        Self { order_id: Some(order.to_string()), ..self }
    }

    /// Names the contract that was to be opened (docs/SPECIFICATION.md#open-contract-response).
    #[must_use]
    pub fn with_contract(self, contract: ContractId) -> Self {
        Self { contract_id: Some(contract.to_string()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropin_kernel::ViolationCode;

    #[test]
    fn the_contracts_error_table() {
        for (status, code) in [
            (400, "INVALID_REQUEST"),
            (400, "INVALID_CURRENCY"),
            (400, "VALIDATION_ERROR"),
            (401, "AUTHENTICATION_REQUIRED"),
            (403, "NOT_AUTHORIZED"),
            (404, "SESSION_NOT_FOUND"),
            (409, "DUPLICATE_MERCHANT_REFERENCE_ID"),
            (409, "DUPLICATE_REQUEST"),
            (409, "INVALID_SESSION_STATE"),
            (415, "UNSUPPORTED_MEDIA_TYPE"),
            (500, "INTERNAL_SERVER_ERROR"),
        ] {
            let found: Vec<_> = ErrorCode::ALL.iter().filter(|one| one.as_str() == code).collect();
            assert_eq!(found.iter().map(|one| one.status()).collect::<Vec<_>>(), [status], "{code}");
        }
    }

    #[test]
    fn codes_are_unique_and_sorted_by_status() {
        let codes: std::collections::BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), ErrorCode::ALL.len());
        assert!(ErrorCode::ALL.is_sorted_by_key(|code| code.status()));
    }

    #[test]
    fn members_without_content_are_left_out() {
        let bare = ErrorBody::new(ErrorCode::NotFound, "Nothing here.");
        assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"Code":"NOT_FOUND","Message":"Nothing here."}"#);
        let violation = Violation::new("Items[2].Amount", ViolationCode::OutOfRange, "must not be negative");
        let full = ErrorBody::new(ErrorCode::InvalidRequest, "No.").with_field_errors(vec![violation.into()]);
        assert_eq!(
            serde_json::to_string(&full).unwrap(),
            r#"{"Code":"INVALID_REQUEST","Message":"No.","FieldErrors":[{"Field":"Items[2].Amount","Code":"VALUE_OUT_OF_RANGE","Message":"must not be negative"}]}"#
        );
        let refused = ErrorBody::new(ErrorCode::CaptureFailed, "No.").with_retryable(true);
        assert_eq!(
            serde_json::to_string(&refused).unwrap(),
            r#"{"Code":"CAPTURE_FAILED","Message":"No.","Retryable":true}"#
        );
    }

    #[test]
    fn the_first_200_field_errors_are_named() {
        let wrong = |at: usize| Violation::new(format!("Items[{at}].X"), ViolationCode::Unknown, "is not known here");
        let body = |count: usize| {
            let errors = (0..count).map(|at| wrong(at).into()).collect();
            serde_json::to_value(ErrorBody::new(ErrorCode::InvalidRequest, "No.").with_field_errors(errors)).unwrap()
        };
        for (count, named) in [(199, 199), (200, 200), (201, 200), (20_000, 200)] {
            let errors = &body(count)["FieldErrors"];
            assert_eq!(errors.as_array().map(Vec::len), Some(named), "{count}");
            assert_eq!(errors[named - 1]["Field"], format!("Items[{}].X", named - 1), "in their order");
        }
    }
}
