use std::time::Duration;

use clap::Args;
use dropin_usecases::stash::{STASH_LIFETIME, StashLimits};

/// How long what was stashed waits for its payment. The same for every program that opens the stash's keys, which live as long.
#[derive(Debug, Clone, Args)]
pub struct StashArgs {
    /// Seconds that a stashed card or wallet token waits for its payment, 60 to 86400
    #[arg(
        long,
        env = "DROPIN_STASH_LIFETIME",
        default_value_t = STASH_LIFETIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(60..=86_400),
        value_name = "SECONDS"
    )]
    pub stash_lifetime: u64,
}

impl StashArgs {
    /// The lifetime.
    pub fn lifetime(&self) -> Duration {
        Duration::from_secs(self.stash_lifetime)
    }
}

/// How much is stashed.
#[derive(Debug, Clone, Args)]
pub struct StashLimitArgs {
    /// Stashed cards and wallet tokens of one merchant that may wait at once, half of them without naming a live Session; 0: any number
    #[arg(long, env = "DROPIN_STASH_ENTRIES", default_value_t = StashLimits::default().merchant_entries, value_name = "NUMBER")]
    pub stash_entries: u64,
    /// Bytes of what one merchant's shoppers have stashed, with 300 for each entry, half of them without naming a live Session; 0: any number
    #[arg(long, env = "DROPIN_STASH_MERCHANT_BYTES", default_value_t = StashLimits::default().merchant_bytes, value_name = "BYTES")]
    pub stash_merchant_bytes: u64,
    /// Bytes of all that is stashed, with 300 for each entry, half of them without naming a live Session; 0: any number
    #[arg(long, env = "DROPIN_STASH_BYTES", default_value_t = StashLimits::default().total_bytes, value_name = "BYTES")]
    pub stash_bytes: u64,
    /// Bytes that one client address may stash within the lifetime of an entry, in each program; 0: any number
    #[arg(long, env = "DROPIN_STASH_CLIENT_BYTES", default_value_t = StashLimits::default().client_bytes, value_name = "BYTES")]
    pub stash_client_bytes: u64,
}

impl StashLimitArgs {
    /// The limits.
    pub fn limits(&self) -> StashLimits {
        StashLimits {
            merchant_entries: self.stash_entries,
            merchant_bytes: self.stash_merchant_bytes,
            total_bytes: self.stash_bytes,
            client_bytes: self.stash_client_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_addresses_cannot_fill_the_open_half_of_a_merchants_stash() {
        let StashLimits { merchant_bytes, total_bytes, client_bytes, .. } = StashLimits::default();
        assert!(32 * client_bytes < merchant_bytes / 2 && merchant_bytes <= total_bytes / 4);
    }
}
