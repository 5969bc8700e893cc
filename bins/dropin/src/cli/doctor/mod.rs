//! `dropin doctor`: looks at a configured machine and says of each thing whether it is right, and what to do where it is not.
//!
//! A check is a function that adds findings to the [`Report`]. Those of the files come first, then those of the database.

mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use dropin_boot::{Failure, Mode, ProcessorKind, SystemClock, check_database, unknown_in_environment};
use dropin_catalogue::{Catalogue, Method, find_method};
use dropin_kernel::ProcessorId;
use dropin_keyring::{CredentialKeys, MasterKey, StashKeys, VelocityKeys};
use dropin_payments::ProcessorClient;
use dropin_ports::{AccessStore, Clock, ProcessorAccount, ProcessorAccountStore, WalletStore};
use dropin_processor_http::ProcessorConfig;
use dropin_store::{Deployment, DeploymentMode, Role, Store};
use dropin_usecases::payments::PROCESSOR_DEADLINE;

use self::report::{Report, State};
use super::processor::{self, ProcessorFlags};
use super::run::no_database;
use super::{Cli, Output, Target, say};
use crate::plan::{self, Addresses, Parts};

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Doctor {
    /// Free space that a disk with data or keys should have
    #[arg(long, default_value_t = 1_024, value_name = "MEBIBYTES")]
    pub(crate) min_free_mib: u64,
    /// How long a certificate should still be valid
    #[arg(long, default_value_t = 21, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(0..=3_650))]
    pub(crate) certificate_days: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Wallet certificates that are looked at: those that end first.
const MAX_CERTIFICATES: u32 = 100;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs all checks and prints what they found; 1 when something is wrong.
pub(super) async fn run(cli: &Cli, wanted: Doctor) -> Result<ExitCode, Failure> {
    let mut report = Report::default();
    settings(cli, &mut report);
    addresses(cli, &mut report);
    payment_methods(cli, &mut report);
    screening(cli, &mut report);
    certificate(cli, wanted, &mut report);
    secrets(cli, &mut report);
    accepted_keys(cli, &mut report).await;
    disk(cli, wanted, &mut report);
    let store = database(cli, &mut report);
    if let Some(store) = &store {
        in_store(cli, wanted, store, &mut report).await;
        store.close();
    }
    say(&if wanted.output.json { report.json().to_string() } else { report.lines() })?;
    Ok(if report.is_healthy() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn settings(cli: &Cli, report: &mut Report) {
    unknown_in_environment().into_iter().for_each(|warning| report.add("settings", State::Warning, warning));
    let mode = cli.mode.of_service(cli.serve.listen, cli.serve.listener.behind_proxy);
    report.judge(
        "mode",
        mode.map(|mode| match mode {
            Mode::Production => "production: money moves",
            Mode::Sandbox => "sandbox: no money moves; set DROPIN_MODE=production when it should",
        }),
    );
    let chosen = Parts::chosen(cli).map(|_| "the parts of --target run in this mode");
    report.judge("parts", chosen);
}

fn addresses(cli: &Cli, report: &mut Report) {
    let found = Parts::chosen(cli).and_then(|parts| {
        let found = Addresses::find(cli, &parts, cli.serve.listen, None)?;
        found.check_reachable(cli, &parts)?;
        Ok(found)
    });
    report.judge(
        "addresses",
        found.as_ref().map(|found| {
            let Addresses { base, checkout, public, .. } = found;
            format!("base {base}, checkout {checkout}, asset {}, stash {}", public.asset, public.stash)
        }),
    );
    let Ok(found) = found else { return };
    let processor = ProcessorConfig::new(&found.processor, String::new(), PROCESSOR_DEADLINE);
    report.judge("processor", processor.map(|_| format!("at {}", found.processor)));
    let sandbox_pages = (cli.serve.processor == ProcessorKind::Sandbox).then_some(found.processor.as_str());
    report.judge(
        "script",
        cli.serve.catalogue.pay_later_script(cli.mode.mode(), sandbox_pages).map(|script| {
            script.map_or_else(
                || "no pay-later messages".to_owned(),
                |script| format!("pay-later messages from {script}"),
            )
        }),
    );
}

/// Reads what the parts of `--target` read at their start: the file of payment methods, and of checkout-api what the processor can do.
fn payment_methods(cli: &Cli, report: &mut Report) {
    let Ok(parts) = Parts::chosen(cli) else { return };
    if parts.has(Target::CheckoutApi) {
        let catalogue = plan::processor_args(cli).others().and_then(|others| {
            let catalogue = cli.serve.catalogue.clone().of_processor(cli.serve.processor).with_further(&others);
            catalogue.open(&cli.serve.methods)
        });
        report.judge("methods", catalogue.map(|catalogue| offer(&catalogue)));
    } else if parts.need_processor() {
        report.judge("methods", cli.serve.methods.known().map(|known| format!("{} are known", known.known().count())));
    }
}

/// Reads the file of rules of screening, as the parts of `--target` do that screen payments or change rules.
fn screening(cli: &Cli, report: &mut Report) {
    let Ok(parts) = Parts::chosen(cli) else { return };
    if parts.has(Target::CheckoutApi) || parts.has(Target::AdminPanel) {
        let rules = cli.serve.screening.read();
        report.judge(
            "screening",
            rules.map(|rules| format!("by rules {} unless a merchant has others", rules.fingerprint())),
        );
    }
}

/// What is offered, and what the file adds besides.
fn offer(catalogue: &Catalogue) -> String {
    let (offered, not): (Vec<_>, Vec<_>) = catalogue.known().partition(|method| catalogue.has(method.id()));
    let ids = |methods: &[&Method]| methods.iter().map(|method| method.id()).collect::<Vec<_>>().join(", ");
    let own: Vec<_> = not.into_iter().filter(|method| find_method(method.id()).is_none()).collect();
    let unused = match own.is_empty() {
        true => String::new(),
        false => format!("; PROCESSOR_METHODS names no {}, so the file's method is not offered", ids(&own)),
    };
    format!("the processor can do {}{unused}", ids(&offered))
}

fn certificate(cli: &Cli, wanted: Doctor, report: &mut Report) {
    let Some(files) = cli.serve.listener.tls() else {
        let text = match (cli.serve.listen.ip().is_loopback(), cli.serve.listener.behind_proxy) {
            (_, true) => "none here: a proxy in front ends TLS",
            (true, false) => "none: only programs of this machine reach the listener",
            (false, false) => {
                let why = "other machines reach the listener: set DROPIN_TLS_CERTIFICATE and DROPIN_TLS_KEY, or DROPIN_BEHIND_PROXY=true";
                return report.add("certificate", State::Fault, why);
            }
        };
        return report.add("certificate", State::Ok, text);
    };
    let now = SystemClock.now().unix_seconds();
    match files.check(now) {
        Err(error) => report.add("certificate", State::Fault, error.to_string()),
        Ok(ends) => {
            let days = ends.saturating_sub(now) / 86_400;
            let (state, advice) = match days < i64::from(wanted.certificate_days) {
                true => (State::Warning, ": get a new one now; it is used as soon as it stands in the file"),
                false => (State::Ok, ""),
            };
            report.add("certificate", state, format!("{} ends in {days} days{advice}", files.certificate.display()));
        }
    }
}

/// Looks at the secrets of the parts of `--target`; no other program on this machine needs any.
fn secrets(cli: &Cli, report: &mut Report) {
    // Why it cannot be read stands under "parts".
    if let Ok(parts) = Parts::chosen(cli) {
        let folder = cli.keys.folder(&cli.store.data);
        if parts.need_master_key() {
            master_key(&folder, report);
        }
        if parts.need_cards() {
            stash_keys(&folder.join("stash"), report);
        }
        if parts.need_credentials() {
            credential_keys(&folder, report);
        }
        if parts.has(Target::CheckoutApi) {
            velocity_keys(&folder, report);
        }
        if parts.need_processor() {
            processor_key(cli, &parts, report);
        }
    }
    let data = &cli.store.data;
    if data.exists() {
        match dropin_private_file::check(data) {
            Ok(()) => report.add("data folder", State::Ok, format!("{} is private to this user", data.display())),
            // What it holds is private by itself.
            Err(error) => report.add("data folder", State::Warning, error.to_string()),
        }
    }
}

fn master_key(folder: &Path, report: &mut Report) {
    match MasterKey::open(folder) {
        Ok(Some(_)) => report.add("master key", State::Ok, format!("in {}, private to this user", folder.display())),
        Ok(None) => {
            let why = format!(
                "there is none in {}: the first start makes it; where a deployment has one, give its folder with DROPIN_KEYS or restore it",
                folder.display()
            );
            report.add("master key", State::Fault, why);
        }
        Err(error) => report.add("master key", State::Fault, error.to_string()),
    }
}

fn stash_keys(stash: &Path, report: &mut Report) {
    match stash.exists() {
        true => {
            report.judge("stash keys", StashKeys::inspect(stash).map(|keys| format!("{keys} in {}", stash.display())))
        }
        false => report.add(
            "stash keys",
            State::Ok,
            format!("none in {} yet: stash-api and checkout-api make them", stash.display()),
        ),
    }
}

fn credential_keys(folder: &Path, report: &mut Report) {
    let place = folder.join("credential");
    match CredentialKeys::open(folder) {
        Ok(keys) if keys.is_empty() => report.add(
            "credential keys",
            State::Ok,
            format!("none in {} yet: checkout-api or the settler makes the first one", place.display()),
        ),
        Ok(_) => report.add("credential keys", State::Ok, format!("in {}, private to this user", place.display())),
        Err(error) => report.add("credential keys", State::Fault, error.to_string()),
    }
}

fn velocity_keys(folder: &Path, report: &mut Report) {
    let place = folder.join("velocity");
    match VelocityKeys::open(folder) {
        Ok(keys) if keys.is_empty() => {
            report.add(
                "velocity keys",
                State::Ok,
                format!("none in {} yet: checkout-api makes the first one", place.display()),
            );
        }
        Ok(_) => report.add("velocity keys", State::Ok, format!("in {}, private to this user", place.display())),
        Err(error) => report.add("velocity keys", State::Fault, error.to_string()),
    }
}

fn processor_key(cli: &Cli, parts: &Parts, report: &mut Report) {
    // As the start finds it: made for a sandbox processor of the same process alone.
    let kind = cli.serve.processor;
    let is_found = || {
        let is_made = parts.has(Target::SandboxProcessor) || plan::processor_key_file(cli).exists();
        kind == ProcessorKind::Sandbox && is_made
    };
    match plan::processor_args(cli).key() {
        Ok(key) => match kind.check_key(&key, cli.mode.mode()) {
            Ok(()) => report.add("processor key", State::Ok, "there"),
            Err(error) => report.add("processor key", State::Fault, error.to_string()),
        },
        Err(dropin_boot::ConfigError::MissingSecret { .. }) if cli.mode.mode() == Mode::Sandbox && is_found() => {
            report.add("processor key", State::Ok, "made here for the sandbox processor");
        }
        Err(error) => report.add("processor key", State::Fault, error.to_string()),
    }
}

/// Asks the processors whether they accept their keys, where they have a question for that.
async fn accepted_keys(cli: &Cli, report: &mut Report) {
    if !Parts::chosen(cli).is_ok_and(|parts| parts.need_processor()) {
        return;
    }
    let main = plan::processor_args(cli);
    if main.processor != ProcessorKind::Sandbox {
        // What is wrong with the settings was said before.
        if let Ok(client) = processor::open(cli, &ProcessorFlags::default()) {
            accepted_key(&main.id(), &client, report).await;
        }
    }
    match main.others() {
        Ok(others) => {
            for other in others {
                match processor::open_further(cli, &other) {
                    Ok(client) => accepted_key(&other.profile.id, &client, report).await,
                    Err(error) => {
                        report.add("processor access", State::Fault, format!("{}: {error}", other.profile.id));
                    }
                }
            }
        }
        Err(error) => report.add("processor access", State::Fault, error.to_string()),
    }
}

async fn accepted_key(id: &ProcessorId, client: &ProcessorClient, report: &mut Report) {
    match client.check_key().await {
        Ok(()) => report.add("processor access", State::Ok, format!("{id} can be asked")),
        Err(why) => report.add("processor access", State::Fault, format!("{id}: {why}")),
    }
}

/// Where something is written: data, keys, and a SQLite database that stands elsewhere. Of what is not there yet, the folder in which it will be made.
fn written_folders(cli: &Cli) -> BTreeSet<PathBuf> {
    let url = cli.store.url().unwrap_or_default();
    let database = url.strip_prefix("sqlite://").and_then(|path| Path::new(path).parent()).map(Path::to_path_buf);
    let all = [cli.store.data.clone(), cli.keys.folder(&cli.store.data)].into_iter().chain(database);
    let there = |folder: PathBuf| {
        let whole = std::path::absolute(&folder).unwrap_or(folder);
        whole.ancestors().find(|folder| folder.exists()).map(Path::to_path_buf)
    };
    all.filter_map(there).collect()
}

fn disk(cli: &Cli, wanted: Doctor, report: &mut Report) {
    for folder in written_folders(cli) {
        match rustix::fs::statvfs(&folder) {
            Err(error) => {
                report.add("disk", State::Fault, format!("cannot look at the disk of {}: {error}", folder.display()))
            }
            Ok(disk) => {
                let free = disk.f_bavail.saturating_mul(disk.f_frsize) / (1 << 20);
                let text = format!("{free} MiB are free for {}", folder.display());
                match free < wanted.min_free_mib {
                    true => report.add(
                        "disk",
                        State::Fault,
                        format!("{text}, less than {}: make room", wanted.min_free_mib),
                    ),
                    false => report.add("disk", State::Ok, text),
                }
            }
        }
    }
}

/// Opens the database, as far as there is one.
fn database(cli: &Cli, report: &mut Report) -> Option<Store> {
    let opened = cli.store.url().map_err(Failure::from).and_then(|url| {
        if let Some(path) = url.strip_prefix("sqlite://") {
            if !Path::new(path).exists() {
                return Err(no_database(path));
            }
            check_database(path)?;
        }
        cli.store.open(Role::Tool)
    });
    opened.map_err(|error| report.add("database", State::Fault, error.to_string())).ok()
}

async fn in_store(cli: &Cli, wanted: Doctor, store: &Store, report: &mut Report) {
    let master_key = MasterKey::open(&cli.keys.folder(&cli.store.data)).ok().flatten();
    let mode = cli.mode.mode.map(DeploymentMode::from);
    store.set_deployment(Deployment { mode, master_key: master_key.map(|key| key.id().to_owned()) }, false);
    let checks = store.check_all().await;
    let answers = checks.iter().all(|check| check.result.is_ok() || !matches!(check.name, "database" | "schema"));
    checks.into_iter().for_each(|check| report.judge(check.name, check.result));
    if !answers {
        return;
    }
    let merchants = store.list_merchants().await;
    report.judge("merchants", merchants.map_err(|error| error.to_string()).and_then(|merchants| {
        let sandbox = cli.mode.mode() == Mode::Sandbox;
        let other = merchants.iter().filter(|merchant| merchant.sandbox != sandbox).count();
        match (merchants.len(), other) {
            (0, _) => Ok("none yet: make one with `dropin merchant create`".to_owned()),
            (all, 0) => Ok(format!("{all}, all of this deployment's mode")),
            (all, all_others) if all == all_others => Err(format!(
                "all {all} accounts are of the other mode, and every request of theirs is answered 403: set DROPIN_MODE as it was when they were made"
            )),
            (all, other) => Ok(format!("{all}; {other} are of the other mode and are answered 403")),
        }
    }));
    wallet_certificates(wanted, store, report).await;
    processor_accounts(cli, store, report).await;
}

/// Asks processors whether they accept the keys of merchants' own accounts, and whether those are still of these accounts.
async fn processor_accounts(cli: &Cli, store: &Store, report: &mut Report) {
    let what = "processor accounts";
    let accounts = match store.list_processor_accounts(None).await {
        Ok(accounts) => accounts.into_iter().filter(|one| one.removed_at.is_none()).collect::<Vec<_>>(),
        Err(error) => return report.add(what, State::Fault, error.to_string()),
    };
    if accounts.is_empty() {
        return;
    }
    let router = match processor::open_all(cli, &ProcessorFlags::default(), store) {
        Ok(router) => router,
        // What is wrong with the settings was said before.
        Err(error) => return report.add(what, State::Fault, format!("cannot be asked for: {error}")),
    };
    for ProcessorAccount { processor, merchant_id, account, .. } in accounts {
        let found = match router.named_processor(&processor).await {
            Ok(named) => named.client.find_account().await,
            Err(why) => Err(why),
        };
        let said = match found {
            Ok(found) if found == account => Ok(format!("{processor} can be asked")),
            Ok(found) => Err(format!("its key is of the account {found}, and not of {account}")),
            Err(why) => Err(why),
        };
        let said = said.map_err(|why| {
            format!("{processor}: {why}; `dropin merchant credentials set {merchant_id} {processor}` sets a key")
        });
        report.judge(what, said);
    }
}

async fn wallet_certificates(wanted: Doctor, store: &Store, report: &mut Report) {
    let soon = DAY * wanted.certificate_days;
    match store.wallet_expiries(MAX_CERTIFICATES).await {
        Err(error) => report.add("wallet", State::Fault, error.to_string()),
        Ok(expiries) => {
            let now = SystemClock.now();
            let ending: Vec<_> = expiries.iter().filter(|(_, at)| at.since(now) <= soon).collect();
            for (merchant, at) in &ending {
                let (state, verb) =
                    if at.since(now).is_zero() { (State::Fault, "ended") } else { (State::Warning, "ends") };
                let text = format!(
                    "the certificate of merchant {merchant} {verb} at {at}: set a new one with `dropin wallet set`"
                );
                report.add("wallet", state, text);
            }
            if ending.is_empty() {
                report.add("wallet", State::Ok, "no merchant's certificate ends soon");
            }
        }
    }
}
