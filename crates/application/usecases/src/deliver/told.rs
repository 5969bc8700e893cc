//! What the log says of tries.

use std::fmt;

use dropin_kernel::EndpointId;
use dropin_notification::{AttemptOutcome, FailureClass};
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

/// Whether this deployment itself is at fault, and nothing the merchant does helps.
fn is_own_fault(outcome: &AttemptOutcome) -> bool {
    matches!(outcome, AttemptOutcome::Failed { why } if why.class() == FailureClass::Internal)
}

/// What the log adds to an outcome that is not the endpoint's fault.
pub(super) fn whose_fault(outcome: &AttemptOutcome) -> &'static str {
    if is_own_fault(outcome) { ", which is this deployment's own fault and not the merchant's" } else { "" }
}

/// What the log adds for whoever can mend a dead endpoint with the merchant.
pub(super) struct MendedBy<'a> {
    pub(super) outcome: &'a AttemptOutcome,
    pub(super) endpoint: EndpointId,
}

impl fmt::Display for MendedBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outcome, endpoint } = self;
        if is_own_fault(outcome) {
            return Ok(());
        }
        write!(
            f,
            ". Ask the merchant; `dropin merchant endpoint set {endpoint} --url URL` moves it, \
             `dropin merchant endpoint remove {endpoint}` ends it"
        )
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
    use dropin_notification::Failure;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_merchant_is_asked_about_the_merchants_faults_only() {
        let endpoint = EndpointId::new(Uuid::from_u128(7));
        for (why, own) in [(Failure::Refused, false), (Failure::Own("the secret cannot be opened"), true)] {
            let outcome = AttemptOutcome::Failed { why };
            let mended_by = MendedBy { outcome: &outcome, endpoint }.to_string();
            assert_eq!((mended_by.is_empty(), whose_fault(&outcome).is_empty()), (own, !own), "{why:?}: {mended_by}");
        }
    }

    #[test]
    fn what_was_given_up_names_the_command_for_that_endpoint() {
        let endpoint = EndpointId::new(Uuid::from_u128(7));
        let told = GivenUp { parked: 200, endpoint }.to_string();
        let command = told.split('`').nth(1);
        assert_eq!(command, Some(format!("dropin notification replay --endpoint {endpoint}").as_str()), "{told}");
        assert!(told.contains("200"), "{told}");
    }
}
