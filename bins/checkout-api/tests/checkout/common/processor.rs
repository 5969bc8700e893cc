//! A processor that approves everything unless a test sets another answer.

use std::sync::Mutex;

use async_trait::async_trait;
use dropin_card::Scheme;
use dropin_money::Amount;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, IssuerChecks, OperationQuery,
    PaymentMethodData, Processor, ProcessorReply, RefundRequest, StatusReply, VoidRequest, Waiting,
};

#[derive(Default)]
pub(crate) struct ProcessorStub {
    next: Mutex<Option<ProcessorReply>>,
    known: Mutex<Option<StatusReply>>,
    /// What was asked, in order.
    pub(crate) asked: Mutex<Vec<&'static str>>,
    /// The data of wallets' tokens that were paid with.
    pub(crate) tokens: Mutex<Vec<String>>,
    /// The schemes that were chosen of co-badged cards.
    pub(crate) schemes: Mutex<Vec<Scheme>>,
    /// The postcodes that issuers were to compare.
    pub(crate) postcodes: Mutex<Vec<String>>,
    /// Where pages were to send the shopper back.
    pub(crate) way_back: Mutex<Option<String>>,
}

/// The shopper has to go on at this page.
pub(crate) fn redirect(page: &str) -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: page.to_owned(), until: None })
}

impl ProcessorStub {
    /// What the next question is answered with.
    pub(crate) fn will_say(&self, answer: ProcessorReply) {
        *self.next.lock().unwrap() = Some(answer);
    }

    /// What it says from now on when it is asked about a key.
    pub(crate) fn knows(&self, answer: ProcessorReply) {
        *self.known.lock().unwrap() = Some(StatusReply::Known(answer));
    }

    fn answer(&self, what: &'static str, amount: Option<Amount>) -> ProcessorReply {
        self.asked.lock().unwrap().push(what);
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
        *self.way_back.lock().unwrap() = request.return_url;
        if let PaymentMethodData::WalletToken(token) = &request.method_data {
            self.tokens.lock().unwrap().push(token.expose_data().to_owned());
        }
        self.schemes.lock().unwrap().extend(request.scheme);
        self.postcodes.lock().unwrap().extend(request.postcode.clone());
        self.answer("authorize", Some(request.amount))
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        self.answer("capture", Some(request.amount))
    }

    async fn void(&self, _: VoidRequest) -> ProcessorReply {
        self.answer("void", None)
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        self.answer("refund", Some(request.amount))
    }

    async fn status(&self, _: OperationQuery) -> StatusReply {
        let silent = || StatusReply::Unreachable { why: "nobody answers".to_owned() };
        self.known.lock().unwrap().clone().unwrap_or_else(silent)
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        panic!("{} was abandoned", question.key)
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        panic!("the deletion {} was asked", request.key)
    }
}
