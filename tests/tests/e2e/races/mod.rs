//! Races over HTTP: 64 clients at one thing, on both databases. Whoever wins, one of the results that docs/SPECIFICATION.md#sessions and
//! docs/SPECIFICATION.md#orders allow stands at the end, everybody is told what fits it, and the processor's journal agrees (World::finish).
//!
//! Few rounds by default; `DROPIN_RACE_ROUNDS=200` is the whole of it.

mod attempts;
mod captures;
mod contracts;
mod expiry;
mod late;
mod refunds;
mod routed;
mod sessions;
mod settler;

use std::collections::BTreeMap;

use dropin_tests::{Response, Topology, World};
use futures_util::future::join_all;

use crate::head_start;

/// Clients at once in every round.
const CLIENTS: usize = 64;
/// Rounds of each race on each database when nothing is said.
const FEW_ROUNDS: usize = 6;
/// Most rounds that are added until every outcome was seen.
const MORE_ROUNDS: usize = 60;

/// One machine is all clients.
const NO_LIMITS: [(&str, &str); 3] =
    [("DROPIN_CLIENT_RATE", "0"), ("DROPIN_MERCHANT_RATE", "0"), ("DROPIN_MAX_CONNECTIONS_PER_CLIENT", "0")];

fn rounds(few: usize) -> usize {
    let chosen = std::env::var("DROPIN_RACE_ROUNDS").ok();
    chosen.map_or(few, |text| text.parse().expect("DROPIN_RACE_ROUNDS is a number"))
}

/// Runs rounds until each of `outcomes` has been seen, and at least as many as are asked for, or `few`; `round` says which one it was. What `round` has
/// opened is closed before the end, when nobody may be connected any more.
async fn run(
    topology: Topology,
    environment: &[(&str, &str)],
    outcomes: &[&str],
    few: usize,
    round: impl AsyncFn(&World, usize) -> &'static str,
) {
    let world = World::start_with(topology, &[&NO_LIMITS, environment].concat()).await;
    let mut seen = BTreeMap::<_, usize>::new();
    for number in 0..rounds(few) + MORE_ROUNDS {
        if rounds(few) <= number && seen.len() == outcomes.len() {
            break;
        }
        *seen.entry(round(&world, number).await).or_default() += 1;
    }
    assert!(outcomes.iter().all(|outcome| seen.contains_key(outcome)), "{outcomes:?} were to be seen: {seen:?}");
    assert!(seen.keys().all(|outcome| outcomes.contains(outcome)), "{outcomes:?} alone were to be seen: {seen:?}");
    drop(round);
    world.finish().await;
}

/// Lets all racers of two sides run at once; see [`head_start`].
async fn race<A, B>(round: usize, ones: Vec<A>, others: Vec<B>) -> (Vec<Response>, Vec<Response>)
where
    A: Future<Output = Response>,
    B: Future<Output = Response>,
{
    let ones = async {
        head_start(round, 0).await;
        join_all(ones).await
    };
    let others = async {
        head_start(round, 1).await;
        join_all(others).await
    };
    futures_util::future::join(ones, others).await
}

/// Answers by status and code (of the error, or the capture's Reason), counted.
fn counted<'a>(answers: impl IntoIterator<Item = &'a Response>) -> BTreeMap<(u16, String), usize> {
    let mut counted = BTreeMap::new();
    for answer in answers {
        let body = answer.json();
        let code = [&body["Code"], &body["Reason"]["Code"], &body["State"]].into_iter().find_map(|code| code.as_str());
        *counted.entry((answer.status, code.unwrap_or_default().to_owned())).or_default() += 1;
    }
    counted
}

/// Fails when an answer is none of these.
#[track_caller]
fn only(answers: &[Response], allowed: &[(u16, &str)]) {
    for ((status, code), count) in counted(answers) {
        assert!(allowed.contains(&(status, code.as_str())), "{count} times {status} {code}; allowed: {allowed:?}");
    }
}

/// One race on both databases; `few` rounds when another number than the usual is enough, `with` variables of its own for every program.
macro_rules! race {
    ($(#[$doc:meta])* $name:ident: $round:expr => $outcomes:expr) => {
        $crate::races::both_databases! { $(#[$doc])* $name: $round => $outcomes, few $crate::races::FEW_ROUNDS, with &[] }
    };
    ($(#[$doc:meta])* $name:ident: $round:expr => $outcomes:expr, few $few:expr) => {
        $crate::races::both_databases! { $(#[$doc])* $name: $round => $outcomes, few $few, with &[] }
    };
    ($(#[$doc:meta])* $name:ident: $round:expr => $outcomes:expr, with $environment:expr) => {
        $crate::races::both_databases! {
            $(#[$doc])* $name: $round => $outcomes, few $crate::races::FEW_ROUNDS, with $environment
        }
    };
    ($(#[$doc:meta])* $name:ident: $round:expr => $outcomes:expr, few $few:expr, with $environment:expr) => {
        $(#[$doc])*
        mod $name {
            #[actix_web::test]
            async fn all_in_one_on_sqlite() {
                $crate::races::run(dropin_tests::Topology::AllInOne, $environment, &$outcomes, $few, $round).await;
            }

            #[actix_web::test]
            async fn every_program_on_postgresql() {
                $crate::races::run(dropin_tests::Topology::Split, $environment, &$outcomes, $few, $round).await;
            }
        }
    };
}
use race as both_databases;
