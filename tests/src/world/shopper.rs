use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Http, Response};
use crate::wait::until;

/// A card waiting in the stash, and the attempt that will use it.
#[derive(Debug, Clone)]
pub struct Stashed {
    /// Made by the browser.
    pub attempt: String,
    /// Where the card waits.
    pub stash_id: String,
    /// Of the browser.
    pub fingerprint: String,
}

/// What the card frame does, without a browser.
pub struct Shopper {
    http: Http,
    address: String,
    /// {asset_url}/v1/session/{SessionId}
    session: String,
}

/// Puts a card into the stash, as the card frame and a merchant's own page do.
pub(super) async fn stash_card(
    http: &Http,
    stash: &str,
    merchant: &str,
    stashed: &Stashed,
    number: &str,
    year: &str,
) -> Response {
    // American Express prints four digits.
    let code = if number.starts_with("37") { "1234" } else { "123" };
    let card =
        json!({"Name": "Ada", "Number": number, "VerificationCode": code, "Expiry": {"Year": year, "Month": "12"}});
    let pairs = [("DeviceFingerprint", stashed.fingerprint.as_str()), ("card", &card.to_string())];
    http.post_form(&format!("{stash}/{merchant}/{}", stashed.stash_id), &pairs).await
}

impl Shopper {
    pub(super) fn new(http: Http, asset: &str, session: &str) -> Self {
        let address = format!("{asset}/v1/shopper/session/{session}");
        Self { http, address, session: format!("{asset}/v1/session/{session}") }
    }

    /// The view that the drop-in draws.
    pub async fn view(&self) -> Value {
        let answer = self.http.get(&self.address).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// The same as text, for exact numbers.
    pub async fn view_text(&self) -> String {
        self.http.get(&self.address).await.text()
    }

    /// Stashes a card under a new id; every call is another browser.
    pub async fn stash(&self, name: &str, number: &str) -> Stashed {
        let answer = self.stash_raw(name, number, "2031").await;
        assert_eq!(answer.1.status, 200, "{}", answer.1.text());
        assert_eq!(answer.1.json()["Warnings"], json!([]));
        answer.0
    }

    /// Stashes a card and gives the whole answer.
    pub async fn stash_raw(&self, name: &str, number: &str, year: &str) -> (Stashed, Response) {
        let attempt = uuid::Uuid::new_v4().to_string();
        let stashed = Stashed {
            stash_id: attempt.clone(),
            attempt,
            fingerprint: format!("browser {name} {}", uuid::Uuid::new_v4()),
        };
        let answer = self.post_card(&stashed, number, year).await;
        (stashed, answer)
    }

    /// Stashes a card for this Session's merchant under the id and browser of another entry.
    pub async fn stash_as(&self, like: &Stashed, number: &str) -> Response {
        self.post_card(like, number, "2031").await
    }

    /// Stashes the verification code of a saved card under a new id; every call is another browser.
    pub async fn stash_code(&self, name: &str, code: &str) -> Stashed {
        let attempt = uuid::Uuid::new_v4().to_string();
        let fingerprint = format!("browser {name} {}", uuid::Uuid::new_v4());
        let stashed = Stashed { stash_id: attempt.clone(), attempt, fingerprint };
        let view = self.view().await;
        let text = |name: &str| view[name].as_str().unwrap_or_else(|| panic!("{name} in {view}"));
        let card = json!({ "VerificationCode": code }).to_string();
        let pairs = [("DeviceFingerprint", stashed.fingerprint.as_str()), ("card", &card)];
        let url = format!("{}/{}/{}", text("StashUrl"), text("MerchantId"), stashed.stash_id);
        let answer = self.http.post_form(&url, &pairs).await;
        assert_eq!((answer.status, &answer.json()["Last4"]), (200, &json!("")), "{}", answer.text());
        stashed
    }

    async fn post_card(&self, stashed: &Stashed, number: &str, year: &str) -> Response {
        let view = self.view().await;
        let text = |name: &str| view[name].as_str().unwrap_or_else(|| panic!("{name} in {view}"));
        stash_card(&self.http, text("StashUrl"), text("MerchantId"), stashed, number, year).await
    }

    /// Submits; any answer.
    pub async fn submit(&self, version: i64, stashed: &Stashed) -> Response {
        self.try_submit(version, stashed).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits; an error when no answer came.
    pub async fn try_submit(&self, version: i64, stashed: &Stashed) -> Result<Response, String> {
        self.post_submit(&submission(version, stashed)).await
    }

    /// Submits the version that is shown, agreeing to the contract that the payment opens; any answer.
    pub async fn submit_agreeing(&self, stashed: &Stashed) -> Response {
        let mut body = submission(self.view().await["Version"].as_i64().expect("a version"), stashed);
        body["Consent"] = json!({"TextVersion": "2026-11", "Locale": "de_AT"});
        self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits the version that is shown, to pay by a scheme that the stashed card bears; any answer.
    pub async fn submit_by(&self, scheme: &str, stashed: &Stashed) -> Response {
        let mut body = submission(self.view().await["Version"].as_i64().expect("a version"), stashed);
        body["PaymentMethod"] = json!(scheme);
        self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits the version that is shown, with the postcode of the card's billing address; any answer.
    pub async fn submit_from(&self, postcode: &str, stashed: &Stashed) -> Response {
        let mut body = submission(self.view().await["Version"].as_i64().expect("a version"), stashed);
        body["BillingAddress"] = json!({ "Postcode": postcode });
        self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits the version that is shown with the saved card of a contract, whose code is stashed; any answer.
    pub async fn submit_saved(&self, contract: &str, stashed: &Stashed) -> Response {
        let body = self.saved_submission(contract, stashed).await;
        self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same with a consent, which a saved card takes none of.
    pub async fn submit_saved_agreeing(&self, contract: &str, stashed: &Stashed) -> Response {
        let mut body = self.saved_submission(contract, stashed).await;
        body["Consent"] = json!({"TextVersion": "2026-11", "Locale": "de_AT"});
        self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn saved_submission(&self, contract: &str, stashed: &Stashed) -> Value {
        let mut body = submission(self.view().await["Version"].as_i64().expect("a version"), stashed);
        body["ContractId"] = json!(contract);
        body
    }

    /// Has a saved card forgotten; any answer.
    pub async fn remove_saved(&self, contract: &str) -> Response {
        let address = format!("{}/contract/{contract}", self.session);
        let sent = self.http.send(actix_web::http::Method::DELETE, &address, &[], Vec::new()).await;
        sent.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits as [`Shopper::submit_method`], agreeing to a contract.
    pub async fn submit_method_agreeing(&self, method: &str) -> Response {
        let body = json!({
            "Version": self.view().await["Version"], "AttemptId": uuid::Uuid::new_v4().to_string(),
            "PaymentMethod": method, "DeviceFingerprint": "a browser",
            "Consent": {"TextVersion": "2026-11", "Locale": "de_AT"},
        });
        self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits the version that is shown with a method that has no card; any answer.
    pub async fn submit_method(&self, method: &str) -> Response {
        let body = json!({
            "Version": self.view().await["Version"], "AttemptId": uuid::Uuid::new_v4().to_string(),
            "PaymentMethod": method, "DeviceFingerprint": "a browser",
        });
        self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits as [`Shopper::submit_method`], and says under which AttemptId.
    pub async fn submit_method_as(&self, method: &str) -> (String, Response) {
        let attempt = uuid::Uuid::new_v4().to_string();
        let body = json!({
            "Version": self.view().await["Version"], "AttemptId": attempt,
            "PaymentMethod": method, "DeviceFingerprint": "a browser",
        });
        (attempt, self.post_submit(&body).await.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Leaves the hosted page of an attempt; any answer.
    pub async fn pay_another_way(&self, attempt: &str) -> Response {
        let body = json!({ "AttemptId": attempt }).to_string();
        let (method, headers) = (actix_web::http::Method::POST, [("content-type", "application/json")]);
        let address = format!("{}/pay-another-way", self.address);
        self.http.send(method, &address, &headers, body.into_bytes()).await.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn post_submit(&self, body: &Value) -> Result<Response, String> {
        let (method, headers) = (actix_web::http::Method::POST, [("content-type", "application/json")]);
        self.http.send(method, &format!("{}/submit", self.address), &headers, body.to_string().into_bytes()).await
    }

    /// How the attempt stands now.
    pub async fn progress(&self) -> Value {
        self.http.get(&format!("{}/progress", self.address)).await.json()
    }

    /// How it stands once it is not in this state any more, waited for as the drop-in does: in one call.
    pub async fn progress_from(&self, state: &str, seconds: u64) -> Value {
        self.http.get(&format!("{}/progress?wait={seconds}&from={state}", self.address)).await.json()
    }

    /// Waits until the attempt came to rest; the shopper must have an answer within 30 s.
    pub async fn rest(&self) -> Value {
        until("the attempt comes to rest", Duration::from_secs(30), async || {
            let progress = self.progress().await;
            (progress["State"] != "PROCESSING").then_some(progress)
        })
        .await
    }
}

/// What the drop-in sends to pay with a stashed card.
fn submission(version: i64, stashed: &Stashed) -> Value {
    json!({
        "Version": version, "AttemptId": stashed.attempt, "StashId": stashed.stash_id,
        "DeviceFingerprint": stashed.fingerprint,
    })
}
