//! Answers, and what is asserted of them.

use actix_web::http::header::HeaderMap;
use serde_json::Value;

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn is_error(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["Code"].as_str()), (status, Some(code)), "{self:?}");
    }

    /// 400 INVALID_REQUEST with exactly these fields, as `Field CODE`.
    #[track_caller]
    pub(crate) fn is_refused_for(&self, fields: &[&str]) {
        self.is_error(400, "INVALID_REQUEST");
        let error = self.json();
        let found: Vec<_> = (error["FieldErrors"].as_array().unwrap().iter())
            .map(|one| format!("{} {}", one["Field"].as_str().unwrap(), one["Code"].as_str().unwrap()))
            .collect();
        assert_eq!(found, fields, "{self:?}");
    }

    /// Authorized, Captured and Completed.
    #[track_caller]
    pub(crate) fn flags(&self) -> (bool, bool, bool) {
        assert_eq!(self.status, 200, "{self:?}");
        let body = self.json();
        let flag = |name: &str| body[name].as_bool().unwrap();
        (flag("Authorized"), flag("Captured"), flag("Completed"))
    }

    pub(crate) fn order(&self) -> String {
        self.json()["OrderId"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}
