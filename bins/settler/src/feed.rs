use std::sync::Arc;

use dropin_boot::{Context, Failure, Mode, RateFeedArgs};
use dropin_rate_feed::{Feed, FeedSources, Location};
use dropin_usecases::rates::RateWatch;

/// The feed of exchange rates that is configured: in a sandbox invented rates unless it says otherwise, in production none.
///
/// # Errors
/// Which setting is wrong.
pub fn rates_watch(context: &Context, args: &RateFeedArgs) -> Result<Option<RateWatch>, Failure> {
    let sources = match &args.rates_feed {
        Some(rates) => FeedSources::Files {
            primary: Location::parse(rates)?,
            supplement: args.rates_supplement.as_deref().map(Location::parse).transpose()?,
        },
        None if context.mode == Mode::Sandbox => FeedSources::Sandbox,
        None => return Ok(None),
    };
    let limits = args.limits()?;
    Ok(Some(RateWatch {
        feed: Arc::new(Feed::new(sources, limits.clone())),
        store: Arc::new(context.store.clone()),
        clock: context.clock.clone(),
        limits,
        every: args.every(),
    }))
}
