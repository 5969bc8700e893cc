//! Refreshes exchange rates from their source at an interval.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::Timestamp;
use dropin_ports::{
    Applied, Clock, Metric, MetricSample, MetricSource, RateSource, RateSourceCheck, RateSourceState, RateStore,
    Refreshed, SourceFailure, StoreError,
};
use dropin_rates::{QuoteRefusal, RateSourceLimits, RefusedQuote, Table};

/// Default refresh interval: a new table is in force a quarter of an hour after it was published.
pub const RATES_REFRESH_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// How often a refresh is tried again after a concurrent one.
const MAX_CAS_RETRIES: usize = 4;

/// Reads the rate source and stores its table.
#[derive(Clone)]
pub struct RateRefresher {
    /// Where rates come from.
    pub source: Arc<dyn RateSource>,
    /// Where they are kept.
    pub store: Arc<dyn RateStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// When rates are too old; the source has the same limits.
    pub limits: RateSourceLimits,
    /// The refresh interval.
    pub every: Duration,
}

impl RateRefresher {
    /// Refreshes once. A rate that cannot be read or is refused is logged, and the stored one stays.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is lost, the next refresh reads the same.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        for _ in 0..MAX_CAS_RETRIES {
            let now = self.clock.now();
            let former = self.store.find_rates().await?;
            let (expected, table) =
                former.as_ref().map_or_else(|| (0, Table::default()), |board| (board.number, board.table.clone()));
            let refreshed = self.source.refresh(&table, now).await;
            let state = self.state(&refreshed, now);
            let known = former.map(|board| board.state.refused).unwrap_or_default();
            let look = RateSourceCheck { expected, table: refreshed.changed.then_some(refreshed.table), state };
            match self.store.record_source_check(look.clone()).await? {
                Applied::Done => {
                    log_refresh(&look, &known);
                    return Ok(());
                }
                Applied::Stale => {}
            }
        }
        Err(StoreError::Unavailable("rates come into force faster than they can be read".to_owned()))
    }

    fn state(&self, refreshed: &Refreshed, now: Timestamp) -> RateSourceState {
        let failure = |failure: &SourceFailure| format!("{}: {}", failure.source.as_str(), failure.error);
        let failures: Vec<_> = refreshed.failures.iter().map(failure).collect();
        RateSourceState {
            checked_at: now,
            next_at: now.plus(self.every),
            stale_at: refreshed.table.stale_at(&self.limits),
            left_behind: refreshed.table.left_behind(&self.limits),
            problem: (!failures.is_empty()).then(|| failures.join("; ")),
            refused: refreshed.refused.clone(),
        }
    }
}

/// Logs a refresh: an error where the operator has to act; a quote that is refused again and again is logged once.
fn log_refresh(look: &RateSourceCheck, known: &[RefusedQuote]) {
    if let Some(table) = &look.table {
        let day = table.date().map_or_else(|| "without a day".to_owned(), |day| format!("of {day}"));
        log::info!("rates: a new table is in force, {day}, with {} currencies", table.quotes().count());
    }
    if let Some(problem) = &look.state.problem {
        log::warn!("rates: the feed cannot be read, what it said before stays: {problem}");
    }
    for quote in look.state.refused.iter().filter(|quote| !known.contains(quote)) {
        let (currency, offered, why) = (quote.currency.code(), quote.offered.rate, quote.why.as_str());
        let former = quote.former.map_or_else(|| "nothing".to_owned(), |former| former.rate.to_string());
        log::error!(
            currency = currency, reason = why;
            "rates: {offered} for {currency} is not believed, {former} stays; look at the source, and confirm the rate when it is right"
        );
    }
}

#[async_trait]
impl MetricSource for RateRefresher {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let board = self.store.find_rates().await.map_err(|error| error.to_string())?;
        let now = self.clock.now();
        let state = board.as_ref().map(|board| &board.state);
        let refused =
            |why: QuoteRefusal| state.map_or(0, |state| state.refused.iter().filter(|one| one.why == why).count());
        let readings = QuoteRefusal::ALL
            .into_iter()
            .map(|why| MetricSample { labels: vec![("reason", why.as_str().into())], value: refused(why) as u64 });
        Ok(vec![
            Metric::gauges(
                "dropin_rates_refused",
                "Rates of the feed that were not believed at the last look; an operator has to look at them.",
                readings.collect(),
            ),
            Metric::gauge(
                "dropin_rates_unreadable",
                "Whether a source of rates could not be read at the last look.",
                u64::from(state.is_none_or(|state| state.problem.is_some())),
            ),
            Metric::gauge(
                "dropin_rates_stale",
                "Whether the rates are too old to guarantee any.",
                u64::from(board.as_ref().is_none_or(|board| board.is_stale(now))),
            ),
            Metric::gauge(
                "dropin_rates_left_behind",
                "Currencies without a rate because theirs is much older than the rest.",
                state.map_or(0, |state| state.left_behind.len()) as u64,
            ),
        ])
    }
}
