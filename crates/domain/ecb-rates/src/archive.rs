//! Zip archives as far as the ECB uses them (PKWARE APPNOTE 6.3, sections 4.3 and 4.4): one file, stored or deflated, no encryption, no zip64.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use crate::days::{MAX_BYTES, Wrong};

/// What an archive that is not empty begins with.
pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";

const LOCAL_HEADER: usize = 30;
const CENTRAL_HEADER: usize = 46;
const END_RECORD: usize = 22;
const MAX_COMMENT_BYTES: usize = 65_535;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;

/// The content of the one file in the archive.
pub(crate) fn only_entry(archive: &[u8]) -> Result<Vec<u8>, Wrong> {
    let end = end_record(archive).ok_or(Wrong::Truncated)?;
    let end = Record(&archive[end..]);
    if (end.u16(4)?, end.u16(6)?, end.u16(8)?, end.u16(10)?) != (0, 0, 1, 1) {
        return Err(Wrong::Archive("it has to hold exactly one file"));
    }
    let entry = part(archive, end.u32(16)?, CENTRAL_HEADER)?;
    if !entry.0.starts_with(b"PK\x01\x02") {
        return Err(Wrong::Archive("its directory is damaged"));
    }
    let (flags, method, sum) = (entry.u16(8)?, entry.u16(10)?, entry.u32(16)?);
    let (packed, size) = (entry.size(20)?, entry.size(24)?);
    if flags & ENCRYPTED != 0 {
        return Err(Wrong::Archive("its file is encrypted"));
    }
    if MAX_BYTES < size {
        return Err(Wrong::TooLarge);
    }
    let start = entry.u32(42)?;
    let header = part(archive, start, LOCAL_HEADER)?;
    if !header.0.starts_with(MAGIC) {
        return Err(Wrong::Archive("its directory is damaged"));
    }
    let data = LOCAL_HEADER + usize::from(header.u16(26)?) + usize::from(header.u16(28)?);
    let data = header.0.get(data..).and_then(|rest| rest.get(..packed)).ok_or(Wrong::Truncated)?;
    let content = match method {
        STORED => data.to_vec(),
        // The limit also ends data that would unpack to more than the directory says.
        DEFLATED => {
            decompress_to_vec_with_limit(data, size).map_err(|_damaged| Wrong::Archive("its data is damaged"))?
        }
        _ => return Err(Wrong::Archive("its file is packed in another way than deflate")),
    };
    if content.len() == size && checksum(&content) == sum {
        Ok(content)
    } else {
        Err(Wrong::Archive("its data is damaged"))
    }
}

/// Where the record at the end of the archive begins: the last place whose comment reaches exactly to the end.
fn end_record(archive: &[u8]) -> Option<usize> {
    let last = archive.len().checked_sub(END_RECORD)?;
    (last.saturating_sub(MAX_COMMENT_BYTES)..=last).rev().find(|start| {
        let record = Record(&archive[*start..]);
        record.0.starts_with(b"PK\x05\x06")
            && record.u16(20).is_ok_and(|comment| END_RECORD + usize::from(comment) == record.0.len())
    })
}

fn part(archive: &[u8], start: u32, least: usize) -> Result<Record<'_>, Wrong> {
    let start = usize::try_from(start).map_err(|_beyond| Wrong::Truncated)?;
    archive.get(start..).filter(|rest| least <= rest.len()).map(Record).ok_or(Wrong::Truncated)
}

/// Little-endian fields at fixed places.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn field<const N: usize>(&self, at: usize) -> Result<[u8; N], Wrong> {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Wrong::Truncated)
    }

    fn u16(&self, at: usize) -> Result<u16, Wrong> {
        self.field(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Result<u32, Wrong> {
        self.field(at).map(u32::from_le_bytes)
    }

    fn size(&self, at: usize) -> Result<usize, Wrong> {
        self.u32(at).and_then(|size| usize::try_from(size).map_err(|_beyond| Wrong::TooLarge))
    }
}

/// CRC-32 as zip has it (polynomial 0xEDB88320, reflected).
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut value, mut bit) = (index as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        let [lowest, ..] = sum.to_le_bytes();
        TABLE[usize::from(lowest ^ byte)] ^ (sum >> 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_everybody_uses() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
        assert_eq!(checksum(b""), 0);
    }
}
