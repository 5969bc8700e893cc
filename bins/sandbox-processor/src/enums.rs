//! Enumerations that are one fixed word each, in JSON and in the store alike.

/// Writes a type with `word` and `from_word` as that word, by serde and diesel.
macro_rules! written_as_word {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl diesel::serialize::ToSql<diesel::sql_types::Text, diesel::sqlite::Sqlite> for $name {
            fn to_sql<'b>(
                &'b self,
                out: &mut diesel::serialize::Output<'b, '_, diesel::sqlite::Sqlite>,
            ) -> diesel::serialize::Result {
                out.set_value(self.word());
                Ok(diesel::serialize::IsNull::No)
            }
        }

        impl diesel::deserialize::FromSql<diesel::sql_types::Text, diesel::sqlite::Sqlite> for $name {
            fn from_sql(
                value: <diesel::sqlite::Sqlite as diesel::backend::Backend>::RawValue<'_>,
            ) -> diesel::deserialize::Result<Self> {
                let word: String =
                    diesel::deserialize::FromSql::<diesel::sql_types::Text, diesel::sqlite::Sqlite>::from_sql(value)?;
                Self::from_word(&word).ok_or_else(|| concat!("the store holds an unknown ", stringify!($name)).into())
            }
        }
    };
}

/// Declares an enumeration whose variants are written as fixed words by serde and diesel.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, diesel::expression::AsExpression, diesel::deserialize::FromSqlRow)]
        #[diesel(sql_type = diesel::sql_types::Text)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The word.
            pub(crate) const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The variant of a word.
            pub(crate) fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        written_as_word!($name);
    };
}

words! {
    /// What a call asks for.
    Kind {
        /// Reserve money on a card, or by another [`Method`].
        Authorize = "AUTHORIZE",
        /// Take what was authorized, or a part of it, once.
        Capture = "CAPTURE",
        /// Give an authorization up.
        Void = "VOID",
        /// Pay captured money back.
        Refund = "REFUND",
    }
}

words! {
    /// What became of an operation. All but `Pending` are final.
    Outcome {
        /// Done.
        Approved = "APPROVED",
        /// Not done, for a [`Reason`].
        Declined = "DECLINED",
        /// Being done; its amount is reserved.
        Pending = "PENDING",
        /// Given up by the caller before it arrived; the key is refused for ever.
        Abandoned = "ABANDONED",
    }
}

words! {
    /// A scheme that a co-badged card may be paid by.
    CardScheme {
        /// Visa.
        Visa = "VISA",
        /// Mastercard.
        Mastercard = "MC",
        /// Cartes Bancaires.
        CartesBancaires = "CB",
    }
}

impl CardScheme {
    /// As people call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Visa => "Visa",
            Self::Mastercard => "Mastercard",
            Self::CartesBancaires => "Cartes Bancaires",
        }
    }
}

words! {
    /// Why an operation was declined.
    Reason {
        /// The issuer gives no reason.
        GenericDecline = "GENERIC_DECLINE",
        /// Not enough money.
        InsufficientFunds = "INSUFFICIENT_FUNDS",
        /// The issuer forbids to try the card again.
        DoNotTryAgain = "DO_NOT_TRY_AGAIN",
        /// Not a published test number, or a code of the wrong length for it.
        InvalidCard = "INVALID_CARD",
        /// The card's last month is over.
        ExpiredCard = "EXPIRED_CARD",
        /// The processor does not capture this authorization.
        CaptureRefused = "CAPTURE_REFUSED",
        /// The issuer does not take the refund.
        RefundRefused = "REFUND_REFUSED",
        /// More than what is left of the authorized or the captured amount.
        AmountTooLarge = "AMOUNT_TOO_LARGE",
        /// Another currency than the authorization's.
        CurrencyMismatch = "CURRENCY_MISMATCH",
        /// The key names no approved authorization.
        NotAuthorized = "NOT_AUTHORIZED",
        /// Nothing was captured that could be refunded.
        NotCaptured = "NOT_CAPTURED",
        /// The authorization was captured, or is being captured.
        AlreadyCaptured = "ALREADY_CAPTURED",
        /// The authorization was voided.
        AlreadyVoided = "ALREADY_VOIDED",
        /// The shopper failed the bank's challenge (3-D Secure).
        AuthenticationFailed = "AUTHENTICATION_FAILED",
        /// The shopper pressed cancel on a hosted page.
        Cancelled = "CANCELLED",
        /// The page was not used, or the money did not arrive, in time.
        Expired = "EXPIRED",
        /// The pay-later provider looked at the payment and refused it.
        ReviewDeclined = "REVIEW_DECLINED",
        /// The caller voided the authorization while it was pending.
        Voided = "VOIDED",
        /// The caller abandoned the authorization while its page waited for the shopper.
        PageClosed = "PAGE_CLOSED",
        /// The issuer wants the shopper to authenticate, and there is nobody to send to its page.
        AuthenticationRequired = "AUTHENTICATION_REQUIRED",
        /// The merchant has no such credential, or it was deleted.
        InvalidCredential = "INVALID_CREDENTIAL",
        /// The card was stored for something else.
        UseNotAgreed = "USE_NOT_AGREED",
        /// A merchant-initiated payment names no payment in which the shopper agreed.
        TransactionIdMismatch = "TRANSACTION_ID_MISMATCH",
    }
}

/// How the shopper pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, diesel::expression::AsExpression, diesel::deserialize::FromSqlRow)]
#[diesel(sql_type = diesel::sql_types::Text)]
pub(crate) enum Method {
    /// A card's number.
    Card,
    /// A wallet on a hosted page; authorized, then captured.
    Paypal,
    /// The shopper's bank on a hosted page; paid when approved.
    Ideal,
    /// A lender on a hosted page, which may look at the payment first; authorized, then captured.
    PayLater,
    /// A transfer that the shopper makes by hand; paid when all of it has arrived.
    BankTransfer,
    /// A method of the caller's own on a hosted page; authorized, then captured.
    Own(OwnMethod),
}

/// The id of a method that is none of the sandbox's: 1 to 32 of `A`-`Z` and `0`-`9`, with zeros behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnMethod([u8; Self::MAX_BYTES]);

impl OwnMethod {
    const MAX_BYTES: usize = 32;

    fn parse(id: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let is_id = (1..=Self::MAX_BYTES).contains(&id.len()) && id.bytes().all(fits);
        is_id.then(|| {
            let mut bytes = [0; Self::MAX_BYTES];
            bytes[..id.len()].copy_from_slice(id.as_bytes());
            Self(bytes)
        })
    }

    fn as_str(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(Self::MAX_BYTES);
        // `parse` takes ASCII alone.
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }
}

impl Method {
    /// The id in calls and answers.
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Card => "CARD",
            Self::Paypal => "PAYPAL",
            Self::Ideal => "IDEAL",
            Self::PayLater => "PAYLATER",
            Self::BankTransfer => "BANKTRANSFER",
            Self::Own(own) => own.as_str(),
        }
    }

    /// The method with this id; none for a text that is no id.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "CARD" => Some(Self::Card),
            "PAYPAL" => Some(Self::Paypal),
            "IDEAL" => Some(Self::Ideal),
            "PAYLATER" => Some(Self::PayLater),
            "BANKTRANSFER" => Some(Self::BankTransfer),
            own => OwnMethod::parse(own).map(Self::Own),
        }
    }

    /// Whether the money is there when the authorization is approved, so that there is nothing to capture.
    pub(crate) const fn pays_at_once(self) -> bool {
        matches!(self, Self::Ideal | Self::BankTransfer)
    }
}

written_as_word!(Method);

words! {
    /// What a card is stored for.
    CredentialKind {
        /// The shopper pays with it again.
        OneClick = "ONE_CLICK",
        /// The merchant charges it at a regular interval.
        Recurring = "RECURRING",
        /// The merchant charges it at no fixed time.
        Unscheduled = "UNSCHEDULED",
    }
}

words! {
    /// What a payment does with a stored credential. It tells who begins the payment.
    CredentialUse {
        /// The shopper authenticates anew.
        First = "FIRST",
        /// The shopper pays again.
        OneClick = "ONE_CLICK",
        /// The merchant charges at a regular interval.
        Recurring = "RECURRING",
        /// The merchant charges at no fixed time.
        Unscheduled = "UNSCHEDULED",
    }
}

impl CredentialUse {
    /// Whether the merchant begins the payment while the shopper is away.
    pub(crate) const fn is_by_merchant(self) -> bool {
        matches!(self, Self::Recurring | Self::Unscheduled)
    }

    /// Whether the shopper agreed to it when the card was stored for `kind`.
    pub(crate) const fn is_agreed(self, kind: CredentialKind) -> bool {
        matches!(
            (self, kind),
            (Self::First, _)
                | (Self::OneClick, CredentialKind::OneClick)
                | (Self::Recurring, CredentialKind::Recurring)
                | (Self::Unscheduled, CredentialKind::Unscheduled)
        )
    }
}

words! {
    /// Why the shopper need not authenticate.
    Exemption {
        /// The merchant begins the payment.
        MerchantInitiated = "MERCHANT_INITIATED",
        /// The issuer is where nobody has to.
        OneLegOut = "ONE_LEG_OUT",
        /// The amount is low.
        LowValue = "LOW_VALUE",
        /// The acquirer's rate of fraud is low.
        TransactionRiskAnalysis = "TRANSACTION_RISK_ANALYSIS",
    }
}

words! {
    /// What a pending authorization waits for.
    Stage {
        /// The shopper, on the hosted page.
        Page = "PAGE",
        /// The provider, which looks at the payment.
        Review = "REVIEW",
        /// Money.
        Transfer = "TRANSFER",
    }
}

words! {
    /// A button on a hosted page.
    Choice {
        /// The challenge succeeds.
        Succeed = "succeed",
        /// The challenge fails.
        Fail = "fail",
        /// Pay.
        Pay = "pay",
        /// The pay-later provider agrees.
        Approve = "approve",
        /// The pay-later provider looks at it first.
        Review = "review",
        /// The shopper gives up.
        Cancel = "cancel",
        /// Money has arrived.
        Arrived = "arrived",
    }
}

words! {
    /// What a fault switch can hit.
    Call {
        /// An authorization.
        Authorize = "AUTHORIZE",
        /// A capture.
        Capture = "CAPTURE",
        /// A void.
        Void = "VOID",
        /// A refund.
        Refund = "REFUND",
        /// A button on a hosted page.
        Page = "PAGE",
        /// The decision of a review.
        Review = "REVIEW",
        /// The deletion of a stored credential.
        Credential = "CREDENTIAL",
        /// An answer to a dispute.
        Dispute = "DISPUTE",
    }
}

words! {
    /// Where a dispute stands.
    DisputeState {
        /// It takes an answer.
        NeedsResponse = "NEEDS_RESPONSE",
        /// The bank looks at the evidence.
        UnderReview = "UNDER_REVIEW",
        /// Decided for the merchant.
        Won = "WON",
        /// Decided for the shopper.
        Lost = "LOST",
        /// The merchant accepted it.
        Accepted = "ACCEPTED",
    }
}

impl From<Kind> for Call {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Authorize => Self::Authorize,
            Kind::Capture => Self::Capture,
            Kind::Void => Self::Void,
            Kind::Refund => Self::Refund,
        }
    }
}

words! {
    /// How an approved authorization will behave, by its card's number.
    Scenario {
        /// Everything is approved at once.
        Plain = "PLAIN",
        /// A capture is pending first.
        PendingCapture = "PENDING_CAPTURE",
        /// A capture is declined for good.
        RefusedCapture = "REFUSED_CAPTURE",
        /// A refund is pending first, then approved.
        PendingRefund = "PENDING_REFUND",
        /// A refund is pending first, then declined.
        FailingRefund = "FAILING_REFUND",
        /// The authorization's answer was lost; everything later is plain.
        LostAnswer = "LOST_ANSWER",
        /// What was captured is disputed a little later.
        Disputed = "DISPUTED",
    }
}
