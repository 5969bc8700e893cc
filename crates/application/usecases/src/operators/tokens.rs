//! Tokens of one-time links and sessions, and what is derived of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dropin_kernel::OperatorId;
use dropin_ports::{IdSource, RecoveryCodeHash, Secrets, TokenHash};
use sha2::{Digest, Sha256};

/// Letters and digits that nobody confuses: 32 of them, five bits each.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Bytes of a recovery code: 80 bits.
const RECOVERY_BYTES: usize = 10;

/// A token: 256 random bits, for addresses and cookies.
pub(super) fn new_token(ids: &dyn IdSource) -> String {
    URL_SAFE_NO_PAD.encode(ids.secret())
}

/// What is kept of a token. One hash is enough: a token cannot be guessed.
pub(super) fn token_hash(purpose: &str, token: &str) -> TokenHash {
    TokenHash(digest(purpose, token))
}

/// The token that every form of a session carries (OWASP's HMAC-based token pattern: it is made of the session's own token, which pages never see).
pub(super) fn csrf_token(session_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest("cross-site request forgery", session_token))
}

fn digest(purpose: &str, token: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(purpose.as_bytes());
    hash.update([0]);
    hash.update(token.as_bytes());
    hash.finalize().into()
}

/// Compares without telling by its time where the two differ.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differs) == 0
}

/// A recovery code, as it is shown once: `ABCD-EFGH-JKLM-NPQR`.
pub(super) fn new_recovery_code(ids: &dyn IdSource) -> String {
    let secret = ids.secret();
    let mut bits = 0_u128;
    for byte in &secret[..RECOVERY_BYTES] {
        bits = bits << 8 | u128::from(*byte);
    }
    let mut code = String::new();
    for place in (0..RECOVERY_BYTES * 8 / 5).rev() {
        let index = (bits >> (place * 5)) & 31;
        code.push(char::from(ALPHABET[usize::try_from(index).unwrap_or_default()]));
        if place % 4 == 0 && place != 0 {
            code.push('-');
        }
    }
    code
}

/// What is kept of a recovery code: hashed under the deployment's key, in whatever way it is typed.
pub(super) fn recovery_code_hash(secrets: &dyn Secrets, operator: OperatorId, code: &str) -> RecoveryCodeHash {
    let typed: String = code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    RecoveryCodeHash(secrets.hash_password(&format!("recovery code of operator {operator}: {typed}")).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_two_purposes_have_two_hashes() {
        assert_ne!(token_hash("session", "a"), token_hash("invitation", "a"));
        assert_ne!(csrf_token("a"), csrf_token("b"));
        assert!(is_same(&csrf_token("a"), &csrf_token("a")) && !is_same("a", "ab") && !is_same("a", "b"));
    }

    #[test]
    fn a_recovery_code_has_four_groups() {
        struct Ones;
        impl IdSource for Ones {
            fn random(&self) -> uuid::Uuid {
                uuid::Uuid::nil()
            }
            fn ordered(&self) -> uuid::Uuid {
                uuid::Uuid::nil()
            }
            fn secret(&self) -> [u8; 32] {
                std::array::from_fn(|index| u8::try_from(index).unwrap())
            }
        }
        assert_eq!(new_recovery_code(&Ones), "AAAS-EA2E-AWDA-QCAK");
    }
}
