//! The wake signal: after a transaction that enqueued notifications commits, the worker wakes the notifier, in-process by a channel, in other
//! processes by NOTIFY. It is a hint: the notifier also polls.

mod listen;
mod notify;
mod signal;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::Notify;

pub(crate) use notify::serve as serve_notify;
pub(crate) use signal::WakeSignal;
pub use signal::WakeSubscription;

use crate::config::{DatabaseAddress, OpenError};
use crate::threads::spawn;

/// Wakes `notifier` from now on as soon as notifications have been committed: by this process, and on PostgreSQL, at `address`, by any other, for
/// which a connection of its own listens. Ends when `notifier` is dropped or the signal is closed. Returns the listening thread, to be joined.
///
/// # Errors
/// [`OpenError::Thread`].
pub(crate) fn subscribe(
    wake_signal: &Arc<WakeSignal>,
    notifier: &Arc<Notify>,
    address: Option<Arc<DatabaseAddress>>,
) -> Result<(WakeSubscription, Option<JoinHandle<()>>), OpenError> {
    let subscription = wake_signal.subscribe(notifier, address.is_none());
    let thread = address.map(|address| {
        let (wake_signal, subscription) = (wake_signal.clone(), subscription.clone());
        spawn("store-listen", move || listen::serve(&wake_signal, &address, &subscription))
    });
    Ok((WakeSubscription(subscription), thread.transpose()?))
}
