use std::fmt;

use dropin_kernel::{Violation, ViolationCode, coded_enum};
use url::{Host, Url};

/// Longest URL in characters (docs/SPECIFICATION.md#urls).
const MAX_CHARS: usize = 2_048;

coded_enum! {
    /// Which URLs a deployment lets a merchant name.
    ///
    /// ```
    /// use dropin_validation::{UrlPolicy, WebUrl};
    ///
    /// let [strict, loose] = UrlPolicy::ALL.map(|policy| WebUrl::parse("CompleteUrl", "http://shop.example/", policy));
    /// assert!(strict.is_err() && loose.is_ok());
    /// ```
    pub enum UrlPolicy: "policy for URLs" {
        /// https, and http to loopback hosts.
        Production = "PRODUCTION",
        /// http to any host as well.
        Sandbox = "SANDBOX",
    }
}

/// An absolute http or https URL without userinfo, at most 2,048 characters (docs/SPECIFICATION.md#urls), kept as it was written.
///
/// ```
/// use dropin_validation::{UrlPolicy, WebUrl};
///
/// let url = WebUrl::parse("CompleteUrl", "https://Shop.example/paid?id={SessionId}", UrlPolicy::Production).unwrap();
/// assert_eq!(url.origin(), "https://shop.example");
/// assert_eq!(url.with_session_id("6f1c-1"), "https://shop.example/paid?id=6f1c-1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebUrl(String);

impl WebUrl {
    /// Checks `raw` and keeps it as it is, so that an answer gives back what a request gave.
    ///
    /// The authority has to be written out with its two slashes and nothing may be a backslash (RFC 3986 section 3): browsers forgive both, and
    /// then do not agree with others on which host is meant.
    ///
    /// ```
    /// # use dropin_validation::{UrlPolicy, WebUrl};
    /// assert!(WebUrl::parse("CompleteUrl", "https://ana:secret@shop.example/", UrlPolicy::Sandbox).is_err());
    /// ```
    ///
    /// # Errors
    /// A violation at `field`.
    pub fn parse(field: impl fmt::Display, raw: &str, policy: UrlPolicy) -> Result<Self, Violation> {
        match check(raw, policy) {
            Ok(()) => Ok(Self(raw.to_owned())),
            Err((code, why)) => Err(Violation::new(field.to_string(), code, why)),
        }
    }

    /// Reads a stored URL back; `None` when it is not one as [`WebUrl::parse`] makes them: the row is corrupt. It may have been stored by a
    /// sandbox.
    ///
    /// ```
    /// # use dropin_validation::WebUrl;
    /// assert!(WebUrl::restore("http://shop.example/").is_some() && WebUrl::restore("shop.example").is_none());
    /// ```
    pub fn restore(stored: &str) -> Option<Self> {
        check(stored, UrlPolicy::Sandbox).is_ok().then(|| Self(stored.to_owned()))
    }

    /// The URL as it was written.
    ///
    /// ```
    /// # use dropin_validation::WebUrl;
    /// assert_eq!(WebUrl::restore("https://Shop.example").unwrap().as_str(), "https://Shop.example");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where to send a browser: `{SessionId}` replaced by `session` (docs/SPECIFICATION.md#session-id-in-urls), also where the braces were written as percent
    /// escapes, and everything in the normal form that a header can carry (WHATWG URL).
    ///
    /// ```
    /// # use dropin_validation::WebUrl;
    /// assert_eq!(WebUrl::restore("https://Shop.example/{SessionId}").unwrap().with_session_id("7"), "https://shop.example/7");
    /// ```
    pub fn with_session_id(&self, session: &str) -> String {
        let filled = self.0.replace("{SessionId}", session).replace("%7BSessionId%7D", session);
        Url::parse(&filled).map_or(filled, String::from)
    }

    /// Scheme, host and port, as browsers compare them (RFC 6454).
    ///
    /// ```
    /// # use dropin_validation::WebUrl;
    /// assert_eq!(WebUrl::restore("https://Shop.example:443/a?b").unwrap().origin(), "https://shop.example");
    /// ```
    pub fn origin(&self) -> String {
        Url::parse(&self.0).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

impl fmt::Display for WebUrl {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(feature = "serde")]
crate::stored::serialize_as_stored!(WebUrl, WebUrl::restore);

/// What is wrong with a URL, and why.
fn check(raw: &str, policy: UrlPolicy) -> Result<(), (ViolationCode, &'static str)> {
    let invalid = |why| Err((ViolationCode::Invalid, why));
    if raw.trim().is_empty() {
        return Err((ViolationCode::Missing, "must not be empty"));
    }
    if MAX_CHARS < raw.chars().count() {
        return Err((ViolationCode::TooLong, "must have at most 2,048 characters"));
    }
    if raw.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return invalid("must not contain spaces or control characters");
    }
    let absolute = "must be an absolute URL such as https://shop.example/paid";
    let Ok(url) = Url::parse(raw) else {
        return invalid(absolute);
    };
    let authority = raw.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"));
    if raw.contains('\\') || authority.is_none_or(|rest| rest.starts_with('/')) {
        return invalid(absolute);
    }
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
        return Err((ViolationCode::TooLong, "must have at most 2,048 characters when encoded"));
    }
    Ok(())
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
            "https:shop.example/paid",
            "https:///shop.example/paid",
            "https:\\\\shop.example/paid",
            "https://shop.example\\@evil.example/",
            " https://shop.example/",
            "https://",
        ] {
            assert!(!ok(refused), "{refused}");
        }
        assert!(WebUrl::parse("CompleteUrl", "http://shop.example/", UrlPolicy::Sandbox).is_ok());
        assert!(!ok(&format!("https://shop.example/{}", "a".repeat(2_048))));
    }

    #[test]
    fn stored_urls_are_read_back_and_nonsense_is_not() {
        assert_eq!(WebUrl::restore("HTTPS://shop.example/{SessionId}").map(|url| url.0.len()), Some(32));
        assert!(WebUrl::restore("http://shop.example/").is_some(), "it came into a sandbox");
        for nonsense in [
            "",
            "shop.example",
            "ftp://shop.example",
            "https://",
            "https://shop.example/ x",
            "https:/x",
            "https:///shop.example/",
            "https://user:secret@shop.example/",
            "https://shop.example\\@evil.example/",
            "https://a;script-src-elem/",
            "https://shop.example:99999/",
        ] {
            assert_eq!(WebUrl::restore(nonsense), None, "{nonsense}");
        }
        assert_eq!(WebUrl::restore(&format!("https://shop.example/{}", "é".repeat(1_000))), None, "too long to send");
    }

    /// URLs and things that resemble them.
    const ALMOST_URLS: &str = "(https?|HTTPS|ftp)?:?[/\\\\]{0,3}([a-z]{0,3}:?[a-z]?@)?\
        (localhost|127\\.0\\.0\\.1|\\[::1\\]|[a-zé;*'_%.-]{0,8})(:[0-9]{0,6})?([/?#][ a-z{}%é\\\\]{0,8})?";

    proptest::proptest! {
        #[test]
        fn a_url_that_came_in_is_read_back_and_no_other(raw in ALMOST_URLS) {
            let [strict, loose] = [UrlPolicy::Production, UrlPolicy::Sandbox]
                .map(|policy| WebUrl::parse("CompleteUrl", &raw, policy).ok());
            proptest::prop_assert!(strict.is_none() || strict == loose);
            proptest::prop_assert_eq!(WebUrl::restore(&raw), loose, "{:?}", raw);
        }
    }

    #[test]
    fn a_url_is_kept_as_it_was_written() {
        for raw in ["https://shop.example", "HTTPS://Shop.Example:443/a/../b?q={SessionId}", "https://shop.example/é"]
        {
            assert_eq!(WebUrl::parse("CompleteUrl", raw, UrlPolicy::Production).map(|url| url.0), Ok(raw.to_owned()));
        }
    }

    #[test]
    fn a_url_has_2048_characters_at_most_also_when_encoded() {
        let code = |path: String| {
            let raw = format!("https://shop.example/{path}");
            WebUrl::parse("CompleteUrl", &raw, UrlPolicy::Production).map_err(|violation| violation.code).map(drop)
        };
        let room = 2_048 - "https://shop.example/".len();
        assert_eq!(code("a".repeat(room)), Ok(()));
        assert_eq!(code("a".repeat(room + 1)), Err(ViolationCode::TooLong));
        assert_eq!(code("é".repeat(room)), Err(ViolationCode::TooLong));
    }

    #[test]
    fn session_id_in_braces_is_replaced_wherever_it_stands() {
        let filled =
            |raw: &str| WebUrl::parse("CancelUrl", raw, UrlPolicy::Production).unwrap().with_session_id("6f1c-1");
        assert_eq!(filled("https://shop.example/paid?id={SessionId}"), "https://shop.example/paid?id=6f1c-1");
        assert_eq!(filled("https://shop.example/{SessionId}/x#{SessionId}"), "https://shop.example/6f1c-1/x#6f1c-1");
        assert_eq!(filled("https://shop.example/%7BSessionId%7D"), "https://shop.example/6f1c-1");
        assert_eq!(filled("https://Shop.Example"), "https://shop.example/");
        assert_eq!(filled("https://shop.example/{sessionid}"), "https://shop.example/%7Bsessionid%7D");
    }

    #[test]
    fn origin_leaves_path_and_default_port_out() {
        let url = WebUrl::parse("CancelUrl", "https://Shop.Example:443/a?b#c", UrlPolicy::Production).unwrap();
        assert_eq!(url.origin(), "https://shop.example");
    }
}
