//! What the parts that use the store are made of, and how they are mounted and run.

use std::sync::Arc;
use std::time::Duration;

use checkout_api::{CheckoutDeps, MerchantDeps};
use dropin_access::{Origin, WalletDomain, WalletHosts};
use dropin_boot::{Context, DeliveryArgs, Failure, Mode, Process, ProcessorLimitArgs, Secret, SystemClock, SystemIds};
use dropin_catalogue::Catalogue;
use dropin_http::{Gate, Server};
use dropin_keyring::{MasterKey, StashKeys};
use dropin_processor_http::{BreakerRules, HttpProcessor, ProcessorConfig, Room};
use dropin_rates::OfferPolicy;
use dropin_store::{Store, WakeUps};
use dropin_usecases::access::{Authenticator, KnownMerchants};
use dropin_usecases::answers::{Answers, KEEP};
use dropin_usecases::audit::OpenWork;
use dropin_usecases::catalogue::MethodLists;
use dropin_usecases::deliver::{Counters, Delivering, QueueWatch};
use dropin_usecases::events::Events;
use dropin_usecases::notifications::Notifications;
use dropin_usecases::payments::{Checkouts, Looks, PROCESSOR_DEADLINE, Payments, Shopper, Timing};
use dropin_usecases::rates::{RateWatch, Rates};
use dropin_usecases::sessions::Sessions;
use dropin_usecases::stash::{Door, KEY_PERIOD, Stashing};
use dropin_usecases::wallet::{AssociationFile, WalletCertificates, WalletOffers, WalletSessions};
use dropin_webhook_client::{ClientConfig, TargetPolicy, WebhookClient};
use notifier::NotifierDeps;
use session_api::SessionApiDeps;
use settler::SettlerDeps;
use stash_api::StashApiDeps;
use tokio::sync::Notify;

use crate::cli::{Cli, Target};
use crate::plan::{self, Addresses, Parts};
use crate::wallet;

/// What the parts that use the store are made of.
pub(super) struct Service {
    pub(super) context: Context,
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
    /// How notifications are sent.
    delivery: DeliveryArgs,
    /// Where notifications may go.
    targets: TargetPolicy,
    /// Only where notifications are sent.
    deliveries: Option<Deliveries>,
    /// Whether the API documents are served.
    docs: bool,
}

/// How the notifier of this process is woken and watched.
struct Deliveries {
    counters: Arc<Counters>,
    wakeups: Arc<Notify>,
    wake_ups: Arc<WakeUps>,
    queue: Arc<QueueWatch>,
}

impl Deliveries {
    fn watch(context: &Context) -> Result<Self, Failure> {
        let (counters, wakeups) = (Arc::<Counters>::default(), Arc::default());
        let wake_ups = Arc::new(context.store.wake(&wakeups)?);
        let queue = QueueWatch::new(Arc::new(context.store.clone()), counters.clone(), context.clock.clone());
        Ok(Self { counters, wakeups, wake_ups, queue: Arc::new(queue) })
    }
}

impl Service {
    pub(super) fn assemble(
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
            delivery: cli.serve.delivery.clone(),
            targets: cli.serve.delivery.webhook.policy(context.mode),
            deliveries: match parts.has(Target::Notifier) {
                true => Some(Deliveries::watch(&context)?),
                false => None,
            },
            docs: cli.serve.docs.shown(cli.mode.mode),
            context,
        })
    }

    pub(super) fn mount(&self, parts: &Parts, mut server: Server) -> Server {
        if parts.has(Target::Settler) {
            let clock = self.context.clock.clone();
            server = server.watch(Arc::new(OpenWork { payments: self.store(), audit: self.store(), clock }));
        }
        if let Some(deliveries) = &self.deliveries {
            server = server
                .watch(deliveries.counters.clone())
                .watch(deliveries.wake_ups.clone())
                .watch(deliveries.queue.clone());
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
            let (answers, events) = (self.answers(), Events { store: self.store() });
            server = server.mount(
                "",
                session_api::openapi::DOCS.beside(
                    self.docs,
                    session_api::configure(SessionApiDeps { gate, sessions, events, rates, answers, payments, flows }),
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
    pub(super) fn run_in(&self, process: &mut Process, parts: &Parts) -> Result<(), Failure> {
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
        if let Some((secrets, deliveries)) = self.secrets.clone().zip(self.deliveries.as_ref()) {
            let delivering = self.delivering(secrets, deliveries.counters.clone())?;
            let deps = NotifierDeps { delivering, wakeups: deliveries.wakeups.clone() };
            process.add_service("notifier", notifier::run(deps, stop()));
            let (ids, clock) = (self.context.ids.clone(), self.context.clock.clone());
            let (old, stop) = (Notifications { store: self.store(), clock, ids }, stop());
            let retention = self.delivery.retention.retention();
            process.add_service("old notifications", async move { old.keep(retention, stop).await });
        }
        Ok(())
    }

    fn delivering(&self, secrets: Arc<MasterKey>, counters: Arc<Counters>) -> Result<Delivering, Failure> {
        let client = ClientConfig { deadline: self.delivery.deadline(), ..ClientConfig::new(self.targets.clone()) };
        Ok(Delivering {
            outbox: self.store(),
            webhooks: Arc::new(WebhookClient::start(client)?),
            secrets,
            clock: self.context.clock.clone(),
            ids: self.context.ids.clone(),
            sandbox: self.context.mode == Mode::Sandbox,
            schedule: self.delivery.retry_schedule.clone(),
            pace: self.delivery.pace()?,
            counters,
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
        let clock = self.context.clock.clone();
        let offers = WalletOffers { store: self.store(), clock, checkout_url: self.addresses.checkout.clone() };
        let checkouts = Checkouts {
            payments: payments.clone(),
            stash: self.store(),
            vault: vault.clone(),
            return_base: return_base.clone(),
            catalogue: catalogue.clone(),
            wallets: offers.clone(),
        };
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
