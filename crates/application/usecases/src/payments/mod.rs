//! Money flows. Every effect at the processor has one shape: *prepare* (one transaction, with a durable record of what is about to be asked),
//! *call* (nothing held), *settle* (one transaction, guarded by the operation being open). Whoever dies in between leaves an open operation,
//! and [`Payments::settle_one`] finishes it by asking the processor about its key.
//!
//! The caller runs these functions where nobody can cancel them halfway (the edge's tracked runtime): a shopper's reset connection must not
//! stop our code between the processor's yes and our commit.

mod address_check;
mod authorization_flow;
mod cancel;
mod capture;
mod charge;
mod checkout;
mod conclude;
mod decide;
mod expire;
mod failed_refund;
mod import;
mod instrument;
mod metrics;
mod open_contract;
mod orders;
mod pay_another_way;
mod poll_throttle;
mod recover;
mod refund;
mod response;
mod review;
mod routing;
mod saved_cards;
mod screened;
mod shopper;
mod shopper_return;
mod submit;
mod transfer;

use std::sync::Arc;
use std::time::Duration;

use dropin_access::AuditAction;
use dropin_catalogue::{Catalogue, PaymentRules};
use dropin_contract::Contract;
use dropin_kernel::{MerchantId, OpId};
use dropin_order::{OpKind, Operation, Order};
use dropin_ports::{
    Acting, Actor, CaptureRequest, ChangeOrder, Clock, ContractStore, CredentialVault, IdSource, KeyringError,
    NewAuditEntry, NewHistoryEntry, OperationQuery, Payment, PaymentStore, Processor, ProcessorReply, RefundRequest,
    StoreError, StoredCredential, Subject, VoidRequest,
};

use self::decide::DecisionPolicy;
use crate::audit_log::order_document;
use crate::screening::PaymentScreening;

pub use cancel::CancelError;
pub use capture::{CaptureError, CaptureReason};
pub use charge::ChargeAsk;
pub use checkout::{CheckoutAsk, CheckoutError, Checkouts};
pub(crate) use conclude::Conclusion;
pub use import::{ImportRefused, MissingName, MissingNames, MissingRecord, MissingUnknown, RecordImport};
pub use metrics::AuthorizationMetrics;
pub use open_contract::OpenContractAsk;
pub use orders::OrderError;
pub use poll_throttle::PollThrottle;
pub use refund::{RefundAsk, RefundError};
pub use review::{ReviewError, ReviewOutcome};
pub use routing::ProcessorProfiles;
pub use saved_cards::RemoveCardError;
pub use shopper::{AttemptFailure, Page, Progress, Shopper, ShopperError, ShopperView, ShownOrder};
pub use shopper_return::ReturnDestination;
pub use submit::{Submit, SubmitError, Submitted};
pub use transfer::Transfer;

/// How often a step is tried again after a concurrent change of its row (compare-and-swap on the revision).
const MAX_CAS_RETRIES: u32 = 8;
/// The same for settling: after it the settler takes over, and the waiting request gets no outcome.
const MAX_SETTLE_RETRIES: u32 = 40;
/// Longest pause between two of these tries.
const MAX_BACKOFF: Duration = Duration::from_millis(60);

/// Longest that a call to the processor may take: less than an operation's lease ([`Timing::lease`]), so that nobody takes one over while its call is
/// under way.
pub const PROCESSOR_DEADLINE: Duration = Duration::from_secs(8);

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long an operation belongs to the flow that prepared it, counted from when that was decided. From then on the store may keep that flow
    /// waiting three times (for the merchant, for the stash, and to write it down; three seconds each, its deadline), screening takes two seconds at most, and a
    /// call to the processor may end a little after its own. Whoever looks earlier asks about a call that is under way, hears that nothing
    /// is known of it, and has it refused for ever: nothing is lost, but a slow payment fails that need not. Whoever looks later leaves what a
    /// crash left open to wait for longer.
    pub lease: Duration,
    /// How long an operation belongs to the settler that took it over; longer than a question and a call together.
    pub claim: Duration,
    /// Pause after an unclear response before the processor is polled for the first time.
    pub first_poll: Duration,
    /// Longest pause between two such polls.
    pub max_poll_pause: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(20),
            claim: Duration::from_secs(25),
            first_poll: Duration::from_millis(500),
            max_poll_pause: Duration::from_secs(5),
        }
    }
}

impl Timing {
    /// The pause after `tries` questions without a clear answer: doubled each time, up to the longest.
    fn pause(&self, tries: u32) -> Duration {
        self.first_poll.saturating_mul(1 << tries.min(16)).min(self.max_poll_pause)
    }
}

/// Who asked, and so who hears of a refusal that need not be for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A merchant who waits for the answer and decides whether to try again.
    Waiting,
    /// Nobody waits: it is tried again, under a new key, until it succeeds, is refused for good, or its time is over.
    Nobody,
}

/// Orders and everything that is asked of the processor.
#[derive(Clone)]
pub struct Payments {
    /// Where Orders and operations are kept.
    pub store: Arc<dyn PaymentStore>,
    /// Who moves the money.
    pub processor: Arc<dyn Processor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Seals and opens stored credentials; `None` in a program that has no key to them, and leaves what needs one to the settler.
    pub credentials: Option<Arc<dyn CredentialVault>>,
    /// What may be paid with what, and what holds of payments afterwards.
    pub catalogue: Arc<Catalogue>,
    /// The deployment's processors, by which payments are routed; a program that begins none needs none.
    pub processors: ProcessorProfiles,
    /// How long things may take.
    pub timing: Timing,
    /// Screens what shoppers pay.
    pub screening: PaymentScreening,
    /// Counts how authorizations end.
    pub authorizations: Arc<AuthorizationMetrics>,
}

/// Why a stored card cannot be charged now.
enum CredentialError {
    /// Its key cannot be used.
    Keyring(KeyringError),
    /// The store failed.
    Store(StoreError),
}

impl Payments {
    /// Asks for an operation of this merchant's that was prepared, and writes down what came of it; harmless to repeat.
    ///
    /// # Errors
    /// [`StoreError`]; the operation then stays open and the settler finishes it.
    pub async fn finish(&self, merchant: MerchantId, operation: Operation) -> Result<(), StoreError> {
        self.ask(merchant, &operation, Asker::Nobody).await.map(drop)
    }

    /// The same for what follows from an outcome that was written down a moment ago.
    ///
    /// # Errors
    /// As for [`Payments::finish`].
    pub async fn follow_up(&self, next: Payment) -> Result<(), StoreError> {
        self.go_on(next).await.map(drop)
    }

    async fn go_on(&self, next: Payment) -> Result<Conclusion, StoreError> {
        let answer = self.call(next.order.merchant_id, &next.operation).await?;
        let policy = DecisionPolicy::of(Asker::Nobody);
        self.conclude_known(next, answer, policy).await.map_err(after_asking)
    }

    /// Asks for anything but an authorization, whose card only the shopper's flow has.
    async fn ask(&self, merchant: MerchantId, operation: &Operation, asker: Asker) -> Result<Conclusion, StoreError> {
        let answer = self.call(merchant, operation).await?;
        let policy = DecisionPolicy::of(asker);
        self.conclude(operation.id, answer, policy).await.map_err(after_asking)
    }

    async fn call(&self, merchant_id: MerchantId, operation: &Operation) -> Result<ProcessorReply, StoreError> {
        let (key, amount, reference) = (operation.id, operation.amount, operation.reference.clone());
        let processor = operation.processor.clone();
        let about = operation.authorization.ok_or_else(|| corrupt("an operation without its authorization"));
        Ok(match operation.kind {
            OpKind::Authorize => return Err(corrupt("an authorization is never asked for again")),
            OpKind::Capture => {
                self.processor
                    .capture(CaptureRequest { key, processor, merchant_id, authorization: about?, reference, amount })
                    .await
            }
            OpKind::Void => {
                self.processor.void(VoidRequest { key, processor, merchant_id, authorization: about?, reference }).await
            }
            OpKind::Refund => {
                self.processor
                    .refund(RefundRequest { key, processor, merchant_id, authorization: about?, reference, amount })
                    .await
            }
        })
    }

    /// The change with the entry of the audit log that says who asked for it.
    fn audited(&self, change: ChangeOrder, by: &Acting, action: AuditAction, before: &Order) -> ChangeOrder {
        let entry = self.order_entry(by, action, before);
        let entry = entry.with_after(order_document(&change.order.next).finish());
        ChangeOrder { audit: Some(entry), ..change }
    }

    /// The entry of an act on an Order.
    fn order_entry(&self, by: &Acting, action: AuditAction, before: &Order) -> NewAuditEntry {
        let (id, at) = (self.ids.ordered(), self.clock.now());
        let entry = NewAuditEntry::new(id, at, by.clone(), Some(before.merchant_id), action, before.id);
        entry.with_before(order_document(before).finish())
    }

    /// What a contract's card is charged by; `None` when it is gone: the contract was closed after it was read. Opened before anything is written: a
    /// payment that begins without it would fail, and its reference or attempt would be used up.
    async fn credential(
        &self,
        contracts: &dyn ContractStore,
        contract: &Contract,
    ) -> Result<Option<StoredCredential>, CredentialError> {
        let Some(sealed) = contracts.find_credential(contract.id).await.map_err(CredentialError::Store)? else {
            return Ok(None);
        };
        let vault = self.credentials.as_ref();
        let vault =
            vault.ok_or_else(|| KeyringError::Unavailable("this program has no key to stored cards".to_owned()));
        let opened = vault.and_then(|vault| vault.open(contract.merchant_id, contract.id, &sealed));
        opened.map(Some).map_err(CredentialError::Keyring)
    }

    /// Waits before the next try when requests contend for one Order: longer each round, with full jitter.
    async fn backoff(&self, round: u32) {
        if 0 < round {
            let most = Duration::from_millis(4).saturating_mul(round).min(MAX_BACKOFF);
            let share = self.ids.random().as_bytes()[15];
            tokio::time::sleep(most * u32::from(share) / 255).await;
        }
    }

    /// What holds of a payment by the Order's method.
    pub fn rules(&self, order: &Order) -> PaymentRules<'_> {
        self.catalogue.payment_rules(&order.payment_method)
    }

    pub(crate) fn op_id(&self) -> OpId {
        OpId::new(self.ids.ordered())
    }

    /// The approved authorization of an Order, or the one that still waits.
    async fn authorization_of(&self, order: &Order) -> Result<Operation, StoreError> {
        let operations = self.store.list_operations(order.id).await?;
        let authorization = operations.into_iter().find(|operation| operation.kind == OpKind::Authorize);
        authorization.ok_or_else(|| corrupt("an Order without an authorization"))
    }
}

/// What is asked about an operation of this merchant's.
fn question(merchant_id: MerchantId, operation: &Operation) -> OperationQuery {
    let (processor, reference) = (operation.processor.clone(), operation.reference.clone());
    OperationQuery { key: operation.id, processor, merchant_id, kind: operation.kind, reference }
}

/// The history row of a step of `order`, which is how it stood before.
fn history_row(order: &Order, actor: &Actor, step: &dropin_order::Step) -> NewHistoryEntry {
    NewHistoryEntry {
        merchant_id: order.merchant_id,
        subject: Subject::Order(order.id),
        actor: actor.clone(),
        what: step.transition.trigger.as_str(),
        at: step.change.next.updated_at,
        before: Some(order.state.as_str()),
        after: step.transition.to.as_str(),
    }
}

/// Once the processor was asked, "nothing was changed" would be a lie: the settler will write down what it did.
pub(crate) fn after_asking(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(_) => StoreError::OutcomeUnknown,
        other => other,
    }
}

fn busy(what: &str) -> StoreError {
    StoreError::Unavailable(format!("the Order changes faster than it can be {what}"))
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt { table: "processor_op", what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screening::SCREENING_DEADLINE;

    #[test]
    fn a_call_has_ended_when_somebody_else_may_take_its_operation_over() {
        let Timing { lease, claim, .. } = Timing::default();
        // The store's own deadline (docs/SPECIFICATION.md#http-unavailable), and what a call may end after its own.
        let (step, grace) = (Duration::from_secs(3), Duration::from_secs(1));
        assert!(3 * step + SCREENING_DEADLINE + PROCESSOR_DEADLINE + grace < lease);
        assert!(2 * PROCESSOR_DEADLINE < claim);
    }
}
