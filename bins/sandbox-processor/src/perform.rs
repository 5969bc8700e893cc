//! Doing the work of a call, as badly as the fault switch wants it.

use std::time::Duration;

use diesel::SqliteConnection;
use dropin_kernel::Timestamp;
use time::OffsetDateTime;

use crate::SandboxProcessor;
use crate::credential::IssuerCodes;
use crate::faults::{Fault, Mode};
use crate::http::Refusal;
use crate::rules::CallContext;
use crate::store::StoreGone;

/// Runs `work` in the store: once, twice, late or not at all.
pub(crate) async fn run<T: Send + 'static>(
    processor: &SandboxProcessor,
    fault: Fault,
    work: impl Fn(&mut SqliteConnection, CallContext) -> T + Send + 'static,
) -> Result<T, Refusal> {
    let refuse = fault.refusal();
    match fault.mode {
        Mode::Error500 => Err(Refusal::OnPurpose),
        Mode::Slow => run_late(processor, fault.slowness(), work).await,
        Mode::Duplicate => Ok(deliver(processor, refuse, 2, work).await?),
        Mode::None | Mode::TimeoutAfterWork | Mode::Refuse => Ok(deliver(processor, refuse, 1, work).await?),
    }
}

/// Holds the caller, but neither a thread nor the store, and gives up.
pub(crate) async fn time_out(silence: Duration) -> Refusal {
    tokio::time::sleep(silence).await;
    Refusal::TimedOut
}

/// The circumstances of a call that is not refused on purpose.
pub(crate) fn context(processor: &SandboxProcessor) -> CallContext {
    CallContext { now: now(), capture_delay: processor.capture_delay(), waits: processor.waits(), refuse: None }
}

/// The time.
pub(crate) fn now() -> Timestamp {
    Timestamp::from(OffsetDateTime::now_utc())
}

async fn deliver<T: Send + 'static>(
    processor: &SandboxProcessor,
    refuse: Option<IssuerCodes>,
    deliveries: usize,
    work: impl Fn(&mut SqliteConnection, CallContext) -> T + Send + 'static,
) -> Result<T, StoreGone> {
    let shared = processor.clone();
    let work = move |store: &mut SqliteConnection| {
        let mut once = || work(store, CallContext { refuse, ..context(&shared) });
        for _ in 1..deliveries {
            once();
        }
        once()
    };
    processor.store().run(work).await
}

/// Works after `delay`, also when the caller has gone away by then: calls that arrive late are what `slow` is for.
async fn run_late<T: Send + 'static>(
    processor: &SandboxProcessor,
    delay: Duration,
    work: impl Fn(&mut SqliteConnection, CallContext) -> T + Send + 'static,
) -> Result<T, Refusal> {
    let processor = processor.clone();
    let late = actix_web::rt::spawn(async move {
        tokio::time::sleep(delay).await;
        deliver(&processor, None, 1, work).await
    });
    Ok(late.await.map_err(|_stopping| StoreGone)??)
}
