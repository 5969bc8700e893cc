use std::fmt;

use dropin_kernel::coded_enum;

/// Why a try ended without a complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFailure {
    /// The address may not be called; in the words of the rule that forbids it.
    Forbidden(&'static str),
    /// The address fits into no request.
    Uncallable,
    /// No certificate can be made out to the host, so none could be checked.
    Uncertifiable,
    /// Nobody knows the host's name.
    Unresolved,
    /// The host has more addresses than anybody needs.
    TooManyAddresses,
    /// No connection stood within its time.
    ConnectLate,
    /// Nobody listens there.
    Refused,
    /// No connection came about for another reason.
    NoConnection,
    /// The receiver closed before it said anything.
    Closed,
    /// The connection broke before all was sent.
    BrokeSending,
    /// The connection broke in the head of the answer.
    BrokeAnswering,
    /// The TLS handshake was not done within its time.
    HandshakeLate,
    /// Both sides agree on no TLS, or the certificate is not believed.
    HandshakeFailed,
    /// The TLS handshake took more bytes than any needs.
    HandshakeLong,
    /// The whole try ran out of time.
    Late,
    /// What came is no HTTP.
    NotHttp,
    /// The answer ended before its announced end.
    AnswerBroke,
    /// The head of the answer has no end within its limit.
    HeadLong,
    /// Interim answers, and no end of them.
    TooManyInterim,
    /// The answer has no end within its limit, with all that is wrapped around it.
    AnswerLong,
    /// Nothing was sent, and nothing will be until the program is started again: the client that sends has stopped.
    Stopped,
    /// Nothing of it is the receiver's doing; in our own words.
    Own(&'static str),
}

coded_enum! {
    /// What kinds of failures somebody who watches tells apart, since each is looked into at another place.
    ///
    /// ```
    /// use dropin_notification::FailureClass;
    ///
    /// assert_eq!(FailureClass::Tls.as_str(), "tls");
    /// ```
    pub enum FailureClass: "class of failures" {
        /// Too slow.
        Timeout = "timeout",
        /// Nobody listens.
        Refused = "refused",
        /// The connection did not come about or broke.
        Connection = "connection",
        /// Certificates and handshakes.
        Tls = "tls",
        /// The name system.
        Name = "name",
        /// An address that is not called.
        Target = "target",
        /// An answer that is none.
        Answer = "answer",
        /// Ours.
        Internal = "internal",
    }
}

impl DeliveryFailure {
    /// Where somebody looks into it.
    pub const fn class(self) -> FailureClass {
        self.class_and_text().0
    }

    /// What went wrong, for the operator. Never an address, which may hold a secret.
    pub const fn as_str(self) -> &'static str {
        self.class_and_text().1
    }

    const fn class_and_text(self) -> (FailureClass, &'static str) {
        use FailureClass::{Answer, Connection, Internal, Name, Refused, Target, Timeout, Tls};
        match self {
            Self::Forbidden(why) => (Target, why),
            Self::Uncallable => (Target, "the webhook address cannot be called"),
            Self::Uncertifiable => (Target, "the host name cannot be in a certificate"),
            Self::Unresolved => (Name, "the host name cannot be resolved"),
            Self::TooManyAddresses => (Name, "the host name has too many addresses"),
            Self::ConnectLate => (Timeout, "no connection in time"),
            Self::Refused => (Refused, "the connection was refused"),
            Self::NoConnection => (Connection, "no connection could be made"),
            Self::Closed => (Connection, "the connection was closed without an answer"),
            Self::BrokeSending => (Connection, "the connection broke while sending"),
            Self::BrokeAnswering => (Connection, "the connection broke before the answer was complete"),
            Self::HandshakeLate => (Tls, "the TLS handshake took too long"),
            Self::HandshakeFailed => (Tls, "the TLS handshake failed; look at the certificate"),
            Self::HandshakeLong => (Tls, "the TLS handshake has too many bytes"),
            Self::Late => (Timeout, "no complete answer in time"),
            Self::NotHttp => (Answer, "the answer is not HTTP"),
            Self::AnswerBroke => (Answer, "the answer broke off"),
            Self::HeadLong => (Answer, "the head of the answer is too long"),
            Self::TooManyInterim => (Answer, "the answer is preceded by too many interim answers"),
            Self::AnswerLong => (Answer, "the answer is too long"),
            Self::Stopped => (Internal, "the webhook client has stopped"),
            Self::Own(why) => (Internal, why),
        }
    }
}

impl fmt::Display for DeliveryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_looked_into_where_it_belongs_whatever_its_words() {
        for (failure, class) in [
            (DeliveryFailure::Uncertifiable, FailureClass::Target),
            (DeliveryFailure::Uncallable, FailureClass::Target),
            (DeliveryFailure::HandshakeLate, FailureClass::Tls),
            (DeliveryFailure::TooManyAddresses, FailureClass::Name),
            (DeliveryFailure::NoConnection, FailureClass::Connection),
            (DeliveryFailure::BrokeAnswering, FailureClass::Connection),
            (DeliveryFailure::Forbidden("the TLS connection was refused in time"), FailureClass::Target),
            (DeliveryFailure::Own("no answer in time"), FailureClass::Internal),
        ] {
            assert_eq!(failure.class(), class, "{failure}");
        }
        assert_eq!(DeliveryFailure::Forbidden("as the rule says").to_string(), "as the rule says");
        assert_eq!(DeliveryFailure::Late.to_string(), "no complete answer in time");
    }
}
