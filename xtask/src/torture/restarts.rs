//! Programs behind a load balancer are restarted one after the other while shoppers pay: no request fails.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Options;
use crate::bench::deployment::{Database, Deployment, PROCESSOR_KEY, SANDBOX, Service};
use crate::bench::payments::client::{Addresses, Client, ServiceAddress};
use crate::bench::payments::site::Shop;
use crate::bench::run_with;
use crate::command::succeeds;
use crate::failure::{Failure, Outcome};
use crate::programs::{Build, Programs, answers, free_address};
use crate::test::install::Need;

/// Shoppers who pay at the same time, each over one connection.
const SHOPPERS: usize = 8;
/// Between two calls of one shopper: the load is steady, and light enough for debug builds on two cores.
const PAUSE: Duration = Duration::from_millis(20);
/// haproxy's defaults: a check every 2 s, down after three that fail, up after two that succeed.
const HEALTH_CHECK_TIME: Duration = Duration::from_secs(6);
const HAPROXY: Need = Need { what: "haproxy", packages: &["haproxy"], is_there: has_haproxy };
const START: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Seen {
    requests: u64,
    payments: u64,
    failed: Vec<String>,
}

fn has_haproxy() -> bool {
    succeeds(Command::new("haproxy").arg("-v"))
}

/// Runs it on PostgreSQL, which serves several programs.
pub(super) fn run(options: &Options) -> Outcome<()> {
    let programs = ["dropin", SANDBOX];
    run_with(Build::Debug, options.databases.skip_build, &[HAPROXY], &programs, |bench| torture(bench, options))
}

fn torture(bench: &mut Programs, options: &Options) -> Outcome<Vec<String>> {
    let deployment = Deployment::new(bench, Database::Postgres)?;
    let merchant = deployment.merchant(bench, &[])?;
    let shop = Shop { authorization: merchant.authorization(), merchant_id: merchant.merchant_id, is_screened: false };
    let sandbox = deployment.start(bench, SANDBOX)?;
    let (front, addresses) = (free_address()?, [free_address()?, free_address()?]);
    let (processor, drain_delay) = (format!("http://{}", sandbox.address), options.drain_delay.to_string());
    let settings = [
        ("PROCESSOR_URL", processor.as_str()),
        ("PROCESSOR_KEY", PROCESSOR_KEY),
        ("DROPIN_DRAIN_DELAY", &drain_delay),
        ("DROPIN_MODE", "sandbox"),
        ("DROPIN_BEHIND_PROXY", "true"),
    ];
    let start = |bench: &mut Programs, address: SocketAddr| {
        deployment.launch(bench, "dropin", address, &["--target", "session-api,checkout-api,stash-api"], &settings)
    };
    let mut services = addresses.map(|address| start(bench, address)).into_iter().collect::<Outcome<Vec<Service>>>()?;
    let settings = bench.file("haproxy.cfg", &haproxy(front, addresses))?;
    let mut command = bench.tool("haproxy", Duration::from_secs(3_600));
    let mut balancer = bench.spawn("haproxy", command.arg("-db").arg("-f").arg(settings))?;
    balancer.wait_until("ready", START, || answers(front, "/healthz"))?;
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let seen = std::thread::scope(|scope| {
        let shoppers: Vec<_> = (0..SHOPPERS)
            .map(|number| {
                let (stop, shop) = (&stop, &shop);
                scope.spawn(move || pay_until(front, shop, number, stop))
            })
            .collect();
        let restarted = (0..options.restarts).try_for_each(|round| {
            let at = round as usize % services.len();
            std::thread::sleep(HEALTH_CHECK_TIME);
            bench.end(services.remove(at).program)?;
            services.insert(at, start(bench, addresses[at])?);
            println!("restart {} of {}", round + 1, options.restarts);
            Ok::<_, Failure>(())
        });
        std::thread::sleep(HEALTH_CHECK_TIME);
        stop.store(true, Ordering::Relaxed);
        let seen = shoppers.into_iter().map(|one| one.join().expect("a shopper does not panic"));
        restarted.and(seen.collect::<Outcome<Vec<_>>>())
    })?;
    let programs = services.into_iter().map(|service| service.program).chain([balancer, sandbox.program]);
    programs.into_iter().try_for_each(|program| bench.end(program))?;
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let failed: Vec<_> = seen.iter().flat_map(|one| one.failed.clone()).collect();
    println!(
        "{} restarts behind haproxy in {} s, drain delay {} s: {} requests, {} payments, {} failed.",
        options.restarts,
        begun.elapsed().as_secs(),
        options.drain_delay,
        sum(|one| one.requests),
        sum(|one| one.payments),
        failed.len(),
    );
    Ok(failed)
}

/// The balancer with its own defaults for checks; requests go round.
fn haproxy(front: SocketAddr, [one, two]: [SocketAddr; 2]) -> String {
    format!(
        "defaults\n  mode http\n  option forwardfor\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n\
         frontend front\n  bind {front}\n  default_backend dropin\n\
         backend dropin\n  balance roundrobin\n  option httpchk GET /readyz\n  server one {one} check\n  server two {two} check\n"
    )
}

/// Pays one Session after the other.
fn pay_until(front: SocketAddr, shop: &Shop, number: usize, stop: &AtomicBool) -> Outcome<Seen> {
    let mut seen = Seen::default();
    let addresses = Addresses::new(|_, prefix| Ok(ServiceAddress { address: front, prefix }))?;
    let mut client = Client::new(addresses, shop, "restarts", number);
    client.pause = PAUSE;
    for payment in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match client.pay_and_look(payment) {
            Ok(()) => seen.payments += 1,
            Err(failure) => seen.failed.push(failure.to_string()),
        }
    }
    seen.requests = client.requests;
    Ok(seen)
}
