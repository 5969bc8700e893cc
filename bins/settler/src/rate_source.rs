use std::sync::Arc;

use dropin_boot::{Context, Failure, RateSourceArgs};
use dropin_rate_source::{FileRateSource, Location, RateSourceConfig};
use dropin_usecases::rates::RateRefresher;

/// The configured source of exchange rates: in a sandbox invented rates unless configured, in production none.
///
/// # Errors
/// Which setting is wrong.
pub(crate) fn rate_refresher(context: &Context, args: &RateSourceArgs) -> Result<Option<RateRefresher>, Failure> {
    let sources = match &args.rates_feed {
        Some(rates) => RateSourceConfig::Files {
            primary: Location::parse(rates)?,
            supplement: args.rates_supplement.as_deref().map(Location::parse).transpose()?,
        },
        None if context.is_sandbox() => RateSourceConfig::Sandbox,
        None => return Ok(None),
    };
    let limits = args.limits()?;
    Ok(Some(RateRefresher {
        source: Arc::new(FileRateSource::new(sources, limits.clone())),
        store: context.store.clone(),
        clock: context.clock.clone(),
        limits,
        every: args.every(),
    }))
}
