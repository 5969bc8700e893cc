//! How things stand with the processor, in numbers for whoever watches.

use async_trait::async_trait;
use dropin_ports::{Metric, MetricSample, MetricSource};

use crate::Transport;
use crate::breaker::BreakerState;
use crate::health::{Occupancy, ProcessorHealth};

#[async_trait]
impl MetricSource for Transport {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let times = self.guard.times().map(|(room, times)| times.histogram(vec![("room", room.into())]));
        let times = Metric::histograms(
            "dropin_processor_call_seconds",
            "Time of one call to the processor, from when it has room until its answer or its deadline.",
            times.into(),
        );
        Ok(measures(&self.health()).into_iter().chain([times]).collect())
    }
}

fn measures(health: &ProcessorHealth) -> Vec<Metric> {
    let states = BreakerState::ALL.into_iter().map(|state| MetricSample {
        labels: vec![("state", state.as_str().into())],
        value: u64::from(state == health.breaker),
    });
    let bulkheads = [("payments", health.payments), ("questions", health.questions)];
    let of_bulkheads = |number: fn(&Occupancy) -> usize| {
        let reading = |(bulkhead, occupancy): &(&'static str, Occupancy)| MetricSample {
            labels: vec![("room", (*bulkhead).into())],
            value: number(occupancy) as u64,
        };
        bulkheads.iter().map(reading).collect()
    };
    let ended = health.outcomes.iter().map(|one| MetricSample {
        labels: vec![("call", one.call.into()), ("outcome", one.outcome.into())],
        value: one.count,
    });
    vec![
        Metric::gauges(
            "dropin_processor_breaker",
            "1 for the state of the guard in front of the processor: open holds all calls back.",
            states.collect(),
        ),
        Metric::counter(
            "dropin_processor_breaker_opened_total",
            "How often the guard has opened because the processor answered no call.",
            health.opened,
        ),
        Metric::gauges("dropin_processor_calls", "Calls under way.", of_bulkheads(|room| room.under_way)),
        Metric::gauges(
            "dropin_processor_calls_waiting",
            "Calls that wait for room.",
            of_bulkheads(|room| room.waiting),
        ),
        Metric::gauges("dropin_processor_calls_room", "Most calls at once.", of_bulkheads(|room| room.capacity)),
        Metric::counters("dropin_processor_calls_total", "Calls by how they ended.", ended.collect()),
    ]
}

#[cfg(test)]
mod tests {
    use dropin_ports::MetricValues;

    use super::*;
    use crate::health::OutcomeCount;

    #[test]
    fn the_state_of_the_breaker_is_the_one_that_is_1() {
        let room = Occupancy { capacity: 8, under_way: 3, waiting: 2 };
        let health = ProcessorHealth {
            breaker: BreakerState::HalfOpen,
            opened: 4,
            payments: room,
            questions: Occupancy { under_way: 0, ..room },
            outcomes: vec![OutcomeCount { call: "capture", outcome: "unknown", count: 7 }],
        };
        let told: Vec<_> = measures(&health)
            .into_iter()
            .map(|measure| {
                let values: Vec<_> = measure.samples().iter().map(|reading| reading.value).collect();
                (measure.name, matches!(measure.values, MetricValues::Counter(_)), values)
            })
            .collect();
        let expected = [
            ("dropin_processor_breaker", false, vec![0, 0, 1]),
            ("dropin_processor_breaker_opened_total", true, vec![4]),
            ("dropin_processor_calls", false, vec![3, 0]),
            ("dropin_processor_calls_waiting", false, vec![2, 2]),
            ("dropin_processor_calls_room", false, vec![8, 8]),
            ("dropin_processor_calls_total", true, vec![7]),
        ];
        assert_eq!(told, expected);
    }
}
