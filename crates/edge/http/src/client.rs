use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Headers that a proxy adds to the requests that it forwards.
const FORWARDING: [HeaderName; 4] = [
    X_FORWARDED_FOR,
    HeaderName::from_static("forwarded"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("via"),
];

/// Who a client is for limits: one IPv4 address, or one IPv6 network of 64 bits, since a single machine has all addresses of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    V4(Ipv4Addr),
    /// The first 64 bits.
    V6(u64),
}

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

/// The address that a request comes from: the peer's, or behind a proxy that of the last entry of `X-Forwarded-For`, which is the one that our
/// own proxy wrote. The peer's again when that entry is no address, 0.0.0.0 when there is none.
pub(crate) fn address(peer: Option<SocketAddr>, headers: &HeaderMap, behind_proxy: bool) -> IpAddr {
    let forwarded = if behind_proxy { forwarded(headers) } else { None };
    let address = forwarded.or(peer.map(|peer| peer.ip())).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    address.to_canonical()
}

/// Where a request comes from, for the audit log: the client's address as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(
    /// `None` when nothing tells it.
    pub Option<IpAddr>,
);

impl ClientAddress {
    pub(crate) fn new(address: IpAddr) -> Self {
        Self(Some(address).filter(|address| !address.is_unspecified()))
    }
}

impl FromRequest for ClientAddress {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(request.extensions().get().copied().unwrap_or(Self(None))))
    }
}

impl Client {
    /// Another one for each: the network of an IPv6 client, or the IPv4 address as IPv6 writes it.
    pub(crate) fn key(self) -> u128 {
        match self {
            Self::V4(address) => address.to_ipv6_mapped().to_bits(),
            Self::V6(network) => u128::from(network) << 64,
        }
    }
}

/// Whether a request comes from this machine and was not forwarded.
pub(crate) fn is_local(peer: Option<SocketAddr>, headers: &HeaderMap) -> bool {
    peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback())
        && FORWARDING.iter().all(|header| !headers.contains_key(header))
}

fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let line = headers.get_all(X_FORWARDED_FOR).last()?.to_str().ok()?;
    let entry = line.rsplit(',').next()?.trim();
    let with_port = || entry.parse::<SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    entry.parse().ok().or_else(with_port).or_else(in_brackets)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn client(lines: &[&str], behind_proxy: bool) -> Client {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_str(line).unwrap());
        }
        address(Some("192.0.2.1:5000".parse().unwrap()), &headers, behind_proxy).into()
    }

    fn v4(text: &str) -> Client {
        Client::V4(text.parse().unwrap())
    }

    #[test]
    fn behind_a_proxy_its_last_entry_counts() {
        assert_eq!(client(&["198.51.100.7, 203.0.113.9"], true), v4("203.0.113.9"));
        assert_eq!(client(&["198.51.100.7", "198.51.100.8 ,203.0.113.9:4711"], true), v4("203.0.113.9"));
        assert_eq!(client(&["::ffff:203.0.113.9"], true), v4("203.0.113.9"));
        for garbage in ["", "unknown", "203.0.113.9,", "203.0.113.9, _x", "[::1", "1.2.3"] {
            assert_eq!(client(&[garbage], true), v4("192.0.2.1"), "{garbage}");
        }
        assert_eq!(client(&["203.0.113.9"], false), v4("192.0.2.1"), "without a proxy anybody could write it");
    }

    #[test]
    fn an_ipv6_client_is_its_network() {
        let net = |entry| client(&[entry], true);
        assert_eq!(net("2001:db8:1:2:3:4:5:6"), net("[2001:db8:1:2::1]:443"));
        assert_eq!(net("[2001:db8:1:2::9]"), net("2001:db8:1:2::"));
        assert_ne!(net("2001:db8:1:2::1"), net("2001:db8:1:3::1"));
    }

    #[test]
    fn a_forwarded_request_is_not_local() {
        let here = Some("127.0.0.1:1".parse().unwrap());
        let mut headers = HeaderMap::new();
        assert!(is_local(here, &headers) && is_local(Some("[::ffff:127.0.0.1]:1".parse().unwrap()), &headers));
        assert!(!is_local(Some("192.0.2.1:1".parse().unwrap()), &headers) && !is_local(None, &headers));
        headers.insert(HeaderName::from_static("via"), HeaderValue::from_static("1.1 proxy"));
        assert!(!is_local(here, &headers));
    }
}
