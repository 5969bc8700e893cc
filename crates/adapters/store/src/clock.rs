//! How far this machine's clock is from the database's. Due times, leases and the stash's keys are compared with both.

use std::time::{Duration, Instant as Moment, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use diesel::{QueryableByName, RunQueryDsl};
use dropin_ports::{Metric, MetricSample, MetricSource, StoreError};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Instant, SqlInstant};

use crate::store::Store;

/// More than this makes payments fail: cards count as expired, leases as over.
const MAX_DIFFERENCE: Duration = Duration::from_secs(1);

/// How far this machine's clock is from the database's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDifference {
    /// Microseconds that this machine is ahead of the database's; negative when it is behind. What the time on the way may explain is taken off.
    pub micros_ahead: i64,
}

impl ClockDifference {
    /// `own` is the time halfway through a question that took `took`.
    fn new(own_micros: i64, database_micros: i64, took: Duration) -> Self {
        let difference = own_micros.saturating_sub(database_micros);
        let explained = i64::try_from((took / 2).as_micros()).unwrap_or(i64::MAX);
        let left = difference.saturating_abs().saturating_sub(explained).max(0);
        Self { micros_ahead: left * difference.signum() }
    }

    /// Whether it is more than a second.
    pub fn is_too_much(self) -> bool {
        MAX_DIFFERENCE < Duration::from_micros(self.micros_ahead.unsigned_abs())
    }
}

impl std::fmt::Display for ClockDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (millis, side) =
            (self.micros_ahead.unsigned_abs() / 1_000, if self.micros_ahead < 0 { "behind" } else { "ahead of" });
        write!(f, "this machine's clock is {}.{:03} s {side} the database's", millis / 1_000, millis % 1_000)
    }
}

#[derive(QueryableByName)]
struct Now {
    #[diesel(sql_type = SqlInstant)]
    now: Instant,
}

fn ask(connection: &mut AnyConnection) -> Result<Option<ClockDifference>, Fault> {
    let AnyConnection::Postgres(connection) = connection else { return Ok(None) };
    let begun = Moment::now();
    let before = SystemTime::now();
    let Now { now } = diesel::sql_query("SELECT clock_timestamp() AS now").get_result(connection)?;
    let took = begun.elapsed();
    let own = (before + took / 2).duration_since(UNIX_EPOCH).unwrap_or_default();
    let own = i64::try_from(own.as_micros()).unwrap_or(i64::MAX);
    Ok(Some(ClockDifference::new(own, now.0.micros(), took)))
}

impl Store {
    /// Measures how far this machine's clock is from the database's, and keeps it for `/metrics`. `None` on SQLite, which has the clock of this machine.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn measure_clock(&self) -> Result<Option<ClockDifference>, StoreError> {
        let measured = self.read(ask).await?;
        if let Some(difference) = measured {
            self.set_clock_micros_ahead(difference.micros_ahead);
        }
        Ok(measured)
    }
}

#[async_trait]
impl MetricSource for Store {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        if self.address().is_none() {
            return Ok(Vec::new());
        }
        let micros = self.clock_micros_ahead();
        let side = |name: &'static str, wanted| MetricSample {
            labels: vec![("direction", name.into())],
            value: if micros.signum() == wanted { micros.unsigned_abs() / 1_000 } else { 0 },
        };
        let help =
            "Milliseconds that this machine's clock was ahead of or behind the database's when it was measured last.";
        let readings = vec![side("ahead", 1), side("behind", -1)];
        Ok(vec![Metric::gauges("dropin_clock_difference_milliseconds", help, readings)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_explains_half_of_what_it_took() {
        let ahead = |own, database, took| ClockDifference::new(own, database, Duration::from_micros(took)).micros_ahead;
        assert_eq!([ahead(5, 5, 0), ahead(9, 5, 2), ahead(5, 9, 2), ahead(9, 5, 100)], [0, 3, -3, 0]);
        assert_eq!(ahead(i64::MIN, i64::MAX, 0), -i64::MAX);
    }

    #[test]
    fn more_than_a_second_is_too_much() {
        let is_too_much = |micros_ahead| ClockDifference { micros_ahead }.is_too_much();
        assert_eq!([1_000_000, 1_000_001, -1_000_000, -1_000_001].map(is_too_much), [false, true, false, true]);
        let text = ClockDifference { micros_ahead: -3_600_025_000 }.to_string();
        assert_eq!(text, "this machine's clock is 3600.025 s behind the database's");
    }
}
