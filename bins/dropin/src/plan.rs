//! What runs in this process, and under which addresses it is found.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use dropin_boot::{
    ConfigError, Failure, Mode, Prefixes, ProcessorArgs, ProcessorKind, PublicArgs, PublicUrls, Secret, SystemIds,
    check_reachable, public_url,
};
use dropin_ports::IdSource;

use crate::cli::{Cli, Target};
use crate::files;

/// Below what the services stand, since all share one listener.
pub(crate) const PREFIXES: Prefixes = Prefixes { checkout: "/checkout", asset: "/asset", stash: "/stash" };
/// The sandbox processor's prefix.
pub(crate) const SANDBOX: &str = "/sandbox";

/// Every part, in the order in which they start.
const PARTS: [Target; 8] = [
    Target::SandboxProcessor,
    Target::SessionApi,
    Target::StashApi,
    Target::CheckoutApi,
    Target::Settler,
    Target::Notifier,
    Target::AdminPanel,
    Target::Shop,
];

/// The parts to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts(Vec<Target>);

impl Parts {
    /// Reads `--target`, `--no-demo` and the mode. Production has neither sandbox nor demo unless they are asked for by
    /// name, which is refused.
    pub(crate) fn chosen(cli: &Cli) -> Result<Self, Failure> {
        let (targets, production) = (&cli.serve.target, cli.mode.mode() == Mode::Production);
        let is_sandbox_only = |part: Target| matches!(part, Target::SandboxProcessor | Target::Shop);
        if let Some(refused) = targets.iter().find(|part| production && is_sandbox_only(**part)) {
            let name = if *refused == Target::Shop { "the demo shop" } else { "the sandbox processor" };
            return Err(format!("{name} does not run in production; leave it out of --target").into());
        }
        let speaks_sandbox = cli.serve.processor == ProcessorKind::Sandbox;
        if !speaks_sandbox && targets.contains(&Target::SandboxProcessor) {
            return Err("the sandbox processor does not run where another is the processor; leave it out of --target, or --processor".into());
        }
        let all = targets.contains(&Target::All);
        let is_left_out =
            |part: Target| production && is_sandbox_only(part) || !speaks_sandbox && part == Target::SandboxProcessor;
        let wanted = |part: Target| all && !is_left_out(part) || targets.contains(&part);
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
        [Target::SessionApi, Target::CheckoutApi, Target::Settler, Target::AdminPanel]
            .into_iter()
            .any(|part| self.has(part))
    }

    /// Whether a part runs that stashes cards or pays with them: only those may open the stash's keys.
    pub(crate) fn need_cards(&self) -> bool {
        self.has(Target::StashApi) || self.has(Target::CheckoutApi)
    }

    /// Whether a part runs that charges or deletes stored credentials: only those may open their keys.
    pub(crate) fn need_credentials(&self) -> bool {
        self.has(Target::CheckoutApi) || self.has(Target::Settler)
    }

    /// Whether a part runs that checks passwords, signs notifications, hands on evidence, or makes merchants: only those open the master key.
    pub(crate) fn need_master_key(&self) -> bool {
        [Target::SessionApi, Target::CheckoutApi, Target::Notifier, Target::Settler, Target::AdminPanel, Target::Shop]
            .into_iter()
            .any(|part| self.has(part))
    }

    /// Whether anything but the shop and the admin panel runs, which have listeners of their own.
    pub(crate) fn need_listener(&self) -> bool {
        self.0.iter().any(|part| !matches!(part, Target::Shop | Target::AdminPanel))
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
        let public = PublicArgs {
            asset_url: or_here(&serve.asset_url, PREFIXES.asset),
            stash_url: or_here(&serve.stash_url, PREFIXES.stash),
        };
        let processor = match &serve.processor_url {
            Some(url) => url.clone(),
            None if parts.has(Target::SandboxProcessor) => match processor {
                Some(address) => format!("http://{address}"),
                None => format!("{here}{SANDBOX}"),
            },
            None if serve.processor != ProcessorKind::Sandbox => serve.processor.default_url().to_owned(),
            None if cli.mode.mode() == Mode::Production && parts.need_processor() => {
                return Err("PROCESSOR_URL is missing: production needs the address of a payment processor".into());
            }
            None => serve.processor.default_url().to_owned(),
        };
        let mode = cli.mode.mode();
        Ok(Self {
            base: public_url("base_url", &or_here(&serve.base_url, ""), mode)?,
            checkout: public_url("checkout_url", &or_here(&serve.checkout_url, PREFIXES.checkout), mode)?,
            public: public.urls(mode)?,
            processor,
        })
    }
}

impl Addresses {
    /// Refuses addresses of this machine that browsers are told, where the parts serve real payments to other machines.
    pub(crate) fn check_reachable(&self, cli: &Cli, parts: &Parts) -> Result<(), Failure> {
        let serve = &cli.serve;
        if !cli.mode.is_public_production(serve.listen, serve.listener.behind_proxy) {
            return Ok(());
        }
        if parts.has(Target::StashApi) {
            check_reachable("asset_url", "DROPIN_ASSET_URL", &self.public.asset)?;
        }
        if parts.has(Target::CheckoutApi) {
            self.public.check_reachable()?;
        }
        Ok(())
    }
}

/// Where a client on this machine finds a listener.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        _ => address,
    }
}

/// How the processor's key is configured.
pub(crate) fn processor_args(cli: &Cli) -> ProcessorArgs {
    let serve = &cli.serve;
    ProcessorArgs {
        processor: serve.processor,
        processor_url: None,
        processor_key_file: serve.processor_key_file.clone(),
        processors: serve.processors.clone(),
    }
}

/// The key that the processor knows us by; in a sandbox the one in the data folder, which is made for a sandbox processor of this process.
///
/// # Errors
/// There is none, and another process's processor would not know a new one.
pub(crate) fn processor_key(cli: &Cli, parts: &Parts) -> Result<Secret, Failure> {
    let missing = match processor_args(cli).key() {
        Err(error @ ConfigError::MissingSecret { .. })
            if cli.mode.mode() == Mode::Sandbox && cli.serve.processor == ProcessorKind::Sandbox =>
        {
            error
        }
        configured => return Ok(configured?),
    };
    let path = processor_key_file(cli);
    if let Some(kept) = files::read(&path)? {
        return Ok(Secret::new(kept.trim().to_owned()));
    }
    if !parts.has(Target::SandboxProcessor) {
        return Err(format!("{missing}; or add sandbox-processor to --target, for which a key is made").into());
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
        assert_eq!(production.len(), 6, "{production:?}");
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
            ("https://pay.example", ProcessorKind::Sandbox.default_url())
        );
        assert!(find("dropin --mode production").is_err());
    }
}
