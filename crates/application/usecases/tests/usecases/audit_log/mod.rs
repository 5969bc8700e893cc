//! The audit log sealed and verified over the real store, with what somebody does past it.

mod tampered;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::databases;
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use dropin_access::AuditAction;
use dropin_kernel::{AuditEntryId, MerchantId, Timestamp};
use dropin_keyring::AuditKeys;
use dropin_ports::{
    AccessStore, Acting, Actor, AuditLog, AuditScope, AuditSealStore, AuditSealer, AuditSubject, Clock, IdSource,
};
use dropin_store::Store;
use dropin_store_contract::new_merchant;
use dropin_usecases::audit_log::{
    AuditExport, AuditFinding, AuditReport, AuditVerification, AuditWriter, KnownHead, Sealing,
};
use tampered::Tampered;
use uuid::Uuid;

struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

struct FreshIds;

impl IdSource for FreshIds {
    fn random(&self) -> Uuid {
        dropin_store_contract::fresh()
    }

    fn ordered(&self) -> Uuid {
        dropin_store_contract::fresh()
    }

    fn secret(&self) -> [u8; 32] {
        [7; 32]
    }
}

struct World {
    store: Arc<Store>,
    keys: Arc<AuditKeys>,
    clock: Arc<TestClock>,
    sealing: Sealing,
    merchant: MerchantId,
    folder: tempfile::TempDir,
}

impl World {
    /// A merchant's chain of five and the deployment's of two, all sealed.
    async fn sealed() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(databases::create(folder.path()));
        let keys = Arc::new(AuditKeys::open(folder.path()).unwrap());
        let clock = Arc::new(TestClock(AtomicI64::new(1_795_000_000_000_000)));
        keys.make_key(clock.now()).unwrap();
        let sealing = Sealing::new(store.clone(), keys.clone(), clock.clone());
        let mut new = new_merchant(false);
        new.audit.at = clock.now();
        let merchant = new.merchant.id;
        store.insert_merchant(new).await.unwrap();
        let world = Self { store, keys, clock, sealing, merchant, folder };
        for _ in 0..4 {
            world.append(Some(merchant)).await;
        }
        world.append(None).await;
        world.append(None).await;
        assert_eq!(world.sealing.run_due(100).await, Ok(7));
        world
    }

    fn writer(&self) -> AuditWriter {
        let by = Acting::new(Actor::CommandLine("root".to_owned()), None);
        AuditWriter { by, clock: self.clock.clone(), ids: Arc::new(FreshIds) }
    }

    async fn append(&self, merchant: Option<MerchantId>) {
        let subject = merchant.map_or_else(AuditSubject::deployment, AuditSubject::from);
        let entry = self.writer().entry(merchant, AuditAction::MerchantChange, subject);
        self.store.append_audit_entry(entry.with_after("{\"Name\":\"Shop\"}".to_owned())).await.unwrap();
    }

    async fn verify_over(&self, store: Arc<dyn AuditSealStore>, known: &[KnownHead]) -> AuditReport {
        let sealer = self.keys.clone();
        AuditVerification { store, sealer, clock: self.clock.clone() }.verify(known).await.unwrap()
    }

    async fn verify(&self, known: &[KnownHead]) -> AuditReport {
        self.verify_over(self.store.clone(), known).await
    }

    async fn heads(&self) -> Vec<KnownHead> {
        self.store.list_audit_heads().await.unwrap().iter().map(KnownHead::from).collect()
    }
}

#[tokio::test]
async fn an_untouched_log_is_whole() {
    let world = World::sealed().await;
    let heads = world.heads().await;
    let report = world.verify(&heads).await;
    assert_eq!((&report.findings[..], report.waiting), (&[][..], 0));
    assert_eq!(report.chains.iter().map(|chain| chain.seals).collect::<Vec<_>>(), [2, 5]);
    // It goes on, also under a new key, and what was known stays true.
    world.keys.make_key(world.clock.now()).unwrap();
    world.append(Some(world.merchant)).await;
    assert_eq!(world.verify(&heads).await.waiting, 1);
    assert_eq!((world.sealing.run_due(100).await, world.sealing.run_due(100).await), (Ok(1), Ok(0)));
    let report = world.verify(&heads).await;
    assert_eq!((report.findings, report.waiting, report.chains[1].seals), (vec![], 0, 6));
}

#[tokio::test]
async fn a_log_that_somebody_touched_is_not() {
    let world = World::sealed().await;
    let chain = Some(world.merchant);
    let of_chain = world.store.read_audit_chain(chain, 0, 100).await.unwrap();
    let id = |number: usize| of_chain[number - 1].seal.entry;
    let findings = async |tampered: Tampered| {
        let report = world.verify_over(Arc::new(tampered), &[]).await;
        report.findings
    };
    let tampered = || Tampered::new(world.store.clone(), chain);
    type Alter = fn(&mut dropin_ports::SealedAuditEntry);
    let alterations: [Alter; 9] = [
        |one| one.entry.as_mut().unwrap().subject_id = "another".to_owned(),
        |one| one.entry.as_mut().unwrap().action = "ORDER_REFUND".to_owned(),
        |one| one.entry.as_mut().unwrap().after = Some("{\"Name\":\"Shap\"}".to_owned()),
        |one| one.entry.as_mut().unwrap().after = None,
        |one| one.entry.as_mut().unwrap().acting.actor = Actor::Operator("root".to_owned()),
        |one| one.entry.as_mut().unwrap().acting.note = Some("because".to_owned()),
        |one| one.entry.as_mut().unwrap().at = Timestamp::from_micros(7),
        |one| one.seal.sealed_at = Timestamp::from_micros(7),
        |one| one.entry.as_mut().unwrap().merchant_id = None,
    ];
    for alter in alterations {
        let altered = tampered().altering(3, alter);
        assert_eq!(findings(altered).await, [AuditFinding::Altered { chain, sequence: 3, entry: id(3) }]);
    }
    let dropped = tampered().altering(3, |one| one.entry = None);
    assert_eq!(findings(dropped).await, [AuditFinding::EntryDropped { chain, sequence: 3, entry: id(3) }]);
    let without = tampered().without(2..=3);
    assert_eq!(findings(without).await, [AuditFinding::SealsDropped { chain, first: 2, last: 3 }]);
    // Whoever moves the numbers together has no MACs for them.
    let closed = tampered().without(2..=2).renumbered();
    let sequences: Vec<_> = findings(closed)
        .await
        .into_iter()
        .filter_map(|one| match one {
            AuditFinding::Altered { sequence, .. } => Some(sequence),
            _ => None,
        })
        .collect();
    assert_eq!(sequences, [2, 3, 4]);
}

#[tokio::test]
async fn an_entry_that_was_inserted_past_the_log_is_found() {
    let world = World::sealed().await;
    world.append(None).await;
    let waiting = world.store.list_unsealed(0, 10).await.unwrap().remove(0).entry;
    let report = world.verify(&[]).await;
    assert_eq!((report.findings, report.waiting, report.overdue), (vec![], 1, 0), "it waits for its seal");
    world.clock.0.fetch_add(61_000_000, Ordering::SeqCst);
    assert_eq!(world.verify(&[]).await.overdue, 1);
    let inserted = Tampered::new(world.store.clone(), None).unqueued();
    let report = world.verify_over(Arc::new(inserted), &[]).await;
    assert_eq!(report.findings, [AuditFinding::Inserted { entry: waiting.id, chain: None, at: waiting.at }]);
}

#[tokio::test]
async fn an_end_that_was_cut_off_shows_against_a_head_kept_elsewhere() {
    let world = World::sealed().await;
    let (chain, heads) = (Some(world.merchant), world.heads().await);
    let printed: Vec<String> = heads.iter().map(ToString::to_string).collect();
    let known: Vec<KnownHead> = printed.iter().map(|line| line.parse().unwrap()).collect();
    assert_eq!(known, heads, "a head comes back from its line");
    let cut = || Arc::new(Tampered::new(world.store.clone(), chain).without(4..=9));
    assert_eq!(world.verify_over(cut(), &[]).await.findings, [], "by itself it looks whole");
    let findings = world.verify_over(cut(), &known).await.findings;
    assert_eq!(findings, [AuditFinding::Cut { chain, known: 5, found: 3 }]);
    let mut other = known.clone();
    other[1].mac[0] ^= 1;
    let findings = world.verify(&other).await.findings;
    assert_eq!(findings, [AuditFinding::HeadDiffers { chain, sequence: 5 }]);
    for wrong in ["", "deployment:1", "deployment:0:00", "x:1:00", &format!("{}:1", printed[0])] {
        assert!(wrong.parse::<KnownHead>().is_err(), "{wrong}");
    }
}

/// What the owner of the tables can do: takes the triggers away and the seals from `first` on, has an entry say something else, and puts all that has no
/// seal into the queue again.
fn rewrite(world: &World, first: i64) {
    let mut database = SqliteConnection::establish(world.folder.path().join("dropin.db").to_str().unwrap()).unwrap();
    let of_merchant = format!("(SELECT id FROM audit_log WHERE merchant_id = '{}')", world.merchant);
    database
        .batch_execute(&format!(
            "PRAGMA busy_timeout = 5000; DROP TRIGGER audit_log_no_update; DROP TRIGGER audit_seal_no_delete; \
             UPDATE audit_log SET subject_id = 'another' WHERE id IN {of_merchant} AND \
                 id IN (SELECT entry_id FROM audit_seal WHERE sequence = {first}); \
             DELETE FROM audit_seal WHERE sequence >= {first} AND entry_id IN {of_merchant}; \
             INSERT INTO audit_unsealed (position) \
                 SELECT position FROM audit_log WHERE id NOT IN (SELECT entry_id FROM audit_seal) \
                     AND position NOT IN (SELECT position FROM audit_unsealed)"
        ))
        .unwrap();
}

#[tokio::test]
async fn a_chain_that_went_back_is_sealed_no_further() {
    let world = World::sealed().await;
    rewrite(&world, 3);
    world.append(None).await;
    assert_eq!(world.sealing.run_due(100).await, Ok(1), "the deployment's chain goes on");
    // Also when the number is reached again: somebody has the key of another settler.
    let report = world.verify(&[]).await;
    let numbers: Vec<_> = report.chains.iter().map(|chain| chain.head.sequence).collect();
    assert_eq!((numbers, report.waiting, report.overdue), (vec![3, 2], 3, 0));
    world.clock.0.fetch_add(61_000_000, Ordering::SeqCst);
    world.append(None).await;
    assert_eq!(world.sealing.run_due(1).await, Ok(1), "what waits of the other is no obstacle");
    let report = world.verify(&[]).await;
    assert_eq!((report.findings.len(), report.overdue, report.is_clean()), (0, 3, false));
}

#[tokio::test]
async fn what_is_sealed_late_is_told_unless_a_head_was_kept_since() {
    let world = World::sealed().await;
    let (chain, heads) = (Some(world.merchant), world.heads().await);
    rewrite(&world, 4);
    world.clock.0.fetch_add(3_600_000_001, Ordering::SeqCst);
    // A settler that was started anew knows nothing of before.
    let next = Sealing::new(world.store.clone(), world.keys.clone(), world.clock.clone());
    assert_eq!(next.run_due(100).await, Ok(2));
    world.append(chain).await;
    assert_eq!(next.run_due(100).await, Ok(1));
    let late = AuditFinding::SealedLate { chain, first: 4, last: 5 };
    assert_eq!(world.verify(&[]).await.findings, std::slice::from_ref(&late));
    let differs = AuditFinding::HeadDiffers { chain, sequence: 5 };
    assert_eq!(world.verify(&heads).await.findings, [differs, late]);
    assert_eq!(world.verify(&world.heads().await).await.findings, []);
}

#[tokio::test]
async fn a_seal_that_somebody_else_wrote_stops_no_other_chain() {
    let world = World::sealed().await;
    world.append(Some(world.merchant)).await;
    world.append(None).await;
    let waiting = world.store.find_unsealed(10, vec![]).await.unwrap().entries;
    let mut database = SqliteConnection::establish(world.folder.path().join("dropin.db").to_str().unwrap()).unwrap();
    let mut bogus = |entry: AuditEntryId, chain: &str, sequence: i64| {
        let insert = format!(
            "INSERT INTO audit_seal (entry_id, chain_id, sequence, key_id, mac, sealed_at) \
             VALUES ('{entry}', '{chain}', {sequence}, 'x', zeroblob(32), 0)"
        );
        database.batch_execute(&format!("PRAGMA busy_timeout = 5000; {insert}")).unwrap();
    };
    // What every service may insert: a seal of an entry that waits, and the last number that there is.
    bogus(waiting[0].id, &world.merchant.to_string(), 6);
    assert_eq!(world.sealing.run_due(100).await, Ok(1), "the entry beside it is sealed");
    world.append(Some(world.merchant)).await;
    world.append(None).await;
    let last = world.store.find_unsealed(10, vec![]).await.unwrap().entries;
    bogus(last[0].id, &world.merchant.to_string(), i64::MAX);
    world.append(Some(world.merchant)).await;
    assert_eq!(world.sealing.run_due(100).await, Ok(1), "the deployment's entry is sealed");
    let report = world.verify(&[]).await;
    assert!(!report.findings.is_empty() && report.waiting == 1, "{report:?}");
}

#[tokio::test]
async fn a_key_that_is_gone_is_told_apart_from_an_alteration() {
    let world = World::sealed().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let keys = AuditKeys::open(elsewhere.path()).unwrap();
    keys.make_key(world.clock.now()).unwrap();
    let (store, clock) = (world.store.clone(), world.clock.clone());
    let report = AuditVerification { store, sealer: Arc::new(keys), clock }.verify(&[]).await.unwrap();
    assert_eq!(report.findings.len(), 7);
    assert!(report.findings.iter().all(|finding| matches!(finding, AuditFinding::KeyMissing { .. })));
}

#[tokio::test]
async fn what_a_killed_sealer_left_is_sealed_by_the_next_once() {
    let world = World::sealed().await;
    for _ in 0..3 {
        world.append(Some(world.merchant)).await;
    }
    // The one before has the lease and never comes back.
    let next = Sealing::new(world.store.clone(), world.keys.clone(), world.clock.clone());
    assert_eq!(next.run_due(2).await, Ok(0), "it waits for the lease to end");
    world.clock.0.fetch_add(5_000_001, Ordering::SeqCst);
    assert_eq!((next.run_due(2).await, next.run_due(2).await, next.run_due(2).await), (Ok(2), Ok(1), Ok(0)));
    world.append(Some(world.merchant)).await;
    assert_eq!(world.sealing.run_due(2).await, Ok(0), "the first one has lost it");
    assert_eq!(next.run_due(2).await, Ok(1));
    let report = world.verify(&[]).await;
    assert_eq!((report.findings, report.chains[1].seals), (vec![], 9));
}

#[tokio::test]
async fn an_export_is_an_act_and_holds_the_range_with_its_seals() {
    let world = World::sealed().await;
    let from = world.clock.now();
    world.clock.0.fetch_add(10_000_000, Ordering::SeqCst);
    for _ in 0..3 {
        world.append(Some(world.merchant)).await;
    }
    world.clock.0.fetch_add(10_000_000, Ordering::SeqCst);
    assert_eq!(world.sealing.run_due(100).await, Ok(3));
    let export = AuditExport {
        log: world.store.clone(),
        seals: world.store.clone(),
        sealer: world.keys.clone(),
        writer: world.writer(),
    };
    let mut lines = Vec::new();
    let write = |bytes: &[u8]| {
        lines.extend_from_slice(bytes);
        Ok(())
    };
    let (after, to) = (Timestamp::from_micros(from.micros() + 1), world.clock.now());
    let summary = export.run(AuditScope::Merchant(world.merchant), after, to, write).await.unwrap();
    let text = String::from_utf8(lines).unwrap();
    let bodies: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((summary.entries, bodies.len()), (3, 3), "{text}");
    let numbers: Vec<_> = bodies.iter().map(|body| body["Seal"]["Sequence"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [6, 7, 8]);
    assert_eq!((&bodies[0]["Action"], &bodies[0]["After"]["Name"]), (&"MERCHANT_CHANGE".into(), &"Shop".into()));
    let acts = world.store.list_unsealed(0, 10).await.unwrap();
    assert_eq!(acts.iter().map(|one| one.entry.action.as_str()).collect::<Vec<_>>(), ["AUDIT_LOG_EXPORT"]);
    let manifest = format!("{}  audit.jsonl\n", summary.sha256);
    assert_eq!(export.sign(&manifest).unwrap(), world.keys.sign_export(manifest.as_bytes()).unwrap());
    assert!(world.folder.path().join("audit").is_dir());
}
