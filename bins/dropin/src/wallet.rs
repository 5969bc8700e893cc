//! The mobile wallet in one process: the sandbox's own provider, and what the services need of it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use actix_web::dev::Server;
use dropin_access::WalletHost;
use dropin_boot::{Failure, WalletArgs};
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

/// What the services need to know of the provider: what is configured, else our own where it runs.
pub(crate) fn settings(cli: &Cli, own: Option<&WalletSandbox>) -> WalletArgs {
    let mut settings = cli.serve.wallet.clone();
    if let Some(own) = own.filter(|_| settings.wallet_hosts.is_empty()) {
        settings.wallet_hosts.push(WalletHost { name: WalletHost::SANDBOX.to_owned(), at: Some(own.address) });
    }
    settings
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
