//! What a page with the wallet's button asks.

use actix_web::http::Method;

use super::ScenarioRun;
use crate::record::Call;

impl ScenarioRun<'_> {
    async fn wallet(&mut self, name: &'static str, summary: &'static str, validation_url: &str, status: u16) {
        let (operation, origin) = ("startWalletSession", self.world.receiver.origin());
        let path = format!("v1/wallet/{}/session", self.world.merchant.id);
        let url = format!("{}/{path}?validationURL={validation_url}&displayName=Example%20shop", self.world.checkout);
        let headers = vec![("origin", origin.as_str())];
        let call = Call { operation, name, summary, method: Method::GET, url, headers, body: None };
        self.recorder.make(call, status).await;
    }

    pub(super) async fn a_wallet_is_opened(&mut self) {
        let right = "https://wallet-gateway.localhost/paymentservices/startSession";
        self.wallet("session", "For the page of a registered and verified domain", right, 200).await;
        self.wallet("fieldErrors", "Not an address that the wallet gave", "https://example.com/", 400).await;
    }
}
