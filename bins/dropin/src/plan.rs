//! What runs in this process, and under which addresses it is found.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use dropin_boot::{Failure, Mode, ProcessorArgs, PublicArgs, PublicUrls, Secret, SystemIds};
use dropin_ports::IdSource;

use crate::cli::{Cli, Target};
use crate::files;

/// Below what a service stands where all share one listener.
pub(crate) const ASSET: &str = "/asset";
/// The server-to-server checkout's prefix.
pub(crate) const CHECKOUT: &str = "/checkout";
/// The stash's prefix.
pub(crate) const STASH: &str = "/stash";
/// The sandbox processor's prefix.
pub(crate) const SANDBOX: &str = "/sandbox";

/// Every part, in the order in which they start.
const PARTS: [Target; 7] = [
    Target::SandboxProcessor,
    Target::SessionApi,
    Target::StashApi,
    Target::CheckoutApi,
    Target::Settler,
    Target::Notifier,
    Target::Shop,
];

/// The parts to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts(Vec<Target>);

impl Parts {
    /// Reads `--target`, `--no-demo` and the mode. Production has neither sandbox nor demo unless they are asked for by
    /// name, which is refused.
    pub(crate) fn chosen(cli: &Cli) -> Result<Self, Failure> {
        let (targets, production) = (&cli.serve.target, cli.mode.mode == Mode::Production);
        let play = |part: Target| matches!(part, Target::SandboxProcessor | Target::Shop);
        if let Some(refused) = targets.iter().find(|part| production && play(**part)) {
            let name = if *refused == Target::Shop { "the demo shop" } else { "the sandbox processor" };
            return Err(format!("{name} does not run in production; leave it out of --target").into());
        }
        let all = targets.contains(&Target::All);
        let wanted = |part: Target| all && !(production && play(part)) || targets.contains(&part);
        let left_out = |part: Target| part == Target::Shop && cli.serve.no_demo;
        Ok(Self(PARTS.into_iter().filter(|part| wanted(*part) && !left_out(*part)).collect()))
    }

    /// Whether this part runs.
    pub(crate) fn has(&self, part: Target) -> bool {
        self.0.contains(&part)
    }

    /// Whether a part runs that needs the store: any of the service itself.
    pub(crate) fn need_store(&self) -> bool {
        self.0.iter().any(|part| !matches!(part, Target::Shop | Target::SandboxProcessor))
    }

    /// Whether a part runs that calls the processor.
    pub(crate) fn need_processor(&self) -> bool {
        [Target::SessionApi, Target::CheckoutApi, Target::Settler].into_iter().any(|part| self.has(part))
    }

    /// Whether a part runs that stashes cards or pays with them: only those may open the stash's keys.
    pub(crate) fn need_cards(&self) -> bool {
        self.has(Target::StashApi) || self.has(Target::CheckoutApi)
    }

    /// Whether a part runs that checks API passwords, signs notifications, or makes the demo merchant: only those open the master key.
    pub(crate) fn need_master_key(&self) -> bool {
        [Target::SessionApi, Target::CheckoutApi, Target::Notifier, Target::Shop].into_iter().any(|part| self.has(part))
    }

    /// Whether anything but the shop runs, which listens for itself.
    pub(crate) fn need_listener(&self) -> bool {
        self.0.iter().any(|part| *part != Target::Shop)
    }
}

/// Where everything is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// `{base_url}`.
    pub(crate) base: String,
    /// `{checkout_url}`.
    pub(crate) checkout: String,
    /// `{asset_url}` and `{stash_url}`.
    pub(crate) public: PublicUrls,
    /// The payment processor.
    pub(crate) processor: String,
}

impl Addresses {
    /// What is configured, else where this process listens; `processor` is where its sandbox processor listens by itself.
    pub(crate) fn find(
        cli: &Cli,
        parts: &Parts,
        listens: SocketAddr,
        processor: Option<SocketAddr>,
    ) -> Result<Self, Failure> {
        let serve = &cli.serve;
        let scheme = if serve.listener.tls().is_some() { "https" } else { "http" };
        let here = format!("{scheme}://{}", reachable(listens));
        let or_here =
            |configured: &Option<String>, prefix: &str| configured.clone().unwrap_or_else(|| format!("{here}{prefix}"));
        let public =
            PublicArgs { asset_url: or_here(&serve.asset_url, ASSET), stash_url: or_here(&serve.stash_url, STASH) };
        let processor = match &serve.processor_url {
            Some(url) => url.clone(),
            None if parts.has(Target::SandboxProcessor) => match processor {
                Some(address) => format!("http://{address}"),
                None => format!("{here}{SANDBOX}"),
            },
            None if cli.mode.mode == Mode::Production && parts.need_processor() => {
                return Err("PROCESSOR_URL is missing: production needs the address of a payment processor".into());
            }
            None => ProcessorArgs::DEFAULT_URL.to_owned(),
        };
        Ok(Self {
            base: or_here(&serve.base_url, "").trim_end_matches('/').to_owned(),
            checkout: or_here(&serve.checkout_url, CHECKOUT).trim_end_matches('/').to_owned(),
            public: public.urls()?,
            processor,
        })
    }
}

/// Where a client on this machine finds a listener.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        _ => address,
    }
}

/// The key that the processor knows us by; in a sandbox one of our own, kept in the data folder.
pub(crate) fn processor_key(cli: &Cli) -> Result<Secret, Failure> {
    let configured =
        ProcessorArgs { processor_url: String::new(), processor_key_file: cli.serve.processor_key_file.clone() }.key();
    match configured {
        Err(dropin_boot::ConfigError::MissingSecret { .. }) if cli.mode.mode == Mode::Sandbox => {}
        configured => return Ok(configured?),
    }
    let path = processor_key_file(cli);
    if let Some(kept) = files::read(&path)? {
        return Ok(Secret::new(kept.trim().to_owned()));
    }
    files::make_folder(&cli.store.data)?;
    let key: String = SystemIds.secret().iter().map(|byte| format!("{byte:02x}")).collect();
    files::write_private(&path, &key)?;
    Ok(Secret::new(key))
}

/// Where the key that was made here for the sandbox processor is kept.
pub(crate) fn processor_key_file(cli: &Cli) -> PathBuf {
    cli.store.data.join("processor.key")
}

/// Where the demo merchant's credentials are.
pub(crate) fn merchant_file(cli: &Cli) -> PathBuf {
    cli.serve.merchant_file.clone().unwrap_or_else(|| cli.store.data.join("demo-merchant.json"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn cli(line: &str) -> Cli {
        Cli::parse_from(line.split_ascii_whitespace())
    }

    fn parts(line: &str) -> Result<Vec<Target>, String> {
        Parts::chosen(&cli(line)).map(|parts| parts.0).map_err(|error| error.to_string())
    }

    #[test]
    fn all_are_all_but_what_production_or_no_demo_leave_out() {
        assert_eq!(parts("dropin"), Ok(PARTS.to_vec()));
        assert!(!parts("dropin --no-demo").unwrap().contains(&Target::Shop));
        let production = parts("dropin --mode production").unwrap();
        assert_eq!(production.len(), 5, "{production:?}");
        assert!(parts("dropin --mode production --target shop").is_err());
        assert_eq!(parts("dropin --target notifier,session-api"), Ok(vec![Target::SessionApi, Target::Notifier]));
    }

    #[test]
    fn everything_is_found_where_the_process_listens_unless_configured() {
        let find = |line: &str| {
            let cli = cli(line);
            let parts = Parts::chosen(&cli).unwrap();
            Addresses::find(&cli, &parts, SocketAddr::from(([0, 0, 0, 0], 8080)), None)
        };
        let here = find("dropin").unwrap();
        assert_eq!(here.base, "http://127.0.0.1:8080");
        assert_eq!(here.checkout, "http://127.0.0.1:8080/checkout");
        assert_eq!(here.public.asset, "http://127.0.0.1:8080/asset");
        assert_eq!(here.public.stash, "http://127.0.0.1:8080/stash");
        assert_eq!(here.processor, "http://127.0.0.1:8080/sandbox");
        let there = find("dropin --target session-api --base-url https://pay.example/").unwrap();
        assert_eq!(
            (there.base.as_str(), there.processor.as_str()),
            ("https://pay.example", ProcessorArgs::DEFAULT_URL)
        );
        assert!(find("dropin --mode production").is_err());
    }
}
