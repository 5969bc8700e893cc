//! A deployment with a clock that the test moves, and cheap passwords.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::databases;
use dropin_access::operator::{OperatorRights, OperatorRole, OperatorRoles, OperatorScope, RefundLimits};
use dropin_kernel::Timestamp;
use dropin_keyring::MasterKey;
use dropin_ports::{Acting, AuditLog, AuditQuery, Clock, IdSource};
use dropin_store::Store;
use dropin_store_contract::fresh;
use dropin_usecases::operators::{
    AcceptanceForm, Accepted, CurrentOperator, ManagedBy, NewOperator, Operators, PanelClient, PasswordCost,
    SecondFactorPolicy, SignedIn,
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

pub(crate) const PASSWORD: &str = "four plain words";

struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

struct FreshIds;

impl IdSource for FreshIds {
    fn random(&self) -> Uuid {
        fresh()
    }

    fn ordered(&self) -> Uuid {
        fresh()
    }

    fn secret(&self) -> [u8; 32] {
        Sha256::digest(fresh().as_bytes()).into()
    }
}

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) operators: Operators,
    clock: Arc<TestClock>,
    secrets: Arc<MasterKey>,
    _folder: tempfile::TempDir,
}

/// An operator with what it has in its hands.
pub(crate) struct Person {
    pub(crate) email: String,
    pub(crate) secret: String,
    pub(crate) recovery_codes: Vec<String>,
    pub(crate) signed_in: SignedIn,
}

/// Where requests come from; another number, another network.
pub(crate) fn client(number: u8) -> PanelClient {
    PanelClient { address: IpAddr::from([192, 0, 2, number]), user_agent: "Browser/1\u{7}".to_owned() }
}

/// The command line.
pub(crate) fn acting() -> Acting {
    Acting::system()
}

pub(crate) fn rights(roles: &[OperatorRole], scope: OperatorScope) -> OperatorRights {
    let roles = OperatorRoles::from_iter(roles.iter().copied());
    OperatorRights { roles, scope, refund_limits: RefundLimits::default() }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(SecondFactorPolicy::Required)
    }

    pub(crate) fn with(policy: SecondFactorPolicy) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = databases::create(folder.path());
        let secrets = Arc::new(MasterKey::open_or_create(&folder.path().join("keys")).unwrap());
        let clock = Arc::new(TestClock(AtomicI64::new(1_795_000_000_000_000)));
        let operators = operators(&store, &secrets, &clock, policy, 1);
        Self { store, operators, clock, secrets, _folder: folder }
    }

    /// The same deployment in a process of another cost of passwords, which counts guesses anew.
    pub(crate) fn restarted(&self, passes: u32) -> Operators {
        operators(&self.store, &self.secrets, &self.clock, SecondFactorPolicy::Required, passes)
    }

    pub(crate) fn wait(&self, span: Duration) {
        self.clock.0.fetch_add(i64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What the authenticator shows now.
    pub(crate) fn code(&self, secret: &str) -> String {
        let secret = totp_rs::Secret::try_from_base32(secret).unwrap();
        let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
        totp.generate(u64::try_from(self.now().unix_seconds()).unwrap()).to_string()
    }

    /// Goes by a link to its end.
    pub(crate) async fn accept(&self, token: &str, name: &str, email: &str) -> Person {
        let form = AcceptanceForm { name: name.to_owned(), email: email.to_owned(), password: PASSWORD.to_owned() };
        let enrolment = self.operators.begin_acceptance(token, &form).await.map_err(|e| e.to_string()).unwrap();
        let code = self.code(&enrolment.secret);
        let accepted = self.operators.accept(token, &enrolment.sealed, Some(&code), &client(1)).await;
        let Accepted { signed_in, recovery_codes } = accepted.map_err(|error| error.to_string()).unwrap();
        Person {
            email: signed_in.operator.email.as_str().to_owned(),
            secret: enrolment.secret,
            recovery_codes,
            signed_in,
        }
    }

    /// The first operator.
    pub(crate) async fn owner(&self) -> Person {
        let link = self.operators.invite_first().await.unwrap().unwrap();
        self.accept(&link.token, "Ana Berg", "ana@shop.example").await
    }

    pub(crate) async fn person(&self, email: &str, rights: OperatorRights) -> Person {
        let wanted = NewOperator { name: "Ben Colleague".to_owned(), email: email.to_owned(), rights };
        let acting = acting();
        let invited = self.operators.invite(ManagedBy::CommandLine(&acting), wanted).await;
        self.accept(&invited.map_err(|error| error.to_string()).unwrap().link.token, "", "").await
    }

    pub(crate) async fn current(&self, person: &Person) -> CurrentOperator {
        self.operators.current(&person.signed_in.session_token).await.unwrap()
    }

    /// Signs in by password and authenticator, half a minute later.
    pub(crate) async fn sign_in(&self, person: &Person) -> SignedIn {
        self.wait(Duration::from_secs(30));
        let half = self.operators.sign_in(&person.email, PASSWORD, &client(1)).await;
        let half = half.map_err(|error| error.to_string()).unwrap();
        let code = self.code(&person.secret);
        let whole = self.operators.second_factor(&half.session_token, &code, &client(1)).await;
        whole.map_err(|error| error.to_string()).unwrap()
    }

    /// The actions of the audit log, oldest first, with who and what stands after.
    pub(crate) async fn log(&self) -> Vec<(String, String)> {
        let query = AuditQuery { oldest_first: true, limit: 100, ..AuditQuery::default() };
        let page = self.store.search_audit_log(query).await.unwrap();
        page.entries.into_iter().map(|entry| (entry.action, entry.after.unwrap_or_default())).collect()
    }
}

fn operators(
    store: &Store,
    secrets: &Arc<MasterKey>,
    clock: &Arc<TestClock>,
    policy: SecondFactorPolicy,
    passes: u32,
) -> Operators {
    let cost = PasswordCost { memory_kib: 64, passes, lanes: 1 };
    Operators::new(Arc::new(store.clone()), secrets.clone(), clock.clone(), Arc::new(FreshIds), policy, cost)
}
