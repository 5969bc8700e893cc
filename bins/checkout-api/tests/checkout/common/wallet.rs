//! A wallet provider that gives a session to every merchant, and counts; and Ana's wallet at it.

use std::sync::Mutex;

use async_trait::async_trait;
use dropin_access::WalletDomain;
use dropin_card::{StashedData, Wallet, WalletToken};
use dropin_kernel::Timestamp;
use dropin_ports::{WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest};
use dropin_usecases::wallet::SetWallet;
use serde_json::{Value, json};

use super::Api;

/// Stands at every domain.
pub(crate) const FILE: &str = "the association file\n";
/// 2100.
const FAR: Timestamp = Timestamp::from_micros(4_102_444_800_000_000);

#[derive(Default)]
pub(crate) struct Gateway {
    /// What was asked for, in order.
    pub(crate) asked: Mutex<Vec<WalletSessionRequest>>,
    /// Whether it fails.
    pub(crate) fails: Mutex<Option<WalletFailure>>,
}

/// What it answers for a domain.
pub(crate) fn session(domain: &str) -> String {
    json!({"epochTimestamp": 1, "expiresAt": 2, "merchantSessionIdentifier": "s", "nonce": "n", "merchantIdentifier": "m",
        "domainName": domain, "displayName": "d", "signature": "x"})
    .to_string()
}

#[async_trait]
impl WalletProvider for Gateway {
    fn inspect(&self, _: &WalletCredentials) -> Result<Timestamp, WalletFailure> {
        Ok(FAR)
    }

    async fn start_session(
        &self,
        _: WalletCredentials,
        request: WalletSessionRequest,
    ) -> Result<Vec<u8>, WalletFailure> {
        let session = session(&request.domain).into_bytes();
        self.asked.lock().unwrap().push(request);
        self.fails.lock().unwrap().clone().map_or(Ok(session), Err)
    }

    async fn fetch_association(&self, _: &WalletDomain) -> Result<Vec<u8>, String> {
        Ok(FILE.as_bytes().to_vec())
    }
}

impl Gateway {
    pub(crate) fn session(domain: &str) -> String {
        session(domain)
    }
}

impl Api {
    /// A wallet for Ana, whose button may stand on `domain`.
    pub(crate) async fn wallet(&self, domain: &str) {
        let credentials = WalletCredentials { certificate: "certificate".to_owned(), key: "key".to_owned().into() };
        let identifier = "merchant.example.shop".to_owned();
        let id = self.ana.merchant.parse().unwrap();
        self.setup.set(id, SetWallet { identifier, country: "NL".to_owned(), credentials }).await.unwrap();
        self.setup.add_domain(id, domain, FILE).await.unwrap();
        self.setup.check_domain(id, domain).await.unwrap();
    }

    /// Takes Ana's wallet away.
    pub(crate) async fn without_wallet(&self) {
        self.setup.remove(self.ana.merchant.parse().unwrap()).await.unwrap();
    }

    /// One that is paid with a wallet's stashed token.
    pub(crate) async fn tokened(&self, reference: &str, data: &str, change: Value) -> Value {
        self.stash(reference, StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, data))).await;
        let mut cart = self.cart(reference, json!({"PaymentMethod": null, "StashId": reference, "Return": null}));
        for (name, value) in change.as_object().unwrap() {
            cart[name] = value.clone();
        }
        cart
    }
}
