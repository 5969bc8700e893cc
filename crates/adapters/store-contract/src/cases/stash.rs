use std::sync::Arc;

use dropin_card::{Scheme, StashedKind, Wallet};
use dropin_ports::{AuthorizationPrepared, SealedCard, StashEntry, StashKey, StashSummary, StashUse};

use crate::Harness;
use crate::values::{at, entry, found};

pub async fn an_entry_is_replaced_by_the_next(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let first = harness.stashed(merchant.id).await;
    assert_eq!(harness.stash.peek_stash(&first.key, at(0)).await, Ok(Some(found(&first))));
    let second = StashEntry {
        sealed: SealedCard { key_id: "2026112111".to_owned(), bytes: (0..=255).collect() },
        summary: StashSummary { kind: StashedKind::Card(None), usable: false },
        created_at: at(60),
        expires_at: at(3_000),
        ..first.clone()
    };
    harness.stash.put_stash(second.clone()).await.unwrap();
    assert_eq!(harness.stash.peek_stash(&first.key, at(2_000)).await, Ok(Some(found(&second))));
    assert_eq!(harness.count("stash", "1 = 1"), 1);
    let session = harness.session(merchant.id).await;
    // A submit that was decided on the first one does not pay with the second.
    let mut submit = harness.submit(&session, &first.key, at(2_000));
    let using = |summary| Some(StashUse { key: first.key.clone(), summary });
    let missing = harness.payments.prepare_authorization(submit.clone()).await.unwrap();
    assert!(matches!(missing, AuthorizationPrepared::StashMissing), "{missing:?}");
    submit.stash = using(StashSummary { usable: true, ..second.summary });
    let missing = harness.payments.prepare_authorization(submit.clone()).await.unwrap();
    assert!(matches!(missing, AuthorizationPrepared::StashMissing), "{missing:?}");
    submit.stash = using(second.summary);
    let done = harness.payments.prepare_authorization(submit).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(Some(card)) if card == second.sealed));
    let cards = Scheme::ALL.into_iter().map(|scheme| StashedKind::Card(Some(scheme)));
    for kind in cards.chain(Wallet::ALL.map(StashedKind::Wallet)) {
        let summary = StashSummary { kind, usable: true };
        let one = StashEntry { summary, ..entry(merchant.id, at(100)) };
        harness.stash.put_stash(one.clone()).await.unwrap();
        assert_eq!(harness.stash.peek_stash(&one.key, at(0)).await, Ok(Some(found(&one))));
    }
}

pub async fn an_entry_is_read_and_stays(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let kept = entry(merchant.id, at(100));
    harness.stash.put_stash(kept.clone()).await.unwrap();
    for _ in 0..2 {
        let read = harness.stash.read_stash(&kept.key, at(99)).await;
        assert_eq!(read, Ok(Some((kept.summary, kept.sealed.clone()))));
    }
    assert_eq!(harness.stash.read_stash(&kept.key, at(100)).await, Ok(None), "expired");
    let others = StashKey { merchant_id: other.id, ..kept.key };
    assert_eq!(harness.stash.read_stash(&others, at(0)).await, Ok(None));
}

pub async fn only_the_exact_key_finds_an_entry(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let stashed = harness.stashed(merchant.id).await;
    let mut keys = [stashed.key.clone(), stashed.key.clone(), stashed.key.clone(), stashed.key.clone()];
    keys[0].merchant_id = other.id;
    keys[1].stash_id.push('x');
    keys[2].fingerprint = stashed.key.fingerprint.to_uppercase();
    keys[3].fingerprint.clear();
    for key in keys {
        assert_eq!(harness.stash.peek_stash(&key, at(0)).await, Ok(None), "{key:?}");
    }
    // Another browser's post with the same StashId is an entry of its own.
    let mut beside = stashed.clone();
    beside.key.fingerprint = "another browser".to_owned();
    beside.summary.kind = StashedKind::Card(Some(Scheme::Jcb));
    harness.stash.put_stash(beside.clone()).await.unwrap();
    assert_eq!(harness.stash.peek_stash(&stashed.key, at(0)).await, Ok(Some(found(&stashed))));
    assert_eq!(harness.stash.peek_stash(&beside.key, at(0)).await, Ok(Some(found(&beside))));
}

pub async fn posts_at_once_are_all_there(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let mut entries: Vec<_> = (0..100).map(|count| entry([merchant.id, other.id][count % 2], at(100))).collect();
    for (count, one) in entries.iter_mut().enumerate() {
        one.sealed.key_id = format!("key-{count}");
    }
    // Ten browsers that send the same thing at once.
    let again: Vec<_> = entries[..10].to_vec();
    let posts = entries.iter().chain(&again).cloned().map(|one| {
        let stash = harness.stash.clone();
        tokio::spawn(async move { stash.put_stash(one).await.unwrap() })
    });
    // All of them are under way before any is waited for.
    let posts: Vec<_> = posts.collect();
    for post in posts {
        post.await.unwrap();
    }
    for one in &entries {
        assert_eq!(harness.stash.peek_stash(&one.key, at(0)).await, Ok(Some(found(one))));
    }
    assert_eq!(harness.count("stash", "1 = 1"), 100);
    for (count, one) in entries.iter().enumerate() {
        let row = format!("stash_id = '{}' AND key_id = 'key-{count}'", one.key.stash_id);
        assert_eq!(harness.count("stash", &row), 1, "{row}");
    }
}

pub async fn live_entries_are_counted_with_their_bytes(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    assert_eq!(harness.stash.stash_usage(at(0)).await, Ok(vec![]));
    for (count, (end, length)) in [(100, 10_000), (101, 20), (200, 300), (200, 0)].into_iter().enumerate() {
        let mut one = entry(merchant.id, at(end));
        one.sealed.bytes = vec![7; length];
        // Ids and fingerprints stand in the row and in its key; 100 and 200 bytes of each make 600.
        (one.key.stash_id, one.key.fingerprint) = (format!("{count:0100}"), "é".repeat(100));
        harness.stash.put_stash(one).await.unwrap();
    }
    let mut one = entry(other.id, at(200));
    one.sealed.bytes = vec![7; 5];
    let alone = StashEntry::stored_bytes(&one.key, &one.sealed);
    harness.stash.put_stash(one).await.unwrap();
    let usage = async |now| {
        let mut all: Vec<_> = harness.stash.stash_usage(at(now)).await.unwrap();
        all.sort_by_key(|one| one.bytes);
        all.into_iter().map(|one| (one.merchant_id, one.entries, one.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(usage(0).await, [(other.id, 1, alone), (merchant.id, 4, 10_320 + 4 * 900)]);
    assert_eq!(usage(100).await, [(other.id, 1, alone), (merchant.id, 3, 320 + 3 * 900)]);
    assert_eq!(usage(200).await, []);
}

pub async fn purging_takes_expired_entries_only(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut entries = vec![];
    for end in [100, 101, 102, 200] {
        let one = entry(merchant.id, at(end));
        harness.stash.put_stash(one.clone()).await.unwrap();
        entries.push(one);
    }
    assert_eq!(harness.stash.purge_stash(at(99), 10).await, Ok(0));
    assert_eq!(harness.stash.purge_stash(at(102), 2).await, Ok(2), "no more than the limit");
    assert_eq!(harness.stash.purge_stash(at(102), 2).await, Ok(1));
    assert_eq!(harness.stash.purge_stash(at(102), 2).await, Ok(0));
    assert!(harness.stash.peek_stash(&entries[3].key, at(102)).await.unwrap().is_some());
    assert_eq!(harness.count("stash", "1 = 1"), 1);
}
