use std::fmt;

use dropin_kernel::Timestamp;

/// Keyed hash of a generated API password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub Vec<u8>);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// A secret encrypted under the deployment's master key.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret(pub Vec<u8>);

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedSecret(..)")
    }
}

/// A credential that was replaced and counts beside the new one for a while, so that its owner can change over without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retiring<T> {
    /// What was replaced.
    pub credential: T,
    /// It counts before this instant and not from then on.
    pub until: Timestamp,
}

impl<T> Retiring<T> {
    /// The credential, while it still counts.
    pub fn at(&self, now: Timestamp) -> Option<&T> {
        (now < self.until).then_some(&self.credential)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_credential_counts_before_its_end_only() {
        let end = Timestamp::from_micros(1_000);
        let old = Retiring { credential: 7, until: end };
        assert_eq!(old.at(Timestamp::from_micros(999)), Some(&7));
        assert_eq!(old.at(end), None);
    }

    #[test]
    fn debug_shows_no_credential() {
        let old = Retiring { credential: SealedSecret(vec![77]), until: Timestamp::from_micros(0) };
        assert!(!format!("{old:?} {:?}", PasswordHash(vec![77])).contains("77"));
    }
}
