use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use dropin_contract::{CardSummary, ContractKind, Initiator, NetworkTransactionId, PaymentMark};
use dropin_kernel::{MerchantId, OpId, Timestamp};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The longest [`StoredCredential`], in bytes.
pub const MAX_STORED_CREDENTIAL_BYTES: usize = 255;

/// What a processor gave in place of a card, to charge it again: a customer and a payment method of it, or one token, as its adapter writes it.
///
/// Whoever has it and the deployment's key charges the card. So it has no Display, Debug shows nothing of it, it is wiped when dropped, and at rest it is
/// sealed. 1 to [`MAX_STORED_CREDENTIAL_BYTES`] printable ASCII characters without a space.
///
/// ```
/// use dropin_ports::StoredCredential;
///
/// let credential: StoredCredential = "cus_9/pm_7".parse().unwrap();
/// assert_eq!((credential.expose(), format!("{credential:?}").as_str()), ("cus_9/pm_7", "StoredCredential(..)"));
/// assert!("two words".parse::<StoredCredential>().is_err());
/// ```
///
/// ```compile_fail,E0599
/// "cus_9/pm_7".parse::<dropin_ports::StoredCredential>().unwrap().to_string();
/// ```
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct StoredCredential(String);

/// The text is no [`StoredCredential`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_STORED_CREDENTIAL_BYTES} printable ASCII characters without a space")]
pub struct InvalidStoredCredential;

impl StoredCredential {
    /// The text. For the ring that seals it and the processor's adapter only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for StoredCredential {
    type Err = InvalidStoredCredential;

    /// Reads the exact text: nothing is trimmed.
    fn from_str(text: &str) -> Result<Self, InvalidStoredCredential> {
        let fits = (1..=MAX_STORED_CREDENTIAL_BYTES).contains(&text.len());
        let is_visible = fits && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_visible.then(|| Self(text.to_owned())).ok_or(InvalidStoredCredential)
    }
}

impl fmt::Debug for StoredCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredCredential(..)")
    }
}

/// The code of a stored card, typed again by the shopper: 3 or 4 digits. It is used once, kept nowhere and wiped when dropped.
///
/// ```
/// use dropin_ports::VerificationCode;
///
/// let code: VerificationCode = "123".parse().unwrap();
/// assert_eq!(format!("{code:?}"), "VerificationCode(..)");
/// assert!("12".parse::<VerificationCode>().is_err());
/// ```
#[derive(PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct VerificationCode(String);

/// The text is no [`VerificationCode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 3 or 4 digits")]
pub struct InvalidVerificationCode;

impl VerificationCode {
    /// The digits. For the processor's adapter only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for VerificationCode {
    type Err = InvalidVerificationCode;

    fn from_str(text: &str) -> Result<Self, InvalidVerificationCode> {
        let is_code = (3..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_code.then(|| Self(text.to_owned())).ok_or(InvalidVerificationCode)
    }
}

impl fmt::Debug for VerificationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerificationCode(..)")
    }
}

/// A payment with a stored card. The merchant's own carry no code: a shopper who is away types none.
#[derive(Debug)]
pub struct StoredCredentialPayment {
    credential: StoredCredential,
    mark: PaymentMark,
    verification_code: Option<VerificationCode>,
}

impl StoredCredentialPayment {
    /// By `credential`, marked as its contract planned it.
    pub const fn new(credential: StoredCredential, mark: PaymentMark) -> Self {
        Self { credential, mark, verification_code: None }
    }

    /// With the code that the shopper typed; dropped where the merchant begins the payment.
    ///
    /// ```
    /// use dropin_contract::{PaymentMark, StoredCredentialUse};
    /// use dropin_ports::StoredCredentialPayment;
    ///
    /// let pay = |mark| {
    ///     StoredCredentialPayment::new("pm_7".parse().unwrap(), mark).with_verification_code("123".parse().unwrap())
    /// };
    /// assert!(pay(PaymentMark::FIRST).verification_code().is_some());
    ///
    /// let recurring = PaymentMark { credential_use: StoredCredentialUse::Recurring, network_transaction_id: None };
    /// assert!(pay(recurring).verification_code().is_none());
    /// ```
    #[must_use]
    pub fn with_verification_code(self, code: VerificationCode) -> Self {
        let verification_code = (self.mark.initiator() == Initiator::Customer).then_some(code);
        Self { verification_code, ..self }
    }

    /// What is paid with.
    pub const fn credential(&self) -> &StoredCredential {
        &self.credential
    }

    /// Who begins it, and what the shopper agreed to.
    pub const fn mark(&self) -> &PaymentMark {
        &self.mark
    }

    /// The code, where the shopper typed it.
    pub const fn verification_code(&self) -> Option<&VerificationCode> {
        self.verification_code.as_ref()
    }
}

/// What an approval says of a stored card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialApproval {
    /// What the card is charged by from now on; `None` where nothing was to be stored, and after it was deleted.
    pub stored: Option<StoredCredential>,
    /// The card as the processor knows it now, which may be a newer one than before.
    pub card: Option<CardSummary>,
    /// The card network's id of this payment; `None` where the processor keeps it for itself.
    pub network_transaction_id: Option<NetworkTransactionId>,
}

/// The end of a stored credential to ask for.
#[derive(Debug, Clone)]
pub struct DeleteCredentialRequest {
    /// For the processor's client; what follows from it is the same when it is asked again, with this key or another.
    pub key: OpId,
    /// Whose shopper's card it is: merchants share the way to the processor fairly.
    pub merchant_id: MerchantId,
    /// The credential.
    pub credential: StoredCredential,
}

/// What came of deleting a stored credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialDeletion {
    /// It cannot be charged any more: it was deleted now or before, or never was the merchant's.
    Gone,
    /// Nobody knows. Ask again.
    Unknown {
        /// For the log.
        why: String,
    },
    /// Surely never sent. Ask again.
    NotSent,
}

/// Where a page of [`StoredCredentialList`] ended, in the processor's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialCursor(pub String);

/// A page of a merchant's stored credentials to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialListQuery {
    /// The merchant.
    pub merchant_id: MerchantId,
    /// Where the page before ended; `None` for the first.
    pub after: Option<CredentialCursor>,
    /// Most entries, 1 to 1,000.
    pub limit: u32,
}

/// A credential that the processor has. What charges the card is not told: a list is for comparing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialListEntry {
    /// The key of the authorization that stored it. [`Processor::status`](crate::Processor::status) tells the credential by it.
    pub opened_by: OpId,
    /// What it was stored for.
    pub kind: ContractKind,
    /// The card.
    pub card: CardSummary,
    /// When it was stored.
    pub stored_at: Timestamp,
}

/// A page of a merchant's stored credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialListPage {
    /// In an order that does not change; none twice, and none that is deleted.
    pub entries: Vec<CredentialListEntry>,
    /// Where to go on; `None` at the end.
    pub next: Option<CredentialCursor>,
}

/// The processor's credentials cannot be read now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the processor's stored credentials cannot be read: {0}")]
pub struct CredentialListUnavailable(pub String);

/// The credentials that a processor has, which the audit compares with our contracts.
#[async_trait]
pub trait StoredCredentialList: Send + Sync {
    /// A page of a merchant's credentials.
    ///
    /// # Errors
    /// [`CredentialListUnavailable`].
    async fn list_credentials(
        &self,
        query: CredentialListQuery,
    ) -> Result<CredentialListPage, CredentialListUnavailable>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_processor_gives_is_kept_to_the_letter() {
        for text in ["c", "crd_0123456789abcdef0123456789abcdef", "cus_9/pm_7", &"9".repeat(255)] {
            assert_eq!(text.parse::<StoredCredential>().map(|credential| credential.expose() == text), Ok(true));
        }
        for wrong in ["", " ", "a b", "a\n", "é", &"9".repeat(256)] {
            assert_eq!(wrong.parse::<StoredCredential>(), Err(InvalidStoredCredential), "{wrong:?}");
        }
    }

    #[test]
    fn a_code_has_three_or_four_digits() {
        for wrong in ["", "12", "12345", "12a", " 123", "١٢٣"] {
            assert_eq!(wrong.parse::<VerificationCode>(), Err(InvalidVerificationCode), "{wrong}");
        }
    }

    #[test]
    fn wiping_leaves_nothing_and_debug_shows_nothing() {
        let payment = StoredCredentialPayment::new("pm_7".parse().unwrap(), PaymentMark::FIRST)
            .with_verification_code("987".parse().unwrap());
        let shown = format!("{payment:?}");
        assert!(!shown.contains("pm_7") && !shown.contains("987"), "{shown}");
        let (mut credential, mut code): (StoredCredential, VerificationCode) =
            ("pm_7".parse().unwrap(), "987".parse().unwrap());
        credential.zeroize();
        code.zeroize();
        assert_eq!((credential.expose(), code.expose()), ("", ""));
    }
}
