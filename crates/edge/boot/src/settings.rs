//! Small settings that every program has: logs, keys, an address to listen on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::logs::{LogFormat, start_logs};

/// Logs.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// What is logged: env_logger's filter, for example info or warn,access=info
    #[arg(
        long,
        env = "RUST_LOG",
        default_value = "info,actix_server=warn,actix_http=off",
        value_name = "FILTER",
        global = true
    )]
    pub log: String,
    /// How log lines look
    #[arg(long, env = "DROPIN_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
}

impl LogArgs {
    /// Starts logging.
    pub fn start(&self) {
        start_logs(&self.log, self.log_format);
    }
}

/// Where the keys are. They never stand in the database.
#[derive(Debug, Clone, Args)]
pub struct KeyArgs {
    /// Folder with the keys, private to this user [default: keys in the data folder]
    #[arg(long, env = "DROPIN_KEYS", value_name = "FOLDER", global = true)]
    pub keys: Option<PathBuf>,
}

impl KeyArgs {
    /// The folder.
    pub fn folder(&self, data: &Path) -> PathBuf {
        self.keys.clone().unwrap_or_else(|| data.join("keys"))
    }
}

/// Where one service listens.
#[derive(Debug, Clone, Args)]
pub struct AddressArgs {
    /// Address to listen on
    #[arg(long, env = "DROPIN_LISTEN", value_name = "ADDRESS", value_parser = socket_address)]
    pub listen: SocketAddr,
}

/// An address of this machine to listen on. Names are not looked up: which of their addresses would be meant is not said.
///
/// # Errors
/// What it has to look like.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_no_address| "must be an IP address and a port, such as 127.0.0.1:8080".to_owned())
}
