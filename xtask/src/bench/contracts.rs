//! `cargo xtask bench contracts`: charges of contracts beside checkouts by card, and the list of a shopper's contracts when there are very many.

use clap::Args;

use super::compare::{Contender, compare, latencies};
use super::deployment::Database;
use super::fill::SQLITE_ID;
use super::load::Load;
use super::payments::client::PaymentFlow;
use super::payments::site::Site;
use super::payments::{self, SiteOptions};
use super::run::Bench;
use super::{WRK, goal};
use crate::failure::Outcome;

/// Contracts of one billing profile, of which there are so many more.
const CONTRACTS_OF_PROFILE: u64 = 5;
/// Billing profiles whose contracts are asked for in turn.
const ASKED_PROFILES: u64 = 10_000;
/// Lists per second: a rate at which they do not wait for each other.
const LISTS_PER_SECOND: u32 = 200;
const P99_MAX_MS: f64 = 5.0;

/// What every copy of a contract shares.
const COPIED: &str = "merchant_id, revision, state, kind, payment_method, currency, consent_text_version, consent_locale, consent_at, card_scheme, \
                      card_last_four, card_expiry, card_number_since, card_updated_at, network_transaction_id, created_at, updated_at, due_at";
/// Copies of one that the service made, with ids and references of their own. A slash before a profile's number: the load generator puts the number there.
const FILL: &str = "INSERT INTO contract (id, reference, billing_profile_reference, @COPIED@) \
                    SELECT @ID@, 'filled-' || number, 'profile/' || (number / @SHARE@), @COPIED@ FROM (SELECT * FROM contract LIMIT 1) AS one, @NUMBERS@";

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

/// Runs the task.
pub(crate) fn task(options: &Options) -> Outcome<()> {
    payments::run(&options.site, &[WRK], &[PaymentFlow::Checkout, PaymentFlow::Contract], |bench, site, measured| {
        if let [card, contract] = measured.iter().map(|one| one.per_second).collect::<Vec<_>>()[..] {
            println!(
                "Charges of contracts: {contract:.0} per second; checkouts by card: {card:.0}, ratio {:.2}.",
                contract / card
            );
        }
        list(bench, options, site)
    })
}

/// Asks for the contracts of one billing profile after the other.
fn list(bench: &mut Bench, options: &Options, site: &mut Site) -> Outcome<()> {
    let stored = options.stored.unwrap_or(if options.site.run.quick { 10_000 } else { 1_000_000 });
    site.stop(bench)?;
    fill(bench, site, stored)?;
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
    let contender = Contender::new(&name, None, |seconds| load.run(bench, &service, seconds, Some(LISTS_PER_SECOND)));
    let rows = compare("lists", &[contender], options.site.rounds())?;
    println!("\n### Lists of contracts\n\n{}", latencies(&rows));
    let p99 = rows[0].median(|sample| sample.p99_ms);
    print!("{}", goal(p99 <= P99_MAX_MS, &format!("{name}: p99 {p99:.1} ms; wanted: {P99_MAX_MS} ms")));
    bench.end(service.program)
}

fn fill(bench: &Bench, site: &Site, stored: u64) -> Outcome<()> {
    let (id, numbers, afterwards) = match site.deployment.database {
        Database::Postgres => {
            ("gen_random_uuid()", format!("generate_series(1, {stored}) AS number"), "VACUUM (ANALYZE) contract")
        }
        Database::Sqlite => {
            let numbers = format!(
                "WITH RECURSIVE of (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM of WHERE number < {stored}) SELECT number FROM of"
            );
            (SQLITE_ID, format!("({numbers})"), "PRAGMA wal_checkpoint(TRUNCATE)")
        }
    };
    let sql = FILL.replace("@COPIED@", COPIED).replace("@ID@", id).replace("@NUMBERS@", &numbers);
    let sql = sql.replace("@SHARE@", &CONTRACTS_OF_PROFILE.to_string());
    // A file that is thrown away need not survive a power cut.
    let quickly =
        if site.deployment.is_postgres() { "" } else { "PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; " };
    site.deployment.sql(bench, &format!("{quickly}{sql}"))?;
    site.deployment.sql(bench, afterwards).map(drop)
}
