//! How notifications and attempts are displayed in the log.

use std::fmt;

use dropin_kernel::EndpointId;
use dropin_notification::{AttemptOutcome, FailureClass};
use dropin_ports::Delivery;

/// A notification in the log; never its body or URL, which may hold secrets.
pub(super) struct NotificationDisplay<'a>(pub(super) &'a Delivery);

impl fmt::Display for NotificationDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Delivery { merchant_id, endpoint_id, event_id, event_type, .. } = self.0;
        write!(
            f,
            "notification {event_id} ({event_type}) to endpoint {endpoint_id} of merchant {merchant_id}, try {}",
            self.0.tries()
        )
    }
}

/// The outcome of an attempt in the log.
pub(super) struct AttemptDisplay<'a>(pub(super) &'a AttemptOutcome);

impl fmt::Display for AttemptDisplay<'_> {
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
pub(super) fn fault_note(outcome: &AttemptOutcome) -> &'static str {
    if is_own_fault(outcome) { ", which is this deployment's own fault and not the merchant's" } else { "" }
}

/// What an operator can do about a dead endpoint.
pub(super) struct RepairHint<'a> {
    pub(super) outcome: &'a AttemptOutcome,
    pub(super) endpoint: EndpointId,
}

impl fmt::Display for RepairHint<'_> {
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

/// Notifications of a dead endpoint that were parked, in the log.
pub(super) struct ParkedDisplay {
    pub(super) parked: u32,
    pub(super) endpoint: EndpointId,
}

impl fmt::Display for ParkedDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parked, endpoint } = self;
        write!(
            f,
            "gave up on {parked} {} to endpoint {endpoint}, which has been dead for all their time; when it is mended, \
             `dropin notification replay --endpoint {endpoint}` sends them again",
            if *parked == 1 { "notification" } else { "notifications" }
        )
    }
}

#[cfg(test)]
mod tests {
    use dropin_notification::DeliveryFailure;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_given_up_is_counted_in_words_that_fit() {
        let endpoint = EndpointId::new(Uuid::from_u128(7));
        for (parked, words) in [(1, "gave up on 1 notification to"), (2, "gave up on 2 notifications to")] {
            let told = ParkedDisplay { parked, endpoint }.to_string();
            assert!(told.starts_with(words), "{told}");
        }
    }

    #[test]
    fn the_merchant_is_asked_about_the_merchants_faults_only() {
        let endpoint = EndpointId::new(Uuid::from_u128(7));
        for (why, own) in
            [(DeliveryFailure::Refused, false), (DeliveryFailure::Own("the secret cannot be opened"), true)]
        {
            let outcome = AttemptOutcome::Failed { why };
            let hint = RepairHint { outcome: &outcome, endpoint }.to_string();
            assert_eq!((hint.is_empty(), fault_note(&outcome).is_empty()), (own, !own), "{why:?}: {hint}");
        }
    }

    #[test]
    fn what_was_given_up_names_the_command_for_that_endpoint() {
        let endpoint = EndpointId::new(Uuid::from_u128(7));
        let text = ParkedDisplay { parked: 200, endpoint }.to_string();
        let command = text.split('`').nth(1);
        assert_eq!(command, Some(format!("dropin notification replay --endpoint {endpoint}").as_str()), "{text}");
        assert!(text.contains("200"), "{text}");
    }
}
