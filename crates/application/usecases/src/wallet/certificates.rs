//! Certificates end, and then the button is gone: numbers and log lines for whoever watches.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_ports::{Clock, Metric, MetricSample, MetricSource, StoreError, WalletStore};

/// How long before its end a certificate is warned about.
const WARN_BEFORE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How many certificates are told of one by one: those that end first.
const MAX_EXPIRIES: u32 = 100;

/// Merchants' certificates.
#[derive(Clone)]
pub struct WalletCertificates {
    /// Merchants' identities.
    pub store: Arc<dyn WalletStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl WalletCertificates {
    /// Logs which certificates end soon or have ended; how many they are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn warn(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let mut ending = 0;
        for (merchant, at) in self.store.wallet_expiries(MAX_EXPIRIES).await? {
            let (left, id) = (at.since(now), merchant.to_string());
            if left.is_zero() {
                log::error!(merchant = id.as_str(); "the wallet certificate of a merchant has ended: set a new one with `dropin wallet set`");
            } else if left <= WARN_BEFORE {
                let days = left.as_secs() / 86_400;
                log::warn!(merchant = id.as_str(), days; "the wallet certificate of a merchant ends soon: set a new one with `dropin wallet set`");
            } else {
                break;
            }
            ending += 1;
        }
        Ok(ending)
    }
}

#[async_trait]
impl MetricSource for WalletCertificates {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let now = self.clock.now();
        let expiries = self.store.wallet_expiries(MAX_EXPIRIES).await.map_err(|error| error.to_string())?;
        let readings = expiries
            .into_iter()
            .map(|(merchant, at)| MetricSample {
                labels: vec![("merchant", merchant.to_string().into())],
                value: at.since(now).as_secs(),
            })
            .collect();
        Ok(vec![Metric::gauges(
            "dropin_wallet_certificate_seconds",
            "Seconds until a merchant's wallet certificate ends, 0 when it has ended; of the hundred that end first.",
            readings,
        )])
    }
}
