use dropin_ecb_rates::{MAX_BYTES, Wrong, read_days};
use miniz_oxide::deflate::compress_to_vec;

use super::wrong;

const CSV: &[u8] = b"Date,USD\n2026-11-20,1.1172\n";

/// What an archive says of its one file, right unless a test changes it.
struct Entry {
    flags: u16,
    method: u16,
    sum: u32,
    data: Vec<u8>,
    size: u32,
    entries: u16,
    comment: Vec<u8>,
}

impl Entry {
    fn new(content: &[u8]) -> Self {
        Self {
            flags: 0,
            method: 8,
            sum: checksum(content),
            data: compress_to_vec(content, 6),
            size: u32::try_from(content.len()).unwrap(),
            entries: 1,
            comment: Vec::new(),
        }
    }

    fn archive(&self) -> Vec<u8> {
        let name = b"rates.csv";
        let packed = u32::try_from(self.data.len()).unwrap();
        // From the version that is needed to the sizes, the two headers agree.
        let mut shared = Vec::new();
        for field in [20, self.flags, self.method, 0, 0] {
            shared.extend(field.to_le_bytes());
        }
        for field in [self.sum, packed, self.size] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend([9_u16, 0].iter().flat_map(|field| field.to_le_bytes()));
        let mut archive = b"PK\x03\x04".to_vec();
        archive.extend(&shared);
        archive.extend(name);
        archive.extend(&self.data);
        let directory = u32::try_from(archive.len()).unwrap();
        archive.extend(b"PK\x01\x02\x14\x00");
        archive.extend(&shared);
        archive.extend([0; 14]);
        archive.extend(name);
        let length = u32::try_from(archive.len()).unwrap() - directory;
        archive.extend(b"PK\x05\x06");
        archive.extend([0, 0, self.entries, self.entries].iter().flat_map(|field| field.to_le_bytes()));
        archive.extend([length, directory].iter().flat_map(|field| field.to_le_bytes()));
        archive.extend(u16::try_from(self.comment.len()).unwrap().to_le_bytes());
        archive.extend(&self.comment);
        archive
    }
}

/// CRC-32 bit by bit, unlike the reader's table.
fn checksum(content: &[u8]) -> u32 {
    !content.iter().fold(u32::MAX, |mut sum, byte| {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
        }
        sum
    })
}

#[test]
fn deflated_and_stored() {
    assert_eq!(read_days(&Entry::new(CSV).archive()), read_days(CSV));
    let stored = Entry { method: 0, data: CSV.to_vec(), ..Entry::new(CSV) };
    assert_eq!(read_days(&stored.archive()), read_days(CSV));
    let commented = Entry {
        comment: b"a comment with PK\x05\x06 in it, and what looks like a record after it".to_vec(),
        ..Entry::new(CSV)
    };
    assert_eq!(read_days(&commented.archive()), read_days(CSV));
}

#[test]
fn wherever_it_is_cut_off_or_damaged_it_is_refused() {
    let archive = Entry::new(CSV).archive();
    for length in 0..archive.len() {
        assert!(read_days(&archive[..length]).is_err(), "the first {length} bytes were taken for the whole");
    }
    assert_eq!(wrong(&archive[..archive.len() - 1]), Wrong::Truncated);
    // Names, times and versions do not matter; no other change goes unnoticed, and none is a panic.
    for at in 0..archive.len() {
        let mut damaged = archive.clone();
        damaged[at] ^= 0x41;
        assert!(read_days(&damaged).map_or(true, |days| Ok(days) == read_days(CSV)), "byte {at}");
    }
}

#[test]
fn a_bomb_does_not_unpack() {
    let honest = Entry::new(&vec![b'1'; MAX_BYTES + 1]);
    assert!(honest.data.len() < 100_000);
    assert_eq!(wrong(honest.archive()), Wrong::TooLarge);
    // It says that it is small.
    let liar = Entry { size: 100, ..honest };
    assert_eq!(wrong(liar.archive()), Wrong::Archive("its data is damaged"));
}

#[test]
fn other_archives_are_refused() {
    let is = |entry: Entry, why| assert_eq!(wrong(entry.archive()), Wrong::Archive(why));
    is(Entry { flags: 1, ..Entry::new(CSV) }, "its file is encrypted");
    is(Entry { method: 12, ..Entry::new(CSV) }, "its file is packed in another way than deflate");
    is(Entry { entries: 2, ..Entry::new(CSV) }, "it has to hold exactly one file");
    is(Entry { entries: 0, ..Entry::new(CSV) }, "it has to hold exactly one file");
    is(Entry { sum: 0, ..Entry::new(CSV) }, "its data is damaged");
    is(Entry { size: 26, ..Entry::new(CSV) }, "its data is damaged");
    is(Entry { size: 28, ..Entry::new(CSV) }, "its data is damaged");
    // An archive within the archive is not opened.
    assert_eq!(wrong(Entry::new(&Entry::new(CSV).archive()).archive()), Wrong::NotText);
}
