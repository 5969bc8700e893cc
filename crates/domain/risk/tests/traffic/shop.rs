//! What shoppers and attackers have in common: a try to pay, and draws from a seed.

use dropin_risk::{FactText, Facts};
use dropin_validation::Country;

use crate::attacks::Attack;

/// Seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// Who tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payer {
    /// A shopper, in a payment with this number.
    Honest(u64),
    Attacker(Attack),
}

/// One try to pay with a card.
#[derive(Debug, Clone)]
pub(crate) struct Try {
    /// Seconds since the week began.
    pub(crate) at: u64,
    pub(crate) payer: Payer,
    pub(crate) card: u64,
    pub(crate) session: u64,
    pub(crate) facts: Facts,
    /// Whether the issuer says yes.
    pub(crate) is_approved: bool,
    /// Whether who tries can pass a challenge.
    pub(crate) is_owner: bool,
}

/// Numbers from a seed.
pub(crate) struct Draw(fastrand::Rng);

impl Draw {
    /// `stream` keeps apart what is drawn for different things.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(stream)))
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.u64(0..end)
    }

    /// Whether something that happens this many times in a thousand happens.
    pub(crate) fn in_thousand(&mut self, times: u64) -> bool {
        self.below(1_000) < times
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.usize(0..all.len())]
    }

    /// A number that nothing else has.
    pub(crate) fn unique(&mut self) -> u64 {
        self.0.u64(..)
    }
}

/// Countries that people and cards come from.
pub(crate) const COUNTRIES: [&str; 14] =
    ["AT", "BE", "BG", "BR", "CH", "CZ", "DE", "ES", "FR", "GB", "IT", "PL", "RO", "US"];

pub(crate) fn country(code: &str) -> Option<Country> {
    Some(code.parse().unwrap())
}

pub(crate) fn text(text: &str) -> Option<FactText> {
    Some(FactText::new(text))
}
