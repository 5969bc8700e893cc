//! JSON strings, decoded one character at a time, so that the caller decides where the characters are stored.

/// The string token holds an escape that stands for no character (a lone surrogate).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadEscape;

/// The characters of a JSON string token, quotes included, whose syntax was checked before (RFC 8259 section 7).
pub(crate) fn characters(token: &str) -> impl Iterator<Item = Result<char, BadEscape>> {
    let inner = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    let mut rest = inner.chars();
    std::iter::from_fn(move || {
        let c = rest.next()?;
        if c != '\\' {
            return Some(Ok(c));
        }
        Some(match rest.next() {
            Some('u') => escaped(&mut rest),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some(itself @ ('"' | '\\' | '/')) => Ok(itself),
            _ => Err(BadEscape),
        })
    })
}

/// What follows `\u`: four hexadecimal digits, or two such escapes for a character beyond the basic plane.
fn escaped(rest: &mut std::str::Chars<'_>) -> Result<char, BadEscape> {
    let high = unit(rest)?;
    if !(0xD800..=0xDBFF).contains(&high) {
        return char::from_u32(high).ok_or(BadEscape);
    }
    if rest.next() != Some('\\') || rest.next() != Some('u') {
        return Err(BadEscape);
    }
    let low = unit(rest)?;
    if !(0xDC00..=0xDFFF).contains(&low) {
        return Err(BadEscape);
    }
    char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or(BadEscape)
}

fn unit(rest: &mut std::str::Chars<'_>) -> Result<u32, BadEscape> {
    (0..4).try_fold(0, |unit, _| Ok(unit * 16 + rest.next().and_then(|c| c.to_digit(16)).ok_or(BadEscape)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(token: &str) -> Result<String, BadEscape> {
        characters(token).collect()
    }

    #[test]
    fn decodes_what_serde_json_decodes() {
        for token in [
            r#""""#,
            r#""plain""#,
            r#""caf\u00e9 \"\\\/\b\f\n\r\t""#,
            r#""\ud83d\ude00 and \uFFFF""#,
            r#""é 💳""#,
            r#""ends in a backslash \\""#,
        ] {
            assert_eq!(decode(token), Ok(serde_json::from_str::<String>(token).unwrap()), "{token}");
        }
    }

    #[test]
    fn lone_surrogates_are_no_characters() {
        for token in [r#""\ud800""#, r#""\udc00""#, r#""\ud800x""#, r#""\ud800\n""#, r#""\ud800\u0041""#] {
            assert_eq!(decode(token), Err(BadEscape), "{token}");
            assert!(serde_json::from_str::<String>(token).is_err(), "{token}");
        }
    }
}
