//! The counts of one key, with the arithmetic of `dropin-risk`.

use std::collections::BTreeMap;
use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_ports::{
    CARD_FACTS_LIFETIME, CardAuthentication, CardFacts, EXEMPTED_LIFETIME, HashedVelocityKey, VelocityHash,
};
use dropin_risk::{ExemptedPayments, VelocityCounts, VelocitySum, VelocityWindow};

/// So many different cards are told apart by one key: more count as this many. The rules' limits are far below.
pub(super) const MAX_CARDS: usize = 256;

/// So far may the clocks of two programs differ: nothing is forgotten that counts for the slower one.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Tells cards of one key apart: the beginning of the card's hash.
pub(super) type CardTag = [u8; 8];

pub(super) fn card_tag(hash: &VelocityHash) -> CardTag {
    let [a, b, c, d, e, f, g, h, ..] = hash.0;
    [a, b, c, d, e, f, g, h]
}

/// What is counted by one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyCounts {
    pub(super) buckets: BTreeMap<VelocityWindow, BTreeMap<Timestamp, VelocityCounts>>,
    /// Each card with the minute in which it was tried last.
    pub(super) cards: BTreeMap<CardTag, Timestamp>,
    pub(super) exempted: Option<CountedExemptions>,
    /// Of a card.
    pub(super) card: Option<ToldCardFacts>,
}

/// What a processor told of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ToldCardFacts {
    pub(super) facts: CardFacts,
    /// The minute of the try that it was told of.
    pub(super) at: Timestamp,
}

impl ToldCardFacts {
    fn until(self) -> Timestamp {
        self.at.plus(CARD_FACTS_LIFETIME)
    }
}

/// Payments by a card under an exemption since its shopper authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountedExemptions {
    pub(super) payments: ExemptedPayments,
    /// The minute of the last.
    pub(super) last: Timestamp,
}

impl CountedExemptions {
    fn until(self) -> Timestamp {
        self.last.plus(EXEMPTED_LIFETIME)
    }

    fn plus(self, other: Self) -> Self {
        let (one, two) = (self.payments, other.payments);
        let payments = ExemptedPayments {
            payments: one.payments.saturating_add(two.payments),
            amount_cents: one.amount_cents.saturating_add(two.amount_cents),
        };
        Self { payments, last: self.last.max(other.last) }
    }
}

/// The minute, of which the buckets of every window are made up.
pub(super) fn minute(at: Timestamp) -> Timestamp {
    VelocityWindow::TenMinutes.bucket_start(at)
}

impl KeyCounts {
    /// Counts a try, with its card if there is one.
    pub(super) fn count_try(&mut self, at: Timestamp, amount_cents: u64, card: Option<&HashedVelocityKey>) {
        let one = VelocityCounts { tries: 1, amount_cents, ..VelocityCounts::default() };
        self.change(at, |counts| *counts = counts.plus(one));
        if let Some(card) = card {
            // What an older key of the ring hashed is the same card.
            let former = card.former.iter().filter_map(|former| self.cards.remove(&card_tag(former))).max();
            let seen = self.cards.entry(card_tag(&card.hash)).or_insert_with(|| minute(at));
            *seen = minute(at).max(*seen).max(former.unwrap_or(*seen));
        }
        while MAX_CARDS < self.cards.len() {
            let oldest = self.cards.iter().min_by_key(|(_, seen)| **seen).map(|(tag, _)| *tag);
            oldest.map(|tag| self.cards.remove(&tag));
        }
    }

    /// Changes the buckets that `at` lies in, and forgets those that are over.
    pub(super) fn change(&mut self, at: Timestamp, change: impl Fn(&mut VelocityCounts)) {
        for window in VelocityWindow::ALL {
            change(self.buckets.entry(window).or_default().entry(window.bucket_start(at)).or_default());
        }
        let now = self.newest().unwrap_or(at).minus(CLOCK_TOLERANCE);
        for (window, buckets) in &mut self.buckets {
            buckets.retain(|start, _| now < window.ends_at(*start));
        }
        let day = VelocityWindow::Day;
        self.cards.retain(|_, seen| now < day.ends_at(day.bucket_start(*seen)));
        self.exempted = self.exempted.filter(|exempted| now < exempted.until());
        self.card = self.card.filter(|card| now < card.until());
    }

    /// Knows from now on what an approval of a try at `at` told of the card.
    pub(super) fn tell_card(&mut self, at: Timestamp, facts: CardFacts) {
        if facts != CardFacts::default() {
            self.card = Some(ToldCardFacts { facts, at: minute(at) });
        }
    }

    /// What is known of the card at `now`.
    pub(super) fn card_facts(&self, now: Timestamp) -> CardFacts {
        self.card.filter(|card| now < card.until()).map(|card| card.facts).unwrap_or_default()
    }

    /// Counts what an approval of a try at `at` says of the card's exemptions.
    pub(super) fn authenticate(&mut self, at: Timestamp, authentication: CardAuthentication) {
        match authentication {
            CardAuthentication::Unchanged => {}
            CardAuthentication::Exempted(amount_cents) => {
                let payments = ExemptedPayments { payments: 1, amount_cents };
                let one = CountedExemptions { payments, last: minute(at) };
                self.exempted = Some(self.exempted.map_or(one, |before| before.plus(one)));
            }
            CardAuthentication::Authenticated => self.exempted = None,
        }
    }

    /// The payments under an exemption that count at `now`.
    pub(super) fn exempted(&self, now: Timestamp) -> ExemptedPayments {
        let counting = self.exempted.filter(|exempted| now < exempted.until());
        counting.map(|exempted| exempted.payments).unwrap_or_default()
    }

    /// Takes over what was counted under an older key of the ring.
    pub(super) fn take_over(&mut self, former: Self) {
        for (window, buckets) in former.buckets {
            let into = self.buckets.entry(window).or_default();
            for (start, counts) in buckets {
                let counted = into.entry(start).or_default();
                *counted = counted.plus(counts);
            }
        }
        for (tag, seen) in former.cards {
            let into = self.cards.entry(tag).or_insert(seen);
            *into = seen.max(*into);
        }
        self.exempted = match (self.exempted, former.exempted) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        };
        self.card = self.card.into_iter().chain(former.card).max_by_key(|card| card.at);
    }

    /// Whether nothing was ever counted in it, or all was taken over.
    pub(super) fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.exempted.is_none() && self.card.is_none()
    }

    /// What counts in `window` at `now`.
    pub(super) fn sum(&self, window: VelocityWindow, now: Timestamp) -> VelocitySum {
        let buckets = self.buckets.get(&window).into_iter().flatten();
        let counts = window.sum(now, buckets.map(|(start, counts)| (*start, *counts)));
        let cards = window.distinct(now, self.cards.iter().map(|(tag, seen)| (window.bucket_start(*seen), tag)));
        VelocitySum { counts, cards }
    }

    /// From when on nothing of it counts; the beginning of time when nothing does.
    pub(super) fn until(&self) -> Timestamp {
        let ends = |(window, buckets): (&VelocityWindow, &BTreeMap<Timestamp, _>)| {
            buckets.last_key_value().map(|(start, _)| window.ends_at(*start))
        };
        let of_card =
            self.exempted.map(CountedExemptions::until).into_iter().chain(self.card.map(ToldCardFacts::until));
        self.buckets.iter().filter_map(ends).chain(of_card).max().unwrap_or(Timestamp::from_micros(0))
    }

    fn newest(&self) -> Option<Timestamp> {
        let starts = self.buckets.values().filter_map(|buckets| buckets.last_key_value());
        starts.map(|(start, _)| *start).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(1_795_500_000_000_000 + second * 1_000_000)
    }

    fn card(newest: u8, former: &[u8]) -> HashedVelocityKey {
        let hash = |first: u8| VelocityHash([first; 32]);
        let former = former.iter().map(|first| hash(*first)).collect();
        HashedVelocityKey { key: dropin_risk::VelocityKey::Card, hash: hash(newest), former }
    }

    #[test]
    fn every_bucket_is_made_up_of_minutes() {
        for window in VelocityWindow::ALL {
            assert_eq!(window.bucket().as_secs() % 60, 0, "{window}");
            assert!(window.span() <= VelocityWindow::Day.span(), "cards are kept for a day");
        }
    }

    #[test]
    fn what_is_over_is_forgotten_and_what_a_slower_clock_needs_stays() {
        let mut counts = KeyCounts::default();
        counts.count_try(at(0), 5, Some(&card(1, &[])));
        counts.count_try(at(659), 5, None);
        assert_eq!(counts.sum(VelocityWindow::TenMinutes, at(659)).counts.tries, 2);
        counts.count_try(at(719), 5, None);
        assert_eq!(counts.sum(VelocityWindow::TenMinutes, at(659)).counts.tries, 3, "a clock that is a minute behind");
        assert_eq!(counts.sum(VelocityWindow::TenMinutes, at(719)).counts.tries, 2);
        counts.count_try(at(25 * 3_600 + 60), 5, None);
        assert!(counts.cards.is_empty());
        assert_eq!(counts.buckets.values().map(BTreeMap::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(counts.until(), at(50 * 3_600));
    }

    #[test]
    fn so_many_cards_are_told_apart_and_the_newest_of_them() {
        let mut counts = KeyCounts::default();
        for number in 0..=u16::try_from(MAX_CARDS).unwrap_or_default() {
            let mut one = card(0, &[]);
            one.hash.0[..2].copy_from_slice(&number.to_be_bytes());
            counts.count_try(at(i64::from(number) * 60), 0, Some(&one));
        }
        assert_eq!(counts.cards.len(), MAX_CARDS);
        assert!(!counts.cards.contains_key(&[0; 8]), "the one that was tried longest ago");
    }

    #[test]
    fn a_card_is_one_before_and_after_a_rotation() {
        let mut former = KeyCounts::default();
        former.count_try(at(0), 0, Some(&card(1, &[])));
        former.count_try(at(0), 0, Some(&card(2, &[])));
        let mut counts = KeyCounts::default();
        counts.take_over(former);
        counts.count_try(at(1), 0, Some(&card(11, &[1])));
        assert_eq!(counts.sum(VelocityWindow::Hour, at(1)).cards, 2);
        counts.count_try(at(2), 0, Some(&card(12, &[2])));
        assert_eq!(counts.sum(VelocityWindow::Hour, at(2)).cards, 2);
        assert_eq!(counts.sum(VelocityWindow::Hour, at(2)).counts.tries, 4);
    }
}
