//! The processor's hosted pages, in the hands of a shopper's browser.

use actix_web::http::Method;
use serde_json::Value;

use super::World;
use crate::http::Response;

impl World {
    /// Pays a Session with a method that has no card; the first Progress.
    pub async fn pay_by(&self, session: &str, method: &str) -> Value {
        let answer = self.shopper(session).submit_method(method).await;
        assert_eq!(answer.status, 200, "{}\n{}", answer.text(), self.programs.logged());
        answer.json()
    }

    /// Opens a hosted page and presses a button, with an amount where it has a field for one; where that sends the browser.
    pub async fn press(&self, page: &str, choice: &str, amount: Option<&str>) -> String {
        let form = self.form_of(page).await;
        self.send_form(page, &form, choice, amount).await
    }

    /// Opens a hosted page; what its buttons send along.
    pub async fn form_of(&self, page: &str) -> String {
        let shown = self.http.get(page).await;
        assert_eq!(shown.status, 200, "{}", shown.text());
        let text = shown.text();
        let (_, rest) = text.split_once("name=\"form\" value=\"").unwrap_or_else(|| panic!("no form on {text}"));
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    /// Presses a button of a page that was opened before; where that sends the browser.
    pub async fn send_form(&self, page: &str, form: &str, choice: &str, amount: Option<&str>) -> String {
        let answer = self.try_form(page, form, choice, amount).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        answer.header("location").expect("somewhere to go").to_owned()
    }

    /// The same; any answer.
    pub async fn try_form(&self, page: &str, form: &str, choice: &str, amount: Option<&str>) -> Response {
        let mut pairs = vec![("form", form), ("choice", choice)];
        pairs.extend(amount.map(|amount| ("amount", amount)));
        self.http.post_form(page, &pairs).await
    }

    /// Follows the way back to the merchant as the browser's top page does; where it ends.
    pub async fn come_back(&self, back: &str) -> String {
        let answer = self.open(back, "document").await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        answer.header("location").expect("somewhere to go").to_owned()
    }

    /// Opens an address for this `Sec-Fetch-Dest`: `document` or `iframe`.
    pub async fn open(&self, address: &str, destination: &str) -> Response {
        let headers = [("sec-fetch-dest", destination), ("accept", "text/html")];
        self.http.send(Method::GET, address, &headers, Vec::new()).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The processor's own view of the authorization of an Order: its pages and what has arrived.
    pub async fn authorization_of(&self, order: &str) -> Value {
        let journal = self.journal().await;
        let key = journal.of_order(order).find(|entry| entry.kind == "AUTHORIZE").map(|entry| entry.key.clone());
        let key = key.unwrap_or_else(|| panic!("the processor knows no Order {order}"));
        self.ask_processor(Method::GET, &format!("/v1/operations/{key}"), Vec::new()).await.json()
    }

    /// Ends the pay-later provider's review of an Order: `approve` or `decline`.
    pub async fn provider_decides(&self, order: &str, decision: &str) {
        let key = self.authorization_of(order).await["Key"].as_str().expect("a key").to_owned();
        let body = serde_json::json!({ "Decision": decision }).to_string().into_bytes();
        self.ask_processor(Method::PUT, &format!("/v1/operations/{key}/review"), body).await;
    }

    /// Marks a transfer as arrived at the bank, all of it or this amount.
    pub async fn transfer_arrives(&self, order: &str, amount: Option<&str>) {
        let authorization = self.authorization_of(order).await;
        let page = authorization["SandboxPage"].as_str().unwrap_or_else(|| panic!("no page in {authorization}"));
        self.press(page, "arrived", amount).await;
    }
}
