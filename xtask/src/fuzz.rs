//! `cargo xtask fuzz-api`: schemathesis against a running all-in-one, by the documents that it serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::command::{captured, cargo, rendered, target_folder, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::programs::{Build, Credentials, Program, Programs, answers, free_address};

/// What `cargo xtask fuzz-api --help` prints.
pub(crate) const HELP: &str = "\
cargo xtask fuzz-api [--examples N] [--long] [--service NAME] [--seed N]

Starts the all-in-one with a database of its own, creates a merchant, and has schemathesis try every operation of the documents that the
services serve: all checks, in the phases examples, coverage, fuzzing and stateful (with links). Fails on a server error or an answer that the
documents do not allow. Everything that was started is ended.

  --examples   requests per operation and phase (default 50)
  --long       1,000 of them
  --service    session-api, checkout-api, shopper-api or stash-api alone
  --seed       repeats a run that printed it (`cargo xtask test` has one of its own, so that it ends as it did before)
";

/// Service, where the all-in-one mounts it, and where its document is below that.
const SERVICES: [(&str, &str, &str); 4] = [
    ("session-api", "", ""),
    ("checkout-api", "/checkout", ""),
    ("shopper-api", "/asset", "/v1/shopper"),
    ("stash-api", "/stash", ""),
];
/// How long the service may take to be ready.
const START: Duration = Duration::from_secs(30);
/// How long schemathesis may take for one service, whatever it was asked for.
const MOST: Duration = Duration::from_secs(6 * 60 * 60);

#[derive(Debug, PartialEq)]
struct Options {
    examples: u32,
    service: Option<String>,
    seed: Option<u128>,
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
                    if !SERVICES.iter().any(|(known, ..)| *known == name) {
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
    // The very build of the tests: for one package alone cargo chooses other features, and compiles half of everything again.
    let status =
        cargo().args(["build", "--workspace", "--all-targets"]).status().context(|| "start cargo".to_owned())?;
    if !status.success() {
        return Err(Failure::new("dropin does not build; the compiler's words stand above"));
    }
    let service = Service::start()?;
    let chosen = SERVICES.iter().filter(|(name, ..)| options.service.as_deref().is_none_or(|only| only == *name));
    let mut failed = Vec::new();
    for (name, prefix, below) in chosen {
        println!("\n-- {name}, {} examples per operation", options.examples);
        let mut command = schemathesis(&tool, &service, (prefix, below), &options);
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

fn schemathesis(tool: &Path, service: &Service, (prefix, below): (&str, &str), options: &Options) -> Command {
    let (folder, merchant) = (workspace_root().join("xtask/fuzz"), &service.merchant);
    let mut command = service.programs.tool(tool, MOST);
    command
        .arg("--config-file")
        .arg(folder.join("schemathesis.toml"))
        .args(["run", &format!("{}{prefix}{below}/openapi.json", service.address)])
        // The tool does not resolve the document's relative server address against where it found the document.
        .args(["--url", &format!("{}{prefix}", service.address)])
        .args(["--phases", "examples,coverage,fuzzing,stateful", "--checks", "all"])
        .args(["--max-examples", &options.examples.to_string()])
        .args(["--auth", &format!("{}:{}", merchant.username, merchant.password)])
        .args(options.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]))
        .env("SCHEMATHESIS_HOOKS", folder.join("hooks.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FUZZ_BASE", &service.address)
        .env("FUZZ_CHECKOUT", format!("{}/checkout", service.address))
        .env("FUZZ_ASSET", format!("{}/asset", service.address))
        .env("FUZZ_STASH", format!("{}/stash", service.address))
        .env("FUZZ_MERCHANT", &merchant.merchant_id)
        .env("FUZZ_USERNAME", &merchant.username)
        .env("FUZZ_PASSWORD", &merchant.password)
        .stdin(Stdio::null());
    command
}

/// Lays schemathesis and what it needs, in the versions of requirements.txt, into a virtual environment below target/; its program.
pub(crate) fn install() -> Outcome<PathBuf> {
    let wanted_file = workspace_root().join("xtask/fuzz/requirements.txt");
    let wanted = fs::read(&wanted_file).context(|| format!("read {}", wanted_file.display()))?;
    let folder = target_folder().join("schemathesis/venv");
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

/// The all-in-one with data of its own, and a merchant.
struct Service {
    programs: Programs,
    dropin: Program,
    address: String,
    merchant: Credentials,
}

impl Service {
    fn start() -> Outcome<Self> {
        let mut programs = Programs::start("fuzz", Build::Debug)?;
        let merchant =
            Credentials::create(|| dropin(&programs), &["--name", "Fuzz", "--origin", "https://shop.example"])?;
        let listen = free_address()?;
        let mut command = dropin(&programs);
        // How much a client may ask is tested elsewhere.
        let command = command.args(["--no-demo", "--listen", &listen.to_string()]).envs([
            ("DROPIN_CLIENT_RATE", "0"),
            ("DROPIN_MERCHANT_RATE", "0"),
            ("DROPIN_EVENT_RATE", "0"),
            ("DROPIN_WRONG_PASSWORDS", "0"),
        ]);
        let mut dropin = programs.spawn("dropin", command)?;
        dropin.wait_until("ready", START, || answers(listen, "/readyz"))?;
        Ok(Self { programs, dropin, address: format!("http://{listen}"), merchant })
    }

    /// Stops it gracefully; what it logged as an error.
    fn stop(self) -> Outcome<Vec<String>> {
        let Self { mut programs, dropin, .. } = self;
        let file = dropin.log().to_path_buf();
        programs.end(dropin)?;
        let log = fs::read_to_string(&file).context(|| format!("read {}", file.display()))?;
        programs.finish()?;
        Ok(log
            .lines()
            .filter(|line| line.contains(" ERROR ") || line.contains("panicked"))
            .map(str::to_owned)
            .collect())
    }
}

fn dropin(programs: &Programs) -> Command {
    let mut command = programs.program("dropin");
    command.env("DROPIN_DATA", programs.folder().join("data"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_much_of_what_to_try() {
        // As long as those that schemathesis prints.
        let seed = u128::MAX;
        let words = ["--service", "stash-api", "--examples", "7", "--seed", &seed.to_string()];
        let options = Options { examples: 7, service: Some("stash-api".to_owned()), seed: Some(seed) };
        assert_eq!(Options::parse(&words).unwrap(), options);
        assert_eq!(Options::parse(&["--long"]).unwrap().examples, 1_000);
        for wrong in [&["--service", "settler"][..], &["--examples"], &["--examples", "x"], &["--fast"]] {
            assert!(Options::parse(wrong).unwrap_err().to_string().contains("--service"), "{wrong:?}");
        }
    }
}
