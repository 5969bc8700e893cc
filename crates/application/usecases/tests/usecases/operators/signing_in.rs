use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dropin_access::operator::{OperatorRights, SESSION_IDLE, SESSION_LIFETIME};
use dropin_usecases::operators::{ManagedBy, Operators, ReplaceCredentialsError, SessionError, SignInError};

use tokio::task::JoinSet;

use super::world::{PASSWORD, World, acting, client};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_operator_signs_in_by_password_and_code_and_its_token_changes_each_time() {
    let world = World::new();
    let ana = world.owner().await;
    world.wait(MINUTE);
    let half = world.operators.sign_in(" ANA@shop.example", PASSWORD, &client(2)).await;
    let half = half.map_err(|error| error.to_string()).unwrap();
    assert!(half.needs_second_factor());
    assert_eq!(world.operators.current(&half.session_token).await, Err(SessionError::SecondFactorMissing));
    let code = world.code(&ana.secret);
    let whole = world.operators.second_factor(&half.session_token, &code, &client(2)).await;
    let whole = whole.map_err(|error| error.to_string()).unwrap();
    assert_eq!(world.operators.current(&whole.session_token).await.unwrap().operator, whole.operator);
    // Whoever planted or saw the first token has nothing by it.
    assert_eq!(world.operators.current(&half.session_token).await, Err(SessionError::None));
    let tokens = [&ana.signed_in, &half, &whole].map(|one| (one.session_token.clone(), one.csrf_token.clone()));
    assert_eq!(BTreeSet::from_iter(tokens.iter().flat_map(|(one, other)| [one, other])).len(), 6);
    assert!(Operators::check_csrf(&whole.session_token, &whole.csrf_token));
    assert!(!Operators::check_csrf(&whole.session_token, &half.csrf_token));
    assert!(!Operators::check_csrf(&whole.session_token, ""));
    assert!(
        world.log().await.contains(&("OPERATOR_SIGN_IN".to_owned(), r#"{"SecondFactor":"AUTHENTICATOR"}"#.to_owned()))
    );
}

#[tokio::test]
async fn unknown_and_wrong_and_disabled_have_one_answer() {
    let world = World::new();
    world.owner().await;
    let ben = world.person("ben@shop.example", OperatorRights::owner()).await;
    let acting = acting();
    world.operators.disable(ManagedBy::CommandLine(&acting), ben.signed_in.operator.id).await.unwrap();
    for (email, password) in [
        ("nobody@shop.example", PASSWORD),
        ("ana@shop.example", "four plain word"),
        ("ana@shop.example", ""),
        ("ana@shop.example", &"x".repeat(10_000)),
        ("ben@shop.example", PASSWORD),
        ("", ""),
    ] {
        let refused = world.operators.sign_in(email, password, &client(3)).await;
        assert_eq!(refused.err(), Some(SignInError::Invalid), "{email}");
    }
    let log = world.log().await;
    let reasons = log.iter().filter(|(action, _)| action == "OPERATOR_SIGN_IN_REFUSE").map(|(_, after)| after.as_str());
    let reason = |why: &str| format!(r#"{{"Reason":"{why}"}}"#);
    let [unknown, wrong, inactive] = ["UNKNOWN_ADDRESS", "WRONG_PASSWORD", "NOT_ACTIVE"].map(reason);
    let expected = [&unknown, &wrong, &wrong, &wrong, &inactive, &unknown];
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn guesses_are_throttled_and_the_operator_still_comes_in_from_where_it_was() {
    let world = World::new();
    world.owner().await;
    let ana = world.person("cat@shop.example", OperatorRights::owner()).await;
    // It signs in from client 1.
    let _session = world.sign_in(&ana).await;
    let mut throttled = 0;
    for number in 0..14_u8 {
        let refused = world.operators.sign_in(&ana.email, "wrong password", &client(100 + number)).await.err().unwrap();
        match refused {
            SignInError::Invalid => assert_eq!(throttled, 0),
            SignInError::Throttled { retry_after } => {
                assert!(retry_after <= Duration::from_secs(30));
                throttled += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(throttled, 4);
    let stranger = world.operators.sign_in(&ana.email, PASSWORD, &client(90)).await;
    assert!(matches!(stranger.err(), Some(SignInError::Throttled { .. })), "not even the right one is compared");
    let half = world.operators.sign_in(&ana.email, PASSWORD, &client(1)).await;
    assert!(half.is_ok(), "who signed in from there before is not locked out");
}

/// Signs in by the password alone; the session's token.
async fn half(world: &World, email: &str) -> String {
    let half = world.operators.sign_in(email, PASSWORD, &client(1)).await;
    half.map_err(|error| error.to_string()).unwrap().session_token
}

#[tokio::test]
async fn a_code_counts_once_and_five_wrong_ones_end_the_sign_in() {
    let world = World::new();
    let ana = world.owner().await;
    // The code that it was accepted with is still shown.
    let token = half(&world, &ana.email).await;
    let shown = world.code(&ana.secret);
    let replayed = world.operators.second_factor(&token, &shown, &client(1)).await;
    assert_eq!(replayed.err(), Some(SignInError::WrongCode), "used when it was set up");
    world.wait(Duration::from_secs(30));
    let next = world.code(&ana.secret);
    assert!(world.operators.second_factor(&token, &next, &client(1)).await.is_ok());
    let token = half(&world, &ana.email).await;
    let replayed = world.operators.second_factor(&token, &next, &client(1)).await;
    assert_eq!(replayed.err(), Some(SignInError::WrongCode));

    let restarted = world.restarted(1);
    let token = half(&world, &ana.email).await;
    for _ in 0..5 {
        let wrong = restarted.second_factor(&token, "000000", &client(1)).await;
        assert_eq!(wrong.err(), Some(SignInError::WrongCode));
    }
    world.wait(Duration::from_secs(30));
    let right = world.code(&ana.secret);
    let fresh = world.restarted(1);
    assert_eq!(fresh.second_factor(&token, &right, &client(1)).await.err(), Some(SignInError::SessionOver));
    let token = half(&world, &ana.email).await;
    let throttled = restarted.second_factor(&token, &right, &client(9)).await.err();
    assert!(matches!(throttled, Some(SignInError::Throttled { .. })), "by account, from wherever: {throttled:?}");
    let token = half(&world, &ana.email).await;
    world.wait(Duration::from_secs(5 * 60));
    let late = world.code(&ana.secret);
    assert_eq!(fresh.second_factor(&token, &late, &client(1)).await.err(), Some(SignInError::SessionOver));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_recovery_code_counts_once_however_it_is_typed() {
    let world = Arc::new(World::new());
    let ana = world.owner().await;
    let mut halves = vec![];
    for _ in 0..4 {
        let half = world.operators.sign_in(&ana.email, PASSWORD, &client(1)).await;
        halves.push(half.map_err(|error| error.to_string()).unwrap().session_token);
    }
    let typed = ana.recovery_codes[3].to_lowercase().replace('-', " ");
    let mut racers = vec![];
    for token in halves {
        let (world, typed) = (world.clone(), typed.clone());
        racers.push(tokio::spawn(async move {
            world.operators.second_factor(&token, &typed, &client(1)).await.map(|signed_in| signed_in.session_token)
        }));
    }
    let mut done = vec![];
    for racer in racers {
        match racer.await.unwrap() {
            Ok(token) => done.push(token),
            Err(error) => assert_eq!(error, SignInError::WrongCode),
        }
    }
    assert_eq!(done.len(), 1);
    assert_eq!(world.operators.current(&done[0]).await.unwrap().recovery_codes_left, 9);
}

#[tokio::test]
async fn a_session_idles_for_fifteen_minutes_and_lives_for_twelve_hours() {
    let world = World::new();
    let ana = world.owner().await;
    let token = &ana.signed_in.session_token;
    world.wait(SESSION_IDLE - Duration::from_secs(1));
    // What asks by itself keeps nothing alive.
    assert!(world.operators.peek(token).await.is_ok());
    world.wait(Duration::from_secs(1));
    assert_eq!(world.operators.current(token).await, Err(SessionError::Idle));

    let busy = world.sign_in(&ana).await;
    let mut lived = Duration::ZERO;
    while lived + 10 * MINUTE < SESSION_LIFETIME {
        world.wait(10 * MINUTE);
        lived += 10 * MINUTE;
        assert!(world.operators.current(&busy.session_token).await.is_ok(), "{lived:?}");
    }
    world.wait(10 * MINUTE);
    assert_eq!(world.operators.current(&busy.session_token).await, Err(SessionError::Over));
    let next = world.sign_in(&ana).await;
    let current = world.operators.current(&next.session_token).await.unwrap();
    assert_eq!(world.operators.sessions(&current).await.unwrap().len(), 1, "what is over is gone");
}

#[tokio::test]
async fn sessions_are_listed_and_ended() {
    let world = World::new();
    let ana = world.owner().await;
    let ben = world.person("ben@shop.example", OperatorRights::owner()).await;
    let second = world.sign_in(&ana).await;
    let current = world.operators.current(&second.session_token).await.unwrap();
    let listed = world.operators.sessions(&current).await.unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(world.operators.end_session(&current, ben.signed_in.session.id).await, Ok(false), "another's");
    assert!(world.operators.current(&ben.signed_in.session_token).await.is_ok());
    assert_eq!(world.operators.end_other_sessions(&current).await, Ok(true));
    assert_eq!(world.operators.current(&ana.signed_in.session_token).await, Err(SessionError::None));
    assert_eq!(world.operators.sign_out(&second.session_token).await, Ok(()));
    assert_eq!(world.operators.sign_out(&second.session_token).await, Ok(()), "again");
    assert_eq!(world.operators.current(&second.session_token).await, Err(SessionError::None));
    let ended = world.log().await.into_iter().filter(|(action, _)| action == "OPERATOR_SIGN_OUT").count();
    assert_eq!(ended, 2);
}

#[tokio::test]
async fn a_new_password_ends_every_other_session() {
    let world = World::new();
    let ana = world.owner().await;
    let other = world.sign_in(&ana).await;
    let current = world.current(&ana).await;
    let change = |old: &'static str, new: &'static str| {
        let (operators, current) = (world.operators.clone(), current.clone());
        async move { operators.change_password(&current, old, new, &client(1)).await }
    };
    let error = |refused: Result<_, ReplaceCredentialsError>| refused.err().unwrap();
    assert_eq!(error(change("four plain word", "another plain text").await), ReplaceCredentialsError::WrongPassword);
    assert!(matches!(error(change(PASSWORD, "short").await), ReplaceCredentialsError::Invalid(_)));
    let replaced = change(PASSWORD, "another plain text").await.map_err(|error| error.to_string()).unwrap();
    assert!(replaced.recovery_codes.is_empty());
    for gone in [&ana.signed_in, &other] {
        assert_eq!(world.operators.current(&gone.session_token).await, Err(SessionError::None));
    }
    assert!(world.operators.current(&replaced.signed_in.session_token).await.is_ok());
    assert_eq!(world.operators.sign_in(&ana.email, PASSWORD, &client(1)).await.err(), Some(SignInError::Invalid));
    assert!(world.operators.sign_in(&ana.email, "another plain text", &client(1)).await.is_ok());
    let actions: Vec<_> = world.log().await.into_iter().map(|(action, _)| action).collect();
    assert!(actions.contains(&"OPERATOR_PASSWORD_CHANGE".to_owned()));
}

#[tokio::test]
async fn a_password_is_hashed_anew_when_its_cost_changes() {
    use dropin_ports::OperatorStore;
    let world = World::new();
    let ana = world.owner().await;
    let stored = || async {
        let account = world.store.find_operator(ana.signed_in.operator.id).await.unwrap().unwrap();
        account.credentials.password.unwrap().0
    };
    assert!(stored().await.contains("m=64,t=1,p=1"));
    let dearer = world.restarted(2);
    assert!(dearer.sign_in(&ana.email, PASSWORD, &client(1)).await.is_ok());
    assert!(stored().await.contains("m=64,t=2,p=1"));
    assert!(dearer.sign_in(&ana.email, PASSWORD, &client(1)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_password_that_was_not_compared_costs_no_guess() {
    let world = World::new();
    let person = world.owner().await;
    let ana = world.current(&person).await;
    // A process whose hashes take long, and more sign-ins than wait for theirs.
    let busy = world.restarted(3_000);
    let mut flood = JoinSet::new();
    for number in 0..40 {
        let operators = busy.clone();
        flood.spawn(async move {
            operators.sign_in(&format!("unknown{number}@shop.example"), "wrong", &client(100 + number)).await.err()
        });
    }
    while !matches!(flood.join_next().await.unwrap().unwrap(), Some(SignInError::Busy(_))) {}
    for number in 0..12 {
        let refused = busy.sign_in(&person.email, PASSWORD, &client(number)).await.err();
        assert!(matches!(refused, Some(SignInError::Busy(_))), "{number}: {refused:?}");
        let refused = busy.change_password(&ana, PASSWORD, "eight new words", &client(50 + number)).await.err();
        assert!(matches!(refused, Some(ReplaceCredentialsError::Busy(_))), "{number}: {refused:?}");
    }
}

#[tokio::test]
async fn a_wrong_password_of_an_operator_who_is_signed_in_is_written_down() {
    let world = World::new();
    let person = world.owner().await;
    let ana = world.current(&person).await;
    let wrong = world.operators.change_password(&ana, "not my password", "eight new words", &client(1)).await;
    assert_eq!(wrong.err(), Some(ReplaceCredentialsError::WrongPassword));
    let (action, after) = world.log().await.pop().unwrap();
    assert_eq!(action, "OPERATOR_SIGN_IN_REFUSE");
    assert!(after.contains("WRONG_PASSWORD"), "{after}");
}
