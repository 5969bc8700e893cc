use dropin_kernel::coded_enum;
coded_enum! {
    /// The states of an Order (docs/SPECIFICATION.md#order-states).
    pub enum OrderState: "Order state" {
        /// An attempt runs, or waits for an action outside (bank transfer).
        Processing = "PROCESSING",
        /// Money is reserved; it may be captured unless under review.
        PaymentAuthorized = "PAYMENT_AUTHORIZED",
        /// Completed successfully.
        Processed = "PROCESSED",
        /// The last attempt failed.
        ProcessingFailed = "PROCESSING_FAILED",
        /// By the merchant, or by time before capture.
        Cancelled = "CANCELLED",
        /// By manual fraud review.
        Declined = "DECLINED",
        /// The pay-later provider reviews it.
        CommitAccepted = "COMMIT_ACCEPTED",
    }
}

impl OrderState {
    /// Whether the Order's life is over, refunds aside.
    ///
    /// ```
    /// use dropin_order::OrderState;
    ///
    /// assert!(OrderState::Processed.is_final() && !OrderState::PaymentAuthorized.is_final());
    /// ```
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Processed | Self::ProcessingFailed | Self::Cancelled | Self::Declined)
    }
}

coded_enum! {
    /// What makes an Order change.
    #[non_exhaustive]
    pub enum OrderTrigger: "Order trigger" {
        /// An attempt to pay was started.
        Start = "START",
        /// The shopper was sent to a hosted page.
        Redirected = "REDIRECTED",
        /// The processor authorized.
        Authorized = "AUTHORIZED",
        /// The processor authorized another amount than was asked: held for review.
        AuthorizedOtherwise = "AUTHORIZED_OTHERWISE",
        /// What the shopper had to transfer has arrived: there is nothing to capture.
        Paid = "PAID",
        /// The method waits for the shopper's bank transfer.
        TransferAwaited = "TRANSFER_AWAITED",
        /// The pay-later provider took it into review.
        TakenIntoReview = "TAKEN_INTO_REVIEW",
        /// The pay-later provider approved: the money is reserved.
        ProviderApproved = "PROVIDER_APPROVED",
        /// The attempt was refused.
        Refused = "REFUSED",
        /// A capture was asked for; its amount is reserved.
        CaptureRequested = "CAPTURE_REQUESTED",
        /// Somebody was told that a capture will follow: when the review is approved, or whatever becomes of the one in flight.
        CapturePromised = "CAPTURE_PROMISED",
        /// The processor captured.
        Captured = "CAPTURED",
        /// The processor refused the capture, and another try may succeed.
        CaptureRefusedForNow = "CAPTURE_REFUSED_FOR_NOW",
        /// The processor refused the capture for good.
        CaptureRefusedForGood = "CAPTURE_REFUSED_FOR_GOOD",
        /// The authorization, or what still waits, is about to be voided.
        VoidRequested = "VOID_REQUESTED",
        /// It was voided, because the merchant cancelled or its time was over.
        Cancelled = "CANCELLED",
        /// It was voided, because the reviewer declined.
        ReviewDeclined = "REVIEW_DECLINED",
        /// The processor can no longer void it.
        VoidRefused = "VOID_REFUSED",
        /// The reviewer approved.
        ReviewApproved = "REVIEW_APPROVED",
        /// The processor reports another amount than was asked: held for review.
        AmountDiffers = "AMOUNT_DIFFERS",
        /// A refund was asked for; its amount is reserved.
        RefundRequested = "REFUND_REQUESTED",
        /// The processor gave money back.
        RefundSucceeded = "REFUND_SUCCEEDED",
        /// The processor refused the refund.
        RefundFailed = "REFUND_FAILED",
        /// The shopper's bank took money back, until the dispute is decided.
        DisputeOpened = "DISPUTE_OPENED",
        /// The dispute waits for the bank's decision.
        DisputeUpdated = "DISPUTE_UPDATED",
        /// The dispute was won, lost or accepted.
        DisputeClosed = "DISPUTE_CLOSED",
        /// The processor authorized after the Order's life was over: voided at once.
        AuthorizedLate = "AUTHORIZED_LATE",
        /// What was authorized after the Order's life was over is released.
        VoidedLate = "VOIDED_LATE",
        /// The processor took the money after the Order's life was over: all of it is given back.
        PaidLate = "PAID_LATE",
        /// What was taken after the Order's life was over was given back.
        RefundedLate = "REFUNDED_LATE",
    }
}

coded_enum! {
    /// A notification about an Order (docs/SPECIFICATION.md#event-types).
    pub enum OrderEvent: "Order event" {
        /// It still waits for something outside (bank transfer).
        Processing = "ORDER_PROCESSING",
        /// Payment authorized.
        Authorized = "ORDER_AUTHORIZED",
        /// The pay-later provider reviews it.
        CommitAccepted = "ORDER_COMMIT_ACCEPTED",
        /// Payment completed.
        Processed = "ORDER_PROCESSED",
        /// The last attempt failed.
        ProcessingFailed = "ORDER_PROCESSING_FAILED",
        /// By the merchant, or by time.
        Cancelled = "ORDER_CANCELLED",
        /// The reviewer approved.
        ReviewApproved = "ORDER_REVIEW_APPROVED",
        /// The reviewer declined.
        Declined = "ORDER_DECLINED",
        /// A refund was made; carries the refund.
        RefundSucceeded = "REFUND_SUCCEEDED",
        /// A refund was refused; carries the refund.
        RefundFailed = "REFUND_FAILED",
        /// A dispute was opened; carries the dispute.
        DisputeOpened = "DISPUTE_OPENED",
        /// A dispute waits for the bank's decision; carries the dispute.
        DisputeUpdated = "DISPUTE_UPDATED",
        /// A dispute was won, lost or accepted; carries the dispute.
        DisputeClosed = "DISPUTE_CLOSED",
    }
}

/// One allowed move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderTransition {
    /// `None` for the start.
    pub from: Option<OrderState>,
    /// What happens.
    pub trigger: OrderTrigger,
    /// Where it leads.
    pub to: OrderState,
    /// What the merchant is told, when the Order has been shown (an attempt that fails inside its Session is never shown).
    pub event: Option<OrderEvent>,
}

/// Every move there is (docs/SPECIFICATION.md#order-transitions). Guards and documentation read this table.
///
/// ```
/// use dropin_order::{OrderState, OrderTrigger, TRANSITIONS};
///
/// let captured = TRANSITIONS.iter().find(|row| row.trigger == OrderTrigger::Captured && row.from == Some(OrderState::PaymentAuthorized));
/// assert_eq!(captured.map(|row| row.to), Some(OrderState::Processed));
/// ```
pub const TRANSITIONS: &[OrderTransition] = {
    use OrderEvent as E;
    use OrderState::{Cancelled, CommitAccepted, Declined, PaymentAuthorized, Processed, Processing, ProcessingFailed};
    use OrderTrigger as T;
    const fn row(
        from: Option<OrderState>,
        trigger: OrderTrigger,
        to: OrderState,
        event: Option<OrderEvent>,
    ) -> OrderTransition {
        OrderTransition { from, trigger, to, event }
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
        row(Some(CommitAccepted), T::ProviderApproved, PaymentAuthorized, Some(E::Authorized)),
        row(Some(CommitAccepted), T::AmountDiffers, CommitAccepted, None),
        row(Some(CommitAccepted), T::CapturePromised, CommitAccepted, None),
        // Programs of before 2026-11-22 captured in this state; what they left open ends as it would have.
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
        row(Some(ProcessingFailed), T::AuthorizedLate, ProcessingFailed, None),
        row(Some(ProcessingFailed), T::VoidedLate, ProcessingFailed, None),
        row(Some(ProcessingFailed), T::PaidLate, ProcessingFailed, None),
        row(Some(ProcessingFailed), T::RefundedLate, ProcessingFailed, None),
        row(Some(ProcessingFailed), T::DisputeOpened, ProcessingFailed, Some(E::DisputeOpened)),
        row(Some(ProcessingFailed), T::DisputeUpdated, ProcessingFailed, Some(E::DisputeUpdated)),
        row(Some(ProcessingFailed), T::DisputeClosed, ProcessingFailed, Some(E::DisputeClosed)),
        row(Some(Cancelled), T::AuthorizedLate, Cancelled, None),
        row(Some(Cancelled), T::VoidedLate, Cancelled, None),
        row(Some(Cancelled), T::PaidLate, Cancelled, None),
        row(Some(Cancelled), T::RefundedLate, Cancelled, None),
        row(Some(Cancelled), T::DisputeOpened, Cancelled, Some(E::DisputeOpened)),
        row(Some(Cancelled), T::DisputeUpdated, Cancelled, Some(E::DisputeUpdated)),
        row(Some(Cancelled), T::DisputeClosed, Cancelled, Some(E::DisputeClosed)),
        row(Some(Processed), T::VoidRefused, Processed, None),
        row(Some(Processed), T::AmountDiffers, Processed, None),
        row(Some(Processed), T::RefundRequested, Processed, None),
        row(Some(Processed), T::RefundSucceeded, Processed, Some(E::RefundSucceeded)),
        row(Some(Processed), T::RefundFailed, Processed, Some(E::RefundFailed)),
        row(Some(Processed), T::DisputeOpened, Processed, Some(E::DisputeOpened)),
        row(Some(Processed), T::DisputeUpdated, Processed, Some(E::DisputeUpdated)),
        row(Some(Processed), T::DisputeClosed, Processed, Some(E::DisputeClosed)),
    ]
};

/// The row of the table for `trigger` in `from`, if the move is allowed.
pub(crate) fn transition(from: OrderState, trigger: OrderTrigger) -> Option<&'static OrderTransition> {
    TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger)
}
