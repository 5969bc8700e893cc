use std::future::Future;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use actix_web::web::ServiceConfig;
use clap::{Args, Parser};
use dropin_http::{Flows, Server};
use dropin_ports::{Clock, IdSource, Measured, StoreHealth};
use dropin_store::{Role, Store, StoreConfig};
use tokio::sync::watch;

use crate::config::{ConfigArgs, Loaded, load};
use crate::listen::ListenArgs;
use crate::process::{Failure, Process};
use crate::settings::{AddressArgs, KeyArgs, LogArgs, Mode, ModeArgs, StoreArgs};
use crate::system::{SystemClock, SystemIds};

/// The settings of a service that has no concerns of its own.
#[derive(Debug, Clone, Args)]
pub struct NoArgs {}

/// A service of Dropin. Its settings stand in its example.env, and docs/OPERATIONS.md tells how to run it.
#[derive(Debug, Parser)]
#[command(version)]
struct ServiceArgs<C: Args> {
    #[command(flatten)]
    address: AddressArgs,
    #[command(flatten)]
    listen: ListenArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    keys: KeyArgs,
    #[command(flatten)]
    concerns: C,
    #[command(flatten)]
    mode: ModeArgs,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What a service is composed from.
#[derive(Clone)]
pub struct Context {
    /// The store, which implements every store port. Clones share it.
    pub store: Store,
    /// Folder for what is kept on this machine.
    pub data: PathBuf,
    /// The folder with the keys.
    pub keys: PathBuf,
    /// Whether money moves.
    pub mode: Mode,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Where money flows run.
    pub flows: Flows,
    /// Becomes `true` when the process shall stop.
    pub stop: watch::Receiver<bool>,
}

type Background = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a service consists of.
#[derive(Default)]
pub struct Parts {
    mounted: Vec<Box<dyn FnOnce(Server) -> Server>>,
    services: Vec<(&'static str, Background)>,
}

impl Parts {
    /// Nothing but health, readiness and metrics yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds routes.
    #[must_use]
    pub fn mount(mut self, configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static) -> Self {
        self.mounted.push(Box::new(|server| server.mount("", configure)));
        self
    }

    /// Lets `/metrics` tell what this part knows.
    #[must_use]
    pub fn watch(mut self, part: Arc<dyn Measured>) -> Self {
        self.mounted.push(Box::new(|server| server.watch(part)));
        self
    }

    /// Adds a background service, which ends by itself when [`Context::stop`] becomes `true`.
    #[must_use]
    pub fn run(mut self, name: &'static str, service: impl Future<Output = ()> + Send + 'static) -> Self {
        self.services.push((name, Box::pin(service)));
        self
    }
}

/// The whole `main` of a service: reads its settings (`C` are its own concerns), opens the store, composes it, serves
/// until it is told to stop. `port` is where it listens on 127.0.0.1 unless configured.
pub fn serve<C: Args>(
    name: &'static str,
    port: u16,
    compose: impl AsyncFnOnce(&Context, C) -> Result<Parts, Failure>,
) -> ExitCode {
    Process::run(async move {
        let listen = SocketAddr::from(([127, 0, 0, 1], port)).to_string();
        let Loaded { settings, report } = load::<ServiceArgs<C>>(&[("listen", &listen)])?;
        let database = settings.store.url()?;
        if settings.config.check_config {
            io::stdout().write_all(report.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        settings.logs.start();
        start(name, &database, settings, compose).await
    })
}

async fn start<C: Args>(
    name: &'static str,
    database: &str,
    settings: ServiceArgs<C>,
    compose: impl AsyncFnOnce(&Context, C) -> Result<Parts, Failure>,
) -> Result<ExitCode, Failure> {
    let mut process = Process::start()?;
    let server = Server::new(name).listen(settings.address.listen)?.metrics_on(settings.listen.metrics_listen)?;
    let store = Store::open(StoreConfig::new(database, Role::Service))?;
    let context = Context {
        store: store.clone(),
        data: settings.store.data.clone(),
        keys: settings.keys.folder(&settings.store.data),
        mode: settings.mode.mode,
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        flows: process.flows.clone(),
        stop: process.stop.clone(),
    };
    let parts = compose(&context, settings.concerns).await?;
    let server = parts.mounted.into_iter().fold(server, |server, mount| mount(server));
    let server = server
        .tls(settings.listen.tls())
        .limits(settings.listen.limits())
        .behind_proxy(settings.listen.behind_proxy)
        .ready_when(Arc::new(store.clone()))
        .ready_until(process.stop.clone());
    process.add_server(server.start()?);
    for (name, service) in parts.services {
        process.add_service(name, service);
    }
    // A wrong address or a missing schema is told now, not when the first request comes; it may mend itself, so the service stays.
    let checked = store.clone();
    actix_web::rt::spawn(async move {
        if let Err(error) = checked.ready().await {
            log::warn!("{name} cannot serve yet: {error}");
        }
    });
    let code = process.until_stopped().await;
    store.close();
    Ok(code)
}
