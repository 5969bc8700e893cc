//! Guesses, slowed down by account and by client. Nobody is ever locked out: what was used up comes back by itself, and a client that signed in
//! before is not held up by what others guess.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dropin_ports::{Fingerprint, Secrets};

use crate::access::client_network;

/// Accounts or clients that are counted at once.
const MAX_ENTRIES: usize = 10_000;

/// Guesses in a row, and how long until the next one.
#[derive(Debug, Clone, Copy)]
struct Rate {
    burst: u32,
    interval: Duration,
}

/// Wrong passwords of one client, for whichever accounts: 20, then one in six seconds.
const BY_CLIENT: Rate = Rate { burst: 20, interval: Duration::from_secs(6) };
/// Wrong passwords for one account, from clients that never signed in to it: 10, then one in 30 seconds.
const BY_ACCOUNT: Rate = Rate { burst: 10, interval: Duration::from_secs(30) };
/// Wrong codes for one account, from wherever: 5, then one in two minutes. Three codes among a million are right at a time, so that guessing takes a
/// year and more, of somebody who has the password.
const BY_SECOND_FACTOR: Rate = Rate { burst: 5, interval: Duration::from_secs(120) };

/// Counts by key (the generic cell rate algorithm).
struct Buckets {
    rate: Rate,
    /// When all guesses so far are forgotten.
    forgotten: Mutex<HashMap<Fingerprint, Instant>>,
}

impl Buckets {
    fn new(rate: Rate) -> Self {
        Self { rate, forgotten: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fingerprint, Instant>> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one guess, before it is known whether it is right, so that guesses at once count too.
    fn take(&self, key: Fingerprint, now: Instant) -> Result<(), Duration> {
        let mut all = self.lock();
        if MAX_ENTRIES <= all.len() && !all.contains_key(&key) {
            make_room(&mut all, now);
        }
        let known = all.entry(key).or_insert(now);
        let next = (*known).max(now) + self.rate.interval;
        let wait = next.saturating_duration_since(now + self.rate.interval * self.rate.burst);
        if wait.is_zero() {
            *known = next;
            Ok(())
        } else {
            Err(wait)
        }
    }

    /// Gives a guess back that was right.
    fn give_back(&self, key: &Fingerprint) {
        if let Some(known) = self.lock().get_mut(key) {
            *known = known.checked_sub(self.rate.interval).unwrap_or(*known);
        }
    }
}

/// Drops what is forgotten anyway, else the half that is forgotten soonest: whoever fills the table with single guesses drops those.
fn make_room(all: &mut HashMap<Fingerprint, Instant>, now: Instant) {
    all.retain(|_, forgotten| now < *forgotten);
    if all.len() < MAX_ENTRIES {
        return;
    }
    let mut ends: Vec<_> = all.values().copied().collect();
    let middle = ends.len() / 2;
    let (_, &mut median, _) = ends.select_nth_unstable(middle);
    all.retain(|_, forgotten| median < *forgotten);
}

/// What slows guesses down.
pub(super) struct Throttle {
    clients: Buckets,
    accounts: Buckets,
    second_factors: Buckets,
    /// Clients that signed in to an account since this process started.
    known: Mutex<HashSet<Fingerprint>>,
}

/// Who guesses at what.
#[derive(Clone, Copy)]
pub(super) struct Guess {
    client: Fingerprint,
    account: Fingerprint,
    both: Fingerprint,
}

impl Guess {
    pub(super) fn new(secrets: &dyn Secrets, client: IpAddr, account: &str) -> Self {
        let network = client_network(client);
        Self {
            client: secrets.fingerprint(&[b"operator's client", &network]),
            account: secrets.fingerprint(&[b"operator's account", account.as_bytes()]),
            both: secrets.fingerprint(&[b"operator's client and account", &network, account.as_bytes()]),
        }
    }
}

impl Throttle {
    pub(super) fn new() -> Self {
        Self {
            clients: Buckets::new(BY_CLIENT),
            accounts: Buckets::new(BY_ACCOUNT),
            second_factors: Buckets::new(BY_SECOND_FACTOR),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<Fingerprint>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a guess at a password; when there is none left, how long until the next.
    pub(super) fn take_password(&self, guess: &Guess, now: Instant) -> Result<(), Duration> {
        self.clients.take(guess.client, now)?;
        if !self.known().contains(&guess.both) {
            self.accounts.take(guess.account, now)?;
        }
        Ok(())
    }

    /// Gives a guess back that was right.
    pub(super) fn give_back_password(&self, guess: &Guess) {
        self.clients.give_back(&guess.client);
        if !self.known().contains(&guess.both) {
            self.accounts.give_back(&guess.account);
        }
    }

    /// Takes a guess at a second factor.
    pub(super) fn take_second_factor(&self, guess: &Guess, now: Instant) -> Result<(), Duration> {
        self.second_factors.take(guess.account, now)
    }

    /// Gives a guess back that was right, and remembers the client.
    pub(super) fn signed_in(&self, guess: &Guess) {
        self.second_factors.give_back(&guess.account);
        let mut known = self.known();
        if MAX_ENTRIES <= known.len() {
            known.clear();
        }
        known.insert(guess.both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Fingerprint {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_be_bytes());
        Fingerprint(key)
    }

    fn guess(client: u32, account: u32) -> Guess {
        Guess { client: key(client), account: key(account), both: key(client * 1_000 + account) }
    }

    #[test]
    fn an_account_is_guessed_at_ten_times_from_wherever_and_is_never_locked() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        for client in 0..10 {
            assert_eq!(throttle.take_password(&guess(client, 500), start), Ok(()));
        }
        assert_eq!(throttle.take_password(&guess(11, 500), start), Err(Duration::from_secs(30)));
        assert_eq!(throttle.take_password(&guess(11, 501), start), Ok(()), "another account");
        assert_eq!(throttle.take_password(&guess(11, 500), start + Duration::from_secs(30)), Ok(()));
    }

    #[test]
    fn who_signed_in_before_is_not_held_up_by_others() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        throttle.signed_in(&guess(1, 500));
        for client in 2..20 {
            let _used_up = throttle.take_password(&guess(client, 500), start);
        }
        assert_eq!(throttle.take_password(&guess(1, 500), start), Ok(()));
        assert!(throttle.take_password(&guess(30, 500), start).is_err());
    }

    #[test]
    fn a_client_guesses_twenty_times_at_whichever_accounts() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        for account in 0..20 {
            assert_eq!(throttle.take_password(&guess(1, account), start), Ok(()));
        }
        assert_eq!(throttle.take_password(&guess(1, 21), start), Err(Duration::from_secs(6)));
        throttle.give_back_password(&guess(1, 19));
        assert_eq!(throttle.take_password(&guess(1, 22), start), Ok(()), "a right one does not count");
        // Nor does one of a client that is known make room for guesses of others.
        let (known, stranger) = (guess(2, 600), guess(3, 600));
        throttle.signed_in(&known);
        while throttle.take_password(&stranger, start).is_ok() {}
        assert_eq!(throttle.take_password(&known, start), Ok(()));
        throttle.give_back_password(&known);
        assert!(throttle.take_password(&guess(4, 600), start).is_err());
    }

    #[test]
    fn codes_are_guessed_five_times() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        for _ in 0..5 {
            assert_eq!(throttle.take_second_factor(&guess(1, 500), start), Ok(()));
        }
        assert_eq!(throttle.take_second_factor(&guess(2, 500), start), Err(Duration::from_secs(120)));
    }

    #[test]
    fn the_table_is_bounded_and_keeps_who_is_guessed_at_most() {
        let (buckets, start) = (Buckets::new(BY_ACCOUNT), Instant::now());
        let victim = key(u32::MAX);
        while buckets.take(victim, start).is_ok() {}
        for number in 0..3 * u32::try_from(MAX_ENTRIES).unwrap() {
            buckets.take(key(number), start).unwrap();
            assert!(buckets.lock().len() <= MAX_ENTRIES);
        }
        assert!(buckets.take(victim, start).is_err(), "filling the table frees no account");
    }
}
