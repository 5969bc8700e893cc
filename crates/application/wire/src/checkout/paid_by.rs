use dropin_catalogue::{Catalogue, Class, Method};
use dropin_kernel::{ContractId, Violation, ViolationCode, Violations};
use dropin_validation::{Text, UrlPolicy, WebUrl};

use super::contract::parse_contract_id;
use crate::stash::check_stash_id;

/// What a checkout is paid with: one of the two, never parts of both (docs/SPECIFICATION.md#contract-checkout).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaidBy {
    /// A stashed card, a wallet's stashed token, or a method without a card. The shopper is there.
    Instrument {
        /// PaymentMethod: of the catalogue; whether it may be used is not known yet. Left out only with a stash, which then has to hold a wallet's
        /// token.
        method: Option<String>,
        /// Where the card or the wallet's token waits; exactly with a method of class Card, or without one.
        stash_id: Option<String>,
        /// Where the shopper comes back to; always with methods of class Card and Online, but for wallets.
        return_url: Option<String>,
        /// DeviceFingerprint: the one that the card was stashed with.
        fingerprint: Text,
    },
    /// The card that a contract stored, charged by the merchant while the shopper is away. Whether the merchant has such a contract is not known yet.
    Contract(ContractId),
}

/// The members that say what a checkout is paid with, of the right types. DeviceFingerprint is there, or ContractId is.
pub(super) struct PaidByInput {
    pub(super) payment_method: Option<String>,
    pub(super) device_fingerprint: Option<String>,
    pub(super) stash_id: Option<String>,
    pub(super) return_url: Option<String>,
    pub(super) contract_id: Option<String>,
}

impl PaidByInput {
    /// Checks what the members mean, alone and together.
    pub(super) fn parse(self, policy: UrlPolicy, catalogue: &Catalogue, all: &mut Violations) -> Option<PaidBy> {
        match &self.contract_id {
            Some(id) => self.contract(id, all),
            None => self.instrument(policy, catalogue, all),
        }
    }

    /// A contract names card and method, and there is no browser: nothing of an instrument stands beside it.
    fn contract(&self, id: &str, all: &mut Violations) -> Option<PaidBy> {
        let Self { payment_method, device_fingerprint, stash_id, return_url, contract_id: _ } = self;
        let members = [
            ("PaymentMethod", payment_method),
            ("StashId", stash_id),
            ("Return", return_url),
            ("DeviceFingerprint", device_fingerprint),
        ];
        let mut given = members.into_iter().filter(|(_, member)| member.is_some()).peekable();
        if given.peek().is_some() {
            let why = "a contract is charged without the shopper: beside ContractId send no PaymentMethod, StashId, Return and DeviceFingerprint";
            for name in std::iter::once("ContractId").chain(given.map(|(name, _)| name)) {
                all.push(name, ViolationCode::Conflict, why);
            }
        }
        all.check(parse_contract_id(id)).map(PaidBy::Contract)
    }

    fn instrument(self, policy: UrlPolicy, catalogue: &Catalogue, all: &mut Violations) -> Option<PaidBy> {
        let fingerprint = self.device_fingerprint.as_deref().unwrap_or_default();
        let fingerprint = all.check(Text::parse("DeviceFingerprint", fingerprint));
        let method = self.payment_method.as_deref().and_then(|id| all.check(parse_method(id, catalogue)));
        self.check_stash(method, all);
        let return_url = self.return_url.as_ref().map(|url| all.check(WebUrl::parse("Return", url, policy)));
        if return_url.is_none() && method.is_some_and(|method| method.class() != Class::Offline && !method.is_token()) {
            let why = "is required for methods of class Card and Online: the shopper comes back to it";
            all.push("Return", ViolationCode::Missing, why);
        }
        Some(PaidBy::Instrument {
            method: method.map(|method| method.id().to_owned()),
            stash_id: self.stash_id,
            return_url: return_url.flatten().map(|url| url.as_str().to_owned()),
            fingerprint: fingerprint?,
        })
    }

    /// StashId goes with class Card, and with no other (docs/SPECIFICATION.md#checkout-request).
    fn check_stash(&self, method: Option<&Method>, all: &mut Violations) {
        if let Some(id) = &self.stash_id {
            all.check(check_stash_id(id));
        }
        let Some(method) = method else { return };
        match (method.class(), &self.stash_id) {
            (Class::Card, None) => {
                all.push("StashId", ViolationCode::Missing, "is required for methods of class Card");
            }
            (Class::Online | Class::Offline, Some(_)) => {
                for name in ["PaymentMethod", "StashId"] {
                    all.push(name, ViolationCode::Conflict, "a method without a card takes no StashId");
                }
            }
            (Class::Card, Some(_)) | (Class::Online | Class::Offline, None) => {}
        }
    }
}

/// Built in, or the deployment's own. Whether it may be used is asked of the catalogue when the payment is made.
pub(super) fn parse_method<'a>(id: &str, catalogue: &'a Catalogue) -> Result<&'a Method, Violation> {
    let why = "must be the Id of a payment method of the catalogue: one that getPaymentMethods lists";
    catalogue.method(id).ok_or_else(|| Violation::new("PaymentMethod", ViolationCode::NotAllowed, why))
}
