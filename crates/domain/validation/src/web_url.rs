use dropin_kernel::{Violation, ViolationCode};
use url::{Host, Url};

/// Longest URL in characters (decisions.md section 2).
const MAX_CHARS: usize = 2_048;

/// Which URLs a deployment lets a merchant name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlPolicy {
    /// https, and http to loopback hosts.
    Production,
    /// http to any host as well.
    Sandbox,
}

/// An absolute http or https URL without userinfo, at most 2,048 characters (decisions.md section 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebUrl(String);

impl WebUrl {
    /// Checks `raw` and keeps it in its normal form (WHATWG URL).
    ///
    /// # Errors
    /// A violation at `field`.
    pub fn parse(field: &str, raw: &str, policy: UrlPolicy) -> Result<Self, Violation> {
        let invalid = |why: &str| Err(Violation::new(field, ViolationCode::Invalid, why));
        if raw.trim().is_empty() {
            return Err(Violation::new(field, ViolationCode::Missing, "must not be empty"));
        }
        if MAX_CHARS < raw.chars().count() {
            return Err(Violation::new(field, ViolationCode::TooLong, "must have at most 2,048 characters"));
        }
        if raw.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return invalid("must not contain spaces or control characters");
        }
        let Ok(url) = Url::parse(raw) else {
            return invalid("must be an absolute URL such as https://shop.example/paid");
        };
        if !url.username().is_empty() || url.password().is_some() {
            return invalid("must not carry a user name or password");
        }
        if url.domain().is_some_and(|name| !name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))) {
            return invalid("must have a host name of letters, digits, dots, hyphens and underscores");
        }
        match url.scheme() {
            "https" => {}
            "http" if policy == UrlPolicy::Sandbox || is_loopback(&url) => {}
            "http" => return invalid("must use https; http is for loopback hosts and sandbox deployments"),
            _ => return invalid("must use http or https"),
        }
        if MAX_CHARS < url.as_str().chars().count() {
            return Err(Violation::new(
                field,
                ViolationCode::TooLong,
                "must have at most 2,048 characters when encoded",
            ));
        }
        Ok(Self(url.into()))
    }

    /// The URL in its normal form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Scheme, host and port, as browsers compare them (RFC 6454).
    pub fn origin(&self) -> String {
        Url::parse(&self.0).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_absolute_http_or_https() {
        let ok = |raw| WebUrl::parse("CompleteUrl", raw, UrlPolicy::Production).is_ok();
        assert!(ok("https://shop.example/paid?session={SessionId}"));
        assert!(ok("http://localhost:8081/paid") && ok("http://127.0.0.1/") && ok("http://[::1]:80/"));
        for refused in [
            "http://shop.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "//shop.example/",
            "/paid",
            "",
            "https://user:secret@shop.example/",
            "https://shop.example/\r\nX: y",
            "https:// shop.example/",
            "ftp://shop.example",
            "http://localhost.evil.example/",
            "https://*/",
            "https://a;script-src-elem/",
            "https://a,b/",
            "https://'none'/",
            "https://a.%3b.b/",
            "https://{SessionId}.shop.example/",
        ] {
            assert!(!ok(refused), "{refused}");
        }
        assert!(WebUrl::parse("CompleteUrl", "http://shop.example/", UrlPolicy::Sandbox).is_ok());
        assert!(!ok(&format!("https://shop.example/{}", "a".repeat(2_048))));
    }

    #[test]
    fn origin_leaves_path_and_default_port_out() {
        let url = WebUrl::parse("CancelUrl", "https://Shop.Example:443/a?b#c", UrlPolicy::Production).unwrap();
        assert_eq!(url.origin(), "https://shop.example");
    }
}
