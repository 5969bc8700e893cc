use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};

use dropin_kernel::{ContractId, MerchantId, Timestamp};
use dropin_ports::{CredentialVault, KeyringError, SealedCredential, StoreError, StoredCredential};
use zeroize::Zeroizing;

use crate::files::{KeyBytes, KeyFileError};
use crate::ring::{KeyInfo, KeyRing, RingKeyId, ring_operations};
use crate::sealing::SealingKey;

/// The keys of contracts' stored credentials: the folder `credential` in the key folder.
pub struct CredentialKeys {
    ring: KeyRing<SealingKey>,
}

/// Why the keys of stored credentials are not opened.
#[derive(Debug, thiserror::Error)]
pub enum CredentialKeysError {
    /// The directory or a file cannot be used.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// There are sealed credentials and no key.
    #[error(
        "there is no key in {0}, and the database has contracts whose stored credentials need theirs: give the folder that it is in with --keys or \
         DROPIN_KEYS, or restore it from your backup"
    )]
    Elsewhere(PathBuf),
    /// There is no key, and whether one is needed is not known.
    #[error("there is no key in {folder}, and the database does not tell whether contracts need one: {source}")]
    Unsure {
        /// Where it should be.
        folder: PathBuf,
        /// What the store said.
        source: StoreError,
    },
}

impl CredentialKeys {
    /// Opens the keys in the key folder `dir`. Where there is none yet, the first one is made, unless `has_credentials` finds a sealed credential in
    /// the database: a new key would open none of them. It is asked only where there is no key.
    ///
    /// # Errors
    /// [`CredentialKeysError`].
    pub async fn of_deployment(
        dir: &Path,
        has_credentials: impl Future<Output = Result<bool, StoreError>>,
        now: Timestamp,
    ) -> Result<Self, CredentialKeysError> {
        let keys = Self::open(dir)?;
        if !keys.is_empty() {
            return Ok(keys);
        }
        let folder = dir.join("credential");
        match has_credentials.await {
            Ok(false) => Ok(Self::open_or_create(dir, now)?),
            Ok(true) => Err(CredentialKeysError::Elsewhere(folder)),
            Err(source) => Err(CredentialKeysError::Unsure { folder, source }),
        }
    }
}

ring_operations!(
    CredentialKeys, "credential", seal_with,
    works: "seals",
    destroyed: " that no sealed credential names any more."
);

fn seal_with(key: &KeyBytes) -> SealingKey {
    SealingKey::new(key)
}

impl fmt::Debug for CredentialKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialKeys(..)")
    }
}

/// Calls `with` with what a credential is bound to: its merchant, its contract and its key.
fn bound<T>(merchant: MerchantId, contract: ContractId, key: RingKeyId, with: impl FnOnce(&[&[u8]]) -> T) -> T {
    let key = key.to_bytes();
    with(&[merchant.uuid().as_bytes(), contract.uuid().as_bytes(), &key])
}

impl CredentialVault for CredentialKeys {
    fn seal(
        &self,
        merchant: MerchantId,
        contract: ContractId,
        credential: &StoredCredential,
    ) -> Result<SealedCredential, KeyringError> {
        let (id, key) = self.ring.newest()?;
        let plaintext = Zeroizing::new(credential.expose().as_bytes().to_vec());
        let bytes = bound(merchant, contract, id, |binding| key.seal(plaintext, binding))?;
        Ok(SealedCredential { key_id: id.to_string(), bytes })
    }

    fn open(
        &self,
        merchant: MerchantId,
        contract: ContractId,
        sealed: &SealedCredential,
    ) -> Result<StoredCredential, KeyringError> {
        let id: RingKeyId = sealed.key_id.parse().map_err(|_no_id| KeyringError::CannotOpen)?;
        let key = self.ring.find(id)?;
        let plaintext = bound(merchant, contract, id, |binding| key.open(&sealed.bytes, binding))?;
        let text = std::str::from_utf8(&plaintext).map_err(|_no_text| KeyringError::CannotOpen)?;
        text.parse().map_err(|_no_credential| KeyringError::CannotOpen)
    }

    fn current_key_id(&self) -> Result<String, KeyringError> {
        Ok(self.ring.newest()?.0.to_string())
    }

    fn check(&self) -> Result<(), KeyringError> {
        Ok(self.ring.check()?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use uuid::Uuid;

    use super::*;
    use crate::RELOAD_INTERVAL;

    const NOW: Timestamp = Timestamp::from_micros(1_795_489_200_000_000);
    const MERCHANT: MerchantId = MerchantId::new(Uuid::from_u128(1));
    const CONTRACT: ContractId = ContractId::new(Uuid::from_u128(2));

    fn keys() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("keys");
        (folder, dir)
    }

    fn open(dir: &Path) -> CredentialKeys {
        CredentialKeys::open_or_create(dir, NOW).expect("opened")
    }

    fn credential() -> StoredCredential {
        "cus_9/pm_7".parse().expect("a credential")
    }

    fn seal(keys: &CredentialKeys) -> SealedCredential {
        CredentialVault::seal(keys, MERCHANT, CONTRACT, &credential()).expect("sealed")
    }

    fn opened(keys: &CredentialKeys, sealed: &SealedCredential) -> Result<StoredCredential, KeyringError> {
        CredentialVault::open(keys, MERCHANT, CONTRACT, sealed)
    }

    fn file(dir: &Path, id: &str) -> PathBuf {
        dir.join("credential").join(format!("{id}.key"))
    }

    /// Waits until every program looks at the folder again before it seals.
    fn wait_for_reload() {
        let begun = Instant::now();
        while begun.elapsed() < RELOAD_INTERVAL {
            std::thread::sleep(RELOAD_INTERVAL / 10);
        }
    }

    #[test]
    fn a_credential_opens_for_its_contract_in_every_program_and_is_not_in_the_bytes() {
        let (_folder, dir) = keys();
        let (one, two) = (open(&dir), open(&dir));
        let sealed = seal(&one);
        assert_eq!((opened(&one, &sealed), opened(&two, &sealed)), (Ok(credential()), Ok(credential())));
        assert!(!sealed.bytes.windows(4).any(|window| window == b"pm_7"));
        assert_eq!(format!("{sealed:?} {one:?}"), format!("SealedCredential({}) CredentialKeys(..)", sealed.key_id));
        let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
        assert_eq!((mode(&dir.join("credential")), mode(&file(&dir, &sealed.key_id))), (0o700, 0o600));
    }

    #[test]
    fn a_credential_opens_for_no_other_contract_merchant_or_key() {
        let (_folder, dir) = keys();
        let keys = open(&dir);
        let sealed = seal(&keys);
        let other = Uuid::from_u128(3);
        for (merchant, contract) in [
            (MerchantId::new(other), CONTRACT),
            (MERCHANT, ContractId::new(other)),
            (MerchantId::new(CONTRACT.uuid()), ContractId::new(MERCHANT.uuid())),
        ] {
            let outcome = CredentialVault::open(&keys, merchant, contract, &sealed);
            assert_eq!(outcome, Err(KeyringError::CannotOpen));
        }
        let key_id = keys.make_key(NOW).expect("made");
        assert_ne!(key_id, sealed.key_id);
        assert_eq!(opened(&keys, &SealedCredential { key_id, ..sealed.clone() }), Err(KeyringError::CannotOpen));
        let key_id = format!("../credential/{}", sealed.key_id);
        assert_eq!(opened(&keys, &SealedCredential { key_id, ..sealed }), Err(KeyringError::CannotOpen));
    }

    #[test]
    fn a_program_that_runs_finds_a_key_that_another_one_made() {
        let (_folder, dir) = keys();
        let (operator, service) = (open(&dir), open(&dir));
        let old = seal(&service);
        let id = operator.make_key(NOW).expect("made");
        let new = seal(&operator);
        assert_eq!(new.key_id, id);
        assert_eq!(opened(&service, &new), Ok(credential()), "reads the folder on an unknown id");
        let (third, later) = (open(&dir), operator.make_key(NOW).expect("made"));
        wait_for_reload();
        assert_eq!(third.current_key_id(), Ok(later.clone()));
        assert_eq!(seal(&third).key_id, later, "seals with the newest soon");
        assert_eq!((opened(&third, &old), opened(&open(&dir), &old)), (Ok(credential()), Ok(credential())));
        let ids: Vec<_> = third.list_keys().expect("listed").into_iter().map(|key| key.id).collect();
        assert_eq!(ids, [old.key_id, id, later]);
    }

    #[test]
    fn a_rotation_and_its_pruning_are_not_missed_by_a_program_that_had_nothing_to_open() {
        let (_folder, dir) = keys();
        let (operator, idle) = (open(&dir), open(&dir));
        let old = seal(&operator).key_id;
        let new = operator.make_key(NOW).expect("made");
        let sealed = seal(&operator);
        operator.destroy_key(&old).expect("destroyed");
        assert_eq!((opened(&idle, &sealed), idle.check()), (Ok(credential()), Ok(())));
        assert_eq!(idle.current_key_id(), Ok(new));
    }

    #[test]
    fn programs_that_start_together_make_one_first_key() {
        let (_folder, dir) = keys();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| seal(&open(&dir)).key_id)).collect();
            starts.into_iter().map(|start| start.join().expect("no panic")).collect()
        });
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
    }

    #[test]
    fn a_lost_key_is_told_until_it_is_back_and_never_replaced() {
        let (folder, dir) = keys();
        let service = open(&dir);
        let sealed = seal(&service);
        let (path, aside) = (file(&dir, &sealed.key_id), folder.path().join("aside"));
        fs::rename(&path, &aside).expect("moved away");
        for message in [service.check().expect_err("lost"), service.ring.make(NOW).map(drop).expect_err("lost").into()]
        {
            let message = message.to_string();
            assert!(message.contains(&sealed.key_id) && message.contains("restore the key folder"), "{message}");
        }
        wait_for_reload();
        assert!(CredentialVault::seal(&service, MERCHANT, CONTRACT, &credential()).is_err());
        let other = open(&folder.path().join("elsewhere"));
        assert!(matches!(opened(&other, &sealed), Err(KeyringError::Unavailable(_))), "a ring without that key");
        assert_eq!(fs::read_dir(dir.join("credential")).expect("listed").count(), 1, "the lock file alone");
        fs::rename(&aside, &path).expect("put back");
        assert_eq!((service.check(), seal(&service).key_id), (Ok(()), sealed.key_id));
    }

    #[test]
    fn a_damaged_key_or_one_that_others_may_open_is_refused_and_stays() {
        let (_folder, dir) = keys();
        let service = open(&dir);
        let path = file(&dir, &seal(&service).key_id);
        let whole = fs::read(&path).expect("read");
        for damage in [&whole[..20], b"", b"not base64 at all, and rather long for a key, much longer than one"] {
            fs::write(&path, damage).expect("written");
            assert!(service.check().is_err() && CredentialKeys::open(&dir).is_err());
            let message = CredentialKeys::open_or_create(&dir, NOW).expect_err("refused").to_string();
            assert!(message.contains("restore it from your backup"), "{message}");
        }
        fs::write(&path, &whole).expect("mended");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("chmod");
        let message = service.check().expect_err("refused").to_string();
        assert!(message.contains("chmod 600"), "{message}");
    }

    #[test]
    fn the_newest_key_is_never_destroyed() {
        let (_folder, dir) = keys();
        let keys = open(&dir);
        let old = seal(&keys).key_id;
        assert!(matches!(keys.destroy_key(&old), Err(KeyFileError::InUse(_))));
        let new = keys.make_key(NOW).expect("made");
        keys.destroy_key(&old).expect("destroyed");
        assert!(!file(&dir, &old).exists() && file(&dir, &new).exists());
        assert!(keys.destroy_key(&old).is_err() && keys.destroy_key("../x").is_err());
        assert_eq!(keys.check(), Ok(()));
    }

    /// Runs a future that never waits.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn the_first_key_is_made_only_where_no_credential_needs_another() {
        let (_folder, dir) = keys();
        let of_deployment =
            |found: Result<bool, StoreError>| now(CredentialKeys::of_deployment(&dir, async { found }, NOW));
        let message = of_deployment(Ok(true)).expect_err("refused").to_string();
        assert!(message.contains("DROPIN_KEYS") && message.contains("backup"), "{message}");
        let away = StoreError::Unavailable("away".to_owned());
        assert!(matches!(of_deployment(Err(away.clone())), Err(CredentialKeysError::Unsure { .. })));
        assert!(!dir.exists() && CredentialKeys::open(&dir).expect("no key").is_empty(), "nothing was made");
        let sealed = seal(&of_deployment(Ok(false)).expect("made"));
        for found in [Ok(true), Err(away)] {
            assert_eq!(opened(&of_deployment(found).expect("opened"), &sealed), Ok(credential()));
        }
    }
}
