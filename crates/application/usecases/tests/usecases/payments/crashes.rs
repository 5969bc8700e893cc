//! A fault between every two steps of every use case that moves an attempt (docs/SPECIFICATION.md#session-attempts): programs that are started afterwards bring the
//! Session to rest, the same request again is answered, and the Session can be paid, once.

use std::sync::Arc;

use dropin_session::SessionStateKind;

use super::deployment::{Deployment, Program};
use super::fault::{Fault, FaultPoint};
use super::processor::{Choice, Verdict};
use super::steps::{Payer, Step};

/// How often the settler looks until everything must be settled: what was asked in one look is found out in the next.
const MAX_SETTLER_ROUNDS: usize = 4;
/// More calls than any use case makes.
const MAX_CALLS: usize = 60;

/// What happened before, and the step that meets a fault.
struct Case {
    before: &'static [Step],
    step: Step,
}

/// Of the Session.
#[derive(Clone, Copy)]
struct Sort {
    attempts_allowed: u32,
    opens_contract: bool,
    /// Whether it brings the shopper back to a contract, whose card is replaced.
    brings_back: bool,
    screened: bool,
    /// Whether its processor names authorizations itself.
    registered: bool,
}

const PLAIN: Sort =
    Sort { attempts_allowed: 5, opens_contract: false, brings_back: false, screened: false, registered: false };
const SUBSCRIPTION: Sort = Sort { opens_contract: true, ..PLAIN };
const SCREENED: Sort = Sort { screened: true, ..PLAIN };
const REGISTERED: Sort = Sort { registered: true, ..PLAIN };
const RETURN: Sort = Sort { brings_back: true, ..PLAIN };

const IN_NAME_ONLY: Step = Step::EndPages { in_name_only: true };

const CASES: &[Case] = {
    use Choice::{Cancel, Pay};
    use Step::{ComeBack, EndPages, PayAnotherWay, Press, Settle, Submit};
    use Verdict::{Approve, Challenge, ChallengeAndTake, Decline, DoNotTryAgain, LoseAnswer, LoseRequest};
    const fn case(before: &'static [Step], step: Step) -> Case {
        Case { before, step }
    }
    &[
        case(&[], Submit(Approve)),
        case(&[], Submit(Decline)),
        case(&[Submit(Decline)], Submit(DoNotTryAgain)),
        case(&[Submit(DoNotTryAgain)], Submit(DoNotTryAgain)),
        case(&[Submit(Decline)], Submit(Approve)),
        case(&[], Submit(Challenge)),
        case(&[], Submit(LoseAnswer)),
        case(&[], Submit(LoseRequest)),
        case(&[Submit(Challenge)], ComeBack(0)),
        case(&[Submit(Challenge), Press(0, Pay)], ComeBack(0)),
        case(&[Submit(ChallengeAndTake), Press(0, Pay)], ComeBack(0)),
        case(&[Submit(Challenge), Press(0, Cancel)], ComeBack(0)),
        case(&[Submit(LoseAnswer)], ComeBack(0)),
        case(&[Submit(LoseRequest)], ComeBack(0)),
        case(&[Submit(Challenge)], PayAnotherWay(0)),
        case(&[Submit(Challenge), Press(0, Pay)], PayAnotherWay(0)),
        case(&[Submit(ChallengeAndTake), Press(0, Pay)], PayAnotherWay(0)),
        case(&[Submit(Challenge), Press(0, Cancel)], PayAnotherWay(0)),
        // A decline and an approval that nobody waits for.
        case(&[Submit(Challenge), Press(0, Cancel)], Settle),
        case(&[Submit(Challenge), Press(0, Pay)], Settle),
        // Recovering what is unknown: it was done, or the key is refused for ever.
        case(&[Submit(LoseAnswer)], Settle),
        case(&[Submit(LoseRequest)], Settle),
        // A late approval, with and without another attempt that was paid meanwhile: voided, or refunded in full.
        case(&[Submit(Challenge), IN_NAME_ONLY, Press(0, Pay)], Settle),
        case(&[Submit(ChallengeAndTake), IN_NAME_ONLY, Press(0, Pay)], Settle),
        case(&[Submit(Challenge), IN_NAME_ONLY, Submit(Approve), Press(0, Pay)], Settle),
        case(&[Submit(ChallengeAndTake), IN_NAME_ONLY, Submit(Approve), Press(0, Pay)], Settle),
        case(&[Submit(ChallengeAndTake), IN_NAME_ONLY, Submit(Challenge), Press(0, Pay), Press(1, Pay)], Settle),
        // The end of a page, paid or not.
        case(&[Submit(Challenge)], EndPages { in_name_only: false }),
        case(&[Submit(Challenge), Press(0, Pay)], EndPages { in_name_only: false }),
        case(&[Submit(ChallengeAndTake), Press(0, Pay)], EndPages { in_name_only: false }),
    ]
};

/// One run with a fault at this point, on a program that has just been started; the program that was started after the fault.
async fn run(
    deployment: &Arc<Deployment>,
    program: Program,
    case: &Case,
    of: Sort,
    point: &Arc<FaultPoint>,
) -> Program {
    let Sort { attempts_allowed, opens_contract, brings_back, screened: _, registered: _ } = of;
    let mut payer = match brings_back {
        true => Payer::brought_back(deployment, &program, attempts_allowed).await,
        false => Payer::new(deployment, &program, attempts_allowed, true, opens_contract).await,
    };
    for step in case.before {
        payer.prepare(&program, *step).await;
        payer.take(&program, *step).await.unwrap();
    }
    payer.prepare(&program, case.step).await;
    let faulty = deployment.with_fault(&program, point);
    // Whatever its caller is told; one that was killed tells nothing.
    drop(point.run(payer.take(&faulty, case.step)).await);
    drop((faulty, program));
    let program = deployment.start();
    rest(&mut payer, &program).await;
    payer.take(&program, case.step).await.expect("the same request again is answered");
    rest(&mut payer, &program).await;
    pay(&mut payer, &program, attempts_allowed).await;
    program
}

async fn rest(payer: &mut Payer, program: &Program) {
    for _ in 0..MAX_SETTLER_ROUNDS {
        payer.take(program, Step::Settle).await.unwrap();
    }
    payer.must_be_at_rest(program).await;
}

/// Pays the Session if that has not happened: no fault keeps a shopper from it.
async fn pay(payer: &mut Payer, program: &Program, attempts_allowed: u32) {
    if payer.stored(program).await.state.kind() == SessionStateKind::Redirected {
        payer.press_current(program, Choice::Pay).await;
        rest(payer, program).await;
    }
    if payer.stored(program).await.state.kind() == SessionStateKind::Created {
        let step = Step::Submit(Verdict::Approve);
        payer.prepare(program, step).await;
        assert!(payer.take(program, step).await.unwrap(), "another attempt may be made");
        rest(payer, program).await;
    }
    let session = payer.stored(program).await;
    let expected = match session.attempts.failed() {
        failed if failed == attempts_allowed => SessionStateKind::Failed,
        _ => SessionStateKind::Completed,
    };
    assert_eq!(session.state.kind(), expected);
}

/// Every case with this fault at each of its calls, until none is left.
async fn everywhere(fault: Fault, of: Sort) {
    let (empty, mut calls) = (Deployment::new().await, Vec::new());
    // A name is new where an attempt begins, and where it is settled by it.
    let is_about_names = |case: &&Case| case.before.is_empty() || matches!(case.step, Step::Settle);
    let cases = CASES.iter().filter(|case| 1 < of.attempts_allowed || case.before.is_empty());
    for case in cases.filter(|case| !of.registered || is_about_names(case)) {
        let deployment = empty.copy();
        let deployment = if of.screened { deployment.screened() } else { deployment };
        let deployment = Arc::new(if of.registered { deployment.registering() } else { deployment });
        let (mut program, mut at_call) = (deployment.start(), 0);
        let mut is_left = true;
        while is_left {
            at_call += 1;
            assert!(at_call < MAX_CALLS, "{:?} after {:?} does not end", case.step, case.before);
            println!("{fault:?} at call {at_call} of {:?} after {:?}", case.step, case.before);
            let point = FaultPoint::new(fault, at_call);
            program = run(&deployment, program, case, of, &point).await;
            is_left = point.was_reached();
        }
        calls.push(at_call - 1);
    }
    assert!(calls.iter().all(|calls| 3 < *calls), "each use case asks the store and the processor: {calls:?}");
}

#[tokio::test]
async fn a_program_that_is_killed_after_any_call_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::Killed, PLAIN).await;
}

#[tokio::test]
async fn an_answer_that_is_lost_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::AnswerLost, PLAIN).await;
}

#[tokio::test]
async fn a_request_that_is_lost_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::RequestLost, PLAIN).await;
}

#[tokio::test]
async fn a_program_that_is_killed_in_the_last_attempt_allowed_ends_the_session_once() {
    everywhere(Fault::Killed, Sort { attempts_allowed: 1, ..PLAIN }).await;
}

#[tokio::test]
async fn a_program_that_is_killed_while_a_contract_is_opened_orphans_no_card() {
    everywhere(Fault::Killed, SUBSCRIPTION).await;
}

#[tokio::test]
async fn an_answer_that_is_lost_while_a_contract_is_opened_orphans_no_card() {
    everywhere(Fault::AnswerLost, SUBSCRIPTION).await;
}

#[tokio::test]
async fn a_request_that_is_lost_while_a_contract_is_opened_orphans_no_card() {
    everywhere(Fault::RequestLost, SUBSCRIPTION).await;
}

#[tokio::test]
async fn a_program_that_is_killed_while_a_card_is_replaced_orphans_none() {
    everywhere(Fault::Killed, RETURN).await;
}

#[tokio::test]
async fn an_answer_that_is_lost_while_a_card_is_replaced_orphans_none() {
    everywhere(Fault::AnswerLost, RETURN).await;
}

#[tokio::test]
async fn a_request_that_is_lost_while_a_card_is_replaced_orphans_none() {
    everywhere(Fault::RequestLost, RETURN).await;
}

#[tokio::test]
async fn a_program_that_is_killed_while_it_screens_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::Killed, SCREENED).await;
}

#[tokio::test]
async fn an_answer_about_screening_that_is_lost_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::AnswerLost, SCREENED).await;
}

#[tokio::test]
async fn a_request_about_screening_that_is_lost_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::RequestLost, SCREENED).await;
}

#[tokio::test]
async fn a_program_that_is_killed_while_it_registers_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::Killed, REGISTERED).await;
}

#[tokio::test]
async fn an_answer_about_a_registration_that_is_lost_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::AnswerLost, REGISTERED).await;
}

#[tokio::test]
async fn a_request_about_a_registration_that_is_lost_loses_doubles_and_blocks_nothing() {
    everywhere(Fault::RequestLost, REGISTERED).await;
}
