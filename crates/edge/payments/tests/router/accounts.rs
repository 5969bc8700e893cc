//! Accounts that merchants have of their own: each operation goes to the account that it names, by the key that the account has now.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::rt::{System, time::sleep};
use async_trait::async_trait;
use dropin_access::{PasswordHash, SealedSecret};
use dropin_boot::{Mode, ProcessorArgs, ProcessorKind, ProcessorLimitArgs};
use dropin_kernel::{MerchantId, OpId, ProcessorId, Timestamp};
use dropin_order::OpKind;
use dropin_payments::{ProcessorAccountClients, ProcessorRouter};
use dropin_ports::{
    CaptureRequest, Fingerprint, KeyringError, NewAuditEntry, OperationQuery, Processor, ProcessorAccount,
    ProcessorAccountPut, ProcessorAccountRemoved, ProcessorAccountStore, ProcessorReply, Readiness, Secrets,
    StatusReply, StoreError,
};
use dropin_usecases::disputes::DisputeProcessors;
use uuid::Uuid;

use crate::contract::named;
use crate::stand_in::{KEY, StandIn};
use crate::who_is_asked::{amount, authorized};

const ANA: MerchantId = MerchantId::new(Uuid::from_u128(1));
const BO: MerchantId = MerchantId::new(Uuid::from_u128(2));
const KEY_OF_ANA: &str = "sk_test_own_ana_1";

/// What the store says of accounts; `None` while it cannot be asked.
#[derive(Default)]
struct Accounts(Mutex<Option<Vec<ProcessorAccount>>>);

impl Accounts {
    fn all(&self) -> Result<Vec<ProcessorAccount>, StoreError> {
        self.0.lock().unwrap().clone().ok_or_else(|| StoreError::Unavailable("away".to_owned()))
    }

    fn keep(&self, all: &[ProcessorAccount]) {
        *self.0.lock().unwrap() = Some(all.to_vec());
    }
}

#[async_trait]
impl ProcessorAccountStore for Accounts {
    async fn put_processor_account(
        &self,
        _: ProcessorAccount,
        _: u32,
        _: NewAuditEntry,
    ) -> Result<ProcessorAccountPut, StoreError> {
        unreachable!()
    }

    async fn find_processor_account(&self, name: &ProcessorId) -> Result<Option<ProcessorAccount>, StoreError> {
        Ok(self.all()?.into_iter().find(|account| account.processor == *name))
    }

    async fn list_processor_accounts(&self, _: Option<MerchantId>) -> Result<Vec<ProcessorAccount>, StoreError> {
        self.all()
    }

    async fn remove_processor_account(
        &self,
        _: MerchantId,
        _: &ProcessorId,
        _: Timestamp,
        _: NewAuditEntry,
    ) -> Result<ProcessorAccountRemoved, StoreError> {
        unreachable!()
    }

    async fn purge_processor_accounts(&self, _: Timestamp) -> Result<u32, StoreError> {
        unreachable!()
    }
}

/// Seals nothing.
struct Open;

impl Secrets for Open {
    fn hash_password(&self, _: &str) -> PasswordHash {
        unreachable!()
    }

    fn verify_password(&self, _: &str, _: Option<&PasswordHash>) -> bool {
        unreachable!()
    }

    fn fingerprint(&self, _: &[&[u8]]) -> Fingerprint {
        unreachable!()
    }

    fn seal_secret(&self, _: &str, secret: &[u8]) -> Result<SealedSecret, KeyringError> {
        Ok(SealedSecret(secret.to_vec()))
    }

    fn open_secret(&self, _: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError> {
        Ok(sealed.0.clone())
    }
}

fn id(name: &str) -> ProcessorId {
    name.parse().unwrap()
}

fn account(name: &str, merchant: MerchantId, key: &str) -> ProcessorAccount {
    ProcessorAccount {
        id: Uuid::new_v4(),
        merchant_id: merchant,
        processor: id(name),
        account: format!("acct_of_{name}"),
        has_events: false,
        sealed: SealedSecret(format!("{key}\n").into_bytes()),
        set_at: Timestamp::from_micros(0),
        removed_at: None,
    }
}

/// A deployment whose main processor is a sandbox processor that is nowhere, and `acquirer` a stand-in.
async fn start() -> (Arc<Accounts>, ProcessorRouter) {
    let url = format!("http://{}", StandIn::start().await);
    let main = named("sandbox", ProcessorKind::Sandbox, "http://127.0.0.1:1", "a key");
    let acquirer = named("acquirer", ProcessorKind::Stripe, &url, KEY);
    let args = |processor, url: &str| ProcessorArgs {
        processor,
        processor_url: Some(url.to_owned()),
        processor_key_file: None,
        processors: None,
    };
    let all = vec![
        (id("sandbox"), args(ProcessorKind::Sandbox, "http://127.0.0.1:1")),
        (id("acquirer"), args(ProcessorKind::Stripe, &url)),
    ];
    let limits = ProcessorLimitArgs {
        processor_payments: 8,
        processor_questions: 8,
        processor_merchant_share: 50,
        processor_failures: 10,
        processor_pause: 4,
    };
    let accounts = Arc::new(Accounts::default());
    accounts.keep(&[account("acquirer.ana", ANA, KEY_OF_ANA), account("acquirer.bo", BO, "sk_test_own_bo_1")]);
    let clients = ProcessorAccountClients::new(accounts.clone(), Arc::new(Open), all, limits, Mode::Sandbox);
    (accounts, ProcessorRouter::new(main, vec![acquirer]).with_accounts(Arc::new(clients)))
}

/// Longer than an answer of the store is used.
async fn read_again() {
    sleep(Duration::from_millis(1_100)).await;
}

#[test]
fn a_payment_is_captured_in_the_account_that_authorized_it_by_the_key_of_now() {
    System::new().block_on(async {
        let (accounts, router) = start().await;
        let (authorization, reference) = authorized(&router, "acquirer.ana", ANA).await;
        let capture = |processor: &str, merchant_id| CaptureRequest {
            key: OpId::new(Uuid::new_v4()),
            processor: Some(id(processor)),
            merchant_id,
            authorization,
            reference: Some(reference.clone()),
            amount: amount(),
        };
        // Nobody else has it: neither the deployment's own account nor another merchant's.
        for (processor, merchant) in [("acquirer", ANA), ("acquirer.bo", BO), ("acquirer.ana", BO)] {
            let reply = router.capture(capture(processor, merchant)).await;
            assert!(!matches!(reply, ProcessorReply::Approved { .. }), "{processor} {reply:?}");
        }
        accounts.keep(&[account("acquirer.ana", ANA, "sk_test_own_ana_revoked")]);
        read_again().await;
        assert_eq!(router.readiness(Some(&id("acquirer.ana"))).await, Readiness::Unusable);
        accounts.keep(&[account("acquirer.ana", ANA, "sk_test_own_ana_2")]);
        read_again().await;
        // The store goes away: what it said goes on.
        assert_eq!(router.readiness(Some(&id("acquirer.ana"))).await, Readiness::Ready);
        *accounts.0.lock().unwrap() = None;
        read_again().await;
        let reply = router.capture(capture("acquirer.ana", ANA)).await;
        assert!(matches!(reply, ProcessorReply::Approved { .. }), "{reply:?}");
    });
}

#[test]
fn a_removed_account_begins_nothing_and_ends_what_began() {
    System::new().block_on(async {
        let (accounts, router) = start().await;
        let (key, reference) = authorized(&router, "acquirer.ana", ANA).await;
        let (processor, merchant_id) = (Some(id("acquirer.ana")), ANA);
        let question =
            OperationQuery { key, processor, merchant_id, kind: OpKind::Authorize, reference: Some(reference) };
        let removed = ProcessorAccount {
            removed_at: Some(Timestamp::from_micros(1)),
            ..account("acquirer.ana", ANA, KEY_OF_ANA)
        };
        accounts.keep(&[removed]);
        read_again().await;
        assert_eq!(router.readiness(Some(&id("acquirer.ana"))).await, Readiness::Unusable);
        let reply = router.status(question.clone()).await;
        assert!(matches!(reply, StatusReply::Known(ProcessorReply::Approved { .. })), "{reply:?}");
        accounts.keep(&[]);
        read_again().await;
        let reply = router.status(question).await;
        assert!(
            matches!(&reply, StatusReply::Unreachable { why } if why.contains("merchant credentials set")),
            "{reply:?}"
        );
    });
}

#[test]
fn accounts_have_names_of_their_own_and_only_where_there_are_some() {
    System::new().block_on(async {
        let (_accounts, router) = start().await;
        let (holder, known) = router.holder("acquirer.ana:cus_1/pm_1".parse().unwrap());
        assert_eq!((holder, known.expose()), (Some(id("acquirer.ana")), "cus_1/pm_1"));
        let followed: Vec<_> = router.list().await.unwrap().into_iter().map(|one| one.name.to_string()).collect();
        assert_eq!(followed, ["sandbox", "acquirer", "acquirer.ana", "acquirer.bo"]);
        let main = named("stripe", ProcessorKind::Stripe, "http://127.0.0.1:1", KEY);
        let alone = ProcessorRouter::new(main, Vec::new());
        let (holder, known) = alone.holder("stripe.ana:cus_1/pm_1".parse().unwrap());
        assert_eq!((holder, known.expose()), (Some(id("stripe.ana")), "cus_1/pm_1"));
        let (accounts, router) = start().await;
        accounts.keep(&[account("sandbox.ana", ANA, "a key"), account("gone.ana", ANA, KEY_OF_ANA)]);
        for (name, why) in
            [("sandbox.ana", "sandbox processor"), ("gone.ana", "--processors"), ("acquirer.x", "no merchant")]
        {
            let error = router.named_processor(&id(name)).await.unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let client = router.named_processor(&id("acquirer")).await.unwrap().client;
        assert_eq!(client.find_account().await, Ok("acct_platform".to_owned()));
    });
}
