//! What the log says of tries.

use std::fmt;

use dropin_notification::AttemptOutcome;
use dropin_ports::Delivery;

/// A notification in the log: never its body or address, which may hold what is nobody's business.
pub(super) struct Named<'a>(pub(super) &'a Delivery);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Delivery { merchant_id, endpoint_id, event_id, event_type, .. } = self.0;
        write!(
            f,
            "notification {event_id} ({event_type}) to endpoint {endpoint_id} of merchant {merchant_id}, try {}",
            self.0.tries()
        )
    }
}

/// What came of a try, in the log.
pub(super) struct Told<'a>(pub(super) &'a AttemptOutcome);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AttemptOutcome::Answered { status, .. } => write!(f, "answered {status}, only 200 acknowledges"),
            AttemptOutcome::Failed { why } => f.write_str(why.as_str()),
        }
    }
}
