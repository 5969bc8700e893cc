//! A whole deployment: on PostgreSQL every service is a program of its own, on SQLite one program is all of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::talk::{Door, Meeting, Shop};
use crate::bench::memory::OTHERS;
use crate::bench::run::Bench;
use crate::bench::service::{HIGH_LIMITS, Kind, START, configured};
use crate::command::captured;
use crate::failure::{Failure, Outcome};
use crate::programs::{Credentials, Program, answers, free_address};

/// The key by which the service is known to the sandbox processor.
pub(crate) const PROCESSOR_KEY: &str = "bench";

/// All load comes from one address, over more connections than one client should have.
const ANY_NUMBER_OF_CONNECTIONS: (&str, &str) = ("DROPIN_MAX_CONNECTIONS_PER_CLIENT", "0");

/// How the service is cut into programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    /// Every service its own.
    Apart,
    /// The all-in-one.
    Together,
}

/// What runs, and how it is reached.
pub(crate) struct Deployment {
    pub(crate) kind: Kind,
    pub(crate) folder: PathBuf,
    pub(crate) programs: Vec<(&'static str, Program)>,
    pub(crate) meeting: Meeting,
    /// The sandbox processor.
    pub(crate) processor: Door,
}

/// Where every service is found.
type Doors = BTreeMap<&'static str, Door>;

impl Deployment {
    /// Prepares the database, creates the merchants with endpoints at `hook`, and starts the programs.
    pub(crate) fn start(bench: &mut Bench, kind: Kind, cut: Cut, hook: SocketAddr, merchants: usize) -> Outcome<Self> {
        let folder = bench.new_folder(&bench.new_name())?;
        if let Kind::Postgres(name) = &kind {
            bench.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        }
        let shops = (0..merchants).map(|number| shop(bench, &kind, &folder, hook, number));
        let shops = shops.collect::<Outcome<Vec<_>>>()?;
        let doors = doors(cut)?;
        let programs = match cut {
            Cut::Apart => start_apart(bench, &kind, &folder, &doors)?,
            Cut::Together => vec![("dropin", start_together(bench, &kind, &folder, &doors)?)],
        };
        let door = |name: &str| doors[name].clone();
        let (session, checkout, stash) = (door("session-api"), door("checkout-api"), door("stash-api"));
        let server = match cut {
            Cut::Apart => checkout.clone(),
            Cut::Together => Door { prefix: "/checkout".to_owned(), ..checkout.clone() },
        };
        let meeting = Meeting { session, checkout, server, stash, shops, paid: folder.join("paid") };
        Ok(Self { kind, folder, programs, meeting, processor: door("sandbox-processor") })
    }

    /// Has the service compare its own books with the processor's; fails with what it says when they differ.
    pub(crate) fn verify_ledger(&self, bench: &Bench) -> Outcome<()> {
        let Door { address, prefix } = &self.processor;
        let mut verify = configured(bench, "dropin", &self.kind, &self.folder);
        verify.args(["ledger", "verify"]).env("PROCESSOR_URL", format!("http://{address}{prefix}"));
        captured(verify.env("PROCESSOR_KEY", PROCESSOR_KEY)).map(drop)
    }

    /// Stops the programs.
    pub(crate) fn stop(self, bench: &mut Bench) -> Outcome<()> {
        self.programs.into_iter().try_for_each(|(_, program)| bench.end(program))
    }
}

fn shop(bench: &Bench, kind: &Kind, folder: &Path, hook: SocketAddr, number: usize) -> Outcome<Shop> {
    let url = format!("http://{hook}/hook/{number}");
    let dropin = || configured(bench, "dropin", kind, folder);
    let credentials = Credentials::create(dropin, &["--name", "Bench", "--webhook-url", &url])?;
    let authorization = credentials.authorization();
    let secret = credentials.webhook_secret.ok_or_else(|| Failure::new("a merchant was made without an endpoint"))?;
    Ok(Shop { merchant_id: credentials.merchant_id, authorization, secret })
}

fn doors(cut: Cut) -> Outcome<Doors> {
    let prefixes =
        [("session-api", ""), ("checkout-api", "/asset"), ("stash-api", "/stash"), ("sandbox-processor", "/sandbox")];
    let mut doors = Doors::new();
    match cut {
        Cut::Together => {
            let address = free_address()?;
            doors.extend(prefixes.map(|(name, prefix)| (name, Door { address, prefix: prefix.to_owned() })));
        }
        Cut::Apart => {
            for name in OTHERS.map(|(name, _)| name).into_iter().chain(["session-api"]) {
                doors.insert(name, Door { address: free_address()?, prefix: String::new() });
            }
        }
    }
    Ok(doors)
}

fn start_apart(bench: &mut Bench, kind: &Kind, folder: &Path, doors: &Doors) -> Outcome<Vec<(&'static str, Program)>> {
    let url = |name: &str| format!("http://{}", doors[name].address);
    let mut programs = Vec::new();
    for (name, listens) in OTHERS.into_iter().chain([("session-api", "DROPIN_LISTEN")]) {
        let address = doors[name].address;
        let mut command = configured(bench, name, kind, folder);
        command.env(listens, address.to_string()).envs(HIGH_LIMITS).envs([ANY_NUMBER_OF_CONNECTIONS]);
        command.env("PROCESSOR_URL", url("sandbox-processor")).env("PROCESSOR_KEY", PROCESSOR_KEY);
        command.env("DROPIN_ASSET_URL", url("checkout-api")).env("DROPIN_STASH_URL", url("stash-api"));
        command.env("SANDBOX_PROCESSOR_DATABASE", folder.join("processor.db"));
        command.env("SANDBOX_PROCESSOR_KEY", PROCESSOR_KEY);
        let mut program = bench.spawn(name, &mut command)?;
        let path = if name == "sandbox-processor" { "/healthz" } else { "/readyz" };
        program.wait_until("ready", START, || answers(address, path))?;
        programs.push((name, program));
    }
    programs.sort_by_key(|(name, _)| *name);
    Ok(programs)
}

fn start_together(bench: &mut Bench, kind: &Kind, folder: &Path, doors: &Doors) -> Outcome<Program> {
    let address = doors["session-api"].address;
    let mut command = configured(bench, "dropin", kind, folder);
    command.arg("--no-demo").env("DROPIN_LISTEN", address.to_string()).env("PROCESSOR_KEY", PROCESSOR_KEY);
    command.envs(HIGH_LIMITS).envs([ANY_NUMBER_OF_CONNECTIONS]);
    let mut program = bench.spawn("dropin", &mut command)?;
    program.wait_until("ready", START, || answers(address, "/readyz"))?;
    Ok(program)
}
