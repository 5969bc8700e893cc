//! Counts and keys as bytes of a row: a format byte, and numbers in seven bits a byte, the least significant first (LEB128).

use std::str::FromStr;

use dropin_kernel::Timestamp;
use dropin_ports::{CardFacts, VelocityHash};
use dropin_risk::{CardFunding, ExemptedPayments, Velocity, VelocityCounts, VelocityKey, VelocitySum, VelocityWindow};
use dropin_store_runtime::fault::{Fault, corrupt};

use super::counts::{CardTag, CountedExemptions, KeyCounts, ToldCardFacts, minute};

const FORMAT: u8 = 1;
/// Of counts that have those of alarms, too.
const ALARMS_FORMAT: u8 = 2;
/// Of counts that have those of verifications in alarms, too, and payments under an exemption.
const EXEMPTIONS_FORMAT: u8 = 3;
/// Of counts of a card of which a processor told something, too.
const CARD_FACTS_FORMAT: u8 = 4;

/// The counts as they are stored. Of each window the buckets follow each other by how many buckets lie between.
pub(super) fn encode_counts(counts: &KeyCounts) -> Vec<u8> {
    let format = format_of(counts);
    let mut bytes = vec![format];
    for window in VelocityWindow::ALL {
        let buckets = counts.buckets.get(&window);
        put(&mut bytes, buckets.map_or(0, |buckets| size(buckets.len())));
        let mut before = 0;
        for (start, counted) in buckets.into_iter().flatten() {
            let number = number_of(window, *start);
            put(&mut bytes, number.wrapping_sub(before).cast_unsigned());
            before = number;
            let all = [
                counted.tries,
                counted.declines,
                counted.blocks,
                counted.alarm_challenges,
                counted.alarm_passes,
                counted.alarm_verifications,
            ];
            for count in all.into_iter().take(counts_of(format)) {
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
    if EXEMPTIONS_FORMAT <= format {
        put(&mut bytes, counts.exempted.map_or(0, |exempted| exempted.payments.payments.into()));
        if let Some(CountedExemptions { payments, last }) = counts.exempted {
            put(&mut bytes, payments.amount_cents);
            put(&mut bytes, minutes(&last).cast_unsigned());
        }
    }
    if let Some(ToldCardFacts { facts, at }) = counts.card {
        put_text(&mut bytes, facts.country.map_or("", |country| country.code()));
        put_text(&mut bytes, facts.funding.map_or("", CardFunding::as_str));
        put(&mut bytes, minutes(&at).cast_unsigned());
    }
    bytes
}

/// The oldest format that holds them all: programs of before read what has nothing new.
fn format_of(counts: &KeyCounts) -> u8 {
    let has = |is_counted: fn(&VelocityCounts) -> bool| {
        counts.buckets.values().flat_map(|buckets| buckets.values()).any(is_counted)
    };
    if counts.card.is_some() {
        CARD_FACTS_FORMAT
    } else if counts.exempted.is_some() || has(|counted| counted.alarm_verifications != 0) {
        EXEMPTIONS_FORMAT
    } else if has(|counted| counted.alarm_challenges != 0 || counted.alarm_passes != 0) {
        ALARMS_FORMAT
    } else {
        FORMAT
    }
}

/// How many counts a bucket has beside its amount.
const fn counts_of(format: u8) -> usize {
    match format {
        FORMAT => 3,
        ALARMS_FORMAT => 5,
        _ => 6,
    }
}

/// Reads [`encode_counts`] back.
pub(super) fn decode_counts(bytes: &[u8]) -> Result<KeyCounts, Fault> {
    let read = |mut bytes: &[u8]| {
        let bytes = &mut bytes;
        let mut counts = KeyCounts::default();
        let format = byte(bytes).filter(|format| (FORMAT..=CARD_FACTS_FORMAT).contains(format))?;
        for window in VelocityWindow::ALL {
            let mut before = 0_i64;
            for _ in 0..number(bytes)? {
                before = before.wrapping_add(number(bytes)?.cast_signed());
                let mut all = [0; 6];
                for count in all.iter_mut().take(counts_of(format)) {
                    *count = small(bytes)?;
                }
                let [tries, declines, blocks, alarm_challenges, alarm_passes, alarm_verifications] = all;
                let amount_cents = number(bytes)?;
                let counted = VelocityCounts {
                    tries,
                    declines,
                    blocks,
                    alarm_challenges,
                    alarm_passes,
                    alarm_verifications,
                    amount_cents,
                };
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
        let payments = if EXEMPTIONS_FORMAT <= format { small(bytes)? } else { 0 };
        if payments != 0 {
            let payments = ExemptedPayments { payments, amount_cents: number(bytes)? };
            let last = start_of(VelocityWindow::TenMinutes, number(bytes)?.cast_signed())?;
            counts.exempted = Some(CountedExemptions { payments, last });
        }
        if format == CARD_FACTS_FORMAT {
            let facts = CardFacts { country: read_code(bytes)?, funding: read_code(bytes)? };
            let at = start_of(VelocityWindow::TenMinutes, number(bytes)?.cast_signed())?;
            counts.card = Some(ToldCardFacts { facts, at });
        }
        bytes.is_empty().then_some(counts)
    };
    read(bytes).ok_or_else(|| corrupt("velocity_counter", "the counts cannot be read"))
}

/// Whether a newer program wrote these counts.
pub(super) fn are_newer_counts(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|format| CARD_FACTS_FORMAT < *format)
}

/// Kinds and hashes of a try as they are stored.
pub(super) fn encode_keys<'a>(keys: impl IntoIterator<Item = (VelocityKey, &'a VelocityHash)>) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    for (key, hash) in keys {
        put_text(&mut bytes, key.as_str());
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
            let key = text(&mut bytes)?.parse().ok()?;
            let (hash, rest) = bytes.split_first_chunk::<32>()?;
            keys.push((key, VelocityHash(*hash)));
            bytes = rest;
        }
        Some(keys)
    };
    read(bytes).ok_or_else(|| corrupt("payment_try", "the keys cannot be read"))
}

/// In the byte of a key of [`encode_velocity`]: what alarms count stands there, too.
const HAS_ALARMS: u8 = 1 << 6;

/// What was counted for a payment. Each key that any follows after has a byte, with a bit for each window that it has and another for each whose sum is
/// that of the window before; the other sums follow.
pub(super) fn encode_velocity(velocity: &Velocity) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    let sums = |key| VelocityWindow::ALL.map(|window| velocity.sum(key, window));
    let last = VelocityKey::ALL.iter().rposition(|key| sums(*key) != [None; 3]);
    for key in VelocityKey::ALL.iter().take(last.map_or(0, |last| last + 1)) {
        let sums = sums(*key);
        let alarms =
            |sum: &VelocitySum| sum.counts.alarm_challenges | sum.counts.alarm_passes | sum.counts.alarm_verifications;
        let has_alarms = sums.iter().flatten().any(|sum| alarms(sum) != 0);
        let (mut flags, mut before, mut written) = (if has_alarms { HAS_ALARMS } else { 0 }, None, Vec::new());
        for (place, sum) in sums.into_iter().enumerate() {
            let Some(sum) = sum else { continue };
            flags |= 1 << place;
            if before.replace(sum) == Some(sum) {
                flags |= 1 << (3 + place);
            } else {
                written.push(sum);
            }
        }
        bytes.push(flags);
        for VelocitySum { counts, cards } in written {
            for count in [counts.tries, counts.declines, counts.blocks, cards] {
                put(&mut bytes, count.into());
            }
            put(&mut bytes, counts.amount_cents);
            if has_alarms {
                for count in [counts.alarm_challenges, counts.alarm_passes, counts.alarm_verifications] {
                    put(&mut bytes, count.into());
                }
            }
        }
    }
    bytes
}

/// Reads [`encode_velocity`] back.
pub(super) fn decode_velocity(bytes: &[u8]) -> Result<Velocity, Fault> {
    let read = |mut bytes: &[u8]| {
        let bytes = &mut bytes;
        let mut velocity = Velocity::default();
        if byte(bytes)? != FORMAT {
            return None;
        }
        for key in VelocityKey::ALL {
            if bytes.is_empty() {
                break;
            }
            let (flags, mut before) = (byte(bytes)?, None);
            if flags == 0 && bytes.is_empty() {
                // The last key has a sum.
                return None;
            }
            for (place, window) in VelocityWindow::ALL.into_iter().enumerate() {
                if flags & (1 << place) == 0 {
                    continue;
                }
                let sum = if flags & (1 << (3 + place)) == 0 { sum(bytes, flags)? } else { before? };
                before = Some(sum);
                velocity.set(key, window, sum);
            }
        }
        bytes.is_empty().then_some(velocity)
    };
    read(bytes).ok_or_else(|| corrupt("screening", "what was counted cannot be read"))
}

fn sum(bytes: &mut &[u8], flags: u8) -> Option<VelocitySum> {
    let [tries, declines, blocks, cards] = [small(bytes)?, small(bytes)?, small(bytes)?, small(bytes)?];
    let amount_cents = number(bytes)?;
    let has_alarms = flags & HAS_ALARMS != 0;
    let [alarm_challenges, alarm_passes, alarm_verifications] =
        if has_alarms { [small(bytes)?, small(bytes)?, small(bytes)?] } else { [0; 3] };
    let counts =
        VelocityCounts { tries, declines, blocks, alarm_challenges, alarm_passes, alarm_verifications, amount_cents };
    Some(VelocitySum { counts, cards })
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

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, size(text.len()));
    bytes.extend_from_slice(text.as_bytes());
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

/// A code, where one stands there; outside `None` where it is none.
#[allow(clippy::option_option, reason = "the outer one is a failure, as everywhere here")]
fn read_code<T: FromStr>(bytes: &mut &[u8]) -> Option<Option<T>> {
    match text(bytes)? {
        "" => Some(None),
        code => code.parse().ok().map(Some),
    }
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
    use dropin_ports::CardAuthentication;

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
                (counts.alarm_challenges, counts.alarm_passes, counts.alarm_verifications) = (300, 200, 150);
            });
        }
        counts
    }

    #[test]
    fn counts_come_back_and_fit_a_page() {
        let mut exempted = full();
        exempted.authenticate(at(0), CardAuthentication::Exempted(u64::MAX));
        let mut told = exempted.clone();
        told.tell_card(at(0), CardFacts { country: "AT".parse().ok(), funding: "PREPAID".parse().ok() });
        let mut half_told = KeyCounts::default();
        half_told.tell_card(at(0), CardFacts { country: "US".parse().ok(), funding: None });
        for counts in [KeyCounts::default(), full(), exempted, told, half_told] {
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
            alarm_verifications: 3,
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
        let with_alarms = [
            2, 2, 60, 1, 0, 0, 0, 0, 172, 2, 1, 0, 2, 0, 4, 3, 0, 1, 12, 1, 2, 0, 4, 3, 172, 2, 1, 1, 1, 2, 0, 4, 3,
            172, 2, 1, 60, 9, 9, 9, 9, 9, 9, 9, 9, 0,
        ];
        assert_eq!(encode_counts(&counts), with_alarms);
        assert_eq!(decode_counts(&with_alarms).unwrap(), counts);
        counts.authenticate(Timestamp::from_micros(3_660_000_000), CardAuthentication::Exempted(300));
        let with_exemptions = [
            3, 2, 60, 1, 0, 0, 0, 0, 0, 172, 2, 1, 0, 2, 0, 4, 3, 0, 0, 1, 12, 1, 2, 0, 4, 3, 0, 172, 2, 1, 1, 1, 2, 0,
            4, 3, 0, 172, 2, 1, 60, 9, 9, 9, 9, 9, 9, 9, 9, 0, 1, 172, 2, 61,
        ];
        assert_eq!(encode_counts(&counts), with_exemptions);
        assert_eq!(decode_counts(&with_exemptions).unwrap(), counts);
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

    #[test]
    fn what_was_counted_comes_back_and_is_short() {
        let mut velocity = Velocity::default();
        assert_eq!(decode_velocity(&encode_velocity(&velocity)).unwrap(), velocity);
        let counts = VelocityCounts { tries: 1, amount_cents: 29_90, ..VelocityCounts::default() };
        let first = VelocitySum { counts, cards: 1 };
        for (key, window) in
            VelocityKey::ALL.into_iter().flat_map(|key| VelocityWindow::ALL.map(|window| (key, window)))
        {
            velocity.set(key, window, first);
        }
        let bytes = encode_velocity(&velocity);
        assert_eq!((decode_velocity(&bytes).unwrap(), bytes.len()), (velocity, 1 + 8 * 7));
        let mut uneven = Velocity::default();
        let more = VelocityCounts {
            tries: u32::MAX,
            declines: 2,
            blocks: 3,
            alarm_challenges: 4,
            alarm_passes: 5,
            alarm_verifications: 6,
            amount_cents: u64::MAX,
        };
        let more = VelocitySum { counts: more, cards: 7 };
        uneven.set(VelocityKey::Device, VelocityWindow::TenMinutes, first);
        uneven.set(VelocityKey::Device, VelocityWindow::Day, first);
        uneven.set(VelocityKey::Merchant, VelocityWindow::Hour, first);
        uneven.set(VelocityKey::Merchant, VelocityWindow::Day, more);
        let bytes = encode_velocity(&uneven);
        assert_eq!(decode_velocity(&bytes).unwrap(), uneven);
        for length in [0, 2, bytes.len() - 1] {
            assert!(decode_velocity(&bytes[..length]).is_err(), "cut at {length}");
        }
        assert!(decode_velocity(&[bytes, vec![0]].concat()).is_err(), "too long");
        assert!(decode_velocity(&[FORMAT, 1 << 3 | 1]).is_err(), "the first has none before it");
    }
}
