//! The demo merchant: made once, its credentials kept so that a restart shows the same ones.

use std::path::Path;
use std::time::Duration;

use dropin_access::{DomainState, Origin};
use dropin_boot::Failure;
use dropin_kernel::MerchantId;
use dropin_money::Currency;
use dropin_ports::WalletCredentials;
use dropin_usecases::access::{AuthenticateError, CreateMerchant, MerchantCreated, Merchants, authenticate};
use dropin_usecases::wallet::{SetWallet, WalletSetup, WalletSetupError};
use sandbox_processor::WalletAuthority;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::files;

/// Between two looks for the shop's file: the shop has only just begun to listen.
const PAUSE: Duration = Duration::from_millis(500);

/// A new merchant's credentials as scripts and the shop read them. No Debug: they are secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Credentials {
    pub(crate) merchant_id: String,
    pub(crate) username: String,
    pub(crate) password: String,
    pub(crate) webhook_secret: Option<String>,
    /// Where the demo shop was when the merchant was made; it stands in the merchant's origins and webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shop_url: Option<String>,
}

impl From<MerchantCreated> for Credentials {
    fn from(created: MerchantCreated) -> Self {
        Self {
            merchant_id: created.merchant_id.to_string(),
            username: created.username,
            password: created.password,
            webhook_secret: created.webhook_secret,
            shop_url: None,
        }
    }
}

/// Reads credentials that `merchant create --json` or the demo wrote; `None` when there is no such file.
pub(crate) fn read(file: &Path) -> Result<Option<Credentials>, Failure> {
    let Some(text) = files::read(file)? else { return Ok(None) };
    // The parser's own message would quote the file.
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let (file, line) = (file.display(), error.line());
        format!("{file} does not hold credentials (line {line}); remove it to have new ones made").into()
    })
}

/// What proves the demo shop's domain to the sandbox's wallet provider; the shop serves it.
pub(crate) const ASSOCIATION: &str = "This is the demo shop of a Dropin sandbox.\n";

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

/// Registers the shop's domain and looks for its file there until it was found; then, as every service, until `stop` turns true.
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

/// The demo merchant's credentials from `file`; makes the merchant when there is none, when the store does not know it,
/// or when the shop has moved.
pub(crate) async fn merchant(merchants: &Merchants, file: &Path, shop_url: &str) -> Result<Credentials, Failure> {
    let now = merchants.clock.now();
    if let Some(kept) = read(file)?.filter(|kept| kept.shop_url.as_deref() == Some(shop_url)) {
        match authenticate(&*merchants.store, &*merchants.secrets, now, &kept.username, &kept.password).await {
            Ok(_known) => return Ok(kept),
            Err(AuthenticateError::Invalid) => {
                log::warn!("the store does not know the demo merchant: making a new one")
            }
            Err(error) => return Err(error.into()),
        }
    }
    let wanted = CreateMerchant {
        name: "Demo shop".to_owned(),
        webhook_url: Some(format!("{shop_url}/webhook")),
        origins: vec![Origin::parse(shop_url)?],
        currencies: Currency::ALL.to_vec(),
    };
    let made = Credentials { shop_url: Some(shop_url.to_owned()), ..merchants.create(wanted).await?.into() };
    files::write_private(file, &serde_json::to_string_pretty(&made)?)?;
    Ok(made)
}
