use std::time::Duration;

use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{ScreeningStore, StoreError};
use dropin_risk::{DryRun, Rules, dry_run};

/// Most payments of one dry run, the newest.
pub const MAX_DRY_RUN: u32 = 5_000;
/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// What `rules` would have decided on the merchant's payments of the last `days`, as far as their facts are still kept: [`MAX_DRY_RUN`] at most. Changes
/// nothing.
///
/// # Errors
/// [`StoreError`].
pub async fn dry_run_screening(
    store: &dyn ScreeningStore,
    merchant: MerchantId,
    days: u32,
    now: Timestamp,
    rules: &Rules,
) -> Result<DryRun<OrderId>, StoreError> {
    let since = now.minus(Duration::from_secs(u64::from(days) * DAY));
    let past = store.list_screenings(merchant, since, MAX_DRY_RUN).await?;
    Ok(dry_run(past.iter().map(|(order, screening)| (*order, screening)), rules))
}
