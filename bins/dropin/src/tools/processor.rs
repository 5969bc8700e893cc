//! The payment processor, as a service with the same settings finds it.

use dropin_boot::{ConfigError, Failure, Mode, ProcessorArgs, Secret};
use dropin_processor_http::{HttpProcessor, ProcessorConfig};
use dropin_usecases::payments::PROCESSOR_DEADLINE;

use crate::cli::{Cli, ProcessorFlags};
use crate::files;
use crate::plan::{self, Addresses, Parts};

/// A client of it.
pub(super) fn open(cli: &Cli, flags: &ProcessorFlags) -> Result<HttpProcessor, Failure> {
    let config = ProcessorConfig::new(&address(cli, flags)?, key(cli, flags)?.expose().to_owned(), PROCESSOR_DEADLINE)?;
    Ok(HttpProcessor::start(config)?)
}

fn address(cli: &Cli, flags: &ProcessorFlags) -> Result<String, Failure> {
    if let Some(url) = flags.processor_url.as_ref().or(cli.serve.processor_url.as_ref()) {
        return Ok(url.clone());
    }
    let parts = Parts::chosen(cli)?;
    if cli.serve.listener.tls().is_some() || cli.serve.listen.port() == 0 {
        return Err("nobody but the running service knows where its sandbox processor listens: its log says so; give that with --processor-url".into());
    }
    Ok(Addresses::find(cli, &parts, cli.serve.listen, None)?.processor)
}

/// The configured key, or the one that a service made for the sandbox processor. None is made here: no processor would know it.
fn key(cli: &Cli, flags: &ProcessorFlags) -> Result<Secret, Failure> {
    let file = flags.processor_key_file.clone().or_else(|| cli.serve.processor_key_file.clone());
    let configured = ProcessorArgs { processor_url: String::new(), processor_key_file: file }.key();
    match configured {
        Err(ConfigError::MissingSecret { .. }) if cli.mode.mode == Mode::Sandbox => {}
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
