//! The admin panel, on a listener and an origin of its own: never on that of the card form.

use admin_panel::{AdminPanelArgs, FirstOperator, ServiceAddressArgs};
use dropin_boot::{BackgroundServices, Context, Failure, Process};
use dropin_http::{ServeError, Server};

use super::{configure, services};
use crate::cli::Cli;
use crate::plan::{self, Addresses, Parts};

/// A panel that holds its address.
pub(super) struct AdminPanel {
    server: Server,
    background: BackgroundServices,
    first: FirstOperator,
    url: String,
}

/// What a person is told of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdminAddress {
    /// Where it is.
    pub(crate) url: String,
    /// The one-time link for the first operator; `None` once there is one.
    pub(crate) first_operator: Option<String>,
}

/// Takes the address, and builds the panel.
pub(super) async fn open(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    context: &Context,
    process: &Process,
) -> Result<AdminPanel, Failure> {
    let server = Server::new("admin-panel").listen(cli.serve.admin_listen).map_err(|error| match error {
        ServeError::InUse(address) => Failure::from(format!(
            "{address} is in use: stop the program that listens there, or choose another address with --admin-listen"
        )),
        other => other.into(),
    })?;
    let listens = server.addresses().first().copied().unwrap_or(cli.serve.admin_listen);
    let listener = &cli.serve.listener;
    let has_tls = listener.tls().is_some();
    let settings = AdminPanelArgs {
        payments: services::payments(cli, addresses),
        webhook: cli.serve.delivery.webhook.clone(),
        screening: cli.serve.screening.clone(),
        services: ServiceAddressArgs {
            base_url: Some(addresses.base.clone()),
            asset_url: Some(addresses.public.asset.clone()),
            checkout_url: Some(addresses.checkout.clone()),
            stash_url: Some(addresses.public.stash.clone()),
        },
    };
    settings.payments.open_with(context, || plan::processor_key(cli, parts)).await?;
    let (panel, first) = admin_panel::assemble_with(context, settings).await?;
    let (server, background) = panel.mount_on(server);
    let server = configure(cli, Some(context), server).ready_until(process.draining.clone());
    let scheme = if has_tls { "https" } else { "http" };
    Ok(AdminPanel { server, background, first, url: format!("{scheme}://{}", plan::reachable(listens)) })
}

impl AdminPanel {
    /// Serves it. A database that is away or without a schema keeps it from inviting the first operator, and from nothing else.
    pub(super) async fn start(self, process: &mut Process) -> Result<AdminAddress, Failure> {
        let Self { server, background, first, url } = self;
        process.add_server(server.start()?);
        background.run_in(process);
        let path = first.invite().await.unwrap_or_else(|error| {
            log::warn!(
                "the first operator of the admin panel cannot be invited yet: {error}; start again when it is there"
            );
            None
        });
        let first_operator = path.map(|path| format!("{url}{path}"));
        Ok(AdminAddress { url, first_operator })
    }
}
