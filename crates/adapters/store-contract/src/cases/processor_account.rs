use std::sync::Arc;

use dropin_access::SealedSecret;
use dropin_kernel::{MerchantId, OpId, ProcessorId, Timestamp};
use dropin_order::OpState;
use dropin_ports::{
    AccountChanged, Applied, MerchantSettings, ProcessorAccount, ProcessorAccountPut, ProcessorAccountRemoved,
    ProcessorAccountUse, SealedKind, SealedValue,
};

use super::contract::opened;
use crate::Harness;
use crate::harness::outcome;
use crate::values::{at, audited, fresh};

const LIMIT: u32 = 9;

fn named(name: &str) -> ProcessorId {
    name.parse().unwrap()
}

fn account(merchant: MerchantId, name: &str, account: &str) -> ProcessorAccount {
    ProcessorAccount {
        id: fresh(),
        merchant_id: merchant,
        processor: named(name),
        account: account.to_owned(),
        has_events: true,
        sealed: SealedSecret(vec![0, 1, 255]),
        set_at: at(1),
        removed_at: None,
    }
}

async fn put(harness: &Harness, account: &ProcessorAccount) -> ProcessorAccountPut {
    harness.processor_accounts.put_processor_account(account.clone(), LIMIT, audited()).await.unwrap()
}

async fn remove(harness: &Harness, account: &ProcessorAccount, now: Timestamp) -> ProcessorAccountRemoved {
    let accounts = &harness.processor_accounts;
    accounts.remove_processor_account(account.merchant_id, &account.processor, now, audited()).await.unwrap()
}

async fn found(harness: &Harness, account: &ProcessorAccount) -> Option<ProcessorAccount> {
    harness.processor_accounts.find_processor_account(&account.processor).await.unwrap()
}

/// Every operation of the deployment is asked of this processor.
fn asked_of(harness: &Harness, name: &str) {
    harness.raw.execute(&format!("UPDATE processor_op SET processor_id = '{name}'")).unwrap();
}

fn in_use(orders: u64, contracts: u64) -> ProcessorAccountRemoved {
    ProcessorAccountRemoved::InUse(ProcessorAccountUse { orders, contracts, disputes: 0 })
}

pub async fn an_account_is_set_replaced_and_removed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (other, _) = harness.merchant().await;
    let mut ana = account(merchant.id, "stripe.ana", "acct_1");
    let bo = account(other.id, "stripe.bo", "acct_2");
    assert_eq!(found(&harness, &ana).await, None);
    assert_eq!(remove(&harness, &ana, at(2)).await, ProcessorAccountRemoved::Missing);
    for one in [&bo, &ana] {
        assert_eq!(put(&harness, one).await, ProcessorAccountPut::Done);
        assert_eq!(found(&harness, one).await.as_ref(), Some(one));
    }
    (ana.sealed, ana.set_at, ana.has_events) = (SealedSecret(vec![7]), at(3), false);
    assert_eq!(put(&harness, &ana).await, ProcessorAccountPut::Done);
    assert_eq!(found(&harness, &ana).await, Some(ana.clone()));
    let list = async |merchant| harness.processor_accounts.list_processor_accounts(merchant).await.unwrap();
    assert_eq!(list(None).await, [ana.clone(), bo.clone()]);
    assert_eq!(list(Some(other.id)).await, std::slice::from_ref(&bo));
    let foreign = ProcessorAccount { merchant_id: other.id, ..ana.clone() };
    assert_eq!(remove(&harness, &foreign, at(4)).await, ProcessorAccountRemoved::Missing);
    assert_eq!(remove(&harness, &ana, at(4)).await, ProcessorAccountRemoved::Done);
    assert_eq!(found(&harness, &ana).await.unwrap().removed_at, Some(at(4)));
    assert_eq!(remove(&harness, &ana, at(5)).await, ProcessorAccountRemoved::Missing);
    // Set once more before it is deleted.
    assert_eq!(put(&harness, &ana).await, ProcessorAccountPut::Done);
    assert_eq!(found(&harness, &ana).await, Some(ana));
}

pub async fn an_account_stays_who_it_is(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (other, _) = harness.merchant().await;
    let ana = account(merchant.id, "stripe.ana", "acct_1");
    assert_eq!(
        put(&harness, &account(MerchantId::new(fresh()), "stripe.x", "acct_9")).await,
        ProcessorAccountPut::NoMerchant
    );
    assert_eq!(put(&harness, &ana).await, ProcessorAccountPut::Done);
    let entries = harness.count("audit_log", "1 = 1");
    for (refused, why) in [
        (ProcessorAccount { merchant_id: other.id, ..ana.clone() }, ProcessorAccountPut::NameTaken),
        (ProcessorAccount { account: "acct_2".to_owned(), ..ana.clone() }, ProcessorAccountPut::NameTaken),
        // Its secrets are bound to another row.
        (ProcessorAccount { id: fresh(), ..ana.clone() }, ProcessorAccountPut::NameTaken),
        (account(merchant.id, "stripe.again", "acct_1"), ProcessorAccountPut::AccountTaken),
    ] {
        assert_eq!(put(&harness, &refused).await, why);
    }
    let second = account(other.id, "stripe.bo", "acct_2");
    let full = harness.processor_accounts.put_processor_account(second, 1, audited()).await;
    assert_eq!(full, Ok(ProcessorAccountPut::TooMany));
    assert_eq!(
        harness.processor_accounts.put_processor_account(ana.clone(), 1, audited()).await,
        Ok(ProcessorAccountPut::Done)
    );
    assert_eq!(found(&harness, &ana).await, Some(ana));
    assert_eq!(harness.count("audit_log", "1 = 1"), entries + 1, "what was refused is in no log");
}

pub async fn an_account_with_open_orders_is_not_removed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let ana = account(merchant.id, "stripe.ana", "acct_1");
    put(&harness, &ana).await;
    let open = harness.submitted(merchant.id).await;
    assert_eq!(remove(&harness, &ana, at(30)).await, ProcessorAccountRemoved::Done, "it is the main processor's");
    put(&harness, &ana).await;
    asked_of(&harness, "stripe.ana");
    assert_eq!(remove(&harness, &ana, at(31)).await, in_use(1, 0));
    let order = open.order.id;
    let now = |fields: &str| {
        harness.raw.execute(&format!("UPDATE purchase_order SET {fields} WHERE id = '{order}'")).unwrap();
    };
    let total = open.order.total.minor();
    now(&format!("state = 'PROCESSED', authorized_minor = {total}, captured_minor = {total}"));
    harness.payments.settle(outcome(open.operation.id, OpState::Approved, at(32))).await.unwrap();
    assert_eq!(remove(&harness, &ana, at(33)).await, in_use(1, 0), "it may be refunded");
    now(&format!("refunded_minor = {total}"));
    assert_eq!(remove(&harness, &ana, at(34)).await, ProcessorAccountRemoved::Done);
    put(&harness, &ana).await;
    let contract = opened(&harness, merchant.id, "subscription", at(35)).await;
    asked_of(&harness, "stripe.ana");
    let ProcessorAccountRemoved::InUse(uses) = remove(&harness, &ana, at(36)).await else { panic!() };
    assert_eq!(uses.contracts, 1, "{contract:?}");
    asked_of(&harness, "stripe");
    assert_eq!(remove(&harness, &ana, at(37)).await, ProcessorAccountRemoved::Done);
}

/// The merchant's rules are these from now on.
async fn set_rules(harness: &Harness, merchant: MerchantId, rules: &str) -> AccountChanged {
    let processors = Some(rules.parse().unwrap());
    let settings = MerchantSettings { processors, ..MerchantSettings::default() };
    harness.access.set_merchant(merchant, settings, audited()).await.unwrap()
}

pub async fn rules_name_no_account_that_was_removed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (other, _) = harness.merchant().await;
    let ana = account(merchant.id, "stripe.ana", "acct_1");
    let named = "stripe.ana,stripe methods=VISA";
    assert_eq!(set_rules(&harness, merchant.id, named).await, AccountChanged::Stale, "it never had it");
    put(&harness, &ana).await;
    assert_eq!(set_rules(&harness, other.id, named).await, AccountChanged::Stale, "it is another merchant's");
    assert_eq!(set_rules(&harness, merchant.id, named).await, AccountChanged::Done);
    let entries = harness.count("audit_log", "TRUE");
    assert_eq!(remove(&harness, &ana, at(2)).await, ProcessorAccountRemoved::Named);
    assert_eq!(set_rules(&harness, merchant.id, "stripe.bo").await, AccountChanged::Stale);
    assert_eq!(harness.count("audit_log", "TRUE"), entries, "what was refused is in no log");
    // A removal and rules that name the account, at once: one of the two comes too late.
    for round in 0..20 {
        assert_eq!(set_rules(&harness, merchant.id, "").await, AccountChanged::Done);
        put(&harness, &ana).await;
        let (setter, remover, owner) = (harness.clone(), harness.clone(), merchant.id);
        let removed = ana.clone();
        let set = tokio::spawn(async move { set_rules(&setter, owner, named).await });
        let remove = tokio::spawn(async move { remove(&remover, &removed, at(3)).await });
        let outcome = (set.await.unwrap(), remove.await.unwrap());
        let expected = match outcome.0 {
            AccountChanged::Done => (AccountChanged::Done, ProcessorAccountRemoved::Named),
            _ => (AccountChanged::Stale, ProcessorAccountRemoved::Done),
        };
        assert_eq!(outcome, expected, "round {round}");
    }
}

pub async fn a_removed_account_is_deleted_once_nothing_needs_it(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (ana, kept) = (account(merchant.id, "stripe.ana", "acct_1"), account(merchant.id, "stripe.bo", "acct_2"));
    for one in [&ana, &kept] {
        put(&harness, one).await;
    }
    assert_eq!(remove(&harness, &ana, at(30)).await, ProcessorAccountRemoved::Done);
    let purge = async |before| harness.processor_accounts.purge_processor_accounts(at(before)).await;
    assert_eq!(purge(30).await, Ok(0), "not yet");
    // What was about to begin there when it was removed.
    let payment = harness.submitted(merchant.id).await;
    asked_of(&harness, "stripe.ana");
    assert_eq!(purge(31).await, Ok(0), "something needs it");
    harness.payments.settle(outcome(payment.operation.id, OpState::Declined, at(32))).await.unwrap();
    let failed = format!("UPDATE purchase_order SET state = 'PROCESSING_FAILED' WHERE id = '{}'", payment.order.id);
    harness.raw.execute(&failed).unwrap();
    assert_eq!(purge(31).await, Ok(1));
    assert_eq!(purge(31).await, Ok(0), "once");
    assert_eq!((found(&harness, &ana).await, found(&harness, &kept).await), (None, Some(kept.clone())));
    assert_eq!(harness.processor_accounts.list_processor_accounts(None).await, Ok(vec![kept]));
    // Its name is never another account's: Orders and disputes keep it. The same account may come back.
    let (other, _) = harness.merchant().await;
    assert_eq!(put(&harness, &account(merchant.id, "stripe.ana", "acct_3")).await, ProcessorAccountPut::NameTaken);
    assert_eq!(put(&harness, &account(other.id, "stripe.ana", "acct_1")).await, ProcessorAccountPut::NameTaken);
    assert_eq!(put(&harness, &account(merchant.id, "stripe.new", "acct_1")).await, ProcessorAccountPut::AccountTaken);
    let again = account(merchant.id, "stripe.ana", "acct_1");
    assert_eq!(put(&harness, &again).await, ProcessorAccountPut::Done);
    assert_eq!(found(&harness, &again).await, Some(again));
}

pub async fn account_keys_are_listed_in_pages_and_sealed_anew(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut expected = Vec::new();
    for number in 0..5 {
        let one = account(merchant.id, &format!("stripe.{number}"), &format!("acct_{number}"));
        put(&harness, &one).await;
        expected.push(SealedValue::of_processor_account(&one));
    }
    expected.sort_by_key(SealedValue::row);
    for limit in [1, 3, 100] {
        let (mut all, mut after) = (Vec::new(), None);
        while let Ok(page) = harness.sealed.list_sealed(SealedKind::ProcessorAccount, after, limit).await
            && let Some(last) = page.last()
        {
            after = Some(last.row());
            all.extend(page);
        }
        assert_eq!(all, expected, "by {limit}");
    }
    let old = expected[0].clone();
    let SealedValue::ProcessorAccount { id, merchant, processor, .. } = old.clone() else { panic!("{old:?}") };
    let new =
        SealedValue::ProcessorAccount { id, merchant, processor: processor.clone(), sealed: SealedSecret(vec![9]) };
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(Applied::Done));
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(Applied::Stale), "it is not there any more");
    let kept = harness.processor_accounts.find_processor_account(&processor).await.unwrap().unwrap();
    assert_eq!((kept.sealed, kept.id), (SealedSecret(vec![9]), id));
    let unknown = OpId::new(fresh()).uuid();
    let nobody = SealedValue::ProcessorAccount { id: unknown, merchant, processor, sealed: SealedSecret(vec![9]) };
    assert_eq!(harness.sealed.replace_sealed(&nobody, &nobody).await, Ok(Applied::Stale));
}
