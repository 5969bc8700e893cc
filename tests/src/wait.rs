use std::time::{Duration, Instant};

/// Waits until `poll` finds something; panics with `what` when it does not within `limit`.
pub async fn until<T>(what: &str, limit: Duration, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = poll().await {
            return found;
        }
        assert!(begun.elapsed() < limit, "waited {limit:?} in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}
