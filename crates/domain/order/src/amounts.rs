use dropin_money::{Amount, AmountError, Currency};

/// A rule about the amounts of an Order would be broken.
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// # use dropin_order::{Amounts, MoneyRule};
/// let more = Amounts::restore(usd(100), usd(101), usd(0), usd(0), usd(0));
/// assert_eq!(more.unwrap_err().to_string(), "more would be captured than was authorized");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoneyRule {
    /// authorized ≤ total, in the total's currency and above zero.
    #[error("the amount is not one that the Order asked for: more than its total, or nothing")]
    NotWithinTotal,
    /// What is taken or given back was asked of the processor before.
    #[error("that much was not asked of the processor")]
    NotReserved,
    /// captured + capture in flight ≤ authorized.
    #[error("more would be captured than was authorized")]
    CapturedExceedsAuthorized,
    /// refunded + refund in flight ≤ captured.
    #[error("more would be refunded than was captured")]
    RefundedExceedsCaptured,
    /// What a dispute sets free was held by it, and all that disputes hold is an amount.
    #[error("disputes do not hold that much")]
    DisputedOutOfRange,
    /// All amounts of an Order have one currency.
    #[error("the amounts have different currencies")]
    MixedCurrencies,
}

impl MoneyRule {
    /// The rule that a sum breaks: `exceeded` where it is too large to be an amount at all.
    fn of(error: AmountError, exceeded: Self) -> Self {
        if error == AmountError::CurrencyMismatch { Self::MixedCurrencies } else { exceeded }
    }
}

/// What is reserved, taken and given back of one Order, all in one currency.
///
/// Holds by construction: captured + capture_pending ≤ authorized and refunded + refund_pending ≤ captured. The database has
/// the same rules as CHECK constraints, and the processor our operation's key. Beside them stands what disputes took or may take, which no rule of ours
/// limits: a bank does not ask.
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// # use dropin_order::OrderState;
/// let order = in_state(OrderState::Processed);
/// let amounts = &order.amounts;
/// assert_eq!([amounts.total_authorized(), amounts.captured()], [&usd(1_000), &usd(500)]);
/// assert_eq!([amounts.refunded(), amounts.refund_pending()], [&usd(100), &usd(200)]);
/// assert_eq!(amounts.refundable(), usd(200));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "StoredAmounts"))]
pub struct Amounts {
    authorized: Amount,
    captured: Amount,
    refunded: Amount,
    capture_pending: Amount,
    refund_pending: Amount,
    disputed: Amount,
}

impl Amounts {
    /// Nothing authorized yet.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::Amounts;
    /// assert!(Amounts::none(usd(0).currency()).capturable().is_zero());
    /// ```
    pub fn none(currency: Currency) -> Self {
        Self::authorized(Amount::zero(currency))
    }

    /// `amount` authorized, nothing captured.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::Amounts;
    /// assert_eq!(Amounts::authorized(usd(1_000)).capturable(), usd(1_000));
    /// ```
    pub fn authorized(amount: Amount) -> Self {
        let zero = Amount::zero(amount.currency());
        Self {
            authorized: amount,
            captured: zero,
            refunded: zero,
            capture_pending: zero,
            refund_pending: zero,
            disputed: zero,
        }
    }

    /// Reads stored amounts back, as strictly as they were made.
    ///
    /// # Errors
    /// [`MoneyRule`] when they break a rule: the row is corrupt.
    ///
    /// ```
    /// use dropin_money::{Amount, Currency};
    /// use dropin_order::{Amounts, MoneyRule};
    ///
    /// let eur = |minor| Amount::from_minor(Currency::Eur, minor).unwrap();
    /// let amounts = Amounts::restore(eur(100), eur(60), eur(10), eur(0), eur(0)).unwrap();
    /// assert_eq!((amounts.capturable().minor(), amounts.refundable().minor()), (40, 50));
    /// let too_much = Amounts::restore(eur(100), eur(60), eur(0), eur(50), eur(0));
    /// assert_eq!(too_much, Err(MoneyRule::CapturedExceedsAuthorized));
    /// ```
    pub fn restore(
        authorized: Amount,
        captured: Amount,
        refunded: Amount,
        capture_pending: Amount,
        refund_pending: Amount,
    ) -> Result<Self, MoneyRule> {
        let taken = captured.checked_add(&capture_pending);
        let taken = taken.map_err(|error| MoneyRule::of(error, MoneyRule::CapturedExceedsAuthorized))?;
        let returned = refunded.checked_add(&refund_pending);
        let returned = returned.map_err(|error| MoneyRule::of(error, MoneyRule::RefundedExceedsCaptured))?;
        match (taken.partial_cmp(&authorized), returned.partial_cmp(&captured)) {
            (None, _) | (_, None) => Err(MoneyRule::MixedCurrencies),
            (Some(std::cmp::Ordering::Greater), _) => Err(MoneyRule::CapturedExceedsAuthorized),
            (_, Some(std::cmp::Ordering::Greater)) => Err(MoneyRule::RefundedExceedsCaptured),
            _ => {
                let disputed = Amount::zero(authorized.currency());
                Ok(Self { authorized, captured, refunded, capture_pending, refund_pending, disputed })
            }
        }
    }

    /// The same with what disputes hold: all that are not won.
    ///
    /// # Errors
    /// [`MoneyRule::MixedCurrencies`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::Amounts;
    /// let captured = Amounts::restore(usd(100), usd(100), usd(30), usd(0), usd(0)).unwrap();
    /// assert_eq!(captured.clone().with_disputed(usd(50)).unwrap().refundable(), usd(20));
    /// assert_eq!(captured.with_disputed(usd(100)).unwrap().refundable(), usd(0), "never below zero");
    /// ```
    pub fn with_disputed(self, disputed: Amount) -> Result<Self, MoneyRule> {
        if disputed.currency() == self.currency() {
            Ok(Self { disputed, ..self })
        } else {
            Err(MoneyRule::MixedCurrencies)
        }
    }

    /// The currency of all of them.
    pub const fn currency(&self) -> Currency {
        self.authorized.currency()
    }

    /// Reserved at the issuer.
    pub const fn total_authorized(&self) -> &Amount {
        &self.authorized
    }

    /// Taken.
    pub const fn captured(&self) -> &Amount {
        &self.captured
    }

    /// Given back.
    pub const fn refunded(&self) -> &Amount {
        &self.refunded
    }

    /// Asked of the processor to be taken, outcome open.
    pub const fn capture_pending(&self) -> &Amount {
        &self.capture_pending
    }

    /// Asked of the processor to be given back, outcome open.
    pub const fn refund_pending(&self) -> &Amount {
        &self.refund_pending
    }

    /// Held or lost by disputes; may be more than what was captured.
    pub const fn disputed(&self) -> &Amount {
        &self.disputed
    }

    /// What may still be asked to be captured.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let order = authorized().request_capture(&usd(600), NOW).unwrap().change.next;
    /// assert_eq!((order.amounts.capture_pending(), order.amounts.capturable()), (&usd(600), usd(400)));
    /// ```
    pub fn capturable(&self) -> Amount {
        self.captured
            .checked_add(&self.capture_pending)
            .and_then(|taken| self.authorized.checked_sub(&taken))
            .expect("captured and pending together never exceed what is authorized")
    }

    /// Reserves `amount` for a capture.
    pub(crate) fn reserve_capture(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending = self.capture_pending.checked_add(amount);
        let pending = pending.map_err(|error| MoneyRule::of(error, MoneyRule::CapturedExceedsAuthorized))?;
        self.checked(self.captured, self.refunded, pending, self.refund_pending)
    }

    /// Gives the reservation of a refused capture back.
    pub(crate) fn release_capture(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending =
            self.capture_pending.checked_sub(amount).map_err(|error| MoneyRule::of(error, MoneyRule::NotReserved))?;
        Ok(Self { capture_pending: pending, ..self.clone() })
    }

    /// Turns the reservation of a capture into captured money.
    pub(crate) fn post_capture(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let released = self.release_capture(amount)?;
        let captured = released.captured.checked_add(amount).map_err(|_other| MoneyRule::MixedCurrencies)?;
        released.checked(captured, released.refunded, released.capture_pending, released.refund_pending)
    }

    /// What may still be asked to be given back: what is captured, without what is refunded, is being so, or is held or lost by disputes. Never below
    /// zero.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let order = in_state(OrderState::Processed);
    /// let disputed = order.dispute_opened(&usd(150), id(5), NOW).unwrap().change.next;
    /// assert_eq!((order.amounts.refundable(), disputed.amounts.refundable()), (usd(200), usd(50)));
    /// ```
    pub fn refundable(&self) -> Amount {
        let kept = self
            .refunded
            .checked_add(&self.refund_pending)
            .and_then(|returned| self.captured.checked_sub(&returned))
            .expect("refunded and pending together never exceed what is captured");
        kept.checked_sub(&self.disputed).unwrap_or_else(|_less| Amount::zero(self.currency()))
    }

    /// Notes what a dispute holds.
    /// Whether refunds, those that are under way included, and disputes take more than was captured.
    ///
    /// ```
    /// # use dropin_money::{Amount, Currency};
    /// # use dropin_order::Amounts;
    /// let [zero, ten, six] = [0, 1_000, 600].map(|minor| Amount::from_minor(Currency::Eur, minor).unwrap());
    /// let half = Amounts::restore(ten, ten, six, zero, zero)?;
    /// assert!(!half.is_overdrawn() && half.with_disputed(six)?.is_overdrawn());
    /// # Ok::<(), dropin_order::MoneyRule>(())
    /// ```
    pub fn is_overdrawn(&self) -> bool {
        let taken = self.refunded.checked_add(&self.refund_pending).and_then(|sum| sum.checked_add(&self.disputed));
        taken.map_or(true, |taken| self.captured < taken)
    }

    pub(crate) fn hold_disputed(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let disputed = self.disputed.checked_add(amount);
        let disputed = disputed.map_err(|error| MoneyRule::of(error, MoneyRule::DisputedOutOfRange))?;
        Ok(Self { disputed, ..self.clone() })
    }

    /// Sets free what a dispute held.
    pub(crate) fn free_disputed(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let disputed = self.disputed.checked_sub(amount);
        let disputed = disputed.map_err(|error| MoneyRule::of(error, MoneyRule::DisputedOutOfRange))?;
        Ok(Self { disputed, ..self.clone() })
    }

    /// Whether a refund is under way, which may be the one that a captured Order is held for.
    pub(crate) fn has_open_refund(&self) -> bool {
        !self.refund_pending.is_zero()
    }

    /// Reserves `amount` for a refund.
    pub(crate) fn reserve_refund(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending = self.refund_pending.checked_add(amount);
        let pending = pending.map_err(|error| MoneyRule::of(error, MoneyRule::RefundedExceedsCaptured))?;
        self.with_refunds(self.refunded, pending)
    }

    /// Gives the reservation of a refused refund back.
    pub(crate) fn release_refund(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending =
            self.refund_pending.checked_sub(amount).map_err(|error| MoneyRule::of(error, MoneyRule::NotReserved))?;
        self.with_refunds(self.refunded, pending)
    }

    /// Turns the reservation of a refund into money given back.
    pub(crate) fn post_refund(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let released = self.release_refund(amount)?;
        let refunded = released.refunded.checked_add(amount).map_err(|_other| MoneyRule::MixedCurrencies)?;
        let pending = released.refund_pending;
        released.with_refunds(refunded, pending)
    }

    /// Takes back that a refund gave money back.
    pub(crate) fn take_back_refund(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let refunded = self.refunded.checked_sub(amount);
        let refunded = refunded.map_err(|error| MoneyRule::of(error, MoneyRule::NotReserved))?;
        self.with_refunds(refunded, self.refund_pending)
    }

    fn with_refunds(&self, refunded: Amount, pending: Amount) -> Result<Self, MoneyRule> {
        self.checked(self.captured, refunded, self.capture_pending, pending)
    }

    /// The same with these, by the rules of [`Amounts::restore`].
    fn checked(
        &self,
        captured: Amount,
        refunded: Amount,
        capture_pending: Amount,
        refund_pending: Amount,
    ) -> Result<Self, MoneyRule> {
        Self::restore(self.authorized, captured, refunded, capture_pending, refund_pending)?
            .with_disputed(self.disputed)
    }
}

/// The serialized form, before it is checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct StoredAmounts {
    authorized: Amount,
    captured: Amount,
    refunded: Amount,
    capture_pending: Amount,
    refund_pending: Amount,
    /// Amounts of before disputes have none.
    #[serde(default)]
    disputed: Option<Amount>,
}

#[cfg(feature = "serde")]
impl TryFrom<StoredAmounts> for Amounts {
    type Error = MoneyRule;

    fn try_from(stored: StoredAmounts) -> Result<Self, MoneyRule> {
        let StoredAmounts { authorized, captured, refunded, capture_pending, refund_pending, disputed } = stored;
        let amounts = Self::restore(authorized, captured, refunded, capture_pending, refund_pending)?;
        amounts.with_disputed(disputed.unwrap_or_else(|| Amount::zero(authorized.currency())))
    }
}
