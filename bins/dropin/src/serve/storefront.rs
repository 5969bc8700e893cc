//! The demo shop beside the service.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use demo_shop::{Credentials, Shop, ShopConfig, TestCard};
use dropin_boot::{Failure, Process};
use dropin_keyring::MasterKey;
use dropin_ports::{Acting, StoreHealth};
use dropin_store::Store;
use sandbox_processor::TEST_CARDS;

use crate::cli::{self, Cli};
use crate::demo;
use crate::plan::{self, Addresses};

/// Opens the shop, a merchant's program: it knows the service by its addresses and its credentials only.
pub(super) async fn open_shop(
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
            demo::merchant(&cli::merchants(cli, store, secrets, Acting::system()), &file, &shop_url).await?
        }
        None => Credentials::read(&file)?.ok_or_else(|| {
            let file = file.display();
            format!("the shop needs a merchant: write the output of `dropin merchant create --json` to {file}, or name another file with --merchant-file")
        })?,
    };
    let urls = [&addresses.base, &addresses.public.asset, &addresses.checkout].map(Clone::clone);
    let mut config = ShopConfig::new(&credentials, urls, listen, shop_url)?;
    config.test_cards =
        TEST_CARDS.iter().map(|card| TestCard { number: card.number, scheme: card.scheme, does: card.does }).collect();
    let shop = demo_shop::serve(config, process.stop.clone()).await.map_err(|error| match error.kind() {
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
