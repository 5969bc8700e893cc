//! The gate that every JSON body passes first: strict JSON, read once from its beginning to its end without converting a single number.

mod reader;

use serde::Deserialize;

use crate::request::RequestError;
use reader::{Fault, Reader};

/// The text of `body` when it is one JSON object: UTF-8, right syntax, no key twice in any object, at most 32 levels deep, every
/// escape a character (RFC 8259 section 4 leaves duplicate keys open; decisions.md section 1 refuses them). No value is decoded.
///
/// # Errors
/// [`RequestError::Malformed`] with line and column.
pub(crate) fn json_object(body: &[u8]) -> Result<&str, RequestError> {
    let text = utf_8(body)?;
    let mut reader = Reader::new(text);
    reader.skip_value().and_then(|()| reader.end()).map_err(|fault| malformed(text, &fault))?;
    only_objects(text)?;
    Ok(text)
}

/// The object that `body` is, under the rules of [`json_object`]. Its members are [`Member`](crate::member::Member)s, which take a value of any
/// type, so that nothing but a malformed body is an error here.
///
/// # Errors
/// [`RequestError::Malformed`] with line and column.
pub(crate) fn read_object<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, RequestError> {
    let text = utf_8(body)?;
    if !text.trim_ascii_start().starts_with('{') {
        json_object(body)?;
    }
    let mut reader = Reader::new(text);
    let object = T::deserialize(&mut reader).map_err(|fault| malformed(text, &fault))?;
    reader.end().map_err(|fault| malformed(text, &fault))?;
    Ok(object)
}

fn utf_8(body: &[u8]) -> Result<&str, RequestError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let before = String::from_utf8_lossy(&body[..error.valid_up_to()]);
        malformed(&before, &Fault::at(before.len(), "the body is not UTF-8 there"))
    })?;
    if text.trim_ascii().is_empty() {
        return Err(RequestError::Malformed("The body is empty; send a JSON object.".to_owned()));
    }
    Ok(text)
}

fn only_objects(text: &str) -> Result<(), RequestError> {
    if text.trim_ascii_start().starts_with('{') {
        return Ok(());
    }
    Err(RequestError::Malformed("The body must be a JSON object.".to_owned()))
}

/// Says where and why; lines and columns are counted from 1, columns in characters.
fn malformed(text: &str, fault: &Fault) -> RequestError {
    let before = text.get(..fault.offset()).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    RequestError::Malformed(format!("The body is not valid JSON at line {line}, column {column}: {fault}."))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    proptest::proptest! {
        /// Another reader of the same grammar must agree, but for what the gate refuses beyond it.
        #[test]
        fn what_is_json_is_what_serde_json_takes(
            parts in proptest::collection::vec(proptest::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"a\":", "\"\\n\"", "\"\\u00e9\"", "\"\\u00g9\"", "\"\\x\"", "\"é\"",
                "\"", "\t", "\u{1}", " ", "0", "-", "1", "01", "1.5", "1.", ".5", "1e5", "1E+5", "1e", "true", "tru", "false", "null", "nul", "/", "'",
            ]), 0..12),
            whole in proptest::bool::ANY,
        ) {
            let inside = parts.concat();
            let body = if whole { format!("{{\"k\":{inside}}}") } else { inside };
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&body).is_ok_and(|raw| raw.get().starts_with('{'));
            match json_object(body.as_bytes()) {
                Ok(_) => proptest::prop_assert!(theirs, "{body}"),
                Err(RequestError::Malformed(why)) => proptest::prop_assert!(!theirs || why.contains("twice"), "{body}: {why}"),
                Err(fields) => proptest::prop_assert!(false, "{fields:?}"),
            }
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
