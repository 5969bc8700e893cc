use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use dropin_validation::UrlPolicy;

use crate::config_error::ConfigError;

/// Whether money moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// For trying out: http to this machine is allowed, nothing is charged.
    Sandbox,
    /// For real.
    Production,
}

impl Mode {
    /// Which URLs merchants may name (docs/SPECIFICATION.md#urls).
    pub const fn url_policy(self) -> UrlPolicy {
        match self {
            Self::Sandbox => UrlPolicy::Sandbox,
            Self::Production => UrlPolicy::Production,
        }
    }
}

/// Whether money moves.
#[derive(Debug, Clone, Args)]
pub struct ModeArgs {
    /// Whether this deployment is for trying out or for real; has to be given where other machines or a proxy reach the program
    /// [default: sandbox]
    #[arg(long, env = "DROPIN_MODE", value_enum, global = true)]
    pub mode: Option<Mode>,
}

impl ModeArgs {
    /// What is configured, else a sandbox.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or(Mode::Sandbox)
    }

    /// Whether real payments are made by a program that other machines reach.
    pub fn is_public_production(&self, listen: SocketAddr, behind_proxy: bool) -> bool {
        self.mode() == Mode::Production && (behind_proxy || !listen.ip().to_canonical().is_loopback())
    }

    /// The same for a program that serves. Where others reach it, a sandbox has to be asked for by name: a deployment whose setting was forgotten would
    /// take no money.
    ///
    /// # Errors
    /// [`ConfigError::Mode`].
    pub fn of_service(&self, listen: SocketAddr, behind_proxy: bool) -> Result<Mode, ConfigError> {
        match self.mode {
            None if behind_proxy => Err(ConfigError::Mode("a proxy in front of this program".to_owned())),
            None if !listen.ip().to_canonical().is_loopback() => {
                Err(ConfigError::Mode(format!("listening on {listen}")))
            }
            _ => Ok(self.mode()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_others_reach_is_asked_for_by_name() {
        let (here, all) = (SocketAddr::from(([127, 0, 0, 1], 80)), SocketAddr::from(([0, 0, 0, 0], 80)));
        let of = |mode, listen, proxy| ModeArgs { mode }.of_service(listen, proxy);
        assert_eq!(of(None, here, false).unwrap(), Mode::Sandbox);
        assert_eq!(of(Some(Mode::Production), all, true).unwrap(), Mode::Production);
        assert_eq!(of(Some(Mode::Sandbox), all, true).unwrap(), Mode::Sandbox);
        for (listen, proxy) in [(here, true), (all, false), (SocketAddr::from(([10, 0, 0, 1], 80)), false)] {
            let message = of(None, listen, proxy).unwrap_err().to_string();
            assert!(message.contains("DROPIN_MODE=sandbox") && message.contains("production"), "{message}");
        }
    }
}
