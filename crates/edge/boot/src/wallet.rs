use std::path::{Path, PathBuf};

use clap::Args;
use dropin_access::{WalletHost, WalletHosts};

use crate::config_error::ConfigError;
use crate::mode::Mode;

/// The mobile wallet's provider.
#[derive(Debug, Clone, Default, Args)]
pub struct WalletArgs {
    /// Servers of the wallet's provider that pages may name, separated by commas; in a sandbox also its own provider, as NAME.localhost=127.0.0.1:PORT
    /// [default: the published ones; in a sandbox wallet-gateway.localhost=127.0.0.1:8088]
    #[arg(long, env = "DROPIN_WALLET_HOSTS", value_delimiter = ',', value_parser = WalletHost::parse, value_name = "HOST")]
    pub wallet_hosts: Vec<WalletHost>,
    /// File with the root certificate of the sandbox's own wallet provider [default: wallet/root.pem in the data folder]
    #[arg(long, env = "DROPIN_WALLET_ROOT", value_name = "FILE")]
    pub wallet_root: Option<PathBuf>,
}

impl WalletArgs {
    /// Which servers pages may name.
    ///
    /// # Errors
    /// [`ConfigError::WalletHosts`] for one of this machine in production.
    pub fn hosts(&self, mode: Mode) -> Result<WalletHosts, ConfigError> {
        let local = self.wallet_hosts.iter().any(|host| host.at.is_some());
        if local && mode == Mode::Production {
            return Err(ConfigError::WalletHosts);
        }
        let default = match mode {
            Mode::Sandbox => vec![format!("{}=127.0.0.1:8088", WalletHost::SANDBOX)],
            // The test environment's is for who asks for it.
            Mode::Production => WalletHost::PUBLISHED[..2].iter().map(|name| (*name).to_owned()).collect(),
        };
        let default = || default.iter().filter_map(|text| WalletHost::parse(text).ok()).collect();
        Ok(WalletHosts::new(if self.wallet_hosts.is_empty() { default() } else { self.wallet_hosts.clone() }))
    }

    /// Where the sandbox's own provider proves itself from.
    pub fn root(&self, data: &Path) -> PathBuf {
        self.wallet_root.clone().unwrap_or_else(|| data.join("wallet").join("root.pem"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_fit_the_mode() {
        let hosts = |texts: &[&str], mode| {
            let wallet_hosts = texts.iter().map(|text| WalletHost::parse(text).unwrap()).collect();
            let hosts = WalletArgs { wallet_hosts, wallet_root: None }.hosts(mode);
            hosts.map(|hosts| hosts.all().iter().map(|host| host.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(hosts(&[], Mode::Sandbox).unwrap(), [WalletHost::SANDBOX]);
        assert_eq!(hosts(&[], Mode::Production).unwrap(), WalletHost::PUBLISHED[..2]);
        assert_eq!(hosts(&["gateway.example"], Mode::Production).unwrap(), ["gateway.example"]);
        let message = hosts(&["a.localhost=127.0.0.1:1"], Mode::Production).unwrap_err().to_string();
        assert!(message.contains("--wallet-hosts"), "{message}");
    }
}
