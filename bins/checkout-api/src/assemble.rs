use std::path::Path;
use std::sync::Arc;

use clap::Args;
use dropin_access::{Origin, WalletDomain};
use dropin_boot::{
    AccessArgs, CatalogueArgs, Context, DocsArgs, Failure, IpCountriesArgs, Mode, OutsideScoreArgs, Parts,
    ProcessorEventArgs, PublicArgs, ScreeningArgs, StashArgs, WalletArgs, keep_memory_private, public_url,
};
use dropin_keyring::MasterKey;
use dropin_payments::{PaymentArgs, ProcessorEvents, disputes, payments};
use dropin_score_client::{ScoreClient, ScoreClientError};
use dropin_usecases::access::KnownMerchants;
use dropin_usecases::catalogue::MethodLists;
use dropin_usecases::payments::{Checkouts, Payments, PollThrottle, ProcessorProfiles, Shopper};
use dropin_usecases::wallet::{AssociationFile, WalletCertificates, WalletOffers, WalletSessions};
use dropin_wallet_client::{WalletClient, WalletClientConfig};

use crate::{
    CheckoutDeps, MerchantDeps, configure, configure_association, configure_checkout, ip_countries, openapi,
    watch_certificates,
};

/// The settings of the drop-in, the shopper's calls and the server-to-server checkout.
#[derive(Debug, Clone, Args)]
pub struct CheckoutApiArgs {
    /// The payment processor.
    #[command(flatten)]
    pub payments: PaymentArgs,
    /// What it sends by itself.
    #[command(flatten)]
    pub processor_events: ProcessorEventArgs,
    /// Public addresses.
    #[command(flatten)]
    pub public: PublicArgs,
    /// How API users are let in.
    #[command(flatten)]
    pub access: AccessArgs,
    /// How long what was stashed waits for its payment.
    #[command(flatten)]
    pub stash: StashArgs,
    /// The mobile wallet's provider.
    #[command(flatten)]
    pub wallet: WalletArgs,
    /// Public address of the server-to-server checkout ({checkout_url}), where pages ask for the wallet's payment sessions
    #[arg(long, env = "DROPIN_CHECKOUT_URL", default_value = "http://127.0.0.1:8083", value_name = "URL")]
    pub checkout_url: String,
    /// Payment methods.
    #[command(flatten)]
    pub catalogue: CatalogueArgs,
    /// Screening of payments.
    #[command(flatten)]
    pub screening: ScreeningArgs,
    /// Countries of IP addresses.
    #[command(flatten)]
    pub ip_countries: IpCountriesArgs,
    /// A score from outside.
    #[command(flatten)]
    pub outside_score: OutsideScoreArgs,
    /// Whether the API documents are served.
    #[command(flatten)]
    pub docs: DocsArgs,
}

/// The service, built from its settings.
///
/// # Errors
/// Which setting is wrong, or why a key cannot be opened.
pub async fn assemble(context: &Context, settings: CheckoutApiArgs) -> Result<Parts, Failure> {
    keep_memory_private()?;
    let store = context.store.clone();
    let others = settings.payments.processor.others()?;
    let events = ProcessorEvents::open(&settings.payments.processor, &settings.processor_events, &others)?;
    let processors: ProcessorProfiles = settings.catalogue.profiles(&settings.payments.processor, &others).into();
    let catalogue_args = settings.catalogue.of_processor(settings.payments.processor.processor).with_further(&others);
    let catalogue = Arc::new(catalogue_args.open(&settings.payments.methods)?);
    let processor = settings.payments.open(context).await?;
    let credentials = context.credential_keys().await?;
    let payments = payments(context, processor.clone(), catalogue.clone(), Some(credentials.clone())).await;
    let screening_rules = settings.screening.open(context).await?;
    let screening = payments.screening.clone().with_rules((*screening_rules).clone());
    let screening = screening.with_keyring(context.velocity_keys().await?);
    let screening = match ip_countries::open(&settings.ip_countries)? {
        Some(countries) => screening.with_ip_countries(countries),
        None => screening,
    };
    let screening = match score_client(&settings.outside_score, context)? {
        Some(outside) => screening.with_outside_score(Arc::new(outside)),
        None => screening,
    };
    let payments = Payments { screening, processors: processors.clone(), ..payments };
    let keys = context.stash_keys(settings.stash.lifetime()).await?;
    let public = settings.public.urls(context.mode)?;
    if context.is_public_production {
        public.check_reachable()?;
    }
    let return_base = public.asset.clone();
    let pay_later_script =
        catalogue_args.pay_later_script(context.mode, settings.payments.processor.sandbox_pages())?;
    let merchants = KnownMerchants::new(store.clone());
    let checkout_url = public_url("checkout_url", &settings.checkout_url, context.mode)?;
    let wallets = WalletOffers::new(store.clone(), context.clock.clone(), checkout_url);
    let secrets = context.master_key().await?;
    let asset_origin = Origin::parse(&public.asset_origin())?;
    let domain = WalletDomain::of_origin(asset_origin.as_str(), context.is_sandbox());
    let association = AssociationFile { store: store.clone(), domain };
    let certificates = WalletCertificates { store: store.clone(), clock: context.clock.clone() };
    let merchant = MerchantDeps {
        auth: context.auth(&settings.access, secrets.clone()).await,
        checkouts: Checkouts {
            payments: payments.clone(),
            stash: store.clone(),
            vault: keys.clone(),
            return_base: return_base.clone(),
            wallets: wallets.clone(),
            contracts: store.clone(),
        },
        contracts: context.contracts(),
        answers: context.answers(),
        flows: context.flows.clone(),
        url_policy: context.mode.url_policy(),
        wallets: wallet_sessions(context, &settings.wallet, secrets.clone(), asset_origin)?,
        disputes: disputes(context, processor.clone(), secrets.clone()),
        events: Arc::new(events.with_accounts(&processor)),
        methods: MethodLists {
            merchants: merchants.clone(),
            catalogue,
            processors,
            wallets: wallets.clone(),
            pay_later_script,
        },
    };
    let shopper = CheckoutDeps {
        shopper: Shopper {
            poll_throttle: PollThrottle::default(),
            page_closings: PollThrottle::default(),
            sessions: store.clone(),
            merchants,
            stash: store,
            vault: keys.clone(),
            payments,
            contracts: context.contracts(),
            return_base,
            wallets,
            sandbox: context.is_sandbox(),
        },
        flows: context.flows.clone(),
        stash_url: public.stash,
        stop: context.stop.clone(),
    };
    let docs = settings.docs.shown(context.mode);
    let screening_metrics = merchant.checkouts.payments.screening.metrics();
    let authorizations = merchant.checkouts.payments.authorizations.clone();
    let clock = context.clock.clone();
    Ok(Parts::new()
        .with_master_key(secrets.id())
        .ready_with_keys(move || dropin_ports::StashVault::check(&*keys, clock.now()))
        .ready_with_keys(move || dropin_ports::CredentialVault::check(&*credentials))
        .mount(context.prefixes.checkout, openapi::DOCS.added_to(docs, configure_checkout(merchant)))
        .mount(context.prefixes.asset, openapi::shopper::DOCS.added_to(docs, configure(shopper)))
        .mount("", configure_association(association))
        .register_metrics(processor)
        .register_metrics(screening_rules)
        .register_metrics(screening_metrics)
        .register_metrics(authorizations)
        .register_metrics(Arc::new(certificates.clone()))
        .run("wallet certificates", watch_certificates(certificates, context.stop.clone())))
}

fn wallet_sessions(
    context: &Context,
    wallet: &WalletArgs,
    secrets: Arc<MasterKey>,
    asset_origin: Origin,
) -> Result<WalletSessions, Failure> {
    let store = context.store.clone();
    Ok(WalletSessions {
        store: store.clone(),
        access: store,
        secrets,
        provider: Arc::new(wallet_client(wallet, context.mode, &context.data)?),
        clock: context.clock.clone(),
        hosts: wallet.hosts(context.mode)?,
        asset_origin,
        sandbox: context.is_sandbox(),
    })
}

/// The client of the wallet's provider; `data` is the folder in which a sandbox's own provider keeps its root certificate.
///
/// # Errors
/// The client's thread cannot be started, or the root certificate cannot be read.
pub fn wallet_client(settings: &WalletArgs, mode: Mode, data: &Path) -> Result<WalletClient, Failure> {
    let config = match mode {
        Mode::Sandbox => WalletClientConfig::sandbox(settings.root(data)),
        Mode::Production => WalletClientConfig::production(),
    };
    Ok(WalletClient::start(config)?)
}

/// The client of the service that scores payments, where one is named.
fn score_client(settings: &OutsideScoreArgs, context: &Context) -> Result<Option<ScoreClient>, Failure> {
    let Some(url) = &settings.screening_score_url else { return Ok(None) };
    let key = settings.key()?;
    let client = ScoreClient::start(url, key.expose(), context.clock.clone()).map_err(|error| match error {
        ScoreClientError::Key => format!("DROPIN_SCREENING_SCORE_KEY {error}"),
        error => format!("DROPIN_SCREENING_SCORE_URL {error}"),
    })?;
    Ok(Some(client))
}
