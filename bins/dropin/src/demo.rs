//! The demo merchant: made once, its credentials kept so that a restart shows the same ones.

use std::path::Path;

use dropin_access::Origin;
use dropin_boot::Failure;
use dropin_money::Currency;
use dropin_usecases::access::{AuthenticateError, CreateMerchant, MerchantCreated, Merchants, authenticate};
use serde::{Deserialize, Serialize};

use crate::files;

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
