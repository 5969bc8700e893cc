//! Serving: the parts are composed here, from the same libraries as the small programs.

mod admin;
mod services;
mod storefront;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::ServiceConfig;
use dropin_boot::{Context, Failure, Process, join_deployment, keep_memory_private, watch_database};
use dropin_http::Server;
use dropin_ports::Acting;
use dropin_store::{Role, Store};
use sandbox_processor::{Hosting, POLLED_PATHS, SandboxProcessor};

use crate::cli::{self, Cli, Target};
use crate::plan::{self, Addresses, Parts};
use crate::wallet::{self, WalletSandbox};
use crate::{banner, demo, files};
use storefront::open_shop;

pub(crate) use admin::AdminAddress;

/// How long the sandbox processor stays silent where a test number asks for it: longer than [`dropin_usecases::payments::PROCESSOR_DEADLINE`], and short
/// enough that a stop of this process is not held up by it.
const SILENCE: Duration = Duration::from_secs(10);

/// Serves until somebody asks for a stop.
pub(crate) async fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    let parts = Parts::chosen(cli)?;
    cli.mode.of_service(cli.serve.listen, cli.serve.listener.behind_proxy)?;
    if parts.has(Target::AdminPanel) {
        cli.mode.of_service(cli.serve.admin_listen, cli.serve.listener.behind_proxy)?;
    }
    files::make_folder(&cli.store.data)?;
    let keeps_database =
        parts.need_store() && cli.store.database_url.is_none() && cli.store.database_url_file.is_none();
    if keeps_database || parts.has(Target::SandboxProcessor) {
        files::check_writable(&cli.store.data)?;
    }
    if parts.need_cards() {
        keep_memory_private()?;
    }
    let mut process = Process::start(cli.serve.listener.drain_delay())?;
    if parts.has(Target::SandboxProcessor) {
        process.calls_itself();
    }
    let server = Server::new("dropin").listen(cli.serve.listen);
    // The shop alone listens for itself, perhaps on a machine where the service has its address.
    let server = if parts.need_listener() { Some(server?) } else { None };
    let listens = server.as_ref().and_then(|server| server.addresses().first().copied()).unwrap_or(cli.serve.listen);
    let inner = inner_listener(cli, &parts)?;
    let inner_address = inner.as_ref().and_then(|inner| inner.addresses().first().copied());
    let addresses = Addresses::find(cli, &parts, listens, inner_address)?;
    addresses.check_reachable(cli, &parts)?;
    let wallet = WalletSandbox::open(cli, &parts)?;
    let processor = open_processor(cli, &parts, &addresses, wallet.as_ref())?;
    // Our own calls follow the file too. Both do for as long as this process runs.
    let followed = processor.clone().map(Arc::new);
    if let Some(processor) = &followed {
        plan::processor_args(cli)
            .follow_key(processor, cli.mode.mode(), |processor, key| processor.replace_key(key))?;
    }
    let store = match parts.need_store() {
        true => Some(cli.store.open(Role::Service)?),
        false => None,
    };
    let context = store.clone().map(|store| context(cli, &process, store));
    let secrets = match &context {
        Some(context) if parts.need_master_key() => Some(context.master_key().await?),
        _ => None,
    };
    let mut assembled = None;
    if let Some(mut server) = server {
        if let Some(processor) = processor {
            server = mount_processor(processor, inner, server, &mut process)?;
        }
        let wallet = wallet::settings(cli, wallet.as_ref());
        let services = match &context {
            Some(context) => services::assemble(cli, &parts, &addresses, wallet, context).await?,
            None => dropin_boot::Parts::new(),
        };
        let (server, background) = services.mount_on(server);
        let server = configure(cli, context.as_ref(), server);
        let server = server.ready_until(process.draining.clone()).metrics_on(cli.serve.listener.metrics_listen)?;
        assembled = Some((server, background));
    }
    let admin = match &context {
        Some(context) if parts.has(Target::AdminPanel) => {
            Some(admin::open(cli, &parts, &addresses, context, &process).await?)
        }
        _ => None,
    };
    // After everything that can be refused: a start that a wrong setting ends must not write its mode down.
    if let Some(store) = &store {
        let master_key = secrets.as_ref().map(|secrets| secrets.id());
        join_deployment(store, Some(&cli.mode), master_key).await?;
        process.add_service("database watch", watch_database(store.clone(), process.stop.clone()));
    }
    if let Some((server, background)) = assembled {
        process.add_server(server.start()?);
        background.run_in(&mut process);
    }
    let admin = match admin {
        Some(admin) => Some(admin.start(&mut process).await?),
        None => None,
    };
    let demo_wallet = store.as_ref().zip(secrets.clone()).zip(wallet.as_ref().map(|wallet| wallet.authority.clone()));
    let demo_wallet = demo_wallet.map(|((store, secrets), authority)| (store.clone(), secrets, authority));
    let shop = match parts.has(Target::Shop) {
        true => Some(open_shop(cli, &addresses, store.as_ref().zip(secrets), &process).await?),
        false => None,
    };
    let demo = shop.as_ref().map(|(_, credentials)| credentials);
    banner::print(cli, &parts, &addresses, demo, admin.as_ref())?;
    if let Some(wallet) = wallet {
        process.add_local_service("wallet provider", wallet::run(wallet.serve()?, process.stop.clone()));
    }
    if let Some((shop, credentials)) = shop {
        if let Some((store, secrets, authority)) = demo_wallet {
            let setup = cli::wallet_setup(cli, &store, secrets, Acting::system())?;
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
    drop(followed);
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
        key: plan::processor_key(cli, parts)?.expose().to_owned(),
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
            process.add_server(inner.mount_uncounted("", POLLED_PATHS, configure).start()?);
            server.mount_uncounted(plan::SANDBOX, &[], move |config| pages.configure_pages()(config))
        }
        None => server.mount_uncounted(plan::SANDBOX, POLLED_PATHS, configure),
    })
}

/// What the services are composed from. They share one listener.
fn context(cli: &Cli, process: &Process, store: Store) -> Context {
    let is_public = cli.mode.is_public_production(cli.serve.listen, cli.serve.listener.behind_proxy);
    let mut context = Context::new(process, store, &cli.store, &cli.keys, cli.mode.mode(), is_public);
    context.prefixes = plan::PREFIXES;
    context.is_https = cli.serve.listener.tls().is_some() || cli.serve.listener.behind_proxy;
    context
}

/// The listener as it is configured; ready when the services' store is.
fn configure(cli: &Cli, context: Option<&Context>, mut server: Server) -> Server {
    let listener = &cli.serve.listener;
    if let Some(context) = context {
        let store = context.store.clone();
        server = server.ready_when(store.clone(), listener.ready_grace()).register_metrics(store);
    }
    server.tls(listener.tls()).limits(listener.limits()).behind_proxy(listener.behind_proxy)
}
