//! Card numbers that nobody else uses go through everything that a card can go through, right and wrong, and are then looked for wherever the
//! programs leave anything: in no spelling may one be found. What a merchant writes into texts of its own (references, ids, `X-Request-Id`) is
//! kept as it is; no card belongs there, and none is put there.

mod flows;
mod numbers;
mod search;

use std::path::Path;

use dropin_tests::{Topology, World, cards};

use flows::Flows;
use search::Needles;

/// The programs say everything, and refuse nobody for asking too often.
const VERBOSE_LOGS: &[(&str, &str)] = &[
    ("DROPIN_MERCHANT_RATE", "0"),
    ("RUST_LOG", "debug"),
    ("DROPIN_WRONG_PASSWORDS", "0"),
    ("DROPIN_CLIENT_RATE", "0"),
];

#[actix_web::test]
async fn twenty_numbers_are_found_nowhere_on_sqlite() {
    search_everywhere(Topology::AllInOne, 20).await;
}

#[actix_web::test]
#[ignore = "takes minutes; cargo xtask canary runs it"]
async fn two_hundred_numbers_are_found_nowhere_on_sqlite() {
    search_everywhere(Topology::AllInOne, 200).await;
}

#[actix_web::test]
#[ignore = "takes minutes; cargo xtask canary runs it"]
async fn two_hundred_numbers_are_found_nowhere_on_postgresql() {
    search_everywhere(Topology::Split, 200).await;
}

async fn search_everywhere(topology: Topology, count: usize) {
    let world = World::start_with(topology, VERBOSE_LOGS).await;
    world.set_wallet_up().await;
    let numbers = numbers::some(count);
    let flows = Flows::new(&world);
    for (at, number) in numbers.iter().enumerate() {
        flows.everything_wrong(at, number).await;
        // Nobody waits ten seconds for a processor that is silent in the short form.
        if 20 < count || number != cards::SILENT {
            flows.payment(at, number).await;
        }
    }
    world.check_reconciliation().await;
    let needles = Needles::of(&numbers);
    let mut said = flows.said();
    world.receiver.all().into_iter().for_each(|one| said.extend(one.bytes));
    // While everything runs: what is in a write-ahead log now may be gone after a stop.
    let mut found = needles.find("what the programs answered and told", &said);
    let mut searched = said.len() as u64;
    for folder in std::iter::once(world.data.clone()).chain(world.database_files()) {
        let (more, bytes) = needles.find_below(&folder);
        found.extend(more);
        searched += bytes;
    }
    if let Some(dump) = world.dump() {
        assert!(dump.contains("COPY public.stash"), "the dump has the stash");
        found.extend(needles.find("the dump of the database", dump.as_bytes()));
    }
    assert_eq!(found, Vec::<String>::new());
    println!("{} numbers in {} spellings: not in {} MiB", numbers.len(), needles.len(), searched >> 20);
    // There was something to find: the entries themselves, and what is planted.
    assert!(holds(&world.data, b"debug") || holds(&world.data, b"DEBUG"), "the programs said everything");
    let planted = world.data.join("planted.log");
    std::fs::write(&planted, format!("a line with {} in it\n", numbers[count - 1])).unwrap();
    assert_eq!(needles.find_below(&world.data).0.len(), 1, "the planted number is found, and nothing else");
    std::fs::remove_file(planted).unwrap();
    world.finish().await;
}

/// Whether a file right in the folder holds the text.
fn holds(folder: &Path, text: &[u8]) -> bool {
    let files = std::fs::read_dir(folder).unwrap().flatten().filter_map(|entry| std::fs::read(entry.path()).ok());
    files.into_iter().any(|bytes| memchr::memmem::find(&bytes, text).is_some())
}
