//! The operator's side: which rates a merchant is given.

use dropin_access::{RateChange, RateSettings};
use dropin_kernel::MerchantId;
use dropin_ports::{AccountChanged, RateStore};

use crate::access::AccountError;

/// Sets what is given of a merchant's rates. Spot rates follow within two seconds, offers with the next set that is made; those that were made
/// keep their rate and currency.
///
/// # Errors
/// [`AccountError::NoMerchant`], [`AccountError::Store`].
pub async fn set_rates(
    store: &dyn RateStore,
    merchant: MerchantId,
    change: RateChange,
) -> Result<RateSettings, AccountError> {
    match store.change_rates(merchant, change).await? {
        AccountChanged::Done => Ok(store.find_rate_settings(merchant).await?),
        AccountChanged::Missing | AccountChanged::Ended => Err(AccountError::NoMerchant),
    }
}
