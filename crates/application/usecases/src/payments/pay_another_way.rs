//! The shopper leaves a hosted page and chooses to pay another way (docs/SPECIFICATION.md#pay-another-way).

use std::time::Duration;

use dropin_kernel::{AttemptId, SessionId};
use dropin_order::{OpState, Operation, Order};
use dropin_ports::{ClaimedOperation, ProcessorReply, SessionWithOrder, StatusReply, StoreError};
use dropin_session::SessionStateKind;

use super::decide::DecisionPolicy;
use super::screened::ScreenedReply;
use super::shopper::{Progress, Shopper, ShopperError, poll_until};
use super::submit::Submitted;
use super::{Asker, Conclusion, Payments, after_asking, question};

/// How long a second call waits for what the first one is doing.
const SECOND_CALL_WAIT: Duration = Duration::from_secs(2);

impl Shopper {
    /// Has the hosted page of this attempt closed at the processor, which counts as a failed attempt; what was paid meanwhile completes the
    /// Session. Says how the Session stands; in any other state, and for any other attempt, nothing is done. Repeating it is harmless.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`ShopperError`].
    pub async fn pay_another_way(&self, id: SessionId, attempt: AttemptId) -> Result<Submitted, ShopperError> {
        let found = self.load(id).await?.ok_or(ShopperError::NotFound)?;
        let Some((order, authorization)) = self.open_page(&found, attempt).await? else {
            let progress = self.progress_of(&found).await?;
            return Ok(Submitted { progress, follow_up: None });
        };
        if !self.page_closings.may_ask(order.id, self.payments.clock.now()) {
            let progress = self.after_first_call(id, &found).await?;
            return Ok(Submitted { progress, follow_up: None });
        }
        let conclusion = self.payments.close_page(&order, &authorization).await?;
        let is_open = conclusion.state.is_open();
        let follow_up = conclusion.into_next();
        let now = self.load(id).await?.ok_or(ShopperError::NotFound)?;
        let progress = self.progress_of(&now).await?;
        Ok(Submitted { progress: Progress { checking: is_open || progress.checking, ..progress }, follow_up })
    }

    /// The Order and the authorization of this attempt, while a page of it can be paid.
    async fn open_page(
        &self,
        found: &SessionWithOrder,
        attempt: AttemptId,
    ) -> Result<Option<(Order, Operation)>, StoreError> {
        let state = &found.session.state;
        let runs = matches!(state.kind(), SessionStateKind::Processing | SessionStateKind::Redirected);
        let order = found.order.as_ref().filter(|order| {
            runs && state.attempt() == Some(attempt) && order.page.is_some() && order.voiding.is_none()
        });
        let Some(order) = order else { return Ok(None) };
        let authorization = self.payments.authorization_of(order).await?;
        // One that is only prepared has no page yet.
        let waits = authorization.state.is_open() && authorization.state != OpState::Prepared;
        Ok(waits.then(|| (order.clone(), authorization)))
    }

    async fn after_first_call(&self, id: SessionId, before: &SessionWithOrder) -> Result<Progress, ShopperError> {
        let revision = before.session.revision;
        let moved = poll_until(SECOND_CALL_WAIT, || async {
            let found = self.load(id).await?.ok_or(ShopperError::NotFound)?;
            Ok((found.session.revision != revision).then_some(found))
        });
        match moved.await? {
            Some(found) => Ok(self.progress_of(&found).await?),
            None => Ok(Progress { checking: true, ..self.progress_of(before).await? }),
        }
    }
}

impl Payments {
    /// Makes the processor close the page of an authorization that waits for the shopper, and writes down what it says.
    async fn close_page(&self, order: &Order, authorization: &Operation) -> Result<Conclusion, StoreError> {
        // Whoever dies after the page was closed leaves the rest to the settler, which looks soon.
        let claim = ClaimedOperation { id: authorization.id, epoch: authorization.epoch };
        let due_at = self.clock.now().plus(self.timing.lease);
        let screened = self.screening.find_screened(order).await?;
        // Stale: somebody else writes an outcome down right now, which is then found below.
        let _applied = self.store.postpone_operation(claim, authorization.state, due_at, None).await?;
        let answer = match self.processor.abandon(question(order.merchant_id, authorization)).await {
            StatusReply::Known(answer) => answer,
            StatusReply::Absent => ProcessorReply::Unknown { why: "absent, and could not be abandoned".to_owned() },
            StatusReply::Unreachable { why } => ProcessorReply::Unknown { why },
        };
        let closed = answer.clone();
        let policy = DecisionPolicy { closing: true, ..DecisionPolicy::of(Asker::Nobody) };
        let ScreenedReply { reply, outcome } = self.after_screening(order, screened, answer).await;
        let conclusion = self.conclude(authorization.id, reply, policy).await.map_err(after_asking)?;
        self.count_outcome(&conclusion, outcome).await;
        self.void_what_was_closed(&closed, &conclusion).await?;
        Ok(conclusion)
    }
}
