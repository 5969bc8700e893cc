//! A whole deployment with its own data, processor, merchant and receiver, for one test.

mod audit;
mod demo;
mod hosted;
mod merchant;
mod postgres;
mod program;
pub mod reconciliation;
mod shopper;
mod topology;
mod wallet;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use actix_web::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use demo::Demo;
pub use merchant::Merchant;
pub use program::Program;
pub use shopper::{Shopper, Stashed};
pub use topology::{AdminPanel, Topology, check_example};

use crate::http::Http;
use crate::receiver::Receiver;
use crate::wait::until;
use postgres::Database;

/// The published test numbers (docs/SPECIFICATION.md#test-numbers).
pub mod cards {
    /// Authorized; captured at once.
    pub const VISA: &str = "4242424242424242";
    /// The same, of another scheme.
    pub const MASTERCARD: &str = "5555555555554444";
    /// The same, of the scheme whose codes have four digits.
    pub const AMEX: &str = "378282246310005";
    /// The same of every scheme, with its id in the catalogue.
    pub const SCHEMES: [(&str, &str); 6] = [
        ("VISA", VISA),
        ("MC", MASTERCARD),
        ("AMEX", AMEX),
        ("DISC", "6011111111111117"),
        ("JCB", "3530111333300000"),
        ("DINERS", "30569309025904"),
    ];
    /// Declined without a reason.
    pub const DECLINED: &str = "4000000000000002";
    /// Declined for lack of money.
    pub const NO_FUNDS: &str = "4000000000009995";
    /// Declined, and the issuer forbids to try it again.
    pub const STOLEN: &str = "4000000000009979";
    /// Asks for 3-D Secure.
    pub const CHALLENGED: &str = "4000000000003220";
    /// Authorized, and held for review.
    pub const UNDER_REVIEW: &str = "4000000000009235";
    /// Its capture completes seconds later.
    pub const CAPTURE_PENDING: &str = "4000000000002016";
    /// Its capture is refused for good.
    pub const CAPTURE_REFUSED: &str = "4000000000000341";
    /// Its refunds succeed seconds later.
    pub const REFUND_PENDING: &str = "4000000000007726";
    /// Its refunds fail seconds later.
    pub const REFUND_FAILS: &str = "4000000000005126";
    /// Captured, then disputed seconds later.
    pub const DISPUTED: &str = "4000000000000259";
    /// The processor does the work and answers 500.
    pub const DONE_BUT_500: &str = "4000000000000119";
    /// The processor never answers; nothing is done.
    pub const SILENT: &str = "4000000000003014";
    /// Asks for authentication when it is stored.
    pub const ASKS_TO_STORE: &str = "4000002500003155";
    /// Asks for authentication at every payment.
    pub const ASKS_ALWAYS: &str = "4000002760003184";
    /// Asks for authentication when it is stored, and is then short of money.
    pub const SHORT_LATER: &str = "4000008260003178";
    /// Authorized, and the issuer says that the billing address is another.
    pub const OTHER_ADDRESS: &str = "4000000000000036";
    /// Authorized, and the issuer says that the code is wrong.
    pub const WRONG_CODE: &str = "4000000000000101";
    /// Bears the marks of Visa and Cartes Bancaires.
    pub const CO_BADGED: &str = "4000002500001001";
    /// Authorized, and known to be an Australian credit card.
    pub const AUSTRALIAN: &str = "4000000360000006";
    /// Authorized, and known to be a prepaid card of the USA.
    pub const PREPAID: &str = "5105105105105100";
    const SPECIAL: [&str; 20] = [
        DECLINED,
        NO_FUNDS,
        STOLEN,
        CHALLENGED,
        UNDER_REVIEW,
        CAPTURE_PENDING,
        CAPTURE_REFUSED,
        REFUND_PENDING,
        REFUND_FAILS,
        DISPUTED,
        DONE_BUT_500,
        SILENT,
        ASKS_TO_STORE,
        ASKS_ALWAYS,
        SHORT_LATER,
        OTHER_ADDRESS,
        WRONG_CODE,
        CO_BADGED,
        AUSTRALIAN,
        PREPAID,
    ];

    /// All of them, for the search after the suite.
    pub fn all() -> impl Iterator<Item = &'static str> {
        SCHEMES.into_iter().map(|(_, number)| number).chain(SPECIAL)
    }
}

/// A Session that was completed, and its Order as it was shown then.
#[derive(Debug)]
pub struct Paid {
    /// SessionId.
    pub session: String,
    /// From the Order API.
    pub order: Value,
}

/// One deployment and everybody around it.
pub struct World {
    /// {base_url}
    pub base: String,
    /// {asset_url}
    pub asset: String,
    /// {checkout_url}
    pub checkout: String,
    /// {stash_url}
    pub stash: String,
    /// The processor's address.
    pub processor: String,
    /// The merchant.
    pub merchant: Merchant,
    /// The merchant's webhook endpoint and page.
    pub receiver: Receiver,
    /// Which programs run, and how.
    pub programs: topology::Programs,
    /// Everything on disk.
    pub data: PathBuf,
    http: Http,
    all_merchants: RefCell<Vec<Merchant>>,
    database: Option<Database>,
    _folder: TempDir,
}

impl World {
    /// Starts a deployment on free ports and creates a merchant through the command line.
    pub async fn start(topology: Topology) -> Self {
        Self::start_with(topology, &[]).await
    }

    /// The same with these variables in the environment of every program.
    pub async fn start_with(topology: Topology, environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let receiver = Receiver::start();
        let database = match topology {
            Topology::AllInOne => None,
            Topology::Split => Some(Database::create().await),
        };
        let url = database.as_ref().map(|one| one.url.as_str());
        let programs = topology::Programs::start(topology, folder.path(), url, environment).await;
        let created = programs.create_merchant(&receiver.url, &receiver.origin());
        receiver.trust(created["WebhookSecret"].as_str().expect("a secret"));
        let (base, http) = (programs.address("session-api"), Http::default());
        let merchant = Merchant::new(http.clone(), &base, &programs.address("checkout"), &created);
        Self {
            all_merchants: RefCell::new(vec![merchant.clone()]),
            merchant,
            asset: programs.address("checkout-api"),
            checkout: programs.address("checkout"),
            stash: programs.address("stash-api"),
            processor: programs.address("sandbox-processor"),
            base,
            receiver,
            data: folder.path().to_owned(),
            programs,
            http,
            database,
            _folder: folder,
        }
    }

    /// Reconciles both sides, stops everything gracefully and searches what is left behind for card numbers.
    pub async fn finish(self) {
        self.faults(json!({"Mode": "none"})).await;
        self.check_reconciliation().await;
        self.finish_at_another_processor().await;
    }

    /// The same of a deployment that pays at a processor without a journal.
    pub async fn finish_at_another_processor(mut self) {
        self.receiver.assert_nothing_more();
        let mut dump = String::new();
        if let Some(database) = &self.database {
            dump = database.dump();
        }
        self.programs.stop_all().await;
        self.search_for_card_numbers(&dump);
        if let Some(database) = self.database.take() {
            database.remove().await;
        }
    }

    fn search_for_card_numbers(&self, dump: &str) {
        let mut places = vec![("database dump".to_owned(), dump.as_bytes().to_vec())];
        let mut folders = vec![self.data.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = std::fs::read(&path) {
                    places.push((path.display().to_string(), bytes));
                }
            }
        }
        assert!(3 < places.len(), "there must be something to search");
        for number in cards::all() {
            let (plain, spaced) = (number.as_bytes(), number.as_bytes().chunks(4).collect::<Vec<_>>().join(&b' '));
            for (place, bytes) in &places {
                for needle in [plain, &spaced] {
                    let found = memchr::memmem::find(bytes, needle);
                    assert!(found.is_none(), "the number ending in {} stands in {place}", &number[number.len() - 4..]);
                }
            }
        }
    }

    /// Where the database is, as the programs are told.
    pub fn database_url(&self) -> String {
        let file = || format!("sqlite://{}", self.data.join("dropin.db").display());
        self.database.as_ref().map_or_else(file, |database| database.url.clone())
    }

    /// The whole database as text; `None` when it is a file in [`World::data`].
    pub fn dump(&self) -> Option<String> {
        self.database.as_ref().map(Database::dump)
    }

    /// The folder of the database server with its write-ahead log, everything written out, and what the server logs; none when there is no server.
    pub fn database_files(&self) -> Option<PathBuf> {
        self.database.as_ref().map(Database::files)
    }

    /// Ends every connection to the database and lets no new one in.
    pub fn disconnect_database(&self) {
        self.database.as_ref().expect("PostgreSQL").disconnect();
    }

    /// Lets connections in again.
    pub fn reconnect_database(&self) {
        self.database.as_ref().expect("PostgreSQL").reconnect();
    }

    /// A second merchant on the same deployment.
    pub async fn another_merchant(&self) -> Merchant {
        let created = self.programs.create_merchant(&self.receiver.url, &self.receiver.origin());
        let merchant = Merchant::new(self.http.clone(), &self.base, &self.checkout, &created);
        self.all_merchants.borrow_mut().push(merchant.clone());
        merchant
    }

    /// Every merchant of the deployment.
    fn merchants(&self) -> Vec<Merchant> {
        self.all_merchants.borrow().clone()
    }

    /// A shopper of one Session, without a browser.
    pub fn shopper(&self, session: &str) -> Shopper {
        Shopper::new(self.http.clone(), &self.asset, session)
    }

    /// Pays as the drop-in does, without a browser; the Progress after it came to rest.
    pub async fn pay(&self, session: &str, card: &str) -> Value {
        let shopper = self.shopper(session);
        let version = shopper.view().await["Version"].as_i64().expect("a version");
        let attempt = shopper.stash("only-one", card).await;
        let answer = shopper.submit(version, &attempt).await;
        assert_eq!(answer.status, 200, "{}\n{}", answer.text(), self.programs.logged());
        shopper.rest().await
    }

    /// Stashes a card for a checkout of the merchant's own page.
    pub async fn stash(&self, merchant: &Merchant, number: &str) -> Stashed {
        let stash_id = uuid::Uuid::new_v4().to_string();
        let fingerprint = format!("browser {stash_id}");
        let stashed = Stashed { attempt: String::new(), stash_id, fingerprint };
        let answer = shopper::stash_card(&self.http, &self.stash, &merchant.id, &stashed, number, "2031").await;
        assert_eq!((answer.status, &answer.json()["Warnings"]), (200, &json!([])), "{}", answer.text());
        stashed
    }

    /// A Session of 29.90 USD that was paid with this card and waits for its capture.
    pub async fn authorized(&self, card: &str) -> Paid {
        let paid = self.paid(card, json!({"AutoCapture": false})).await;
        assert_eq!(paid.order["State"], "PAYMENT_AUTHORIZED", "{}", paid.order);
        paid
    }

    /// A Session, changed like this, that was paid with this card.
    pub async fn paid(&self, card: &str, change: Value) -> Paid {
        let session = self.merchant.create_session(change).await;
        let progress = self.pay(&session, card).await;
        assert_eq!(progress["State"], "COMPLETED", "{progress}");
        Paid { order: self.merchant.order_of(&session).await, session }
    }

    /// Sets a fault switch of the sandbox processor.
    pub async fn faults(&self, switch: Value) {
        self.ask_processor(Method::PUT, "/v1/faults", switch.to_string().into_bytes()).await;
    }

    /// Waits until every call that [`Self::faults`] was to spoil has reached the sandbox processor.
    pub async fn faults_are_used_up(&self) {
        until("the sandbox processor has every call that was to go wrong", Duration::from_secs(20), async || {
            let switch = self.ask_processor(Method::GET, "/v1/faults", Vec::new()).await.json();
            (switch["Mode"] == "none").then_some(())
        })
        .await;
    }

    /// What a browser scenario needs to open the merchant's page for a Session.
    pub fn page_for(&self, session: &str, number: &str) -> Value {
        json!({ "page": self.receiver.page(&self.asset), "session": session, "number": number })
    }
}
