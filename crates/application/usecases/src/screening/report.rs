use std::time::Duration;

use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{ScreeningStore, StoreError};
use dropin_risk::ScreeningReport;

/// Most payments of one report, the newest.
pub const MAX_REPORTED: u32 = 10_000;
/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// How well reasons of screening told fraud from legitimate payments of the merchant's in the last `days`, by what people decided about those that were held
/// for them and whose facts are still kept: [`MAX_REPORTED`] at most.
///
/// # Errors
/// [`StoreError`].
pub async fn report_screening(
    store: &dyn ScreeningStore,
    merchant: MerchantId,
    days: u32,
    now: Timestamp,
) -> Result<ScreeningReport, StoreError> {
    let since = now.minus(Duration::from_secs(u64::from(days) * DAY));
    let labelled = store.list_labelled_screenings(merchant, since, MAX_REPORTED).await?;
    Ok(ScreeningReport::of(labelled.iter().map(|(screening, label)| (screening, *label))))
}
