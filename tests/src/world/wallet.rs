//! A merchant who takes the wallet, and a shopper who has one.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::{Stashed, World};
use crate::http::Response;
use crate::receiver::ASSOCIATION;

/// By which the sandbox's provider knows the merchant.
const IDENTIFIER: &str = "merchant.example.tests";

impl World {
    /// Sets the merchant's wallet up, as an operator does: a certificate of the sandbox's provider, and the page's domain, found there. The private key.
    pub async fn set_wallet_up(&self) -> String {
        let asked = json!({ "MerchantIdentifier": IDENTIFIER }).to_string().into_bytes();
        let issued = self.ask_processor(Method::POST, "/v1/wallet/identities", asked).await.json();
        let text = |name: &str| issued[name].as_str().unwrap_or_else(|| panic!("{issued}")).to_owned();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path.display().to_string()
        };
        let (certificate, key) = (file("c.pem", &text("Certificate")), file("k.pem", &text("PrivateKey")));
        let id = self.merchant.id.as_str();
        self.programs.run_dropin(&[
            "wallet",
            "set",
            id,
            "--merchant-identifier",
            IDENTIFIER,
            "--certificate",
            &certificate,
            "--key",
            &key,
            "--country",
            "US",
        ]);
        let (domain, file) = (self.wallet_domain(), file("association", ASSOCIATION));
        self.programs.run_dropin(&["wallet", "domain", "add", id, &domain, "--file", &file]);
        self.programs.run_dropin(&["wallet", "domain", "check", id, &domain]);
        // A change of a wallet is in force within two seconds: programs ask for it at most once in a second.
        tokio::time::sleep(std::time::Duration::from_millis(1_600)).await;
        text("PrivateKey")
    }

    /// The domain of the merchant's page.
    pub fn wallet_domain(&self) -> String {
        self.receiver.origin().trim_start_matches("http://").to_owned()
    }

    /// Asks for a payment session as the page of `origin` does.
    pub async fn wallet_session(&self, url: &str, validation_url: &str, origin: &str) -> Response {
        let url = format!("{url}?validationURL={validation_url}&displayName=Ana");
        let answer = self.http.send(Method::GET, &url, &[("origin", origin)], Vec::new()).await;
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Stashes what a simulated wallet gives when the shopper agrees; `outcome` is what the sandbox shall do with it.
    pub async fn stash_token(&self, outcome: &str) -> Stashed {
        let data =
            json!({"token": {"paymentData": {"sandbox": outcome, "version": "EC_v1"}, "transactionIdentifier": "t"}});
        self.stash_wallet_token(&json!({"Type": "APPLEPAY", "Data": data})).await
    }

    /// The same of Google Pay.
    pub async fn stash_google_token(&self, outcome: &str) -> Stashed {
        let data = json!({"type": "CARD", "tokenizationData": {"type": "PAYMENT_GATEWAY", "sandbox": outcome}});
        self.stash_wallet_token(&json!({"Type": "GOOGLEPAY", "Data": data})).await
    }

    async fn stash_wallet_token(&self, token: &Value) -> Stashed {
        let attempt = uuid::Uuid::new_v4().to_string();
        let stashed = Stashed { stash_id: attempt.clone(), attempt, fingerprint: "a browser with a wallet".to_owned() };
        let token = token.to_string();
        let pairs = [("DeviceFingerprint", stashed.fingerprint.as_str()), ("token_data", &token)];
        let url = format!("{}/{}/{}", self.stash, self.merchant.id, stashed.stash_id);
        let answer = self.http.post_form(&url, &pairs).await;
        assert_eq!((answer.status, &answer.json()["Warnings"]), (200, &json!([])), "{}", answer.text());
        stashed
    }

    /// A checkout request that is paid with a stashed token, and names no method.
    pub fn token_checkout(&self, stashed: &Stashed) -> Value {
        let change = json!({"StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint});
        self.merchant.checkout_request(change)
    }
}
