use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Answer, Http};
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
}

impl Shopper {
    pub(super) fn new(http: Http, asset: &str, session: &str) -> Self {
        Self { http, address: format!("{asset}/v1/shopper/session/{session}") }
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
    pub async fn stash_raw(&self, name: &str, number: &str, year: &str) -> (Stashed, Answer) {
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
    pub async fn stash_as(&self, like: &Stashed, number: &str) -> Answer {
        self.post_card(like, number, "2031").await
    }

    async fn post_card(&self, stashed: &Stashed, number: &str, year: &str) -> Answer {
        let view = self.view().await;
        let card = json!({"Name": "Ada", "Number": number, "VerificationCode": "123", "Expiry": {"Year": year, "Month": "12"}});
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("DeviceFingerprint", &stashed.fingerprint).append_pair("card", &card.to_string());
        let (stash, merchant) =
            (view["StashUrl"].as_str().expect("a URL"), view["MerchantId"].as_str().expect("an id"));
        let address = format!("{stash}/{merchant}/{}", stashed.stash_id);
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let method = actix_web::http::Method::POST;
        self.http.send(method, &address, &headers, form.finish().into_bytes()).await.expect("the stash answers")
    }

    /// Submits; any answer.
    pub async fn submit(&self, version: i64, stashed: &Stashed) -> Answer {
        self.try_submit(version, stashed).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Submits; an error when no answer came.
    pub async fn try_submit(&self, version: i64, stashed: &Stashed) -> Result<Answer, String> {
        let body = json!({
            "Version": version, "AttemptId": stashed.attempt, "StashId": stashed.stash_id,
            "DeviceFingerprint": stashed.fingerprint,
        });
        let (method, headers) = (actix_web::http::Method::POST, [("content-type", "application/json")]);
        self.http.send(method, &format!("{}/submit", self.address), &headers, body.to_string().into_bytes()).await
    }

    /// How the attempt stands now.
    pub async fn progress(&self) -> Value {
        self.http.get(&format!("{}/progress", self.address)).await.json()
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
