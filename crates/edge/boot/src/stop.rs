use std::time::Duration;

use tokio::sync::watch;

/// How a process that is told twice to stop ends: as if killed by the interrupt.
const ENDED_BY_SIGNAL: i32 = 130;

/// Signals that follow the first this closely belong to it: some programs send theirs to a process and to its group.
const ONE_WISH: Duration = Duration::from_secs(1);

/// Becomes `true` at the first ctrl-c or SIGTERM; one more, a second later or after that,
/// ends the process at once.
///
/// Has to be called inside a tokio runtime.
pub fn stop_on_signals() -> watch::Sender<bool> {
    let stop = watch::Sender::new(false);
    let sender = stop.clone();
    tokio::spawn(async move {
        signal().await;
        log::info!("stopping; a second signal ends the process at once");
        sender.send_replace(true);
        tokio::time::sleep(ONE_WISH).await;
        signal().await;
        std::process::exit(ENDED_BY_SIGNAL);
    });
    stop
}

/// Waits until `stop` is `true`.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Without its sender nobody can ask for a stop any more, which is one too.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn signal() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = interrupted => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    if interrupted.await.is_err() {
        // No signals here: the process stops when it is ended.
        std::future::pending::<()>().await;
    }
}
