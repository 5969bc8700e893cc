use std::fmt;
use std::path::PathBuf;

use url::{Host, Url};

/// Why a text names no source of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// It begins like an address and is none.
    #[error("the address of the rates is not a valid URL with a host")]
    NotAUrl,
    /// http to somebody else: whoever is on the way could write the rates.
    #[error("rates are fetched over https only (http for this machine only)")]
    NotHttps,
    /// A user name or password in it.
    #[error("the address of the rates must not contain a user name or password")]
    Credentials,
    /// Nothing.
    #[error("name the path or the https address of a file of rates")]
    Empty,
}

/// Where a file of rates is.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// On this machine; read again when it changes.
    Path(PathBuf),
    /// Behind an address; asked whether it changed.
    Address(Url),
}

impl Location {
    /// Reads `https://…` as an address, and anything else as a path. `http://` is taken for addresses of this machine.
    ///
    /// # Errors
    /// [`LocationError`].
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https") => {}
            _ if text.is_empty() => return Err(LocationError::Empty),
            _ => return Ok(Self::Path(PathBuf::from(text))),
        }
        let url = Url::parse(text).map_err(|_invalid| LocationError::NotAUrl)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(LocationError::Credentials);
        }
        let this_machine = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => return Err(LocationError::NotAUrl),
        };
        if url.scheme() == "https" || this_machine { Ok(Self::Address(url)) } else { Err(LocationError::NotHttps) }
    }
}

impl fmt::Debug for Location {
    /// An address shows its host only: the rest may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Address(url) => f.debug_tuple("Address").field(&url.host_str().unwrap_or_default()).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_https_and_the_rest_are_paths() {
        for path in ["/etc/dropin/rates.xml", "rates.csv", "file:rates", "C:\\rates.csv", "ftp://rates.example/x"] {
            assert_eq!(Location::parse(path), Ok(Location::Path(path.into())));
        }
        for good in
            ["https://rates.example/daily.xml?key=1", "http://127.0.0.1:8080/x", "http://[::1]/", "HTTP://localhost/"]
        {
            assert!(matches!(Location::parse(good), Ok(Location::Address(_))), "{good}");
        }
        for (bad, why) in [
            ("", LocationError::Empty),
            ("http://rates.example/daily.xml", LocationError::NotHttps),
            ("http://localhost.rates.example/", LocationError::NotHttps),
            ("https://me:secret@rates.example/", LocationError::Credentials),
            ("https://", LocationError::NotAUrl),
        ] {
            assert_eq!(Location::parse(bad), Err(why), "{bad}");
        }
    }

    #[test]
    fn an_address_keeps_its_key_to_itself() {
        let location = Location::parse("https://rates.example/daily.xml?key=secret").unwrap();
        assert_eq!(format!("{location:?}"), "Address(\"rates.example\")");
    }
}
