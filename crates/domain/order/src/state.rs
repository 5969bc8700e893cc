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

    /// Whether the Order's life is over, refunds aside.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Processed | Self::ProcessingFailed | Self::Cancelled | Self::Declined)
    }
}

/// What makes an Order change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderTrigger {
    /// An attempt to pay was started.
    Start,
    /// The shopper was sent to a hosted page.
    Redirected,
    /// The processor authorized.
    Authorized,
    /// The processor authorized another amount than was asked: held for review.
    AuthorizedOtherwise,
    /// The processor was paid at once: nothing to capture (iDEAL, a transfer received in full).
    Paid,
    /// The method waits for the shopper's bank transfer.
    TransferAwaited,
    /// The pay-later provider took it into review.
    TakenIntoReview,
    /// The pay-later provider approved; the capture follows.
    ProviderApproved,
    /// The attempt was refused.
    Refused,
    /// A capture was asked for; its amount is reserved.
    CaptureRequested,
    /// Somebody was told that a capture will follow: when the review is approved, or whatever becomes of the one in flight.
    CapturePromised,
    /// The processor captured.
    Captured,
    /// The processor refused the capture, and another try may succeed.
    CaptureRefusedForNow,
    /// The processor refused the capture for good.
    CaptureRefusedForGood,
    /// The authorization, or what still waits, is about to be voided.
    VoidRequested,
    /// It was voided, because the merchant cancelled or its time was over.
    Cancelled,
    /// It was voided, because the reviewer declined.
    ReviewDeclined,
    /// The processor can no longer void it.
    VoidRefused,
    /// The reviewer approved.
    ReviewApproved,
    /// The processor reports another amount than was asked: held for review.
    AmountDiffers,
    /// A refund was asked for; its amount is reserved.
    RefundRequested,
    /// The processor gave money back.
    RefundSucceeded,
    /// The processor refused the refund.
    RefundFailed,
}

impl OrderTrigger {
    /// The name kept in history rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "START",
            Self::Redirected => "REDIRECTED",
            Self::Authorized => "AUTHORIZED",
            Self::AuthorizedOtherwise => "AUTHORIZED_OTHERWISE",
            Self::Paid => "PAID",
            Self::TransferAwaited => "TRANSFER_AWAITED",
            Self::TakenIntoReview => "TAKEN_INTO_REVIEW",
            Self::ProviderApproved => "PROVIDER_APPROVED",
            Self::Refused => "REFUSED",
            Self::CaptureRequested => "CAPTURE_REQUESTED",
            Self::CapturePromised => "CAPTURE_PROMISED",
            Self::Captured => "CAPTURED",
            Self::CaptureRefusedForNow => "CAPTURE_REFUSED_FOR_NOW",
            Self::CaptureRefusedForGood => "CAPTURE_REFUSED_FOR_GOOD",
            Self::VoidRequested => "VOID_REQUESTED",
            Self::Cancelled => "CANCELLED",
            Self::ReviewDeclined => "REVIEW_DECLINED",
            Self::VoidRefused => "VOID_REFUSED",
            Self::ReviewApproved => "REVIEW_APPROVED",
            Self::AmountDiffers => "AMOUNT_DIFFERS",
            Self::RefundRequested => "REFUND_REQUESTED",
            Self::RefundSucceeded => "REFUND_SUCCEEDED",
            Self::RefundFailed => "REFUND_FAILED",
        }
    }
}

/// A notification about an Order (contract, Events; decisions.md section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderEvent {
    /// It still waits for something outside (bank transfer).
    Processing,
    /// Payment authorized.
    Authorized,
    /// The pay-later provider reviews it.
    CommitAccepted,
    /// Payment completed.
    Processed,
    /// The last attempt failed.
    ProcessingFailed,
    /// By the merchant, or by time.
    Cancelled,
    /// The reviewer approved.
    ReviewApproved,
    /// The reviewer declined.
    Declined,
    /// A refund was made; carries the refund.
    RefundSucceeded,
    /// A refund was refused; carries the refund.
    RefundFailed,
}

impl OrderEvent {
    /// Every event.
    pub const ALL: [Self; 10] = [
        Self::Processing,
        Self::Authorized,
        Self::CommitAccepted,
        Self::Processed,
        Self::ProcessingFailed,
        Self::Cancelled,
        Self::ReviewApproved,
        Self::Declined,
        Self::RefundSucceeded,
        Self::RefundFailed,
    ];

    /// The EventType.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "ORDER_PROCESSING",
            Self::Authorized => "ORDER_AUTHORIZED",
            Self::CommitAccepted => "ORDER_COMMIT_ACCEPTED",
            Self::Processed => "ORDER_PROCESSED",
            Self::ProcessingFailed => "ORDER_PROCESSING_FAILED",
            Self::Cancelled => "ORDER_CANCELLED",
            Self::ReviewApproved => "ORDER_REVIEW_APPROVED",
            Self::Declined => "ORDER_DECLINED",
            Self::RefundSucceeded => "REFUND_SUCCEEDED",
            Self::RefundFailed => "REFUND_FAILED",
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
    use OrderEvent as E;
    use OrderState::{Cancelled, CommitAccepted, Declined, PaymentAuthorized, Processed, Processing, ProcessingFailed};
    use OrderTrigger as T;
    const fn row(
        from: Option<OrderState>,
        trigger: OrderTrigger,
        to: OrderState,
        event: Option<OrderEvent>,
    ) -> Transition {
        Transition { from, trigger, to, event }
    }
    &[
        row(None, T::Start, Processing, None),
        row(Some(Processing), T::Redirected, Processing, None),
        row(Some(Processing), T::Authorized, PaymentAuthorized, Some(E::Authorized)),
        row(Some(Processing), T::AuthorizedOtherwise, PaymentAuthorized, Some(E::Authorized)),
        row(Some(Processing), T::TransferAwaited, Processing, Some(E::Processing)),
        row(Some(Processing), T::Paid, Processed, Some(E::Processed)),
        row(Some(Processing), T::TakenIntoReview, CommitAccepted, Some(E::CommitAccepted)),
        row(Some(Processing), T::Refused, ProcessingFailed, Some(E::ProcessingFailed)),
        row(Some(Processing), T::AmountDiffers, Processing, None),
        row(Some(Processing), T::VoidRequested, Processing, None),
        row(Some(Processing), T::VoidRefused, Processing, None),
        row(Some(Processing), T::Cancelled, Cancelled, Some(E::Cancelled)),
        row(Some(CommitAccepted), T::ProviderApproved, CommitAccepted, None),
        row(Some(CommitAccepted), T::AmountDiffers, CommitAccepted, None),
        row(Some(CommitAccepted), T::CapturePromised, CommitAccepted, None),
        row(Some(CommitAccepted), T::CaptureRequested, CommitAccepted, None),
        row(Some(CommitAccepted), T::Captured, Processed, Some(E::Processed)),
        row(Some(CommitAccepted), T::CaptureRefusedForGood, ProcessingFailed, Some(E::ProcessingFailed)),
        row(Some(CommitAccepted), T::Refused, ProcessingFailed, Some(E::ProcessingFailed)),
        row(Some(CommitAccepted), T::VoidRequested, CommitAccepted, None),
        row(Some(CommitAccepted), T::VoidRefused, CommitAccepted, None),
        row(Some(CommitAccepted), T::Cancelled, Cancelled, Some(E::Cancelled)),
        row(Some(PaymentAuthorized), T::CaptureRequested, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), T::CapturePromised, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), T::Captured, Processed, Some(E::Processed)),
        row(Some(PaymentAuthorized), T::CaptureRefusedForNow, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), T::CaptureRefusedForGood, ProcessingFailed, Some(E::ProcessingFailed)),
        row(Some(PaymentAuthorized), T::AmountDiffers, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), T::VoidRequested, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), T::VoidRefused, PaymentAuthorized, None),
        row(Some(PaymentAuthorized), T::Cancelled, Cancelled, Some(E::Cancelled)),
        row(Some(PaymentAuthorized), T::ReviewApproved, PaymentAuthorized, Some(E::ReviewApproved)),
        row(Some(PaymentAuthorized), T::ReviewDeclined, Declined, Some(E::Declined)),
        row(Some(Processed), T::VoidRefused, Processed, None),
        row(Some(Processed), T::AmountDiffers, Processed, None),
        row(Some(Processed), T::RefundRequested, Processed, None),
        row(Some(Processed), T::RefundSucceeded, Processed, Some(E::RefundSucceeded)),
        row(Some(Processed), T::RefundFailed, Processed, Some(E::RefundFailed)),
    ]
};

/// The row of the table for `trigger` in `from`, if the move is allowed.
pub(crate) fn transition(from: OrderState, trigger: OrderTrigger) -> Option<&'static Transition> {
    TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger)
}
