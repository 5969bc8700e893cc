use std::time::Duration;

use dropin_access::operator::{OperatorRights, OperatorRole, OperatorScope, OperatorState};
use dropin_usecases::operators::{AcceptanceForm, ManageError, ManagedBy, NewOperator, SessionError};

use super::world::{PASSWORD, World, acting, client, rights};

fn wanted(email: &str, rights: OperatorRights) -> NewOperator {
    NewOperator { name: "Ben".to_owned(), email: email.to_owned(), rights }
}

#[tokio::test]
async fn only_owners_of_the_deployment_manage_operators() {
    let world = World::new();
    let ana = world.owner().await;
    let others = [OperatorRole::Viewer, OperatorRole::Support, OperatorRole::Reviewer, OperatorRole::Developer];
    let ben = world.person("ben@shop.example", rights(&others, OperatorScope::Deployment)).await;
    let (owner, other) = (world.current(&ana).await, world.current(&ben).await);
    let id = owner.operator.id;
    let by = ManagedBy::Operator(&other);
    let not_allowed = |result: Result<(), ManageError>| {
        assert!(matches!(result, Err(ManageError::NotAllowed(_))), "{result:?}");
    };
    let new = || wanted("eve@shop.example", OperatorRights::owner());
    not_allowed(world.operators.invite(by, new()).await.map(|_| ()));
    not_allowed(world.operators.list(by).await.map(|_| ()));
    not_allowed(world.operators.find(by, id).await.map(|_| ()));
    not_allowed(world.operators.find_by_email(by, "ana@shop.example").await.map(|_| ()));
    not_allowed(world.operators.set_rights(by, other.operator.id, OperatorRights::owner()).await);
    not_allowed(world.operators.disable(by, id).await);
    not_allowed(world.operators.enable(by, id).await.map(drop));
    not_allowed(world.operators.reset(by, id).await.map(|_| ()));
    assert_eq!(world.operators.list(ManagedBy::Operator(&owner)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn rights_are_in_force_with_the_next_request() {
    let world = World::new();
    let ana = world.owner().await;
    let ben = world.person("ben@shop.example", OperatorRights::owner()).await;
    let owner = world.current(&ana).await;
    let viewer = rights(&[OperatorRole::Viewer], OperatorScope::Deployment);
    let (by, id) = (ManagedBy::Operator(&owner), ben.signed_in.operator.id);
    let none = rights(&[], OperatorScope::Deployment);
    assert!(matches!(world.operators.set_rights(by, id, none).await, Err(ManageError::Invalid(_))));
    world.operators.set_rights(by, id, viewer.clone()).await.unwrap();
    assert_eq!(world.current(&ben).await.operator.rights, viewer);
    world.operators.disable(by, id).await.unwrap();
    assert_eq!(world.operators.current(&ben.signed_in.session_token).await, Err(SessionError::None));
    assert!(world.operators.sign_in(&ben.email, PASSWORD, &client(5)).await.is_err());
    assert_eq!(world.operators.enable(by, id).await, Ok(OperatorState::Active));
    assert!(world.operators.sign_in(&ben.email, PASSWORD, &client(5)).await.is_ok());
    assert_eq!(world.operators.enable(by, id).await, Err(ManageError::WrongState));
    let invited = world.operators.invite(by, wanted("cat@shop.example", viewer)).await;
    let invited = invited.map_err(|error| error.to_string()).unwrap();
    world.operators.disable(by, invited.operator.id).await.unwrap();
    let enabled = world.operators.enable(by, invited.operator.id).await;
    assert_eq!(enabled, Ok(OperatorState::Invited), "it had no password, and its link has ended");
    let form = AcceptanceForm { name: String::new(), email: String::new(), password: PASSWORD.to_owned() };
    assert!(world.operators.begin_acceptance(&invited.link.token, &form).await.is_err());
    let log = world.log().await;
    assert!(log.iter().any(|(action, after)| action == "OPERATOR_CHANGE" && after.contains("viewer")));
    assert!(log.iter().any(|(action, _)| action == "OPERATOR_REMOVE"));
}

#[tokio::test]
async fn the_last_owner_is_reset_by_command_alone() {
    let world = World::new();
    let ana = world.owner().await;
    let owner = world.current(&ana).await;
    let (by, id) = (ManagedBy::Operator(&owner), owner.operator.id);
    let viewer = rights(&[OperatorRole::Viewer], OperatorScope::Deployment);
    assert_eq!(world.operators.set_rights(by, id, viewer).await, Err(ManageError::LastOwner));
    assert_eq!(world.operators.disable(by, id).await, Err(ManageError::LastOwner));
    assert_eq!(world.operators.reset(by, id).await.err(), Some(ManageError::LastOwner));
    let acting = acting();
    let shell = ManagedBy::CommandLine(&acting);
    assert_eq!(world.operators.disable(shell, id).await, Err(ManageError::LastOwner), "not by command either");
    let reset = world.operators.reset(shell, id).await.map_err(|error| error.to_string()).unwrap();
    assert_eq!(reset.operator.state, OperatorState::Invited);
    assert_eq!(world.operators.current(&ana.signed_in.session_token).await, Err(SessionError::None));
    assert!(world.operators.sign_in(&ana.email, PASSWORD, &client(1)).await.is_err());
    assert!(world.operators.invite_first().await.unwrap().is_none(), "nobody becomes an owner meanwhile");
    let again = world.accept(&reset.link.token, "", "").await;
    assert_eq!(world.current(&again).await.operator.rights, OperatorRights::owner());
    world.wait(Duration::from_secs(30));
    let half = world.operators.sign_in(&ana.email, PASSWORD, &client(1)).await;
    let half = half.map_err(|error| error.to_string()).unwrap();
    let old = world.code(&ana.secret);
    assert!(world.operators.second_factor(&half.session_token, &old, &client(1)).await.is_err());
    let lost = &ana.recovery_codes[0];
    assert!(world.operators.second_factor(&half.session_token, lost, &client(1)).await.is_err());
}

#[tokio::test]
async fn what_is_asked_for_makes_sense() {
    let world = World::new();
    world.owner().await;
    let acting = acting();
    let shell = ManagedBy::CommandLine(&acting);
    let nobody =
        NewOperator { name: " ".to_owned(), email: "ben".to_owned(), rights: rights(&[], OperatorScope::Deployment) };
    let Err(ManageError::Invalid(wrong)) = world.operators.invite(shell, nobody).await.map(|_| ()) else {
        panic!("it should have been refused")
    };
    assert_eq!(wrong.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), ["Email", "Name", "Roles"]);
    let again = world.operators.invite(shell, wanted("ANA@shop.example", OperatorRights::owner())).await;
    assert_eq!(again.err(), Some(ManageError::DuplicateEmail));
    assert_eq!(world.operators.find_by_email(shell, "eve@shop.example").await.err(), Some(ManageError::NoOperator));
    let found = world.operators.find_by_email(shell, "Ana@shop.example ").await.unwrap();
    assert_eq!(found.operator.email.as_str(), "ana@shop.example");
}
