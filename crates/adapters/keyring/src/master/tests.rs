use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;

fn keys() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("keys");
    (folder, dir)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("metadata").permissions().mode() & 0o777
}

#[test]
fn the_key_is_private_and_the_same_after_a_restart() {
    let (_folder, dir) = keys();
    let hash = MasterKey::open_or_create(&dir).expect("created").hash_password("right");
    assert_eq!((mode(&dir), mode(&dir.join(FILE))), (0o700, 0o600));
    let again = MasterKey::open_or_create(&dir).expect("opened");
    assert!(again.verify_password("right", Some(&hash)));
    assert_eq!(again.id(), MasterKey::open_or_create(&dir).expect("opened").id());
    assert_eq!(again.id().len(), 2 * ID_BYTES);
    assert!(!again.verify_password("wrong", Some(&hash)));
    assert!(!again.verify_password("right", Some(&PasswordHash(vec![]))));
    assert!(!again.verify_password("right", Some(&PasswordHash([&[2][..], &hash.0[1..]].concat()))));
}

#[test]
fn another_deployment_verifies_and_opens_nothing() {
    let ((_a, a), (_b, b)) = (keys(), keys());
    let (a, b) = (MasterKey::open_or_create(&a).expect("created"), MasterKey::open_or_create(&b).expect("created"));
    assert!(!b.verify_password("right", Some(&a.hash_password("right"))));
    assert_ne!(a.id(), b.id());
    let sealed = a.seal_secret("endpoint 1", b"whsec").expect("sealed");
    assert_eq!(a.open_secret("endpoint 1", &sealed), Ok(b"whsec".to_vec()));
    assert_eq!(a.open_secret("endpoint 2", &sealed), Err(KeyringError::CannotOpen));
    assert_eq!(b.open_secret("endpoint 1", &sealed), Err(KeyringError::CannotOpen));
}

#[test]
fn wide_permissions_are_refused_with_the_command_that_mends_them() {
    let (_folder, dir) = keys();
    MasterKey::open_or_create(&dir).expect("created");
    let refusal = |path: &Path, wide: u32, right: u32| {
        fs::set_permissions(path, Permissions::from_mode(wide)).expect("chmod");
        let message = MasterKey::open_or_create(&dir).expect_err("refused").to_string();
        fs::set_permissions(path, Permissions::from_mode(right)).expect("chmod");
        message
    };
    let message = refusal(&dir.join(FILE), 0o640, 0o600);
    assert!(message.contains("mode 640") && message.contains("chmod 600"), "{message}");
    let message = refusal(&dir, 0o755, 0o700);
    assert!(message.contains("mode 755") && message.contains("chmod 700"), "{message}");
    fs::set_permissions(&dir, Permissions::from_mode(0o755)).expect("chmod");
    assert!(MasterKey::open(&dir).is_err(), "for commands, which make no key, too");
    fs::set_permissions(&dir, Permissions::from_mode(0o700)).expect("chmod");
    MasterKey::open_or_create(&dir).expect("mended");
}

#[test]
fn a_damaged_key_is_never_replaced_silently() {
    let (_folder, dir) = keys();
    MasterKey::open_or_create(&dir).expect("created");
    for damage in ["", "AAAA", "not base64 at all, and rather long for a key, much longer than one"] {
        fs::write(dir.join(FILE), damage).expect("written");
        let message = MasterKey::open_or_create(&dir).expect_err("refused").to_string();
        assert!(message.contains("restore it from your backup"), "{message}");
    }
}

#[test]
fn processes_that_start_together_agree_on_one_key() {
    let (_folder, dir) = keys();
    let hashes: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| MasterKey::open_or_create(&dir).expect("opened").hash_password("same")))
            .collect();
        starts.into_iter().map(|start| start.join().expect("no panic")).collect()
    });
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_key_is_opened_where_there_is_one() {
    let (_folder, dir) = keys();
    assert!(MasterKey::open(&dir).expect("no folder is no key").is_none());
    assert!(!dir.exists(), "nothing was made");
    let hash = MasterKey::open_or_create(&dir).expect("created").hash_password("right");
    assert!(MasterKey::open(&dir).expect("opened").expect("a key").verify_password("right", Some(&hash)));
}

#[test]
fn a_fingerprint_is_of_these_parts_in_this_process() {
    let (_folder, dir) = keys();
    let master = MasterKey::open_or_create(&dir).expect("created");
    let one = master.fingerprint(&[b"ab", b"c"]);
    assert!(one == master.fingerprint(&[b"ab", b"c"]));
    for other in [&[b"a".as_slice(), b"bc"][..], &[b"abc"], &[b"ab", b"c", b""], &[]] {
        assert!(one != master.fingerprint(other), "{other:?}");
    }
    let again = MasterKey::open_or_create(&dir).expect("opened");
    assert!(one != again.fingerprint(&[b"ab", b"c"]), "a key of its own for each process");
}

#[test]
fn debug_shows_nothing() {
    let (_folder, dir) = keys();
    let master = MasterKey::open_or_create(&dir).expect("created");
    assert_eq!(format!("{master:?}"), "MasterKey(..)");
}

const NOW: Timestamp = Timestamp::from_micros(1_795_489_200_000_000);

fn wait_for_reload() {
    std::thread::sleep(crate::RELOAD_INTERVAL);
}

#[test]
fn a_rotation_keeps_what_was_sealed_hashed_and_remembered_before() {
    let (_folder, dir) = keys();
    let (operator, service) =
        (MasterKey::open_or_create(&dir).expect("created"), MasterKey::open_or_create(&dir).expect("opened"));
    let (old, hash) = (service.seal_secret("endpoint 1", b"old").expect("sealed"), service.hash_password("right"));
    assert_eq!((old.0[0], service.key_id(&old)), (1, Ok("first".to_owned())), "as programs of before read it");
    let id = operator.make_key(NOW).expect("made");
    let new = operator.seal_secret("endpoint 1", b"new").expect("sealed");
    assert_eq!((service.key_id(&new), operator.newest_key_id()), (Ok(id.clone()), Ok(id.clone())));
    for master in [&operator, &service, &MasterKey::open(&dir).expect("opened").expect("a key")] {
        assert_eq!(master.open_secret("endpoint 1", &old), Ok(b"old".to_vec()));
        assert_eq!(master.open_secret("endpoint 1", &new), Ok(b"new".to_vec()), "reads the folder on an unknown id");
        assert_eq!(master.open_secret("endpoint 2", &new), Err(KeyringError::CannotOpen));
        assert!(master.verify_password("right", Some(&hash)));
        assert_eq!((master.id(), master.hash_password("right")), (service.id(), hash.clone()));
    }
    let third = MasterKey::open_or_create(&dir).expect("opened");
    let later = operator.make_key(NOW).expect("made");
    wait_for_reload();
    let sealed = third.seal_secret("endpoint 1", b"later").expect("sealed");
    assert_eq!(third.key_id(&sealed), Ok(later.clone()), "a program that runs seals with the newest soon");
    let ids: Vec<_> = third.list_keys().expect("listed").into_iter().map(|key| key.id).collect();
    assert_eq!(ids, ["first".to_owned(), id, later]);
}

#[test]
fn a_secret_opens_with_the_key_that_it_names_alone() {
    let (_folder, dir) = keys();
    let master = MasterKey::open_or_create(&dir).expect("created");
    master.make_key(NOW).expect("made");
    let sealed = master.seal_secret("endpoint 1", b"whsec").expect("sealed");
    let named = sealed.0[..=RingKeyId::BYTES].to_vec();
    master.make_key(NOW).expect("made");
    let other = {
        wait_for_reload();
        master.seal_secret("endpoint 1", b"whsec").expect("sealed").0[..=RingKeyId::BYTES].to_vec()
    };
    assert_ne!(named, other);
    let renamed = SealedSecret([&other, &sealed.0[named.len()..]].concat());
    assert_eq!(master.open_secret("endpoint 1", &renamed), Err(KeyringError::CannotOpen));
    let unnamed = SealedSecret(sealed.0[named.len()..].to_vec());
    assert_eq!(master.open_secret("endpoint 1", &unnamed), Err(KeyringError::CannotOpen));
    for length in 0..sealed.0.len() {
        let cut = SealedSecret(sealed.0[..length].to_vec());
        assert!(master.open_secret("endpoint 1", &cut).is_err(), "cut at {length}");
    }
}

#[test]
fn a_lost_key_of_a_rotation_is_told_and_never_replaced() {
    let (_folder, dir) = keys();
    let master = MasterKey::open_or_create(&dir).expect("created");
    let id = master.make_key(NOW).expect("made");
    let sealed = master.seal_secret("endpoint 1", b"whsec").expect("sealed");
    let path = dir.join(FOLDER).join(format!("{id}.key"));
    assert_eq!((mode(&dir.join(FOLDER)), mode(&path)), (0o700, 0o600));
    let aside = dir.join("aside");
    fs::rename(&path, &aside).expect("moved away");
    wait_for_reload();
    let message = master.seal_secret("endpoint 1", b"more").expect_err("lost").to_string();
    assert!(message.contains(&id) && message.contains("put it back"), "{message}");
    let anew = MasterKey::open(&dir).expect("opened").expect("a key");
    let message = anew.open_secret("endpoint 1", &sealed).expect_err("lost").to_string();
    assert!(message.contains(&id) && message.contains("backup"), "{message}");
    fs::rename(&aside, &path).expect("put back");
    assert_eq!(anew.open_secret("endpoint 1", &sealed), Ok(b"whsec".to_vec()));
}

#[test]
fn the_first_key_and_the_newest_are_never_destroyed() {
    let (_folder, dir) = keys();
    let master = MasterKey::open_or_create(&dir).expect("created");
    assert!(matches!(master.destroy_key("first"), Err(KeyFileError::Io { .. })), "no rotation yet");
    let [old, new] = [master.make_key(NOW).expect("made"), master.make_key(NOW).expect("made")];
    for needed in ["first", &new] {
        assert!(matches!(master.destroy_key(needed), Err(KeyFileError::InUse(_))), "{needed}");
    }
    master.destroy_key(&old).expect("destroyed");
    assert!(dir.join(FILE).exists() && !dir.join(FOLDER).join(format!("{old}.key")).exists());
}
