use std::fmt;
use std::path::Path;

use aws_lc_rs::hmac;
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{HashedVelocityKey, KeyringError, VelocityHash, VelocityKeyring};
use dropin_risk::VelocityKey;

use crate::files::{KeyBytes, KeyFileError};
use crate::ring::{KeyInfo, KeyRing, ring_operations};

/// The keys of what tries to pay are counted by: the folder `velocity` in the key folder. The newest hashes; what older ones hashed counts until they
/// are pruned.
///
/// A lost ring costs counts of a day and the knowledge of who has paid before, and no payment: the first key is then made anew when a program starts.
pub struct VelocityKeys {
    ring: KeyRing<hmac::Key>,
}

ring_operations!(
    VelocityKeys, "velocity", derive,
    works: "hashes",
    destroyed: ": what only it hashed is counted no more and known to nobody."
);

impl VelocityKeys {
    /// Reads every key anew.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`] says which file or directory is in the way, and what to do.
    pub fn check(&self) -> Result<(), KeyringError> {
        Ok(self.ring.check()?)
    }
}

fn derive(key: &KeyBytes) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, key.as_slice())
}

impl fmt::Debug for VelocityKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VelocityKeys(..)")
    }
}

/// HMAC-SHA-256 over every part with its length in front: no two lists of parts give the same bytes.
fn hash(key: &hmac::Key, parts: &[&[u8]]) -> VelocityHash {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&u64::try_from(part.len()).expect("a length fits 64 bits").to_be_bytes());
        context.update(part);
    }
    VelocityHash(context.sign().as_ref().try_into().expect("SHA-256 gives 32 bytes"))
}

impl VelocityKeyring for VelocityKeys {
    fn hash_velocity_key(
        &self,
        merchant: MerchantId,
        key: VelocityKey,
        value: &[u8],
    ) -> Result<HashedVelocityKey, KeyringError> {
        let keys = self.ring.newest_first()?;
        let merchant = merchant.uuid();
        let parts: [&[u8]; 3] = [merchant.as_bytes(), key.as_str().as_bytes(), value];
        let mut hashes = keys.iter().map(|key| hash(key, &parts));
        let newest = hashes.next().ok_or_else(|| KeyringError::Unavailable("the ring has no key".to_owned()))?;
        Ok(HashedVelocityKey { key, hash: newest, former: hashes.collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use uuid::Uuid;

    use super::*;
    use crate::RELOAD_INTERVAL;

    const NOW: Timestamp = Timestamp::from_micros(1_795_489_200_000_000);
    const MERCHANT: MerchantId = MerchantId::new(Uuid::from_u128(1));

    fn made(dir: &Path) -> VelocityKeys {
        VelocityKeys::open_or_create(dir, NOW).expect("opened")
    }

    fn hashed(keys: &VelocityKeys, value: &str) -> HashedVelocityKey {
        keys.hash_velocity_key(MERCHANT, VelocityKey::Card, value.as_bytes()).expect("hashed")
    }

    /// Waits until every program looks at the folder again.
    fn wait_for_reload() {
        let begun = Instant::now();
        while begun.elapsed() < RELOAD_INTERVAL {
            std::thread::sleep(RELOAD_INTERVAL / 10);
        }
    }

    #[test]
    fn a_value_has_the_same_hash_in_every_program_and_another_for_each_merchant_kind_and_deployment() {
        let [here, elsewhere] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let (one, two, other) = (made(here.path()), made(here.path()), made(elsewhere.path()));
        let expected = hashed(&one, "4242424242424242");
        assert_eq!((hashed(&two, "4242424242424242"), expected.former.len()), (expected.clone(), 0));
        let mut seen = BTreeSet::from([expected.hash, hashed(&other, "4242424242424242").hash]);
        for merchant in [MERCHANT, MerchantId::new(Uuid::from_u128(2))] {
            for key in VelocityKey::ALL {
                for value in ["4242424242424242", "424242424242424", ""] {
                    seen.insert(one.hash_velocity_key(merchant, key, value.as_bytes()).expect("hashed").hash);
                }
            }
        }
        assert_eq!(seen.len(), 1 + 2 * VelocityKey::ALL.len() * 3);
    }

    #[test]
    fn no_two_lists_of_parts_are_one() {
        let key = derive(&crate::files::random_key().expect("random"));
        let lists: [&[&[u8]]; 6] =
            [&[b"ab", b"c"], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[b"", b"abc"], &[b"a", b"b", b"c"]];
        let hashes: BTreeSet<_> = lists.iter().map(|parts| hash(&key, parts)).collect();
        assert_eq!(hashes.len(), lists.len());
    }

    #[test]
    fn after_a_rotation_the_newest_key_hashes_and_older_ones_are_former_until_they_are_pruned() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (service, operator) = (made(folder.path()), made(folder.path()));
        let first = hashed(&service, "card");
        let old = operator.list_keys().expect("listed")[0].id.clone();
        let second_id = operator.make_key(NOW).expect("made");
        wait_for_reload();
        let second = hashed(&service, "card");
        assert_eq!(second.former, [first.hash]);
        operator.make_key(NOW).expect("made");
        let third = hashed(&made(folder.path()), "card");
        assert_eq!(third.former, [second.hash, first.hash], "the newest of them first");
        operator.destroy_key(&old).expect("destroyed");
        operator.destroy_key(&second_id).expect("destroyed");
        wait_for_reload();
        assert_eq!(hashed(&service, "card"), HashedVelocityKey { former: vec![], ..third });
        let newest = operator.list_keys().expect("listed").pop().expect("one").id;
        assert!(matches!(operator.destroy_key(&newest), Err(KeyFileError::InUse(_))));
    }

    #[test]
    fn a_lost_key_is_told_until_it_is_back_and_others_may_not_read_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let service = made(folder.path());
        let expected = hashed(&service, "card");
        let id = service.list_keys().expect("listed")[0].id.clone();
        let ring = folder.path().join("velocity");
        let (path, aside) = (ring.join(format!("{id}.key")), folder.path().join("aside"));
        let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
        assert_eq!((mode(&ring), mode(&path)), (0o700, 0o600));
        fs::rename(&path, &aside).expect("moved away");
        wait_for_reload();
        let told = service.hash_velocity_key(MERCHANT, VelocityKey::Card, b"card").expect_err("lost").to_string();
        assert!(told.contains(&id), "{told}");
        assert_eq!(service.check().expect_err("lost").to_string(), told);
        assert_eq!(fs::read_dir(&ring).expect("listed").count(), 1, "the lock file alone: nothing was made");
        fs::rename(&aside, &path).expect("put back");
        assert_eq!((hashed(&service, "card"), service.check()), (expected, Ok(())));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("chmod");
        assert!(service.check().expect_err("refused").to_string().contains("chmod 600"));
        assert!(VelocityKeys::open(folder.path()).is_err());
    }

    #[test]
    fn programs_that_start_together_make_one_first_key_and_a_look_makes_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let look = VelocityKeys::open(folder.path()).expect("opened");
        assert!(look.is_empty() && !folder.path().join("velocity").exists());
        assert!(look.hash_velocity_key(MERCHANT, VelocityKey::Card, b"card").is_err());
        let hashes: BTreeSet<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| hashed(&made(folder.path()), "card").hash)).collect();
            starts.into_iter().map(|start| start.join().expect("no panic")).collect()
        });
        assert_eq!(hashes.len(), 1);
    }

    #[test]
    fn debug_shows_neither_keys_nor_hashes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keys = made(folder.path());
        assert_eq!(format!("{keys:?} {:?}", hashed(&keys, "card").hash), "VelocityKeys(..) VelocityHash(..)");
    }
}
