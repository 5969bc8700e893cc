//! The JSON of the audit log (docs/SPECIFICATION.md#audit-log): what an entry says of before and after, and entries as they are shown and exported.

use std::fmt::Display;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What stood before an act, or stands after it: a small JSON object, by members of which each is named. Nothing of it is secret.
///
/// ```
/// use dropin_wire::audit_log::Document;
///
/// let document = Document::new().text("Name", "Shop").number("Attempts", 5).texts("Origins", ["https://shop.test"]);
/// assert_eq!(document.finish(), r#"{"Attempts":5,"Name":"Shop","Origins":["https://shop.test"]}"#);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document(Map<String, Value>);

impl Document {
    /// Without a member.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a text.
    #[must_use]
    pub fn text(self, name: &str, value: impl Display) -> Self {
        self.with(name, value.to_string().into())
    }

    /// With a text, or null.
    #[must_use]
    pub fn optional(self, name: &str, value: Option<impl Display>) -> Self {
        self.with(name, value.map(|value| value.to_string()).into())
    }

    /// With a number.
    #[must_use]
    pub fn number(self, name: &str, value: u64) -> Self {
        self.with(name, value.into())
    }

    /// With true or false.
    #[must_use]
    pub fn flag(self, name: &str, value: bool) -> Self {
        self.with(name, value.into())
    }

    /// With a list of texts.
    #[must_use]
    pub fn texts(self, name: &str, values: impl IntoIterator<Item = impl Display>) -> Self {
        self.with(name, Value::from_iter(values.into_iter().map(|value| value.to_string())))
    }

    /// With an object of its own.
    #[must_use]
    pub fn object(self, name: &str, value: Self) -> Self {
        self.with(name, Value::Object(value.0))
    }

    /// As text, the members in the order of their names.
    pub fn finish(self) -> String {
        Value::Object(self.0).to_string()
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }
}

/// An entry as it is shown and exported.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EntryBody<'a> {
    /// Identifier.
    pub entry_id: String,
    /// When.
    pub at: String,
    /// The merchant; null for the deployment.
    pub merchant_id: Option<String>,
    /// MERCHANT (an API user), OPERATOR, COMMAND_LINE or SYSTEM.
    pub actor: &'static str,
    /// The API user, operator or OS user.
    pub name: Option<&'a str>,
    /// The client's address.
    pub address: Option<String>,
    /// What was done.
    pub action: &'a str,
    /// The kind of what it was done to.
    pub subject: &'a str,
    /// Its id or name.
    pub subject_id: &'a str,
    /// What stood before.
    pub before: Option<Json<'a>>,
    /// What stands after it.
    pub after: Option<Json<'a>>,
    /// Why.
    pub note: Option<&'a str>,
    /// Its seal; null while it waits for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<SealBody>,
}

/// A JSON object as it is stored; one that cannot be read is shown as text.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a>(pub &'a str);

impl Serialize for Json<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0) {
            Ok(raw) => raw.serialize(serializer),
            Err(_altered) => serializer.serialize_str(self.0),
        }
    }
}

/// A seal as it is exported.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SealBody {
    /// The merchant's id, or `deployment`.
    pub chain: String,
    /// Its number in the chain.
    pub sequence: i64,
    /// The key.
    pub key_id: String,
    /// The MAC, in hexadecimal digits.
    pub mac: String,
    /// When it was sealed.
    pub sealed_at: String,
}

impl EntryBody<'_> {
    /// As one line of JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_no_float_or_map_key| String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_whatever_stands_in_it() {
        let body = EntryBody {
            entry_id: "e".to_owned(),
            at: "t".to_owned(),
            merchant_id: None,
            actor: "COMMAND_LINE",
            name: Some("ada\n<b>"),
            address: None,
            action: "KEY_ROTATE",
            subject: "KEY",
            subject_id: "master",
            before: None,
            after: Some(Json("{\"a\":1}")),
            note: Some("first\nsecond"),
            seal: None,
        };
        let line = body.line();
        assert!(
            !line.contains('\n') && line.contains(r#""After":{"a":1}"#) && line.contains(r#""Before":null"#),
            "{line}"
        );
        let altered = EntryBody { after: Some(Json("{\"a\":")), ..body }.line();
        assert!(altered.contains(r#""After":"{\"a\":""#), "{altered}");
    }
}
