use std::time::Duration;

use dropin_access::operator::{
    APPROVAL_LIFETIME, MoneyRefused, MoneyRequest, MoneyRequestState, OperatorRights, OperatorRole, OperatorScope,
    REFUND_WINDOW, RefundLimits,
};
use dropin_kernel::{MerchantId, MoneyRequestId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_store_contract::{Harness, Raw, fresh};
use dropin_usecases::operators::{CurrentOperator, MoneyError, NewRefundRequest};

use super::world::{World, rights};

struct NoRaw;

impl Raw for NoRaw {
    fn execute(&self, _sql: &str) -> Result<usize, String> {
        Err("not here".to_owned())
    }

    fn values(&self, _sql: &str) -> Vec<String> {
        Vec::new()
    }
}

fn usd(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}

/// An Order of a merchant of its own.
async fn order(world: &World) -> (MerchantId, OrderId) {
    let harness = Harness::new(world.store.clone(), NoRaw, ());
    let (merchant, _) = harness.merchant().await;
    (merchant.id, harness.submitted(merchant.id).await.order.id)
}

fn refund_of((merchant, order): (MerchantId, OrderId), minor: i64) -> NewRefundRequest {
    let id = MoneyRequestId::new(fresh());
    NewRefundRequest { id, merchant, order, amount: usd(minor), note: " the parcel was lost ".to_owned() }
}

/// Asks for a refund of an Order that has enough left.
async fn ask(world: &World, by: &CurrentOperator, new: &NewRefundRequest) -> Result<MoneyRequest, MoneyError> {
    world.operators.request_refund(by, new, &usd(100_000)).await
}

fn support(limit: i64) -> OperatorRights {
    let refund_limits = RefundLimits::new([usd(limit)]).unwrap();
    OperatorRights { refund_limits, ..rights(&[OperatorRole::Support], OperatorScope::Deployment) }
}

#[tokio::test]
async fn support_refunds_so_much_in_a_day_in_however_many_parts() {
    let world = World::new();
    world.owner().await;
    let (one, other) = (order(&world).await, order(&world).await);
    let person = world.person("ben@shop.example", support(1_000)).await;
    let ben = world.current(&person).await;
    let person = world.person("cat@shop.example", support(1_000)).await;
    let cat = world.current(&person).await;
    let first = refund_of(one, 600);
    let granted = ask(&world, &ben, &first).await.unwrap();
    assert_eq!((granted.state, granted.note.as_str()), (MoneyRequestState::Granted, "the parcel was lost"));
    assert_eq!(ask(&world, &ben, &first).await, Ok(granted.clone()), "the form was sent twice");
    assert_eq!(ask(&world, &cat, &first).await, Err(MoneyError::NoRequest), "of another operator");
    let over = ask(&world, &ben, &refund_of(other, 401)).await;
    let refused = MoneyRefused::OverLimit { limit: usd(1_000), would_be: usd(1_001) };
    assert_eq!(over, Err(MoneyError::Refused(refused.clone())), "the operator's own count, about whichever Order");
    assert_eq!(
        ask(&world, &cat, &refund_of(one, 401)).await,
        Err(MoneyError::Refused(refused)),
        "the Order's count, by whomever"
    );
    assert!(ask(&world, &cat, &refund_of(other, 401)).await.is_ok());
    assert_eq!(world.operators.release_money(&cat, granted.id).await, Err(MoneyError::NoRequest), "not cat's");
    world.operators.release_money(&ben, granted.id).await.unwrap();
    let again = ask(&world, &ben, &refund_of(one, 500)).await.unwrap();
    world.wait(Duration::from_secs(24 * 60 * 60));
    assert!(ask(&world, &ben, &refund_of(one, 1_000)).await.is_ok(), "a day later");
    assert_eq!(again.state, MoneyRequestState::Granted);
}

#[tokio::test]
async fn a_request_that_is_over_is_not_granted_by_asking_again() {
    let world = World::new();
    let ana = world.owner().await;
    let owner = world.current(&ana).await;
    let person = world.person("ben@shop.example", rights(&[OperatorRole::Reviewer], OperatorScope::Deployment)).await;
    let ben = world.current(&person).await;
    let one = order(&world).await;
    let over = Err(MoneyError::Refused(MoneyRefused::NotWaiting));
    let released = refund_of(one, 600);
    assert!(ask(&world, &owner, &released).await.is_ok());
    world.operators.release_money(&owner, released.id).await.unwrap();
    assert_eq!(ask(&world, &owner, &released).await, over, "released");
    let (action, after) = world.log().await.pop().unwrap();
    assert_eq!((action.as_str(), after.contains("\"RELEASED\"")), ("APPROVAL_RELEASE", true), "{after}");

    let never_made = refund_of(one, 600);
    assert!(ask(&world, &owner, &never_made).await.is_ok());
    world.wait(REFUND_WINDOW);
    assert_eq!(ask(&world, &owner, &never_made).await, over, "granted, and counts no more");

    world.operators.set_approval_limits(&owner, one.0, vec![usd(0)]).await.unwrap();
    for is_refused in [true, false] {
        let refused = refund_of(one, 5);
        let waiting = ask(&world, &owner, &refused).await.unwrap();
        assert_eq!(waiting.state, MoneyRequestState::Waiting);
        match is_refused {
            true => world.operators.refuse_money(&ben, refused.id).await.unwrap(),
            false => world.operators.withdraw_money(&owner, refused.id).await.unwrap(),
        };
        assert_eq!(ask(&world, &owner, &refused).await, over, "refused, or taken back");
    }
    let late = refund_of(one, 5);
    assert!(ask(&world, &owner, &late).await.is_ok());
    world.wait(APPROVAL_LIFETIME);
    assert_eq!(ask(&world, &owner, &late).await, over, "nobody decided");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refunds_at_once_pass_no_limit() {
    let world = World::new();
    world.owner().await;
    let orders = [order(&world).await, order(&world).await, order(&world).await];
    let person = world.person("ben@shop.example", support(1_000)).await;
    let ben = world.current(&person).await;
    let mut racers = vec![];
    for order in orders {
        let (operators, ben) = (world.operators.clone(), ben.clone());
        racers.push(tokio::spawn(async move {
            operators.request_refund(&ben, &refund_of(order, 600), &usd(100_000)).await.is_ok()
        }));
    }
    let mut granted = 0;
    for racer in racers {
        granted += usize::from(racer.await.unwrap());
    }
    assert_eq!(granted, 1);
}

#[tokio::test]
async fn above_a_merchants_limit_a_second_operator_has_to_approve() {
    let world = World::new();
    let ana = world.owner().await;
    let owner = world.current(&ana).await;
    let one = order(&world).await;
    world.operators.set_approval_limits(&owner, one.0, vec![usd(1_000)]).await.unwrap();
    let alone = ask(&world, &owner, &refund_of(one, 1_000)).await.unwrap();
    assert_eq!(alone.state, MoneyRequestState::Granted);
    let waiting = ask(&world, &owner, &refund_of(one, 1)).await.unwrap();
    assert_eq!(waiting.state, MoneyRequestState::Waiting, "in parts it is as much");
    let own = world.operators.approve_money(&owner, waiting.id).await;
    assert_eq!(own, Err(MoneyError::Refused(MoneyRefused::OwnRequest)));

    let person = world.person("ben@shop.example", rights(&[OperatorRole::Reviewer], OperatorScope::Deployment)).await;
    let ben = world.current(&person).await;
    let person = world.person("cat@shop.example", support(5_000)).await;
    let cat = world.current(&person).await;
    let person = world.person("dan@shop.example", rights(&[OperatorRole::Reviewer], OperatorScope::Deployment)).await;
    let dan = world.current(&person).await;
    assert!(matches!(world.operators.approve_money(&cat, waiting.id).await, Err(MoneyError::NotAllowed(_))));
    let listed = world.operators.list_open_money_requests(&ben, None).await.unwrap();
    assert_eq!(listed, [alone, waiting.clone()], "granted and not made, and one that waits");
    let cats = world.operators.withdraw_money(&cat, waiting.id).await;
    assert_eq!(cats, Err(MoneyError::NoRequest), "of another operator");
    let approved = world.operators.approve_money(&ben, waiting.id).await.unwrap();
    assert_eq!((approved.state, approved.decided_by), (MoneyRequestState::Granted, Some(ben.operator.id)));
    let again = world.operators.approve_money(&ben, waiting.id).await;
    assert_eq!(again, Ok(approved.clone()), "the same operator goes on where it was interrupted");
    let decided = world.operators.approve_money(&dan, waiting.id).await;
    assert_eq!(decided, Err(MoneyError::Refused(MoneyRefused::Granted)));
    let log: Vec<_> = world.log().await.into_iter().map(|(action, _)| action).collect();
    assert!(log.ends_with(&["APPROVAL_GRANT".to_owned()]) && log.contains(&"APPROVAL_REQUEST".to_owned()), "{log:?}");

    let refused = ask(&world, &owner, &refund_of(one, 2)).await.unwrap();
    assert_eq!(world.operators.refuse_money(&ben, refused.id).await.unwrap().state, MoneyRequestState::Refused);
    let taken_back = ask(&world, &cat, &refund_of(one, 3)).await.unwrap();
    assert_eq!(taken_back.state, MoneyRequestState::Waiting);
    assert!(world.operators.withdraw_money(&cat, taken_back.id).await.is_ok());
    let late = ask(&world, &owner, &refund_of(one, 4)).await.unwrap();
    world.wait(APPROVAL_LIFETIME);
    let late = world.operators.approve_money(&ben, late.id).await;
    assert_eq!(late, Err(MoneyError::Refused(MoneyRefused::NotWaiting)), "its time is over");
}

#[tokio::test]
async fn money_of_other_merchants_is_out_of_sight() {
    let world = World::new();
    let ana = world.owner().await;
    let owner = world.current(&ana).await;
    let (one, other) = (order(&world).await, order(&world).await);
    let scope = OperatorScope::of_merchants([one.0]).unwrap();
    let person = world.person("ben@shop.example", rights(&[OperatorRole::Owner], scope)).await;
    let ben = world.current(&person).await;
    world.operators.set_approval_limits(&owner, other.0, vec![usd(0)]).await.unwrap();
    let foreign = ask(&world, &owner, &refund_of(other, 5)).await.unwrap();
    assert!(matches!(ask(&world, &ben, &refund_of(other, 5)).await, Err(MoneyError::NotAllowed(_))));
    let mixed = (one.0, other.1);
    assert_eq!(ask(&world, &ben, &refund_of(mixed, 5)).await, Err(MoneyError::NoOrder));
    for result in
        [world.operators.approve_money(&ben, foreign.id).await, world.operators.refuse_money(&ben, foreign.id).await]
    {
        assert_eq!(result, Err(MoneyError::NoRequest));
    }
    assert_eq!(world.operators.release_money(&ben, foreign.id).await, Err(MoneyError::NoRequest));
    assert_eq!(world.operators.list_open_money_requests(&ben, None).await, Ok(vec![]));
    assert!(matches!(world.operators.approval_limits(&ben, other.0).await, Err(MoneyError::NotAllowed(_))));
    assert!(matches!(world.operators.set_approval_limits(&ben, other.0, vec![]).await, Err(MoneyError::NotAllowed(_))));
    let twice = world.operators.set_approval_limits(&ben, one.0, vec![usd(1), usd(2)]).await;
    assert!(matches!(twice, Err(MoneyError::Invalid(_))));
    let left = world.operators.request_refund(&ben, &refund_of(one, 5), &usd(4)).await;
    assert_eq!(left, Err(MoneyError::Exceeds(usd(4))), "more than the Order has left");
    for wrong in [NewRefundRequest { note: " ".to_owned(), ..refund_of(one, 5) }, refund_of(one, 0)] {
        assert!(matches!(ask(&world, &ben, &wrong).await, Err(MoneyError::Invalid(_))));
    }
}
