//! Screens made-up weeks of a shop by the rules that are built in, and tells what of each attack was stopped and whom that bothered: a row for each seed that is
//! named, or for 1001 to 1003.
//!
//! ```text
//! cargo run --release -p dropin-risk --example traffic -- 1 2 3
//! ```
#![allow(clippy::unwrap_used, dead_code, reason = "the traffic is that of the tests, which use all of it")]

#[path = "../tests/traffic/attacks.rs"]
mod attacks;
#[path = "../tests/traffic/counters.rs"]
mod counters;
#[path = "../tests/traffic/honest.rs"]
mod honest;
#[path = "../tests/traffic/shop.rs"]
mod shop;
#[path = "../tests/traffic/week.rs"]
mod week;

use attacks::Attack;
use week::{FIRST_TRIES, Week, per_hundred_thousand};

/// Weeks that the rules were not tuned on.
const UNSEEN: [u64; 3] = [1_001, 1_002, 1_003];

fn main() {
    let named: Result<Vec<u64>, _> = std::env::args().skip(1).map(|seed| seed.parse()).collect();
    let Ok(mut seeds) = named else {
        eprintln!("a seed is a whole number, such as 1001");
        std::process::exit(2);
    };
    if seeds.is_empty() {
        seeds.extend(UNSEEN);
    }
    let attacks = Attack::ALL.map(|attack| format!("{attack:?}")).join(" | ");
    println!(
        "Stopped of an attack's tries after the first {FIRST_TRIES}; challenged and blocked of all honest payments.\n"
    );
    println!("| seed | {attacks} | challenged | blocked |");
    println!("|{}", "---|".repeat(Attack::ALL.len() + 3));
    for seed in seeds {
        println!("{}", row(seed, &week::attacked(seed)));
    }
}

fn row(seed: u64, week: &Week) -> String {
    let honest = week.honest.len();
    let stopped = Attack::ALL.map(|attack| {
        let (later, stopped) = week.attacks[&attack].later();
        percent(stopped, later)
    });
    let (challenged, blocked) = (percent(week.challenged.len(), honest), percent(week.blocked.len(), honest));
    format!("| {seed} | {} | {challenged} | {blocked} |", stopped.join(" | "))
}

/// In hundredths of a percent, rounded down.
fn percent(part: usize, whole: usize) -> String {
    let hundredths = per_hundred_thousand(part, whole) / 10;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}
