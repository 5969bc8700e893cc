//! Authenticators that give time-based codes (RFC 6238): six digits, 30 seconds, one step of tolerance on both sides.

use dropin_kernel::Timestamp;
use dropin_ports::{IdSource, KeyringError};
use totp_rs::{Algorithm, Builder, Totp};

/// Bytes of a secret: 160 bits, as RFC 4226 section 4 recommends.
const SECRET_BYTES: usize = 20;

/// What an authenticator shows beside its codes.
const ISSUER: &str = "Dropin";

pub(super) fn new_secret(ids: &dyn IdSource) -> Vec<u8> {
    ids.secret()[..SECRET_BYTES].to_vec()
}

fn totp(secret: &[u8], account: &str) -> Result<Totp, KeyringError> {
    let account = account.replace(':', "");
    Builder::new()
        .with_algorithm(Algorithm::SHA1)
        .with_digits(6)
        .with_skew(1)
        .with_step_duration(30)
        .with_secret(secret.to_vec())
        .with_account_name(account)
        .with_issuer(Some(ISSUER))
        .build()
        .map_err(|_secret_is_damaged| KeyringError::CannotOpen)
}

/// What an authenticator is set up with: the secret for typing, and the address for a QR code.
pub(super) fn setup(secret: &[u8], account: &str) -> Result<(String, String), KeyringError> {
    let totp = totp(secret, account)?;
    let uri = totp.to_url().map_err(|_no_account| KeyringError::CannotOpen)?;
    Ok((totp.secret().to_base32(), uri))
}

/// The time step whose code this is, if it is one of now or a step beside it; `None` for any other text.
pub(super) fn step_of(secret: &[u8], code: &str, now: Timestamp) -> Result<Option<i64>, KeyringError> {
    let digits: String = code.chars().filter(|one| !one.is_whitespace()).collect();
    let seconds = u64::try_from(now.unix_seconds()).unwrap_or_default();
    let step = totp(secret, "")?.check(&digits, seconds);
    Ok(step.and_then(|step| i64::try_from(step).ok()))
}

/// Whether a text looks like a code of an authenticator rather than a recovery code.
pub(super) fn is_code(text: &str) -> bool {
    let mut digits = text.chars().filter(|one| !one.is_whitespace());
    digits.clone().count() == 6 && digits.all(|one| one.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238 appendix B, SHA-1; six of its eight digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secret = b"12345678901234567890";
        for (seconds, code) in [(1_111_111_109, "081804"), (1_234_567_890, "005924"), (20_000_000_000, "353130")] {
            let at = |offset: i64| Timestamp::from_micros((seconds + offset) * 1_000_000);
            assert_eq!(step_of(secret, code, at(0)), Ok(Some(seconds / 30)));
            assert_eq!(step_of(secret, &format!("{} {}", &code[..3], &code[3..]), at(30)), Ok(Some(seconds / 30)));
            assert_eq!(step_of(secret, code, at(60)), Ok(None), "two steps late");
            assert_eq!(step_of(secret, code, at(-60)), Ok(None), "two steps early");
        }
    }

    #[test]
    fn an_authenticator_is_set_up_by_text_or_address() {
        let (text, uri) = setup(b"12345678901234567890", "ana:x@shop.example").unwrap();
        assert_eq!(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert!(uri.starts_with("otpauth://totp/Dropin:anax%40shop.example?"), "{uri}");
        assert!(uri.contains("secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ") && uri.contains("issuer=Dropin"), "{uri}");
        assert!(setup(b"short", "ana").is_err());
    }

    #[test]
    fn six_digits_are_a_code() {
        assert!(is_code("123456") && is_code(" 123 456 "));
        assert!(!is_code("12345") && !is_code("ABCD-EFGH-JKLM-NPQR") && !is_code("१२३४५६"));
    }
}
