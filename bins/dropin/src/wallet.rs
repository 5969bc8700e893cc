//! The mobile wallet in one process: the sandbox's own provider, and what the services need of it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::dev::Server;
use dropin_access::{Origin, WalletHost, WalletHosts};
use dropin_boot::{Context, Failure, Mode};
use dropin_keyring::MasterKey;
use dropin_usecases::wallet::WalletSessions;
use dropin_wallet_client::{ClientConfig, WalletClient};
use sandbox_processor::WalletAuthority;
use tokio::sync::watch;

use crate::cli::{Cli, Target};
use crate::plan::Parts;

/// The wallet's provider of a sandbox, beside the sandbox processor.
pub(crate) struct WalletSandbox {
    /// Issues certificates.
    pub(crate) authority: WalletAuthority,
    listener: TcpListener,
    address: SocketAddr,
}

impl WalletSandbox {
    /// Holds a port of this machine; nobody needs to know it but this process, which knows the provider by a name.
    pub(crate) fn open(cli: &Cli, parts: &Parts) -> Result<Option<Self>, Failure> {
        if !parts.has(Target::SandboxProcessor) {
            return Ok(None);
        }
        let authority = WalletAuthority::open(&cli.store.data.join("wallet"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        Ok(Some(Self { authority, listener, address }))
    }

    /// Begins to serve.
    pub(crate) fn serve(self) -> Result<Server, Failure> {
        Ok(self.authority.serve(self.listener)?)
    }
}

/// Which servers of the wallet's provider pages may name: what is configured, else our own where it runs.
pub(crate) fn hosts(cli: &Cli, own: Option<&WalletSandbox>) -> Result<WalletHosts, Failure> {
    match own {
        Some(own) if cli.serve.wallet.wallet_hosts.is_empty() => {
            let host = WalletHost { name: WalletHost::SANDBOX.to_owned(), at: Some(own.address) };
            Ok(WalletHosts::new(vec![host]))
        }
        _ => Ok(cli.serve.wallet.hosts(cli.mode.mode)?),
    }
}

/// Payment sessions for pages with the wallet's button.
pub(crate) fn sessions(
    cli: &Cli,
    context: &Context,
    secrets: Arc<MasterKey>,
    hosts: WalletHosts,
    asset_origin: Origin,
) -> Result<WalletSessions, Failure> {
    let (store, sandbox) = (Arc::new(context.store.clone()), context.mode == Mode::Sandbox);
    let config = match sandbox {
        true => ClientConfig::sandbox(cli.serve.wallet.root(&context.data)),
        false => ClientConfig::production(),
    };
    let provider = Arc::new(WalletClient::start(config)?);
    let clock = context.clock.clone();
    Ok(WalletSessions { store: store.clone(), access: store, secrets, provider, clock, hosts, asset_origin, sandbox })
}

/// Serves until somebody asks for a stop.
pub(crate) async fn run(server: Server, mut stop: watch::Receiver<bool>) {
    let handle = server.handle();
    let stopping = async {
        // Either it turns true, or nobody is left who could say so.
        drop(stop.wait_for(|stopping| *stopping).await);
        handle.stop(true).await;
    };
    let (served, ()) = futures_util::future::join(server, stopping).await;
    if let Err(error) = served {
        log::error!("the sandbox's wallet provider broke: {error}");
    }
}
