//! A week of a shop's tries, screened in their order.

use std::collections::{BTreeMap, BTreeSet};

use dropin_risk::{Decision, Rules};

use crate::attacks::Attack;
use crate::counters::Counters;
use crate::honest;
use crate::shop::{Payer, Try};

/// Tries of an attack that may get through before it is known for one.
pub(crate) const FIRST_TRIES: usize = 20;

/// What became of an attack's tries, in their order.
#[derive(Default)]
pub(crate) struct Stopped(Vec<bool>);

impl Stopped {
    /// Whether each try was stopped, in their order.
    pub(crate) fn tries(&self) -> impl Iterator<Item = bool> {
        self.0.iter().copied()
    }

    /// Tries after the first 20, and how many of them were stopped.
    pub(crate) fn later(&self) -> (usize, usize) {
        let later = self.0.iter().skip(FIRST_TRIES);
        (later.len(), later.filter(|stopped| **stopped).count())
    }
}

/// What a week came to.
#[derive(Default)]
pub(crate) struct Week {
    pub(crate) honest: BTreeSet<u64>,
    pub(crate) challenged: BTreeSet<u64>,
    pub(crate) blocked: BTreeSet<u64>,
    pub(crate) attacks: BTreeMap<Attack, Stopped>,
    /// When a try was screened while the declines jumped.
    pub(crate) alarm: Vec<u64>,
    /// What the honest shoppers who were bothered were told for: reasons and how often.
    pub(crate) why: BTreeMap<String, usize>,
}

/// Screens `tries` in their order, counting as the service does.
pub(crate) fn screened(tries: Vec<Try>, rules: &Rules) -> Week {
    let (mut counters, mut week) = (Counters::default(), Week::default());
    for one in tries {
        let mut facts = one.facts.clone();
        facts.velocity = counters.with(&one);
        let screening = rules.screen(facts);
        let decision = screening.decision();
        counters.count(&one, &screening);
        if screening.is_in_alarm() {
            week.alarm.push(one.at);
        }
        match one.payer {
            Payer::Attacker(attack) => {
                // Nobody who tests cards can pass the challenge of their owners.
                let stopped = decision.asks_authentication() || !decision.asks_processor();
                week.attacks.entry(attack).or_default().0.push(stopped);
            }
            Payer::Honest(payment) => {
                week.honest.insert(payment);
                match decision {
                    Decision::Allow => {}
                    Decision::Challenge | Decision::Review => drop(week.challenged.insert(payment)),
                    Decision::Block => drop(week.blocked.insert(payment)),
                }
                if decision != Decision::Allow {
                    let reasons: Vec<String> = screening.reasons().iter().map(|one| one.code.to_string()).collect();
                    *week.why.entry(reasons.join(" ")).or_default() += 1;
                }
            }
        }
    }
    week
}

/// Parts of `whole` in hundred thousands.
pub(crate) fn per_hundred_thousand(part: usize, whole: usize) -> usize {
    part * 100_000 / whole
}

/// The week of `seed` with all its attacks, screened by the rules that are built in.
pub(crate) fn attacked(seed: u64) -> Week {
    let mut tries = honest::week(seed);
    for attack in Attack::ALL {
        tries.extend(attack.tries(seed));
    }
    tries.sort_by_key(|one| one.at);
    screened(tries, &Rules::built_in())
}
