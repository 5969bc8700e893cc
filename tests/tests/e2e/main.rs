//! One binary; a module per chapter. Every case is written once and runs in both topologies (see `both!`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod account_disputes;
mod admin;
mod audit_log;
mod browser;
mod canary;
mod cancels;
mod catalogue;
mod checkout;
mod contract_commands;
mod contracts;
mod disputes;
mod drop_in;
mod events;
mod faults;
mod hosted;
mod hygiene;
mod keys;
mod localstripe;
mod localstripe_faults;
mod notifications;
mod numbers;
mod own_methods;
mod payment;
mod processors;
mod races;
mod rates;
mod refunds;
mod refused_cards;
mod repeats;
mod reviews;
mod sample;
mod saved_cards;
mod saved_cards_drop_in;
mod screening;
mod session;
mod settler;
mod shop;
mod stripe;
mod subscriptions;
mod tenants;
mod tools;
mod transfers;
mod wallet;

use std::time::Duration;

use dropin_store::{Role, Store, StoreConfig};
use dropin_tests::until;

/// What a Session with AutoCapture that is paid sends.
const PAID: [&str; 3] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];
/// What one without sends until it is captured.
const AUTHORIZED: [&str; 2] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED"];
/// What the processor does for a Session of 29.90 that is paid.
const CHARGED: [(&str, &str, &str); 2] = [("AUTHORIZE", "APPROVED", "29.90"), ("CAPTURE", "APPROVED", "29.90")];

/// The deployment's database, for what no program shows.
fn open_store(world: &dropin_tests::World) -> Store {
    Store::open(StoreConfig::new(world.database_url(), Role::Tool)).expect("the deployment's database")
}

/// The answer has this status and the code of an Error object.
#[track_caller]
fn is_refused(answer: &dropin_tests::Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.text());
}

/// The request is refused, for this field at least.
#[track_caller]
fn is_refused_for(answer: &dropin_tests::Response, field: &str, code: &str) {
    is_refused(answer, 400, "INVALID_REQUEST");
    let body = answer.json();
    let errors = body["FieldErrors"].as_array().expect("it names fields");
    assert!(errors.iter().any(|one| one["Field"] == field && one["Code"] == code), "{body}");
}

/// Whether the payment was made (COMPLETED) or not (CREATED), after a browser has repeated, with the same attempt, what was not answered.
async fn come_to_rest(world: &dropin_tests::World, session: &str, attempt: &dropin_tests::Stashed) -> String {
    let shopper = world.shopper(session);
    until("an answer", Duration::from_secs(30), async || {
        shopper.try_submit(1, attempt).await.ok().filter(|answer| answer.status == 200)
    })
    .await;
    until("rest", Duration::from_secs(60), async || {
        let state = world.merchant.session(session).await["State"].as_str().unwrap_or_default().to_owned();
        (state == "COMPLETED" || state == "CREATED").then_some(state)
    })
    .await
}

/// Keeps one of two racers back: from round to round the other one, and by a longer while, so that near misses come first and each wins some rounds
/// on a machine of any speed.
async fn head_start(round: usize, racer: usize) {
    // Up to a second: a machine that is busy with other tests takes a third of one.
    let step = (round / 2 % 33) as u64;
    let while_ = if round % 2 == racer { step * step } else { 0 };
    tokio::time::sleep(Duration::from_millis(while_)).await;
}

/// Runs a case once per topology, each as a test of its own; `with` gives variables to every program.
#[macro_export]
macro_rules! both {
    (with $environment:expr; $($cases:tt)+) => { $crate::both!(@ $environment; $($cases)+); };
    (@ $environment:expr; $($(#[$doc:meta])* async fn $name:ident($world:ident: &World) $body:block)+) => {
        $(
            $(#[$doc])*
            async fn $name($world: &dropin_tests::World) $body
        )+
        mod all_in_one_on_sqlite {
            $(
                #[actix_web::test]
                async fn $name() {
                    let topology = dropin_tests::Topology::AllInOne;
                    let world = dropin_tests::World::start_with(topology, $environment).await;
                    super::$name(&world).await;
                    world.finish().await;
                }
            )+
        }
        mod every_program_on_postgresql {
            $(
                #[actix_web::test]
                async fn $name() {
                    let topology = dropin_tests::Topology::Split;
                    let world = dropin_tests::World::start_with(topology, $environment).await;
                    super::$name(&world).await;
                    world.finish().await;
                }
            )+
        }
    };
    ($($cases:tt)+) => { $crate::both!(@ &[]; $($cases)+); };
}
