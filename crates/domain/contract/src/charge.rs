//! Whether a payment under a contract may be made, and how it is marked.

use dropin_kernel::Timestamp;
use dropin_money::{Amount, Currency};

use crate::contract::{Contract, StoredCard};
use crate::decline::DeclineCategory;
use crate::mark::{PaymentMark, StoredCredentialUse};
use crate::retry::{ChargeTry, TryDecision, decide_try};
use crate::state::ContractStateKind;
use crate::step::WrongState;

/// Why a payment under a contract is not made (docs/SPECIFICATION.md#contract-checkout).
///
/// ```
/// use dropin_contract::ChargeRefused;
///
/// assert_eq!(ChargeRefused::Kind.to_string(), "the merchant may not charge a ONE_CLICK contract: the shopper pays with it");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChargeRefused {
    /// The merchant charges RECURRING and UNSCHEDULED contracts alone: 400 + ContractId, VALUE_NOT_ALLOWED.
    #[error("the merchant may not charge a ONE_CLICK contract: the shopper pays with it")]
    Kind,
    /// The amount has another currency than the contract: 400 + ConsumerCurrency, CONFLICT.
    #[error("the contract is in {}", .agreed.code())]
    Currency {
        /// The contract's.
        agreed: Currency,
    },
    /// A merchant verifies no card without the shopper.
    #[error("the merchant charges more than zero")]
    Zero,
    /// It is not ACTIVE: 409 INVALID_CONTRACT_STATE.
    #[error(transparent)]
    State(#[from] WrongState),
    /// The card's last day is over; the suspension is written down a little later.
    #[error("the contract's card has expired")]
    CardExpired,
    /// A decline has to be waited out, or the card was tried too often.
    #[error("the card may not be tried before {at}")]
    NotBefore {
        /// The earliest time.
        at: Timestamp,
    },
    /// The issuer wants the shopper to authenticate: 402 SHOPPER_AUTHENTICATION_REQUIRED.
    #[error(
        "the issuer wants the shopper to authenticate: bring the shopper back with a Session that names the contract"
    )]
    ShopperRequired,
    /// The issuer declined in a way that forbids to try the card again.
    #[error("the card may not be tried again: {}", .category.as_str())]
    Never {
        /// What the issuer said.
        category: DeclineCategory,
    },
}

impl Contract {
    /// The mark of a payment of `amount` that the merchant makes while the shopper is away. `tries` are those of the last 30 days under this contract, in
    /// any order.
    ///
    /// # Errors
    /// [`ChargeRefused`], what is wrong with the request first.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_contract::{ChargeRefused, StoredCredentialUse};
    /// # let now = at("2026-12-23");
    /// let mark = active(ContractKind::Recurring).plan_merchant_charge(&eur(9_90), &[], now).unwrap();
    /// assert_eq!(mark.credential_use, StoredCredentialUse::Recurring);
    ///
    /// let refused = active(ContractKind::OneClick).plan_merchant_charge(&eur(9_90), &[], now);
    /// assert_eq!(refused, Err(ChargeRefused::Kind));
    /// ```
    pub fn plan_merchant_charge(
        &self,
        amount: &Amount,
        tries: &[ChargeTry],
        now: Timestamp,
    ) -> Result<PaymentMark, ChargeRefused> {
        if !self.kind.allows_merchant_charges() {
            return Err(ChargeRefused::Kind);
        }
        if amount.is_zero() {
            return Err(ChargeRefused::Zero);
        }
        let card = self.chargeable_card(amount, now)?;
        match decide_try(card, tries, now) {
            TryDecision::Allowed => Ok(self.later_mark()),
            TryDecision::NotBefore(at) => Err(ChargeRefused::NotBefore { at }),
            TryDecision::ShopperRequired => Err(ChargeRefused::ShopperRequired),
            TryDecision::Never(category) => Err(ChargeRefused::Never { category }),
        }
    }

    /// The mark of a payment of `amount` that the shopper makes with the stored card: a later one of ONE_CLICK, else a first one again, with which the
    /// shopper whom the merchant brought back authenticates. The waits of [`decide_try`] do not hold the shopper back.
    ///
    /// # Errors
    /// [`ChargeRefused`]: another currency, not ACTIVE, or the card has expired.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_contract::{Initiator, PaymentMark, StoredCredentialUse};
    /// # let now = at("2026-12-23");
    /// let mark = active(ContractKind::OneClick).plan_shopper_payment(&eur(9_90), now).unwrap();
    /// assert_eq!((mark.credential_use, mark.initiator()), (StoredCredentialUse::OneClick, Initiator::Customer));
    /// assert_eq!(active(ContractKind::Recurring).plan_shopper_payment(&eur(9_90), now), Ok(PaymentMark::FIRST));
    /// ```
    pub fn plan_shopper_payment(&self, amount: &Amount, now: Timestamp) -> Result<PaymentMark, ChargeRefused> {
        self.chargeable_card(amount, now)?;
        Ok(if self.kind.allows_merchant_charges() { PaymentMark::FIRST } else { self.later_mark() })
    }

    fn chargeable_card(&self, amount: &Amount, now: Timestamp) -> Result<&StoredCard, ChargeRefused> {
        if amount.currency() != self.currency {
            return Err(ChargeRefused::Currency { agreed: self.currency });
        }
        let found: ContractStateKind = self.state.kind();
        let card = self.active_card().ok_or(WrongState { found })?;
        if card.summary.expiry.is_over(now) { Err(ChargeRefused::CardExpired) } else { Ok(card) }
    }

    fn later_mark(&self) -> PaymentMark {
        let network_transaction_id = self.network_transaction_id.clone();
        PaymentMark { credential_use: StoredCredentialUse::of_later(self.kind), network_transaction_id }
    }
}
