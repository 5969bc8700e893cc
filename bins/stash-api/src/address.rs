//! Merchant and StashId from the address, as its bytes were sent.

use actix_web::HttpRequest;
use dropin_http::ApiError;
use dropin_kernel::{MerchantId, Violation, ViolationCode};
use dropin_usecases::stash::StashError;
use dropin_wire::stash::is_stash_id;
use dropin_wire::{ErrorCode, FieldError};

/// The merchant in the address.
///
/// # Errors
/// What is no UUID names no merchant: 404 MERCHANT_NOT_FOUND.
pub(crate) fn merchant_id(request: &HttpRequest) -> Result<MerchantId, ApiError> {
    let text = request.match_info().get("merchant").unwrap_or_default();
    text.parse().map_err(|_not_an_id| StashError::MerchantNotFound.into())
}

/// The StashId in the address. The router has decoded it, and another spelling of the same text, or text that is no UTF-8, may come out as the
/// same id; so the raw bytes have to be the id itself.
///
/// # Errors
/// 400 INVALID_REQUEST + StashId.
pub(crate) fn stash_id(request: &HttpRequest) -> Result<String, ApiError> {
    let decoded = request.match_info().get("stash").unwrap_or_default();
    let raw = request.uri().path().rsplit('/').next().unwrap_or_default();
    // Clients and proxies take these two for folders.
    let is_folder = matches!(raw, "." | "..");
    if raw == decoded && is_stash_id(raw) && !is_folder {
        return Ok(raw.to_owned());
    }
    let message = "must be 1 to 128 of A-Z a-z 0-9 . _ ~ - : @ + = , without any percent-encoding, and not . or ..";
    let violation = Violation::new("StashId", ViolationCode::Invalid, message);
    Err(ApiError::new(ErrorCode::InvalidRequest, "The StashId in the address is not valid.")
        .with_field_errors(vec![FieldError::from(violation)]))
}
