//! A processor that approves everything unless it is told otherwise.

use std::sync::Mutex;

use async_trait::async_trait;
use dropin_money::Amount;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, Means, Processor, ProcessorAnswer, Question, RefundRequest, StatusAnswer,
    VoidRequest, Waiting,
};

#[derive(Default)]
pub(crate) struct Bank {
    next: Mutex<Option<ProcessorAnswer>>,
    known: Mutex<Option<StatusAnswer>>,
    /// What was asked, in order.
    pub(crate) asked: Mutex<Vec<&'static str>>,
    /// The data of wallets' tokens that were paid with.
    pub(crate) tokens: Mutex<Vec<String>>,
    /// Where pages were to send the shopper back.
    pub(crate) way_back: Mutex<Option<String>>,
}

/// The shopper has to go on at this page.
pub(crate) fn redirect(page: &str) -> ProcessorAnswer {
    ProcessorAnswer::Pending(Waiting::Shopper { page: page.to_owned(), until: None })
}

impl Bank {
    /// What the next question is answered with.
    pub(crate) fn will_say(&self, answer: ProcessorAnswer) {
        *self.next.lock().unwrap() = Some(answer);
    }

    /// What it says from now on when it is asked about a key.
    pub(crate) fn knows(&self, answer: ProcessorAnswer) {
        *self.known.lock().unwrap() = Some(StatusAnswer::Known(answer));
    }

    fn answer(&self, what: &'static str, amount: Option<Amount>) -> ProcessorAnswer {
        self.asked.lock().unwrap().push(what);
        let approved = ProcessorAnswer::Approved { amount, captured: false, under_review: false };
        self.next.lock().unwrap().take().unwrap_or(approved)
    }
}

#[async_trait]
impl Processor for Bank {
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorAnswer {
        *self.way_back.lock().unwrap() = request.return_url;
        if let Means::WalletToken(token) = &request.means {
            self.tokens.lock().unwrap().push(token.expose_data().to_owned());
        }
        self.answer("authorize", Some(request.amount))
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorAnswer {
        self.answer("capture", Some(request.amount))
    }

    async fn void(&self, _: VoidRequest) -> ProcessorAnswer {
        self.answer("void", None)
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorAnswer {
        self.answer("refund", Some(request.amount))
    }

    async fn status(&self, _: Question) -> StatusAnswer {
        let silent = || StatusAnswer::Unreachable { why: "nobody answers".to_owned() };
        self.known.lock().unwrap().clone().unwrap_or_else(silent)
    }

    async fn abandon(&self, question: Question) -> StatusAnswer {
        panic!("{} was abandoned", question.key)
    }
}
