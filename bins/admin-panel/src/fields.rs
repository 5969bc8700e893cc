//! What a browser sends: the query of a page or the fields of a form. A name that the route does not have is refused, so that no form can set what it
//! does not show.

use std::str::FromStr;

use url::form_urlencoded;

use crate::refusal::Refusal;
use crate::texts::texts;

/// Most fields of one form, those apart that may come several times.
const MAX_FIELDS: usize = 100;

/// Most fields of one form that may come several times: one for each merchant of a scope.
const MAX_REPEATED_FIELDS: usize = 10_000;

/// The fields of a request, each of a name that its route has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

/// Why fields are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldsRefused {
    /// The route has no such field.
    Unknown(String),
    /// A value holds the character that no database takes.
    Nul(String),
    /// There are too many.
    TooMany,
}

impl FieldsRefused {
    /// What a person is told.
    pub(crate) fn message(&self) -> String {
        let t = texts();
        match self {
            Self::Unknown(name) => t.field_unknown(name),
            Self::Nul(name) => t.field_with_nul(name),
            Self::TooMany => t.too_many_fields.to_owned(),
        }
    }
}

impl Fields {
    /// Reads `application/x-www-form-urlencoded`, as a query or a body. `known` are the names that may come; one that ends in `[]` may come several times,
    /// of any other one the last counts.
    pub(crate) fn parse(encoded: &[u8], known: &[&str]) -> Result<Self, FieldsRefused> {
        Self::of(form_urlencoded::parse(encoded).into_owned(), known)
    }

    /// The same of pairs that were read before.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (String, String)>, known: &[&str]) -> Result<Self, FieldsRefused> {
        let (mut fields, mut single, mut repeated) = (Vec::new(), 0, 0);
        for (name, value) in pairs {
            if !known.contains(&&*name) {
                return Err(FieldsRefused::Unknown(name.chars().take(40).collect()));
            }
            let (count, most) = match name.ends_with("[]") {
                true => (&mut repeated, MAX_REPEATED_FIELDS),
                false => (&mut single, MAX_FIELDS),
            };
            if *count == most {
                return Err(FieldsRefused::TooMany);
            }
            *count += 1;
            if value.contains('\0') {
                return Err(FieldsRefused::Nul(name));
            }
            // Browsers write line breaks of a text area as CR LF.
            fields.push((name, value.replace("\r\n", "\n")));
        }
        Ok(Self(fields))
    }

    /// The field as it was typed, without spaces around; empty when it did not come.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().rev().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// The same; `None` when it is empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|value| !value.is_empty())
    }

    /// The identifier in a field.
    pub(crate) fn id<T: FromStr>(&self, name: &str, what: &'static str) -> Result<T, Refusal> {
        self.text(name).parse().map_err(|_no_id| Refusal::NotFound(what))
    }

    /// Whether a box was ticked.
    pub(crate) fn is_ticked(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// Every value of a name that may come several times.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All of them, as they came.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// Whether a list is narrowed down; where it goes on does not count.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.0.iter().any(|(name, value)| name != "after" && !value.trim().is_empty())
    }

    /// The address of a list's next page, with the same filters.
    pub(crate) fn next_page(&self, path: &str, after: &str) -> String {
        format!("{path}{}", self.query(&["after", "done"], &[("after", after)]))
    }

    /// A query with these fields but `without`, and with `extra`; empty fields are left out. Begins with `?` unless nothing is left.
    pub(crate) fn query(&self, without: &[&str], extra: &[(&str, &str)]) -> String {
        let kept = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let kept = kept.filter(|(name, value)| !without.contains(name) && !value.trim().is_empty());
        query(kept.chain(extra.iter().copied()))
    }
}

/// A query of these pairs; begins with `?` unless there is none.
pub(crate) fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    encoded.extend_pairs(pairs);
    let encoded = encoded.finish();
    if encoded.is_empty() { encoded } else { format!("?{encoded}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fields_of_a_route_are_read() {
        let fields = Fields::parse(b"a=1&b=+x+&tag[]=1&tag[]=2&a=2", &["a", "b", "tag[]"]).unwrap();
        assert_eq!((fields.text("a"), fields.text("b"), fields.given("c")), ("2", "x", None));
        assert_eq!(fields.all("tag[]").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.query(&["tag[]"], &[("after", "é&")]), "?a=1&b=+x+&a=2&after=%C3%A9%26");
        let unknown = Fields::parse(b"a=1&role=owner", &["a"]).unwrap_err();
        assert_eq!(unknown, FieldsRefused::Unknown("role".to_owned()));
        assert_eq!(Fields::parse(b"a=x%00y", &["a"]).unwrap_err(), FieldsRefused::Nul("a".to_owned()));
        let many = "a=1&".repeat(MAX_FIELDS + 1);
        assert_eq!(Fields::parse(many.as_bytes(), &["a"]).unwrap_err(), FieldsRefused::TooMany);
        let merchants = "a[]=1&".repeat(MAX_REPEATED_FIELDS);
        assert_eq!(Fields::parse(merchants.as_bytes(), &["a[]"]).unwrap().all("a[]").count(), MAX_REPEATED_FIELDS);
        let many = merchants + "a[]=1";
        assert_eq!(Fields::parse(many.as_bytes(), &["a[]"]).unwrap_err(), FieldsRefused::TooMany);
    }
}
