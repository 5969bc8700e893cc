use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dropin_access::operator::{Operator, OperatorRights, OperatorSession, OperatorState, SessionStage};
use dropin_access::{MerchantIdentifier, SealedSecret, WalletIdentity};
use dropin_kernel::{EndpointId, MerchantId, OperatorId, OperatorSessionId, ProcessorId};
use dropin_ports::{
    AcceptInvitation, AccessStore, Applied, Clock, InvitationAccepted, KeyringError, NewInvitation, NewOperatorSession,
    OperatorInvited, OperatorStore, PhcHash, ProcessorAccount, ProcessorAccountStore, SealedKind, SealedStore,
    SealedValue, SecretKeys, Secrets, StoreError, TokenHash, TotpAuthenticator, WalletStore,
};
use dropin_store::Store;
use dropin_usecases::access::{Merchants, ProcessorAccountSecrets};
use dropin_usecases::key_rotation::{KeyRotation, RotationError, SealedRing};
use dropin_validation::{Email, Text};
use uuid::Uuid;

use super::harness::Harness;

const CERTIFICATE: &[u8] = b"certificate and key";

const ACCOUNT: &[u8] = b"sk_test_1\nwhsec_1\nwhsec_2";

const AUTHENTICATOR: &[u8] = b"what a telephone knows";

/// Values of an account that the master ring seals. Evidence in disputes belongs to Orders, which it has none of.
const KINDS: [SealedKind; 5] = [
    SealedKind::WebhookSecret,
    SealedKind::PreviousWebhookSecret,
    SealedKind::WalletCertificate,
    SealedKind::OperatorAuthenticator,
    SealedKind::ProcessorAccount,
];
const SEALED: usize = KINDS.len();

/// A merchant with an endpoint, a secret that retires, a wallet's certificate and an operator with an authenticator; what its secrets are.
struct Account {
    merchant: MerchantId,
    endpoint: EndpointId,
    operator: OperatorId,
    secrets: [Vec<u8>; 2],
}

impl Account {
    async fn create(harness: &Harness) -> Self {
        let merchant = harness.create(Some("https://shop.example/hook")).await.merchant_id;
        let endpoint = harness.merchants.endpoints(merchant).await.unwrap().remove(0).id;
        harness.merchants.rotate_secret(endpoint, Duration::from_secs(3_600)).await.unwrap();
        let secrets = secrets(harness, merchant, endpoint).await;
        let identity = WalletIdentity {
            merchant_id: merchant,
            identifier: MerchantIdentifier::parse("merchant.example.shop").unwrap(),
            country: "NL".to_owned(),
            sealed: harness.secrets.seal_secret(&wallet_owner(merchant), CERTIFICATE).unwrap(),
            expires_at: harness.clock.now(),
            set_at: harness.clock.now(),
        };
        harness.store.put_wallet(identity, dropin_store_contract::audited()).await.unwrap();
        let id = Uuid::now_v7();
        let processor: ProcessorId = format!("stripe.{}", &id.simple().to_string()[8..]).parse().unwrap();
        let account = ProcessorAccount {
            id,
            merchant_id: merchant,
            account: format!("acct_{id}"),
            has_events: false,
            sealed: harness.secrets.seal_secret(&account_owner(id, merchant, &processor), ACCOUNT).unwrap(),
            processor,
            set_at: harness.clock.now(),
            removed_at: None,
        };
        harness.store.put_processor_account(account, 99, dropin_store_contract::audited()).await.unwrap();
        Self { merchant, endpoint, operator: join(harness).await, secrets }
    }

    async fn check(&self, harness: &Harness) {
        assert_eq!(secrets(harness, self.merchant, self.endpoint).await, self.secrets);
        let identity = harness.store.find_wallet(self.merchant).await.unwrap().unwrap();
        let opened = harness.secrets.open_secret(&wallet_owner(self.merchant), &identity.sealed);
        assert_eq!(opened, Ok(CERTIFICATE.to_vec()));
        let account = harness.store.list_processor_accounts(Some(self.merchant)).await.unwrap().remove(0);
        let opened = ProcessorAccountSecrets::open(&*harness.secrets, &account).unwrap();
        assert_eq!((opened.key.as_str(), opened.events.as_str()), ("sk_test_1", "whsec_1\nwhsec_2"));
        let account = harness.store.find_operator(self.operator).await.unwrap().unwrap();
        let sealed = account.credentials.authenticator.unwrap().secret;
        let opened = harness.secrets.open_secret(&authenticator_owner(self.operator), &sealed);
        assert_eq!(opened, Ok(AUTHENTICATOR.to_vec()));
    }
}

/// An operator who accepted an invitation and set up an authenticator.
async fn join(harness: &Harness) -> OperatorId {
    let (id, now) = (OperatorId::new(Uuid::now_v7()), harness.clock.now());
    let operator = Operator {
        id,
        name: Text::restore("Ana Owner").unwrap(),
        email: Email::restore(&format!("{id}@shop.example")).unwrap(),
        state: OperatorState::Invited,
        rights: OperatorRights::owner(),
        created_at: now,
    };
    let mut token = [0; 32];
    token[..16].copy_from_slice(id.uuid().as_bytes());
    let link = NewInvitation { token: TokenHash(token), expires_at: now.plus(Duration::from_secs(60)) };
    let audit = dropin_store_contract::audited;
    let invited = harness.store.invite_operator(operator.clone(), link.clone(), audit()).await;
    assert_eq!(invited, Ok(OperatorInvited::Done));
    let secret = harness.secrets.seal_secret(&authenticator_owner(id), AUTHENTICATOR).unwrap();
    let session = OperatorSession {
        id: OperatorSessionId::new(Uuid::now_v7()),
        operator: id,
        stage: SessionStage::SignedIn,
        created_at: now,
        seen_at: now,
        client: "192.0.2.1".to_owned(),
        user_agent: "Browser/1".to_owned(),
    };
    let accept = AcceptInvitation {
        token: link.token,
        operator: Operator { state: OperatorState::Active, ..operator },
        password: PhcHash("$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$aGFzaA".to_owned()),
        authenticator: Some(TotpAuthenticator { secret, used_step: 0 }),
        recovery_codes: Vec::new(),
        session: NewOperatorSession { session, token: link.token },
        now,
        audit: audit(),
    };
    assert_eq!(harness.store.accept_invitation(accept).await, Ok(InvitationAccepted::Done));
    id
}

/// What authenticators are sealed for since the first version: it must never change.
fn authenticator_owner(operator: OperatorId) -> String {
    format!("authenticator of operator {operator}")
}

/// What keys of accounts at processors are sealed for since the first version: it must never change.
fn account_owner(id: Uuid, merchant: MerchantId, processor: &ProcessorId) -> String {
    format!("processor account {id} {processor} of {merchant}")
}

/// What certificates are sealed for since the first version: it must never change.
fn wallet_owner(merchant: MerchantId) -> String {
    format!("wallet of {merchant}")
}

async fn secrets(harness: &Harness, merchant: MerchantId, id: EndpointId) -> [Vec<u8>; 2] {
    let all = harness.store.list_endpoints(merchant).await.unwrap();
    let endpoint = all.into_iter().find(|endpoint| endpoint.id == id).unwrap();
    [endpoint.secret, endpoint.previous.unwrap().credential]
        .map(|sealed| harness.secrets.open_secret(&id.to_string(), &sealed).unwrap())
}

fn rotation(harness: &Harness) -> KeyRotation {
    KeyRotation { store: Arc::new(harness.store.clone()), ring: SealedRing::Master(harness.secrets.inner.clone()) }
}

/// A store in which something happens at a write.
struct Disturbed<F> {
    inner: Store,
    writes: AtomicUsize,
    at_write: F,
}

#[async_trait]
impl<F> SealedStore for Disturbed<F>
where
    F: AsyncAtWrite,
{
    async fn list_sealed(
        &self,
        kind: SealedKind,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<SealedValue>, StoreError> {
        self.inner.list_sealed(kind, after, limit.min(2)).await
    }

    async fn replace_sealed(&self, old: &SealedValue, new: &SealedValue) -> Result<Applied, StoreError> {
        self.at_write.at_write(self.writes.fetch_add(1, Ordering::SeqCst)).await?;
        self.inner.replace_sealed(old, new).await
    }
}

#[async_trait]
trait AsyncAtWrite: Send + Sync {
    async fn at_write(&self, number: usize) -> Result<(), StoreError>;
}

/// The database goes away after so many writes.
struct Away(usize);

#[async_trait]
impl AsyncAtWrite for Away {
    async fn at_write(&self, number: usize) -> Result<(), StoreError> {
        if number < self.0 { Ok(()) } else { Err(StoreError::Unavailable("away".to_owned())) }
    }
}

/// The merchant asks for a new secret just before the first write.
struct MerchantRotates(Merchants, EndpointId);

#[async_trait]
impl AsyncAtWrite for MerchantRotates {
    async fn at_write(&self, number: usize) -> Result<(), StoreError> {
        if number == 0 {
            self.0.rotate_secret(self.1, Duration::from_secs(3_600)).await.unwrap();
        }
        Ok(())
    }
}

fn disturbed(harness: &Harness, at_write: impl AsyncAtWrite + 'static) -> KeyRotation {
    let store = Disturbed { inner: harness.store.clone(), writes: AtomicUsize::new(0), at_write };
    KeyRotation { store: Arc::new(store), ..rotation(harness) }
}

#[tokio::test]
async fn every_value_is_sealed_anew_and_opens_as_before() {
    let harness = Harness::new();
    let accounts = [Account::create(&harness).await, Account::create(&harness).await];
    let rotation = rotation(&harness);
    assert_eq!(rotation.reseal().await.unwrap().count, 0, "the newest key sealed all of it");
    let id = harness.secrets.inner.make_key(harness.clock.now()).unwrap();
    assert_eq!(
        (rotation.usage().await.unwrap().count("first"), harness.secrets.inner.newest_key_id()),
        (2 * SEALED as u64, Ok(id.clone()))
    );
    let done = rotation.reseal().await.unwrap();
    assert_eq!((done.count, done.failed.len()), (2 * SEALED as u64, 0));
    let usage = rotation.usage().await.unwrap();
    assert_eq!((usage.count("first"), usage.damaged), (0, 0));
    assert_eq!(usage.of(&id), KINDS.map(|kind| (kind, 2)).into());
    for account in &accounts {
        account.check(&harness).await;
    }
    assert_eq!(rotation.reseal().await.unwrap().count, 0, "again changes nothing");
}

#[tokio::test]
async fn a_rotation_that_was_interrupted_anywhere_goes_on() {
    let harness = Harness::new();
    let accounts = [Account::create(&harness).await, Account::create(&harness).await];
    const ALL: usize = 2 * SEALED;
    for writes in 0..=ALL {
        let id = harness.secrets.inner.make_key(harness.clock.now()).unwrap();
        let outcome = disturbed(&harness, Away(writes)).reseal().await;
        match writes {
            ALL => assert_eq!(outcome.unwrap().count, ALL as u64),
            _ => assert!(matches!(outcome, Err(RotationError::Store(_))), "{outcome:?}"),
        }
        assert_eq!(rotation(&harness).usage().await.unwrap().count(&id), writes as u64);
        for account in &accounts {
            account.check(&harness).await;
        }
        assert_eq!(rotation(&harness).reseal().await.unwrap().count, (ALL - writes) as u64);
        assert_eq!(rotation(&harness).usage().await.unwrap().count(&id), ALL as u64);
    }
}

#[tokio::test]
async fn a_secret_that_the_merchant_changes_meanwhile_stays_changed() {
    let harness = Harness::new();
    let account = Account::create(&harness).await;
    let id = harness.secrets.inner.make_key(harness.clock.now()).unwrap();
    let before = secrets(&harness, account.merchant, account.endpoint).await;
    let meanwhile = MerchantRotates(harness.merchants.clone(), account.endpoint);
    let done = disturbed(&harness, meanwhile).reseal().await.unwrap();
    let after = secrets(&harness, account.merchant, account.endpoint).await;
    assert!(after[0] != before[0] && after[1] == before[0], "the merchant's change stands");
    let usage = rotation(&harness).usage().await.unwrap();
    assert_eq!((usage.count(&id), usage.count("first"), done.failed.len()), (SEALED as u64, 0, 0));
}

#[tokio::test]
async fn what_no_key_opens_is_told_and_stays() {
    let harness = Harness::new();
    let account = Account::create(&harness).await;
    let mut values = harness.store.list_sealed(SealedKind::WebhookSecret, None, 9).await.unwrap();
    let old = values.remove(0);
    let mut bytes = old.bytes().to_vec();
    bytes[20] ^= 1;
    let altered = SealedValue::WebhookSecret { endpoint: account.endpoint, sealed: SealedSecret(bytes) };
    harness.store.replace_sealed(&old, &altered).await.unwrap();
    harness.secrets.inner.make_key(harness.clock.now()).unwrap();
    let done = rotation(&harness).reseal().await.unwrap();
    assert_eq!((done.count, done.failed), (SEALED as u64 - 1, vec![(altered.clone(), KeyringError::CannotOpen)]));
    assert_eq!(rotation(&harness).usage().await.unwrap().count("first"), 1, "its key is still needed");
    let nothing = SealedValue::WebhookSecret { endpoint: account.endpoint, sealed: SealedSecret(vec![2, 0]) };
    harness.store.replace_sealed(&altered, &nothing).await.unwrap();
    assert_eq!(rotation(&harness).usage().await.unwrap().damaged, 1);
}
