//! What every program holds when it has nothing to do.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::figures::{figure, table};
use super::run::Bench;
use super::service::{Kind, Service};
use crate::failure::Outcome;
use crate::programs::free_address;

/// The programs that nothing else of the bench starts, each with the variable that says where it listens.
pub(crate) const OTHERS: [(&str, &str); 5] = [
    ("checkout-api", "DROPIN_LISTEN"),
    ("stash-api", "DROPIN_LISTEN"),
    ("notifier", "DROPIN_LISTEN"),
    ("settler", "DROPIN_LISTEN"),
    ("sandbox-processor", "SANDBOX_PROCESSOR_LISTEN"),
];

const IDLE_MAX_MIB: f64 = 50.0;
const START: Duration = Duration::from_secs(60);

/// Starts each program in turn and prints its memory; `measured` were seen before.
pub(crate) fn run(bench: &mut Bench, mut measured: Vec<(String, f64)>, with_others: bool) -> Outcome<()> {
    if with_others {
        let service = Service::start(bench, Kind::Postgres("idle".to_owned()), 1)?;
        for (name, listens) in OTHERS {
            let address = free_address()?;
            let mut command = service.neighbour(bench, name);
            command.env(listens, address.to_string());
            let mut program = bench.spawn(name, &mut command)?;
            program.wait_until("listening", START, || answers(address))?;
            measured.push((name.to_owned(), program.idle_memory()?));
            bench.end(program)?;
        }
        if !measured.iter().any(|(name, _)| name == "session-api") {
            measured.push(("session-api".to_owned(), service.idle_mib));
        }
        service.stop(bench)?;
    }
    let rows: Vec<Vec<String>> = measured.iter().map(|(name, mib)| vec![name.clone(), figure(*mib)]).collect();
    println!("\n### Memory when idle\n\n{}", table(&["program", "MiB"], &rows));
    let most = measured.iter().map(|(_, mib)| *mib).fold(0.0, f64::max);
    print!(
        "{}",
        super::goal(most < IDLE_MAX_MIB, &format!("at most {most:.1} MiB idle; wanted: less than {IDLE_MAX_MIB}"))
    );
    Ok(())
}

fn answers(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}
