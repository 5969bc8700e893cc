use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use crate::address::{self, Network};

/// Ports of https that receivers use.
const USUAL_PORTS: [u16; 2] = [443, 8443];

/// Domains that the public name system never has (RFC 6761, RFC 6762, RFC 8375), or that only private networks use.
const LOCAL_SUFFIXES: [&str; 6] = [".localhost", ".local", ".internal", ".home.arpa", ".localdomain", ".lan"];

/// Where notifications may go (docs/SPECIFICATION.md#event-targets): the same rules when an endpoint is registered and whenever it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct TargetPolicy {
    sandbox: bool,
    ports: Vec<u16>,
    allowed: Vec<Network>,
    denied: Vec<Network>,
}

impl TargetPolicy {
    /// http too, on any port, and addresses of the machine and of private networks; never link-local ones, where clouds serve their metadata.
    pub fn sandbox() -> Self {
        Self { sandbox: true, ports: Vec::new(), allowed: Vec::new(), denied: Vec::new() }
    }

    /// https only, on ports 443 and 8443, and public addresses only.
    pub fn production() -> Self {
        Self { sandbox: false, ports: USUAL_PORTS.to_vec(), allowed: Vec::new(), denied: Vec::new() }
    }

    /// With these ports instead, in production.
    #[must_use]
    pub fn with_ports(mut self, ports: Vec<u16>) -> Self {
        self.ports = ports;
        self
    }

    /// With these private networks too, in production, and with host names that only private networks know. Link-local and metadata addresses stay
    /// forbidden, and so do addresses of the machine itself.
    #[must_use]
    pub fn with(mut self, allowed: Vec<Network>) -> Self {
        self.allowed = allowed;
        self
    }

    /// Without these addresses, which the operator rules out: those of the deployment itself, say.
    #[must_use]
    pub fn without(mut self, denied: Vec<Network>) -> Self {
        self.denied = denied;
        self
    }

    /// Whether this is the policy of a sandbox.
    pub const fn is_sandbox(&self) -> bool {
        self.sandbox
    }

    /// Reads a webhook address in its one canonical spelling and checks all that can be checked without asking for its name. The addresses
    /// behind a name are checked with [`TargetPolicy::admit`] when they are called.
    ///
    /// # Errors
    /// [`TargetRefused`].
    ///
    /// ```
    /// use dropin_access::TargetPolicy;
    ///
    /// let policy = TargetPolicy::production();
    /// assert!(policy.check("https://shop.example/webhook").is_ok());
    /// assert!(policy.check("http://shop.example/webhook").is_err(), "production wants https");
    /// ```
    pub fn check(&self, address: &str) -> Result<Url, TargetRefused> {
        let url = Url::parse(address).map_err(|_not_a_url| TargetRefused::NotAUrl)?;
        match url.scheme() {
            "https" => {}
            "http" if self.sandbox => {}
            "http" => return Err(TargetRefused::NotHttps),
            _ => return Err(TargetRefused::NotAUrl),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetRefused::Credentials);
        }
        match url.host() {
            Some(Host::Ipv4(literal)) => self.admit(literal.into())?,
            Some(Host::Ipv6(literal)) => self.admit(literal.into())?,
            Some(Host::Domain(name)) if !self.admits_name(name) => return Err(TargetRefused::LocalName),
            Some(Host::Domain(_)) => {}
            None => return Err(TargetRefused::NotAUrl),
        }
        let port = url.port_or_known_default().ok_or(TargetRefused::NotAUrl)?;
        match port {
            0 if self.sandbox => Err(TargetRefused::PortZero),
            0 => Err(TargetRefused::Port),
            _ if self.sandbox || self.ports.contains(&port) => Ok(url),
            _ => Err(TargetRefused::Port),
        }
    }

    /// Whether a connection may be opened to `address`.
    ///
    /// # Errors
    /// [`TargetRefused::NotPublic`], [`TargetRefused::Denied`].
    ///
    /// ```
    /// use dropin_access::TargetPolicy;
    ///
    /// assert!(TargetPolicy::production().admit("10.0.0.7".parse().unwrap()).is_err(), "a private address");
    /// ```
    pub fn admit(&self, address: IpAddr) -> Result<(), TargetRefused> {
        let callable = !address::is_never_a_receiver(address) && !address::is_loopback(address);
        let allowed = || callable && self.allowed.iter().any(|network| network.is_of(address));
        let reachable = match self.sandbox {
            true => !address::is_never_a_receiver(address),
            false => address::is_public(address) || allowed(),
        };
        if !reachable {
            return Err(TargetRefused::NotPublic);
        }
        match self.denied.iter().any(|network| network.holds(address)) {
            true => Err(TargetRefused::Denied),
            false => Ok(()),
        }
    }

    /// A name of a private network leads nowhere in production, unless such networks are allowed: its addresses are checked when it is called.
    fn admits_name(&self, name: &str) -> bool {
        self.sandbox || !is_local(name) || !self.allowed.is_empty() && !is_localhost(name)
    }

    /// The ports, as a sentence lists them.
    pub fn ports_in_words(&self) -> String {
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        ports.join(" or ")
    }
}

/// A name without a dot, or below a domain that only private networks have.
fn is_local(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    !name.contains('.') || LOCAL_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// A name of the machine itself (RFC 6761 section 6.3).
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost") || name == "localhost.localdomain"
}

/// Why an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetRefused {
    /// No URL with a host.
    NotAUrl,
    /// http in production.
    NotHttps,
    /// A user name or password in it.
    Credentials,
    /// A port that production does not call.
    Port,
    /// Port 0, where nobody can listen, in a sandbox, which calls every other one.
    PortZero,
    /// A name that only a private network knows.
    LocalName,
    /// The host is, or its name leads to, an address that is not public.
    NotPublic,
    /// The host is, or its name leads to, an address that the operator has ruled out.
    Denied,
    /// The name leads to this very machine by a public address of its own.
    Own,
}

impl TargetRefused {
    /// What is wrong, for the outcome of a try. Never the address itself, which may hold a secret.
    pub const fn why(self) -> &'static str {
        match self {
            Self::NotAUrl => "the webhook address is not an absolute http or https URL",
            Self::NotHttps => "the webhook address must begin with https://",
            Self::Credentials => "the webhook address must not contain a user name or password",
            Self::Port => "the webhook address has a port that this deployment does not call; see --webhook-ports",
            Self::PortZero => "the webhook address has port 0, where nothing can listen",
            Self::LocalName => "the webhook address has a host name that only a private network knows",
            Self::NotPublic => "the webhook address leads into a private, local or reserved network",
            Self::Denied => "the webhook address leads to an address that --webhook-deny rules out",
            Self::Own => "the webhook address leads back to this machine",
        }
    }

    /// What the address must be instead, for whoever registers it under `policy`.
    pub fn advice(self, policy: &TargetPolicy) -> String {
        let fixed = match self {
            Self::NotAUrl => "must be an absolute URL such as https://shop.example/webhook",
            Self::NotHttps => "must begin with https:// in production",
            Self::Credentials => "must not carry a user name or password",
            Self::Port => return format!("must use port {}", policy.ports_in_words()),
            Self::PortZero => "must use a port from 1 to 65535",
            Self::LocalName => "must have a host name that is known all over the Internet, such as shop.example",
            Self::NotPublic => "must not lead into a private, local or reserved network",
            Self::Denied | Self::Own => "must not lead to an address that the operator has ruled out",
        };
        fixed.to_owned()
    }
}

impl std::error::Error for TargetRefused {}

impl fmt::Display for TargetRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn production(address: &str) -> Result<String, TargetRefused> {
        TargetPolicy::production().check(address).map(String::from)
    }

    #[test]
    fn production_takes_https_to_names_and_public_literals() {
        for (good, called) in [
            ("https://shop.example/hook?a=b", "https://shop.example/hook?a=b"),
            ("https://8.8.8.8/", "https://8.8.8.8/"),
            ("https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443/"),
            ("https://B\u{fc}cher.example:443/", "https://xn--bcher-kva.example/"),
            ("https://SHOP\u{3002}example/", "https://shop.example/"),
        ] {
            assert_eq!(production(good).as_deref(), Ok(called), "{good}");
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
            "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
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
            assert_eq!(production(local), Err(TargetRefused::NotPublic), "{local}");
        }
    }

    #[test]
    fn the_rest_is_refused_for_what_it_is() {
        for (address, refusal) in [
            ("http://shop.example/", TargetRefused::NotHttps),
            ("https://user@shop.example/", TargetRefused::Credentials),
            ("https://:secret@shop.example/", TargetRefused::Credentials),
            ("ftp://shop.example/", TargetRefused::NotAUrl),
            ("/hook", TargetRefused::NotAUrl),
            ("https://", TargetRefused::NotAUrl),
            ("https://shop.example:22/", TargetRefused::Port),
            ("https://shop.example:80/", TargetRefused::Port),
            ("https://shop.example:0/", TargetRefused::Port),
            ("https://localhost/", TargetRefused::LocalName),
            ("https://localhost./", TargetRefused::LocalName),
            ("https://api.localhost/", TargetRefused::LocalName),
            ("https://postgres/", TargetRefused::LocalName),
            ("https://metadata.google.internal/", TargetRefused::LocalName),
            ("https://printer.LOCAL/", TargetRefused::LocalName),
        ] {
            assert_eq!(production(address), Err(refusal), "{address}");
        }
        assert_eq!(TargetRefused::Port.advice(&TargetPolicy::production()), "must use port 443 or 8443");
    }

    #[test]
    fn a_private_network_is_called_where_it_was_allowed_and_metadata_never() {
        let networks = ["10.0.0.0/8", "fd12:3456::/32", "0.0.0.0/0", "::/0"].map(|text| text.parse().unwrap());
        let usual = TargetPolicy::production().with(networks[..2].to_vec());
        for good in ["https://10.1.2.3/", "https://[fd12:3456::1]/", "https://[::ffff:10.1.2.3]/", "https://8.8.8.8/"] {
            assert!(usual.check(good).is_ok(), "{good}");
        }
        for good in ["https://hooks.shop.internal/", "https://hooks:8443/"] {
            assert!(usual.check(good).is_ok() && TargetPolicy::production().check(good).is_err(), "{good}");
        }
        for (bad, why) in [
            ("https://192.168.0.1/", TargetRefused::NotPublic),
            ("https://11.0.0.1:22/", TargetRefused::Port),
            ("http://10.1.2.3/", TargetRefused::NotHttps),
            // Addresses that carry an allowed one inside lead elsewhere.
            ("https://[2002:a01:203::1]/", TargetRefused::NotPublic),
            ("https://[64:ff9b::a01:203]/", TargetRefused::NotPublic),
            ("https://localhost/", TargetRefused::LocalName),
            ("https://a.localhost/", TargetRefused::LocalName),
        ] {
            assert_eq!(usual.check(bad).map(drop), Err(why), "{bad}");
        }
        let all = TargetPolicy::production().with(networks.to_vec());
        for never in [
            "169.254.169.254",
            "169.254.1.1",
            "168.63.129.16",
            "100.100.100.200",
            "fd00:ec2::254",
            "fe80::1",
            "127.0.0.1",
            "::1",
            "224.0.0.1",
            "255.255.255.255",
            "0.0.0.0",
            "::",
            "::ffff:169.254.169.254",
            "::ffff:127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
        ] {
            assert_eq!(all.admit(never.parse().unwrap()), Err(TargetRefused::NotPublic), "{never}");
        }
        let denied = usual.without(vec!["10.1.0.0/16".parse().unwrap()]);
        assert_eq!(denied.admit("10.1.2.3".parse().unwrap()), Err(TargetRefused::Denied));
    }

    #[test]
    fn a_sandbox_calls_its_own_machine_on_any_port_and_metadata_never() {
        let sandbox = TargetPolicy::sandbox();
        for good in [
            "http://127.0.0.1:8081/hook",
            "http://localhost:8081/hook",
            "https://[::1]:22/",
            "http://10.0.0.1/",
            "http://shop/",
        ] {
            assert!(sandbox.check(good).is_ok(), "{good}");
        }
        for (address, refusal) in [
            ("http://169.254.169.254/", TargetRefused::NotPublic),
            ("http://[64:ff9b::a9fe:a9fe]/", TargetRefused::NotPublic),
            ("http://:secret@localhost/", TargetRefused::Credentials),
            ("file:///etc/passwd", TargetRefused::NotAUrl),
            ("http://localhost:0/", TargetRefused::PortZero),
        ] {
            assert_eq!(sandbox.check(address), Err(refusal), "{address}");
        }
        let zero = TargetRefused::PortZero;
        assert_eq!(zero.advice(&sandbox), "must use a port from 1 to 65535");
        assert!(!zero.why().contains("--webhook-ports"), "which says nothing in a sandbox");
    }

    #[test]
    fn the_operator_chooses_ports_and_rules_addresses_out() {
        let network = |text: &str| text.parse::<Network>().expect("a range");
        let policy = TargetPolicy::production()
            .with_ports(vec![9443])
            .without(vec![network("8.8.8.0/24"), network("2606::/16")]);
        assert!(policy.check("https://shop.example:9443/").is_ok());
        assert_eq!(policy.check("https://shop.example/"), Err(TargetRefused::Port));
        for ruled_out in ["8.8.8.8", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]", "[2606:4700::1111]"] {
            assert_eq!(policy.check(&format!("https://{ruled_out}:9443/")), Err(TargetRefused::Denied), "{ruled_out}");
        }
        let sandbox = TargetPolicy::sandbox().without(vec![network("127.0.0.0/8")]);
        assert_eq!(sandbox.check("http://127.0.0.1/"), Err(TargetRefused::Denied));
    }
}
