//! Files of the MaxMind DB format, written byte by byte (its specification, version 2.0).

use std::net::IpAddr;

const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

pub(crate) fn text(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 29).unwrap();
    [&[2 << 5 | length], text.as_bytes()].concat()
}

pub(crate) fn map(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![7 << 5 | u8::try_from(members.len()).unwrap()];
    members.iter().for_each(|(name, value)| bytes.extend([text(name), value.clone()].concat()));
    bytes
}

/// An unsigned number of the type `kind`: 5 has two bytes, 6 four.
pub(crate) fn number(kind: u8, value: u32) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let used = if kind == 5 { &bytes[2..] } else { &bytes[..] };
    [&[kind << 5 | u8::try_from(used.len()).unwrap()], used].concat()
}

/// A search tree: each node has two records, which name a node, data or nothing.
#[derive(Clone, Copy)]
enum Record {
    Nothing,
    Node(usize),
    Data(usize),
}

/// A database of networks, each an address, a length and a record.
pub(crate) fn database(ip_version: u16, networks: &[(&str, u32, Vec<u8>)]) -> Vec<u8> {
    let (mut nodes, mut data) = (vec![[Record::Nothing; 2]], Vec::<u8>::new());
    for (address, length, record) in networks {
        let (bits, width) = match address.parse().unwrap() {
            IpAddr::V4(address) if ip_version == 4 => (u128::from(address.to_bits()) << 96, 0),
            // The tree of IPv6 has the addresses of IPv4 below ::/96.
            IpAddr::V4(address) => (u128::from(address.to_bits()), 96),
            IpAddr::V6(address) => (address.to_bits(), 0),
        };
        let mut at = 0;
        for depth in 0..width + length {
            let bit = usize::from(bits << depth >> 127 == 1);
            if depth + 1 == width + length {
                nodes[at][bit] = Record::Data(data.len());
            } else if let Record::Node(next) = nodes[at][bit] {
                at = next;
            } else {
                nodes.push([Record::Nothing; 2]);
                let next = nodes.len() - 1;
                nodes[at][bit] = Record::Node(next);
                at = next;
            }
        }
        data.extend(record);
    }
    let count = nodes.len();
    let mut bytes = Vec::new();
    for record in nodes.iter().flatten() {
        let value = match record {
            Record::Nothing => count,
            Record::Node(node) => *node,
            Record::Data(offset) => count + 16 + offset,
        };
        bytes.extend(&u32::try_from(value).unwrap().to_be_bytes()[1..]);
    }
    bytes.extend([0; 16]);
    bytes.extend(data);
    bytes.extend(MARKER);
    bytes.extend(map(&[
        ("node_count", number(6, u32::try_from(count).unwrap())),
        ("record_size", number(5, 24)),
        ("ip_version", number(5, ip_version.into())),
        ("database_type", text("Test-Country")),
        // An array, which is an extended type.
        ("languages", [vec![1, 4], text("en")].concat()),
        ("binary_format_major_version", number(5, 2)),
        ("binary_format_minor_version", number(5, 0)),
        // A number of eight bytes, of which none is needed.
        ("build_epoch", vec![0, 2]),
        ("description", map(&[("en", text("of this test"))])),
    ]));
    bytes
}

pub(crate) fn of_country(code: &str) -> Vec<u8> {
    map(&[("continent", map(&[("code", text("EU"))])), ("country", map(&[("iso_code", text(code))]))])
}
