//! Approvals that come late (docs/SPECIFICATION.md#late-approval): the processor says that the page of an attempt is closed, and it is not. The shopper pays on it
//! after all while other browsers submit other cards; that money is given back, and never completes the Session.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_order::DeclineReason;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, OperationQuery, Processor,
    ProcessorReply, RefundRequest, StatusReply, VoidRequest,
};
use dropin_processor_http::HttpProcessor;
use dropin_tests::{World, cards, until};

use super::attempts::{Client, Opened, paid_attempt, rest, run_all};
use super::settler::Settler;
use super::{CLIENTS, both_databases};

both_databases! {
    /// A page that was paid after its attempt had failed.
    late_approvals_race_attempts: super::late_approvals_race_attempts => ["another attempt is paid", "none is paid"], with super::SHORT_PAGES
}

/// Every page is open for an hour, by the processor's clock.
pub(super) const SHORT_PAGES: &[(&str, &str)] = &[("SANDBOX_PROCESSOR_PAGE_MS", "3600000")];
/// Longer than that, and shorter than a Session lives.
const AHEAD: Duration = Duration::from_secs(2 * 60 * 60);

/// Says of every page that it has expired, and leaves it open.
struct LeavesPagesOpen(HttpProcessor);

#[async_trait]
impl Processor for LeavesPagesOpen {
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        self.0.authorize(request).await
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        self.0.capture(request).await
    }

    async fn void(&self, _: VoidRequest) -> ProcessorReply {
        ProcessorReply::Declined { reason: DeclineReason::Expired, retryable: false, credential: None }
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        self.0.refund(request).await
    }

    async fn status(&self, question: OperationQuery) -> StatusReply {
        self.0.status(question).await
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        self.0.abandon(question).await
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        self.0.delete_credential(request).await
    }
}

async fn late_approvals_race_attempts(world: &World, round: usize) -> &'static str {
    let opened = Opened::new(world, round).await;
    let settler = Settler::with_processor(world, AHEAD, |processor| Arc::new(LeavesPagesOpen(processor)));
    assert_eq!(settler.payments.expire_orders(10).await, Ok(1), "the page of this round");
    assert_eq!(world.merchant.session(&opened.session).await["Attempts"][0]["Code"], "PAYMENT_EXPIRED");
    // In every other round, no card is good.
    let numbers = [cards::VISA, cards::MASTERCARD, cards::CHALLENGED, cards::DECLINED, cards::NO_FUNDS];
    let browsers = opened.browsers(world, &numbers[2 * (round % 2)..]).await;
    let mut clients: Vec<Client<'_>> = Vec::new();
    clients.extend((0..10).map(|_| opened.pay(world)));
    clients.extend((0..10).map(|_| opened.come_back(world)));
    clients.extend((0..10).map(|_| opened.leave(world)));
    clients.extend((0..8).map(|_| opened.replace(world)));
    let again = browsers.iter().cycle().take(CLIENTS - clients.len());
    clients.extend(again.map(|stashed| opened.submit(world, stashed)));
    run_all(clients).await;
    let state = rest(world, &opened.session).await;
    is_given_back(world, &opened, round).await;
    let paid = paid_attempt(world, &opened, &state).await;
    assert_ne!(paid, Some(0), "late money completes nothing");
    if state == "CREATED" {
        assert_eq!(world.merchant.cancel(&opened.session).await.status, 204);
    }
    if paid.is_some() { "another attempt is paid" } else { "none is paid" }
}

/// The page was paid, and that money was voided, or refunded in full where it was taken.
async fn is_given_back(world: &World, opened: &Opened, round: usize) {
    let end = if round % 3 == 2 { "REFUND" } else { "VOID" };
    let lines = until(&format!("{end} of late money"), Duration::from_secs(40), async || {
        let journal = world.journal_after(opened.before).await;
        let lines: Vec<_> =
            journal.of_order(&opened.order).map(|line| (line.kind.clone(), line.outcome.clone())).collect();
        (3 <= lines.len()).then_some(lines)
    })
    .await;
    let lines: Vec<_> = lines.iter().map(|(kind, outcome)| (kind.as_str(), outcome.as_str())).collect();
    assert_eq!(lines, [("AUTHORIZE", "PENDING"), ("AUTHORIZE", "APPROVED"), (end, "APPROVED")]);
}
