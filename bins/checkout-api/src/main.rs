//! The drop-in, the shopper's calls and the server-to-server checkout as a program of their own.

use std::alloc::System;
use std::process::ExitCode;
use std::sync::Arc;

use checkout_api::{
    CheckoutDeps, MerchantDeps, configure, configure_association, configure_checkout, openapi, watch_certificates,
};
use clap::Args;
use dropin_access::{Origin, WalletDomain};
use dropin_boot::{
    AccessArgs, CatalogueArgs, Context, DocsArgs, Failure, Mode, Parts, ProcessorArgs, ProcessorLimitArgs, PublicArgs,
    StashArgs, WalletArgs, keep_memory_private, serve,
};
use dropin_http::Gate;
use dropin_keyring::{MasterKey, StashKeys};
use dropin_processor_http::{BreakerRules, HttpProcessor, ProcessorConfig, Room};
use dropin_usecases::access::{Authenticator, FailureLimit, KnownMerchants};
use dropin_usecases::answers::{Answers, KEEP};
use dropin_usecases::catalogue::MethodLists;
use dropin_usecases::payments::{Checkouts, Looks, PROCESSOR_DEADLINE, Payments, Shopper, Timing};
use dropin_usecases::stash::KEY_PERIOD;
use dropin_usecases::wallet::{AssociationFile, WalletCertificates, WalletOffers, WalletSessions};
use dropin_wallet_client::{ClientConfig, WalletClient};
use zeroizing_alloc::ZeroAlloc;

/// What this program gives back is wiped first: some of it held cards.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

#[derive(Args)]
struct Concerns {
    #[command(flatten)]
    processor: ProcessorArgs,
    #[command(flatten)]
    limits: ProcessorLimitArgs,
    #[command(flatten)]
    public: PublicArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    stash: StashArgs,
    #[command(flatten)]
    wallet: WalletArgs,
    /// Public address of the server-to-server checkout ({checkout_url}), where pages ask for the wallet's payment sessions
    #[arg(long, env = "DROPIN_CHECKOUT_URL", default_value = "http://127.0.0.1:8083", value_name = "URL")]
    checkout_url: String,
    #[command(flatten)]
    catalogue: CatalogueArgs,
    #[command(flatten)]
    docs: DocsArgs,
}

fn main() -> ExitCode {
    serve("checkout-api", 8083, async |context: &Context, concerns: Concerns| {
        keep_memory_private()?;
        let store = Arc::new(context.store.clone());
        let key = concerns.processor.key()?.expose().to_owned();
        let limits = &concerns.limits;
        let config = ProcessorConfig::new(&concerns.processor.processor_url, key, PROCESSOR_DEADLINE)?
            .with_room(Room {
                payments: limits.processor_payments,
                questions: limits.processor_questions,
                share: limits.processor_merchant_share,
            })
            .with_breaker(BreakerRules::of(limits.processor_failures, limits.pause()));
        let processor = Arc::new(HttpProcessor::start(config)?);
        let payments = Payments {
            store: store.clone(),
            processor: processor.clone(),
            clock: context.clock.clone(),
            ids: context.ids.clone(),
            timing: Timing::default(),
        };
        let keys = Arc::new(StashKeys::open(&context.keys.join("stash"), KEY_PERIOD, concerns.stash.lifetime())?);
        StashKeys::rotate_in_background(&keys, context.clock.clone())?;
        let public = concerns.public.urls()?;
        let return_base = public.asset.clone();
        let catalogue = Arc::new(concerns.catalogue.open()?);
        let pay_later_script = concerns.catalogue.pay_later_script(context.mode, &concerns.processor.processor_url)?;
        let merchants = KnownMerchants::new(store.clone());
        let offers =
            WalletOffers { store: store.clone(), clock: context.clock.clone(), checkout_url: concerns.checkout_url };
        let checkouts = Checkouts {
            payments: payments.clone(),
            stash: store.clone(),
            vault: keys.clone(),
            return_base: return_base.clone(),
            catalogue: catalogue.clone(),
            wallets: offers.clone(),
        };
        let secrets = Arc::new(MasterKey::of_deployment(&context.keys, &context.store).await?);
        let asset_origin = Origin::parse(&public.asset_origin())?;
        let sandbox = context.mode == Mode::Sandbox;
        let association =
            AssociationFile { store: store.clone(), domain: WalletDomain::of_origin(asset_origin.as_str(), sandbox) };
        let certificates = WalletCertificates { store: store.clone(), clock: context.clock.clone() };
        let wallets = wallet_sessions(context, &concerns.wallet, secrets.clone(), asset_origin)?;
        let merchant = MerchantDeps {
            gate: gate(context, secrets, concerns.access.limit()),
            checkouts,
            answers: Answers { store: store.clone(), clock: context.clock.clone(), keep: KEEP },
            flows: context.flows.clone(),
            url_policy: context.mode.url_policy(),
            wallets,
            methods: MethodLists {
                merchants: merchants.clone(),
                catalogue: catalogue.clone(),
                wallets: offers.clone(),
                pay_later_script,
            },
        };
        let sessions = store.clone();
        let deps = CheckoutDeps {
            shopper: Shopper {
                looks: Looks::default(),
                sessions,
                merchants,
                stash: store,
                vault: keys,
                payments,
                return_base,
                catalogue,
                wallets: offers,
            },
            flows: context.flows.clone(),
            stash_url: public.stash,
            sandbox,
            stop: context.stop.clone(),
        };
        let docs = concerns.docs.shown(context.mode);
        Ok(Parts::new()
            .mount(openapi::DOCS.beside(docs, configure_checkout(merchant)))
            .mount(openapi::shopper::DOCS.beside(docs, configure(deps)))
            .mount(configure_association(association))
            .watch(processor)
            .watch(Arc::new(certificates.clone()))
            .run("wallet certificates", watch_certificates(certificates, context.stop.clone())))
    })
}

fn gate(context: &Context, secrets: Arc<MasterKey>, limit: FailureLimit) -> Gate {
    let (store, clock) = (Arc::new(context.store.clone()), context.clock.clone());
    Gate(Arc::new(Authenticator::new(store, secrets, clock, context.mode == Mode::Sandbox, limit)))
}

fn wallet_sessions(
    context: &Context,
    wallet: &WalletArgs,
    secrets: Arc<MasterKey>,
    asset_origin: Origin,
) -> Result<WalletSessions, Failure> {
    let (store, sandbox) = (Arc::new(context.store.clone()), context.mode == Mode::Sandbox);
    let config = match sandbox {
        true => ClientConfig::sandbox(wallet.root(&context.data)),
        false => ClientConfig::production(),
    };
    Ok(WalletSessions {
        store: store.clone(),
        access: store,
        secrets,
        provider: Arc::new(WalletClient::start(config)?),
        clock: context.clock.clone(),
        hosts: wallet.hosts(context.mode)?,
        asset_origin,
        sandbox,
    })
}
