//! `dropin wallet …`: what merchants need for the mobile wallet's button. The rules are the use cases'.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use dropin_access::{RegisteredDomain, WalletIdentity};
use dropin_boot::{Failure, Mode, SystemClock, SystemIds, join_deployment};
use dropin_kernel::MerchantId;
use dropin_keyring::{MasterKey, MasterKeyError};
use dropin_ports::{Acting, Secrets, WalletCredentials};
use dropin_store::Store;
use dropin_usecases::wallet::{self, WalletSetup, WalletSetupError};
use serde_json::{Value, json};

use super::{Cli, Output, acting, say, say_lines};

#[derive(Debug, Subcommand)]
pub(crate) enum WalletCommand {
    /// Set a merchant's certificate and private key, in place of those before; its pages may then show the button on verified domains
    Set(SetWallet),
    /// Show a merchant's identifier, when its certificate ends, and its domains; never the key
    Show {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
    /// Take a merchant's certificate and key away: no shopper sees the button any more
    Remove {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
    /// Domains whose pages show the button
    #[command(subcommand)]
    Domain(DomainCommand),
}

#[derive(Debug, Args)]
pub(crate) struct SetWallet {
    /// MerchantId
    pub(crate) id: MerchantId,
    /// By which the wallet's provider knows the merchant, such as merchant.com.example.shop
    #[arg(long, value_name = "ID")]
    pub(crate) merchant_identifier: String,
    /// The merchant identity certificate, and those between it and its root, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: PathBuf,
    /// Its private key, in PEM without a password; readable by this user alone
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Where the merchant's account is, such as US; the payment sheet wants it
    #[arg(long, value_name = "COUNTRY")]
    pub(crate) country: String,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DomainCommand {
    /// Register a domain, or register it anew with another file
    Add {
        /// MerchantId
        id: MerchantId,
        /// The domain, such as shop.example; every subdomain with the button is one of its own
        domain: String,
        /// The text file that the wallet's provider gave out for the domain
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        output: Output,
    },
    /// Look for the file at the domain; the button counts there once it was found
    Check {
        /// MerchantId
        id: MerchantId,
        /// The domain
        domain: String,
        #[command(flatten)]
        output: Output,
    },
    /// Show a merchant's domains
    List {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
}

/// Where a merchant puts the file.
const ADDRESS: &str = "/.well-known/apple-developer-merchantid-domain-association";

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &WalletCommand) -> Result<(), Failure> {
    let folder = cli.keys.folder(&cli.store.data);
    let key = MasterKey::open(&folder)?.ok_or(MasterKeyError::Elsewhere(folder))?;
    // What is asked of a domain and of its provider depends on the mode, and what is kept on the key.
    join_deployment(store, Some(&cli.mode), Some(key.id())).await?;
    let setup = setup(cli, store, Arc::new(key), acting(cli)?)?;
    match command {
        WalletCommand::Set(wanted) => set(&setup, wanted).await,
        WalletCommand::Show { id, output } => show(&setup, *id, *output).await,
        WalletCommand::Remove { id, output } => {
            setup.remove(*id).await.map_err(explain)?;
            let shown = json!({ "MerchantId": id.to_string(), "Removed": true });
            tell(*output, &shown, || "Its shoppers see no button any more; its domains stay registered.".to_owned())
        }
        WalletCommand::Domain(command) => domain(&setup, command).await,
    }
}

/// The use cases, on this deployment.
pub(crate) fn setup(cli: &Cli, store: &Store, secrets: Arc<dyn Secrets>, by: Acting) -> Result<WalletSetup, Failure> {
    let sandbox = cli.mode.mode() == Mode::Sandbox;
    let provider = Arc::new(checkout_api::wallet_client(&cli.serve.wallet, cli.mode.mode(), &cli.store.data)?);
    let (store, clock, ids) = (Arc::new(store.clone()), Arc::new(SystemClock), Arc::new(SystemIds));
    Ok(WalletSetup { store, secrets, provider, clock, ids, by, sandbox })
}

/// Says what to do about it, in the words of the command line.
fn explain(error: WalletSetupError) -> Failure {
    let advice = match &error {
        WalletSetupError::Invalid(violations) => {
            let lines = violations.iter().map(|violation| {
                let flag = match violation.field.as_str() {
                    "MerchantIdentifier" => "--merchant-identifier",
                    "Country" => "--country",
                    "Certificate" => "--certificate, --key:",
                    "File" => "--file",
                    _ => "the domain",
                };
                format!("{flag} {}", violation.message)
            });
            return lines.collect::<Vec<_>>().join("\n").into();
        }
        WalletSetupError::NoMerchant => "`dropin merchant list` shows them all",
        WalletSetupError::NoWallet => "set one with `dropin wallet set`",
        WalletSetupError::NoDomain => "register it with `dropin wallet domain add`",
        WalletSetupError::Keyring(_) | WalletSetupError::Store(_) => return error.into(),
    };
    format!("{error}; {advice}").into()
}

async fn set(setup: &WalletSetup, wanted: &SetWallet) -> Result<(), Failure> {
    let credentials = WalletCredentials { certificate: read(&wanted.certificate)?, key: read(&wanted.key)?.into() };
    let identifier = wanted.merchant_identifier.clone();
    let set = wallet::SetWallet { identifier, country: wanted.country.clone(), credentials };
    let identity = setup.set(wanted.id, set).await.map_err(explain)?;
    tell(wanted.output, &of_identity(&identity), || {
        let (identifier, ends) = (identity.identifier.as_str(), identity.expires_at);
        format!(
            "The certificate of {identifier} is set; it ends at {ends}. The key is kept encrypted: delete {} if nothing else needs it.",
            wanted.key.display()
        )
    })
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}

async fn show(setup: &WalletSetup, id: MerchantId, output: Output) -> Result<(), Failure> {
    let identity = setup.identity(id).await.map_err(explain)?;
    let domains = setup.domains(id).await.map_err(explain)?;
    let mut shown = of_identity(&identity);
    shown["Domains"] = Value::from_iter(domains.iter().map(of_domain));
    say(&if output.json { shown.to_string() } else { serde_json::to_string_pretty(&shown)? })
}

async fn domain(setup: &WalletSetup, command: &DomainCommand) -> Result<(), Failure> {
    match command {
        DomainCommand::Add { id, domain, file, output } => {
            let registered = setup.add_domain(*id, domain, &read(file)?).await.map_err(explain)?;
            tell(*output, &of_domain(&registered), || {
                let domain = &registered.domain;
                let scheme = if domain.is_local() { "http" } else { "https" };
                format!(
                    "Registered. Serve the file at {scheme}://{domain}{ADDRESS}, then run `dropin wallet domain check {id} {domain}`."
                )
            })
        }
        DomainCommand::Check { id, domain, output } => {
            let checked = setup.check_domain(*id, domain).await.map_err(explain)?;
            let failure = checked.check.as_ref().and_then(|check| check.failure.clone());
            let shown = of_domain(&checked);
            match failure {
                None => tell(*output, &shown, || "Verified: pages of this domain may show the button.".to_owned()),
                Some(why) if output.json => {
                    say(&shown.to_string())?;
                    Err(why.into())
                }
                Some(why) => Err(format!("not verified: {why}; the file has to be found under {ADDRESS}").into()),
            }
        }
        DomainCommand::List { id, output } => {
            let domains = setup.domains(*id).await.map_err(explain)?;
            if output.json {
                return say(&Value::from_iter(domains.iter().map(of_domain)).to_string());
            }
            let lines = domains.iter().map(|registered| {
                let check = registered.check.as_ref();
                let at = check.map(|check| format!("  {}", check.at)).unwrap_or_default();
                let why = check.and_then(|check| check.failure.as_deref()).map(|why| format!("  {why}"));
                format!("{:<10}  {}{at}{}", registered.state().as_str(), registered.domain, why.unwrap_or_default())
            });
            say_lines(lines, "It has no domain; register one with `dropin wallet domain add`.")
        }
    }
}

fn tell(output: Output, json: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
    say(&if output.json { json.to_string() } else { text() })
}

fn of_identity(identity: &WalletIdentity) -> Value {
    json!({
        "MerchantId": identity.merchant_id.to_string(),
        "MerchantIdentifier": identity.identifier.as_str(),
        "Country": identity.country,
        "ExpiresAt": identity.expires_at.to_string(),
        "SetAt": identity.set_at.to_string(),
    })
}

fn of_domain(registered: &RegisteredDomain) -> Value {
    let check = registered.check.as_ref();
    json!({
        "Domain": registered.domain.as_str(),
        "State": registered.state().as_str(),
        "RegisteredAt": registered.registered_at.to_string(),
        "CheckedAt": check.map(|check| check.at.to_string()),
        "Failure": check.and_then(|check| check.failure.clone()),
    })
}
