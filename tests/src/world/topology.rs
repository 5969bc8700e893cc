use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::program::{Program, binary};
use crate::http::Http;
use crate::wait::until;

/// How a deployment is cut into processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// `dropin`, with everything in it, on SQLite.
    AllInOne,
    /// Every program its own process, on PostgreSQL.
    Split,
}

const SERVICES: [&str; 6] = ["session-api", "checkout-api", "stash-api", "notifier", "settler", "sandbox-processor"];
/// How long a graceful stop may take; nothing in these tests holds a request longer.
pub(super) const STOP: Duration = Duration::from_secs(20);
/// How long a program may take to its first 200 from /readyz.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// The running programs of one deployment.
pub struct Programs {
    topology: Topology,
    running: BTreeMap<&'static str, Program>,
    addresses: BTreeMap<&'static str, String>,
    /// What the command line needs to find the same deployment.
    command_line: Vec<(String, String)>,
    /// What the test gives to every program.
    environment: Vec<(String, String)>,
    key: String,
}

impl Programs {
    pub(super) async fn start(
        topology: Topology,
        folder: &Path,
        database: Option<&str>,
        environment: &[(&str, &str)],
    ) -> Self {
        let key = format!("key-{}", uuid::Uuid::new_v4().simple());
        let mut programs = Self {
            topology,
            running: BTreeMap::new(),
            addresses: BTreeMap::new(),
            command_line: vec![
                ("DROPIN_DATA".to_owned(), folder.display().to_string()),
                // Tests look for an event far more often than a merchant may; session-api's own tests hold the rate.
                ("DROPIN_EVENT_RATE".to_owned(), "0".to_owned()),
                // Nobody distributes requests here.
                ("DROPIN_DRAIN_DELAY".to_owned(), "0".to_owned()),
            ],
            environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            key,
        };
        match (topology, database) {
            (Topology::AllInOne, _) => programs.start_all_in_one(folder),
            (Topology::Split, Some(url)) => programs.start_split(folder, url),
            (Topology::Split, None) => panic!("several processes need PostgreSQL"),
        }
        programs.wait_until_ready().await;
        programs
    }

    fn start_all_in_one(&mut self, folder: &Path) {
        let [listen, shop, processor, wallet] = free_ports();
        let mut command =
            ["dropin", "--listen", &listen, "--shop-listen", &shop, "--admin-listen", "127.0.0.1:0", "--no-demo"]
                .map(str::to_owned)
                .to_vec();
        let mut environment = [self.command_line.clone(), self.environment.clone()].concat();
        environment.push(("PROCESSOR_KEY".to_owned(), self.key.clone()));
        for (service, prefix) in [
            ("session-api", ""),
            ("checkout-api", "/asset"),
            ("checkout", "/checkout"),
            ("stash-api", "/stash"),
            ("sandbox-processor", "/sandbox"),
        ] {
            self.addresses.insert(service, format!("http://{listen}{prefix}"));
        }
        if self.has_own_processor() {
            command.extend(["--target".to_owned(), SERVICES[..5].join(",")]);
            self.addresses.insert("sandbox-processor", format!("http://{processor}"));
            environment.push(("PROCESSOR_URL".to_owned(), self.addresses["sandbox-processor"].clone()));
            environment.push(wallet_hosts(&wallet));
            self.start_processor(processor, &wallet, folder);
        }
        self.running.insert("dropin", Program::start("dropin", command, environment, folder));
    }

    /// Whether the processor is a program of its own: always in [`Topology::Split`], else when a test has settings for it.
    fn has_own_processor(&self) -> bool {
        let is_its = |(name, _): &(String, String)| name.starts_with("SANDBOX_PROCESSOR_");
        self.topology == Topology::Split || self.environment.iter().any(is_its)
    }

    fn start_processor(&mut self, listen: String, wallet: &str, folder: &Path) {
        let database = folder.join("processor.db").display().to_string();
        let mut environment = self.environment.clone();
        let own = [("LISTEN", listen.as_str()), ("DATABASE", &database), ("KEY", &self.key), ("WALLET_LISTEN", wallet)];
        environment.extend(own.map(|(name, value)| (format!("SANDBOX_PROCESSOR_{name}"), value.to_owned())));
        let command = vec!["sandbox-processor".to_owned()];
        let program = Program::start("sandbox-processor", command, environment, folder);
        self.running.insert("sandbox-processor", program);
    }

    fn start_split(&mut self, folder: &Path, database: &str) {
        self.command_line.push(("DATABASE_URL".to_owned(), database.to_owned()));
        let [ports @ .., wallet]: [String; 7] = free_ports();
        for (service, listen) in SERVICES.into_iter().zip(&ports) {
            self.addresses.insert(service, format!("http://{listen}"));
        }
        self.addresses.insert("checkout", self.addresses["checkout-api"].clone());
        for (service, listen) in SERVICES.into_iter().zip(ports) {
            if service == "sandbox-processor" {
                self.start_processor(listen, &wallet, folder);
                continue;
            }
            let mut environment = self.environment_of(&listen);
            environment.push(wallet_hosts(&wallet));
            let program = Program::start(service, vec![service.to_owned()], environment, folder);
            self.running.insert(service, program);
        }
    }

    /// The admin panel: beside the services of `dropin`, else a program of its own, which is started.
    pub async fn admin_panel(&self) -> AdminPanel {
        if self.topology == Topology::AllInOne {
            let said = self.running["dropin"].logged();
            let line = said.lines().find_map(|line| line.trim_start().strip_prefix("Admin panel"));
            let url = line.unwrap_or_else(|| panic!("no panel is in\n{said}")).trim().to_owned();
            return AdminPanel { url, program: None };
        }
        let [listen] = free_ports();
        let environment = self.environment_of(&listen);
        let program = Program::start("admin-panel", vec!["admin-panel".to_owned()], environment, &self.data());
        let mut panel = AdminPanel { url: format!("http://{listen}"), program: Some(program) };
        let (http, ready) = (Http::default(), format!("{}/readyz", panel.url));
        until("the admin panel is ready", READY_WITHIN, async || {
            panel.program.iter_mut().for_each(Program::must_run);
            let answer = http.send(actix_web::http::Method::GET, &ready, &[], Vec::new()).await;
            answer.ok().filter(|answer| answer.status == 200)
        })
        .await;
        panel
    }

    /// Invites an operator of the whole deployment; the one-time link.
    pub fn invite_operator(&self, panel: &str, role: &str) -> String {
        let email = format!("{role}@shop.example");
        let said = self.run_dropin(&[
            "operator",
            "invite",
            "--name",
            role,
            "--email",
            &email,
            "--role",
            role,
            "--panel-url",
            panel,
            "--json",
        ]);
        let invited: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("no JSON ({error}): {said}"));
        invited["Link"].as_str().unwrap_or_else(|| panic!("no link: {said}")).to_owned()
    }

    fn environment_of(&self, listen: &str) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut environment = [self.command_line.clone(), self.environment.clone()].concat();
        let own = [
            pair("DROPIN_LISTEN", listen),
            // Enough to race each other; every one more is a process of PostgreSQL's to start and end, hundreds of times.
            pair("DROPIN_DATABASE_CONNECTIONS", "3"),
            pair("PROCESSOR_URL", &self.addresses["sandbox-processor"]),
            pair("PROCESSOR_KEY", &self.key),
            pair("DROPIN_BASE_URL", &self.addresses["session-api"]),
            pair("DROPIN_ASSET_URL", &self.addresses["checkout-api"]),
            pair("DROPIN_CHECKOUT_URL", &self.addresses["checkout-api"]),
            pair("DROPIN_STASH_URL", &self.addresses["stash-api"]),
        ];
        // What the test gives goes first.
        let is_given = |name: &str| self.environment.iter().any(|(given, _)| given == name);
        environment.extend(own.into_iter().filter(|(name, _)| !is_given(name)));
        environment
    }

    /// Waits until every program answers that it can serve.
    pub async fn wait_until_ready(&mut self) {
        let http = Http::default();
        let mut addresses: Vec<_> = self.addresses.clone().into_iter().collect();
        if self.topology == Topology::AllInOne {
            let own = self.has_own_processor();
            addresses.retain(|(service, _)| *service == "session-api" || own && *service == "sandbox-processor");
        }
        for (service, address) in addresses.into_iter().filter(|(service, _)| *service != "checkout") {
            let path = if service == "sandbox-processor" { "healthz" } else { "readyz" };
            let url = format!("{address}/{path}");
            let begun = Instant::now();
            loop {
                if let Some(program) = self.running.get_mut(service) {
                    program.must_run();
                }
                let answer = http.send(actix_web::http::Method::GET, &url, &[], Vec::new()).await;
                if answer.as_ref().is_ok_and(|answer| answer.status == 200) {
                    break;
                }
                if READY_WITHIN < begun.elapsed() {
                    let says = answer.map_or_else(|error| error, |answer| answer.text());
                    let log = self.running.get(service).map(Program::logged).unwrap_or_default();
                    panic!("{service} was not ready at {url} within {READY_WITHIN:?}: {says}\n{log}");
                }
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
        }
    }

    pub(super) fn address(&self, service: &str) -> String {
        self.addresses[service].clone()
    }

    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.key)
    }

    /// The key that the processor knows the services by.
    pub fn processor_key(&self) -> String {
        self.key.clone()
    }

    /// How this deployment is cut.
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// The process that `service` runs in.
    pub fn process_of(&mut self, service: &str) -> &mut Program {
        let alone = service == "sandbox-processor" && self.has_own_processor();
        let name = if self.topology == Topology::AllInOne && !alone { "dropin" } else { service };
        self.running.get_mut(name).unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// Everything that every program has logged.
    pub fn logged(&self) -> String {
        self.running.values().map(Program::logged).collect()
    }

    pub(super) async fn stop_all(&mut self) {
        for program in self.running.values_mut() {
            program.stop(STOP).await;
        }
    }

    pub(super) fn create_merchant(&self, webhook: &str, origin: &str) -> Value {
        let arguments =
            ["merchant", "create", "--name", "Test shop", "--webhook-url", webhook, "--origin", origin, "--json"];
        let printed = self.run_dropin(&arguments);
        serde_json::from_str(&printed)
            .unwrap_or_else(|error| panic!("merchant create printed no JSON ({error}): {printed}"))
    }

    /// Runs the command line on this deployment; what it printed.
    pub fn run_dropin(&self, arguments: &[&str]) -> String {
        self.try_dropin(arguments).unwrap_or_else(|said| panic!("dropin {arguments:?}: {said}"))
    }

    /// The same; what it said when it failed or refused.
    pub fn try_dropin(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.dropin(arguments);
        let [printed, errors] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if output.status.success() { Ok(printed) } else { Err(format!("{printed}{errors}")) }
    }

    fn dropin(&self, arguments: &[&str]) -> Output {
        self.dropin_command(arguments).output().expect("dropin starts; run `cargo build --workspace` first")
    }

    /// The command line on this deployment, to be started by the test.
    pub fn dropin_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary("dropin"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.command_line.iter().map(|(name, value)| (name, value)))
            .env("PROCESSOR_URL", self.addresses.get("sandbox-processor").map_or("", String::as_str))
            .env("PROCESSOR_KEY", &self.key);
        command
    }

    /// The folder that the programs log and keep their files in.
    pub fn data(&self) -> PathBuf {
        PathBuf::from(&self.command_line[0].1)
    }
}

/// An admin panel that runs; one that is a program of its own ends with this.
pub struct AdminPanel {
    /// Its address.
    pub url: String,
    program: Option<Program>,
}

/// What a service says of its own example file: `--check-config` with the file's variables and no others.
pub fn check_example(service: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bins").join(service).join("example.env");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let variables = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    let output =
        Command::new(binary(service)).arg("--check-config").env_clear().envs(variables).output().expect("it starts");
    assert!(output.status.success(), "{service}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Where the services find the wallet's provider that the processor's program plays.
fn wallet_hosts(address: &str) -> (String, String) {
    ("DROPIN_WALLET_HOSTS".to_owned(), format!("wallet-gateway.localhost={address}"))
}

/// The next of the ports that this process gives to programs, below those that the system gives to whoever asks for any (from 32768 on Linux):
/// between this choice and the program's start nobody else gets one of them.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);
const FIRST_PORT: u16 = 12_000;
const PORTS: u16 = 20_000;

/// Addresses of free ports on loopback, all different, and none that this process gave before.
pub(super) fn free_ports<const N: usize>() -> [String; N] {
    // Several processes of tests at once begin far from each other.
    let begin = std::process::id().wrapping_mul(997) % u32::from(PORTS);
    let begin = u16::try_from(begin).expect("less than a port number");
    std::array::from_fn(|_| {
        let next = || FIRST_PORT + (begin + NEXT_PORT.fetch_add(1, Ordering::Relaxed) % PORTS) % PORTS;
        let mut some = std::iter::repeat_with(next).take(usize::from(PORTS));
        let free = some.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port");
        format!("127.0.0.1:{free}")
    })
}
