//! The shopper returns from a hosted page.

use std::time::Duration;

use dropin_kernel::OrderId;
use dropin_order::{OpKind, OpState, Operation, Order, OrderState};
use dropin_ports::StoreError;
use dropin_session::{Session, SessionStateKind};

use super::shopper::{Shopper, ShopperError, poll_until};

/// Where the shopper is redirected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnDestination {
    /// It is not known yet: ask again in a moment.
    Waiting,
    /// To this absolute URL of the merchant's: CompleteUrl or CancelUrl of the Session, or Return of the checkout with `OrderId` and `State`.
    To(String),
}

impl Shopper {
    /// Asks the processor what became of the payment whose page sent the shopper here, unless it was asked about it just now, and waits up to
    /// `wait` until it is known. A shopper who came back without deciding anything, as the processor says, is sent on all the same: the page with the
    /// drop-in offers the hosted page again, or another way to pay.
    ///
    /// # Errors
    /// [`ShopperError`].
    pub async fn return_shopper(&self, id: OrderId, wait: Duration) -> Result<ReturnDestination, ShopperError> {
        let store = &self.payments.store;
        let (order, _session) = store.find_order_anywhere(id).await?.ok_or(ShopperError::NotFound)?;
        let may_ask =
            order.state == OrderState::Processing && self.poll_throttle.may_ask(id, self.payments.clock.now());
        let is_undecided = may_ask && self.page_is_open(&order).await?;
        let found = || async { store.find_order_anywhere(id).await?.ok_or(ShopperError::NotFound) };
        let known = poll_until(wait, || async {
            let (order, session) = found().await?;
            Ok(destination(&order, session.as_ref()))
        });
        if let Some(destination) = known.await? {
            return Ok(destination);
        }
        let (order, session) = found().await?;
        let undecided = || is_undecided.then(|| undecided(&order, session.as_ref())).flatten();
        Ok(destination(&order, session.as_ref()).or_else(undecided).unwrap_or(ReturnDestination::Waiting))
    }

    /// Asks the processor, and writes down what it says: whether its page still waits for the shopper.
    async fn page_is_open(&self, order: &Order) -> Result<bool, StoreError> {
        let operations = self.payments.store.list_operations(order.id).await?;
        // One that is only prepared has sent nobody to a page: it may be on its way to the processor right now, and must not be abandoned.
        let waits = |one: &&Operation| one.state.is_open() && one.state != OpState::Prepared;
        let open = operations.iter().filter(|one| one.kind == OpKind::Authorize).find(waits);
        match open {
            Some(authorization) => {
                Ok(self.payments.poll_processor(authorization.id).await?.is_some_and(|one| one.page_is_open))
            }
            None => Ok(false),
        }
    }
}

/// `None` while nothing is known.
fn destination(order: &Order, session: Option<&Session>) -> Option<ReturnDestination> {
    let Some(session) = session else {
        // Whatever the processor still waits for, the shopper has been there.
        let back = order.return_url.as_ref()?;
        let known = order.state != OrderState::Processing || order.bank_details.is_some();
        return known.then(|| ReturnDestination::To(with_outcome(back, order)));
    };
    let (complete, cancel) = session.return_urls();
    match session.state.kind() {
        SessionStateKind::Completed => Some(ReturnDestination::To(complete)),
        // The page with the drop-in shows why, whatever has become of the Session since.
        _ if order.state == OrderState::ProcessingFailed => Some(ReturnDestination::To(cancel)),
        SessionStateKind::Failed | SessionStateKind::Cancelled => Some(ReturnDestination::To(cancel)),
        SessionStateKind::Created | SessionStateKind::Processing | SessionStateKind::Redirected => None,
    }
}

/// Where a shopper goes whose hosted page can still be paid; `None` when there is no such page.
fn undecided(order: &Order, session: Option<&Session>) -> Option<ReturnDestination> {
    let waits = order.state == OrderState::Processing && order.page.is_some() && order.voiding.is_none();
    match session {
        _ if !waits => None,
        None => order.return_url.as_ref().map(|back| ReturnDestination::To(with_outcome(back, order))),
        Some(session) => {
            let redirected = session.state.kind() == SessionStateKind::Redirected;
            redirected.then(|| ReturnDestination::To(session.return_urls().1))
        }
    }
}

/// The merchant's Return with `OrderId` and `State` appended as query parameters, before a fragment (docs/SPECIFICATION.md#checkout-return).
fn with_outcome(url: &str, order: &Order) -> String {
    let (address, fragment) = url.split_once('#').map_or((url, None), |(address, fragment)| (address, Some(fragment)));
    let join = match address.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, query)) if query.ends_with('&') => "",
        Some(_) => "&",
    };
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{address}{join}OrderId={}&State={}{fragment}", order.id, order.state.as_str())
}
