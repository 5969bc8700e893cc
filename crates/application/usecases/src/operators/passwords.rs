//! Operators' passwords: argon2id, on threads of its own number.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, PasswordHash, PasswordHasher as _, PasswordVerifier as _, Version};
use dropin_ports::PhcHash;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// Hashes that are computed at once: each takes its memory and a processor.
const MAX_CONCURRENT_HASHES: usize = 2;

/// Sign-ins that wait for their hash; more are told to come again.
const MAX_WAITING: usize = 32;

/// How long one of them waits.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What a hash costs. Stored with each hash, so that a change makes the next sign-in hash anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordCost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes, which could run beside each other.
    pub lanes: u32,
}

impl PasswordCost {
    /// 19 MiB, two passes, one lane: what OWASP's cheat sheet on password storage asks of argon2id.
    pub const OWASP: Self = Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 };
}

impl Default for PasswordCost {
    fn default() -> Self {
        Self::OWASP
    }
}

/// Too many passwords are being hashed, or hashing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many sign-ins at once: try again in a few seconds")]
pub struct HashingBusy;

/// What a password came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PasswordVerdict {
    Wrong,
    /// Right; with a new hash where the stored one was of another cost.
    Right {
        rehashed: Option<PhcHash>,
    },
}

/// Hashes passwords beside the threads that serve requests, a bounded number at once.
pub(super) struct PasswordHashing {
    cost: PasswordCost,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl PasswordHashing {
    pub(super) fn new(cost: PasswordCost) -> Self {
        Self { cost, permits: Arc::new(Semaphore::new(MAX_CONCURRENT_HASHES)), waiting: AtomicUsize::new(0) }
    }

    pub(super) async fn hash(&self, password: &str, salt: [u8; 32]) -> Result<PhcHash, HashingBusy> {
        let (cost, password) = (self.cost, Zeroizing::new(password.to_owned()));
        self.run(move || hash(cost, &password, &salt)).await?.ok_or(HashingBusy)
    }

    /// Compares; without a hash the answer is no, after the same work. `salt` is for a new hash.
    pub(super) async fn verify(
        &self,
        password: &str,
        stored: Option<PhcHash>,
        salt: [u8; 32],
    ) -> Result<PasswordVerdict, HashingBusy> {
        let (cost, password) = (self.cost, Zeroizing::new(password.to_owned()));
        self.run(move || verify(cost, &password, stored.as_ref(), &salt)).await
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, HashingBusy> {
        let queue = InQueue::enter(&self.waiting)?;
        let permit = tokio::time::timeout(MAX_WAIT, self.permits.clone().acquire_owned()).await;
        drop(queue);
        let permit = permit.map_err(|_elapsed| HashingBusy)?.map_err(|_closed| HashingBusy)?;
        // The permit goes along: a client that goes away does not make room for another hash while its own is computed.
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        task.await.map_err(|_panicked| HashingBusy)
    }
}

/// A place among those who wait.
struct InQueue<'a>(&'a AtomicUsize);

impl<'a> InQueue<'a> {
    fn enter(waiting: &'a AtomicUsize) -> Result<Self, HashingBusy> {
        let place = Self(waiting);
        if MAX_WAITING <= waiting.fetch_add(1, Ordering::Relaxed) { Err(HashingBusy) } else { Ok(place) }
    }
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn params(cost: PasswordCost) -> Option<Params> {
    Params::new(cost.memory_kib, cost.passes, cost.lanes, None).ok()
}

fn hash(cost: PasswordCost, password: &str, salt: &[u8; 32]) -> Option<PhcHash> {
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params(cost)?);
    // 16 bytes of salt, as RFC 9106 section 3.1 recommends.
    let hash = argon2.hash_password_with_salt(password.as_bytes(), &salt[..16]).ok()?;
    Some(PhcHash(hash.to_string()))
}

fn verify(cost: PasswordCost, password: &str, stored: Option<&PhcHash>, salt: &[u8; 32]) -> PasswordVerdict {
    let Some(parsed) = stored.and_then(|stored| PasswordHash::new(&stored.0).ok()) else {
        std::hint::black_box(hash(cost, password, salt));
        return PasswordVerdict::Wrong;
    };
    if Argon2::default().verify_password(password.as_bytes(), &parsed).is_err() {
        return PasswordVerdict::Wrong;
    }
    let is_current = parsed.algorithm == argon2::ARGON2ID_IDENT
        && Params::try_from(&parsed).is_ok_and(|used| {
            (used.m_cost(), used.t_cost(), used.p_cost()) == (cost.memory_kib, cost.passes, cost.lanes)
        });
    PasswordVerdict::Right { rehashed: if is_current { None } else { hash(cost, password, salt) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: PasswordCost = PasswordCost { memory_kib: 64, passes: 1, lanes: 1 };

    #[test]
    fn the_stored_text_names_algorithm_and_cost() {
        let stored = hash(PasswordCost::OWASP, "four plain words", &[7; 32]).unwrap();
        assert!(stored.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", stored.0);
        let right = PasswordVerdict::Right { rehashed: None };
        assert_eq!(verify(PasswordCost::OWASP, "four plain words", Some(&stored), &[0; 32]), right);
        assert_eq!(verify(PasswordCost::OWASP, "four plain word", Some(&stored), &[0; 32]), PasswordVerdict::Wrong);
    }

    #[test]
    fn another_cost_is_hashed_anew() {
        let stored = hash(CHEAP, "four plain words", &[7; 32]).unwrap();
        let dearer = PasswordCost { passes: 2, ..CHEAP };
        let PasswordVerdict::Right { rehashed: Some(new) } =
            verify(dearer, "four plain words", Some(&stored), &[8; 32])
        else {
            panic!("right, and of another cost")
        };
        assert!(new.0.contains("m=64,t=2,p=1") && new != stored, "{}", new.0);
        assert_eq!(verify(dearer, "four plain words", Some(&new), &[9; 32]), PasswordVerdict::Right { rehashed: None });
    }

    #[test]
    fn what_is_no_hash_is_wrong() {
        for stored in [None, Some(PhcHash(String::new())), Some(PhcHash("$argon2id$v=19$m=64".to_owned()))] {
            assert_eq!(verify(CHEAP, "four plain words", stored.as_ref(), &[0; 32]), PasswordVerdict::Wrong);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn only_two_are_hashed_at_once_and_the_queue_has_an_end() {
        let hashing = Arc::new(PasswordHashing::new(CHEAP));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..MAX_WAITING + 20)
            .map(|_| {
                let (hashing, running, most) = (hashing.clone(), running.clone(), most.clone());
                tokio::spawn(async move {
                    let work = move || {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(20));
                        running.fetch_sub(1, Ordering::SeqCst);
                    };
                    hashing.run(work).await
                })
            })
            .collect();
        let mut refused = 0;
        for task in tasks {
            refused += usize::from(task.await.unwrap().is_err());
        }
        assert_eq!(most.load(Ordering::SeqCst), MAX_CONCURRENT_HASHES);
        assert!(0 < refused && refused <= 20, "{refused}");
        assert_eq!(hashing.waiting.load(Ordering::SeqCst), 0);
    }
}
