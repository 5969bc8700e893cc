//! What the log says of tries.

use std::fmt;

use dropin_kernel::EndpointId;
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

/// Notifications that a dead endpoint never got in time, in the log.
pub(super) struct GivenUp {
    pub(super) parked: u32,
    pub(super) endpoint: EndpointId,
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parked, endpoint } = self;
        write!(
            f,
            "given up {parked} notifications to endpoint {endpoint}, which has been dead for all their time; when it is mended, \
             `dropin notification replay --endpoint {endpoint}` sends them again"
        )
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_was_given_up_names_the_command_for_that_endpoint() {
        let endpoint = EndpointId::new(Uuid::from_u128(7));
        let told = GivenUp { parked: 200, endpoint }.to_string();
        let command = told.split('`').nth(1);
        assert_eq!(command, Some(format!("dropin notification replay --endpoint {endpoint}").as_str()), "{told}");
        assert!(told.contains("200"), "{told}");
    }
}
