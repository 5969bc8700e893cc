//! The calls of the processor's API.

use dropin_kernel::{MerchantId, OpId};
use dropin_processor_transport::Call;
use zeroize::Zeroizing;

/// A question about a key that nobody has: it does nothing at all.
pub(crate) const PROBE: &str = "/v1/operations/00000000-0000-0000-0000-000000000000";

pub(crate) fn effect(path: &str, key: OpId, body: Zeroizing<Vec<u8>>) -> Call {
    Call::post(path.to_owned(), Some(key.to_string()), "application/json", body)
}

pub(crate) fn look_up(key: OpId) -> Call {
    Call::get(format!("/v1/operations/{key}"))
}

pub(crate) fn abandon(key: OpId) -> Call {
    effect(&format!("/v1/operations/{key}/abandon"), key, Zeroizing::new(b"{}".to_vec()))
}

pub(crate) fn journal(after: u64, limit: u32) -> Call {
    Call::get_page(format!("/v1/journal?after={after}&limit={limit}"))
}

pub(crate) fn list_credentials(merchant: MerchantId, after: u64, limit: u32) -> Call {
    Call::get_page(format!("/v1/credentials?merchant={merchant}&after={after}&limit={limit}"))
}
