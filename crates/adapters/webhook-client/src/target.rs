use std::net::IpAddr;

use dropin_access::address;
use url::{Host, Url};

/// Where notifications may go (decisions.md section 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetPolicy {
    /// http too, and addresses of the machine and of private networks; never link-local ones, where clouds serve their metadata.
    Sandbox,
    /// https only, and public addresses only.
    Production,
}

/// Why an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetRefused {
    /// No URL with a host.
    #[error("the webhook address is not an absolute http or https URL")]
    NotAUrl,
    /// http in production.
    #[error("the webhook address must begin with https://")]
    NotHttps,
    /// A user name or password in it.
    #[error("the webhook address must not contain a user name or password")]
    Credentials,
    /// The host is, or its name leads to, an address that is not public.
    #[error("the webhook address leads into a private, local or reserved network")]
    NotPublic,
}

impl TargetRefused {
    /// The same text, for the outcome of a try.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::NotAUrl => "the webhook address is not an absolute http or https URL",
            Self::NotHttps => "the webhook address must begin with https://",
            Self::Credentials => "the webhook address must not contain a user name or password",
            Self::NotPublic => "the webhook address leads into a private, local or reserved network",
        }
    }
}

impl TargetPolicy {
    /// Reads a webhook address in its one canonical spelling and checks all that can be checked without asking for its name. The addresses
    /// behind a name are checked when they are called.
    ///
    /// # Errors
    /// [`TargetRefused`].
    pub fn check(self, address: &str) -> Result<Url, TargetRefused> {
        let url = Url::parse(address).map_err(|_not_a_url| TargetRefused::NotAUrl)?;
        match (self, url.scheme()) {
            (_, "https") | (Self::Sandbox, "http") => {}
            (Self::Production, "http") => return Err(TargetRefused::NotHttps),
            _ => return Err(TargetRefused::NotAUrl),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetRefused::Credentials);
        }
        match url.host() {
            Some(Host::Ipv4(literal)) => self.admit(literal.into())?,
            Some(Host::Ipv6(literal)) => self.admit(literal.into())?,
            Some(Host::Domain(_)) => {}
            None => return Err(TargetRefused::NotAUrl),
        }
        Ok(url)
    }

    /// Whether a connection may be opened to `address`.
    pub(crate) fn admit(self, address: IpAddr) -> Result<(), TargetRefused> {
        let admitted = match self {
            Self::Production => address::is_public(address),
            Self::Sandbox => address::is_loopback(address) || !address::is_never_a_receiver(address),
        };
        if admitted { Ok(()) } else { Err(TargetRefused::NotPublic) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_takes_https_to_names_and_public_literals() {
        for good in [
            "https://shop.example/hook?a=b",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]:8443/",
            "https://Bücher.example/",
        ] {
            assert!(TargetPolicy::Production.check(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn every_spelling_of_a_local_address_is_the_same_address() {
        for local in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://0x7f.1/",
            "https://127.0.0.1./",
            "https://１２７.0.0.1/",
            "https://[::1]/",
            "https://[::127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[0:0:0:0:0:ffff:127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://169.254.169.254/latest/meta-data/",
            "https://2852039166/",
            "https://0xA9FEA9FE/",
            "https://0251.0376.0251.0376/",
            "https://[fd00:ec2::254]/",
            "https://0/",
        ] {
            assert_eq!(TargetPolicy::Production.check(local), Err(TargetRefused::NotPublic), "{local}");
        }
    }

    #[test]
    fn the_rest_is_refused_for_what_it_is() {
        use TargetPolicy::{Production, Sandbox};
        for (policy, address, refusal) in [
            (Production, "http://shop.example/", TargetRefused::NotHttps),
            (Production, "https://user@shop.example/", TargetRefused::Credentials),
            (Sandbox, "http://:secret@localhost/", TargetRefused::Credentials),
            (Sandbox, "ftp://shop.example/", TargetRefused::NotAUrl),
            (Sandbox, "file:///etc/passwd", TargetRefused::NotAUrl),
            (Sandbox, "/hook", TargetRefused::NotAUrl),
            (Sandbox, "https://", TargetRefused::NotAUrl),
            (Sandbox, "http://169.254.169.254/", TargetRefused::NotPublic),
        ] {
            assert_eq!(policy.check(address), Err(refusal), "{address}");
            assert_eq!(refusal.to_string(), refusal.why());
        }
        assert!(Sandbox.check("http://127.0.0.1:8081/hook").is_ok());
        assert!(Sandbox.check("http://localhost:8081/hook").is_ok());
    }
}
