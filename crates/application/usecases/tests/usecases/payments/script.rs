//! A processor that says what the case wants, once, and otherwise does what it was asked.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dropin_contract::StoredCredentialUse;
use dropin_kernel::OpId;
use dropin_money::Amount;
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, IssuerChecks, OperationQuery,
    PaymentMethodData, Processor, ProcessorReply, RefundRequest, StatusReply, StoredCredentialPayment, VoidRequest,
};
use dropin_risk::ScaExemption;
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Script {
    next: Mutex<HashMap<&'static str, VecDeque<ProcessorReply>>>,
    statuses: Mutex<VecDeque<StatusReply>>,
    abandons: Mutex<VecDeque<StatusReply>>,
    questions: AtomicUsize,
    calls: Mutex<Vec<(OpKind, OpId)>>,
    references: Mutex<Vec<Option<String>>>,
    challenges: Mutex<Vec<bool>>,
    exemptions: Mutex<Vec<Option<ScaExemption>>>,
    paid_by_credential: Mutex<Vec<PaidByCredential>>,
    /// While it is there, the next authorization, capture or void waits for it.
    pub(crate) gate: Mutex<Option<std::sync::Arc<Gate>>>,
}

/// What it was given to charge a stored card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaidByCredential {
    pub(crate) credential: String,
    pub(crate) credential_use: StoredCredentialUse,
    pub(crate) linked: Option<String>,
    pub(crate) code: Option<String>,
}

impl From<&StoredCredentialPayment> for PaidByCredential {
    fn from(payment: &StoredCredentialPayment) -> Self {
        Self {
            credential: payment.credential().expose().to_owned(),
            credential_use: payment.mark().credential_use,
            linked: payment.mark().network_transaction_id.as_ref().map(ToString::to_string),
            code: payment.verification_code().map(|code| code.expose().to_owned()),
        }
    }
}

/// Holds a call until the case lets it go.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) arrived: Notify,
    pub(crate) open: Notify,
}

pub(crate) fn approved(amount: &Amount) -> ProcessorReply {
    ProcessorReply::Approved {
        amount: Some(*amount),
        captured: false,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

pub(crate) fn unclear() -> ProcessorReply {
    ProcessorReply::Unknown { why: "a time-out".to_owned() }
}

pub(crate) fn declined(retryable: bool) -> ProcessorReply {
    ProcessorReply::Declined { reason: DeclineReason::Generic, retryable, credential: None }
}

impl Script {
    /// What the next call of that kind is answered.
    pub(crate) fn say(&self, kind: OpKind, answer: ProcessorReply) {
        self.next.lock().unwrap().entry(kind.as_str()).or_default().push_back(answer);
    }

    /// What the next question about a key is answered; absent when nothing is left.
    pub(crate) fn know(&self, answer: ProcessorReply) {
        self.know_status(StatusReply::Known(answer));
    }

    pub(crate) fn know_status(&self, answer: StatusReply) {
        self.statuses.lock().unwrap().push_back(answer);
    }

    /// What the next attempt to abandon a key is answered; ABANDONED when nothing is left.
    pub(crate) fn on_abandon(&self, answer: StatusReply) {
        self.abandons.lock().unwrap().push_back(answer);
    }

    /// How often it was asked about a key.
    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }

    /// What shoppers shall write on transfers, as it was told with each authorization.
    pub(crate) fn payment_references(&self) -> Vec<Option<String>> {
        self.references.lock().unwrap().clone()
    }

    /// Whether the shopper was to authenticate, as it was told with each authorization.
    pub(crate) fn challenges(&self) -> Vec<bool> {
        self.challenges.lock().unwrap().clone()
    }

    /// Why nobody need authenticate, as it was told with each authorization.
    pub(crate) fn exemptions(&self) -> Vec<Option<ScaExemption>> {
        self.exemptions.lock().unwrap().clone()
    }

    /// The stored cards that it was to charge, as it was told.
    pub(crate) fn paid_by_credential(&self) -> Vec<PaidByCredential> {
        self.paid_by_credential.lock().unwrap().clone()
    }

    /// How often something was asked, and the keys.
    pub(crate) fn asked(&self, kind: OpKind) -> Vec<OpId> {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|(asked, _key)| *asked == kind).map(|(_kind, key)| *key).collect()
    }

    async fn pass(&self) {
        let gate = self.gate.lock().unwrap().take();
        if let Some(gate) = gate {
            gate.arrived.notify_one();
            gate.open.notified().await;
        }
    }

    fn answer(&self, kind: OpKind, key: OpId, amount: Option<&Amount>) -> ProcessorReply {
        self.calls.lock().unwrap().push((kind, key));
        let scripted = self.next.lock().unwrap().get_mut(kind.as_str()).and_then(VecDeque::pop_front);
        let plain = || ProcessorReply::Approved {
            amount: amount.cloned(),
            captured: false,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default(),
        };
        scripted.unwrap_or_else(plain)
    }
}

#[async_trait]
impl Processor for Script {
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        if let PaymentMethodData::StoredCredential(payment) = &request.method_data {
            self.paid_by_credential.lock().unwrap().push((&**payment).into());
        }
        self.references.lock().unwrap().push(request.payment_reference.clone());
        self.challenges.lock().unwrap().push(request.challenge);
        self.exemptions.lock().unwrap().push(request.exemption);
        self.pass().await;
        self.answer(OpKind::Authorize, request.key, Some(&request.amount))
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        self.pass().await;
        self.answer(OpKind::Capture, request.key, Some(&request.amount))
    }

    async fn void(&self, request: VoidRequest) -> ProcessorReply {
        self.pass().await;
        self.answer(OpKind::Void, request.key, None)
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        self.answer(OpKind::Refund, request.key, Some(&request.amount))
    }

    async fn status(&self, _: OperationQuery) -> StatusReply {
        self.questions.fetch_add(1, Ordering::SeqCst);
        self.statuses.lock().unwrap().pop_front().unwrap_or(StatusReply::Absent)
    }

    async fn abandon(&self, _: OperationQuery) -> StatusReply {
        self.pass().await;
        let scripted = self.abandons.lock().unwrap().pop_front();
        scripted.unwrap_or(StatusReply::Known(ProcessorReply::Abandoned))
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        panic!("{request:?}: no card is deleted here")
    }
}
