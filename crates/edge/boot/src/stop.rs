use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// How a process that is told twice to stop ends: as if killed by the interrupt.
const ENDED_BY_SIGNAL: i32 = 130;

/// Signals that follow the first this closely belong to it: some programs send theirs to a process and to its group.
const DUPLICATE_SIGNAL_WINDOW: Duration = Duration::from_secs(1);

/// Becomes `true` at the first ctrl-c or SIGTERM; one more, a second later or after that,
/// ends the process at once. Signals count from this call on, not only from the first wait on.
///
/// Has to be called inside a tokio runtime.
pub fn stop_on_signals() -> watch::Sender<bool> {
    let stop = watch::Sender::new(false);
    let sender = stop.clone();
    let mut signals = Signals::listen();
    tokio::spawn(async move {
        signals.next().await;
        log::info!("stopping; a second signal ends the process at once");
        sender.send_replace(true);
        tokio::time::sleep(DUPLICATE_SIGNAL_WINDOW).await;
        signals.next().await;
        std::process::exit(ENDED_BY_SIGNAL);
    });
    stop
}

/// Waits until `stop` is `true`.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A dropped sender means a stop too.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// The signals that request a stop. Where the system installs no handler, they end the process.
struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl Signals {
    fn listen() -> Self {
        Self { interrupt: signal(SignalKind::interrupt()).ok(), terminate: signal(SignalKind::terminate()).ok() }
    }

    async fn next(&mut self) {
        tokio::select! {
            () = received(&mut self.interrupt) => {}
            () = received(&mut self.terminate) => {}
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    let signalled = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if signalled.is_none() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_before_anybody_waited_stops_too() {
        let stop = stop_on_signals();
        // Nothing else has run on this thread since: without a listener, this ends the whole test.
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)
            .expect("our own process");
        stopped(&mut stop.subscribe()).await;
    }
}
