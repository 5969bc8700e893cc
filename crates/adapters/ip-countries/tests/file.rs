//! Which country an address has, and what is no file of countries.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod mmdb;

use std::path::{Path, PathBuf};

use dropin_ip_countries::{IpCountryFile, IpCountryFileError};
use dropin_ports::IpCountries;
use mmdb::{database, map, number, of_country, text};

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
