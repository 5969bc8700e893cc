use std::sync::Arc;
use std::time::Duration;

use dropin_access::operator::{INVITATION_LIFETIME, OperatorRights, OperatorState, RECOVERY_CODES};
use dropin_usecases::operators::{
    AcceptError, AcceptanceForm, ManagedBy, NewOperator, SecondFactorPolicy, SessionError, SignInError,
};

use super::world::{PASSWORD, World, acting, client};

fn form(name: &str, email: &str, password: &str) -> AcceptanceForm {
    AcceptanceForm { name: name.to_owned(), email: email.to_owned(), password: password.to_owned() }
}

fn fields<T>(refused: Result<T, AcceptError>) -> Vec<String> {
    match refused {
        Err(AcceptError::Invalid(wrong)) => wrong.into_iter().map(|one| one.field).collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it should have been refused"),
    }
}

#[tokio::test]
async fn the_first_operator_owns_the_deployment() {
    let world = World::new();
    let replaced = world.operators.invite_first().await.unwrap().unwrap();
    let link = world.operators.invite_first().await.unwrap().unwrap();
    assert_eq!(world.operators.invitation(&replaced.token).await, Err(AcceptError::Gone));
    let view = world.operators.invitation(&link.token).await.unwrap();
    assert_eq!((view.operator, view.second_factor), (None, SecondFactorPolicy::Required));

    let wrong = world.operators.begin_acceptance(&link.token, &form("", "ana", "short")).await;
    assert_eq!(fields(wrong), ["Email", "Name", "Password"]);
    let ana = world.accept(&link.token, "Ana Berg", "Ana@Shop.example").await;
    assert_eq!(ana.recovery_codes.len(), RECOVERY_CODES);
    let current = world.current(&ana).await;
    assert_eq!((current.operator.state, current.operator.rights), (OperatorState::Active, OperatorRights::owner()));
    assert_eq!((current.has_authenticator, current.recovery_codes_left), (true, 10));
    assert_eq!(current.session.user_agent, "Browser/1", "without control characters");
    assert!(world.operators.invite_first().await.unwrap().is_none());
    assert_eq!(world.operators.invitation(&link.token).await, Err(AcceptError::Gone));
    let log = world.log().await;
    assert_eq!(
        log.iter().map(|(action, _)| action.as_str()).collect::<Vec<_>>(),
        ["OPERATOR_INVITE", "OPERATOR_INVITE", "OPERATOR_JOIN"]
    );
    let joined = &log[2].1;
    assert!(joined.contains("Ana@Shop.example") && joined.contains("owner"), "{joined}");
    for secret in [&ana.secret, &ana.recovery_codes[0], &ana.signed_in.session_token, PASSWORD] {
        assert!(log.iter().all(|(_, after)| !after.contains(secret)));
    }
}

#[tokio::test]
async fn a_link_ends_after_three_days_and_an_enrolment_after_an_hour() {
    let world = World::new();
    let link = world.operators.invite_first().await.unwrap().unwrap();
    let form = form("Ana", "ana@shop.example", PASSWORD);
    let enrolment = world.operators.begin_acceptance(&link.token, &form).await.map_err(|e| e.to_string()).unwrap();
    world.wait(Duration::from_secs(60 * 60));
    let code = world.code(&enrolment.secret);
    let late = world.operators.accept(&link.token, &enrolment.sealed, Some(&code), &client(1)).await;
    assert_eq!(late.err(), Some(AcceptError::EnrolmentOver));
    world.wait(INVITATION_LIFETIME - Duration::from_secs(60 * 60) - Duration::from_micros(1));
    assert!(world.operators.invitation(&link.token).await.is_ok());
    world.wait(Duration::from_micros(1));
    assert_eq!(world.operators.invitation(&link.token).await, Err(AcceptError::Gone));
    assert_eq!(world.operators.begin_acceptance(&link.token, &form).await.err(), Some(AcceptError::Gone));
}

#[tokio::test]
async fn an_authenticator_is_set_up_by_its_code_and_bound_to_its_link() {
    let world = World::new();
    let acting = acting();
    let mut links = vec![];
    for email in ["ana@shop.example", "ben@shop.example"] {
        let wanted = NewOperator { name: "N".to_owned(), email: email.to_owned(), rights: OperatorRights::owner() };
        let invited = world.operators.invite(ManagedBy::CommandLine(&acting), wanted).await;
        links.push(invited.map_err(|error| error.to_string()).unwrap().link.token);
    }
    let form = form("", "eve@other.example", PASSWORD);
    let enrolment = world.operators.begin_acceptance(&links[0], &form).await.map_err(|e| e.to_string()).unwrap();
    assert!(enrolment.uri.starts_with("otpauth://totp/Dropin:ana%40shop.example?"), "the invitation's address stays");
    let code = world.code(&enrolment.secret);
    let accept = |token: String, sealed: String, code: Option<String>| {
        let operators = world.operators.clone();
        async move { operators.accept(&token, &sealed, code.as_deref(), &client(1)).await.map(|_| ()) }
    };
    let sealed = enrolment.sealed.clone();
    let with = |code: &str| accept(links[0].clone(), sealed.clone(), Some(code.to_owned()));
    assert_eq!(with("000000").await, Err(AcceptError::WrongCode));
    assert_eq!(with(" ").await, Err(AcceptError::CodeMissing));
    assert_eq!(accept(links[0].clone(), sealed.clone(), None).await, Err(AcceptError::CodeMissing));
    let other_link = accept(links[1].clone(), sealed.clone(), Some(code.clone())).await;
    assert_eq!(other_link, Err(AcceptError::EnrolmentOver), "sealed for another link");
    let other = if sealed.as_bytes()[40] == b'A' { "B" } else { "A" };
    for altered in [format!("{}{other}{}", &sealed[..40], &sealed[41..]), String::new(), "é".to_owned()] {
        let altered = accept(links[0].clone(), altered, Some(code.clone())).await;
        assert_eq!(altered, Err(AcceptError::EnrolmentOver));
    }
    assert_eq!(with(&code).await, Ok(()));
    assert_eq!(with(&code).await, Err(AcceptError::Gone));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_who_accept_one_link_at_once_one_does() {
    let world = Arc::new(World::new());
    let link = world.operators.invite_first().await.unwrap().unwrap();
    let (mut enrolments, mut racers) = (vec![], vec![]);
    for number in 0..4 {
        let form = form("Ana", &format!("ana{number}@shop.example"), PASSWORD);
        let begun = world.operators.begin_acceptance(&link.token, &form).await;
        enrolments.push(begun.map_err(|error| error.to_string()).unwrap());
    }
    for enrolment in enrolments {
        let (world, token) = (world.clone(), link.token.clone());
        racers.push(tokio::spawn(async move {
            let code = world.code(&enrolment.secret);
            world.operators.accept(&token, &enrolment.sealed, Some(&code), &client(1)).await.map(|_| ())
        }));
    }
    let mut done = 0;
    for racer in racers {
        match racer.await.unwrap() {
            Ok(()) => done += 1,
            Err(error) => assert_eq!(error, AcceptError::Gone),
        }
    }
    assert_eq!(done, 1);
}

#[tokio::test]
async fn a_sandbox_may_do_without_an_authenticator() {
    let world = World::with(SecondFactorPolicy::Optional);
    let link = world.operators.invite_first().await.unwrap().unwrap();
    let form = form("Ana", "ana@shop.example", PASSWORD);
    let enrolment = world.operators.begin_acceptance(&link.token, &form).await.map_err(|e| e.to_string()).unwrap();
    let accepted = world.operators.accept(&link.token, &enrolment.sealed, None, &client(1)).await;
    let accepted = accepted.map_err(|error| error.to_string()).unwrap();
    assert!(accepted.recovery_codes.is_empty());
    let signed_in = world.operators.sign_in("ana@shop.example", PASSWORD, &client(1)).await;
    let signed_in = signed_in.map_err(|error| error.to_string()).unwrap();
    assert!(!signed_in.needs_second_factor());

    // The same operator where one is required.
    let strict = world.restarted(1);
    let refused = strict.sign_in("ana@shop.example", PASSWORD, &client(1)).await;
    assert_eq!(refused.err(), Some(SignInError::AuthenticatorMissing));

    // And with one, which it sets up later.
    let current = world.operators.current(&signed_in.session_token).await.unwrap();
    let begun = world.operators.begin_authenticator(&current, PASSWORD, &client(1)).await;
    let enrolment = begun.map_err(|error| error.to_string()).unwrap();
    let code = world.code(&enrolment.secret);
    let replaced = world.operators.replace_authenticator(&current, &enrolment.sealed, &code, &client(1)).await;
    let replaced = replaced.map_err(|error| error.to_string()).unwrap();
    assert_eq!(replaced.recovery_codes.len(), RECOVERY_CODES);
    assert_eq!(world.operators.current(&signed_in.session_token).await, Err(SessionError::None));
    assert!(world.operators.current(&replaced.signed_in.session_token).await.unwrap().has_authenticator);
    let half = world.operators.sign_in("ana@shop.example", PASSWORD, &client(1)).await;
    assert!(half.map_err(|error| error.to_string()).unwrap().needs_second_factor());
}
