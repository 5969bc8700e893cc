//! What an address serves, fetched as browsers do.

use std::fmt;

use actix_web::http::header;
use awc::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use checkout_api::INVENTORY_PATH;
use dropin_boot::Failure;
use dropin_browser::Asset;
use dropin_trigger::service_http_client;
use serde_json::Value;
use sha2::{Digest as _, Sha384};

use super::Inventory;

fn integrity_of(bytes: &[u8]) -> String {
    format!("sha384-{}", STANDARD.encode(Sha384::digest(bytes)))
}

/// What an address serves.
pub(super) struct Site {
    pub(super) base: String,
    client: Client,
}

/// What browsers ask for scripts in, and what somebody does who reads nothing compressed.
const ENCODINGS: [&str; 3] = [IDENTITY, "br", "gzip"];
pub(super) const IDENTITY: &str = "identity";

pub(super) struct Served {
    pub(super) status: u16,
    encoding: String,
    content_type: String,
    pub(super) policy: String,
    pub(super) body: Vec<u8>,
}

impl Site {
    pub(super) fn open(url: &str) -> Result<Self, Failure> {
        let base = url.trim_end_matches('/').to_owned();
        if !base.starts_with("https://") && !base.starts_with("http://") {
            return Err(format!("{url} is no address: give {{asset_url}}, such as https://pay.example").into());
        }
        let client = service_http_client(demo_shop::client_config(&base)?, None);
        Ok(Self { base, client })
    }

    /// The service's own inventory.
    pub(super) async fn inventory(&self) -> Result<Inventory, Failure> {
        let served = self.fetch(INVENTORY_PATH, IDENTITY).await?;
        let value: Option<Value> = serde_json::from_slice(&served.body).ok();
        value.as_ref().filter(|_| served.status == 200).and_then(Inventory::read).ok_or_else(|| {
            let (base, status) = (&self.base, served.status);
            format!("{base}{INVENTORY_PATH} answered {status} and no inventory: is {base} the {{asset_url}} of Dropin?")
                .into()
        })
    }

    /// Its own origin, which its documents may send to.
    pub(super) fn origin(&self) -> Option<&str> {
        let host = self.base.find("://")? + 3;
        Some(self.base[host..].find('/').map_or(&*self.base, |end| &self.base[..host + end]))
    }

    /// What is wrong with a script, in whatever encoding browsers ask for it.
    pub(super) async fn of_script(&self, path: &str, script: &str, integrity: &str) -> Vec<String> {
        // Of another release nobody knows what it looks like compressed.
        let own = dropin_browser::asset(script).filter(|asset| asset.integrity() == integrity);
        let mut found = Vec::new();
        for encoding in ENCODINGS.into_iter().filter(|encoding| own.is_some() || *encoding == IDENTITY) {
            let what = match self.fetch(path, encoding).await {
                Err(why) => {
                    found.push(why);
                    break;
                }
                Ok(served) => of_script(&served, encoding, integrity, own),
            };
            found.extend(what.filter(|what| !found.contains(what)));
        }
        found
    }

    /// What is sent to a client that reads this encoding alone, as it is sent; or why nothing is.
    pub(super) async fn fetch(&self, path: &str, encoding: &str) -> Result<Served, String> {
        let url = format!("{}{path}", self.base);
        let no_answer = |error: &dyn fmt::Display| format!("{url} gave no answer ({error}): see that the service runs");
        let request = self.client.get(&url).insert_header((header::ACCEPT_ENCODING, encoding)).no_decompress();
        let mut answer = request.send().await.map_err(|error| no_answer(&error))?;
        let text =
            |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let (content_type, policy) = (text(header::CONTENT_TYPE), text(header::CONTENT_SECURITY_POLICY));
        let encoding = text(header::CONTENT_ENCODING);
        let body = answer.body().limit(MAX_BYTES).await.map_err(|error| no_answer(&error))?.to_vec();
        Ok(Served { status: answer.status().as_u16(), encoding, content_type, policy, body })
    }
}

/// What is wrong with the answer to a client that reads `encoding`.
fn of_script(served: &Served, encoding: &str, integrity: &str, own: Option<&Asset>) -> Option<String> {
    if served.status != 200 {
        return Some(format!("it is answered with {}", served.status));
    }
    if !served.content_type.starts_with("text/javascript") {
        return Some(format!("it is sent as {:?}, and browsers do not run it", served.content_type));
    }
    match &*served.encoding {
        "" | IDENTITY => {
            let found = integrity_of(&served.body);
            (found != integrity).then(|| format!("its content is {found}, and should be {integrity}"))
        }
        sent if sent != encoding => Some(format!("it is sent compressed by {sent:?}, which nobody asked for")),
        sent => {
            let compressed = own.and_then(|own| if sent == "br" { own.brotli } else { own.gzip });
            (compressed != Some(&*served.body))
                .then(|| format!("compressed by {sent} it is another content than this program sends"))
        }
    }
}

/// Far above the largest file of the drop-in.
const MAX_BYTES: usize = 4 * 1024 * 1024;
