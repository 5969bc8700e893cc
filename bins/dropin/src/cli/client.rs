//! The running service as a merchant's server reaches it.

use std::path::PathBuf;

use clap::Args;
use demo_shop::Credentials;
use dropin_boot::Failure;
use dropin_trigger::{MerchantLogin, ServiceClient};

use super::Cli;
use crate::plan::{self, Addresses, Parts};

/// How a command reaches the running service, and as which merchant.
#[derive(Debug, Args)]
pub(crate) struct ServiceFlags {
    /// File with the merchant's credentials, as `merchant create --json` prints them [default: demo-merchant.json in the data folder]
    #[arg(long, env = "DROPIN_MERCHANT_FILE", value_name = "FILE")]
    pub(crate) merchant_file: Option<PathBuf>,
    /// Address of the Session and Order APIs ({base_url}) [default: that of a service started with the same settings]
    #[arg(long, env = "DROPIN_BASE_URL", value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

impl ServiceFlags {
    /// The address of a part of the service: the given one, else below --base-url as one process has it, else that of a service started with the same
    /// settings.
    pub(super) fn part(
        &self,
        cli: &Cli,
        given: Option<&String>,
        prefix: &str,
        found: impl FnOnce(Addresses) -> String,
    ) -> Result<String, Failure> {
        let below = || self.base_url.as_ref().map(|base| format!("{}{prefix}", base.trim_end_matches('/')));
        match given.cloned().or_else(below) {
            Some(url) => Ok(url.trim_end_matches('/').to_owned()),
            None => Ok(found(addresses(cli)?)),
        }
    }

    /// {checkout_url}.
    pub(super) fn checkout(&self, cli: &Cli, given: Option<&String>) -> Result<String, Failure> {
        let given = given.or(cli.serve.checkout_url.as_ref());
        self.part(cli, given, plan::PREFIXES.checkout, |addresses| addresses.checkout)
    }
}

/// Finds the service and the merchant's credentials as `flags` or the settings of a service say. `others` are the addresses that are called beside
/// its own.
pub(super) fn open(cli: &Cli, flags: &ServiceFlags, others: &[&str]) -> Result<ServiceClient, Failure> {
    open_with_credentials(cli, flags, others).map(|(service, _)| service)
}

/// The same, with all that the file says of the merchant.
pub(super) fn open_with_credentials(
    cli: &Cli,
    flags: &ServiceFlags,
    others: &[&str],
) -> Result<(ServiceClient, Credentials), Failure> {
    let file = flags.merchant_file.clone().unwrap_or_else(|| plan::merchant_file(cli));
    let credentials = Credentials::read(&file)?.ok_or_else(|| {
        let file = file.display();
        format!("there are no credentials at {file}: give the service's --data folder, or a file with what `dropin merchant create --json` printed as --merchant-file")
    })?;
    let base = match &flags.base_url {
        Some(url) => url.clone(),
        None => addresses(cli)?.base,
    };
    let secure = [base.as_str()].into_iter().chain(others.iter().copied()).find(|url| url.starts_with("https://"));
    let tls = secure.map_or(Ok(None), demo_shop::client_config)?;
    let login = MerchantLogin {
        merchant_id: credentials.merchant_id.clone(),
        username: credentials.username.clone(),
        password: credentials.password.clone().into(),
    };
    Ok((ServiceClient::new(&base, &login, tls), credentials))
}

/// The addresses of a service that was started with the same settings.
pub(super) fn addresses(cli: &Cli) -> Result<Addresses, Failure> {
    if cli.serve.listen.port() == 0 && cli.serve.base_url.is_none() {
        return Err(
            "only the running service knows its port: its first lines say it; give its address with --base-url".into(),
        );
    }
    Addresses::find(cli, &Parts::chosen(cli)?, cli.serve.listen, None)
}
