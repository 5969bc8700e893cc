//! `cargo xtask bench contracts`: charges of contracts beside checkouts by card, and the list of a shopper's contracts when there are very many.

use std::time::Duration;

use clap::Args;

use super::compare::{Contender, Row, compare, each};
use super::fill::{Copies, fill};
use super::load::Load;
use super::payments::client::PaymentFlow;
use super::payments::site::Site;
use super::payments::{self, SiteOptions};
use super::{WRK, goal};
use crate::failure::Outcome;
use crate::programs::Programs;

/// Contracts of one billing profile, of which there are so many more.
const CONTRACTS_OF_PROFILE: u64 = 5;
/// Billing profiles whose contracts are asked for in turn.
const ASKED_PROFILES: u64 = 10_000;
/// Lists per second: a rate at which they do not wait for each other.
const LISTS_PER_SECOND: u32 = 200;
const P99_MAX_MS: f64 = 5.0;

/// Copies have ids and references of their own. A slash before a profile's number: the load generator puts the number there.
const CONTRACTS: Copies<'static> = Copies {
    what: "contracts",
    postgres: "INSERT INTO contract (id, reference, billing_profile_reference, @COPIED@) \
               SELECT gen_random_uuid(), 'filled-' || number, 'profile/' || (number / 5), @COPIED@ \
               FROM (SELECT * FROM contract LIMIT 1) AS one, generate_series(@FIRST@, @LAST@) AS number;",
    // A file that is thrown away need not survive a power cut.
    sqlite: "PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; \
             WITH RECURSIVE numbers (number) AS \
             (SELECT @FIRST@ UNION ALL SELECT number + 1 FROM numbers WHERE number < @LAST@) \
             INSERT INTO contract (id, reference, billing_profile_reference, @COPIED@) \
             SELECT @ID@, 'filled-' || number, 'profile/' || (number / 5), @COPIED@ \
             FROM (SELECT * FROM contract LIMIT 1) AS one, numbers;",
    columns: "merchant_id, revision, state, kind, payment_method, currency, consent_text_version, consent_locale, consent_at, card_scheme, \
              card_last_four, card_expiry, card_number_since, card_updated_at, network_transaction_id, created_at, updated_at, due_at",
    time_max: Duration::MAX,
};

/// Measures two ways to pay from server to server in turn: with a card of the stash, and by the charge of a contract. Each client opens one contract and
/// charges it again and again. Then copies of one make up a great number of contracts, and lists of a billing profile's contracts are asked for at a fixed
/// rate.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    site: SiteOptions,
    /// Contracts that are stored when they are listed [default: 1,000,000; 10,000 with --quick]
    #[arg(long)]
    stored: Option<u64>,
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    payments::run(&options.site, &[WRK], &[PaymentFlow::Checkout, PaymentFlow::Contract], |bench, site, rows| {
        if let [card, contract] = rows.iter().map(Row::per_second).collect::<Vec<_>>()[..] {
            println!(
                "Charges of contracts: {contract:.0} per second; checkouts by card: {card:.0}, ratio {:.2}.",
                contract / card
            );
        }
        list(bench, options, site)
    })
}

/// Asks for the contracts of one billing profile after the other.
fn list(bench: &mut Programs, options: &Options, site: &mut Site) -> Outcome<()> {
    let stored = options.stored.unwrap_or(if options.site.run.quick { 10_000 } else { 1_000_000 });
    site.stop(bench)?;
    fill(bench, &site.deployment, &CONTRACTS, 0, stored)?;
    let service = site.deployment.start(bench, "session-api")?;
    let profiles = 1..(stored / CONTRACTS_OF_PROFILE).min(ASKED_PROFILES);
    let known: String = profiles.map(|number| format!("{number} {number}\n")).collect();
    let known = bench.file("profiles", &known)?;
    let load = Load {
        method: "GET",
        path: "/v1/contract?BillingProfileReference=profile/".to_owned(),
        headers: vec![format!("Authorization: {}", site.shops[0].authorization)],
        known: Some(&known),
        ..Load::default()
    };
    let count = site.deployment.number(bench, "SELECT count(*) FROM contract")?;
    let name = format!("a profile's {CONTRACTS_OF_PROFILE} contracts of {count}");
    let contender = Contender::new(&name, |seconds| load.run(bench, &service, seconds, Some(LISTS_PER_SECOND)));
    let rows = compare("lists", &[contender], options.site.rounds())?;
    println!("\n### Lists of contracts\n\n{}", each(&rows));
    let p99 = rows[0].figure("p99 ms");
    print!("{}", goal(p99 <= P99_MAX_MS, &format!("{name}: p99 {p99:.1} ms; wanted: {P99_MAX_MS} ms")));
    bench.end(service.program)
}
