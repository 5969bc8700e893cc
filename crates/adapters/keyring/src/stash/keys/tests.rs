use std::fs;

use dropin_card::{Card, ClientFacts, StashContents, StashedData};
use dropin_ports::StashKey;
use uuid::Uuid;

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);
const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);
/// Twenty minutes into a period.
const NOW: Timestamp = Timestamp::from_micros((500_000 * 3_600 + 1_200) * 1_000_000);

fn later(minutes: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(60 * minutes))
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("stash");
    (folder, dir)
}

fn open(dir: &Path) -> StashKeys {
    StashKeys::open(dir, HOUR, HALF_AN_HOUR).expect("opened")
}

fn card() -> StashContents {
    let client = ClientFacts::new("192.0.2.7".parse().ok(), Some("Europe/Vienna"), Some("de-AT"));
    StashContents { data: StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12")), client }
}

fn owner() -> StashKey {
    StashKey {
        merchant_id: MerchantId::new(Uuid::from_u128(1)),
        stash_id: "cart-1".to_owned(),
        fingerprint: "browser".to_owned(),
    }
}

fn key_files(dir: &Path) -> Vec<String> {
    let mut names = files::names(dir).expect("listed");
    names.retain(|name| KeyId::from_file_name(name).is_some());
    names.sort();
    names
}

#[test]
fn what_one_process_seals_another_opens() {
    let (_folder, dir) = folder();
    let (writer, reader) = (open(&dir), open(&dir));
    let sealed = writer.seal(&card(), &owner(), NOW).expect("sealed");
    assert_eq!(reader.open(&sealed, &owner()), Ok(card()), "reloads on an unknown id");
}

#[test]
fn a_card_moved_to_another_row_does_not_open() {
    let (_folder, dir) = folder();
    let keys = open(&dir);
    let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
    let others = [
        StashKey { merchant_id: MerchantId::new(Uuid::from_u128(2)), ..owner() },
        StashKey { stash_id: "cart-2".to_owned(), ..owner() },
        StashKey { fingerprint: "other".to_owned(), ..owner() },
        StashKey { stash_id: "cart-1b".to_owned(), fingerprint: "rowser".to_owned(), ..owner() },
    ];
    for other in others {
        assert_eq!(keys.open(&sealed, &other), Err(KeyringError::CannotOpen), "{other:?}");
    }
    let next = keys.seal(&card(), &owner(), later(60)).expect("sealed");
    assert_ne!(next.key_id, sealed.key_id);
    let mixed = SealedCard { key_id: next.key_id, bytes: sealed.bytes };
    assert_eq!(keys.open(&mixed, &owner()), Err(KeyringError::CannotOpen));
}

#[test]
fn a_key_is_published_a_period_before_its_use_and_made_once() {
    let (_folder, dir) = folder();
    let (one, two) = (open(&dir), open(&dir));
    assert_eq!(one.rotate(NOW).expect("rotated"), Rotation { published: 2, destroyed: 0 });
    assert_eq!(two.rotate(NOW).expect("rotated"), Rotation::default());
    assert_eq!(key_files(&dir).len(), 2);
    assert_eq!(two.rotate(later(40)).expect("rotated"), Rotation { published: 1, destroyed: 0 });
    let before: Vec<_> = key_files(&dir);
    let sealed = one.seal(&card(), &owner(), later(60)).expect("sealed");
    assert!(before.contains(&format!("{}.key", sealed.key_id)), "sealed with a key that was there before");
}

#[test]
fn a_key_goes_when_the_last_card_under_it_has_expired_and_not_before() {
    let (_folder, dir) = folder();
    let (keys, other) = (open(&dir), open(&dir));
    let sealed = keys.seal(&card(), &owner(), later(39)).expect("sealed");
    assert_eq!(other.open(&sealed, &owner()), Ok(card()));
    // The period ends at minute 40; 30 minutes of life and one for the clocks.
    keys.rotate(Timestamp::from_micros(later(71).micros() - 1)).expect("rotated");
    assert_eq!(keys.open(&sealed, &owner()), Ok(card()));
    assert_eq!(keys.rotate(later(71)).expect("rotated").destroyed, 1);
    assert!(!dir.join(format!("{}.key", sealed.key_id)).exists());
    for keys in [&keys, &other, &open(&dir)] {
        assert_eq!(keys.open(&sealed, &owner()), Err(KeyringError::CannotOpen));
    }
}

#[test]
fn sealing_rotates_when_nobody_else_does() {
    let (_folder, dir) = folder();
    let keys = open(&dir);
    let first = keys.seal(&card(), &owner(), NOW).expect("sealed");
    for hour in 1..=5 {
        keys.seal(&card(), &owner(), later(60 * hour)).expect("sealed");
    }
    assert_eq!(keys.open(&first, &owner()), Err(KeyringError::CannotOpen));
    assert!(key_files(&dir).len() <= 4, "{:?}", key_files(&dir));
}

#[test]
fn threads_that_seal_at_once_make_one_key() {
    let (_folder, dir) = folder();
    let ids: Vec<_> = thread::scope(|scope| {
        let seals: Vec<_> =
            (0..8).map(|_| scope.spawn(|| open(&dir).seal(&card(), &owner(), NOW).expect("sealed").key_id)).collect();
        seals.into_iter().map(|seal| seal.join().expect("no panic")).collect()
    });
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
}

#[test]
fn reading_goes_on_while_another_process_writes() {
    let (_folder, dir) = folder();
    let keys = open(&dir);
    let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
    let _lock = DirLock::try_acquire(&dir).expect("no error").expect("free");
    assert_eq!(keys.rotate(later(600)).expect("reads"), Rotation::default());
    assert_eq!(keys.open(&sealed, &owner()), Ok(card()));
    assert!(keys.seal(&card(), &owner(), NOW).is_ok(), "the key of the hour is there");
}

struct Late;

impl Clock for Late {
    fn now(&self) -> Timestamp {
        later(600)
    }
}

#[test]
fn rotation_in_the_background_begins_at_once() {
    let (_folder, dir) = folder();
    let keys = Arc::new(open(&dir));
    let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
    StashKeys::rotate_in_background(&keys, Arc::new(Late)).expect("a thread");
    assert!(keys.open(&sealed, &owner()).is_err(), "the old key is still there");
}

#[test]
fn what_a_crashed_writer_left_is_destroyed() {
    let (_folder, dir) = folder();
    let keys = open(&dir);
    let left = dir.join("3600-7200-9060-000000ab.key.unfinished");
    fs::write(&left, "half a key").expect("written");
    keys.rotate(NOW).expect("rotated");
    assert!(!left.exists());
}

#[test]
fn a_key_that_is_lost_stops_the_stash_until_it_is_back() {
    let (folder, dir) = folder();
    let keys = open(&dir);
    let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
    assert_eq!((keys.check(NOW), keys.check_key(&sealed.key_id)), (Ok(()), Ok(())));
    let (file, aside) = (dir.join(format!("{}.key", sealed.key_id)), folder.path().join("aside"));
    fs::rename(&file, &aside).expect("moved away");
    for _ in 0..2 {
        let message = keys.seal(&card(), &owner(), NOW).expect_err("lost").to_string();
        assert!(message.contains(&sealed.key_id) && message.contains("put it back"), "{message}");
        assert!(keys.check(NOW).is_err() && keys.rotate(NOW).is_err());
        assert_eq!(keys.check_key(&sealed.key_id), Err(KeyringError::CannotOpen));
    }
    assert_eq!(key_files(&dir).len(), 1, "none is made in its place");
    fs::rename(&aside, &file).expect("put back");
    assert_eq!((keys.check(NOW), keys.check_key(&sealed.key_id)), (Ok(()), Ok(())));
    assert_eq!(keys.open(&sealed, &owner()), Ok(card()));
    assert!(keys.seal(&card(), &owner(), NOW).is_ok());
}

#[test]
fn a_lost_key_is_forgotten_when_it_would_have_been_destroyed() {
    let (_folder, dir) = folder();
    let keys = open(&dir);
    let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
    fs::remove_file(dir.join(format!("{}.key", sealed.key_id))).expect("removed");
    assert!(keys.check(NOW).is_err());
    // Its last card is dead at minute 70; whoever has it destroys it a minute later.
    assert!(keys.check(later(69)).is_err(), "a card may still need it");
    assert_eq!(keys.check(later(70)), Ok(()));
}

#[test]
fn a_folder_or_key_that_others_may_open_is_found_while_the_program_runs() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, dir) = folder();
    let keys = open(&dir);
    let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
    let file = dir.join(format!("{}.key", sealed.key_id));
    for (path, wide, right) in [(&file, 0o644, 0o600), (&dir, 0o755, 0o700)] {
        fs::set_permissions(path, PermissionsExt::from_mode(wide)).expect("chmod");
        let message = keys.check(NOW).expect_err("refused").to_string();
        assert!(message.contains(&format!("chmod {right:o}")), "{message}");
        fs::set_permissions(path, PermissionsExt::from_mode(right)).expect("chmod");
        assert_eq!(keys.check(NOW), Ok(()));
    }
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("chmod");
    assert!(matches!(keys.seal(&card(), &owner(), NOW), Err(KeyringError::Unavailable(_))));
    assert!(matches!(keys.check_key(&sealed.key_id), Err(KeyringError::Unavailable(_))));
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("chmod");
    fs::write(&file, "no key").expect("damaged");
    assert!(keys.check(NOW).is_err() && StashKeys::inspect(&dir).is_err(), "read anew");
    fs::remove_file(&file).expect("removed");
    assert_eq!(StashKeys::inspect(&dir).expect("the other is right"), 1, "that of the next period");
}

#[test]
fn a_card_has_one_hash_in_every_process_for_ever() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, dir) = folder();
    let (one, two) = (open(&dir), open(&dir));
    let (merchant, other) = (owner().merchant_id, MerchantId::new(Uuid::from_u128(2)));
    let hash = one.hash_card(merchant, "4242424242424242").expect("hashed");
    for keys in [&one, &two, &open(&dir)] {
        assert_eq!(keys.hash_card(merchant, "4242424242424242"), Ok(hash));
        assert_ne!(keys.hash_card(merchant, "5555555555554444"), Ok(hash), "another number");
        assert_ne!(keys.hash_card(other, "4242424242424242"), Ok(hash), "another merchant");
    }
    let mode = fs::metadata(dir.join("card-hash.key")).expect("the file").permissions().mode();
    assert_eq!((mode & 0o777, key_files(&dir)), (0o600, vec![]), "private, and no stash key");
    for hour in 0..5 {
        one.rotate(later(60 * hour)).expect("rotated");
    }
    assert_eq!(open(&dir).hash_card(merchant, "4242424242424242"), Ok(hash), "never rotated");
    let (_folder, elsewhere) = folder();
    assert_ne!(open(&elsewhere).hash_card(merchant, "4242424242424242"), Ok(hash), "another deployment");
}

#[test]
fn threads_that_hash_at_once_make_one_key() {
    let (_folder, dir) = folder();
    let hash = || open(&dir).hash_card(owner().merchant_id, "4242424242424242").expect("hashed");
    let hashes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(hash)).collect();
        threads.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_hash_key_that_is_lost_stops_the_stash_until_it_is_back_or_the_program_begins_anew() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, dir) = folder();
    let keys = open(&dir);
    keys.rotate(NOW).expect("rotated");
    let hash = keys.hash_card(owner().merchant_id, "4242424242424242").expect("hashed");
    let (file, aside) = (dir.join("card-hash.key"), folder.path().join("aside"));
    fs::rename(&file, &aside).expect("moved away");
    for _ in 0..2 {
        let message = keys.check(NOW).expect_err("lost").to_string();
        assert!(message.contains("card-hash.key is gone") && message.contains("put it back"), "{message}");
        assert!(keys.hash_card(owner().merchant_id, "4242424242424242").is_err() && keys.rotate(NOW).is_err());
    }
    assert!(!file.exists(), "none is made in its place");
    fs::rename(&aside, &file).expect("put back");
    assert_eq!(keys.check(NOW), Ok(()));
    assert_eq!(keys.hash_card(owner().merchant_id, "4242424242424242"), Ok(hash));
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("chmod");
    assert!(keys.check(NOW).is_err() && StashKeys::inspect(&dir).is_err(), "others may open it");
    fs::remove_file(&file).expect("removed");
    let anew = open(&dir).hash_card(owner().merchant_id, "4242424242424242").expect("hashed");
    assert_ne!(anew, hash);
    assert_eq!(keys.hash_card(owner().merchant_id, "4242424242424242"), Ok(anew), "the file is the truth");
    assert_eq!(keys.check(NOW), Ok(()));
}

#[test]
fn a_row_cannot_name_a_path() {
    let (_folder, dir) = folder();
    let keys = open(&dir);
    let mut sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
    sealed.key_id = format!("../stash/{}", sealed.key_id);
    assert_eq!(keys.open(&sealed, &owner()), Err(KeyringError::CannotOpen));
}
