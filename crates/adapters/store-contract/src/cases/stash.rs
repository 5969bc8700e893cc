use std::sync::Arc;

use dropin_card::{Scheme, StashedKind, Wallet};
use dropin_ports::{AuthorizationPrepared, SealedCard, StashEntry, StashSummary, StashUse};

use crate::Bench;
use crate::values::{at, entry};

pub async fn an_entry_is_replaced_by_the_next(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let first = bench.stashed(merchant.id).await;
    assert_eq!(bench.stash.peek_stash(&first.key, at(0)).await, Ok(Some(first.summary)));
    let second = StashEntry {
        sealed: SealedCard { key_id: "2026112111".to_owned(), bytes: (0..=255).collect() },
        summary: StashSummary { kind: StashedKind::Card(None), usable: false },
        created_at: at(60),
        expires_at: at(3_000),
        ..first.clone()
    };
    bench.stash.put_stash(second.clone()).await.unwrap();
    assert_eq!(bench.stash.peek_stash(&first.key, at(2_000)).await, Ok(Some(second.summary)));
    assert_eq!(bench.count("stash", "1 = 1"), 1);
    let session = bench.session(merchant.id).await;
    // A submit that was decided on the first one does not pay with the second.
    let mut submit = bench.submit(&session, &first.key, at(2_000));
    let using = |summary| Some(StashUse { key: first.key.clone(), summary });
    let missing = bench.payments.prepare_authorization(submit.clone()).await.unwrap();
    assert!(matches!(missing, AuthorizationPrepared::StashMissing), "{missing:?}");
    submit.stash = using(StashSummary { usable: true, ..second.summary });
    let missing = bench.payments.prepare_authorization(submit.clone()).await.unwrap();
    assert!(matches!(missing, AuthorizationPrepared::StashMissing), "{missing:?}");
    submit.stash = using(second.summary);
    let done = bench.payments.prepare_authorization(submit).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(Some(card)) if card == second.sealed));
    let cards = Scheme::ALL.into_iter().map(|scheme| StashedKind::Card(Some(scheme)));
    for kind in cards.chain(Wallet::ALL.map(StashedKind::Wallet)) {
        let summary = StashSummary { kind, usable: true };
        let one = StashEntry { summary, ..entry(merchant.id, at(100)) };
        bench.stash.put_stash(one.clone()).await.unwrap();
        assert_eq!(bench.stash.peek_stash(&one.key, at(0)).await, Ok(Some(summary)));
    }
}

pub async fn only_the_exact_key_finds_an_entry(bench: Arc<Bench>) {
    let ((merchant, _), (other, _)) = (bench.merchant().await, bench.merchant().await);
    let stashed = bench.stashed(merchant.id).await;
    let mut keys = [stashed.key.clone(), stashed.key.clone(), stashed.key.clone(), stashed.key.clone()];
    keys[0].merchant_id = other.id;
    keys[1].stash_id.push('x');
    keys[2].fingerprint = stashed.key.fingerprint.to_uppercase();
    keys[3].fingerprint.clear();
    for key in keys {
        assert_eq!(bench.stash.peek_stash(&key, at(0)).await, Ok(None), "{key:?}");
    }
    // Another browser's post with the same StashId is an entry of its own.
    let mut beside = stashed.clone();
    beside.key.fingerprint = "another browser".to_owned();
    beside.summary.kind = StashedKind::Card(Some(Scheme::Jcb));
    bench.stash.put_stash(beside.clone()).await.unwrap();
    assert_eq!(bench.stash.peek_stash(&stashed.key, at(0)).await, Ok(Some(stashed.summary)));
    assert_eq!(bench.stash.peek_stash(&beside.key, at(0)).await, Ok(Some(beside.summary)));
}

pub async fn posts_at_once_are_all_there(bench: Arc<Bench>) {
    let ((merchant, _), (other, _)) = (bench.merchant().await, bench.merchant().await);
    let mut entries: Vec<_> = (0..100).map(|count| entry([merchant.id, other.id][count % 2], at(100))).collect();
    for (count, one) in entries.iter_mut().enumerate() {
        one.sealed.key_id = format!("key-{count}");
    }
    // Ten browsers that send the same thing at once.
    let again: Vec<_> = entries[..10].to_vec();
    let posts = entries.iter().chain(&again).cloned().map(|one| {
        let stash = bench.stash.clone();
        tokio::spawn(async move { stash.put_stash(one).await.unwrap() })
    });
    // All of them are under way before any is waited for.
    let posts: Vec<_> = posts.collect();
    for post in posts {
        post.await.unwrap();
    }
    for one in &entries {
        assert_eq!(bench.stash.peek_stash(&one.key, at(0)).await, Ok(Some(one.summary)));
    }
    assert_eq!(bench.count("stash", "1 = 1"), 100);
    for (count, one) in entries.iter().enumerate() {
        let row = format!("stash_id = '{}' AND key_id = 'key-{count}'", one.key.stash_id);
        assert_eq!(bench.count("stash", &row), 1, "{row}");
    }
}

pub async fn live_entries_are_counted_up_to_a_limit(bench: Arc<Bench>) {
    let ((merchant, _), (other, _)) = (bench.merchant().await, bench.merchant().await);
    for end in [100, 101, 200, 200] {
        bench.stash.put_stash(entry(merchant.id, at(end))).await.unwrap();
    }
    bench.stash.put_stash(entry(other.id, at(200))).await.unwrap();
    assert_eq!(bench.stash.count_stash(merchant.id, at(0), 10).await, Ok(4));
    assert_eq!(bench.stash.count_stash(merchant.id, at(100), 10).await, Ok(3));
    assert_eq!(bench.stash.count_stash(merchant.id, at(100), 2).await, Ok(2));
    assert_eq!(bench.stash.count_stash(other.id, at(200), 2).await, Ok(0));
}

pub async fn purging_takes_expired_entries_only(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let mut entries = vec![];
    for end in [100, 101, 102, 200] {
        let one = entry(merchant.id, at(end));
        bench.stash.put_stash(one.clone()).await.unwrap();
        entries.push(one);
    }
    assert_eq!(bench.stash.purge_stash(at(99), 10).await, Ok(0));
    assert_eq!(bench.stash.purge_stash(at(102), 2).await, Ok(2), "no more than the limit");
    assert_eq!(bench.stash.purge_stash(at(102), 2).await, Ok(1));
    assert_eq!(bench.stash.purge_stash(at(102), 2).await, Ok(0));
    assert!(bench.stash.peek_stash(&entries[3].key, at(102)).await.unwrap().is_some());
    assert_eq!(bench.count("stash", "1 = 1"), 1);
}
