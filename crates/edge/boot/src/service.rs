use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Args, Parser};
use dropin_http::Server;
use dropin_ports::StoreHealth;
use dropin_store::Role;

use crate::config::{ConfigArgs, load};
use crate::context::Context;
use crate::database::StoreArgs;
use crate::deployment::{join_deployment, watch_database};
use crate::listen::ListenArgs;
use crate::mode::ModeArgs;
use crate::parts::Parts;
use crate::process::{Failure, Process};
use crate::settings::{AddressArgs, KeyArgs, LogArgs};

/// Seconds between a signal and the stop of a service, unless configured: something in front of it distributes requests, and has to learn of it.
const DRAIN_DELAY: &str = "5";

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

/// The whole `main` of a service: reads its settings (`C` are its own concerns), opens the store, composes it, serves
/// until it is told to stop. `port` is where it listens on 127.0.0.1 unless configured.
pub fn serve<C: Args>(
    name: &'static str,
    port: u16,
    compose: impl AsyncFnOnce(&Context, C) -> Result<Parts, Failure>,
) -> ExitCode {
    Process::run(async move {
        let listen = SocketAddr::from(([127, 0, 0, 1], port)).to_string();
        let loaded = load::<ServiceArgs<C>>(&[("listen", &listen), ("drain_delay", DRAIN_DELAY)])?;
        loaded.settings.store.url()?;
        if loaded.settings.config.check_config {
            io::stdout().write_all(loaded.report.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        loaded.settings.logs.start();
        loaded.warn();
        start(name, loaded.settings, compose).await
    })
}

async fn start<C: Args>(
    name: &'static str,
    mut settings: ServiceArgs<C>,
    compose: impl AsyncFnOnce(&Context, C) -> Result<Parts, Failure>,
) -> Result<ExitCode, Failure> {
    settings.mode.complete(&settings.store).await?;
    let mode = settings.mode.of_service(settings.address.listen, settings.listen.behind_proxy)?;
    let mut process = Process::start(settings.listen.drain_delay())?;
    let server = Server::new(name).listen(settings.address.listen)?.metrics_on(settings.listen.metrics_listen)?;
    let store = settings.store.open(Role::Service)?;
    let is_public = settings.mode.is_public_production(settings.address.listen, settings.listen.behind_proxy);
    let mut context = Context::new(&process, store.clone(), &settings.store, &settings.keys, mode, is_public);
    context.is_https = settings.listen.tls().is_some() || settings.listen.behind_proxy;
    let parts = compose(&context, settings.concerns).await?;
    join_deployment(&store, Some(&settings.mode), parts.master_key()).await?;
    let (server, services) = parts.mount_on(server);
    let server = server
        .tls(settings.listen.tls())
        .limits(settings.listen.limits())
        .behind_proxy(settings.listen.behind_proxy)
        .ready_when(context.store.clone(), settings.listen.ready_grace())
        .register_metrics(context.store.clone())
        .ready_until(process.draining.clone());
    process.add_server(server.start()?);
    services.run_in(&mut process);
    process.add_service("database watch", watch_database(store.clone(), process.stop.clone()));
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
