//! The feed is looked at again and again, and what it says comes into force.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::Timestamp;
use dropin_ports::{
    Applied, Clock, FeedLook, FeedState, Measure, Measured, RateFeed, RateStore, Reading, Refreshed, SourceFailure,
    StoreError,
};
use dropin_rates::{Limits, Refusal, RefusedQuote, Table};

/// How often the feed is looked at unless configured: a new table is in force a quarter of an hour after it was published.
pub const RATES_EVERY: Duration = Duration::from_secs(15 * 60);

/// How often a look is decided anew because another one came first.
const ROUNDS: usize = 4;

/// Looks at the feed, and writes down what it says.
#[derive(Clone)]
pub struct RateWatch {
    /// Where rates come from.
    pub feed: Arc<dyn RateFeed>,
    /// Where they are kept.
    pub store: Arc<dyn RateStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// When rates are too old; the feed knows the same limits.
    pub limits: Limits,
    /// How often to look.
    pub every: Duration,
}

impl RateWatch {
    /// Looks once. What could not be read or was not believed is logged, and stays as it was.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is lost, the next look finds the same.
    pub async fn look(&self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let now = self.clock.now();
            let former = self.store.find_rates().await?;
            let (expected, table) =
                former.as_ref().map_or_else(|| (0, Table::default()), |board| (board.number, board.table.clone()));
            let refreshed = self.feed.refresh(&table, now).await;
            let state = self.state(&refreshed, now);
            let known = former.map(|board| board.state.refused).unwrap_or_default();
            let look = FeedLook { expected, table: refreshed.changed.then_some(refreshed.table), state };
            match self.store.note_feed(look.clone()).await? {
                Applied::Done => {
                    tell(&look, &known);
                    return Ok(());
                }
                Applied::Stale => {}
            }
        }
        Err(StoreError::Unavailable("rates come into force faster than they can be read".to_owned()))
    }

    fn state(&self, refreshed: &Refreshed, now: Timestamp) -> FeedState {
        let failure = |failure: &SourceFailure| format!("{}: {}", failure.source.as_str(), failure.error);
        let failures: Vec<_> = refreshed.failures.iter().map(failure).collect();
        FeedState {
            checked_at: now,
            next_at: now.plus(self.every),
            stale_at: refreshed.table.stale_at(&self.limits),
            left_behind: refreshed.table.left_behind(&self.limits),
            problem: (!failures.is_empty()).then(|| failures.join("; ")),
            refused: refreshed.refused.clone(),
        }
    }
}

/// Loud where somebody has to act; a quote that is refused look after look is told once.
fn tell(look: &FeedLook, known: &[RefusedQuote]) {
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
impl Measured for RateWatch {
    async fn measure(&self) -> Result<Vec<Measure>, String> {
        let board = self.store.find_rates().await.map_err(|error| error.to_string())?;
        let now = self.clock.now();
        let state = board.as_ref().map(|board| &board.state);
        let refused = |why: Refusal| state.map_or(0, |state| state.refused.iter().filter(|one| one.why == why).count());
        let readings = Refusal::ALL
            .into_iter()
            .map(|why| Reading { labels: vec![("reason", why.as_str().into())], value: refused(why) as u64 });
        Ok(vec![
            Measure::stands(
                "dropin_rates_refused",
                "Rates of the feed that were not believed at the last look; somebody has to look at them.",
                readings.collect(),
            ),
            Measure::now(
                "dropin_rates_unreadable",
                "Whether a source of rates could not be read at the last look.",
                u64::from(state.is_none_or(|state| state.problem.is_some())),
            ),
            Measure::now(
                "dropin_rates_stale",
                "Whether the rates are too old to guarantee any.",
                u64::from(board.as_ref().is_none_or(|board| board.is_stale(now))),
            ),
            Measure::now(
                "dropin_rates_left_behind",
                "Currencies without a rate because theirs is much older than the rest.",
                state.map_or(0, |state| state.left_behind.len()) as u64,
            ),
        ])
    }
}
