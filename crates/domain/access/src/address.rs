//! Which addresses of the Internet are somebody's public server (IANA special-purpose address registries for IPv4 and IPv6, and the
//! addresses under which clouds serve their metadata).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Whether the address belongs to the machine itself.
///
/// ```
/// assert!(dropin_access::address::is_loopback("127.0.0.9".parse().unwrap()));
/// assert!(!dropin_access::address::is_loopback("192.0.2.1".parse().unwrap()));
/// ```
pub fn is_loopback(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback(),
        IpAddr::V6(v6) => v6.is_loopback(),
    }
}

/// Whether we may never call there, in a sandbox neither: link-local (and with it most metadata services), multicast, broadcast, the address
/// that stands for none, and whatever carries one of them inside.
///
/// ```
/// assert!(dropin_access::address::is_never_a_receiver("169.254.169.254".parse().unwrap()));
/// ```
pub fn is_never_a_receiver(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_never_v4(v4),
        IpAddr::V6(v6) => {
            v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.is_unspecified()
                || METADATA_V6.iter().any(|range| range.holds(address))
                || carried(v6).into_iter().flatten().any(is_never_v4)
        }
    }
}

fn is_never_v4(v4: Ipv4Addr) -> bool {
    v4.is_link_local() || v4.is_multicast() || v4.octets()[0] == 0 || METADATA.contains(&v4) || 240 <= v4.octets()[0]
}

/// Whether the address is publicly routed, and so is every IPv4 address that it carries inside.
///
/// ```
/// assert!(dropin_access::address::is_public("8.8.8.8".parse().unwrap()));
/// assert!(!dropin_access::address::is_public("10.1.2.3".parse().unwrap()), "a private network");
/// assert!(!dropin_access::address::is_public("::ffff:169.254.169.254".parse().unwrap()), "metadata of a cloud, carried in IPv6");
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Azure's, Alibaba's and Oracle's; the usual 169.254.169.254 is link-local.
const METADATA: [Ipv4Addr; 3] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
/// Amazon's, Google's, Oracle's and Scaleway's.
const METADATA_V6: [Network; 4] = [
    Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32),
    Network::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
    Network::v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128),
    Network::v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128),
];

/// A range of addresses (RFC 4632 section 3.1, RFC 4291 section 2.3), or a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    length: u8,
}

/// The text is no range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an address such as 203.0.113.7, or a range such as 203.0.113.0/24 or 2001:db8::/32")]
pub struct InvalidNetwork;

impl Network {
    const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Self {
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), length }
    }

    const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], length: u8) -> Self {
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), length }
    }

    /// Whether `address` lies within, itself or as an IPv4 address that it carries inside.
    ///
    /// ```
    /// let network: dropin_access::address::Network = "10.0.0.0/8".parse().unwrap();
    /// assert!(network.holds("10.200.0.1".parse().unwrap()) && !network.holds("11.0.0.1".parse().unwrap()));
    /// ```
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(v4)) => self.holds_v4(first, v4),
            (IpAddr::V4(first), IpAddr::V6(v6)) => carried(v6).into_iter().flatten().any(|v4| self.holds_v4(first, v4)),
            (IpAddr::V6(first), IpAddr::V6(v6)) => {
                (first.to_bits() ^ v6.to_bits()).checked_shr(128 - u32::from(self.length)).unwrap_or(0) == 0
            }
            (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// Whether `address` itself lies within. Other than [`Network::holds`] this does not look for IPv4 addresses that it carries inside, except where it is
    /// only another spelling of one (`::ffff:10.0.0.1`): for allowing, where that is for forbidding.
    pub fn is_of(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && self.holds(address)
    }

    /// Whether an address of the network is one that is never called ([`is_never_a_receiver`]), and all are when it is a single address or a block of them.
    pub fn is_never_a_receiver(&self) -> bool {
        is_never_a_receiver(self.first)
    }

    fn holds_v4(&self, first: Ipv4Addr, v4: Ipv4Addr) -> bool {
        (first.to_bits() ^ v4.to_bits()).checked_shr(32 - u32::from(self.length)).unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let (first, length) = text.split_once('/').map_or((text, None), |(first, length)| (first, Some(length)));
        let first: IpAddr = first.parse().map_err(|_not_an_address| InvalidNetwork)?;
        let whole = if first.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => whole,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_out_of_range| InvalidNetwork)?
            }
            Some(_) => return Err(InvalidNetwork),
        };
        if length <= whole { Ok(Self { first, length }) } else { Err(InvalidNetwork) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

/// What is not public.
const RESERVED_V4: [Network; 15] = [
    Network::v4([0, 0, 0, 0], 8),
    Network::v4([10, 0, 0, 0], 8),
    Network::v4([100, 64, 0, 0], 10),
    Network::v4([127, 0, 0, 0], 8),
    Network::v4([169, 254, 0, 0], 16),
    Network::v4([172, 16, 0, 0], 12),
    Network::v4([192, 0, 0, 0], 24),
    Network::v4([192, 0, 2, 0], 24),
    Network::v4([192, 88, 99, 0], 24),
    Network::v4([192, 168, 0, 0], 16),
    Network::v4([198, 18, 0, 0], 15),
    Network::v4([198, 51, 100, 0], 24),
    Network::v4([203, 0, 113, 0], 24),
    Network::v4([224, 0, 0, 0], 4),
    Network::v4([240, 0, 0, 0], 4),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !RESERVED_V4.iter().any(|range| range.holds(address.into())) && !METADATA.contains(&address)
}

/// What is routed all over the Internet (RFC 4291 section 2.4).
const GLOBAL_V6: Network = Network::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
/// Parts of it that are no public servers: protocol assignments with Teredo and ORCHID, documentation, 6to4.
const RESERVED_V6: [Network; 4] = [
    Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    Network::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    Network::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
    Network::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inside) = address.to_ipv4_mapped().or_else(|| behind_nat64(address)) {
        return is_public_v4(inside);
    }
    let within = |range: &Network| range.holds(address.into());
    within(&GLOBAL_V6) && !RESERVED_V6.iter().any(within) && inside_isatap(address).is_none_or(is_public_v4)
}

/// The IPv4 address behind the well-known NAT64 prefix (RFC 6052), which a network without IPv4 reaches everybody by.
fn behind_nat64(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x64, 0xff9b, 0, 0, 0, 0, ..] = address.segments() else {
        return None;
    };
    Some(last_four(address))
}

/// The IPv4 address inside an ISATAP interface identifier (RFC 5214 section 6.1).
fn inside_isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., 0 | 0x200, 0x5efe, _, _] = address.segments() else {
        return None;
    };
    Some(last_four(address))
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// Every IPv4 address that this one may stand for: mapped and compatible (RFC 4291 section 2.5.5), translated (RFC 2765), both prefixes of
/// NAT64 in all their layouts (RFC 6052 section 2.2, RFC 8215), 6to4 (RFC 3056), Teredo's server and client (RFC 4380 section 4), ISATAP.
pub fn carried(address: Ipv6Addr) -> [Option<Ipv4Addr>; 4] {
    let o = address.octets();
    let v4 = |a: usize, b: usize, c: usize, d: usize| Some(Ipv4Addr::new(o[a], o[b], o[c], o[d]));
    let end = Some(last_four(address));
    match address.segments() {
        // The unspecified address and loopback have the form of compatible ones.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None; 4],
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            [end, None, None, None]
        }
        [0x64, 0xff9b, 1, ..] => [end, v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12)],
        [0x2002, ..] => [v4(2, 3, 4, 5), inside_isatap(address), None, None],
        [0x2001, 0, ..] => [v4(4, 5, 6, 7), end.map(|client| Ipv4Addr::from_bits(!client.to_bits())), None, None],
        _ => [inside_isatap(address), None, None, None],
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Network);

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn public_servers_are_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2a00:1450:4001::1",
            "64:ff9b::8.8.8.8",
            "::ffff:8.8.8.8",
            "2a00::5efe:808:808",
        ] {
            assert!(is_public(parse(public)), "{public}");
            assert!(!is_never_a_receiver(parse(public)) && !is_loopback(parse(public)), "{public}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for hidden in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:8.8.8.8",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::",
            "2a00::5efe:7f00:1",
            "2a00::200:5efe:a00:1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(parse(hidden)), "{hidden}");
        }
    }

    #[test]
    fn a_sandbox_does_not_reach_metadata_either() {
        for never in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "168.63.129.16",
            "100.100.100.200",
            "fd00:ec2::254",
            "fe80::1",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "255.255.255.255",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:a9:fe:a9fe::",
            "64:ff9b:1:0:a9:fea9:fe00:0",
            "2002:a9fe:a9fe::1",
            "2001:0:a9fe:a9fe::1",
            "2001:0:808:808::5601:5601",
            "2a00::5efe:169.254.169.254",
            "2a00::200:5efe:169.254.169.254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
        ] {
            assert!(is_never_a_receiver(parse(never)), "{never}");
        }
        for reachable in ["127.0.0.1", "::1", "192.168.1.1", "10.0.0.1", "fc00::1"] {
            assert!(!is_never_a_receiver(parse(reachable)), "{reachable}");
        }
        assert!(is_loopback(parse("::ffff:127.0.0.1")) && is_loopback(parse("::1")) && !is_loopback(parse("10.0.0.1")));
    }
    #[test]
    fn a_network_holds_its_addresses_in_every_form() {
        let holds = |network: &str, address: &str| network.parse::<Network>().expect(network).holds(parse(address));
        for (network, inside, outside) in [
            ("198.51.100.0/24", "198.51.100.255", "198.51.101.0"),
            ("198.51.100.7", "198.51.100.7", "198.51.100.8"),
            ("198.51.100.7/24", "198.51.100.1", "198.51.99.7"),
            ("198.51.100.0/24", "::ffff:198.51.100.9", "::ffff:198.51.101.9"),
            ("198.51.100.0/24", "64:ff9b::198.51.100.9", "64:ff9b::8.8.8.8"),
            ("198.51.100.0/24", "2002:c633:6401::1", "2002:c633:6501::1"),
            ("2a00:1::/32", "2a00:1:ffff::1", "2a00:2::1"),
            ("2a00:1::1", "2a00:1::1", "2a00:1::2"),
        ] {
            assert!(holds(network, inside), "{inside} is in {network}");
            assert!(!holds(network, outside), "{outside} is not in {network}");
        }
        assert!(holds("0.0.0.0/0", "8.8.8.8") && holds("::/0", "2a00::1") && !holds("::/0", "8.8.8.8"));
        for wrong in
            ["", "shop.example", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "/8", "1.1.1.1/8/8"]
        {
            assert_eq!(wrong.parse::<Network>(), Err(InvalidNetwork), "{wrong}");
        }
        assert_eq!("10.0.0.0/8".parse::<Network>().expect("a range").to_string(), "10.0.0.0/8");
    }
}
