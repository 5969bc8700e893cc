//! Strict JSON, which every JSON body has to be: serde_json reads it, and a look at its structure finds what serde_json lets through.

use std::borrow::Cow;

use dropin_kernel::Violations;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::known::Known;
use crate::member::read_body;
use crate::request::RequestError;
use crate::text::characters;

/// Deepest nesting of objects and lists (docs/SPECIFICATION.md#json).
const MAX_DEPTH: usize = 32;

/// The text of `body` when it is one JSON object: UTF-8, right syntax, no key twice in any object, at most 32 levels deep, every
/// escape a character (RFC 8259 section 4 leaves duplicate keys open; docs/SPECIFICATION.md#json refuses them). No value is decoded.
///
/// # Errors
/// [`RequestError::Malformed`] with line and column.
pub(crate) fn json_object(body: &[u8]) -> Result<&str, RequestError> {
    let text = utf_8(body)?;
    serde_json::from_str::<&RawValue>(text).map_err(|error| unreadable(text, &error))?;
    check_structure(text)?;
    if !text.trim_ascii_start().starts_with('{') {
        return Err(RequestError::Malformed("The body must be a JSON object.".to_owned()));
    }
    Ok(text)
}

/// The object that `body` is, under the rules of [`json_object`]. Its members are [`Member`](crate::member::Member)s, which take a value of any
/// type, so that nothing but a malformed body is an error here. Members that it does not have are noted in `all`.
///
/// # Errors
/// [`RequestError::Malformed`] with line and column.
pub(crate) fn read_object<'de, T: Known + Deserialize<'de>>(
    body: &'de [u8],
    all: &mut Violations,
) -> Result<T, RequestError> {
    let text = utf_8(body)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = read_body::<T, _>(&mut reader).and_then(|object| reader.end().map(|()| object));
    let object = read.or_else(|error| {
        json_object(body)?;
        // A number beyond serde_json's, in the place of something else than a number.
        Err(unreadable(text, &error))
    })?;
    check_structure(text)?;
    Ok(object.known("", all))
}

fn utf_8(body: &[u8]) -> Result<&str, RequestError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let before = String::from_utf8_lossy(&body[..error.valid_up_to()]);
        malformed(&before, before.len(), "the body is not UTF-8 there")
    })?;
    if text.trim_ascii().is_empty() {
        return Err(RequestError::Malformed("The body is empty; send a JSON object.".to_owned()));
    }
    Ok(text)
}

/// Refuses what has the syntax of JSON and is not strict: a key twice in an object, too many levels, half a surrogate pair.
fn check_structure(text: &str) -> Result<(), RequestError> {
    // The keys of all open objects with their offsets, and where those of each open object or list begin.
    let (mut keys, mut levels) = (Vec::<(Cow<'_, str>, usize)>::new(), Vec::new());
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'{' | b'[' if levels.len() == MAX_DEPTH => {
                return Err(malformed(text, at, "objects and lists are nested deeper than 32 levels"));
            }
            b'{' | b'[' => levels.push(keys.len()),
            b'}' | b']' => {
                let begin = levels.pop().unwrap_or_default();
                if let Some(repeated) = repeated_key(&mut keys[begin..]) {
                    return Err(malformed(text, repeated, "this member occurs twice in its object"));
                }
                keys.truncate(begin);
            }
            b'"' => {
                let token = string_token(&text[at..]);
                let content =
                    decoded(token).ok_or_else(|| malformed(text, at, "this string holds half of a surrogate pair"))?;
                if text[at + token.len()..].trim_ascii_start().starts_with(':') {
                    keys.push((content, at));
                }
                at += token.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The offset of a key that is among `keys` before. Sorting keeps a hostile object from costing the square of its size.
fn repeated_key(keys: &mut [(Cow<'_, str>, usize)]) -> Option<usize> {
    keys.sort_unstable();
    keys.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1)
}

/// The string that `text` begins with, quotes included.
fn string_token(text: &str) -> &str {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text, |end| &text[..end + 2])
}

/// The characters of a string token; `None` when an escape stands for none.
fn decoded(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('\\') {
        return token.get(1..token.len() - 1).map(Cow::Borrowed);
    }
    characters(token).collect::<Result<String, _>>().ok().map(Cow::Owned)
}

fn unreadable(text: &str, error: &serde_json::Error) -> RequestError {
    // serde_json counts columns in bytes, and ends its message with the position.
    let line_start: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let message = error.to_string();
    let why = message.split(" at line ").next().unwrap_or_default();
    malformed(text, line_start + error.column().saturating_sub(1), why)
}

/// Says where and why; lines and columns are counted from 1, columns in characters.
fn malformed(text: &str, offset: usize, why: &str) -> RequestError {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    RequestError::Malformed(format!("The body is not valid JSON at line {line}, column {column}: {why}."))
}

#[cfg(test)]
mod tests {
    use dropin_money::Decimal;

    use super::*;
    use crate::member::{List, Member, Object};

    fn refused(body: impl AsRef<[u8]>) -> String {
        match json_object(body.as_ref()) {
            Err(RequestError::Malformed(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn strict_json_passes_as_it_is() {
        for body in [r#"{}"#, " {\"a\" : [1, {\"a\": null}], \"A\": 1e999999999} \r\n", r#"{"é":"\ud83d\ude00"}"#] {
            assert_eq!(json_object(body.as_bytes()), Ok(body));
        }
    }

    /// An object with a member of each kind that is read in a way of its own.
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "whether it is read counts, not what is read")]
    struct SampleDto {
        a: Member<Decimal>,
        b: Member<String>,
        k: Member<Object<InnerDto>>,
        l: Member<List<InnerDto>>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "whether it is read counts, not what is read")]
    struct InnerDto {
        a: Member<Decimal>,
        b: Member<bool>,
    }

    impl Known for SampleDto {}
    impl Known for InnerDto {}

    proptest::proptest! {
        /// Both readers follow the same rules, but for a number beyond serde_json's in the place of something else than a number.
        #[test]
        fn both_readers_refuse_the_same_bodies(
            members in proptest::collection::vec((
                proptest::sample::select(vec!["\"a\"", "\"\\u0061\"", "\"b\"", "\"k\"", "\"l\"", "\"x\"", "\"\\udc00\"", "a", ""]),
                proptest::sample::select(vec![
                    "1", "-0.5e1", "01", "1e999", "true", "null", "\"\"", "\"\\u00e9\"", "\"\\ud800\"", "\"\\x\"", "{}", "[]", "{\"a\":1,\"b\":true}",
                    "{\"a\":1,\"a\":2}", "{\"x\":1,\"\\u0078\":2}", "[{\"a\":\"\\ud800\"}]", "[{\"b\":1,\"b\":1},1]", "[1,]", "{\"a\"}", "",
                ]),
            ), 0..4),
            parts in proptest::collection::vec(proptest::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\":", "\"", "\t", "\u{1}", " ", "0", "-", "1.", ".5", "1E+5", "tru", "null", "/", "'",
            ]), 0..12),
            is_object in proptest::bool::weighted(0.8),
        ) {
            let members: Vec<_> = members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            let body = if is_object { format!("{{{}}}", members.join(",")) } else { parts.concat() };
            let read = read_object::<SampleDto>(body.as_bytes(), &mut Violations::new()).map(drop);
            let beyond = matches!(&read, Err(RequestError::Malformed(why)) if why.contains("number out of range"));
            let taken = json_object(body.as_bytes()).map(drop);
            proptest::prop_assert!(beyond || read == taken, "{body}: {read:?} and {taken:?}");
        }
    }

    #[test]
    fn an_object_with_many_members_costs_no_square_of_them() {
        let members: Vec<_> = (0..30_000).map(|at| format!("\"{at:05}\":0")).collect();
        let body = format!("{{{}}}", members.join(","));
        let begun = std::time::Instant::now();
        assert!(json_object(body.as_bytes()).is_ok());
        let elapsed = begun.elapsed();
        assert!(elapsed < std::time::Duration::from_millis(500), "{elapsed:?} in a debug build");
        let twice = format!("{},\"00007\":1}}", body.trim_end_matches('}'));
        assert!(refused(twice).contains("twice"));
    }

    #[test]
    fn syntax_errors_name_line_and_column() {
        assert_eq!(refused("{\n  \"a\": x\n}"), "The body is not valid JSON at line 2, column 8: expected value.");
        for body in [
            "{",
            "{]",
            "{\"a\":1,}",
            "{\"a\":01}",
            "{'a':1}",
            "{\"a\":1}x",
            "\u{feff}{}",
            "{\"a\":\"\t\"}",
            "{\"a\":\"\\x\"}",
        ] {
            assert!(refused(body).contains("line 1, column "), "{body}");
        }
        assert!(refused("").contains("empty"));
        assert!(refused("[]").contains("object") && refused("null").contains("object"));
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_refused() {
        assert!(refused(b"{\n\"a\":\"\xff\"}").contains("line 2, column 6: the body is not UTF-8"));
    }

    #[test]
    fn a_key_twice_is_refused_wherever_and_however_it_is_written() {
        assert!(refused("{\"a\":1,\n \"a\":1}").contains("line 2, column 2"));
        assert!(refused(r#"{"x":[{"b":{"a":1,"\u0061":2}}]}"#).contains("twice"));
        assert!(json_object(br#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
    }

    #[test]
    fn thirty_two_levels_and_no_more() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        assert!(json_object(nested(32).as_bytes()).is_ok());
        assert!(refused(nested(33)).contains("32 levels"));
        assert!(refused(nested(100_000)).contains("32 levels"));
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_in_values_and_keys() {
        assert!(refused(r#"{"a":"\ud800"}"#).contains("column 6"));
        assert!(refused(r#"{"\udc00":1}"#).contains("surrogate"));
    }
}
