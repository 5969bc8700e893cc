//! `dropin wallet …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use dropin_kernel::MerchantId;

use super::Output;

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
