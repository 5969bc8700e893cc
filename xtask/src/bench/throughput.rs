//! `cargo xtask bench rates` and `cargo xtask bench stash`: how many of one request a service answers per second.

use std::cell::Cell;
use std::time::Duration;

use super::compare::{Contender, compare, each};
use super::deployment::{Database, Deployment, Service};
use super::load::Load;
use super::{RunOptions, WRK, describe, goal, run_with};
use crate::failure::{Failure, Outcome};
use crate::http1::Client;
use crate::programs::{Build, Programs, answers};

/// What is asked, of whom, and what must be so.
pub(crate) struct Scenario {
    what: &'static str,
    /// So many per second are wanted on PostgreSQL.
    wanted: f64,
    /// The program on PostgreSQL, and one beside it.
    program: &'static str,
    beside: Option<&'static str>,
    /// Where the all-in-one has it.
    mount: &'static str,
    merchant: &'static [&'static str],
    method: &'static str,
    /// Ends with the merchant's id and `end`.
    path: &'static str,
    end: &'static str,
    header: Option<&'static str>,
    body: Option<&'static str>,
    prepare: fn(&mut Service, &str) -> Outcome<()>,
    /// Counts what the database holds: at least what was accepted.
    stored: Option<&'static str>,
}

pub(crate) const RATES: Scenario = Scenario {
    what: "answers",
    wanted: 10_000.0,
    program: "session-api",
    beside: Some("settler"),
    mount: "",
    merchant: &["--rates", "guaranteed"],
    method: "GET",
    path: "/v2.2/getRates?merchantId=",
    end: "",
    header: None,
    body: None,
    prepare: wait_for_rates,
    stored: None,
};

pub(crate) const STASH: Scenario = Scenario {
    what: "cards",
    wanted: 5_000.0,
    program: "stash-api",
    beside: None,
    mount: "/stash",
    merchant: &[],
    method: "POST",
    path: "/",
    end: "/",
    header: Some("Content-Type: application/x-www-form-urlencoded"),
    body: Some(FORM),
    prepare: |_, _| Ok(()),
    stored: Some("SELECT count(*) FROM stash"),
};

/// A form as browsers send it, with a place for the fingerprint: a published test number (docs/SPECIFICATION.md#test-numbers).
const FORM: &str = "DeviceFingerprint=@REFERENCE@&card=%7B%22Name%22%3A%22Ada+Lovelace%22%2C%22Number%22%3A%224242+4242+4242+4242%22%2C\
    %22VerificationCode%22%3A%22123%22%2C%22Expiry%22%3A%7B%22Year%22%3A%222099%22%2C%22Month%22%3A%2212%22%7D%7D";

/// How long the settler may take to read the rate source.
const RATES_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn task(options: &RunOptions, scenario: &Scenario) -> Outcome<()> {
    let programs: Vec<_> = [scenario.program, "dropin"].into_iter().chain(scenario.beside).collect();
    run_with(Build::Release, options.databases.skip_build, &[WRK], &programs, |bench| {
        options.rounds(8, 1).describe();
        describe(bench)?;
        options
            .databases
            .databases()
            .into_iter()
            .try_for_each(|database| measure(bench, options, scenario, database))?;
        Ok(Vec::new())
    })
}

fn measure(bench: &mut Programs, options: &RunOptions, scenario: &Scenario, database: Database) -> Outcome<()> {
    let deployment = Deployment::new(bench, database)?;
    let merchant = deployment.merchant(bench, scenario.merchant)?.merchant_id;
    let mut service = deployment.start(bench, scenario.program)?;
    let (name, mount) = match database {
        Database::Postgres => (format!("{} on PostgreSQL", scenario.program), ""),
        Database::Sqlite => ("the all-in-one on SQLite".to_owned(), scenario.mount),
    };
    let beside = scenario.beside.filter(|_| deployment.is_postgres());
    let beside = beside.map(|name| deployment.start(bench, name)).transpose()?;
    let path = format!("{mount}{}{merchant}{}", scenario.path, scenario.end);
    (scenario.prepare)(&mut service, &path)?;
    let idle = service.program.idle_memory()?;
    let headers = scenario.header.into_iter().map(str::to_owned).collect();
    let load = Load { method: scenario.method, path, headers, body: scenario.body, known: None };
    let accepted = Cell::new(0);
    // The warm-up is counted too.
    let contender = Contender::new(&name, |seconds| {
        let mut sample = load.run(bench, &service, seconds, None)?;
        accepted.set(accepted.get() + sample.done);
        sample.figures.push(("idle MiB".to_owned(), idle));
        match sample.get("refused").filter(|refused| 0.0 < *refused) {
            Some(refused) => Err(Failure::new(format!("{refused} answers were refusals"))),
            None => Ok(sample),
        }
    });
    let row = compare(&name, &[contender], options.rounds(8, 1))?.remove(0);
    println!("\n### {name}\n\n{}", each(std::slice::from_ref(&row)));
    if let Some(sql) = scenario.stored {
        check_stored(scenario.what, deployment.number(bench, sql)?, accepted.get())?;
    }
    if deployment.is_postgres() {
        let (reached, wanted, what) = (row.per_second(), scenario.wanted, scenario.what);
        let shown = format!("{reached:.0} {what} per second on PostgreSQL; wanted: {wanted}");
        print!("{}", goal(reached >= wanted, &shown));
    }
    beside.into_iter().chain([service]).try_for_each(|service| bench.end(service.program))
}

/// Fails when the database holds fewer than were accepted. It may hold more: the last answers of a run are not waited for.
fn check_stored(what: &str, stored: u64, accepted: u64) -> Outcome<()> {
    println!("{stored} {what} are stored; {accepted} were accepted.");
    if stored < accepted {
        return Err(Failure::new(format!("only {stored} {what} are stored of {accepted} that were accepted")));
    }
    Ok(())
}

fn wait_for_rates(service: &mut Service, path: &str) -> Outcome<()> {
    let address = service.address;
    service.program.wait_until("showing rates", RATES_TIMEOUT, || answers(address, path))?;
    let (_, body) = Client::connect(address, "")?.send("GET", path, "")?;
    if body.matches("\"Rate\"").count() != 60 {
        return Err(Failure::new(format!("60 offers should be shown, and this is: {body}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_has_one_place_for_a_name_and_a_published_number() {
        assert_eq!((FORM.matches("@REFERENCE@").count(), FORM.matches("4242+4242+4242+4242").count()), (1, 1));
        assert!(!FORM.contains([' ', '\n', '"', '{']), "{FORM}");
    }

    #[test]
    fn every_accepted_request_must_be_stored() {
        assert!(check_stored("cards", 1_000, 1_000).is_ok() && check_stored("cards", 1_032, 1_000).is_ok());
        assert!(check_stored("cards", 999, 1_000).is_err());
    }
}
