//! Files of the MaxMind DB format, written here byte by byte (its specification, version 2.0).
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use dropin_ip_countries::{IpCountryFile, IpCountryFileError};
use dropin_ports::IpCountries;

const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

fn text(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 29).unwrap();
    [&[2 << 5 | length], text.as_bytes()].concat()
}

fn map(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![7 << 5 | u8::try_from(members.len()).unwrap()];
    members.iter().for_each(|(name, value)| bytes.extend([text(name), value.clone()].concat()));
    bytes
}

/// An unsigned number of the type `kind`: 5 has two bytes, 6 four.
fn number(kind: u8, value: u32) -> Vec<u8> {
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
fn database(ip_version: u16, networks: &[(&str, u32, Vec<u8>)]) -> Vec<u8> {
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

fn of_country(code: &str) -> Vec<u8> {
    map(&[("continent", map(&[("code", text("EU"))])), ("country", map(&[("iso_code", text(code))]))])
}

fn countries() -> Vec<u8> {
    database(
        6,
        &[
            ("192.0.2.0", 24, of_country("AT")),
            ("198.51.100.0", 25, of_country("DE")),
            ("198.51.100.128", 25, of_country("ZZ")),
            ("203.0.113.0", 24, map(&[("registered_country", map(&[("iso_code", text("US"))]))])),
            ("2001:db8::", 32, of_country("CH")),
        ],
    )
}

fn written(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("countries.mmdb");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn code(countries: &IpCountryFile, address: &str) -> Option<String> {
    countries.country_of(address.parse().unwrap()).map(|country| country.to_string())
}

#[test]
fn an_address_has_the_country_of_its_network_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = IpCountryFile::open(written(folder.path(), &countries())).unwrap();
    for (address, expected) in [
        ("192.0.2.0", Some("AT")),
        ("192.0.2.255", Some("AT")),
        ("::ffff:192.0.2.7", Some("AT")),
        ("198.51.100.127", Some("DE")),
        ("2001:db8:1::1", Some("CH")),
        // A code of no country, a country that is only registered, and networks that are not there.
        ("198.51.100.128", None),
        ("203.0.113.7", None),
        ("192.0.3.0", None),
        ("2001:db9::", None),
        ("127.0.0.1", None),
    ] {
        assert_eq!(code(&file, address).as_deref(), expected, "{address}");
    }
    let older =
        IpCountryFile::open(written(folder.path(), &database(4, &[("192.0.2.0", 24, of_country("AT"))]))).unwrap();
    assert_eq!((code(&older, "192.0.2.7").as_deref(), code(&older, "2001:db8::1")), (Some("AT"), None));
}

#[test]
fn what_is_no_such_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &countries());
    let whole = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        let error = IpCountryFile::open(written(folder.path(), bytes)).unwrap_err();
        assert!(matches!(error, IpCountryFileError::Format { .. }), "{error}");
        let told = error.to_string();
        assert!(told.contains("countries.mmdb") && told.contains("download it again"), "{told}");
    };
    for end in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        refused(&whole[..end]);
    }
    refused(b"<html>not found</html>");
    refused(&[0; 4096]);
    // Its metadata are there, and the networks lead nowhere.
    let mut damaged = whole.clone();
    damaged[..6].fill(0xff);
    refused(&damaged);
    std::fs::remove_file(&path).unwrap();
    let missing = IpCountryFile::open(&path).unwrap_err();
    assert!(matches!(missing, IpCountryFileError::Read { .. }), "{missing}");
    let networks = database(4, &[("192.0.2.0", 24, map(&[("autonomous_system_number", number(6, 64_496))]))]);
    let other = IpCountryFile::open(written(folder.path(), &networks)).unwrap_err().to_string();
    assert!(other.contains("names no country") && other.contains("Test-Country"), "{other}");
}

#[test]
fn a_file_that_changes_is_taken_over_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = IpCountryFile::open(written(folder.path(), &countries())).unwrap();
    let moved = database(4, &[("192.0.2.0", 24, of_country("PT"))]);
    written(folder.path(), &moved[..moved.len() / 2]);
    assert!(file.reload().is_err());
    assert_eq!(code(&file, "192.0.2.7").as_deref(), Some("AT"), "what was read before stays in use");
    written(folder.path(), &moved);
    file.reload().unwrap();
    assert_eq!(code(&file, "192.0.2.7").as_deref(), Some("PT"));
    assert_eq!(code(&file, "198.51.100.7"), None);
}
