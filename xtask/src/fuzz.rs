//! `cargo xtask fuzz-api`: schemathesis against a running all-in-one, by the documents that it serves.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{captured, cargo, rendered, succeeds, workspace_root};
use crate::failure::{Context, Failure, Outcome};

/// What `cargo xtask fuzz-api --help` prints.
pub(crate) const HELP: &str = "\
cargo xtask fuzz-api [--examples N] [--long] [--service NAME] [--seed N]

Starts the all-in-one with a database of its own, creates a merchant, and has schemathesis try every operation of the documents that the
services serve: all checks, in the phases examples, coverage, fuzzing and stateful (with links). Fails on a server error or an answer that the
documents do not allow. Everything that was started is ended.

  --examples   requests per operation and phase (default 50)
  --long       1,000 of them
  --service    session-api, checkout-api or stash-api alone
  --seed       repeats a run
";

/// Service and where the all-in-one mounts it.
const SERVICES: [(&str, &str); 3] = [("session-api", ""), ("checkout-api", "/asset"), ("stash-api", "/stash")];
/// How long the service may take to be ready, and to stop.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, PartialEq)]
struct Options {
    examples: u32,
    service: Option<String>,
    seed: Option<u64>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Outcome<Self> {
        let mut options = Self { examples: 50, service: None, seed: None };
        let mut arguments = arguments.iter();
        let refused = |what: &str| Failure::new(format!("{what}\n\n{HELP}"));
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().copied().unwrap_or_default();
            match *argument {
                "--long" => options.examples = 1_000,
                "--examples" => {
                    options.examples = value().parse().map_err(|_no| refused("`--examples` wants a number"))?;
                }
                "--seed" => options.seed = Some(value().parse().map_err(|_no| refused("`--seed` wants a number"))?),
                "--service" => {
                    let name = value();
                    if !SERVICES.iter().any(|(known, _)| *known == name) {
                        return Err(refused(&format!("`{name}` is no service with a document")));
                    }
                    options.service = Some(name.to_owned());
                }
                other => return Err(refused(&format!("`{other}` is no option of this task"))),
            }
        }
        Ok(options)
    }
}

/// Runs the task.
pub(crate) fn task(arguments: &[&str]) -> Outcome<()> {
    if let ["--help" | "-h"] = arguments {
        print!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(arguments)?;
    let tool = install()?;
    let status = cargo().args(["build", "--package", "dropin"]).status().context(|| "start cargo".to_owned())?;
    if !status.success() {
        return Err(Failure::new("dropin does not build; the compiler's words stand above"));
    }
    let mut service = Service::start()?;
    let merchant = service.create_merchant()?;
    let chosen = SERVICES.iter().filter(|(name, _)| options.service.as_deref().is_none_or(|only| only == *name));
    let mut failed = Vec::new();
    for (name, prefix) in chosen {
        println!("\n-- {name}, {} examples per operation", options.examples);
        let mut command = schemathesis(&tool, &service, &merchant, prefix, &options);
        let status = command.status().context(|| format!("start `{}`", rendered(&command)))?;
        if !status.success() {
            failed.push(*name);
        }
    }
    let broken = service.stop()?;
    if !failed.is_empty() {
        return Err(Failure::new(format!("schemathesis found what stands above in: {}", failed.join(", "))));
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("the service logged errors:\n{}", broken.join("\n"))))
}

fn schemathesis(tool: &Path, service: &Service, merchant: &Merchant, prefix: &str, options: &Options) -> Command {
    let folder = workspace_root().join("xtask/fuzz");
    let mut command = Command::new(tool);
    command
        .arg("--config-file")
        .arg(folder.join("schemathesis.toml"))
        .args(["run", &format!("{}{prefix}/openapi.json", service.address)])
        // The tool does not resolve the document's relative server address against where it found the document.
        .args(["--url", &format!("{}{prefix}", service.address)])
        .args(["--phases", "examples,coverage,fuzzing,stateful", "--checks", "all"])
        .args(["--max-examples", &options.examples.to_string()])
        .args(["--auth", &format!("{}:{}", merchant.username, merchant.password)])
        .args(options.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]))
        .env("SCHEMATHESIS_HOOKS", folder.join("hooks.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FUZZ_BASE", &service.address)
        .env("FUZZ_ASSET", format!("{}/asset", service.address))
        .env("FUZZ_STASH", format!("{}/stash", service.address))
        .env("FUZZ_MERCHANT", &merchant.id)
        .env("FUZZ_USERNAME", &merchant.username)
        .env("FUZZ_PASSWORD", &merchant.password)
        .current_dir(&service.folder)
        .stdin(Stdio::null());
    command
}

/// Lays schemathesis and what it needs, in the versions of requirements.txt, into a virtual environment below target/; its program.
pub(crate) fn install() -> Outcome<PathBuf> {
    let wanted_file = workspace_root().join("xtask/fuzz/requirements.txt");
    let wanted = fs::read(&wanted_file).context(|| format!("read {}", wanted_file.display()))?;
    let folder = workspace_root().join("target/schemathesis/venv");
    let (program, done) = (folder.join("bin/st"), folder.join("installed-requirements.txt"));
    if fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(program);
    }
    println!("installing schemathesis into {}", folder.display());
    captured(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    captured(Command::new(folder.join("bin/python")).args(pip).arg(&wanted_file))?;
    fs::write(&done, wanted).context(|| format!("write {}", done.display()))?;
    Ok(program)
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Merchant {
    #[serde(rename = "MerchantId")]
    id: String,
    username: String,
    password: String,
}

/// The all-in-one with data of its own; ended and removed when dropped.
struct Service {
    child: Child,
    folder: PathBuf,
    address: String,
    listen: SocketAddr,
}

impl Service {
    fn start() -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("dropin-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).context(|| format!("create {}", folder.display()))?;
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let listen = free.context(|| "find a free port".to_owned())?;
        let log = fs::File::create(folder.join("log.txt")).context(|| "create the log".to_owned())?;
        let errors = log.try_clone().context(|| "share the log".to_owned())?;
        let mut command = dropin(&folder);
        // How much a client may ask is tested elsewhere.
        let command = command
            .args(["--no-demo", "--listen", &listen.to_string()])
            .envs([("DROPIN_CLIENT_RATE", "0"), ("DROPIN_MERCHANT_RATE", "0"), ("DROPIN_WRONG_PASSWORDS", "0")])
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        let child = command.spawn().context(|| format!("start `{}`", rendered(command)))?;
        let mut service = Self { child, folder, address: format!("http://{listen}"), listen };
        let begun = Instant::now();
        while !service.is_ready() {
            let ended = service.child.try_wait().context(|| "look after dropin".to_owned())?;
            if ended.is_some() || PATIENCE < begun.elapsed() {
                return Err(Failure::new(format!("dropin does not become ready; it said:\n{}", service.log())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(service)
    }

    fn is_ready(&self) -> bool {
        let asked = TcpStream::connect(self.listen).and_then(|mut stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        });
        asked.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    fn create_merchant(&self) -> Outcome<Merchant> {
        let arguments = ["merchant", "create", "--name", "Fuzz", "--origin", "https://shop.example", "--json"];
        let printed = captured(dropin(&self.folder).args(arguments))?;
        serde_json::from_str(&printed).context(|| "read what `dropin merchant create` printed".to_owned())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log.txt")).unwrap_or_default()
    }

    /// Stops it gracefully; what it logged as an error.
    fn stop(&mut self) -> Outcome<Vec<String>> {
        if self.child.try_wait().context(|| "look after dropin".to_owned())?.is_some() {
            return Err(Failure::new(format!("dropin ended by itself; its last words:\n{}", tail(&self.log()))));
        }
        succeeds(Command::new("sh").args(["-c", "kill -s TERM \"$0\"", &self.child.id().to_string()]));
        let begun = Instant::now();
        while self.child.try_wait().context(|| "look after dropin".to_owned())?.is_none() {
            if PATIENCE < begun.elapsed() {
                return Err(Failure::new(format!("dropin does not stop; its last words:\n{}", tail(&self.log()))));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(self
            .log()
            .lines()
            .filter(|line| line.contains(" ERROR ") || line.contains("panicked"))
            .map(str::to_owned)
            .collect())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has ended already when everything went well.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn dropin(folder: &Path) -> Command {
    let mut command = Command::new(workspace_root().join("target/debug/dropin"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        // The mark by which `cargo xtask test` knows its own stays.
        let is_setting =
            ["DROPIN_", "DATABASE_URL", "PROCESSOR_", "RUST_LOG"].iter().any(|start| name.starts_with(start));
        if is_setting && name != "DROPIN_XTASK_RUN" {
            command.env_remove(name.as_ref());
        }
    }
    command.env("DROPIN_DATA", folder.join("data")).stdin(Stdio::null());
    command
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_much_of_what_to_try() {
        let options = Options::parse(&["--service", "stash-api", "--examples", "7", "--seed", "3"]).unwrap();
        assert_eq!(options, Options { examples: 7, service: Some("stash-api".to_owned()), seed: Some(3) });
        assert_eq!(Options::parse(&["--long"]).unwrap().examples, 1_000);
        for wrong in [&["--service", "settler"][..], &["--examples"], &["--examples", "x"], &["--fast"]] {
            assert!(Options::parse(wrong).unwrap_err().to_string().contains("--service"), "{wrong:?}");
        }
    }

    #[test]
    fn the_end_of_a_log_is_shown() {
        let log: String = (0..40).map(|line| format!("{line}\n")).collect();
        assert!(tail(&log).starts_with("10\n") && tail(&log).ends_with("39") && tail("").is_empty());
    }
}
