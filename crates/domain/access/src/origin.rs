use std::fmt;
use std::str::FromStr;

use url::Url;

/// The text is no web origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an origin such as https://shop.example or http://localhost:8081, without path")]
pub struct InvalidOrigin;

/// Scheme, host and port of a web page, as browsers compare them (RFC 6454 section 6.2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin(String);

impl Origin {
    /// Reads an http or https origin; a trailing slash is allowed, a path is not.
    ///
    /// # Errors
    /// [`InvalidOrigin`].
    ///
    /// ```
    /// use dropin_access::Origin;
    ///
    /// assert_eq!(Origin::parse("https://Shop.example:443/").unwrap().as_str(), "https://shop.example");
    /// assert!(Origin::parse("https://shop.example/cart").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(InvalidOrigin);
        }
        let url = Url::parse(text).map_err(|_not_a_url| InvalidOrigin)?;
        // It will stand in headers that browsers obey: no wildcard, quote, comma or semicolon.
        let harmless = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b));
        if url.domain().is_some_and(|name| !harmless(name)) {
            return Err(InvalidOrigin);
        }
        let bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if !bare || !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidOrigin);
        }
        Ok(Self(url.origin().ascii_serialization()))
    }

    /// Whether pages of it reach the browser over TLS.
    ///
    /// ```
    /// use dropin_access::Origin;
    ///
    /// assert!(Origin::parse("https://shop.example").unwrap().is_secure());
    /// assert!(!Origin::parse("http://localhost:8081").unwrap().is_secure());
    /// ```
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// The serialized origin.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        Self::parse(text)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Origin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_http_origins() {
        assert_eq!(Origin::parse("http://localhost:8081/").map(|o| o.0), Ok("http://localhost:8081".to_owned()));
        for wrong in [
            "null",
            "*",
            "shop.example",
            "file:///tmp",
            "https://a@shop.example",
            "https://shop.example/?x",
            "https://shop.example/#",
            "https://*",
            "https://a;script-src-elem",
            "https://a,b",
            "https://a\nb",
        ] {
            assert_eq!(Origin::parse(wrong), Err(InvalidOrigin), "{wrong}");
        }
    }
}
