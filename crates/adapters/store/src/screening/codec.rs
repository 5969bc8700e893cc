//! Counts and keys as bytes of a row: a format byte, and numbers in seven bits a byte, the least significant first (LEB128).

use dropin_kernel::Timestamp;
use dropin_ports::VelocityHash;
use dropin_risk::{VelocityCounts, VelocityKey, VelocityWindow};

use super::counts::{CardTag, KeyCounts, minute};
use crate::fault::{Fault, corrupt};

const FORMAT: u8 = 1;
/// Of counts that have those of alarms, too.
const COUNTS_FORMAT: u8 = 2;

/// The counts as they are stored. Of each window the buckets follow each other by how many buckets lie between.
pub(super) fn encode_counts(counts: &KeyCounts) -> Vec<u8> {
    // Programs of before read the format without them.
    let has_alarms = counts
        .buckets
        .values()
        .flat_map(|buckets| buckets.values())
        .any(|counted| counted.alarm_challenges != 0 || counted.alarm_passes != 0);
    let mut bytes = vec![if has_alarms { COUNTS_FORMAT } else { FORMAT }];
    for window in VelocityWindow::ALL {
        let buckets = counts.buckets.get(&window);
        put(&mut bytes, buckets.map_or(0, |buckets| size(buckets.len())));
        let mut before = 0;
        for (start, counted) in buckets.into_iter().flatten() {
            let number = number_of(window, *start);
            put(&mut bytes, number.wrapping_sub(before).cast_unsigned());
            before = number;
            let of_alarms = [counted.alarm_challenges, counted.alarm_passes];
            let of_alarms = of_alarms.into_iter().filter(|_| has_alarms);
            for count in [counted.tries, counted.declines, counted.blocks].into_iter().chain(of_alarms) {
                put(&mut bytes, count.into());
            }
            put(&mut bytes, counted.amount_cents);
        }
    }
    put(&mut bytes, size(counts.cards.len()));
    let minutes = |seen: &Timestamp| number_of(VelocityWindow::TenMinutes, minute(*seen));
    let first = counts.cards.values().map(minutes).min().unwrap_or_default();
    put(&mut bytes, first.cast_unsigned());
    for (tag, seen) in &counts.cards {
        bytes.extend_from_slice(tag);
        put(&mut bytes, minutes(seen).wrapping_sub(first).cast_unsigned());
    }
    bytes
}

/// Reads [`encode_counts`] back.
pub(super) fn decode_counts(bytes: &[u8]) -> Result<KeyCounts, Fault> {
    let read = |mut bytes: &[u8]| {
        let bytes = &mut bytes;
        let mut counts = KeyCounts::default();
        let has_alarms = match byte(bytes)? {
            FORMAT => false,
            COUNTS_FORMAT => true,
            _ => return None,
        };
        for window in VelocityWindow::ALL {
            let mut before = 0_i64;
            for _ in 0..number(bytes)? {
                before = before.wrapping_add(number(bytes)?.cast_signed());
                let [tries, declines, blocks] = [small(bytes)?, small(bytes)?, small(bytes)?];
                let [alarm_challenges, alarm_passes] = if has_alarms { [small(bytes)?, small(bytes)?] } else { [0; 2] };
                let amount_cents = number(bytes)?;
                let counted = VelocityCounts { tries, declines, blocks, alarm_challenges, alarm_passes, amount_cents };
                counts.buckets.entry(window).or_default().insert(start_of(window, before)?, counted);
            }
        }
        let (length, first) = (number(bytes)?, number(bytes)?.cast_signed());
        for _ in 0..length {
            let (tag, rest) = bytes.split_first_chunk::<{ size_of::<CardTag>() }>()?;
            *bytes = rest;
            let minute = first.wrapping_add(number(bytes)?.cast_signed());
            counts.cards.insert(*tag, start_of(VelocityWindow::TenMinutes, minute)?);
        }
        bytes.is_empty().then_some(counts)
    };
    read(bytes).ok_or_else(|| corrupt("velocity_count", "the counts cannot be read"))
}

/// Kinds and hashes of a try as they are stored.
pub(super) fn encode_keys<'a>(keys: impl IntoIterator<Item = (VelocityKey, &'a VelocityHash)>) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    for (key, hash) in keys {
        let code = key.as_str().as_bytes();
        put(&mut bytes, size(code.len()));
        bytes.extend_from_slice(code);
        bytes.extend_from_slice(&hash.0);
    }
    bytes
}

/// Reads [`encode_keys`] back.
pub(super) fn decode_keys(bytes: &[u8]) -> Result<Vec<(VelocityKey, VelocityHash)>, Fault> {
    let read = |mut bytes: &[u8]| {
        let mut keys = Vec::new();
        if byte(&mut bytes)? != FORMAT {
            return None;
        }
        while !bytes.is_empty() {
            let length = usize::try_from(number(&mut bytes)?).ok()?;
            let (code, rest) = bytes.split_at_checked(length)?;
            let (hash, rest) = rest.split_first_chunk::<32>()?;
            keys.push((std::str::from_utf8(code).ok()?.parse().ok()?, VelocityHash(*hash)));
            bytes = rest;
        }
        Some(keys)
    };
    read(bytes).ok_or_else(|| corrupt("payment_try", "the keys cannot be read"))
}

fn number_of(window: VelocityWindow, start: Timestamp) -> i64 {
    start.micros().div_euclid(bucket_micros(window))
}

fn start_of(window: VelocityWindow, number: i64) -> Option<Timestamp> {
    number.checked_mul(bucket_micros(window)).map(Timestamp::from_micros)
}

fn bucket_micros(window: VelocityWindow) -> i64 {
    i64::try_from(window.bucket().as_micros()).unwrap_or(i64::MAX)
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while 0x7f < number {
        let [low, ..] = number.to_le_bytes();
        bytes.push(low | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let next = byte(bytes)?;
        number |= u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn small(bytes: &mut &[u8]) -> Option<u32> {
    number(bytes)?.try_into().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not there fails the test")]
mod tests {
    use super::*;
    use crate::screening::counts::MAX_CARDS;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(1_795_500_000_000_000 + second * 1_000_000)
    }

    /// As much as a key ever has.
    fn full() -> KeyCounts {
        let mut counts = KeyCounts::default();
        for number in 0..i64::try_from(MAX_CARDS).unwrap() {
            let mut hash = VelocityHash([7; 32]);
            hash.0[..8].copy_from_slice(&number.to_be_bytes());
            let card = dropin_ports::HashedVelocityKey { key: VelocityKey::Card, hash, former: vec![] };
            for _ in 0..50 {
                counts.count_try(at(number * 337), 123_456, Some(&card));
            }
            counts.change(at(number * 337), |counts| {
                (counts.declines, counts.blocks) = (300, 20_000);
                (counts.alarm_challenges, counts.alarm_passes) = (300, 200);
            });
        }
        counts
    }

    #[test]
    fn counts_come_back_and_fit_a_page() {
        for counts in [KeyCounts::default(), full()] {
            let bytes = encode_counts(&counts);
            assert_eq!(decode_counts(&bytes).unwrap(), counts);
            assert!(bytes.len() < 4_096, "{} bytes", bytes.len());
            for length in 0..bytes.len() {
                assert!(decode_counts(&bytes[..length]).is_err(), "cut at {length}");
            }
            assert!(decode_counts(&[bytes, vec![0]].concat()).is_err(), "too long");
        }
        let extreme = VelocityCounts {
            tries: u32::MAX,
            declines: 0,
            blocks: 1,
            alarm_challenges: u32::MAX,
            alarm_passes: 2,
            amount_cents: u64::MAX,
        };
        let mut counts = KeyCounts::default();
        counts.change(Timestamp::MIN, |counts| *counts = extreme);
        assert_eq!(decode_counts(&encode_counts(&counts)).unwrap(), counts);
    }

    /// Rows that were written by a program of before are read by the next one.
    #[test]
    fn the_format_stays() {
        let mut counts = KeyCounts::default();
        let card =
            dropin_ports::HashedVelocityKey { key: VelocityKey::Card, hash: VelocityHash([9; 32]), former: vec![] };
        counts.count_try(Timestamp::from_micros(3_600_000_000), 300, Some(&card));
        counts.change(Timestamp::from_micros(3_660_000_000), |counts| counts.declines += 2);
        let before_alarms = [
            1, 2, 60, 1, 0, 0, 172, 2, 1, 0, 2, 0, 0, 1, 12, 1, 2, 0, 172, 2, 1, 1, 1, 2, 0, 172, 2, 1, 60, 9, 9, 9, 9,
            9, 9, 9, 9, 0,
        ];
        assert_eq!(decode_counts(&before_alarms).unwrap(), counts);
        assert_eq!(
            encode_counts(&counts),
            before_alarms,
            "and programs of before read what this one writes without an alarm"
        );
        counts.change(Timestamp::from_micros(3_660_000_000), |counts| {
            (counts.alarm_challenges, counts.alarm_passes) = (4, 3);
        });
        let expected = [
            2, 2, 60, 1, 0, 0, 0, 0, 172, 2, 1, 0, 2, 0, 4, 3, 0, 1, 12, 1, 2, 0, 4, 3, 172, 2, 1, 1, 1, 2, 0, 4, 3,
            172, 2, 1, 60, 9, 9, 9, 9, 9, 9, 9, 9, 0,
        ];
        assert_eq!(encode_counts(&counts), expected);
        assert_eq!(decode_counts(&expected).unwrap(), counts);
    }

    #[test]
    fn keys_come_back_whole() {
        let hash = |number: u8| VelocityHash([number; 32]);
        let keys: Vec<_> = VelocityKey::ALL.into_iter().zip((0..).map(hash)).collect();
        let bytes = encode_keys(keys.iter().map(|(key, hash)| (*key, hash)));
        assert_eq!(decode_keys(&bytes).unwrap(), keys);
        assert_eq!(decode_keys(&encode_keys([])).unwrap(), []);
        assert!(decode_keys(&bytes[..bytes.len() - 1]).is_err() && decode_keys(&[]).is_err());
    }
}
