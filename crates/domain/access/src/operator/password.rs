//! Passwords that people choose: length, and nothing that everybody would try first (NIST SP 800-63B section 5.1.1.2).

/// Fewest characters.
pub const MIN_PASSWORD_CHARS: usize = 12;

/// Most characters, so that hashing has a bound.
pub const MAX_PASSWORD_CHARS: usize = 128;

/// Parts of a person's data that are shorter than this are in words by chance; and what remains beside one must not be.
const MIN_CONTEXT_CHARS: usize = 5;

/// Passwords of twelve characters and more that stand in every list of leaked ones.
const COMMON: [&str; 24] = [
    "123456789012",
    "1234567890123",
    "12345678901234",
    "123456789012345",
    "1234567890123456",
    "123456123456",
    "123123123123",
    "abcdefghijkl",
    "administrator",
    "adminadmin123",
    "changeme1234",
    "iloveyou1234",
    "letmein12345",
    "passw0rd1234",
    "password1234",
    "password12345",
    "password123456",
    "passwordpassword",
    "q1w2e3r4t5y6",
    "qwerty123456",
    "qwertyqwerty",
    "qwertyuiop12",
    "qwertyuiop123",
    "welcome12345",
];

/// Why a password is not taken. There are no rules of composition: spaces and every script are welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRefused {
    /// Shorter than [`MIN_PASSWORD_CHARS`].
    #[error("must have at least {MIN_PASSWORD_CHARS} characters; several words make a good one")]
    TooShort,
    /// Longer than [`MAX_PASSWORD_CHARS`].
    #[error("must have at most {MAX_PASSWORD_CHARS} characters")]
    TooLong,
    /// In a list of leaked passwords, or one or two characters again and again.
    #[error("is one that everybody would try first: choose another")]
    Common,
    /// Hardly more than the operator's name or address.
    #[error("must not be made of the name or the e-mail address")]
    Personal,
}

/// Whether a password may be chosen by the person with this name and e-mail address.
///
/// ```
/// use dropin_access::operator::{PasswordRefused, check_password};
///
/// assert_eq!(check_password("four plain words", "Ana", "ana@shop.example"), Ok(()));
/// assert_eq!(check_password("Tr0ub4dor&3", "Ana", "ana@shop.example"), Err(PasswordRefused::TooShort));
/// ```
///
/// # Errors
/// [`PasswordRefused`].
pub fn check_password(password: &str, name: &str, email: &str) -> Result<(), PasswordRefused> {
    let chars = password.chars().count();
    if chars < MIN_PASSWORD_CHARS {
        return Err(PasswordRefused::TooShort);
    }
    if MAX_PASSWORD_CHARS < chars {
        return Err(PasswordRefused::TooLong);
    }
    let lower = password.to_lowercase();
    if COMMON.contains(&lower.as_str()) || distinct_chars(&lower) <= 2 {
        return Err(PasswordRefused::Common);
    }
    let local_part = email.split('@').next().unwrap_or_default();
    let personal = [email, local_part, name, "dropin"].map(str::to_lowercase);
    let is_personal = personal.iter().any(|part| {
        let rest = lower.replace(part.as_str(), "");
        MIN_CONTEXT_CHARS <= part.chars().count()
            && rest.len() < lower.len()
            && rest.trim().chars().count() < MIN_CONTEXT_CHARS
    });
    if is_personal { Err(PasswordRefused::Personal) } else { Ok(()) }
}

fn distinct_chars(text: &str) -> usize {
    text.chars().collect::<std::collections::BTreeSet<_>>().len()
}
