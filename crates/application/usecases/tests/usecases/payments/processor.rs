//! A simulated processor with a ledger of its own: it does once what it is asked under each key, and hosts pages that can be paid at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dropin_card::Scheme;
use dropin_contract::CardSummary;
use dropin_kernel::{OpId, OrderId};
use dropin_money::Amount;
use dropin_order::{DeclineReason, OpKind, ProcessorReference};
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, Clock, CredentialApproval, CredentialDeletion, DeleteCredentialRequest,
    IssuerChecks, OperationQuery, PaymentMethodData, Processor, ProcessorReply, RefundRequest, Registration,
    StatusReply, VoidRequest, Waiting,
};

use super::world::TestClock;

/// How long a page can be paid, as the processor says.
const PAGE_TIME: Duration = Duration::from_secs(30 * 60);

/// What a card comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approve,
    Decline,
    DoNotTryAgain,
    /// 3-D Secure, on a page.
    Challenge,
    /// The same, and the money is taken with the authorization.
    ChallengeAndTake,
    /// Approved, and the answer is lost.
    LoseAnswer,
    /// The request arrives when [`SimulatedProcessor::deliver`] says so, if at all.
    LoseRequest,
}

impl Verdict {
    pub(crate) const ALL: [Self; 7] = [
        Self::Approve,
        Self::Decline,
        Self::DoNotTryAgain,
        Self::Challenge,
        Self::ChallengeAndTake,
        Self::LoseAnswer,
        Self::LoseRequest,
    ];

    /// The number of a card that comes to this.
    pub(crate) fn number(self) -> String {
        format!("424242424242424{}", self as u8)
    }

    fn of(number: &str) -> Self {
        Self::ALL.into_iter().find(|verdict| verdict.number() == number).expect("a card of these tests")
    }
}

/// What the shopper does on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Pay,
    Cancel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    OnItsWay,
    OnPage,
    Approved,
    Declined(DeclineReason),
    Abandoned,
}

#[derive(Debug, Clone)]
struct Authorization {
    /// None of a key that was abandoned before its request arrived.
    order: Option<OrderId>,
    amount: Option<Amount>,
    takes_money: bool,
    state: State,
    captured: bool,
    voided: bool,
    refunded: bool,
    /// Whether its approval stores the card.
    stores: bool,
    credential_deleted: bool,
}

impl Authorization {
    /// Whether the card is stored.
    fn has_credential(&self) -> bool {
        self.stores && self.state == State::Approved && !self.credential_deleted
    }

    fn has_money(&self) -> bool {
        self.state == State::Approved && !self.voided && !self.refunded
    }

    /// What became of it; `None` when the processor knows nothing of it.
    fn answer(&self, key: OpId, clock: &TestClock) -> Option<ProcessorReply> {
        Some(match self.state {
            State::OnItsWay => return None,
            State::OnPage => {
                let until = Some(clock.now().plus(PAGE_TIME));
                ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until })
            }
            State::Approved => {
                let (amount, captured) = (self.amount, self.takes_money);
                let approval = || CredentialApproval {
                    stored: self.has_credential().then(|| key.to_string().parse().unwrap()),
                    card: Some(CardSummary {
                        scheme: Scheme::Visa,
                        last_four: "4242".parse().unwrap(),
                        expiry: "2031-12".parse().unwrap(),
                    }),
                    network_transaction_id: None,
                };
                let credential = self.stores.then(|| Box::new(approval()));
                ProcessorReply::Approved {
                    amount,
                    captured,
                    under_review: false,
                    credential,
                    checks: IssuerChecks::default(),
                }
            }
            State::Declined(reason) => declined(reason),
            State::Abandoned => ProcessorReply::Abandoned,
        })
    }
}

fn declined(reason: DeclineReason) -> ProcessorReply {
    ProcessorReply::Declined { reason, retryable: false, credential: None }
}

#[derive(Default)]
struct SimulatedLedger {
    authorizations: BTreeMap<OpId, Authorization>,
    /// Captures, voids and refunds by their keys.
    effects: BTreeMap<OpId, ProcessorReply>,
}

impl SimulatedLedger {
    fn of_order(&mut self, order: OrderId) -> impl Iterator<Item = &mut Authorization> {
        self.authorizations.values_mut().filter(move |one| one.order == Some(order))
    }

    /// Does a capture, void or refund, once for its key.
    fn once(
        &mut self,
        key: OpId,
        about: OpId,
        effect: impl FnOnce(Option<&mut Authorization>) -> ProcessorReply,
    ) -> ProcessorReply {
        if let Some(known) = self.effects.get(&key) {
            return known.clone();
        }
        let answer = effect(self.authorizations.get_mut(&about));
        self.effects.insert(key, answer.clone());
        answer
    }
}

pub(crate) struct SimulatedProcessor {
    ledger: Mutex<SimulatedLedger>,
    clock: std::sync::Arc<TestClock>,
    is_away: AtomicBool,
    leaves_pages_open: AtomicBool,
    /// Whether it knows authorizations by names of its own alone.
    registers: bool,
}

impl SimulatedProcessor {
    pub(crate) fn new(clock: std::sync::Arc<TestClock>) -> Self {
        Self {
            ledger: Mutex::default(),
            clock,
            is_away: AtomicBool::new(false),
            leaves_pages_open: AtomicBool::new(false),
            registers: false,
        }
    }

    /// One that names authorizations itself, and knows nothing of what it is asked about without that name.
    pub(crate) fn registering(clock: std::sync::Arc<TestClock>) -> Self {
        Self { registers: true, ..Self::new(clock) }
    }

    /// What it calls the authorization under this key.
    fn reference(&self, key: OpId) -> Option<ProcessorReference> {
        self.registers.then(|| format!("authorization-{key}").parse().unwrap())
    }

    /// Whether questions about keys are answered at all.
    pub(crate) fn be_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    /// Whether voids are approved and not done, which is what makes an approval come late.
    pub(crate) fn leave_pages_open(&self, leaves_pages_open: bool) {
        self.leaves_pages_open.store(leaves_pages_open, Ordering::SeqCst);
    }

    /// The shopper presses a button on the page of this Order, which does nothing when the page is closed.
    pub(crate) fn press(&self, order: OrderId, choice: Choice) {
        for one in self.ledger.lock().unwrap().of_order(order).filter(|one| one.state == State::OnPage) {
            (one.state, one.captured) = match choice {
                Choice::Pay => (State::Approved, one.takes_money),
                Choice::Cancel => (State::Declined(DeclineReason::CancelledByShopper), false),
            };
        }
    }

    /// The request that was lost on its way arrives; a key that was abandoned meanwhile is refused.
    pub(crate) fn deliver(&self, order: OrderId) {
        for one in self.ledger.lock().unwrap().of_order(order).filter(|one| one.state == State::OnItsWay) {
            one.state = State::Approved;
        }
    }

    /// The Orders for which the shopper's money is reserved or was taken.
    pub(crate) fn orders_with_money(&self) -> BTreeSet<OrderId> {
        let ledger = self.ledger.lock().unwrap();
        ledger.authorizations.values().filter(|one| one.has_money()).filter_map(|one| one.order).collect()
    }

    /// The Orders whose card is stored.
    pub(crate) fn orders_with_credential(&self) -> BTreeSet<OrderId> {
        let ledger = self.ledger.lock().unwrap();
        ledger.authorizations.values().filter(|one| one.has_credential()).filter_map(|one| one.order).collect()
    }

    /// Whether the money of this Order was taken and not given back.
    pub(crate) fn has_taken(&self, order: OrderId) -> bool {
        self.ledger.lock().unwrap().of_order(order).any(|one| one.captured && one.has_money())
    }
}

#[async_trait]
impl Processor for SimulatedProcessor {
    async fn register(&self, request: &AuthorizeRequest) -> Registration {
        self.reference(request.key).map_or(Registration::Unneeded, Registration::Registered)
    }

    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        assert_eq!(request.reference, self.reference(request.key), "what it is known by");
        let PaymentMethodData::Card(card) = &request.method_data else { panic!("cards alone are simulated") };
        let verdict = Verdict::of(card.expose_number());
        let state = match verdict {
            Verdict::Approve | Verdict::LoseAnswer => State::Approved,
            Verdict::Decline => State::Declined(DeclineReason::Generic),
            Verdict::DoNotTryAgain => State::Declined(DeclineReason::DoNotTryAgain),
            Verdict::Challenge | Verdict::ChallengeAndTake => State::OnPage,
            Verdict::LoseRequest => State::OnItsWay,
        };
        let mut ledger = self.ledger.lock().unwrap();
        let one = ledger.authorizations.entry(request.key).or_insert(Authorization {
            order: Some(request.order_id),
            amount: Some(request.amount),
            takes_money: verdict == Verdict::ChallengeAndTake,
            state,
            captured: false,
            voided: false,
            refunded: false,
            stores: request.store.is_some(),
            credential_deleted: false,
        });
        let lost = || ProcessorReply::Unknown { why: "lost".to_owned() };
        one.answer(request.key, &self.clock).filter(|_| verdict != Verdict::LoseAnswer).unwrap_or_else(lost)
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        let done = ProcessorReply::Approved {
            amount: Some(request.amount),
            captured: false,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default(),
        };
        assert_eq!(request.reference, self.reference(request.authorization), "what it is known by");
        self.ledger.lock().unwrap().once(request.key, request.authorization, |one| match one {
            Some(one) if one.has_money() && !one.captured => {
                one.captured = true;
                done
            }
            _ => declined(DeclineReason::Generic),
        })
    }

    async fn void(&self, request: VoidRequest) -> ProcessorReply {
        assert_eq!(request.reference, self.reference(request.authorization), "what it is known by");
        let leaves_open = self.leaves_pages_open.load(Ordering::SeqCst);
        let done = || ProcessorReply::Approved {
            amount: None,
            captured: false,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default(),
        };
        self.ledger.lock().unwrap().once(request.key, request.authorization, |one| match one {
            Some(_) if leaves_open => done(),
            Some(one) if one.state == State::OnPage => {
                one.state = State::Declined(DeclineReason::Voided);
                done()
            }
            Some(one) if one.voided || one.state == State::Declined(DeclineReason::Voided) => {
                declined(DeclineReason::Voided)
            }
            Some(one) if one.has_money() && !one.captured => {
                one.voided = true;
                done()
            }
            _ => declined(DeclineReason::Generic),
        })
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        let done = ProcessorReply::Approved {
            amount: Some(request.amount),
            captured: false,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default(),
        };
        assert_eq!(request.reference, self.reference(request.authorization), "what it is known by");
        self.ledger.lock().unwrap().once(request.key, request.authorization, |one| match one {
            Some(one) if one.captured && !one.refunded => {
                one.refunded = true;
                done
            }
            _ => declined(DeclineReason::Generic),
        })
    }

    async fn status(&self, question: OperationQuery) -> StatusReply {
        if self.is_away.load(Ordering::SeqCst) {
            return StatusReply::Unreachable { why: "away".to_owned() };
        }
        if self.registers && question.reference.is_none() {
            assert_eq!(question.kind, OpKind::Authorize, "it is about one that was asked for");
            return StatusReply::Absent;
        }
        let ledger = self.ledger.lock().unwrap();
        let known = match question.kind {
            OpKind::Authorize => {
                ledger.authorizations.get(&question.key).and_then(|one| one.answer(question.key, &self.clock))
            }
            OpKind::Capture | OpKind::Void | OpKind::Refund => ledger.effects.get(&question.key).cloned(),
        };
        known.map_or(StatusReply::Absent, StatusReply::Known)
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        if self.is_away.load(Ordering::SeqCst) {
            return StatusReply::Unreachable { why: "away".to_owned() };
        }
        if self.registers && question.reference.is_none() {
            // There is nothing that it could refuse: whoever asks for money without its name would get some.
            return StatusReply::Known(ProcessorReply::Abandoned);
        }
        let mut ledger = self.ledger.lock().unwrap();
        let one = ledger.authorizations.entry(question.key).or_insert(Authorization {
            order: None,
            amount: None,
            takes_money: false,
            state: State::OnItsWay,
            captured: false,
            voided: false,
            refunded: false,
            stores: false,
            credential_deleted: false,
        });
        match one.state {
            State::OnItsWay => one.state = State::Abandoned,
            State::OnPage => one.state = State::Declined(DeclineReason::PageClosed),
            State::Approved | State::Declined(_) | State::Abandoned => {}
        }
        StatusReply::Known(one.answer(question.key, &self.clock).expect("it is known now"))
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        let mut ledger = self.ledger.lock().unwrap();
        let found = ledger.authorizations.iter_mut().find(|(key, _)| key.to_string() == request.credential.expose());
        found.expect("what is deleted was stored here").1.credential_deleted = true;
        CredentialDeletion::Gone
    }
}
