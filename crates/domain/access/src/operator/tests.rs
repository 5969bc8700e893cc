use std::time::Duration;

use dropin_kernel::uuid::Uuid;
use dropin_kernel::{MoneyRequestId, OperatorSessionId, OrderId};

use super::*;
use OperatorRole::{Developer, Owner, Reviewer, Support, Viewer};
use PanelAction as A;

fn merchant(number: u128) -> MerchantId {
    MerchantId::new(Uuid::from_u128(number))
}

fn rights(roles: &[OperatorRole], scope: OperatorScope) -> OperatorRights {
    OperatorRights { roles: roles.iter().copied().collect(), scope, refund_limits: RefundLimits::default() }
}

fn eur(minor: i64) -> Amount {
    Amount::from_minor(Currency::Eur, minor).unwrap()
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
}

/// What the roles allow, said again by role, so that a slip in the table is seen.
#[test]
fn each_role_allows_what_it_is_there_for_and_nothing_else() {
    let everybody = [A::ViewPayments, A::ViewNotifications, A::ViewMerchants];
    let more: [(OperatorRole, &[PanelAction]); 4] = [
        (Viewer, &[]),
        (
            Support,
            &[A::ExportPayments, A::RefundOrder, A::CaptureOrder, A::CancelOrder, A::AnswerDispute, A::CloseContract],
        ),
        (Reviewer, &[A::ExportPayments, A::ReviewOrder, A::ApproveMoney, A::VerifyLedger]),
        (
            Developer,
            &[
                A::ReplayNotifications,
                A::DiscardNotifications,
                A::ManageApiUsers,
                A::ManageEndpoints,
                A::ManageOrigins,
                A::ManageScreening,
                A::ManageWallet,
                A::TriggerEvents,
            ],
        ),
    ];
    for (role, own) in more {
        for action in PanelAction::ALL {
            let expected = everybody.contains(&action) || own.contains(&action);
            assert_eq!(OperatorRoles::from_iter([role]).allow(action), expected, "{role} {action}");
        }
    }
    let owner = OperatorRoles::from_iter([Owner]);
    assert!(PanelAction::ALL.iter().all(|action| owner.allow(*action)));
    assert!(PanelAction::ALL.iter().all(|action| !OperatorRoles::default().allow(*action)));
}

#[test]
fn the_table_has_one_row_for_each_action_in_their_order() {
    for (rule, action) in PANEL_ACTIONS.iter().zip(PanelAction::ALL) {
        assert_eq!(rule.action, action);
        assert_eq!(action.rule(), rule);
        assert!(rule.roles.contains(&Owner) && !rule.summary.is_empty(), "{action}");
    }
    let of_deployment: Vec<_> = PANEL_ACTIONS.iter().filter(|rule| rule.reach == ActionReach::Deployment).collect();
    let actions: Vec<_> = of_deployment.iter().map(|rule| rule.action).collect();
    assert_eq!(actions, [A::CreateMerchant, A::ManageWallet, A::VerifyLedger, A::ManageOperators]);
}

#[test]
fn nobody_reaches_beyond_its_scope() {
    let one = OperatorScope::of_merchants([merchant(1)]).unwrap();
    for action in PanelAction::ALL {
        let (narrow, wide) = (rights(&[Owner], one.clone()), OperatorRights::owner());
        let is_merchants = action.rule().reach == ActionReach::Merchant;
        assert_eq!(narrow.allow(action, Some(merchant(1))), is_merchants, "{action}");
        assert!(!narrow.allow(action, Some(merchant(2))) && !narrow.allow(action, None), "{action}");
        assert!(wide.allow(action, Some(merchant(2))) && wide.allow(action, None), "{action}");
    }
    assert!(OperatorRights::owner().is_owner_of_deployment() && !rights(&[Owner], one).is_owner_of_deployment());
    assert!(!rights(&[Viewer, Support, Reviewer, Developer], OperatorScope::Deployment).is_owner_of_deployment());
}

#[test]
fn only_an_active_operator_may_do_anything() {
    for state in OperatorState::ALL {
        let operator = Operator {
            id: OperatorId::new(Uuid::from_u128(1)),
            name: Text::restore("Ana").unwrap(),
            email: Email::restore("ana@shop.example").unwrap(),
            state,
            rights: OperatorRights::owner(),
            created_at: at(0),
        };
        let allowed = operator.require(A::ViewPayments, None);
        assert_eq!(allowed.is_ok(), state == OperatorState::Active, "{state}");
        if let Err(refused) = allowed {
            assert!(refused.to_string().contains("viewer, support, reviewer, developer, owner"), "{refused}");
        }
    }
}

#[test]
fn roles_are_a_list_of_codes() {
    let roles = OperatorRoles::from_iter([Owner, Viewer]);
    assert_eq!((roles.to_string().as_str(), format!("{roles:?}").as_str()), ("viewer,owner", r#"{"viewer", "owner"}"#));
    assert!(OperatorRoles::default().is_empty() && !roles.is_empty());
    assert_eq!("accountant".parse::<OperatorRole>().unwrap_err().what(), "role");
}

#[test]
fn passwords_are_judged_by_length_and_by_what_everybody_would_try() {
    let check = |password: &str| check_password(password, "Ana Berg", "ana.berg@shop.example");
    for good in ["four plain words", "            x  y", "пароль для входа", "🔑🔒🗝🔑🔒🗝🔑🔒🗝🔑🔒🗝", &"ab c".repeat(32)]
    {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    for (wrong, why) in [
        ("", PasswordRefused::TooShort),
        ("eleven char", PasswordRefused::TooShort),
        ("🔑🔒🗝🔑🔒🗝🔑🔒🗝🔑🔒", PasswordRefused::TooShort),
        (&"ab c".repeat(33), PasswordRefused::TooLong),
        ("Password12345", PasswordRefused::Common),
        ("aaaaaaaaaaaaa", PasswordRefused::Common),
        ("121212121212", PasswordRefused::Common),
        ("Ana.Berg@Shop.example", PasswordRefused::Personal),
        ("ana.bergana.berg1", PasswordRefused::Personal),
        ("Ana Berg2026 ", PasswordRefused::Personal),
        ("dropindropin", PasswordRefused::Personal),
    ] {
        assert_eq!(check(wrong), Err(why), "{wrong}");
    }
}

#[test]
fn a_session_ends_idle_or_in_all() {
    let session = |stage, seen| OperatorSession {
        id: OperatorSessionId::new(Uuid::from_u128(1)),
        operator: OperatorId::new(Uuid::from_u128(2)),
        stage,
        created_at: at(0),
        seen_at: at(seen),
        client: "::1".to_owned(),
        user_agent: String::new(),
    };
    let (idle, lifetime) = (SESSION_IDLE.as_secs(), SESSION_LIFETIME.as_secs());
    let signed_in = |seen, now| session(SessionStage::SignedIn, seen).check(at(now));
    assert_eq!(signed_in(0, idle - 1), Ok(()));
    assert_eq!(signed_in(0, idle), Err(SessionEnded::Idle));
    assert_eq!(signed_in(lifetime - 1, lifetime - 1), Ok(()));
    assert_eq!(signed_in(lifetime - 1, lifetime), Err(SessionEnded::Over), "however busy it is");
    let pending = |now| session(SessionStage::SecondFactor, 0).check(at(now));
    assert_eq!((pending(299), pending(300)), (Ok(()), Err(SessionEnded::Over)));
    assert_eq!(session(SessionStage::SignedIn, 60).idle_end(), at(60 + idle));
    assert_eq!(session(SessionStage::SignedIn, lifetime - 1).idle_end(), at(lifetime));
}

#[test]
fn support_refunds_up_to_its_limit_of_the_day() {
    let limited = OperatorRights {
        refund_limits: RefundLimits::new([eur(10_000)]).unwrap(),
        ..rights(&[Support], OperatorScope::Deployment)
    };
    let before = MoneyTotals { order_and_operator: eur(9_000), order: eur(0) };
    let decide = |rights: &OperatorRights, minor| decide_refund(rights, &eur(minor), &before, None);
    assert_eq!(decide(&limited, 1_000), Ok(MoneyDecision::Alone));
    let over = MoneyRefused::OverLimit { limit: eur(10_000), would_be: eur(10_001) };
    assert_eq!(decide(&limited, 1_001), Err(over));
    // Another role beside it lifts the limit only where it allows refunds by itself.
    for (other, is_limited) in [(Viewer, true), (Reviewer, true), (Developer, true), (Owner, false)] {
        let both = OperatorRights { roles: [Support, other].into_iter().collect(), ..limited.clone() };
        assert_eq!(decide(&both, 1_001).is_err(), is_limited, "{other}");
    }
    let none = rights(&[Support], OperatorScope::Deployment);
    assert!(decide(&none, 1).is_err(), "without a limit in the currency nothing is allowed");
}

#[test]
fn a_merchants_limit_counts_the_order_whoever_refunds() {
    let before = MoneyTotals { order_and_operator: eur(0), order: eur(7_000) };
    let decide = |minor, limit: Option<i64>| {
        decide_refund(&OperatorRights::owner(), &eur(minor), &before, limit.map(eur).as_ref())
    };
    assert_eq!(decide(1_000_000, None), Ok(MoneyDecision::Alone));
    assert_eq!(decide(3_000, Some(10_000)), Ok(MoneyDecision::Alone));
    assert_eq!(decide(3_001, Some(10_000)), Ok(MoneyDecision::SecondOperator));
    assert_eq!(decide(1, Some(0)), Ok(MoneyDecision::SecondOperator));
}

#[test]
fn a_second_operator_is_another_one_in_time() {
    let (asks, other) = (OperatorId::new(Uuid::from_u128(1)), OperatorId::new(Uuid::from_u128(2)));
    let request = |state| MoneyRequest {
        id: MoneyRequestId::new(Uuid::from_u128(3)),
        kind: MoneyKind::Refund,
        merchant: merchant(1),
        order: OrderId::new(Uuid::from_u128(4)),
        amount: eur(1),
        note: "lost".to_owned(),
        requested_by: asks,
        requested_at: at(10),
        state,
        decided_by: None,
        decided_at: None,
    };
    let waiting = request(MoneyRequestState::Waiting);
    let end = 10 + APPROVAL_LIFETIME.as_secs();
    assert_eq!(waiting.check_second(other, at(end - 1)), Ok(()));
    assert_eq!(waiting.check_second(other, at(end)), Err(MoneyRefused::NotWaiting));
    assert_eq!(waiting.check_second(asks, at(11)), Err(MoneyRefused::OwnRequest));
    for state in [MoneyRequestState::Refused, MoneyRequestState::Released] {
        assert_eq!(request(state).check_second(other, at(11)), Err(MoneyRefused::NotWaiting), "{state}");
    }
    let granted = request(MoneyRequestState::Granted);
    assert_eq!(granted.check_second(other, at(11)), Err(MoneyRefused::Granted));
    assert!(granted.may_be_made(at(end - 1)) && !granted.may_be_made(at(end)));
    assert!(!waiting.may_be_made(at(11)));
}

#[test]
fn limits_name_each_currency_once() {
    assert_eq!(RefundLimits::new([eur(1), eur(2)]), None);
    assert_eq!(RefundLimits::new([eur(1)]).unwrap().iter().cloned().collect::<Vec<_>>(), [eur(1)]);
}
