use clap::Args;
use dropin_usecases::access::FailureLimit;

/// How API users are let in.
#[derive(Debug, Clone, Args)]
pub struct AccessArgs {
    /// Wrong passwords that one client address may give for one user name in a minute before it is told to wait; a right one
    /// always passes; 0: any number
    #[arg(long, env = "DROPIN_WRONG_PASSWORDS", default_value_t = FailureLimit::DEFAULT.per_minute, value_name = "NUMBER")]
    pub wrong_passwords: u32,
}

impl AccessArgs {
    /// The limit.
    pub fn limit(&self) -> FailureLimit {
        FailureLimit { per_minute: self.wrong_passwords }
    }
}
