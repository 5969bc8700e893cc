//! The built-in rules against a week of a shop's traffic with six attacks in it, made up from a seed: what is stopped, and whom that bothers.
//!
//! The rules were tuned on the seeds 1 to 9 and again after the seeds 101 to 110 had been seen. The tests run on others.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod attacks;
mod counters;
mod honest;
mod shop;
mod week;

use dropin_risk::Rules;

use attacks::Attack;
use shop::DAY;
use week::{FIRST_TRIES, per_hundred_thousand, screened};

/// That the goals hold in the week of `seed`; prints what was seen.
#[track_caller]
fn check(seed: u64) {
    let week = week::attacked(seed);
    let honest = week.honest.len();
    let (challenged, blocked) = (week.challenged.len(), week.blocked.len());
    println!("seed {seed}: of {honest} honest payments {challenged} were challenged and {blocked} blocked");
    for (why, times) in &week.why {
        println!("    {times} x {why}");
    }
    for (attack, stopped) in &week.attacks {
        let (later, of_them) = stopped.later();
        println!("  {attack:?}: of {later} tries after the first {FIRST_TRIES}, {of_them} were stopped");
    }
    assert_eq!(week.attacks.len(), Attack::ALL.len());
    for (attack, stopped) in &week.attacks {
        let (later, of_them) = stopped.later();
        assert!(
            30 <= later && 99_000 <= per_hundred_thousand(of_them, later),
            "seed {seed}, {attack:?}: {of_them} of {later}"
        );
    }
    assert!(10_000 < honest);
    assert!(per_hundred_thousand(challenged, honest) <= 500, "seed {seed}: {challenged} of {honest} challenged");
    assert!(per_hundred_thousand(blocked, honest) <= 50, "seed {seed}: {blocked} of {honest} blocked");
}

#[test]
fn attacks_are_stopped_and_honest_shoppers_pay_1001() {
    check(1_001);
}

#[test]
fn attacks_are_stopped_and_honest_shoppers_pay_1002() {
    check(1_002);
}

#[test]
fn attacks_are_stopped_and_honest_shoppers_pay_1003() {
    check(1_003);
}

/// In a shop so busy that honest shoppers who leave at the challenges of an alarm are more than the declines that make one.
#[test]
fn an_alarm_ends_though_honest_shoppers_leave_at_its_challenges() {
    let attack = Attack::FreshEachTime.tries(3_001);
    let moments: Vec<_> = attack.iter().map(|one| one.at).collect();
    let (begun, ended) = (moments[0], moments[moments.len() - 1]);
    let mut tries = honest::tries(3_001, begun / DAY..begun / DAY + 1, 60_000);
    tries.retain(|one| (begun - 2 * 3_600..ended + 3_600).contains(&one.at));
    tries.extend(attack);
    tries.sort_by_key(|one| one.at);
    let week = screened(tries, &Rules::built_in());
    let (challenged, of_them) = (week.challenged.len(), week.honest.len());
    let (first, last) = (*week.alarm.first().unwrap(), *week.alarm.last().unwrap());
    println!("of {of_them} honest payments {challenged} were challenged, from {first} to {last} of {begun} to {ended}");
    assert!((begun..ended).contains(&first), "before {begun}: {first}");
    // Ten minutes in which the tries of the attack count, and the rest of their minute.
    assert!(last < ended + 11 * 60, "{} minutes after the attack", (last - ended) / 60);
    // And all the while none of them gets through but one or two while the declines are just those of an alarm.
    let tries = week.attacks[&Attack::FreshEachTime].tries().zip(moments);
    let through: Vec<_> = tries.filter(|(is_stopped, at)| !is_stopped && first < *at).map(|(_, at)| at).collect();
    assert!(through.len() <= 2, "{through:?}");
}

#[test]
fn without_an_attack_hardly_anybody_is_asked() {
    let week = screened(honest::week(2_001), &Rules::built_in());
    let (honest, challenged, blocked) = (week.honest.len(), week.challenged.len(), week.blocked.len());
    println!("seed 2001, no attack: of {honest} honest payments {challenged} were challenged and {blocked} blocked");
    println!("{:#?}", week.why);
    assert!(per_hundred_thousand(challenged, honest) <= 250, "{challenged} of {honest} challenged");
    assert!(per_hundred_thousand(blocked, honest) <= 50, "{blocked} of {honest} blocked");
}
