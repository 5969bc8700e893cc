//! The shape of an e-mail address.

/// Fewest digits in the local part of an address that a program made up; a birthday has eight and a year four.
const MANY_DIGITS: usize = 6;
/// Fewest changes between letters and digits.
const MANY_CHANGES: usize = 4;
/// Fewest consonants in a row.
const MANY_CONSONANTS: usize = 6;

/// What stands behind the last `@`.
pub(crate) fn domain(address: &str) -> Option<&str> {
    address.rsplit_once('@').map(|(_, domain)| domain)
}

/// Whether the local part looks as if a program had made it up: digits mixed into the letters, or letters that nobody can speak.
pub(crate) fn is_generated(address: &str) -> bool {
    let Some((local, _)) = address.rsplit_once('@') else { return false };
    let local = local.split('+').next().unwrap_or(local).as_bytes();
    let digits = local.iter().filter(|byte| byte.is_ascii_digit()).count();
    let changes = local.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    (MANY_DIGITS <= digits && 2 <= changes)
        || MANY_CHANGES <= changes
        || local.split(|byte| !is_consonant(*byte)).any(|run| MANY_CONSONANTS <= run.len())
}

fn is_consonant(byte: u8) -> bool {
    byte.is_ascii_lowercase() && !b"aeiouy".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_people_are_not_generated() {
        for address in [
            "jo@example.com",
            "anna.maria1984@example.com",
            "maxmustermann01011990@example.com",
            "x2y2@example.com",
            "schmidt@example.com",
            "12345678@qq.example",
            "anna+k3j4h5g6@example.com",
            "no-address",
            "k7x2m9q4",
        ] {
            assert!(!is_generated(address), "{address}");
        }
    }

    #[test]
    fn addresses_of_programs_are_generated() {
        for address in [
            "k7x2m9@example.com",
            "a123456b@example.com",
            "xkcdqwrt@example.com",
            "jo.bcdfgh@example.com",
            "1a2b3@x.com",
        ] {
            assert!(is_generated(address), "{address}");
        }
    }

    #[test]
    fn the_domain_stands_behind_the_last_at() {
        assert_eq!(domain("\"a@b\"@example.com"), Some("example.com"));
        assert_eq!(domain("example.com"), None);
    }
}
