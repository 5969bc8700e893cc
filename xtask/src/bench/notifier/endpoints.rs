//! How the endpoints behave that the notifier delivers to.

use std::sync::Arc;
use std::time::Duration;

use super::delivery_log::{DeliveryLog, NotificationKey};
use crate::bench::receiver::{Answer, Receiver, Request};
use crate::failure::Outcome;

/// How an endpoint behaves; the first part of its path says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EndpointBehavior {
    Acknowledging,
    /// Answers 500 to a tenth of all tries, but never to a fourth one.
    Flaky,
    /// Takes requests and never answers.
    Unresponsive,
    /// Acknowledges everything, after a while.
    Slow,
}

/// How long a slow one takes.
const SLOW_RESPONSE_DELAY: Duration = Duration::from_millis(10);

impl EndpointBehavior {
    const ALL: [Self; 4] = [Self::Acknowledging, Self::Flaky, Self::Unresponsive, Self::Slow];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Acknowledging => "kind",
            Self::Flaky => "flaky",
            Self::Unresponsive => "unresponsive",
            Self::Slow => "slow",
        }
    }

    fn of(path: &str) -> Self {
        let first = path.split('/').nth(1).unwrap_or_default();
        Self::ALL.into_iter().find(|one| one.path() == first).unwrap_or(Self::Acknowledging)
    }

    fn answer(self, key: Option<NotificationKey>, tries: u32) -> Answer {
        match self {
            Self::Acknowledging | Self::Slow => Answer::Acknowledge,
            Self::Unresponsive => Answer::Never,
            Self::Flaky => {
                let NotificationKey { payment, sequence } = key.unwrap_or(NotificationKey { payment: 0, sequence: 0 });
                let mixed = (payment * 4 + sequence).wrapping_mul(2_654_435_761).rotate_left(11) ^ (tries * 7);
                if tries < 4 && mixed.is_multiple_of(10) { Answer::Refuse } else { Answer::Acknowledge }
            }
        }
    }
}

/// Starts a receiver for all of them; what comes is recorded.
pub(crate) fn receive(delivery_log: &Arc<DeliveryLog>) -> Outcome<Receiver> {
    let delivery_log = delivery_log.clone();
    Receiver::start(move |request| {
        let behavior = EndpointBehavior::of(request.path);
        if behavior == EndpointBehavior::Slow {
            std::thread::sleep(SLOW_RESPONSE_DELAY);
        }
        let key = key_of(request);
        delivery_log.record(key, |tries| behavior.answer(key, tries))
    })
}

/// `None` when the headers do not fit together.
fn key_of(request: Request<'_>) -> Option<NotificationKey> {
    let key = NotificationKey::parse(request.header("webhook-id"))?;
    (request.header("webhook-sequence").parse() == Ok(key.sequence)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::notifier::delivery_log::{Counts, EVENT_PREFIX};
    use crate::http1::Client;

    #[test]
    fn behaviors_are_known_by_their_paths() {
        for behavior in EndpointBehavior::ALL {
            assert_eq!(EndpointBehavior::of(&format!("/{}/7", behavior.path())), behavior);
        }
    }

    #[test]
    fn a_tenth_of_what_a_flaky_endpoint_gets_is_refused() {
        let key = |payment| Some(NotificationKey { payment, sequence: 1 });
        let answers = |tries| (0..10_000).map(move |payment| EndpointBehavior::Flaky.answer(key(payment), tries));
        let refused = answers(1).filter(|answer| *answer == Answer::Refuse).count();
        assert!((800..1_200).contains(&refused), "{refused}");
        assert!(answers(4).all(|answer| answer == Answer::Acknowledge));
    }

    #[test]
    fn what_comes_is_answered_and_recorded() {
        let delivery_log = Arc::new(DeliveryLog::new(1, Duration::ZERO));
        let receiver = receive(&delivery_log).unwrap();
        let mut client = Client::connect(receiver.address, "").unwrap();
        for (id, sequence) in [(1, 1), (2, 2), (3, 2)] {
            let headers = format!("Webhook-Id: {EVENT_PREFIX}00000000000{id}\r\nwebhook-sequence: {sequence}\r\n");
            assert_eq!(client.exchange("POST", "/kind/0", &headers, "{}").unwrap().0, 200);
        }
        assert_eq!(delivery_log.counts(), Counts { done: 2, strange: 1, ..Counts::default() });
    }
}
