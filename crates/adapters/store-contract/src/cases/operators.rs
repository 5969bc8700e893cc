use std::sync::Arc;

use dropin_access::operator::{
    Operator, OperatorRights, OperatorRole, OperatorRoles, OperatorScope, OperatorSession, OperatorState, RefundLimits,
    SessionStage,
};
use dropin_access::{AuditAction, AuditSubjectKind, SealedSecret};
use dropin_kernel::{AuditEntryId, MerchantId, OperatorId, OperatorSessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_ports::{
    AcceptInvitation, Acting, AuditSubject, CredentialsChange, FirstInvitation, InvitationAccepted, NewAuditEntry,
    NewInvitation, NewOperatorSession, OperatorAccount, OperatorChange, OperatorChanged, OperatorInvited, PhcHash,
    RecoveryCodeHash, SealedKind, SealedValue, SessionOpened, TokenHash, TotpAuthenticator,
};
use dropin_validation::{Email, Text};

use crate::Harness;
use crate::values::{at, fresh};

/// An entry for the audit log about an operator.
pub(super) fn act(action: AuditAction) -> NewAuditEntry {
    NewAuditEntry {
        id: AuditEntryId::new(fresh()),
        merchant_id: None,
        acting: Acting::system(),
        action,
        subject: AuditSubject::new(AuditSubjectKind::Operator, "somebody"),
        before: None,
        after: None,
        at: at(1),
    }
}

pub(super) fn token() -> TokenHash {
    let mut hash = [0; 32];
    hash[..16].copy_from_slice(fresh().as_bytes());
    TokenHash(hash)
}

fn link(ends: u64) -> NewInvitation {
    NewInvitation { token: token(), expires_at: at(ends) }
}

fn invited(email: &str, rights: OperatorRights) -> Operator {
    Operator {
        id: OperatorId::new(fresh()),
        name: Text::restore("Ana Owner").unwrap(),
        email: Email::restore(email).unwrap(),
        state: OperatorState::Invited,
        rights,
        created_at: at(1),
    }
}

pub(super) fn phc(text: &str) -> PhcHash {
    PhcHash(format!("$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ${text}"))
}

pub(super) fn code(number: u8) -> RecoveryCodeHash {
    RecoveryCodeHash(vec![1, number])
}

pub(super) fn authenticator(used_step: i64) -> TotpAuthenticator {
    TotpAuthenticator { secret: SealedSecret(vec![0, 7, 255]), used_step }
}

pub(super) fn session(operator: OperatorId, stage: SessionStage, began: u64) -> NewOperatorSession {
    let session = OperatorSession {
        id: OperatorSessionId::new(fresh()),
        operator,
        stage,
        created_at: at(began),
        seen_at: at(began),
        client: "2001:db8::7".to_owned(),
        user_agent: "Browser/1 (é)".to_owned(),
    };
    NewOperatorSession { session, token: token() }
}

fn acceptance(token: TokenHash, operator: &Operator, now: Timestamp) -> AcceptInvitation {
    AcceptInvitation {
        token,
        operator: Operator { state: OperatorState::Active, ..operator.clone() },
        password: phc("first"),
        authenticator: Some(authenticator(100)),
        recovery_codes: vec![code(1), code(2)],
        session: session(operator.id, SessionStage::SignedIn, 2),
        now,
        audit: act(AuditAction::OperatorJoin),
    }
}

pub(super) fn rights(roles: &[OperatorRole], scope: OperatorScope) -> OperatorRights {
    let limits = [Amount::from_minor(Currency::Eur, 50_000).unwrap(), Amount::zero(Currency::Jpy)];
    OperatorRights {
        roles: OperatorRoles::from_iter(roles.iter().copied()),
        scope,
        refund_limits: RefundLimits::new(limits).unwrap(),
    }
}

/// An active operator, with the session that it accepted in.
pub(super) async fn active(harness: &Harness, email: &str, rights: OperatorRights) -> (Operator, NewOperatorSession) {
    let operator = invited(email, rights);
    let link = link(100);
    let outcome = harness.operators.invite_operator(operator.clone(), link.clone(), act(AuditAction::OperatorInvite));
    assert_eq!(outcome.await, Ok(OperatorInvited::Done));
    let accept = acceptance(link.token, &operator, at(2));
    assert_eq!(harness.operators.accept_invitation(accept.clone()).await, Ok(InvitationAccepted::Done));
    (accept.operator, accept.session)
}

async fn account(harness: &Harness, id: OperatorId) -> OperatorAccount {
    harness.operators.find_operator(id).await.unwrap().unwrap()
}

async fn change(harness: &Harness, id: OperatorId, change: OperatorChange) -> OperatorChanged {
    harness.operators.change_operator(id, change, act(AuditAction::OperatorChange)).await.unwrap()
}

pub async fn the_first_operator_comes_by_a_link_of_nobody(harness: Arc<Harness>) {
    let invite =
        |link: &NewInvitation| harness.operators.invite_first_operator(link.clone(), act(AuditAction::OperatorInvite));
    let (replaced, good) = (link(100), link(100));
    assert_eq!(invite(&replaced).await, Ok(FirstInvitation::Done));
    assert_eq!(invite(&good).await, Ok(FirstInvitation::Done));
    assert_eq!(harness.operators.find_invitation(replaced.token).await, Ok(None));
    let found = harness.operators.find_invitation(good.token).await.unwrap().unwrap();
    assert_eq!((found.operator, found.expires_at), (None, at(100)));

    let ana = invited("ana@shop.example", OperatorRights::owner());
    let gone = Ok(InvitationAccepted::Gone);
    assert_eq!(harness.operators.accept_invitation(acceptance(replaced.token, &ana, at(2))).await, gone);
    assert_eq!(harness.operators.accept_invitation(acceptance(good.token, &ana, at(100))).await, gone, "it is over");
    let accept = acceptance(good.token, &ana, at(99));
    assert_eq!(harness.operators.accept_invitation(accept.clone()).await, Ok(InvitationAccepted::Done));
    assert_eq!(harness.operators.accept_invitation(accept).await, gone);
    assert_eq!(invite(&link(100)).await, Ok(FirstInvitation::OperatorsExist));

    let found = account(&harness, ana.id).await;
    assert_eq!(found.operator, Operator { state: OperatorState::Active, ..ana });
    assert_eq!((found.credentials.password, found.credentials.recovery_codes_left), (Some(phc("first")), 2));
    assert_eq!(found.credentials.authenticator, Some(authenticator(100)));
}

pub async fn an_operator_is_invited_and_accepts(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let scope = OperatorScope::of_merchants([merchant.id]).unwrap();
    let ben = invited("Ben@Shop.example", rights(&[OperatorRole::Support, OperatorRole::Developer], scope));
    let link = link(100);
    let invite = harness.operators.invite_operator(ben.clone(), link.clone(), act(AuditAction::OperatorInvite));
    assert_eq!(invite.await, Ok(OperatorInvited::Done));
    let found = harness.operators.find_operator_by_email("bEN@shop.EXAMPLE").await.unwrap().unwrap();
    assert_eq!((&found.operator, found.credentials.password), (&ben, None));
    assert_eq!(harness.operators.find_operator_by_email("eve@shop.example").await, Ok(None));
    assert_eq!(harness.operators.find_invitation(link.token).await.unwrap().unwrap().operator, Some(ben.clone()));
    let accept = acceptance(link.token, &ben, at(2));
    assert_eq!(harness.operators.accept_invitation(accept.clone()).await, Ok(InvitationAccepted::Done));
    assert_eq!(account(&harness, ben.id).await.operator, accept.operator);
    assert_eq!(harness.operators.find_invitation(link.token).await, Ok(None));
    let (found, owner) = harness.operators.find_operator_session(accept.session.token).await.unwrap().unwrap();
    assert_eq!((found, owner.operator), (accept.session.session, accept.operator));
}

pub async fn an_address_of_an_operator_is_taken_once(harness: Arc<Harness>) {
    active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let again = invited("ANA@shop.example", OperatorRights::owner());
    let invite = harness.operators.invite_operator(again.clone(), link(9), act(AuditAction::OperatorInvite));
    assert_eq!(invite.await, Ok(OperatorInvited::DuplicateEmail));
    let unknown = OperatorScope::of_merchants([MerchantId::new(fresh())]).unwrap();
    let nowhere = invited("ben@shop.example", rights(&[OperatorRole::Viewer], unknown));
    let invite = harness.operators.invite_operator(nowhere.clone(), link(9), act(AuditAction::OperatorInvite));
    assert_eq!(invite.await, Ok(OperatorInvited::NoMerchant));
    assert_eq!(harness.operators.find_operator(nowhere.id).await, Ok(None));
    assert_eq!(harness.operators.list_operators().await.unwrap().len(), 1);
    assert_eq!(harness.count("operator_invitation", "1 = 1"), 0);
}

pub async fn of_many_who_accept_a_link_one_does(harness: Arc<Harness>) {
    for is_first in [true, false] {
        let (link, invite) = (link(100), act(AuditAction::OperatorInvite));
        let ana = invited(if is_first { "ana@shop.example" } else { "ben@shop.example" }, OperatorRights::owner());
        if is_first {
            let outcome = harness.operators.invite_first_operator(link.clone(), invite).await;
            assert_eq!(outcome, Ok(FirstInvitation::Done));
        } else {
            let outcome = harness.operators.invite_operator(ana.clone(), link.clone(), invite).await;
            assert_eq!(outcome, Ok(OperatorInvited::Done));
        }
        let mut racers = vec![];
        for number in 0..8 {
            let id = if is_first { OperatorId::new(fresh()) } else { ana.id };
            let accept = acceptance(link.token, &Operator { id, ..ana.clone() }, at(2));
            let accept = AcceptInvitation { password: phc(&number.to_string()), ..accept };
            let operators = harness.operators.clone();
            racers.push(tokio::spawn(async move { operators.accept_invitation(accept).await.unwrap() }));
        }
        let mut done = 0;
        for racer in racers {
            done += usize::from(racer.await.unwrap() == InvitationAccepted::Done);
        }
        assert_eq!(done, 1);
    }
    assert_eq!(harness.operators.list_operators().await.unwrap().len(), 2);
    assert_eq!(harness.count("operator_session", "1 = 1"), 2);
    assert_eq!(harness.count("audit_log", "action = 'OPERATOR_JOIN'"), 2, "what was not done is not written down");
}

pub async fn rights_of_an_operator_are_replaced_whole(harness: Arc<Harness>) {
    let (one, _) = harness.merchant().await;
    let (other, _) = harness.merchant().await;
    active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, _) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    for scope in [
        OperatorScope::of_merchants([one.id, other.id]).unwrap(),
        OperatorScope::of_merchants([other.id]).unwrap(),
        OperatorScope::Deployment,
    ] {
        let new = rights(&[OperatorRole::Viewer, OperatorRole::Reviewer], scope);
        assert_eq!(change(&harness, ben.id, OperatorChange::Rights(new.clone())).await, OperatorChanged::Done);
        assert_eq!(account(&harness, ben.id).await.operator.rights, new);
        let listed = harness.operators.list_operators().await.unwrap();
        assert_eq!(listed.iter().find(|found| found.operator.id == ben.id).unwrap().operator.rights, new);
    }
    let unknown = OperatorScope::of_merchants([one.id, MerchantId::new(fresh())]).unwrap();
    let nowhere = OperatorChange::Rights(rights(&[OperatorRole::Viewer], unknown));
    assert_eq!(change(&harness, ben.id, nowhere).await, OperatorChanged::NoMerchant);
    assert!(account(&harness, ben.id).await.operator.rights.scope.is_deployment(), "nothing was written");
    let missing = OperatorId::new(fresh());
    assert_eq!(change(&harness, missing, OperatorChange::Disabled).await, OperatorChanged::Missing);
}

pub async fn the_last_owner_stays(harness: Arc<Harness>) {
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    // Owners who cannot sign in, or of one merchant, are no owners of the deployment.
    let (merchant, _) = harness.merchant().await;
    let scope = OperatorScope::of_merchants([merchant.id]).unwrap();
    active(&harness, "ben@shop.example", rights(&[OperatorRole::Owner], scope)).await;
    let (cat, _) = active(&harness, "cat@shop.example", OperatorRights::owner()).await;
    assert_eq!(change(&harness, cat.id, OperatorChange::Disabled).await, OperatorChanged::Done);

    let viewer = rights(&[OperatorRole::Viewer], OperatorScope::Deployment);
    let reset = |even_the_last_owner| OperatorChange::Reset { invitation: link(100), even_the_last_owner };
    for lost in [OperatorChange::Disabled, OperatorChange::Rights(viewer), reset(false)] {
        assert_eq!(change(&harness, ana.id, lost).await, OperatorChanged::LastOwner);
    }
    assert_eq!(account(&harness, ana.id).await.operator, ana);
    assert_eq!(change(&harness, ana.id, reset(true)).await, OperatorChanged::Done);
    assert_eq!(account(&harness, ana.id).await.operator.state, OperatorState::Invited);
}

pub async fn of_owners_who_shut_each_other_out_one_stays(harness: Arc<Harness>) {
    let mut owners = vec![];
    for number in 0..6 {
        let email = format!("owner{number}@shop.example");
        owners.push(active(&harness, &email, OperatorRights::owner()).await.0.id);
    }
    let mut racers = vec![];
    for id in owners {
        let operators = harness.operators.clone();
        racers.push(tokio::spawn(async move {
            operators.change_operator(id, OperatorChange::Disabled, act(AuditAction::OperatorRemove)).await.unwrap()
        }));
    }
    let mut refused = 0;
    for racer in racers {
        refused += usize::from(racer.await.unwrap() == OperatorChanged::LastOwner);
    }
    assert_eq!((refused, harness.count("operator", "state = 'ACTIVE'")), (1, 1));
    assert_eq!(harness.count("audit_log", "action = 'OPERATOR_REMOVE'"), 5);
}

pub async fn a_disabled_operator_comes_back_as_it_was(harness: Arc<Harness>) {
    active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, session) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    let wrong = OperatorChanged::WrongState;
    assert_eq!(change(&harness, ben.id, OperatorChange::Enabled).await, wrong);
    assert_eq!(change(&harness, ben.id, OperatorChange::Disabled).await, OperatorChanged::Done);
    assert_eq!(harness.operators.find_operator_session(session.token).await, Ok(None));
    let reset = OperatorChange::Reset { invitation: link(9), even_the_last_owner: true };
    assert_eq!(change(&harness, ben.id, reset).await, wrong);
    assert_eq!(change(&harness, ben.id, OperatorChange::Enabled).await, OperatorChanged::Done);
    let found = account(&harness, ben.id).await;
    assert_eq!((found.operator, found.credentials.password), (ben, Some(phc("first"))));

    let cat = invited("cat@shop.example", OperatorRights::owner());
    let link = link(100);
    let invite = harness.operators.invite_operator(cat.clone(), link.clone(), act(AuditAction::OperatorInvite));
    assert_eq!(invite.await, Ok(OperatorInvited::Done));
    assert_eq!(change(&harness, cat.id, OperatorChange::Disabled).await, OperatorChanged::Done);
    let accept = harness.operators.accept_invitation(acceptance(link.token, &cat, at(2))).await;
    assert_eq!(accept, Ok(InvitationAccepted::Gone), "disabled before it accepted");
    assert_eq!(change(&harness, cat.id, OperatorChange::Enabled).await, OperatorChanged::Done);
    assert_eq!(account(&harness, cat.id).await.operator.state, OperatorState::Invited);
    let accept = harness.operators.accept_invitation(acceptance(link.token, &cat, at(2))).await;
    assert_eq!(accept, Ok(InvitationAccepted::Gone), "its link ended when it was disabled");
    assert_eq!(harness.operators.find_invitation(link.token).await, Ok(None));
}

pub async fn a_reset_leaves_a_link_alone(harness: Arc<Harness>) {
    active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, session) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    let (first, second) = (link(100), link(100));
    for invitation in [first.clone(), second.clone()] {
        let reset = OperatorChange::Reset { invitation, even_the_last_owner: false };
        assert_eq!(change(&harness, ben.id, reset).await, OperatorChanged::Done);
    }
    let found = account(&harness, ben.id).await;
    assert_eq!(found.operator.state, OperatorState::Invited);
    assert_eq!(found.credentials, dropin_ports::OperatorCredentials::default());
    assert_eq!(harness.operators.find_operator_session(session.token).await, Ok(None));
    assert_eq!(harness.operators.find_invitation(first.token).await, Ok(None));
    let accept = harness.operators.accept_invitation(acceptance(second.token, &ben, at(2))).await;
    assert_eq!(accept, Ok(InvitationAccepted::Done));
}

pub async fn new_credentials_end_every_other_session(harness: Arc<Harness>) {
    let (ana, before) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let replace = |old: &str, new: &str| CredentialsChange::Password { old: phc(old), new: phc(new) };
    let next = session(ana.id, SessionStage::SignedIn, 5);
    let audit = || act(AuditAction::OperatorPasswordChange);
    let stale = harness.operators.change_operator_credentials(replace("other", "new"), next.clone(), audit());
    assert_eq!(stale.await, Ok(SessionOpened::Changed));
    assert!(harness.operators.find_operator_session(before.token).await.unwrap().is_some());
    let done = harness.operators.change_operator_credentials(replace("first", "new"), next.clone(), audit());
    assert_eq!(done.await, Ok(SessionOpened::Done));
    assert_eq!(harness.operators.find_operator_session(before.token).await, Ok(None));
    assert_eq!(harness.operators.list_operator_sessions(ana.id).await, Ok(vec![next.session]));

    let newest = session(ana.id, SessionStage::SignedIn, 6);
    let change = CredentialsChange::Authenticator { authenticator: authenticator(200), recovery_codes: vec![code(8)] };
    let done = harness.operators.change_operator_credentials(change, newest.clone(), audit());
    assert_eq!(done.await, Ok(SessionOpened::Done));
    let found = account(&harness, ana.id).await;
    assert_eq!((found.credentials.authenticator, found.credentials.recovery_codes_left), (Some(authenticator(200)), 1));
    assert_eq!(harness.operators.list_operator_sessions(ana.id).await, Ok(vec![newest.session]));
}

pub async fn authenticators_are_sealed_anew(harness: Arc<Harness>) {
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let kind = SealedKind::OperatorAuthenticator;
    let old = SealedValue::OperatorAuthenticator { operator: ana.id, sealed: authenticator(0).secret };
    assert_eq!(harness.sealed.list_sealed(kind, None, 9).await, Ok(vec![old.clone()]));
    assert_eq!(harness.sealed.list_sealed(kind, Some(ana.id.uuid()), 9).await, Ok(vec![]));
    let new = SealedValue::OperatorAuthenticator { operator: ana.id, sealed: SealedSecret(vec![9]) };
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(dropin_ports::Applied::Done));
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(dropin_ports::Applied::Stale));
    let kept = account(&harness, ana.id).await.credentials.authenticator.unwrap();
    assert_eq!((kept.secret, kept.used_step), (SealedSecret(vec![9]), 100));
}

pub async fn a_damaged_operator_is_corrupt(harness: Arc<Harness>) {
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let sound = account(&harness, ana.id).await;
    for (damage, mend) in [
        ("roles = 'hush'", "roles = 'owner'"),
        ("roles = 'owner,viewer'", "roles = 'owner'"),
        ("email = 'hush'", "email = 'ana@shop.example'"),
        ("email_key = 'hush'", "email_key = 'ana@shop.example'"),
        ("name = ''", "name = 'Ana Owner'"),
    ] {
        let update = |set: &str| harness.raw.execute(&format!("UPDATE operator SET {set} WHERE id = '{}'", ana.id));
        update(damage).unwrap();
        match harness.operators.find_operator(ana.id).await {
            Err(dropin_ports::StoreError::Corrupt { table: "operator", what }) => {
                assert!(!what.contains("hush"), "{what}");
            }
            other => panic!("{damage}: {other:?}"),
        }
        update(mend).unwrap();
        assert_eq!(account(&harness, ana.id).await, sound);
    }
}

pub async fn of_many_first_operators_one_comes(harness: Arc<Harness>) {
    let racer = |number: u32| {
        let harness = harness.clone();
        tokio::spawn(async move {
            let (operators, link) = (&harness.operators, link(100));
            let invited_by = act(AuditAction::OperatorInvite);
            let made = operators.invite_first_operator(link.clone(), invited_by).await.unwrap();
            let owner = invited(
                &format!("owner-{number}@shop.example"),
                rights(&[OperatorRole::Owner], OperatorScope::Deployment),
            );
            let links = harness.count("operator_invitation", "operator_id IS NULL");
            assert!(links <= 1, "{links} links for the first operator");
            let accepted = operators.accept_invitation(acceptance(link.token, &owner, at(2))).await.unwrap();
            made == FirstInvitation::Done && accepted == InvitationAccepted::Done
        })
    };
    let mut came = 0;
    for racer in (0..8).map(racer).collect::<Vec<_>>() {
        came += u32::from(racer.await.unwrap());
    }
    assert_eq!((came, harness.operators.list_operators().await.unwrap().len()), (1, 1));
}
