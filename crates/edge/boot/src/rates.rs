use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use dropin_money::Currency;
use dropin_rates::{LimitsError, OfferPolicy, OfferPolicyError, RateSourceLimits};
use dropin_usecases::rates::RATES_REFRESH_INTERVAL;

/// Where exchange rates come from, and which are believed.
#[derive(Debug, Clone, Args)]
pub struct RateSourceArgs {
    /// File of exchange rates in a format of the European Central Bank, a path or an https address; without one a sandbox has invented rates,
    /// and production has none
    #[arg(long, env = "DROPIN_RATES_FEED", hide_env_values = true, value_name = "PATH or URL")]
    pub rates_feed: Option<String>,
    /// Second file, for currencies that the first does not quote
    #[arg(
        long,
        env = "DROPIN_RATES_SUPPLEMENT",
        hide_env_values = true,
        value_name = "PATH or URL",
        requires = "rates_feed"
    )]
    pub rates_supplement: Option<String>,
    /// How often both are looked at, in seconds, 10 to 86400
    #[arg(
        long, env = "DROPIN_RATES_INTERVAL", default_value_t = RATES_REFRESH_INTERVAL.as_secs(), value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(10..=86_400)
    )]
    pub rates_interval: u64,
    /// Publications of the first file that may fail to appear before its rates are too old to guarantee any, 1 to 30
    #[arg(long, env = "DROPIN_RATES_STALE_AFTER", default_value_t = RateSourceLimits::default().stale_after(), value_name = "NUMBER")]
    pub rates_stale_after: u16,
    /// The same for the second file, whose rates are then left out
    #[arg(
        long, env = "DROPIN_RATES_SUPPLEMENT_STALE_AFTER", default_value_t = RateSourceLimits::default().supplement_stale_after(),
        value_name = "NUMBER"
    )]
    pub rates_supplement_stale_after: u16,
    /// Percent by which a rate may change from one table to the next and be believed, 1 to 900
    #[arg(long, env = "DROPIN_RATES_JUMP", default_value_t = RateSourceLimits::default().jump_percent(), value_name = "PERCENT")]
    pub rates_jump: u16,
    /// Currencies whose rate has changed by more, and that is right; separated by commas, until the change is in force
    #[arg(
        long, env = "DROPIN_RATES_CONFIRM", value_name = "CODES", value_delimiter = ',', value_parser = Currency::from_str
    )]
    pub rates_confirm: Vec<Currency>,
}

impl RateSourceArgs {
    /// What is believed.
    ///
    /// # Errors
    /// [`LimitsError`].
    pub fn limits(&self) -> Result<RateSourceLimits, LimitsError> {
        let limits = RateSourceLimits::new(self.rates_stale_after, self.rates_supplement_stale_after, self.rates_jump)?;
        Ok(limits.with_confirmed(self.rates_confirm.iter().copied()))
    }

    /// How often to look.
    pub fn every(&self) -> Duration {
        Duration::from_secs(self.rates_interval)
    }
}

/// How long guaranteed rates hold.
#[derive(Debug, Clone, Args)]
pub struct OfferArgs {
    /// Seconds that a guaranteed rate holds, 3600 to 604800
    #[arg(long, env = "DROPIN_RATE_OFFER_LIFE", default_value_t = 24 * 60 * 60, value_name = "SECONDS")]
    pub rate_offer_life: u64,
    /// Seconds after which a merchant's guaranteed rates are made anew, 60 to their life
    #[arg(long, env = "DROPIN_RATE_OFFER_PERIOD", default_value_t = 6 * 60 * 60, value_name = "SECONDS")]
    pub rate_offer_period: u64,
}

impl OfferArgs {
    /// The same, checked.
    ///
    /// # Errors
    /// [`OfferPolicyError`].
    pub fn policy(&self) -> Result<OfferPolicy, OfferPolicyError> {
        OfferPolicy::new(Duration::from_secs(self.rate_offer_life), Duration::from_secs(self.rate_offer_period))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Demo {
        #[command(flatten)]
        source: RateSourceArgs,
        #[command(flatten)]
        offers: OfferArgs,
    }

    fn parse(line: &str) -> Option<Demo> {
        Demo::try_parse_from(["demo"].into_iter().chain(line.split_ascii_whitespace())).ok()
    }

    #[test]
    fn the_defaults_are_those_of_the_rules() {
        let demo = parse("").unwrap();
        assert_eq!(
            (demo.source.limits(), demo.offers.policy()),
            (Ok(RateSourceLimits::default()), Ok(OfferPolicy::default()))
        );
        assert_eq!(demo.source.every(), RATES_REFRESH_INTERVAL);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(parse("--rates-feed a.xml --rates-supplement b.csv --rates-confirm TRY,ARS").is_some());
        for wrong in ["--rates-supplement b.csv", "--rates-interval 9", "--rates-confirm XXX", "--rates-jump -1"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
        assert_eq!(parse("--rates-jump 0").unwrap().source.limits(), Err(LimitsError::Jump));
        assert_eq!(parse("--rate-offer-life 60").unwrap().offers.policy(), Err(OfferPolicyError::Life));
    }
}
