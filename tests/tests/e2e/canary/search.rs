//! Looking for numbers in every spelling that a log, a database or an archive may give them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::numbers::RANGE;

/// So many bytes of a spelling are looked up at once.
const HEAD: usize = 6;

struct Needle {
    /// What a failure says: never the number.
    name: String,
    bytes: Vec<u8>,
}

/// Every spelling of every number, by how it begins.
pub(super) struct Needles {
    /// Whether any begins with these two bytes.
    begins: Vec<bool>,
    by_head: HashMap<[u8; HEAD], Vec<Needle>>,
}

impl Needles {
    pub(super) fn of(numbers: &[String]) -> Self {
        let mut needles = Self { begins: vec![false; 1 << 16], by_head: HashMap::new() };
        for number in numbers {
            for (spelling, bytes) in spellings(number) {
                let head: [u8; HEAD] = bytes[..HEAD].try_into().unwrap();
                needles.begins[first_two(&bytes)] = true;
                let name = format!("the number ending in {} {spelling}", &number[number.len() - 4..]);
                needles.by_head.entry(head).or_default().push(Needle { name, bytes });
            }
        }
        needles
    }

    /// How many spellings there are in all.
    pub(super) fn len(&self) -> usize {
        self.by_head.values().map(Vec::len).sum()
    }

    /// What stands in these bytes, and where.
    pub(super) fn find(&self, place: &str, bytes: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for (at, window) in bytes.windows(HEAD).enumerate() {
            if !self.begins[first_two(window)] {
                continue;
            }
            for needle in self.by_head.get(window).into_iter().flatten() {
                if bytes[at..].starts_with(&needle.bytes) {
                    found.push(format!("{} stands in {place} at {at}", needle.name));
                }
            }
        }
        found
    }

    /// The same in every file below a folder; and how many bytes were looked at.
    pub(super) fn find_below(&self, folder: &Path) -> (Vec<String>, u64) {
        let (mut found, mut searched, mut folders) = (Vec::new(), 0, vec![folder.to_path_buf()]);
        while let Some(folder) = folders.pop() {
            for path in entries(&folder) {
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = std::fs::read(&path) {
                    // A file of the database may go while we look.
                    searched += bytes.len() as u64;
                    found.extend(self.find(&path.display().to_string(), &bytes));
                }
            }
        }
        assert!(0 < searched, "{} has something to search, and may be read", folder.display());
        (found, searched)
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn first_two(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

fn spellings(number: &str) -> Vec<(&'static str, Vec<u8>)> {
    let each = |spell: fn(u8) -> String| number.bytes().map(spell).collect::<String>().into_bytes();
    let hex = each(|digit| format!("{digit:02x}"));
    let mut all = vec![
        ("as it is", number.as_bytes().to_vec()),
        ("with spaces", grouped(number, " ")),
        ("with dashes", grouped(number, "-")),
        ("with plus signs", grouped(number, "+")),
        ("with encoded spaces", grouped(number, "%20")),
        ("in hexadecimal", hex),
        ("percent-encoded", each(|digit| format!("%{digit:02X}"))),
        ("percent-encoded twice", each(|digit| format!("%25{digit:02X}"))),
        ("in JSON escapes", each(|digit| format!("\\u00{digit:02x}"))),
        ("as a list of bytes", list(number).into_bytes()),
        ("in UTF-16, little-endian", number.bytes().flat_map(|digit| [digit, 0]).collect()),
        ("in UTF-16, big-endian", number.bytes().flat_map(|digit| [0, digit]).collect()),
        ("backwards", number.bytes().rev().collect()),
    ];
    all.extend([0, 1, 2].map(|before| ("in base64", in_base64(number.as_bytes(), before))));
    // Two digits a byte; of the published ones some are letters then ("BBBBBBBB").
    if number.starts_with(RANGE) && !number.ends_with(RANGE) {
        let two = |pair: &[u8]| (pair[0] - b'0') << 4 | (pair[1] - b'0');
        all.push(("two digits a byte", number.as_bytes().chunks(2).map(two).collect()));
    }
    all
}

/// In groups as they are printed on cards: 4-6-5 for fifteen digits, else of four.
fn grouped(number: &str, between: &str) -> Vec<u8> {
    let groups = match number.len() {
        15 => vec![&number[..4], &number[4..10], &number[10..]],
        _ => number.as_bytes().chunks(4).map(|group| std::str::from_utf8(group).unwrap()).collect(),
    };
    groups.join(between).into_bytes()
}

/// As Debug prints bytes.
fn list(number: &str) -> String {
    number.bytes().map(|digit| digit.to_string()).collect::<Vec<_>>().join(", ")
}

/// What base64 surely holds of bytes that so many others stand before.
fn in_base64(bytes: &[u8], before: usize) -> Vec<u8> {
    let all = [&vec![0; before], bytes].concat();
    STANDARD.encode(&all).into_bytes()[(before * 8).div_ceil(6)..all.len() * 8 / 6].to_vec()
}

#[test]
fn every_spelling_is_found_wherever_it_stands() {
    let numbers = super::numbers::some(40);
    let needles = Needles::of(&numbers);
    assert!(needles.find("noise", b"4242 424 no number 42424242424242 5555-5555").is_empty());
    for number in &numbers {
        for (spelling, bytes) in spellings(number) {
            let text = [b"before ".as_slice(), &bytes, b" behind"].concat();
            assert!(!needles.find("a text", &text).is_empty(), "{spelling}");
            assert!(needles.find("a text", &text[..text.len() - 8]).is_empty(), "{spelling} without its end");
        }
    }
    for (text, before) in [("x", 1), ("xy", 2), ("xyz", 3), ("{\"Number\":\"", 11)] {
        let encoded = STANDARD.encode(format!("{text}{}\",\"a\":1}}", numbers[0]));
        assert_eq!(needles.find("base64", encoded.as_bytes()).len(), 1, "{before} bytes before it");
    }
}
