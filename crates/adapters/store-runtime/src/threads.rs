//! The store's threads.

use std::thread::{self, JoinHandle};

use crate::config::OpenError;

/// Starts a thread of the store.
///
/// # Errors
/// [`OpenError::Thread`].
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(OpenError::Thread)
}

/// Waits for the ends of threads.
pub(crate) fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            log::error!("a thread of the store had panicked");
        }
    }
}
