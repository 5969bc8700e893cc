use dropin_money::{Amount, Currency};

/// A rule about the amounts of an Order would be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyRule {
    /// captured + capture in flight ≤ authorized.
    #[error("more would be captured than was authorized")]
    CapturedExceedsAuthorized,
    /// refunded + refund in flight ≤ captured.
    #[error("more would be refunded than was captured")]
    RefundedExceedsCaptured,
    /// All amounts of an Order have one currency.
    #[error("the amounts have different currencies")]
    MixedCurrencies,
}

/// What is reserved, taken and given back of one Order, all in one currency.
///
/// Holds by construction: captured + capture_pending ≤ authorized and refunded + refund_pending ≤ captured. The database has
/// the same rules as CHECK constraints, and the processor our operation's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amounts {
    authorized: Amount,
    captured: Amount,
    refunded: Amount,
    capture_pending: Amount,
    refund_pending: Amount,
}

impl Amounts {
    /// Nothing authorized yet.
    pub fn none(currency: Currency) -> Self {
        Self::authorized(Amount::zero(currency))
    }

    /// `amount` authorized, nothing captured.
    pub fn authorized(amount: Amount) -> Self {
        let zero = Amount::zero(amount.currency());
        Self {
            authorized: amount,
            captured: zero.clone(),
            refunded: zero.clone(),
            capture_pending: zero.clone(),
            refund_pending: zero,
        }
    }

    /// Reads stored amounts back, as strictly as they were made.
    ///
    /// # Errors
    /// [`MoneyRule`] when they break a rule: the row is corrupt.
    pub fn restore(
        authorized: Amount,
        captured: Amount,
        refunded: Amount,
        capture_pending: Amount,
        refund_pending: Amount,
    ) -> Result<Self, MoneyRule> {
        let taken = captured.checked_add(&capture_pending).map_err(|_other| MoneyRule::MixedCurrencies)?;
        let returned = refunded.checked_add(&refund_pending).map_err(|_other| MoneyRule::MixedCurrencies)?;
        match (taken.partial_cmp(&authorized), returned.partial_cmp(&captured)) {
            (None, _) | (_, None) => Err(MoneyRule::MixedCurrencies),
            (Some(std::cmp::Ordering::Greater), _) => Err(MoneyRule::CapturedExceedsAuthorized),
            (_, Some(std::cmp::Ordering::Greater)) => Err(MoneyRule::RefundedExceedsCaptured),
            _ => Ok(Self { authorized, captured, refunded, capture_pending, refund_pending }),
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

    /// What may still be asked to be captured.
    pub fn capturable(&self) -> Amount {
        self.captured
            .checked_add(&self.capture_pending)
            .and_then(|taken| self.authorized.checked_sub(&taken))
            .expect("captured and pending together never exceed what is authorized")
    }

    /// Reserves `amount` for a capture.
    pub(crate) fn reserve_capture(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending = self.capture_pending.checked_add(amount).map_err(|_other| MoneyRule::MixedCurrencies)?;
        Self::restore(
            self.authorized.clone(),
            self.captured.clone(),
            self.refunded.clone(),
            pending,
            self.refund_pending.clone(),
        )
    }

    /// Gives the reservation of a refused capture back.
    pub(crate) fn release_capture(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending = self.capture_pending.checked_sub(amount).map_err(|_less| MoneyRule::CapturedExceedsAuthorized)?;
        Ok(Self { capture_pending: pending, ..self.clone() })
    }

    /// Turns the reservation of a capture into captured money.
    pub(crate) fn post_capture(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let released = self.release_capture(amount)?;
        let captured = released.captured.checked_add(amount).map_err(|_other| MoneyRule::MixedCurrencies)?;
        Self::restore(
            released.authorized,
            captured,
            released.refunded,
            released.capture_pending,
            released.refund_pending,
        )
    }

    /// What may still be asked to be given back.
    pub fn refundable(&self) -> Amount {
        self.refunded
            .checked_add(&self.refund_pending)
            .and_then(|returned| self.captured.checked_sub(&returned))
            .expect("refunded and pending together never exceed what is captured")
    }

    /// Reserves `amount` for a refund.
    pub(crate) fn reserve_refund(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending = self.refund_pending.checked_add(amount).map_err(|_other| MoneyRule::MixedCurrencies)?;
        self.with_refunds(self.refunded.clone(), pending)
    }

    /// Gives the reservation of a refused refund back.
    pub(crate) fn release_refund(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let pending = self.refund_pending.checked_sub(amount).map_err(|_less| MoneyRule::RefundedExceedsCaptured)?;
        self.with_refunds(self.refunded.clone(), pending)
    }

    /// Turns the reservation of a refund into money given back.
    pub(crate) fn post_refund(&self, amount: &Amount) -> Result<Self, MoneyRule> {
        let released = self.release_refund(amount)?;
        let refunded = released.refunded.checked_add(amount).map_err(|_other| MoneyRule::MixedCurrencies)?;
        let pending = released.refund_pending.clone();
        released.with_refunds(refunded, pending)
    }

    fn with_refunds(&self, refunded: Amount, pending: Amount) -> Result<Self, MoneyRule> {
        Self::restore(self.authorized.clone(), self.captured.clone(), refunded, self.capture_pending.clone(), pending)
    }
}
