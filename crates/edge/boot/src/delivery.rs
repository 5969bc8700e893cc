use clap::{Args, value_parser};

use crate::WebhookArgs;

/// How notifications are sent.
#[derive(Debug, Clone, Args)]
pub struct DeliveryArgs {
    /// Notifications under way to one endpoint at once; those of one payment always follow each other
    #[arg(
        long, env = "DROPIN_ENDPOINT_SLOTS", default_value_t = 32, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=512)
    )]
    pub endpoint_slots: u32,
    /// Where they may go.
    #[command(flatten)]
    pub webhook: WebhookArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Demo {
        #[command(flatten)]
        delivery: DeliveryArgs,
    }

    fn slots(line: &str) -> Result<u32, clap::Error> {
        <Demo as clap::Parser>::try_parse_from(line.split(' ')).map(|demo| demo.delivery.endpoint_slots)
    }

    #[test]
    fn an_endpoint_has_some_slots_and_no_more_than_there_are() {
        assert_eq!(slots("demo").unwrap(), 32);
        assert_eq!(slots("demo --endpoint-slots 1").unwrap(), 1);
        for wrong in ["demo --endpoint-slots 0", "demo --endpoint-slots 513"] {
            assert!(slots(wrong).is_err(), "{wrong}");
        }
    }
}
