use clap::{Args, value_parser};
use dropin_access::TargetPolicy;
use dropin_access::address::{InvalidNetwork, Network};

use crate::Mode;

/// Where notifications may go. Programs that register endpoints and those that call them are given the same.
#[derive(Debug, Clone, Args)]
pub struct WebhookArgs {
    /// Ports that notifications go to in production, separated by commas
    #[arg(
        long, env = "DROPIN_WEBHOOK_PORTS", default_value = "443,8443", value_delimiter = ',', value_name = "PORTS", value_parser = value_parser!(u16).range(1..)
    )]
    pub webhook_ports: Vec<u16>,
    /// Addresses and ranges that no notification goes to, separated by commas, such as 203.0.113.0/24,2001:db8::/32: put the public addresses
    /// of this deployment here. Private and reserved ones are refused anyway, in production
    #[arg(long, env = "DROPIN_WEBHOOK_DENY", value_delimiter = ',', value_name = "RANGES")]
    pub webhook_deny: Vec<Network>,
    /// Private network that notifications may go to in production too, such as 10.0.0.0/8; may be given several times. Never link-local
    /// addresses, those of cloud metadata, or this machine
    #[arg(long, env = "DROPIN_WEBHOOK_ALLOW", value_delimiter = ',', value_name = "RANGE", value_parser = allowed)]
    pub webhook_allow: Vec<Network>,
}

/// A network that may be called.
fn allowed(text: &str) -> Result<Network, String> {
    let network: Network = text.parse().map_err(|error: InvalidNetwork| error.to_string())?;
    match network.is_never_a_receiver() {
        true => Err("link-local, multicast and metadata addresses are never called".to_owned()),
        false => Ok(network),
    }
}

impl WebhookArgs {
    /// What these say for a deployment of this kind.
    pub fn policy(&self, mode: Mode) -> TargetPolicy {
        let policy = match mode {
            Mode::Sandbox => TargetPolicy::sandbox(),
            Mode::Production => TargetPolicy::production().with_ports(self.webhook_ports.clone()),
        };
        policy.with(self.webhook_allow.clone()).without(self.webhook_deny.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Demo {
        #[command(flatten)]
        webhook: WebhookArgs,
    }

    fn parsed(line: &str) -> Result<WebhookArgs, clap::Error> {
        <Demo as clap::Parser>::try_parse_from(line.split(' ')).map(|demo| demo.webhook)
    }

    #[test]
    fn ports_and_ranges_make_the_policy() {
        let usual = parsed("demo").unwrap();
        assert_eq!(usual.policy(Mode::Production), TargetPolicy::production());
        assert_eq!(usual.policy(Mode::Sandbox), TargetPolicy::sandbox());
        let other =
            parsed("demo --webhook-ports 443,9443 --webhook-deny 203.0.113.7,8.8.8.0/24,2001:db8::/32").unwrap();
        let production = other.policy(Mode::Production);
        assert!(production.check("https://shop.example:9443/").is_ok());
        assert!(
            production.check("https://8.8.8.8/").is_err() && production.check("https://shop.example:8443/").is_err()
        );
        let sandbox = other.policy(Mode::Sandbox);
        assert!(sandbox.check("http://localhost:8081/").is_ok() && sandbox.check("http://8.8.8.8/").is_err());
        let inside = parsed("demo --webhook-allow 10.0.0.0/8 --webhook-allow fd12::/16,172.16.0.0/12").unwrap();
        let inside = inside.policy(Mode::Production);
        for good in ["https://10.1.2.3/", "https://172.16.0.1/", "https://[fd12::1]/"] {
            assert!(inside.check(good).is_ok() && usual.policy(Mode::Production).check(good).is_err(), "{good}");
        }
        for wrong in ["169.254.0.0/16", "169.254.169.254", "224.0.0.0/4", "fe80::/10", "100.100.100.200"] {
            assert!(parsed(&format!("demo --webhook-allow {wrong}")).is_err(), "{wrong}");
        }
        for wrong in
            ["--webhook-ports 0", "--webhook-ports 443,https", "--webhook-deny shop.example", "--webhook-deny 10/8"]
        {
            assert!(parsed(&format!("demo {wrong}")).is_err(), "{wrong}");
        }
    }
}
