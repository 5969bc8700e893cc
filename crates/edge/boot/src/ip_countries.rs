//! Where the countries of IP addresses are told.

use std::path::PathBuf;

use clap::Args;

/// Countries of IP addresses.
#[derive(Debug, Clone, Default, Args)]
pub struct IpCountriesArgs {
    /// File in the MaxMind DB format that tells the countries of IP addresses, for screening; looked at again every second [default: none is known]
    #[arg(long, env = "DROPIN_IP_COUNTRIES", value_name = "FILE")]
    pub ip_countries: Option<PathBuf>,
}
