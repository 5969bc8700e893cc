use std::fmt;
use std::net::IpAddr;

/// Longest name of a time zone that is kept; those of the tz database have at most 32 bytes.
const MAX_TIME_ZONE: usize = 64;
/// Longest language tag that is kept (RFC 5646, 4.4.1).
const MAX_LANGUAGE: usize = 35;

/// What is known of the client that posted to the stash, for screening (docs/SPECIFICATION.md#stash-client). Debug shows nothing of it.
///
/// ```
/// use dropin_card::ClientFacts;
///
/// let facts = ClientFacts::new("192.0.2.7".parse().ok(), Some("Europe/Vienna"), Some("de-AT"));
/// assert_eq!((facts.time_zone(), facts.language()), (Some("Europe/Vienna"), Some("de-AT")));
/// assert_eq!(format!("{facts:?}"), "ClientFacts(..)");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientFacts {
    address: Option<IpAddr>,
    time_zone: Option<String>,
    language: Option<String>,
}

impl ClientFacts {
    /// Keeps what a browser may have said; a time zone or a language that is too long, or in other characters than such names have, is dropped.
    ///
    /// ```
    /// # use dropin_card::ClientFacts;
    /// assert_eq!(ClientFacts::new(None, Some("<script>"), Some("")), ClientFacts::default());
    /// ```
    pub fn new(address: Option<IpAddr>, time_zone: Option<&str>, language: Option<&str>) -> Self {
        Self { address, time_zone: plain(time_zone, MAX_TIME_ZONE), language: plain(language, MAX_LANGUAGE) }
    }

    /// The address that it was posted from.
    ///
    /// ```
    /// # use dropin_card::ClientFacts;
    /// assert_eq!(ClientFacts::default().address(), None);
    /// ```
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// The browser's time zone, as in the tz database.
    ///
    /// ```
    /// # use dropin_card::ClientFacts;
    /// assert_eq!(ClientFacts::new(None, Some("Asia/Ho_Chi_Minh"), None).time_zone(), Some("Asia/Ho_Chi_Minh"));
    /// ```
    pub fn time_zone(&self) -> Option<&str> {
        self.time_zone.as_deref()
    }

    /// The browser's first language, as in BCP 47.
    ///
    /// ```
    /// # use dropin_card::ClientFacts;
    /// assert_eq!(ClientFacts::new(None, None, Some("pt-BR")).language(), Some("pt-BR"));
    /// ```
    pub fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }
}

impl fmt::Debug for ClientFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientFacts(..)")
    }
}

fn plain(text: Option<&str>, longest: usize) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte);
    text.filter(|text| (1..=longest).contains(&text.len()) && text.bytes().all(is_plain)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_browser_says_is_dropped() {
        let kept = |zone: &str, language: &str| {
            let facts = ClientFacts::new(None, Some(zone), Some(language));
            (facts.time_zone.is_some(), facts.language.is_some())
        };
        assert_eq!(kept("Etc/GMT+5", "zh-Hant-TW"), (true, true));
        assert_eq!(kept(&"z".repeat(64), &"l".repeat(35)), (true, true));
        assert_eq!(kept(&"z".repeat(65), &"l".repeat(36)), (false, false));
        for odd in ["", " ", "Europe/Wien ", "é", "\u{202e}", "de;q=1", "a\nb", "a\0"] {
            assert_eq!(kept(odd, odd), (false, false), "{odd:?}");
        }
    }
}
