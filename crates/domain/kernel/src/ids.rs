use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The text is not a UUID (docs/SPECIFICATION.md#http-errors: 400 VALIDATION_ERROR).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid UUID")]
pub struct ParseIdError;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use dropin_kernel::", stringify!($name), ";")]
        ///
        #[doc = concat!("let id: ", stringify!($name), " = \"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112\".parse().unwrap();")]
        /// assert_eq!(id.to_string(), "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Gives a raw UUID its meaning.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The raw UUID, for stores and wires.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            }
        }

        #[cfg(feature = "serde")]
        crate::serialize_as_text!($name);

        impl FromStr for $name {
            type Err = ParseIdError;

            /// Accepts the hyphenated form only (RFC 9562 section 4), in either case.
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                if text.len() != 36 {
                    return Err(ParseIdError);
                }
                Uuid::try_parse(text).map(Self).map_err(|_invalid| ParseIdError)
            }
        }
    )+};
}

id! {
    /// A Session. Reaches browsers (docs/SPECIFICATION.md#random-ids), so it must be random: UUID version 4.
    SessionId,
    /// An Order (docs/SPECIFICATION.md#order-fields).
    OrderId,
    /// A stored billing profile (docs/SPECIFICATION.md#billing-profile).
    BillingProfileId,
    /// A merchant account; appears in public addresses (getRates, stash), so it is no secret.
    MerchantId,
    /// One API user of a merchant.
    ApiUserId,
    /// One webhook endpoint of a merchant.
    EndpointId,
    /// One notification; sent as `webhook-id` on every attempt.
    EventId,
    /// A refund of an Order (docs/SPECIFICATION.md#order-refund).
    RefundId,
    /// A dispute of an Order (docs/SPECIFICATION.md#disputes).
    DisputeId,
    /// One answer to a dispute; it is the processor's idempotency key.
    DisputeAnswerId,
    /// One operation at the payment processor; it is the processor's idempotency key.
    OpId,
    /// One payment: the Session it began in, the Order of a server-to-server checkout, or a contract that was opened server to server. Notifications are ordered within it.
    PaymentId,
    /// One attempt to pay, named by the shopper's browser so that repeats are recognised.
    AttemptId,
    /// One balanced transaction of the ledger.
    LedgerTransactionId,
    /// A guaranteed exchange rate for one currency (docs/SPECIFICATION.md#rate-forms).
    RateOfferId,
    /// A contract to charge a shopper's stored card again (docs/SPECIFICATION.md#contracts).
    ContractId,
    /// A person who operates the deployment by the admin panel.
    OperatorId,
    /// One session of an operator in the admin panel; public among its operator's own, for the token is something else.
    OperatorSessionId,
    /// A refund that an operator asks for, until it is made, refused or over.
    MoneyRequestId,
    /// One entry of the audit log (docs/SPECIFICATION.md#audit-log).
    AuditEntryId,
}

impl From<ContractId> for PaymentId {
    /// The stream of a contract that no Session began.
    fn from(contract: ContractId) -> Self {
        Self(contract.0)
    }
}

impl From<SessionId> for PaymentId {
    fn from(session: SessionId) -> Self {
        Self(session.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hyphenated_form_is_a_uuid() {
        let text = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        assert_eq!(text.parse::<SessionId>().map(|id| id.to_string()), Ok(text.to_owned()));
        for wrong in [
            "",
            "6f1c3b2a1d2e4f3a8b4c5d6e7f809112",
            "{6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f80911}",
            "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f80911g",
        ] {
            assert_eq!(wrong.parse::<SessionId>(), Err(ParseIdError), "{wrong}");
        }
    }
}
