/// The states of an Order (contract, Order states; decisions.md section 4 for the spelling on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderState {
    /// An attempt runs, or waits for an action outside (bank transfer).
    Processing,
    /// Money is reserved; it may be captured unless under review.
    PaymentAuthorized,
    /// Completed successfully.
    Processed,
    /// The last attempt failed.
    ProcessingFailed,
    /// By the merchant, or by time before capture.
    Cancelled,
    /// By manual fraud review.
    Declined,
    /// The pay-later provider reviews it.
    CommitAccepted,
}

impl OrderState {
    /// Every state; the CHECK constraints of both databases are tested against this list.
    pub const ALL: [Self; 7] = [
        Self::Processing,
        Self::PaymentAuthorized,
        Self::Processed,
        Self::ProcessingFailed,
        Self::Cancelled,
        Self::Declined,
        Self::CommitAccepted,
    ];

    /// The spelling on the wire and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "PROCESSING",
            Self::PaymentAuthorized => "PAYMENT_AUTHORIZED",
            Self::Processed => "PROCESSED",
            Self::ProcessingFailed => "PROCESSING_FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Declined => "DECLINED",
            Self::CommitAccepted => "COMMIT_ACCEPTED",
        }
    }

    /// Reads the stored spelling back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == code)
    }
}

/// What makes an Order change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderTrigger {
    /// An attempt to pay was started.
    Start,
    /// The processor authorized.
    Authorized,
    /// The attempt was refused.
    Refused,
    /// A capture was asked for; its amount is reserved.
    CaptureRequested,
    /// The processor captured.
    Captured,
    /// The processor refused the capture, and another try may succeed.
    CaptureRefusedForNow,
    /// The processor refused the capture for good.
    CaptureRefusedForGood,
}

impl OrderTrigger {
    /// The name kept in history rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "START",
            Self::Authorized => "AUTHORIZED",
            Self::Refused => "REFUSED",
            Self::CaptureRequested => "CAPTURE_REQUESTED",
            Self::Captured => "CAPTURED",
            Self::CaptureRefusedForNow => "CAPTURE_REFUSED_FOR_NOW",
            Self::CaptureRefusedForGood => "CAPTURE_REFUSED_FOR_GOOD",
        }
    }
}

/// A notification about an Order (contract, Events; decisions.md section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderEvent {
    /// Payment authorized.
    Authorized,
    /// Payment completed.
    Processed,
    /// The last attempt failed.
    ProcessingFailed,
}

impl OrderEvent {
    /// The EventType.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authorized => "ORDER_AUTHORIZED",
            Self::Processed => "ORDER_PROCESSED",
            Self::ProcessingFailed => "ORDER_PROCESSING_FAILED",
        }
    }
}

/// One allowed move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// `None` for the start.
    pub from: Option<OrderState>,
    /// What happens.
    pub trigger: OrderTrigger,
    /// Where it leads.
    pub to: OrderState,
    /// What the merchant is told, when the Order has been shown (an attempt that fails inside its Session is never shown).
    pub event: Option<OrderEvent>,
}

/// Every move there is (decisions.md section 4). Guards and documentation read this table.
pub const TRANSITIONS: &[Transition] = {
    use OrderState::{PaymentAuthorized, Processed, Processing, ProcessingFailed};
    use OrderTrigger::{
        Authorized, CaptureRefusedForGood, CaptureRefusedForNow, CaptureRequested, Captured, Refused, Start,
    };
    const fn row(
        from: Option<OrderState>,
        trigger: OrderTrigger,
        to: OrderState,
        event: Option<OrderEvent>,
    ) -> Transition {
        Transition { from, trigger, to, event }
    }
    &[
        row(None, Start, Processing, None),
        row(Some(Processing), Authorized, PaymentAuthorized, Some(OrderEvent::Authorized)),
        row(Some(Processing), Refused, ProcessingFailed, Some(OrderEvent::ProcessingFailed)),
        row(Some(PaymentAuthorized), CaptureRequested, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), Captured, Processed, Some(OrderEvent::Processed)),
        row(Some(PaymentAuthorized), CaptureRefusedForNow, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), CaptureRefusedForGood, ProcessingFailed, Some(OrderEvent::ProcessingFailed)),
    ]
};

/// The row of the table for `trigger` in `from`, if the move is allowed.
pub(crate) fn transition(from: OrderState, trigger: OrderTrigger) -> Option<&'static Transition> {
    TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger)
}
