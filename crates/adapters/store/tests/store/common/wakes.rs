use std::sync::Arc;

use dropin_ports::MetricSource;
use dropin_store::{Store, WakeSubscription};
use dropin_store_contract::{Harness, each_change_that_tells_something_wakes};

/// How often a notifier was woken by its own process.
pub(crate) async fn count(wake_ups: &WakeSubscription) -> u64 {
    let all = wake_ups.collect_metrics().await.unwrap();
    all.iter().find(|measure| measure.name == "dropin_notifier_woken_here_total").unwrap().samples()[0].value
}

/// Every change that tells something wakes the notifier once.
pub(crate) async fn once_for_each_change(store: Store, harness: Harness, wake_ups: &WakeSubscription) {
    let expected = each_change_that_tells_something_wakes(Arc::new(harness), async || count(wake_ups).await).await;
    store.close();
    assert_eq!(count(wake_ups).await, expected);
}
