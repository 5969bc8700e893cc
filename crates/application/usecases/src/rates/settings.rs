//! The operator's side: which rates a merchant is given.

use dropin_access::{AuditAction, RateChange, RateSettings};
use dropin_kernel::MerchantId;
use dropin_ports::{AccountChanged, RateStore};

use crate::access::AccountError;
use crate::audit_log::{AuditWriter, rates_document};

/// Sets what is given of a merchant's rates. Spot rates follow within two seconds, offers with the next set that is made; those that were made
/// keep their rate and currency.
///
/// # Errors
/// [`AccountError::NoMerchant`], [`AccountError::Changed`] when they are other than `decided_on`, where that is given, [`AccountError::Store`].
pub async fn set_rates(
    store: &dyn RateStore,
    writer: &AuditWriter,
    merchant: MerchantId,
    decided_on: Option<RateSettings>,
    change: RateChange,
) -> Result<RateSettings, AccountError> {
    let before = store.find_rate_settings(merchant).await?;
    if change.is_empty() {
        return Ok(before);
    }
    let entry = writer.entry(Some(merchant), AuditAction::RatesChange, merchant);
    let entry = entry.with_before(rates_document(&before).finish());
    let entry = entry.with_after(rates_document(&before.changed(&change)).finish());
    match store.change_rates(merchant, decided_on, change, entry).await? {
        AccountChanged::Done => Ok(store.find_rate_settings(merchant).await?),
        AccountChanged::Stale => Err(AccountError::Changed),
        AccountChanged::Missing | AccountChanged::Ended => Err(AccountError::NoMerchant),
    }
}
