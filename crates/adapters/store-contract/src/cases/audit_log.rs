//! The log of acts and its seals. What a MAC says is the use cases' affair: here it is any 32 bytes.

use std::net::IpAddr;
use std::sync::Arc;

use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_kernel::{Change, MerchantId};
use dropin_ports::{
    AccountChanged, Acting, Actor, AuditChain, AuditEntry, AuditPage, AuditQuery, AuditScope, AuditSeal, AuditSubject,
    ChangeOrder, MerchantSettings, NewAuditEntry, OrderChanged, SealingLease, SealsWritten, StoreError,
};

use super::order::changing;
use crate::Harness;
use crate::harness::capture;
use crate::values::{at, audit_entry, fresh, seconds};

async fn all(harness: &Harness, scope: AuditScope) -> Vec<AuditEntry> {
    let query = AuditQuery { scope, oldest_first: true, limit: 100, ..AuditQuery::default() };
    harness.audit_log.search_audit_log(query).await.unwrap().entries
}

fn about(merchant: MerchantId) -> NewAuditEntry {
    audit_entry(AuditAction::MerchantChange, Some(merchant), merchant)
}

/// What is read back of an entry.
fn as_read(position: i64, new: NewAuditEntry) -> AuditEntry {
    AuditEntry {
        position,
        id: new.id,
        merchant_id: new.merchant_id,
        acting: new.acting,
        action: new.action.as_str().to_owned(),
        subject_kind: new.subject.kind.as_str().to_owned(),
        subject_id: new.subject.id,
        before: new.before,
        after: new.after,
        at: new.at,
    }
}

pub async fn an_act_and_its_entry_are_written_together(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let of_merchant = AuditScope::Merchant(merchant.id);
    let created = all(&harness, of_merchant).await;
    assert_eq!(created.iter().map(|entry| entry.action.as_str()).collect::<Vec<_>>(), ["MERCHANT_CREATE"]);
    let name = |name: &str| MerchantSettings { name: Some(name.to_owned()), ..MerchantSettings::default() };
    let entry = about(merchant.id);
    let set = harness.access.set_merchant(merchant.id, name("Second"), entry.clone()).await;
    assert_eq!((set, all(&harness, of_merchant).await.len()), (Ok(AccountChanged::Done), 2));
    // An entry that cannot be written takes its act along.
    let twice = harness.access.set_merchant(merchant.id, name("Third"), entry).await;
    assert!(matches!(twice, Err(StoreError::Refused(_))), "{twice:?}");
    assert_eq!(harness.access.find_merchant(merchant.id).await.unwrap().unwrap().name, "Second");
    // An act that changes nothing leaves none.
    let nobody = MerchantId::new(fresh());
    let missing = harness.access.set_merchant(nobody, name("Nobody"), about(merchant.id)).await;
    assert_eq!((missing, all(&harness, of_merchant).await.len()), (Ok(AccountChanged::Missing), 2));
}

pub async fn an_orders_change_brings_its_entry(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let order = payment.order.clone();
    let asking = capture(&payment, None, at(40));
    let entry = |id| {
        let by = Acting::new(Actor::Merchant("api-1".to_owned()), "192.0.2.7".parse().ok());
        let entry = NewAuditEntry::new(id, at(40), by, Some(merchant.id), AuditAction::OrderCapture, order.id);
        entry.with_before("{\"State\":\"PAYMENT_AUTHORIZED\"}".to_owned())
    };
    let change = ChangeOrder { audit: Some(entry(fresh())), ..asking.clone().into() };
    let expected = change.audit.clone().unwrap();
    assert_eq!(harness.payments.change_order(change).await, Ok(OrderChanged::Done));
    let late = ChangeOrder { audit: Some(entry(fresh())), operation: None, ..asking.into() };
    assert_eq!(harness.payments.change_order(late).await, Ok(OrderChanged::Stale));
    let found = all(&harness, AuditScope::Merchant(merchant.id)).await.pop().unwrap();
    assert_eq!(found, as_read(found.position, expected));
    let order = harness.payment(payment.operation.id).await.order;
    let expected = order.revision;
    let silent = changing(Change { next: order.at_revision(expected.next()), expected });
    assert_eq!(harness.payments.change_order(silent).await, Ok(OrderChanged::Done));
    assert_eq!(all(&harness, AuditScope::All).await.len(), 2, "a change that nobody asked for leaves none");
}

pub async fn an_entry_comes_back_whole(harness: Arc<Harness>) {
    let actors = [
        Actor::Merchant("api-1".to_owned()),
        Actor::Operator("ada".to_owned()),
        Actor::CommandLine("root".to_owned()),
        Actor::System,
    ];
    let mut written = Vec::new();
    for (number, actor) in actors.into_iter().enumerate() {
        let address: Option<IpAddr> = (number < 2).then(|| "2001:db8::7".parse().unwrap());
        let acting = Acting { actor, address, note: Some("because\nof <this>".to_owned()) };
        let subject = AuditSubject::new(AuditSubjectKind::Key, "master/1-00000001");
        let entry = NewAuditEntry::new(fresh(), at(7), acting, None, AuditAction::KeyDestroy, subject);
        // The bytes are kept as they are: seals are over them.
        let entry = entry.with_before("{ \"b\": 1.0,\"a\":2 }".to_owned()).with_after("{}".to_owned());
        harness.audit_log.append_audit_entry(entry.clone()).await.unwrap();
        written.push(entry);
    }
    let found = all(&harness, AuditScope::Deployment).await;
    let expected: Vec<_> = found.iter().zip(written.clone()).map(|(entry, new)| as_read(entry.position, new)).collect();
    assert_eq!((found.len(), &found), (4, &expected));
    let shopper = NewAuditEntry { acting: Acting::new(Actor::Shopper, None), ..written.remove(0) };
    let no_json = audit_entry(AuditAction::KeyRotate, None, AuditSubject::deployment()).with_after("{".to_owned());
    for refused in [shopper, no_json] {
        let outcome = harness.audit_log.append_audit_entry(refused).await;
        assert!(matches!(outcome, Err(StoreError::Refused(_))), "{outcome:?}");
    }
    assert_eq!(all(&harness, AuditScope::All).await.len(), 4);
}

pub async fn the_log_is_searched_in_pages(harness: Arc<Harness>) {
    let (mine, _) = harness.merchant().await;
    let (other, _) = harness.merchant().await;
    for number in 0..6 {
        let merchant = if number % 3 == 0 { other.id } else { mine.id };
        // Three at one instant each: the position tells them apart.
        let entry = NewAuditEntry { at: at(100 + number / 3), ..about(merchant) };
        harness.audit_log.append_audit_entry(entry).await.unwrap();
    }
    let query = AuditQuery {
        scope: AuditScope::Merchant(mine.id),
        since: Some(at(100)),
        action: Some("MERCHANT_CHANGE".to_owned()),
        limit: 3,
        ..AuditQuery::default()
    };
    for oldest_first in [false, true] {
        let mut query = AuditQuery { oldest_first, ..query.clone() };
        let AuditPage { mut entries, next } = harness.audit_log.search_audit_log(query.clone()).await.unwrap();
        assert_eq!((entries.len(), next.is_some()), (3, true));
        query.after = next;
        let rest = harness.audit_log.search_audit_log(query).await.unwrap();
        assert_eq!((rest.entries.len(), rest.next), (1, None));
        entries.extend(rest.entries);
        let mut positions: Vec<_> = entries.iter().map(|entry| entry.position).collect();
        if !oldest_first {
            positions.reverse();
        }
        assert!(positions.is_sorted() && entries.iter().all(|entry| entry.merchant_id == Some(mine.id)));
    }
    let count = async |query: AuditQuery| {
        harness.audit_log.search_audit_log(AuditQuery { limit: 100, ..query }).await.unwrap().entries.len()
    };
    let everything = AuditQuery::default();
    assert_eq!(count(AuditQuery { until: Some(at(101)), since: Some(at(100)), ..everything.clone() }).await, 3);
    assert_eq!(count(AuditQuery { subject_id: Some(other.id.to_string()), ..everything.clone() }).await, 3);
    assert_eq!(count(AuditQuery { actor_name: Some("root".to_owned()), ..everything.clone() }).await, 8);
    assert_eq!(count(AuditQuery { actor_name: Some("ada".to_owned()), ..everything }).await, 0);
}

pub async fn what_was_logged_cannot_be_changed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    sealed(&harness, lease(&harness).await).await;
    for statement in [
        "UPDATE audit_log SET subject_id = 'another'",
        "DELETE FROM audit_log",
        "UPDATE audit_seal SET key_id = 'another'",
        "DELETE FROM audit_seal",
    ] {
        let refused = harness.raw.execute(statement).unwrap_err();
        assert!(refused.contains("_append_only"), "{statement}: {refused}");
    }
    harness.cannot_be_replaced("audit_log");
    harness.cannot_be_replaced("audit_seal");
    assert_eq!(all(&harness, AuditScope::Merchant(merchant.id)).await.len(), 1);
    assert_eq!(harness.count("audit_seal", "1 = 1"), 1);
}

async fn lease(harness: &Harness) -> SealingLease {
    harness.seals.claim_sealing(None, at(0), at(60)).await.unwrap().unwrap()
}

fn seal(entry: &AuditEntry, sequence: i64) -> AuditSeal {
    let mac = [u8::try_from(sequence).unwrap(); 32];
    AuditSeal {
        entry: entry.id,
        chain: entry.merchant_id,
        sequence,
        key_id: "1-00000001".to_owned(),
        mac,
        sealed_at: at(9),
    }
}

/// Seals what waits, each chain from its head on.
async fn sealed(harness: &Harness, lease: SealingLease) -> Vec<AuditSeal> {
    let waiting = harness.seals.find_unsealed(100, vec![]).await.unwrap();
    let mut seals: Vec<AuditSeal> = Vec::new();
    for entry in &waiting.entries {
        let last = seals.iter().rev().find(|seal| seal.chain == entry.merchant_id).map(|seal| seal.sequence);
        let head = waiting.heads.iter().find(|head| head.chain == entry.merchant_id).map(|head| head.sequence);
        seals.push(seal(entry, last.or(head).unwrap_or(0) + 1));
    }
    assert_eq!(harness.seals.write_seals(lease, seals.clone()).await, Ok(SealsWritten::Done));
    seals
}

pub async fn seals_are_chained_by_merchant(harness: Arc<Harness>) {
    assert_eq!(harness.seals.has_audit_seals().await, Ok(false));
    let (merchant, _) = harness.merchant().await;
    let deployment = audit_entry(AuditAction::KeyRotate, None, AuditSubject::deployment());
    harness.audit_log.append_audit_entry(deployment.clone()).await.unwrap();
    let waiting = harness.seals.count_unsealed().await.unwrap();
    assert_eq!((waiting.count, waiting.oldest), (2, Some(at(0))));
    let lease = lease(&harness).await;
    let first = sealed(&harness, lease).await;
    assert_eq!(harness.seals.count_unsealed().await.unwrap().count, 0);
    assert!(harness.seals.find_unsealed(100, vec![]).await.unwrap().entries.is_empty());
    harness.audit_log.append_audit_entry(about(merchant.id)).await.unwrap();
    harness.audit_log.append_audit_entry(about(merchant.id)).await.unwrap();
    let waiting = harness.seals.find_unsealed(1, vec![]).await.unwrap();
    assert_eq!((waiting.entries.len(), waiting.heads.len(), waiting.heads[0].sequence), (1, 1, 1));
    let second = sealed(&harness, lease).await;
    let heads = harness.seals.list_audit_heads().await.unwrap();
    let shown: Vec<(AuditChain, i64)> = heads.iter().map(|head| (head.chain, head.sequence)).collect();
    assert_eq!(shown, [(None, 1), (Some(merchant.id), 3)], "the deployment's comes first");
    assert_eq!((heads[1].mac, heads[1].sealed_at), ([3; 32], at(9)));
    let chain = harness.seals.read_audit_chain(Some(merchant.id), 1, 100).await.unwrap();
    assert_eq!(chain.iter().map(|one| one.seal.clone()).collect::<Vec<_>>(), second);
    let entries: Vec<_> = chain.into_iter().map(|one| one.entry.unwrap()).collect();
    assert_eq!(entries, all(&harness, AuditScope::Merchant(merchant.id)).await[1..]);
    let ids = vec![first[0].entry, second[1].entry];
    let mut found = harness.seals.find_audit_seals(ids).await.unwrap();
    found.sort_by_key(|seal| seal.sequence);
    assert_eq!(found, [first[0].clone(), second[1].clone()]);
    assert_eq!(harness.seals.count_seals_by_key().await, Ok(vec![("1-00000001".to_owned(), 4)]));
    assert_eq!(
        (harness.seals.has_audit_seals().await, harness.seals.list_unsealed(0, 9).await),
        (Ok(true), Ok(vec![]))
    );
}

pub async fn what_somebody_sealed_past_the_sealers_is_told(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.audit_log.append_audit_entry(about_nobody()).await.unwrap();
    harness.audit_log.append_audit_entry(about(merchant.id)).await.unwrap();
    let waiting = harness.seals.find_unsealed(10, vec![]).await.unwrap();
    let ids: Vec<_> = waiting.entries.iter().map(|entry| entry.id).collect();
    assert_eq!((ids.len(), &waiting.sealed[..]), (3, &[][..]));
    let foreign = format!(
        "INSERT INTO audit_seal (entry_id, chain_id, sequence, key_id, mac, sealed_at) \
         SELECT entry.id, endpoint.merchant_id, 9, 'x', substr(endpoint.secret, 1, 32), entry.happened_at \
         FROM audit_log AS entry CROSS JOIN endpoint WHERE entry.id = '{}'",
        ids[2]
    );
    assert_eq!(harness.raw.execute(&foreign), Ok(1));
    let waiting = harness.seals.find_unsealed(10, vec![]).await.unwrap();
    let left: Vec<_> = waiting.entries.iter().map(|entry| entry.id).collect();
    assert_eq!((left.as_slice(), waiting.sealed), (&ids[..2], vec![ids[2]]), "in its place the others are read");
    let of = async |except: Vec<AuditChain>| {
        let waiting = harness.seals.find_unsealed(10, except).await.unwrap();
        waiting.entries.iter().map(|entry| entry.merchant_id).collect::<Vec<_>>()
    };
    assert_eq!(of(vec![None]).await, [Some(merchant.id)]);
    assert_eq!(of(vec![Some(merchant.id)]).await, [None]);
    assert_eq!(of(vec![Some(merchant.id), None]).await, []);
}

pub async fn of_many_sealers_one_seals(harness: Arc<Harness>) {
    let (_, _) = harness.merchant().await;
    let claim = async |held, now| harness.seals.claim_sealing(held, at(now), at(now).plus(seconds(10))).await.unwrap();
    let first = claim(None, 0).await.unwrap();
    assert_eq!(claim(None, 9).await, None, "it is taken");
    assert_eq!(claim(Some(first), 9).await, Some(first), "it is renewed");
    assert_eq!(claim(None, 18).await, None);
    let second = claim(None, 19).await.unwrap();
    assert!(first.epoch < second.epoch, "{first:?} {second:?}");
    assert_eq!(claim(Some(first), 20).await, None, "who lost it gets it back when its time has come");
    let entry = harness.seals.find_unsealed(1, vec![]).await.unwrap().entries.remove(0);
    let late = harness.seals.write_seals(first, vec![seal(&entry, 1)]).await;
    assert_eq!((late, harness.count("audit_seal", "1 = 1")), (Ok(SealsWritten::LeaseLost), 0));
    assert_eq!(harness.seals.write_seals(second, vec![seal(&entry, 1)]).await, Ok(SealsWritten::Done));
    // Two seals of one number cannot be, whoever writes them.
    harness
        .audit_log
        .append_audit_entry(NewAuditEntry { merchant_id: entry.merchant_id, ..about_nobody() })
        .await
        .unwrap();
    let next = harness.seals.find_unsealed(1, vec![]).await.unwrap().entries.remove(0);
    let again = harness.seals.write_seals(second, vec![seal(&next, 1)]).await;
    assert!(matches!(again, Err(StoreError::Refused(_))), "{again:?}");
    assert_eq!(harness.seals.count_unsealed().await.unwrap().count, 1, "it goes on waiting");
}

fn about_nobody() -> NewAuditEntry {
    audit_entry(AuditAction::MerchantChange, None, AuditSubject::deployment())
}

pub async fn what_is_done_past_the_log_shows(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..4 {
        harness.audit_log.append_audit_entry(about(merchant.id)).await.unwrap();
    }
    let lease = lease(&harness).await;
    let seals = sealed(&harness, lease).await;
    // Whoever owns the database can do this.
    for trigger in ["append_only", "queued", "no_update", "no_delete"] {
        for table in ["audit_log", "audit_seal"] {
            drop(harness.raw.execute(&format!("DROP TRIGGER {table}_{trigger} ON {table}")));
            drop(harness.raw.execute(&format!("DROP TRIGGER {table}_{trigger}")));
        }
    }
    let [altered, dropped, unsealed, ..] = seals.as_slice() else { panic!("{seals:?}") };
    let execute = |sql: &str| assert_eq!(harness.raw.execute(sql), Ok(1), "{sql}");
    execute(&format!("UPDATE audit_log SET subject_id = 'another' WHERE id = '{}'", altered.entry));
    execute(&format!("DELETE FROM audit_seal WHERE entry_id = '{}'", dropped.entry));
    execute(&format!("DELETE FROM audit_log WHERE id = '{}'", dropped.entry));
    execute(&format!("DELETE FROM audit_seal WHERE entry_id = '{}'", unsealed.entry));
    let inserted = fresh();
    execute(&format!(
        "INSERT INTO audit_log (id, merchant_id, actor_kind, actor_name, action, subject_kind, subject_id, happened_at) \
         SELECT '{inserted}', merchant_id, actor_kind, actor_name, action, subject_kind, subject_id, happened_at \
         FROM audit_log WHERE id = '{}'",
        altered.entry
    ));
    let chain = harness.seals.read_audit_chain(Some(merchant.id), 0, 100).await.unwrap();
    let numbers: Vec<_> = chain.iter().map(|one| one.seal.sequence).collect();
    assert_eq!(numbers, [1, 4, 5], "a gap stays");
    assert_eq!(chain[0].entry.as_ref().unwrap().subject_id, "another");
    let found = harness.seals.list_unsealed(0, 100).await.unwrap();
    let mut ids: Vec<_> = found.iter().map(|one| (one.entry.id.uuid(), one.is_queued)).collect();
    ids.sort_unstable();
    let mut expected = [(unsealed.entry.uuid(), false), (inserted, false)];
    expected.sort_unstable();
    assert_eq!(ids, expected);
}
