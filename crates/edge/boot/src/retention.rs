use std::time::Duration;

use clap::Args;
use dropin_kernel::parse_span;
use dropin_usecases::notifications::Retention;

/// For how long notifications are kept.
#[derive(Debug, Clone, Args)]
pub struct RetentionArgs {
    /// How long is kept what came of each try at a notification, such as 30d or 12h; 0 for ever
    #[arg(long, env = "DROPIN_ATTEMPT_RETENTION", default_value = "30d", value_name = "TIME", value_parser = time)]
    pub attempt_retention: RetentionPeriod,
    /// How long notifications are kept that are over; the newest of each payment and what is parked stay, 0 keeps all of them for ever
    #[arg(long, env = "DROPIN_EVENT_RETENTION", default_value = "400d", value_name = "TIME", value_parser = time)]
    pub event_retention: RetentionPeriod,
}

/// For how long what screening knows of payments is kept.
#[derive(Debug, Clone, Args)]
pub struct ScreeningRetentionArgs {
    /// How long the facts are kept that a payment was screened by, such as 90d; its decision, score and reasons stay, 0 keeps the facts for ever too
    #[arg(long, env = "DROPIN_SCREENING_RETENTION", default_value = "90d", value_name = "TIME", value_parser = time)]
    pub screening_retention: RetentionPeriod,
}

/// How long something is kept; `None` for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPeriod(pub Option<Duration>);

impl RetentionArgs {
    /// The same for the use case.
    pub const fn retention(&self) -> Retention {
        Retention { tries: self.attempt_retention.0, events: self.event_retention.0 }
    }
}

/// Shorter would be a slip of the pen, and what it deletes is gone.
const MIN_RETENTION: Duration = Duration::from_secs(60);

/// A hundred years. Databases know no moments far before our time, and would refuse to delete what is older than one.
const MAX_RETENTION: Duration = Duration::from_secs(36_500 * 86_400);

fn time(text: &str) -> Result<RetentionPeriod, String> {
    let advice = || {
        "must be a whole number with m, h or d, such as 12h or 30d, of 36500d at most; 0 or forever deletes nothing"
            .to_owned()
    };
    if matches!(text, "0" | "forever") {
        return Ok(RetentionPeriod(None));
    }
    let kept = parse_span(text).filter(|kept| (MIN_RETENTION..=MAX_RETENTION).contains(kept)).ok_or_else(advice)?;
    Ok(RetentionPeriod(Some(kept)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Demo {
        #[command(flatten)]
        retention: RetentionArgs,
    }

    fn retention(line: &str) -> Option<Retention> {
        let demo = Demo::try_parse_from(["demo"].into_iter().chain(line.split_ascii_whitespace()));
        demo.ok().map(|demo| demo.retention.retention())
    }

    #[derive(Debug, Parser)]
    struct ScreeningDemo {
        #[command(flatten)]
        screening: ScreeningRetentionArgs,
    }

    #[test]
    fn facts_of_screenings_are_kept_a_quarter_of_a_year() {
        let kept = |line: &[&str]| {
            let demo = ScreeningDemo::try_parse_from([&["demo"], line].concat()).unwrap();
            demo.screening.screening_retention.0
        };
        assert_eq!(kept(&[]), Some(Duration::from_secs(90 * 86_400)));
        assert_eq!(
            (kept(&["--screening-retention=0"]), kept(&["--screening-retention=12h"])),
            (None, Some(Duration::from_secs(43_200)))
        );
    }

    #[test]
    fn tries_are_kept_a_month_and_events_a_year_and_a_bit() {
        assert_eq!(retention(""), Some(Retention::default()));
        let given = retention("--attempt-retention 90m --event-retention forever").unwrap();
        assert_eq!((given.tries, given.events), (Some(Duration::from_secs(5_400)), None));
        assert_eq!(retention("--attempt-retention 0").unwrap().tries, None);
        for wrong in ["", "d", "-1d", "0d", "30", "30s", "1.5d", "30ᵈ", "36501d", "9999999d"] {
            let line = ["demo".to_owned(), format!("--event-retention={wrong}")];
            let message = Demo::try_parse_from(line).unwrap_err().to_string();
            assert!(message.contains("forever") || wrong.is_empty(), "{wrong}: {message}");
        }
        let longest = retention("--attempt-retention 36500d").unwrap();
        assert_eq!(longest.tries, Some(MAX_RETENTION));
    }
}
