use serde_json::Value;

/// The answer to one call.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) replayed: bool,
    /// `Location`, empty without one.
    pub(crate) location: String,
    /// `Content-Security-Policy`, empty without one.
    pub(crate) policy: String,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Response {
    pub(crate) fn outcome(&self) -> &str {
        self.body["Outcome"].as_str().unwrap_or_else(|| panic!("no operation: {self:?}"))
    }

    pub(crate) fn reason(&self) -> &str {
        self.body["Reason"].as_str().unwrap_or_default()
    }

    pub(crate) fn code(&self) -> &str {
        self.body["Code"].as_str().unwrap_or_default()
    }

    /// The reference of what was stored.
    pub(crate) fn reference(&self) -> String {
        self.body["Credential"]["Reference"]
            .as_str()
            .unwrap_or_else(|| panic!("nothing is stored: {self:?}"))
            .to_owned()
    }

    /// What the card network calls this payment.
    pub(crate) fn transaction(&self) -> String {
        self.body["NetworkTransactionId"].as_str().unwrap_or_else(|| panic!("no id: {self:?}")).to_owned()
    }

    /// The address of the page of a pending authorization.
    pub(crate) fn page(&self) -> String {
        let page = self.body["Action"]["Redirect"].as_str().or(self.body["SandboxPage"].as_str());
        page.unwrap_or_else(|| panic!("no page: {self:?}")).to_owned()
    }

    /// What the page's forms carry.
    pub(crate) fn form(&self) -> String {
        let (_, rest) = self.text.split_once("name=\"form\" value=\"").unwrap_or_else(|| panic!("no form: {self:?}"));
        rest.split_once('"').expect("an end").0.to_owned()
    }
}
