//! What every page may ask, without a secret: rates and methods.

use actix_web::http::Method;
use serde_json::Value;

use super::{ScenarioRun, UNKNOWN, text};
use crate::record::Call;

impl ScenarioRun<'_> {
    async fn page(
        &mut self,
        (operation, name, summary): (&'static str, &'static str, &'static str),
        url: String,
        status: u16,
    ) {
        let call = Call { operation, name, summary, method: Method::GET, url, headers: Vec::new(), body: None };
        self.recorder.make(call, status).await;
    }

    /// A merchant of three currencies, with that form of rates.
    fn merchant_with(&self, rates: &str) -> String {
        let currencies = ["--currency", "EUR", "--currency", "USD", "--currency", "JPY"];
        let create = [&["merchant", "create", "--name", "Example shop", "--rates", rates, "--json"][..], &currencies];
        let made: Value = serde_json::from_str(&self.world.programs.run_dropin(&create.concat())).unwrap();
        text(&made, "MerchantId")
    }

    pub(super) async fn pages_list(&mut self) {
        let rates = |merchant: &str| format!("{}/v2.2/getRates?merchantId={merchant}", self.world.base);
        let [spot, guaranteed] = ["spot", "guaranteed"].map(|form| rates(&self.merchant_with(form)));
        let nobody = rates(UNKNOWN);
        self.page(("getRates", "spot", "Indications"), spot, 200).await;
        self.page(("getRates", "guaranteed", "Offers, by whose Id a Session is priced"), guaranteed, 200).await;
        self.page(("getRates", "unknownMerchant", "No such merchant"), nobody, 404).await;
        let methods = |merchant: &str, filter: &str| {
            format!("{}/v2.22/getPaymentMethods?MerchantId={merchant}{filter}", self.world.checkout)
        };
        let dutch = methods(&self.world.merchant.id, "&Country=NL&Currency=EUR&Locale=nl_NL");
        let country = methods(&self.world.merchant.id, "&Country=Holland");
        let nobody = methods(UNKNOWN, "");
        self.page(("getPaymentMethods", "dutch", "For a shopper in the Netherlands who pays in euros"), dutch, 200)
            .await;
        self.page(("getPaymentMethods", "fieldErrors", "The country is no code"), country, 400).await;
        self.page(("getPaymentMethods", "unknownMerchant", "No such merchant"), nobody, 404).await;
    }
}
