use std::time::Duration;

use dropin_kernel::Timestamp;

use crate::catalogue::Catalogue;
use crate::method::{Class, Method, WindowFrom};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the shopper may take with a method that is not known, where the processor names no end.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(15 * 60);
/// How long a payment with such a method may be captured, from its authorization.
const DEFAULT_CAPTURE_WINDOW: Duration = DAY.saturating_mul(7);

/// What holds of a payment that was made with a method, for as long as the payment lasts. [`Catalogue::payment_rules`] finds it.
///
/// A payment may outlast its method: an own method that the deployment's file names no more. Such a payment is not a card's. It may be captured for
/// 7 days from its authorization, also in part: the processor refuses what it cannot do. The shopper has until the end that the processor names,
/// and 15 minutes without one.
///
/// ```
/// use std::time::Duration;
///
/// use dropin_catalogue::{Catalogue, Class, Method, WindowFrom};
/// use dropin_kernel::Timestamp;
///
/// let hours = |count: u64| Duration::from_secs(3_600 * count);
/// let builder = Method::builder("TIKKIE", "Tikkie", Class::Online).patience(hours(1));
/// let own = builder.capture_window(hours(48), WindowFrom::Creation).build()?;
/// let catalogue = Catalogue::of_sandbox().with_known([own])?;
/// let (created, now) = (Timestamp::from_micros(0), Timestamp::from_micros(0).plus(hours(3)));
///
/// let rules = catalogue.payment_rules("TIKKIE");
/// assert_eq!(rules.pay_before(None, now), now.plus(hours(1)));
/// assert_eq!(rules.capture_before(created, now), created.plus(hours(48)));
/// assert!(!rules.partial_capture() && !rules.is_card());
///
/// let unknown = catalogue.payment_rules("LATER");
/// assert_eq!(unknown.capture_before(created, now), now.plus(hours(7 * 24)));
/// assert!(unknown.partial_capture());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PaymentRules<'a>(Option<&'a Method>);

impl Catalogue {
    /// The rules of payments that were made with the method with this id, whether or not it is offered or known any more.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// assert!(Catalogue::of_sandbox().payment_rules("VISA").is_card());
    /// assert!(!Catalogue::of_sandbox().payment_rules("CASH").is_card());
    /// ```
    pub fn payment_rules(&self, id: &str) -> PaymentRules<'_> {
        PaymentRules(self.method(id))
    }
}

impl PaymentRules<'_> {
    /// Whether a card was charged, typed by the shopper or handed over by a wallet.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// assert!(!Catalogue::of_sandbox().payment_rules("IDEAL").is_card());
    /// ```
    pub fn is_card(self) -> bool {
        self.0.is_some_and(|method| method.class() == Class::Card)
    }

    /// Whether less than what is authorized may be captured, once.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// assert!(!Catalogue::of_sandbox().payment_rules("PAYPAL").partial_capture());
    /// ```
    pub fn partial_capture(self) -> bool {
        self.0.is_none_or(Method::partial_capture)
    }

    /// Whether captured money is given back the way it came. The processor refuses what it cannot do with a method that is not known.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// let catalogue = Catalogue::of_sandbox();
    /// assert!(catalogue.payment_rules("VISA").refunds() && !catalogue.payment_rules("KONBINI").refunds());
    /// ```
    pub fn refunds(self) -> bool {
        self.0.is_none_or(Method::refunds)
    }

    /// How long the shopper may take.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// assert_eq!(Catalogue::of_sandbox().payment_rules("VISA").patience().as_secs(), 15 * 60);
    /// ```
    pub fn patience(self) -> Duration {
        self.0.map_or(DEFAULT_PATIENCE, Method::patience)
    }

    /// How long an authorization may be captured.
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// assert_eq!(Catalogue::of_sandbox().payment_rules("VISA").capture_window().as_secs(), 7 * 86_400);
    /// ```
    pub fn capture_window(self) -> Duration {
        self.0.map_or(DEFAULT_CAPTURE_WINDOW, Method::capture_window)
    }

    /// Until when the shopper is waited for who begins to pay `now`: the method's own limit, or the `processor`'s when that is sooner.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dropin_catalogue::Catalogue;
    /// # use dropin_kernel::Timestamp;
    /// let (now, soon) = (Timestamp::from_micros(0), Timestamp::from_micros(1));
    /// let catalogue = Catalogue::of_sandbox();
    /// assert_eq!(catalogue.payment_rules("VISA").pay_before(Some(soon), now), soon);
    /// assert_eq!(catalogue.payment_rules("VISA").pay_before(None, now), now.plus(Duration::from_secs(15 * 60)));
    /// ```
    pub fn pay_before(self, processor: Option<Timestamp>, now: Timestamp) -> Timestamp {
        match (self.0, processor) {
            (None, Some(theirs)) => theirs,
            (_, theirs) => {
                let ours = now.plus(self.patience());
                theirs.map_or(ours, |theirs| ours.min(theirs))
            }
        }
    }

    /// Until when a payment may be captured that was `created` and `authorized` then (docs/SPECIFICATION.md#capture-window).
    ///
    /// ```
    /// # use dropin_catalogue::Catalogue;
    /// # use dropin_kernel::Timestamp;
    /// let (created, authorized) = (Timestamp::from_micros(0), Timestamp::from_micros(5));
    /// let catalogue = Catalogue::of_sandbox();
    /// let before = |id| catalogue.payment_rules(id).capture_before(created, authorized).micros();
    /// assert_eq!(before("VISA") - before("PAYLATER"), 5);
    /// ```
    pub fn capture_before(self, created: Timestamp, authorized: Timestamp) -> Timestamp {
        let from = match self.0.map(Method::window_from) {
            Some(WindowFrom::Creation) => created,
            Some(WindowFrom::Authorization) | None => authorized,
        };
        from.plus(self.capture_window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const CREATED: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

    /// All of its rules differ from those of its class, and from those of a method that is not known.
    fn later() -> Method {
        let builder = Method::builder("LATER", "Later", Class::Online).patience(HOUR).partial_capture(false);
        builder.capture_window(DAY * 3, WindowFrom::Creation).build().expect("a method")
    }

    #[test]
    fn an_own_method_rules_its_payments_whether_or_not_the_processor_can_do_it() {
        let can = Catalogue::of_sandbox().with([later()]).expect("another id");
        let cannot = Catalogue::of_sandbox().with_known([later()]).expect("another id");
        let now = CREATED.plus(HOUR * 2);
        for catalogue in [&can, &cannot] {
            let rules = catalogue.payment_rules("LATER");
            assert_eq!((rules.patience(), rules.capture_window()), (HOUR, DAY * 3));
            assert_eq!(rules.pay_before(None, now), now.plus(HOUR));
            assert_eq!(rules.pay_before(Some(now.plus(HOUR / 2)), now), now.plus(HOUR / 2), "the sooner one");
            assert_eq!(rules.pay_before(Some(now.plus(HOUR * 9)), now), now.plus(HOUR), "the sooner one");
            assert_eq!(rules.capture_before(CREATED, now), CREATED.plus(DAY * 3));
            assert!(!rules.partial_capture() && !rules.is_card());
        }
        assert!(!cannot.has("LATER"));
    }

    #[test]
    fn a_payment_outlasts_its_method_by_the_rules_of_one_that_is_not_known() {
        let catalogue = Catalogue::of_sandbox();
        let rules = catalogue.payment_rules("LATER");
        let now = CREATED.plus(HOUR * 2);
        assert_eq!(rules.pay_before(Some(now.plus(DAY * 14)), now), now.plus(DAY * 14), "as the processor says");
        assert_eq!(rules.pay_before(None, now), now.plus(Duration::from_secs(15 * 60)));
        assert_eq!(rules.capture_before(CREATED, now), now.plus(DAY * 7));
        assert!(rules.partial_capture() && rules.refunds() && !rules.is_card());
    }

    #[test]
    fn a_built_in_method_rules_its_payments_in_every_deployment() {
        let nothing = Catalogue::new(|_| false, &crate::Adjustments::default());
        let now = CREATED.plus(HOUR);
        assert_eq!(nothing.payment_rules("PAYLATER").capture_before(CREATED, now), CREATED.plus(DAY * 7));
        assert_eq!(nothing.payment_rules("VISA").capture_before(CREATED, now), now.plus(DAY * 7));
        assert!(nothing.payment_rules("APPLEPAY").is_card() && !nothing.payment_rules("IDEAL").partial_capture());
        assert_eq!(nothing.payment_rules("BLIK").pay_before(None, now), now.plus(Duration::from_secs(15 * 60)));
    }
}
