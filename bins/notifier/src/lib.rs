#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod assemble;

use std::sync::Arc;

use dropin_usecases::deliver::Delivering;
use tokio::sync::{Notify, watch};

pub use assemble::assemble;

/// What the service works with.
#[derive(Clone)]
pub struct NotifierDeps {
    /// The use case.
    pub delivering: Delivering,
    /// Told when notifications are committed (`Store::wake`); the poll behind it finds those of which nobody tells.
    pub wakeups: Arc<Notify>,
}

/// Delivers until `stop` turns true; what is under way then is finished first.
pub async fn run(deps: NotifierDeps, stop: watch::Receiver<bool>) {
    let NotifierDeps { delivering, wakeups } = deps;
    log::info!("notifier: looking for notifications every {} ms", delivering.settings.poll.as_millis());
    delivering.run(stop, wakeups).await;
}
