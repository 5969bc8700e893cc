//! A processor that gives the answers that a test sets, and only when the test lets it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dropin_money::Amount;
use dropin_order::DeclineReason;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, IssuerChecks, OperationQuery,
    Processor, ProcessorReply, RefundRequest, StatusReply, VoidRequest,
};
use tokio::sync::watch;

pub(crate) struct ProcessorStub {
    open: watch::Sender<bool>,
    pub(crate) asked: watch::Sender<usize>,
    next: Mutex<Option<ProcessorReply>>,
}

impl ProcessorStub {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { open: watch::Sender::new(true), asked: watch::Sender::new(0), next: Mutex::new(None) })
    }

    /// What the next question is answered with; approved when nothing was said.
    pub(crate) fn will_say(&self, answer: ProcessorReply) {
        *self.next.lock().unwrap() = Some(answer);
    }

    pub(crate) fn hold(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn release(&self) {
        self.open.send_replace(true);
    }

    pub(crate) async fn until_asked(&self, times: usize) {
        let asked = async { drop(self.asked.subscribe().wait_for(|asked| *asked == times).await.unwrap()) };
        tokio::time::timeout(Duration::from_secs(20), asked).await.expect("the processor is asked");
    }

    async fn answer(&self, amount: Option<Amount>) -> ProcessorReply {
        self.asked.send_modify(|asked| *asked += 1);
        drop(self.open.subscribe().wait_for(|open| *open).await.unwrap());
        let approved = ProcessorReply::Approved {
            amount,
            captured: false,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default(),
        };
        self.next.lock().unwrap().take().unwrap_or(approved)
    }
}

#[async_trait]
impl Processor for ProcessorStub {
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        panic!("authorization {} was asked", request.key)
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        self.answer(Some(request.amount)).await
    }

    async fn void(&self, _: VoidRequest) -> ProcessorReply {
        self.answer(None).await
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        self.answer(Some(request.amount)).await
    }

    async fn status(&self, _: OperationQuery) -> StatusReply {
        match self.next.lock().unwrap().take() {
            Some(answer) => StatusReply::Known(answer),
            None => StatusReply::Absent,
        }
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        panic!("{} was abandoned", question.key)
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        panic!("the deletion {} was asked", request.key)
    }
}

/// A refusal.
pub(crate) fn declined(retryable: bool) -> ProcessorReply {
    ProcessorReply::Declined { reason: DeclineReason::Generic, retryable, credential: None }
}
