//! The shopper comes back from a hosted page.

use std::time::Duration;

use dropin_kernel::OrderId;
use dropin_order::{OpKind, OpState, Operation, Order, OrderState};
use dropin_ports::StoreError;
use dropin_session::{Session, SessionStateKind};

use super::shopper::{Shopper, ShopperError, patiently};

/// Where the shopper goes from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WayBack {
    /// It is not known yet: ask again in a moment.
    Waiting,
    /// To this absolute URL of the merchant's: CompleteUrl or CancelUrl of the Session, or Return of the checkout with `OrderId` and `State`.
    To(String),
}

impl Shopper {
    /// Asks the processor what became of the payment whose page sent the shopper here, unless it was asked about it just now, and waits up to
    /// `wait` until it is known.
    ///
    /// # Errors
    /// [`ShopperError`].
    pub async fn came_back(&self, id: OrderId, wait: Duration) -> Result<WayBack, ShopperError> {
        let store = &self.payments.store;
        let (order, _session) = store.find_order_anywhere(id).await?.ok_or(ShopperError::NotFound)?;
        if order.state == OrderState::Processing && self.looks.may_ask(id, self.payments.clock.now()) {
            self.look_after(&order).await?;
        }
        patiently(wait, || async {
            let (order, session) = store.find_order_anywhere(id).await?.ok_or(ShopperError::NotFound)?;
            Ok(way(&order, session.as_ref()))
        })
        .await
        .map(|way| way.unwrap_or(WayBack::Waiting))
    }

    async fn look_after(&self, order: &Order) -> Result<(), StoreError> {
        let operations = self.payments.store.list_operations(order.id).await?;
        // One that is only prepared has sent nobody to a page: it may be on its way to the processor right now, and must not be abandoned.
        let waits = |one: &&Operation| one.state.is_open() && one.state != OpState::Prepared;
        let open = operations.iter().filter(|one| one.kind == OpKind::Authorize).find(waits);
        match open {
            Some(authorization) => self.payments.look(authorization.id).await.map(drop),
            None => Ok(()),
        }
    }
}

/// `None` while nothing is known.
fn way(order: &Order, session: Option<&Session>) -> Option<WayBack> {
    let Some(session) = session else {
        // Whatever the processor still waits for, the shopper has been there.
        let back = order.return_url.as_ref()?;
        let known = order.state != OrderState::Processing || order.bank_details.is_some();
        return known.then(|| WayBack::To(with_outcome(back, order)));
    };
    let (complete, cancel) = session.return_urls();
    match session.state.kind() {
        SessionStateKind::Completed => Some(WayBack::To(complete)),
        SessionStateKind::Failed | SessionStateKind::Cancelled => Some(WayBack::To(cancel)),
        SessionStateKind::Created | SessionStateKind::Processing | SessionStateKind::Redirected => None,
    }
}

/// The merchant's Return with `OrderId` and `State` appended as query parameters, before a fragment (decisions.md section 6).
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
