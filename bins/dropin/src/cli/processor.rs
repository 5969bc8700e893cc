//! The payment processor, as a service with the same settings finds it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use dropin_boot::{ConfigError, Failure, FurtherProcessor, Mode, ProcessorArgs, ProcessorKind, Secret};
use dropin_keyring::MasterKey;
use dropin_payments::{NamedProcessor, ProcessorAccountClients, ProcessorClient, ProcessorRouter};
use dropin_ports::Secrets;
use dropin_processor_http::{HttpProcessor, ProcessorConfig};
use dropin_store::Store;
use dropin_usecases::payments::PROCESSOR_DEADLINE;

use super::Cli;
use crate::files;
use crate::plan::{self, Addresses, Parts};

/// As the services take them.
#[derive(Debug, Default, Args)]
pub(crate) struct ProcessorFlags {
    /// Whose API the payment processor speaks [default: as for a service started with the same settings]
    #[arg(long, env = "PROCESSOR", value_enum, value_name = "KIND")]
    pub(crate) processor: Option<ProcessorKind>,
    /// Address of the payment processor [default: that of a service started with the same settings]
    #[arg(long, env = "PROCESSOR_URL", value_name = "URL")]
    pub(crate) processor_url: Option<String>,
    /// File with the key that the processor knows us by; without it the environment variable PROCESSOR_KEY holds the key
    /// [default: the sandbox processor's key in the data folder]
    #[arg(long, env = "PROCESSOR_KEY_FILE", value_name = "FILE")]
    pub(crate) processor_key_file: Option<PathBuf>,
}

impl ProcessorFlags {
    /// Whose API it speaks.
    pub(super) fn kind(&self, cli: &Cli) -> ProcessorKind {
        self.processor.unwrap_or(cli.serve.processor)
    }
}

/// A client of it.
pub(super) fn open(cli: &Cli, flags: &ProcessorFlags) -> Result<ProcessorClient, Failure> {
    start(cli, flags.kind(cli), &address(cli, flags)?, &key(cli, flags)?)
}

/// Clients of it, of the further ones, and of merchants' accounts there, where this machine has the key that opens theirs.
pub(super) fn open_all(cli: &Cli, flags: &ProcessorFlags, store: &Store) -> Result<ProcessorRouter, Failure> {
    let main = NamedProcessor { id: settings(cli, flags).id(), client: open(cli, flags)? };
    let others = settings(cli, flags)
        .others()?
        .into_iter()
        .map(|other| Ok(NamedProcessor { client: open_further(cli, &other)?, id: other.profile.id }));
    let router = ProcessorRouter::new(main, others.collect::<Result<_, Failure>>()?);
    match MasterKey::open(&cli.keys.folder(&cli.store.data))? {
        Some(key) => Ok(router.with_accounts(Arc::new(account_clients(cli, flags, Arc::new(key), store)?))),
        None => Ok(router),
    }
}

/// A client of a further one.
pub(super) fn open_further(
    cli: &Cli,
    FurtherProcessor { args, .. }: &FurtherProcessor,
) -> Result<ProcessorClient, Failure> {
    start(cli, args.processor, args.url(), &args.key()?)
}

fn start(cli: &Cli, kind: ProcessorKind, url: &str, key: &Secret) -> Result<ProcessorClient, Failure> {
    kind.check_key(key, cli.mode.mode())?;
    let config = ProcessorConfig::new(url, key.expose().to_owned(), PROCESSOR_DEADLINE)?;
    Ok(ProcessorClient::start(kind, config)?)
}

/// Clients of the accounts that merchants have of their own.
pub(super) fn account_clients(
    cli: &Cli,
    flags: &ProcessorFlags,
    secrets: Arc<dyn Secrets>,
    store: &Store,
) -> Result<ProcessorAccountClients, Failure> {
    let mut main = settings(cli, flags);
    if main.processor != ProcessorKind::Sandbox {
        main.processor_url = Some(address(cli, flags)?);
    }
    let others = main.others()?.into_iter().map(|other| (other.profile.id, other.args));
    let all = std::iter::once((main.id(), main.clone())).chain(others).collect();
    let limits = cli.serve.processor_limits.clone();
    Ok(ProcessorAccountClients::new(Arc::new(store.clone()), secrets, all, limits, cli.mode.mode()))
}

/// A client of it, where it has a journal, and where there is no other: what one of several did is no journal of all that was asked for.
pub(super) fn open_journal(cli: &Cli, flags: &ProcessorFlags) -> Result<HttpProcessor, Failure> {
    if !settings(cli, flags).others()?.is_empty() {
        return Err("there are several processors (DROPIN_PROCESSORS), whose journals together our books could be compared with: compare our own with --without-processor".into());
    }
    match open(cli, flags)? {
        ProcessorClient::Sandbox(client) => Ok(client),
        ProcessorClient::Stripe(_) => Err("Stripe has no journal that our books could be compared with".into()),
    }
}

/// Where it is asked.
pub(super) fn address(cli: &Cli, flags: &ProcessorFlags) -> Result<String, Failure> {
    if let Some(url) = flags.processor_url.as_ref().or(cli.serve.processor_url.as_ref()) {
        return Ok(url.clone());
    }
    let kind = flags.kind(cli);
    if kind != ProcessorKind::Sandbox {
        return Ok(kind.default_url().to_owned());
    }
    let parts = Parts::chosen(cli)?;
    if cli.serve.listener.tls().is_some() || cli.serve.listen.port() == 0 {
        return Err("nobody but the running service knows where its sandbox processor listens: its log says so; give that with --processor-url".into());
    }
    Ok(Addresses::find(cli, &parts, cli.serve.listen, None)?.processor)
}

/// The configured key, or the one that a service made for the sandbox processor. None is made here: no processor would know it.
pub(super) fn key(cli: &Cli, flags: &ProcessorFlags) -> Result<Secret, Failure> {
    let processor = flags.kind(cli);
    match settings(cli, flags).key() {
        Err(ConfigError::MissingSecret { .. })
            if cli.mode.mode() == Mode::Sandbox && processor == ProcessorKind::Sandbox => {}
        configured => return Ok(configured?),
    }
    let path = plan::processor_key_file(cli);
    match files::read(&path)? {
        Some(kept) => Ok(Secret::new(kept.trim().to_owned())),
        None => Err(format!(
            "there is no key for the processor: set PROCESSOR_KEY, name a file with --processor-key-file, or give the --data folder of the \
             service, where {} would be",
            path.display()
        )
        .into()),
    }
}

fn settings(cli: &Cli, flags: &ProcessorFlags) -> ProcessorArgs {
    let file = flags.processor_key_file.clone().or_else(|| cli.serve.processor_key_file.clone());
    ProcessorArgs { processor: flags.kind(cli), processor_key_file: file, ..plan::processor_args(cli) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Command;
    use super::super::ledger::LedgerCommand;
    use super::*;

    #[test]
    fn the_processor_is_found_before_and_behind_the_command() {
        for line in
            ["--processor-url http://127.0.0.1:1 ledger verify", "ledger verify --processor-url http://127.0.0.1:1"]
        {
            let cli = Cli::parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()));
            let Some(Command::Ledger(LedgerCommand::Verify(verify))) = &cli.command else { panic!() };
            let url = verify.processor.processor_url.as_ref().or(cli.serve.processor_url.as_ref());
            assert_eq!(url.map(String::as_str), Some("http://127.0.0.1:1"), "{line}");
        }
    }
}
