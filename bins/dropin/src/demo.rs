//! The demo merchant: made once, its credentials kept so that a restart shows the same ones.

use std::path::Path;
use std::time::Duration;

use demo_shop::{ASSOCIATION, Credentials};
use dropin_access::{DomainState, EndpointSettings, Merchant, Origin};
use dropin_boot::Failure;
use dropin_catalogue::MerchantMethods;
use dropin_kernel::MerchantId;
use dropin_money::Currency;
use dropin_ports::{MerchantSettings, WalletCredentials};
use dropin_usecases::access::{
    AuthenticateError, CreateMerchant, EndpointUpdate, MerchantCreated, Merchants, authenticate,
};
use dropin_usecases::wallet::{SetWallet, WalletSetup, WalletSetupError};
use sandbox_processor::WalletAuthority;
use tokio::sync::watch;

use crate::files;

/// Between two checks of the shop's file: the shop has only just begun to listen.
const PAUSE: Duration = Duration::from_millis(500);

/// The demo merchant's account for Google Pay, with a gateway that nobody has.
const GOOGLE_PAY: &str = "sandbox:demo-shop:US";

/// A new merchant's credentials.
pub(crate) fn credentials(created: MerchantCreated) -> Credentials {
    Credentials {
        merchant_id: created.merchant_id.to_string(),
        username: created.username,
        password: created.password,
        webhook_secret: created.webhook_secret,
        shop_url: None,
    }
}

/// Sets the demo merchant's wallet up, once: a certificate of the sandbox's own provider.
pub(crate) async fn wallet(
    setup: &WalletSetup,
    authority: &WalletAuthority,
    credentials: &Credentials,
) -> Result<(), Failure> {
    let merchant = credentials.merchant_id.parse()?;
    match setup.identity(merchant).await {
        Ok(identity) if identity.is_valid_at(setup.clock.now()) => return Ok(()),
        Ok(_) | Err(WalletSetupError::NoWallet) => {}
        Err(error) => return Err(error.into()),
    }
    let identifier = "merchant.demo.shop.localhost".to_owned();
    let issued = authority.issue(&identifier)?;
    let credentials = WalletCredentials { certificate: issued.certificate, key: issued.key.into() };
    setup.set(merchant, SetWallet { identifier, country: "US".to_owned(), credentials }).await?;
    Ok(())
}

/// Registers the shop's domain, checks its file until it is found, and then waits until `stop` turns true.
pub(crate) async fn prove_domain(setup: WalletSetup, credentials: Credentials, mut stop: watch::Receiver<bool>) {
    let shop = credentials.shop_url.as_deref().and_then(|url| url.split_once("://"));
    if let (Some((_, domain)), Ok(merchant)) = (shop, credentials.merchant_id.parse()) {
        match setup.add_domain(merchant, domain, ASSOCIATION).await {
            Ok(_) => look_for_file(&setup, merchant, domain, &mut stop).await,
            Err(error) => log::warn!("the demo shop shows no wallet: {error}"),
        }
    }
    // Either it turns true, or nobody is left who could say so.
    drop(stop.wait_for(|stopping| *stopping).await);
}

async fn look_for_file(setup: &WalletSetup, merchant: MerchantId, domain: &str, stop: &mut watch::Receiver<bool>) {
    while !*stop.borrow() {
        match setup.check_domain(merchant, domain).await {
            Ok(checked) if checked.state() == DomainState::Verified => return,
            Ok(_) => {}
            Err(error) => log::warn!("the demo shop's domain cannot be checked: {error}"),
        }
        drop(tokio::time::timeout(PAUSE, stop.wait_for(|stopping| *stopping)).await);
    }
}

/// The demo merchant's credentials, kept in `file`.
///
/// Makes the merchant when there is no file, or when the store does not know it. One whose shop has another address now gets that address.
///
/// # Errors
/// The file holds the credentials of another merchant: a new demo merchant would overwrite them.
pub(crate) async fn merchant(merchants: &Merchants, file: &Path, shop_url: &str) -> Result<Credentials, Failure> {
    if let Some(kept) = Credentials::read(file)? {
        let Some(old_url) = kept.shop_url.clone() else { return Err(not_the_demo(file)) };
        let now = merchants.clock.now();
        match authenticate(&*merchants.store, &*merchants.secrets, now, &kept.username, &kept.password).await {
            // A move to another address that broke off has taken this one from the merchant's origins.
            Ok(caller) if old_url == shop_url && caller.merchant.origins.contains(&Origin::parse(shop_url)?) => {
                return Ok(kept);
            }
            Ok(caller) => {
                let moved = move_shop(merchants, &caller.merchant, kept, &old_url, shop_url).await?;
                files::write_private(file, &serde_json::to_string_pretty(&moved)?)?;
                return Ok(moved);
            }
            Err(AuthenticateError::Invalid) => {
                log::warn!("the store does not know the demo merchant: making a new one")
            }
            Err(error) => return Err(error.into()),
        }
    }
    let wanted = CreateMerchant {
        name: "Demo shop".to_owned(),
        webhook_url: Some(webhook_url(shop_url)),
        origins: vec![Origin::parse(shop_url)?],
        currencies: Currency::ALL.to_vec(),
    };
    let created = merchants.create(wanted).await?;
    // The shop knows its customer, and names them by reference. Its payments are screened, as those of production are.
    let settings = MerchantSettings {
        saved_cards_offered: Some(true),
        screening: Some(true),
        methods: Some(MerchantMethods { google_pay: GOOGLE_PAY.parse().ok(), ..MerchantMethods::default() }),
        ..MerchantSettings::default()
    };
    merchants.set(created.merchant_id, settings).await?;
    let made = Credentials { shop_url: Some(shop_url.to_owned()), ..credentials(created) };
    files::write_private(file, &serde_json::to_string_pretty(&made)?)?;
    Ok(made)
}

fn not_the_demo(file: &Path) -> Failure {
    format!(
        "{} holds the credentials of a merchant that is not the demo's (it has no ShopUrl), and the demo would overwrite them: name another file with \
         --merchant-file, or leave the demo out with --no-demo",
        file.display()
    )
    .into()
}

/// Where the shop at `shop_url` takes notifications.
fn webhook_url(shop_url: &str) -> String {
    format!("{shop_url}/webhook")
}

/// Puts the shop's new address in the place of the old one, in the merchant's origins and its endpoint, which keeps its secret.
async fn move_shop(
    merchants: &Merchants,
    merchant: &Merchant,
    kept: Credentials,
    old_url: &str,
    shop_url: &str,
) -> Result<Credentials, Failure> {
    let (old, new) = (Origin::parse(old_url)?, Origin::parse(shop_url)?);
    let others = merchant.origins.iter().filter(|origin| **origin != old && **origin != new).cloned();
    let origins = Some(others.chain([new.clone()]).collect());
    merchants.set(merchant.id, MerchantSettings { origins, ..MerchantSettings::default() }).await?;
    let endpoints = merchants.endpoints(merchant.id).await?;
    let endpoint_at = |url: &str| endpoints.iter().find(|endpoint| endpoint.url == webhook_url(url));
    let webhook_secret = match (endpoint_at(old_url), endpoint_at(shop_url)) {
        (Some(endpoint), _) => {
            let update = EndpointUpdate { url: Some(webhook_url(shop_url)), ..EndpointUpdate::default() };
            merchants.set_endpoint(endpoint.id, update).await?;
            kept.webhook_secret
        }
        // A start that broke off before it wrote the file has moved the endpoint, or has added one whose secret nobody knows.
        (None, Some(endpoint)) => Some(merchants.rotate_secret(endpoint.id, Duration::ZERO).await?.webhook_secret),
        (None, None) => {
            let settings = EndpointSettings::default();
            Some(merchants.add_endpoint(merchant.id, &webhook_url(shop_url), settings).await?.webhook_secret)
        }
    };
    log::info!("the demo shop has moved from {old_url} to {shop_url}; its merchant stays the same");
    Ok(Credentials { webhook_secret, shop_url: Some(shop_url.to_owned()), ..kept })
}
