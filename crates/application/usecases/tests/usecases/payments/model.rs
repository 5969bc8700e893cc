//! The attempts of one Session against a reference model that is too simple to be wrong: a state, a count, and what the processor has of each attempt.
//! Whatever shoppers, merchants, banks and time do in whatever order, both agree after every step, and in the end one attempt has money, or none.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use dropin_kernel::Timestamp;
use dropin_ports::Clock;
use dropin_session::Session;
use dropin_usecases::sessions::as_of;
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use tokio::runtime::Runtime;

use super::deployment::{Deployment, Program};
use super::processor::{Choice, Verdict};
use super::steps::{Payer, Step};

/// What the processor has of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    Nothing,
    /// The request is still on its way.
    Request,
    /// A page that can be paid; paying it may take the money at once.
    Page {
        takes: bool,
    },
    /// The shopper's money.
    Money {
        taken: bool,
    },
}

#[derive(Debug, Clone)]
struct Model {
    auto_capture: bool,
    allowed: u32,
    failed: u32,
    state: &'static str,
    /// The attempt that runs.
    alive: Option<usize>,
    paid: Option<usize>,
    attempts: Vec<Has>,
    is_over: bool,
    is_away: bool,
}

impl Model {
    fn fail(&mut self) {
        (self.alive, self.failed) = (None, self.failed + 1);
        self.state = match (self.failed == self.allowed, self.is_over) {
            (true, _) => "FAILED",
            (false, true) => "CANCELLED",
            (false, false) => "CREATED",
        };
    }

    fn complete(&mut self, number: usize) {
        (self.alive, self.paid, self.state) = (None, Some(number), "COMPLETED");
    }

    fn submit(&mut self, verdict: Verdict) {
        let number = self.attempts.len();
        self.attempts.push(Has::Nothing);
        if self.state != "CREATED" {
            return;
        }
        (self.state, self.alive) = ("PROCESSING", Some(number));
        self.attempts[number] = match verdict {
            Verdict::Approve | Verdict::LoseAnswer => Has::Money { taken: false },
            Verdict::Decline | Verdict::DoNotTryAgain => Has::Nothing,
            Verdict::Challenge => Has::Page { takes: false },
            Verdict::ChallengeAndTake => Has::Page { takes: true },
            Verdict::LoseRequest => Has::Request,
        };
        match verdict {
            Verdict::Approve => self.complete(number),
            Verdict::Decline | Verdict::DoNotTryAgain => self.fail(),
            Verdict::Challenge | Verdict::ChallengeAndTake => self.state = "REDIRECTED",
            Verdict::LoseAnswer | Verdict::LoseRequest => {}
        }
    }

    /// The processor is asked about the attempt that runs.
    fn ask(&mut self) {
        let Some(number) = self.alive.filter(|_| !self.is_away) else { return };
        match self.attempts[number] {
            Has::Money { .. } => self.complete(number),
            Has::Page { .. } => {}
            // A request that has not arrived is refused from now on.
            Has::Nothing | Has::Request => self.lose(number),
        }
    }

    fn lose(&mut self, number: usize) {
        self.attempts[number] = Has::Nothing;
        self.fail();
    }

    fn pay_another_way(&mut self, number: usize) {
        if self.state != "REDIRECTED" || self.alive != Some(number) || self.is_away {
            return;
        }
        if let Has::Page { .. } = self.attempts[number] {
            self.attempts[number] = Has::Nothing;
        }
        self.ask();
    }

    fn press(&mut self, number: usize, choice: Choice) {
        if let Has::Page { takes } = self.attempts[number] {
            self.attempts[number] = match choice {
                Choice::Pay => Has::Money { taken: takes },
                Choice::Cancel => Has::Nothing,
            };
        }
    }

    /// What came late is given back.
    fn settle(&mut self) {
        self.ask();
        for number in 0..self.attempts.len() {
            let late = self.alive != Some(number) && self.paid != Some(number);
            if late && matches!(self.attempts[number], Has::Money { .. }) && !self.is_away {
                self.attempts[number] = Has::Nothing;
            }
        }
    }

    fn end_pages(&mut self, in_name_only: bool) {
        let Some(number) = self.alive.filter(|_| self.state == "REDIRECTED") else { return };
        match self.attempts[number] {
            _ if in_name_only => self.fail(),
            Has::Page { .. } | Has::Money { taken: false } => self.lose(number),
            // There is nothing to void: what became of it is asked.
            Has::Money { taken: true } | Has::Nothing | Has::Request => {}
        }
    }

    fn after(mut self, step: Step) -> Self {
        match step {
            Step::Submit(verdict) => self.submit(verdict),
            Step::ComeBack(number) if self.alive == Some(number) => self.ask(),
            Step::PayAnotherWay(number) => self.pay_another_way(number),
            Step::Press(number, choice) => self.press(number, choice),
            Step::Deliver(number) if self.attempts[number] == Has::Request => {
                self.attempts[number] = Has::Money { taken: false };
            }
            Step::Settle => self.settle(),
            Step::EndPages { in_name_only } => self.end_pages(in_name_only),
            Step::EndSession => {
                self.is_over = true;
                if self.state == "CREATED" {
                    self.state = "CANCELLED";
                }
            }
            Step::Cancel if self.state == "CREATED" => self.state = "CANCELLED",
            Step::BeAway(is_away) => self.is_away = is_away,
            Step::SubmitAgain(_) | Step::ComeBack(_) | Step::Deliver(_) | Step::Replace | Step::Cancel => {}
        }
        self
    }

    fn with_money(&self) -> BTreeSet<usize> {
        let has_money = |number: &usize| matches!(self.attempts[*number], Has::Money { .. });
        (0..self.attempts.len()).filter(has_money).collect()
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        let model = |(auto_capture, allowed)| Self {
            auto_capture,
            allowed,
            failed: 0,
            state: "CREATED",
            alive: None,
            paid: None,
            attempts: Vec::new(),
            is_over: false,
            is_away: false,
        };
        (any::<bool>(), prop_oneof![1 => Just(1_u32), 3 => 2_u32..=5]).prop_map(model).boxed()
    }

    fn transitions(model: &Self) -> BoxedStrategy<Step> {
        let others = prop_oneof![
            8 => prop::sample::select(&Verdict::ALL[..]).prop_map(Step::Submit),
            4 => Just(Step::Settle),
            3 => any::<bool>().prop_map(|in_name_only| Step::EndPages { in_name_only }),
            2 => Just(Step::Replace),
            1 => any::<bool>().prop_map(Step::BeAway),
            1 => prop_oneof![1 => Just(Step::Cancel), 1 => Just(Step::EndSession)],
        ];
        if model.attempts.is_empty() {
            return others.boxed();
        }
        let number = 0..model.attempts.len();
        let choice = prop_oneof![3 => Just(Choice::Pay), 1 => Just(Choice::Cancel)];
        prop_oneof![
            19 => others,
            6 => (number.clone(), choice).prop_map(|(number, choice)| Step::Press(number, choice)),
            3 => number.clone().prop_map(Step::ComeBack),
            3 => number.clone().prop_map(Step::PayAnotherWay),
            2 => number.clone().prop_map(Step::SubmitAgain),
            2 => number.prop_map(Step::Deliver),
        ]
        .boxed()
    }

    fn apply(model: Self, step: &Step) -> Self {
        model.after(*step)
    }

    fn preconditions(model: &Self, step: &Step) -> bool {
        match step {
            Step::Press(number, _)
            | Step::ComeBack(number)
            | Step::PayAnotherWay(number)
            | Step::SubmitAgain(number)
            | Step::Deliver(number) => *number < model.attempts.len(),
            _ => true,
        }
    }
}

/// The deployment of all cases, each of which has a Session of its own.
struct Shared {
    deployment: Arc<Deployment>,
    program: Program,
    runtime: Runtime,
}

thread_local! {
    static SHARED: Rc<Shared> = {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let deployment = Arc::new(runtime.block_on(Deployment::new()));
        Rc::new(Shared { program: deployment.start(), deployment, runtime })
    };
}

struct Real {
    shared: Rc<Shared>,
    payer: Payer,
}

impl Real {
    fn take(&mut self, step: Step) -> bool {
        let Self { shared, payer } = self;
        shared.runtime.block_on(async {
            payer.prepare(&shared.program, step).await;
            payer.take(&shared.program, step).await.expect("the store and the processor work")
        })
    }

    fn now(&self) -> Timestamp {
        self.shared.deployment.clock.now()
    }

    fn session(&self) -> Session {
        let stored = self.shared.runtime.block_on(self.payer.stored(&self.shared.program));
        as_of(stored, self.now())
    }
}

impl StateMachineTest for Real {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(model: &Model) -> Self {
        let shared = SHARED.with(Rc::clone);
        // What a case before this one has left.
        shared.deployment.processor.be_away(false);
        let payer = Payer::new(&shared.deployment, &shared.program, model.allowed, model.auto_capture, false);
        let payer = shared.runtime.block_on(payer);
        Self { shared, payer }
    }

    fn apply(mut real: Self, model: &Model, step: Step) -> Self {
        let before = real.session();
        let allowed = real.take(step);
        if let Step::Replace | Step::Cancel = step {
            assert_eq!(allowed, before.as_created().is_ok(), "{step:?} of a Session that is {:?}", before.state);
        }
        assert_eq!(model.allowed, before.attempts.allowed(), "no step changes how many attempts there are");
        real
    }

    fn check_invariants(real: &Self, model: &Model) {
        let session = real.session();
        assert_eq!(session.state.kind().as_str(), model.state);
        assert_eq!(session.attempts.failed(), model.failed, "attempts that failed");
        let current = if model.state == "FAILED" { real.payer.current(&session) } else { model.alive.or(model.paid) };
        assert_eq!(real.payer.current(&session), current, "the attempt that it is about");
        let with_money = real.shared.runtime.block_on(real.payer.attempts_with_money(&real.shared.program));
        assert_eq!(with_money, model.with_money(), "attempts with money");
    }

    fn teardown(mut real: Self, model: Model) {
        // The processor is back, the settler looks, every page ends at last, and the settler looks once more.
        let mut end = vec![Step::BeAway(false), Step::Settle, Step::EndPages { in_name_only: false }];
        end.extend((0..model.attempts.len()).map(|number| Step::Press(number, Choice::Cancel)));
        end.push(Step::Settle);
        let model = end.into_iter().fold(model, |model, step| {
            real.take(step);
            model.after(step)
        });
        Self::check_invariants(&real, &model);
        assert_eq!(model.with_money(), model.paid.into_iter().collect(), "the model itself keeps one payment at most");
        real.shared.runtime.block_on(real.payer.must_be_at_rest(&real.shared.program));
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn attempts_agree_with_the_model(sequential 1..25 => Real);
}
