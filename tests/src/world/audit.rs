//! Reads what is reconciled: the processor's journal, and every Order and Session as its merchant sees it.

use std::time::{Duration, Instant};

use actix_web::http::Method;
use futures_util::future::join_all;
use serde::de::DeserializeOwned;

use super::reconciliation::{Entry, Journal, Reconciliation, ShownOrder, ShownSession, shortened};
use super::{Merchant, World};
use crate::http::Response;
use crate::wait::until;

/// How many questions are asked at once.
const AT_ONCE: usize = 32;
/// How long operations under way may take to come to rest; the settler looks for them several times a second.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(40);

impl World {
    /// Asks the processor something as its caller does.
    pub(super) async fn ask_processor(&self, method: Method, path: &str, body: Vec<u8>) -> Response {
        let bearer = self.programs.bearer();
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let url = format!("{}{path}", self.processor);
        let mut answer = self.http.send(method.clone(), &url, &headers, body.clone()).await;
        if answer.is_err() && [Method::GET, Method::PUT].contains(&method) {
            // A connection that lay idle while a browser was at work may have been closed at the moment it was taken.
            answer = self.http.send(method, &url, &headers, body).await;
        }
        let answer = answer.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(answer.status, 200, "{url}: {}", answer.text());
        answer
    }

    /// The credentials that the processor has of the merchant's contracts.
    pub async fn stored_credentials(&self) -> serde_json::Value {
        let path = format!("/v1/credentials?merchant={}&after=0&limit=1000", self.merchant.id);
        self.ask_processor(Method::GET, &path, Vec::new()).await.json()
    }

    /// Asks the processor for an effect past the service, under a key of the caller's choice.
    pub async fn effect_past_the_service(&self, path: &str, key: &str, body: &serde_json::Value) -> serde_json::Value {
        let bearer = self.programs.bearer();
        let headers =
            [("authorization", bearer.as_str()), ("idempotency-key", key), ("content-type", "application/json")];
        let url = format!("{}{path}", self.processor);
        let answer = self.http.send(Method::POST, &url, &headers, body.to_string().into_bytes()).await;
        answer.unwrap_or_else(|error| panic!("{error}")).json()
    }

    /// The processor's own journal, all of it.
    pub async fn journal(&self) -> Journal {
        self.journal_after(0).await
    }

    /// The processor's own journal behind the line with this number.
    pub async fn journal_after(&self, number: i64) -> Journal {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Page {
            entries: Vec<Entry>,
        }
        let mut journal = Journal::default();
        loop {
            let after = journal.entries.last().map_or(number, |entry| entry.number);
            let path = format!("/v1/journal?after={after}&limit=1000");
            let page: Page = parse(&self.ask_processor(Method::GET, &path, Vec::new()).await);
            if page.entries.is_empty() {
                return journal;
            }
            journal.entries.extend(page.entries);
        }
    }

    /// Both sides, to be reconciled.
    pub async fn reconciliation(&self) -> Reconciliation {
        let mut reconciliation = Reconciliation { journal: self.journal().await, ..Reconciliation::default() };
        for merchant in self.merchants() {
            let sessions = merchant.sessions();
            let paths = sessions.iter().map(|id| format!("/v1/session/{id}"));
            let sessions = self.shown::<ShownSession>(&merchant, paths.collect()).await;
            reconciliation.sessions.extend(sessions.into_iter().map(|session| (session.session_id.clone(), session)));
        }
        self.add_orders(&mut reconciliation).await;
        reconciliation
    }

    /// Adds the Orders that the journal or a Session names.
    async fn add_orders(&self, reconciliation: &mut Reconciliation) {
        let inner = reconciliation.sessions.values().filter_map(|session| session.order.as_ref());
        let mut orders: Vec<_> = inner.map(|order| order.order_id.clone()).collect();
        orders.extend(reconciliation.journal.orders().into_iter().map(str::to_owned));
        orders.sort();
        orders.dedup();
        for merchant in self.merchants() {
            let paths = orders.iter().map(|id| format!("/v1/order/{id}")).collect();
            for order in self.shown::<ShownOrder>(&merchant, paths).await {
                reconciliation.orders.entry(order.order_id.clone()).or_default().push(order);
            }
        }
    }

    /// Waits until both sides of one Session agree, and returns them; `after` is the journal's last line before the Session was paid, and
    /// no other was paid since. Fails with what does not fit.
    pub async fn check_reconciliation_of(&self, session: &str, after: i64) -> Reconciliation {
        let begun = Instant::now();
        loop {
            let mut reconciliation =
                Reconciliation { journal: self.journal_after(after).await, ..Reconciliation::default() };
            let sessions = self.shown::<ShownSession>(&self.merchant, vec![format!("/v1/session/{session}")]).await;
            reconciliation.sessions.extend(sessions.into_iter().map(|session| (session.session_id.clone(), session)));
            self.add_orders(&mut reconciliation).await;
            let discrepancies = reconciliation.discrepancies();
            if discrepancies.is_empty() {
                return reconciliation;
            }
            assert!(
                begun.elapsed() < SETTLE_TIMEOUT,
                "after {SETTLE_TIMEOUT:?} both sides of {session} do not agree: {discrepancies:#?}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What a merchant is shown of all that there is for it.
    async fn shown<T: DeserializeOwned>(&self, merchant: &Merchant, paths: Vec<String>) -> Vec<T> {
        let mut shown = Vec::new();
        for some in paths.chunks(AT_ONCE) {
            for answer in join_all(some.iter().map(|path| merchant.call("GET", path, None))).await {
                match answer.status {
                    200 => shown.push(parse(&answer)),
                    404 => {}
                    other => panic!("{other} {}", answer.text()),
                }
            }
        }
        shown
    }

    /// The journal's lines, (kind, outcome, amount as written), for one Session's Order. For a Session that shows no Order: those for every Order
    /// that is shown to nobody, its own among them.
    pub async fn journal_of(&self, session: &str) -> Vec<(String, String, String)> {
        let journal = self.journal().await;
        let shown = self.merchant.session(session).await;
        if let Some(order) = shown["Order"]["OrderId"].as_str() {
            return shortened(journal.of_order(order));
        }
        let mut hidden = journal.orders();
        for merchant in self.merchants() {
            let paths = hidden.iter().map(|id| format!("/v1/order/{id}")).collect();
            let visible = self.shown::<ShownOrder>(&merchant, paths).await;
            hidden.retain(|id| visible.iter().all(|order| order.order_id != *id));
        }
        shortened(hidden.into_iter().flat_map(|order| journal.of_order(order)))
    }

    /// Waits until the journal says exactly this of the Session's Order: what was charged, and nothing twice.
    pub async fn journal_has(&self, session: &str, expected: &[(&str, &str, &str)]) {
        let found = until(&format!("journal {expected:?}"), Duration::from_secs(30), async || {
            let found = self.journal_of(session).await;
            (expected.len() <= found.len()).then_some(found)
        })
        .await;
        let found: Vec<_> = found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!(found, expected);
    }

    /// Waits until the processor's journal agrees with what merchants see, and `dropin ledger verify` finds nothing either; fails with the
    /// discrepancies.
    pub async fn check_reconciliation(&self) {
        let begun = Instant::now();
        loop {
            let mut discrepancies = self.reconciliation().await.discrepancies();
            if discrepancies.is_empty() {
                discrepancies.extend(self.programs.try_dropin(&["ledger", "verify"]).err());
            }
            if discrepancies.is_empty() {
                return;
            }
            assert!(
                begun.elapsed() < SETTLE_TIMEOUT,
                "after {SETTLE_TIMEOUT:?} both sides do not agree: {discrepancies:#?}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn parse<T: DeserializeOwned>(answer: &Response) -> T {
    serde_json::from_slice(&answer.bytes).unwrap_or_else(|error| panic!("{error}: {}", answer.text()))
}
