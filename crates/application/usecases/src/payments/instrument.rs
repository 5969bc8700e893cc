//! What a payment is made with: the stashed card, the verification code of a stored one, or a method without a card.

use dropin_card::{Scheme, StashedData, StashedKind};
use dropin_catalogue::{MethodRefusal, Offered};
use dropin_kernel::{Timestamp, Violation, ViolationCode};
use dropin_ports::{KeyringError, StashFound, StashKey, StashUse, StoreError, VerificationCode};

use super::authorization_flow::AuthorizationFlow;
use super::routing::Candidates;
use crate::catalogue::Purchase;

/// Who pays, and what.
pub(super) struct Buyer<'a> {
    pub(super) purchase: Purchase<'a>,
    pub(super) fingerprint: &'a str,
}

/// The payment method, and the stash entry that the payment uses up.
pub(super) struct PaymentInstrument {
    pub(super) method: Offered,
    pub(super) stash: Option<StashUse>,
    /// The processors that may be asked.
    pub(super) candidates: Candidates,
}

/// Why a payment instrument cannot be used.
pub(super) enum PaymentInstrumentError {
    /// About the stashed card.
    Card(Violation),
    /// About the method.
    Method(Violation),
    /// The stashed card's key cannot be used now. Nothing was written down, so the same request may come again.
    Keyring(KeyringError),
    /// The store failed.
    Store(StoreError),
}

/// What is said of a PaymentMethod that may not be used.
pub(super) fn not_offered(refusal: MethodRefusal) -> Violation {
    Violation::new("PaymentMethod", ViolationCode::NotAllowed, refusal.to_string())
}

impl AuthorizationFlow<'_> {
    /// The method of the stashed card or wallet's token, which must be usable here; `chosen` is the scheme that shall be paid by, where somebody has
    /// named one (docs/SPECIFICATION.md#co-badged-cards).
    pub(super) async fn card(
        &self,
        buyer: &Buyer<'_>,
        stash_id: &str,
        chosen: Option<&str>,
        now: Timestamp,
    ) -> Result<PaymentInstrument, PaymentInstrumentError> {
        let key = buyer.stash_key(stash_id);
        let found = self.stash.peek_stash(&key, now).await.map_err(PaymentInstrumentError::Store)?;
        let refuse = |code, why: &str| PaymentInstrumentError::Card(Violation::new("StashId", code, why));
        let StashFound { summary, key_id } = found.ok_or_else(not_stashed)?;
        if !summary.usable {
            let why = "the card's number, expiry or code is not valid: stash it again, corrected";
            return Err(refuse(ViolationCode::Invalid, why));
        }
        let why = match summary.kind {
            StashedKind::Card(_) => "cards of this scheme are not accepted for this payment: use another card",
            StashedKind::Wallet(_) => "is a wallet's token, which is not accepted for this payment: use a card",
        };
        let own = summary.kind.method_id();
        let id = match chosen {
            Some(chosen) if own != Some(chosen) => self.second_scheme(&key, chosen, own, now).await?,
            _ => own.ok_or_else(|| refuse(ViolationCode::NotAllowed, why))?,
        };
        let method = buyer.purchase.stashed(&self.payments.catalogue, id);
        let method = method.map_err(|_refused| refuse(ViolationCode::NotAllowed, why))?;
        let candidates = self.payments.candidates(&buyer.purchase, method.id());
        let candidates = candidates.map_err(|_refused| refuse(ViolationCode::NotAllowed, why))?;
        if method.is_token() {
            let (merchant, offers) = (buyer.purchase.merchant, buyer.purchase.offers(&self.payments.catalogue));
            if !self.wallets.takes_token(id, merchant, &offers).await.map_err(PaymentInstrumentError::Store)? {
                return Err(refuse(ViolationCode::NotAllowed, why));
            }
        }
        // A payment that begins with a card that cannot be opened would fail, and its reference would be used up.
        self.vault.check_key(&key_id).map_err(PaymentInstrumentError::Keyring)?;
        Ok(PaymentInstrument { method, stash: Some(StashUse { key, summary }), candidates })
    }

    /// The scheme that was chosen in place of the stashed card's `own`, whose mark it bears too. Only the number tells, so the card is opened for it.
    async fn second_scheme(
        &self,
        key: &StashKey,
        chosen: &str,
        own: Option<&str>,
        now: Timestamp,
    ) -> Result<&'static str, PaymentInstrumentError> {
        let found = self.stash.read_stash(key, now).await.map_err(PaymentInstrumentError::Store)?;
        let (_summary, sealed) = found.ok_or_else(not_stashed)?;
        let opened = self.vault.open(&sealed, key).map_err(PaymentInstrumentError::Keyring)?;
        let schemes = match &opened.data {
            StashedData::Card(card) => card.schemes(),
            StashedData::WalletToken(_) => Vec::new(),
        };
        let borne = schemes.into_iter().map(Scheme::as_str).find(|scheme| *scheme == chosen);
        borne.ok_or_else(|| {
            let why = format!("what is stashed is a {}", own.unwrap_or("card of no scheme that is known"));
            PaymentInstrumentError::Method(Violation::new("PaymentMethod", ViolationCode::Conflict, why))
        })
    }

    /// The verification code that waits for a stored card of this scheme (docs/SPECIFICATION.md#saved-card-payment).
    pub(super) async fn code(
        &self,
        buyer: &Buyer<'_>,
        stash_id: &str,
        scheme: Scheme,
        now: Timestamp,
    ) -> Result<StashUse, PaymentInstrumentError> {
        let key = buyer.stash_key(stash_id);
        let found = self.stash.read_stash(&key, now).await.map_err(PaymentInstrumentError::Store)?;
        let (summary, sealed) = found.ok_or_else(not_stashed)?;
        let opened = self.vault.open(&sealed, &key).map_err(PaymentInstrumentError::Keyring)?;
        let code = code_alone(&opened.data).filter(|code| code.expose().len() == scheme.code_length());
        if code.is_none() {
            let why = format!(
                "must hold the {} digits of the saved card's verification code, and nothing else: stash {{\"VerificationCode\"}} again",
                scheme.code_length()
            );
            return Err(PaymentInstrumentError::Card(Violation::new("StashId", ViolationCode::Invalid, why)));
        }
        Ok(StashUse { key, summary })
    }

    /// The method without a card that has this id, which must be usable here.
    pub(super) fn method(&self, buyer: &Buyer<'_>, id: &str) -> Result<PaymentInstrument, PaymentInstrumentError> {
        let method = buyer.purchase.method(&self.payments.catalogue, id);
        let method = method.map_err(|refusal| PaymentInstrumentError::Method(not_offered(refusal)))?;
        let candidates = self.payments.candidates(&buyer.purchase, method.id());
        let candidates = candidates.map_err(PaymentInstrumentError::Method)?;
        Ok(PaymentInstrument { method, stash: None, candidates })
    }
}

impl Buyer<'_> {
    fn stash_key(&self, stash_id: &str) -> StashKey {
        StashKey {
            merchant_id: self.purchase.merchant.id,
            stash_id: stash_id.to_owned(),
            fingerprint: self.fingerprint.to_owned(),
        }
    }
}

fn not_stashed() -> PaymentInstrumentError {
    let why = "is not stashed for this browser, was used before, or has expired";
    PaymentInstrumentError::Card(Violation::new("StashId", ViolationCode::NotFound, why))
}

/// The code of an entry that holds nothing else.
pub(super) fn code_alone(data: &StashedData) -> Option<VerificationCode> {
    match data {
        StashedData::Card(card) if card.is_code_alone() => card.expose_verification_code().parse().ok(),
        StashedData::Card(_) | StashedData::WalletToken(_) => None,
    }
}
