//! The program around the shop: flags and signals.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::{Credentials, CredentialsError, ShopConfig, serve};

/// A merchant's demo shop: sells a few things through the drop-in of a service that runs elsewhere.
#[derive(Debug, clap::Parser)]
#[command(name = "demo-shop", version)]
pub struct Arguments {
    /// Address to listen on; loopback only
    #[arg(long, env = "DROPIN_SHOP_LISTEN", default_value = "127.0.0.1:8081", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Address of the Session and Order APIs ({base_url})
    #[arg(long, env = "DROPIN_BASE_URL", default_value = "http://127.0.0.1:8080", value_name = "URL")]
    pub base_url: String,
    /// Address of the drop-in's scripts and calls ({asset_url})
    #[arg(long, env = "DROPIN_ASSET_URL", default_value = "http://127.0.0.1:8080/asset", value_name = "URL")]
    pub asset_url: String,
    /// Address of the server-to-server checkout ({checkout_url})
    #[arg(long, env = "DROPIN_CHECKOUT_URL", default_value = "http://127.0.0.1:8080/checkout", value_name = "URL")]
    pub checkout_url: String,
    /// File with the merchant's credentials, as `dropin merchant create --json` prints them
    #[arg(long, env = "DROPIN_MERCHANT_FILE", default_value = "./dropin-data/demo-merchant.json", value_name = "FILE")]
    pub merchant_file: PathBuf,
}

/// Why the program does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is no merchant.
    #[error(
        "the shop needs a merchant: write the output of `dropin merchant create --json` to {}, or name another file with --merchant-file",
        .0.display()
    )]
    NoMerchant(PathBuf),
    /// The file with the merchant's credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// A setting cannot work, the address is taken, or the server broke.
    #[error("cannot serve: {0}")]
    Serve(#[from] io::Error),
}

/// Serves until SIGTERM or ctrl-c, then lets running requests finish.
///
/// # Errors
/// [`RunError`], each with what to do about it.
pub async fn run(arguments: Arguments) -> Result<(), RunError> {
    let Arguments { listen, base_url, asset_url, checkout_url, merchant_file } = arguments;
    let credentials = Credentials::read(&merchant_file)?.ok_or(RunError::NoMerchant(merchant_file))?;
    let here = format!("http://localhost:{}", listen.port());
    let config = ShopConfig::new(&credentials, [base_url, asset_url, checkout_url], listen, here)?;
    let (stopper, stop) = watch::channel(false);
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    actix_web::rt::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stopper.send_replace(true);
    });
    Ok(serve(config, stop).await?.run().await?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_example_names_every_variable_with_its_default() {
        let example = include_str!("../example.env");
        let named = example.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
        let named: Vec<_> = named.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
        let command = Arguments::command();
        let known = command.get_arguments().filter_map(|argument| {
            let default = argument.get_default_values().first()?;
            Some((text(argument.get_env()?), text(default)))
        });
        assert_eq!(named, known.collect::<Vec<_>>());
    }
}
