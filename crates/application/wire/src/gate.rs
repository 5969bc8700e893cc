//! The gate that every JSON body passes first: strict JSON, looked at without converting a single number or string.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::request::RequestError;
use crate::text::characters;

/// Deepest nesting of objects and lists (decisions.md section 1).
const MAX_DEPTH: usize = 32;
const TOO_DEEP: &str = "objects and lists are nested deeper than 32 levels";

/// The text of `body` when it is one JSON object: UTF-8, right syntax, no key twice in any object, at most 32 levels deep, every
/// escape a character (RFC 8259 section 4 leaves duplicate keys open; decisions.md section 1 refuses them).
///
/// # Errors
/// [`RequestError::Malformed`] with line and column.
pub(crate) fn json_object(body: &[u8]) -> Result<&str, RequestError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let (line, column) = line_and_column(&String::from_utf8_lossy(&body[..error.valid_up_to()]));
        malformed(line, column, "the body is not UTF-8 there")
    })?;
    if text.trim_ascii().is_empty() {
        return Err(RequestError::Malformed("The body is empty; send a JSON object.".to_owned()));
    }
    let whole: &RawValue = serde_json::from_str(text).map_err(|error| syntax(&error))?;
    if !whole.get().starts_with('{') {
        return Err(RequestError::Malformed("The body must be a JSON object.".to_owned()));
    }
    // One look over the brackets first: the walk below reads each level once more, which is cheap only when there are few.
    if let Some(offset) = too_deep(text) {
        let (line, column) = line_and_column(text.get(..offset).unwrap_or_default());
        return Err(malformed(line, column, TOO_DEEP));
    }
    Walk { text }.value(whole)?;
    Ok(text)
}

/// Where the first object or list beyond the limit begins, in JSON of right syntax.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if MAX_DEPTH < depth {
                    return Some(offset);
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

struct Walk<'a> {
    text: &'a str,
}

impl<'a> Walk<'a> {
    /// Checks a value and everything in it; the depth is bounded before.
    fn value(&self, raw: &'a RawValue) -> Result<(), RequestError> {
        let token = raw.get();
        match token.as_bytes().first() {
            Some(b'{') => self.object(token),
            Some(b'[') => {
                let entries: Vec<&RawValue> = serde_json::from_str(token).map_err(|error| syntax(&error))?;
                entries.into_iter().try_for_each(|entry| self.value(entry))
            }
            Some(b'"') => self.string(token),
            _ => Ok(()),
        }
    }

    fn object(&self, token: &'a str) -> Result<(), RequestError> {
        let Members(members) = serde_json::from_str(token).map_err(|error| syntax(&error))?;
        let mut seen = BTreeSet::new();
        for (key, value) in members {
            self.string(key.get())?;
            let name: String = characters(key.get()).filter_map(Result::ok).collect();
            if !seen.insert(name) {
                return Err(self.wrong_at(key.get(), "this member occurs twice in its object"));
            }
            self.value(value)?;
        }
        Ok(())
    }

    fn string(&self, token: &str) -> Result<(), RequestError> {
        match characters(token).find(Result::is_err) {
            Some(_) => Err(self.wrong_at(token, "this string holds half of a surrogate pair")),
            None => Ok(()),
        }
    }

    /// `part` is a slice of the body's text.
    fn wrong_at(&self, part: &str, why: &str) -> RequestError {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let (line, column) = line_and_column(self.text.get(..offset).unwrap_or_default());
        malformed(line, column, why)
    }
}

/// The members of an object in their order, nothing of them decoded.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Where the text after `before` begins, both counted from 1, columns in characters.
fn line_and_column(before: &str) -> (usize, usize) {
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    (line, column)
}

fn syntax(error: &serde_json::Error) -> RequestError {
    let text = error.to_string();
    let why = text.split(" at line ").next().unwrap_or_default();
    malformed(error.line(), error.column().max(1), why)
}

fn malformed(line: usize, column: usize, why: &str) -> RequestError {
    RequestError::Malformed(format!("The body is not valid JSON at line {line}, column {column}: {why}."))
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
