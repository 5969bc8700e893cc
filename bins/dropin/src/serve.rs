//! Serving: the parts are composed here, from the same libraries as the small programs.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::ServiceConfig;
use checkout_api::{CheckoutDeps, MerchantDeps};
use dropin_access::{Origin, WalletDomain, WalletHosts};
use dropin_boot::{
    Context, Failure, Mode, Process, ProcessorLimitArgs, Secret, SystemClock, SystemIds, keep_memory_private,
};
use dropin_catalogue::Catalogue;
use dropin_http::{Gate, Server};
use dropin_keyring::{MasterKey, StashKeys};
use dropin_notification::Schedule;
use dropin_ports::StoreHealth;
use dropin_processor_http::{BreakerRules, HttpProcessor, ProcessorConfig, Room};
use dropin_rates::OfferPolicy;
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{Authenticator, KnownMerchants};
use dropin_usecases::answers::{Answers, KEEP};
use dropin_usecases::audit::OpenWork;
use dropin_usecases::catalogue::MethodLists;
use dropin_usecases::deliver::{Delivering, Pace};
use dropin_usecases::payments::{Checkouts, Looks, PROCESSOR_DEADLINE, Payments, Shopper, Timing};
use dropin_usecases::rates::{RateWatch, Rates};
use dropin_usecases::sessions::Sessions;
use dropin_usecases::stash::{Door, KEY_PERIOD, Stashing};
use dropin_usecases::wallet::{AssociationFile, WalletCertificates, WalletOffers, WalletSessions};
use dropin_webhook_client::{ClientConfig, TargetPolicy, WebhookClient};
use notifier::NotifierDeps;
use sandbox_processor::{Hosting, SandboxProcessor};
use session_api::SessionApiDeps;
use settler::SettlerDeps;
use stash_api::StashApiDeps;

use crate::cli::{Cli, Target};
use crate::demo::{self, Credentials};
use crate::plan::{self, Addresses, Parts};
use crate::shop::{self, Shop, ShopConfig};
use crate::wallet::{self, WalletSandbox};
use crate::{banner, files, tools};

/// How long the sandbox processor stays silent where a test number asks for it: longer than [`PROCESSOR_DEADLINE`], and short
/// enough that a stop of this process is not held up by it.
const SILENCE: Duration = Duration::from_secs(10);

/// Serves until somebody asks for a stop.
pub(crate) async fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    let parts = Parts::chosen(cli)?;
    let database = cli.store.url()?;
    files::make_folder(&cli.store.data)?;
    if parts.need_cards() {
        keep_memory_private()?;
    }
    let mut process = Process::start()?;
    let server = Server::new("dropin").listen(cli.serve.listen);
    // The shop alone listens for itself, perhaps on a machine where the service has its address.
    let server = if parts.need_listener() { Some(server?) } else { None };
    let listens = server.as_ref().and_then(|server| server.addresses().first().copied()).unwrap_or(cli.serve.listen);
    let inner = inner_listener(cli, &parts)?;
    let inner_address = inner.as_ref().and_then(|inner| inner.addresses().first().copied());
    let addresses = Addresses::find(cli, &parts, listens, inner_address)?;
    let wallet = WalletSandbox::open(cli, &parts)?;
    let processor = open_processor(cli, &parts, &addresses, wallet.as_ref())?;
    let store = match parts.need_store() {
        true => Some(Store::open(StoreConfig::new(database, Role::Service))?),
        false => None,
    };
    let secrets = match &store {
        Some(store) if parts.need_master_key() => {
            Some(Arc::new(MasterKey::of_deployment(&cli.keys.folder(&cli.store.data), store).await?))
        }
        _ => None,
    };
    if let Some(mut server) = server {
        if let Some(processor) = processor {
            server = mount_processor(processor, inner, server, &mut process)?;
        }
        let hosts = wallet::hosts(cli, wallet.as_ref())?;
        let assemble = |store| Service::assemble(cli, &parts, &addresses, &process, store, secrets.clone(), hosts);
        let service = store.clone().map(assemble).transpose()?;
        let server = mount(cli, &parts, service.as_ref(), server);
        let server = server.ready_until(process.stop.clone()).metrics_on(cli.serve.listener.metrics_listen)?;
        process.add_server(server.start()?);
        if let Some(service) = service {
            service.run_in(&mut process, &parts)?;
        }
    }
    let demo_wallet = store.as_ref().zip(secrets.clone()).zip(wallet.as_ref().map(|wallet| wallet.authority.clone()));
    let demo_wallet = demo_wallet.map(|((store, secrets), authority)| (store.clone(), secrets, authority));
    let shop = match parts.has(Target::Shop) {
        true => Some(open_shop(cli, &addresses, store.as_ref().zip(secrets), &process).await?),
        false => None,
    };
    let demo = shop.as_ref().map(|(_, credentials)| credentials);
    banner::print(cli, &parts, &addresses, demo)?;
    if let Some(wallet) = wallet {
        process.add_local_service("wallet provider", wallet::run(wallet.serve()?, process.stop.clone()));
    }
    if let Some((shop, credentials)) = shop {
        if let Some((store, secrets, authority)) = demo_wallet {
            let setup = tools::wallet_setup(cli, &store, secrets)?;
            demo::wallet(&setup, &authority, &credentials).await?;
            let stop = process.stop.clone();
            process.add_service("demo wallet", async move { demo::prove_domain(setup, credentials, stop).await });
        }
        process.add_local_service("demo shop", async move {
            if let Err(error) = shop.run().await {
                log::error!("the demo shop broke: {error}");
            }
        });
    }
    let code = process.until_stopped().await;
    if let Some(store) = store {
        store.close();
    }
    Ok(code)
}

/// Where the service speaks TLS, the sandbox processor gets a listener of its own on loopback: a certificate for the public name
/// would not be believed there.
fn inner_listener(cli: &Cli, parts: &Parts) -> Result<Option<Server>, Failure> {
    if !parts.has(Target::SandboxProcessor) || cli.serve.listener.tls().is_none() {
        return Ok(None);
    }
    Ok(Some(Server::new("sandbox-processor").listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?))
}

/// Opens the sandbox processor. Its pages are found where browsers find the service, however we reach the processor ourselves.
fn open_processor(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    wallet: Option<&WalletSandbox>,
) -> Result<Option<SandboxProcessor>, Failure> {
    if !parts.has(Target::SandboxProcessor) {
        return Ok(None);
    }
    let config = sandbox_processor::Config {
        database: cli.store.data.join("processor.db"),
        key: plan::processor_key(cli)?.expose().to_owned(),
        capture_delay: sandbox_processor::Config::DEFAULT_CAPTURE_DELAY,
        silence: SILENCE,
    };
    let hosting = Hosting {
        public_url: Some(format!("{}{}", addresses.base, plan::SANDBOX)),
        wallet: wallet.map(|wallet| wallet.authority.clone()),
        ..Hosting::default()
    };
    Ok(Some(SandboxProcessor::open_with(config, hosting)?))
}

/// Mounts the processor where the service is; what is for our own calls stands on the inner listener where there is one.
fn mount_processor(
    processor: SandboxProcessor,
    inner: Option<Server>,
    server: Server,
    process: &mut Process,
) -> Result<Server, Failure> {
    let pages = processor.clone();
    let configure = move |config: &mut ServiceConfig| processor.configure()(config);
    Ok(match inner {
        Some(inner) => {
            process.add_server(inner.mount_uncounted("", configure).start()?);
            server.mount_uncounted(plan::SANDBOX, move |config| pages.configure_pages()(config))
        }
        None => server.mount_uncounted(plan::SANDBOX, configure),
    })
}

/// Mounts what answers requests.
fn mount(cli: &Cli, parts: &Parts, service: Option<&Service>, mut server: Server) -> Server {
    if let Some(service) = service {
        server = service.mount(parts, server).ready_when(Arc::new(service.context.store.clone()));
    }
    let listener = &cli.serve.listener;
    server.tls(listener.tls()).limits(listener.limits()).behind_proxy(listener.behind_proxy)
}

/// What the parts that use the store are made of.
struct Service {
    context: Context,
    /// Lets callers in, and remembers whom for all parts together.
    gate: Option<Gate>,
    /// Only where a part checks passwords or signs notifications.
    secrets: Option<Arc<MasterKey>>,
    /// Only where a part stashes cards or pays with them.
    vault: Option<Arc<StashKeys>>,
    sessions: Sessions,
    rates: Rates,
    /// Only where the feed of exchange rates is looked at.
    rate_watch: Option<RateWatch>,
    /// Only where a part asks the processor for something.
    processor: Option<Arc<HttpProcessor>>,
    payments: Option<Payments>,
    /// Only where a part lets pages ask for the wallet's payment sessions.
    wallets: Option<WalletSessions>,
    addresses: Addresses,
    asset_origin: Origin,
    catalogue: Arc<Catalogue>,
    /// Where the pay-later provider's messaging script is.
    pay_later_script: Option<String>,
    /// How long what was stashed waits for its payment.
    lifetime: Duration,
    /// What the stash remembers of merchants.
    door: Arc<Door>,
    /// Notifications under way to one endpoint at once.
    endpoint_slots: u32,
    /// Whether the API documents are served.
    docs: bool,
}

impl Service {
    fn assemble(
        cli: &Cli,
        parts: &Parts,
        addresses: &Addresses,
        process: &Process,
        store: Store,
        secrets: Option<Arc<MasterKey>>,
        wallet_hosts: WalletHosts,
    ) -> Result<Self, Failure> {
        let context = Context {
            store: store.clone(),
            data: cli.store.data.clone(),
            keys: cli.keys.folder(&cli.store.data),
            mode: cli.mode.mode,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            flows: process.flows.clone(),
            stop: process.stop.clone(),
        };
        let processor = match parts.need_processor() {
            true => Some(processor(&addresses.processor, plan::processor_key(cli)?, &cli.serve.processor_limits)?),
            false => None,
        };
        let payments = processor.clone().map(|processor| payments(&context, processor));
        let url_policy = context.mode.url_policy();
        let (sandbox, limit) = (context.mode == Mode::Sandbox, cli.serve.access.limit());
        let access = Arc::new(store.clone());
        let gate = secrets
            .clone()
            .map(|secrets| Gate(Arc::new(Authenticator::new(access, secrets, context.clock.clone(), sandbox, limit))));
        let asset_origin = Origin::parse(&addresses.public.asset_origin())?;
        let pages = match parts.has(Target::SandboxProcessor) {
            true => format!("{}{}", addresses.base, plan::SANDBOX),
            false => addresses.processor.clone(),
        };
        let wallets = match &secrets {
            Some(secrets) if parts.has(Target::CheckoutApi) => {
                Some(wallet::sessions(cli, &context, secrets.clone(), wallet_hosts, asset_origin.clone())?)
            }
            _ => None,
        };
        Ok(Self {
            gate,
            wallets,
            secrets,
            vault: match parts.need_cards() {
                true => Some(open_vault(&context, cli.serve.stash.lifetime())?),
                false => None,
            },
            rates: rates(&context, cli.serve.offers.policy()?),
            rate_watch: match parts.has(Target::Settler) {
                true => settler::rates_watch(&context, &cli.serve.rates)?,
                false => None,
            },
            sessions: Sessions {
                store: Arc::new(store),
                clock: context.clock.clone(),
                ids: context.ids.clone(),
                url_policy,
            },
            processor,
            payments,
            addresses: addresses.clone(),
            asset_origin,
            catalogue: Arc::new(cli.serve.catalogue.open()?),
            pay_later_script: cli.serve.catalogue.pay_later_script(context.mode, &pages)?,
            lifetime: cli.serve.stash.lifetime(),
            door: Arc::new(Door::new(cli.serve.stash_limits.stash_entries)),
            endpoint_slots: cli.serve.delivery.endpoint_slots,
            docs: cli.serve.docs.shown(cli.mode.mode),
            context,
        })
    }

    fn mount(&self, parts: &Parts, mut server: Server) -> Server {
        if parts.has(Target::Settler) {
            let clock = self.context.clock.clone();
            server = server.watch(Arc::new(OpenWork { payments: self.store(), audit: self.store(), clock }));
        }
        if let Some(rates) = &self.rate_watch {
            server = server.watch(Arc::new(rates.clone()));
        }
        if let Some(processor) = &self.processor {
            server = server.watch(processor.clone());
        }
        let callable = self.payments.clone().zip(self.gate.clone());
        if let Some((payments, gate)) = callable.filter(|_| parts.has(Target::SessionApi)) {
            let (sessions, rates, flows) = (self.sessions.clone(), self.rates.clone(), self.context.flows.clone());
            let answers = self.answers();
            server = server.mount(
                "",
                session_api::openapi::DOCS.beside(
                    self.docs,
                    session_api::configure(SessionApiDeps { gate, sessions, rates, answers, payments, flows }),
                ),
            );
        }
        if let Some(deps) = self.stash().filter(|_| parts.has(Target::StashApi)) {
            server = server.mount(plan::STASH, stash_api::openapi::DOCS.beside(self.docs, stash_api::configure(deps)));
        }
        if let Some((shopper, merchant)) = self.checkout().filter(|_| parts.has(Target::CheckoutApi)) {
            let checkout = checkout_api::configure_checkout(merchant);
            let assets = checkout_api::configure(shopper);
            server = server
                .mount(plan::CHECKOUT, checkout_api::openapi::DOCS.beside(self.docs, checkout))
                .mount(plan::ASSET, checkout_api::openapi::shopper::DOCS.beside(self.docs, assets))
                .mount("", checkout_api::configure_association(self.association()))
                .watch(Arc::new(self.certificates()));
        }
        server
    }

    fn association(&self) -> AssociationFile {
        let sandbox = self.context.mode == Mode::Sandbox;
        AssociationFile { store: self.store(), domain: WalletDomain::of_origin(self.asset_origin.as_str(), sandbox) }
    }

    fn certificates(&self) -> WalletCertificates {
        WalletCertificates { store: self.store(), clock: self.context.clock.clone() }
    }

    fn answers(&self) -> Answers {
        Answers { store: self.store(), clock: self.context.clock.clone(), keep: KEEP }
    }

    /// Starts what works without being asked.
    fn run_in(&self, process: &mut Process, parts: &Parts) -> Result<(), Failure> {
        let stop = || self.context.stop.clone();
        if let Some(deps) = self.stash().filter(|_| parts.has(Target::StashApi)) {
            process.add_service("stash purge", stash_api::run(deps, stop()));
        }
        if parts.has(Target::CheckoutApi) {
            let watch = checkout_api::watch_certificates(self.certificates(), stop());
            process.add_service("wallet certificates", watch);
        }
        if let Some(payments) = self.payments.clone().filter(|_| parts.has(Target::Settler)) {
            let deps = SettlerDeps {
                payments,
                sessions: self.sessions.clone(),
                answers: self.answers(),
                rates: self.rate_watch.clone(),
                poll: settler::POLL,
            };
            process.add_service("settler", settler::run(deps, stop()));
        }
        if let Some(secrets) = self.secrets.clone().filter(|_| parts.has(Target::Notifier)) {
            let deps = NotifierDeps { delivering: self.delivering(secrets)?, wakeups: Arc::default() };
            process.add_service("notifier", notifier::run(deps, stop()));
        }
        Ok(())
    }

    fn delivering(&self, secrets: Arc<MasterKey>) -> Result<Delivering, Failure> {
        let policy = match self.context.mode {
            Mode::Sandbox => TargetPolicy::Sandbox,
            Mode::Production => TargetPolicy::Production,
        };
        Ok(Delivering {
            outbox: self.store(),
            webhooks: Arc::new(WebhookClient::start(ClientConfig::new(policy))?),
            secrets,
            clock: self.context.clock.clone(),
            ids: self.context.ids.clone(),
            schedule: Schedule::standard(),
            pace: Pace { per_endpoint: self.endpoint_slots, ..Pace::default() },
        })
    }

    fn store(&self) -> Arc<Store> {
        Arc::new(self.context.store.clone())
    }

    /// The shopper's side and the merchant's.
    fn checkout(&self) -> Option<(CheckoutDeps, MerchantDeps)> {
        let (vault, payments) = self.vault.clone().zip(self.payments.clone())?;
        let flows = self.context.flows.clone();
        let return_base = self.addresses.public.asset.clone();
        let (catalogue, merchants) = (self.catalogue.clone(), KnownMerchants::new(self.store()));
        let checkouts = Checkouts {
            payments: payments.clone(),
            stash: self.store(),
            vault: vault.clone(),
            return_base: return_base.clone(),
            catalogue: catalogue.clone(),
        };
        let clock = self.context.clock.clone();
        let offers = WalletOffers { store: self.store(), clock, checkout_url: self.addresses.checkout.clone() };
        let merchant = MerchantDeps {
            gate: self.gate.clone()?,
            checkouts,
            answers: self.answers(),
            flows: flows.clone(),
            url_policy: self.sessions.url_policy,
            wallets: self.wallets.clone()?,
            methods: MethodLists {
                merchants: merchants.clone(),
                catalogue: catalogue.clone(),
                wallets: offers.clone(),
                pay_later_script: self.pay_later_script.clone(),
            },
        };
        let (sessions, stash) = (self.store(), self.store());
        let shopper = CheckoutDeps {
            shopper: Shopper {
                wallets: offers,
                sessions,
                merchants,
                stash,
                vault,
                payments,
                return_base,
                catalogue,
                looks: Looks::default(),
            },
            flows,
            stash_url: self.addresses.public.stash.clone(),
            sandbox: self.context.mode == Mode::Sandbox,
            stop: self.context.stop.clone(),
        };
        Some((shopper, merchant))
    }

    fn stash(&self) -> Option<StashApiDeps> {
        let stashing = Stashing {
            store: self.store(),
            access: self.store(),
            vault: self.vault.clone()?,
            clock: self.context.clock.clone(),
            asset_origin: self.asset_origin.clone(),
            lifetime: self.lifetime,
            door: self.door.clone(),
        };
        Some(StashApiDeps { stashing })
    }
}

fn open_vault(context: &Context, lifetime: Duration) -> Result<Arc<StashKeys>, Failure> {
    let keys = Arc::new(StashKeys::open(&context.keys.join("stash"), KEY_PERIOD, lifetime)?);
    StashKeys::rotate_in_background(&keys, context.clock.clone())?;
    Ok(keys)
}

fn processor(url: &str, key: Secret, limits: &ProcessorLimitArgs) -> Result<Arc<HttpProcessor>, Failure> {
    let config = ProcessorConfig::new(url, key.expose().to_owned(), PROCESSOR_DEADLINE)?
        .with_room(Room {
            payments: limits.processor_payments,
            questions: limits.processor_questions,
            share: limits.processor_merchant_share,
        })
        .with_breaker(BreakerRules::of(limits.processor_failures, limits.pause()));
    Ok(Arc::new(HttpProcessor::start(config)?))
}

fn rates(context: &Context, policy: OfferPolicy) -> Rates {
    let store = Arc::new(context.store.clone());
    Rates::new(store.clone(), store, context.clock.clone(), context.ids.clone(), policy)
}

fn payments(context: &Context, processor: Arc<HttpProcessor>) -> Payments {
    Payments {
        store: Arc::new(context.store.clone()),
        processor,
        clock: context.clock.clone(),
        ids: context.ids.clone(),
        timing: Timing::default(),
    }
}

/// Opens the shop, a merchant's program: it knows the service by its addresses and its credentials only.
async fn open_shop(
    cli: &Cli,
    addresses: &Addresses,
    service: Option<(&Store, Arc<MasterKey>)>,
    process: &Process,
) -> Result<(Shop, Credentials), Failure> {
    let listen = free_port(cli.serve.shop_listen)?;
    let shop_url = format!("http://localhost:{}", listen.port());
    let file = plan::merchant_file(cli);
    let credentials = match service {
        Some((store, secrets)) => {
            // Says what to do about a schema that is missing or too old.
            store.ready().await?;
            demo::merchant(&tools::merchants(cli, store, secrets), &file, &shop_url).await?
        }
        None => demo::read(&file)?.ok_or_else(|| {
            let file = file.display();
            format!("the shop needs a merchant: write the output of `dropin merchant create --json` to {file}, or name another file with --merchant-file")
        })?,
    };
    let config = ShopConfig {
        base_url: addresses.base.clone(),
        asset_url: addresses.public.asset.clone(),
        checkout_url: addresses.checkout.clone(),
        merchant_id: credentials.merchant_id.clone(),
        listen,
        public_origin: credentials.shop_url.clone().unwrap_or(shop_url),
        username: credentials.username.clone(),
        password: credentials.password.clone(),
        webhook_secret: credentials
            .webhook_secret
            .clone()
            .ok_or("the shop's merchant has no webhook URL; create it with --webhook-url")?,
    };
    let shop = shop::serve(config, process.stop.clone()).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "{listen} is in use: stop the program that listens there, or choose another address with --shop-listen"
        )
        .into(),
        _ => Failure::from(error),
    })?;
    Ok((shop, credentials))
}

/// The merchant has to know the shop's port before the shop listens, so a port left to the system is chosen here.
fn free_port(listen: SocketAddr) -> Result<SocketAddr, Failure> {
    match listen.port() {
        0 => Ok(TcpListener::bind(listen)?.local_addr()?),
        _ => Ok(listen),
    }
}
