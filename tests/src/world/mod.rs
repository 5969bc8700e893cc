//! A whole deployment with its own data, processor, merchant and receiver, for one test.

mod audit;
pub mod books;
mod merchant;
mod postgres;
mod program;
mod shopper;
mod topology;

use std::cell::RefCell;
use std::path::PathBuf;

use actix_web::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use merchant::Merchant;
pub use program::Program;
pub use shopper::{Shopper, Stashed};
pub use topology::{Demo, Topology, check_example};

use crate::http::Http;
use crate::receiver::Receiver;
use postgres::Database;

/// The published test numbers (decisions.md section 10).
pub mod cards {
    /// Authorized; captured at once.
    pub const VISA: &str = "4242424242424242";
    /// The same, of another scheme.
    pub const MASTERCARD: &str = "5555555555554444";
    /// Declined without a reason.
    pub const DECLINED: &str = "4000000000000002";
    /// Declined for lack of money.
    pub const NO_FUNDS: &str = "4000000000009995";
    /// Its capture completes seconds later.
    pub const CAPTURE_PENDING: &str = "4000000000002016";
    /// Its capture is refused for good.
    pub const CAPTURE_REFUSED: &str = "4000000000000341";
    /// The processor does the work and answers 500.
    pub const DONE_BUT_500: &str = "4000000000000119";
    /// The processor never answers; nothing is done.
    pub const SILENT: &str = "4000000000003014";
    /// All of them, for the search after the suite.
    pub const ALL: [&str; 8] =
        [VISA, MASTERCARD, DECLINED, NO_FUNDS, CAPTURE_PENDING, CAPTURE_REFUSED, DONE_BUT_500, SILENT];
}

/// One deployment and everybody around it.
pub struct World {
    /// {base_url}
    pub base: String,
    /// {asset_url}
    pub asset: String,
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
        let merchant = Merchant::new(http.clone(), &base, &created);
        Self {
            all_merchants: RefCell::new(vec![merchant.clone()]),
            merchant,
            asset: programs.address("checkout-api"),
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

    /// Compares the books, stops everything gracefully and searches what is left behind for card numbers.
    pub async fn finish(mut self) {
        self.faults(json!({"Mode": "none"})).await;
        self.check_books().await;
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
        for number in cards::ALL {
            let (plain, spaced) = (number.as_bytes(), number.as_bytes().chunks(4).collect::<Vec<_>>().join(&b' '));
            for (place, bytes) in &places {
                for needle in [plain, &spaced] {
                    let found = bytes.windows(needle.len()).any(|window| window == needle);
                    assert!(!found, "the number ending in {} stands in {place}", &number[12..]);
                }
            }
        }
    }

    /// Ends every connection to the database and lets no new one in.
    pub fn cut_the_database(&self) {
        self.database.as_ref().expect("PostgreSQL").cut();
    }

    /// Lets connections in again.
    pub fn mend_the_database(&self) {
        self.database.as_ref().expect("PostgreSQL").mend();
    }

    /// A second merchant on the same deployment.
    pub async fn another_merchant(&self) -> Merchant {
        let created = self.programs.create_merchant(&self.receiver.url, &self.receiver.origin());
        let merchant = Merchant::new(self.http.clone(), &self.base, &created);
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

    /// Sets a fault switch of the sandbox processor.
    pub async fn faults(&self, switch: Value) {
        self.ask_processor(Method::PUT, "/v1/faults", switch.to_string().into_bytes()).await;
    }

    /// What a browser scenario needs to open the merchant's page for a Session.
    pub fn page_for(&self, session: &str, number: &str) -> Value {
        json!({ "page": self.receiver.page(&self.asset), "session": session, "number": number })
    }
}
