//! The wallet's use cases over a real store, with a provider that counts who calls it.

mod hostile;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::databases;
use async_trait::async_trait;
use dropin_access::{DomainState, Merchant, Origin, WalletDomain, WalletHost, WalletHosts};
use dropin_catalogue::{Ask, Catalogue, MerchantMethods, SalesChannel};
use dropin_kernel::{MerchantId, Timestamp, Violation, ViolationCode};
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_ports::{
    AccessStore, Clock, MetricSource, WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest,
    WalletStore,
};
use dropin_store::Store;
use dropin_usecases::wallet::{
    SetWallet, WalletCertificates, WalletOffers, WalletSessionAsk, WalletSessionError, WalletSessions, WalletSetup,
    WalletSetupError,
};
use serde_json::json;

const DAY: i64 = 86_400_000_000;
const NOW: i64 = 20_000 * DAY;
const PAGE: &str = "https://shop.example";
const ASSETS: &str = "https://assets.example";
const GOOD: &str = "https://apple-pay-gateway.apple.com/paymentservices/startSession";

/// Ids that nobody had before.
struct FreshIds;

impl dropin_ports::IdSource for FreshIds {
    fn random(&self) -> uuid::Uuid {
        dropin_store_contract::fresh()
    }

    fn ordered(&self) -> uuid::Uuid {
        dropin_store_contract::fresh()
    }

    fn secret(&self) -> [u8; 32] {
        [7; 32]
    }
}

struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Answers a session for the domain it was asked for, unless the test says otherwise; its certificates end thirty-one days after [`NOW`].
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<(WalletSessionRequest, String)>>,
    answer: Mutex<Option<Result<Vec<u8>, WalletFailure>>>,
    file: Mutex<Option<Result<Vec<u8>, String>>>,
    looked: Mutex<Vec<String>>,
}

#[async_trait]
impl WalletProvider for Fake {
    fn inspect(&self, credentials: &WalletCredentials) -> Result<Timestamp, WalletFailure> {
        match credentials.certificate.as_str() {
            "ended" => Ok(Timestamp::from_micros(NOW - 1)),
            "bad" => Err(WalletFailure::Credentials("is none".to_owned())),
            _ => Ok(Timestamp::from_micros(NOW + 31 * DAY)),
        }
    }

    async fn start_session(
        &self,
        credentials: WalletCredentials,
        request: WalletSessionRequest,
    ) -> Result<Vec<u8>, WalletFailure> {
        let session = session(&request.domain);
        self.asked.lock().unwrap().push((request, format!("{} {}", credentials.certificate, *credentials.key)));
        self.answer.lock().unwrap().clone().unwrap_or(Ok(session))
    }

    async fn fetch_association(&self, domain: &WalletDomain) -> Result<Vec<u8>, String> {
        self.looked.lock().unwrap().push(domain.as_str().to_owned());
        self.file.lock().unwrap().clone().unwrap_or_else(|| Err("nobody is there".to_owned()))
    }
}

fn session(domain: &str) -> Vec<u8> {
    json!({"epochTimestamp": 1, "expiresAt": 2, "merchantSessionIdentifier": "s", "nonce": "n", "merchantIdentifier": "m",
        "domainName": domain, "displayName": "d", "signature": "x", "pspId": "more"})
    .to_string()
    .into_bytes()
}

struct World {
    store: Arc<Store>,
    provider: Arc<Fake>,
    clock: Arc<TestClock>,
    sessions: WalletSessions,
    setup: WalletSetup,
    ana: Merchant,
    bob: Merchant,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(databases::create(folder.path()));
        let secrets = Arc::new(MasterKey::open_or_create(&folder.path().join("keys")).unwrap());
        let (provider, clock) = (Arc::new(Fake::default()), Arc::new(TestClock(AtomicI64::new(NOW))));
        let mut merchants = Vec::new();
        for origin in [PAGE, "https://books.example"] {
            let mut new = dropin_store_contract::new_merchant(false);
            let origins = vec![Origin::parse(origin).unwrap()];
            new.merchant = new.merchant.edited(|parts| parts.origins = origins).unwrap();
            store.insert_merchant(new.clone()).await.unwrap();
            merchants.push(new.merchant);
        }
        let hosts = WalletHost::PUBLISHED.map(|name| WalletHost::parse(name).unwrap()).to_vec();
        let sessions = WalletSessions {
            store: store.clone(),
            access: store.clone(),
            secrets: secrets.clone(),
            provider: provider.clone(),
            clock: clock.clone(),
            hosts: WalletHosts::new(hosts),
            asset_origin: Origin::parse(ASSETS).unwrap(),
            sandbox: false,
        };
        let setup = WalletSetup {
            store: store.clone(),
            secrets,
            provider: provider.clone(),
            clock: clock.clone(),
            ids: Arc::new(FreshIds),
            by: dropin_ports::Acting::system(),
            sandbox: false,
        };
        let (bob, ana) = (merchants.pop().unwrap(), merchants.pop().unwrap());
        Self { store, provider, clock, sessions, setup, ana, bob, _folder: folder }
    }

    /// A world in which Ana's wallet works.
    async fn ready() -> Self {
        let world = Self::new().await;
        world.setup.set(world.ana.id, wanted()).await.unwrap();
        world.verify("shop.example").await;
        world
    }

    async fn verify(&self, domain: &str) {
        *self.provider.file.lock().unwrap() = Some(Ok(b"the file\n".to_vec()));
        self.setup.add_domain(self.ana.id, domain, "the file").await.unwrap();
        assert_eq!(self.setup.check_domain(self.ana.id, domain).await.unwrap().state(), DomainState::Verified);
    }

    async fn start(&self, origin: Option<&str>, ask: &WalletSessionAsk) -> Result<Vec<u8>, WalletSessionError> {
        self.sessions.start(&self.ana, origin, ask).await
    }

    fn calls(&self) -> usize {
        self.provider.asked.lock().unwrap().len()
    }
}

fn wanted() -> SetWallet {
    let credentials = WalletCredentials { certificate: "certificate".to_owned(), key: "key".to_owned().into() };
    SetWallet { identifier: "merchant.example.shop".to_owned(), country: "NL".to_owned(), credentials }
}

fn ask(url: &str) -> WalletSessionAsk {
    let (validation_url, display_name) = (vec![url.to_owned()], vec!["Ana".to_owned()]);
    WalletSessionAsk { validation_url, display_name, ..WalletSessionAsk::default() }
}

fn fields(error: WalletSessionError) -> Vec<(String, &'static str)> {
    match error {
        WalletSessionError::Invalid(all) => all.into_iter().map(|one| (one.field, one.code.as_str())).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_page_gets_the_providers_answer_byte_for_byte() {
    let world = World::ready().await;
    assert_eq!(world.start(Some(PAGE), &ask(GOOD)).await, Ok(session("shop.example")));
    let asked = world.provider.asked.lock().unwrap().clone();
    let [(request, shown)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(request.host, WalletHost { name: "apple-pay-gateway.apple.com".to_owned(), at: None });
    assert_eq!((request.domain.as_str(), request.display_name.as_str()), ("shop.example", "Ana"));
    assert_eq!((request.identifier.as_str(), shown.as_str()), ("merchant.example.shop", "certificate key"));
}

#[tokio::test]
async fn the_frame_names_the_page_that_embeds_it() {
    let world = World::ready().await;
    let named = |name: &str| WalletSessionAsk { domain_name: vec![name.to_owned()], ..ask(GOOD) };
    for origin in [None, Some(ASSETS)] {
        assert_eq!(world.start(origin, &named("shop.example")).await, Ok(session("shop.example")));
        let wrong = world.start(origin, &named("https://shop.example")).await.unwrap_err();
        assert_eq!(fields(wrong), [("domainName".to_owned(), "FIELD_INVALID")]);
        assert_eq!(world.start(origin, &named("other.example")).await, Err(WalletSessionError::Domain));
    }
    // A page cannot name another than itself.
    world.verify("other.example").await;
    for origin in [None, Some(ASSETS)] {
        let missing = world.start(origin, &ask(GOOD)).await.unwrap_err();
        assert_eq!(fields(missing), [("domainName".to_owned(), "FIELD_MISSING")], "there are two now");
    }
    world.start(Some(PAGE), &named("other.example")).await.unwrap();
    assert_eq!(world.provider.asked.lock().unwrap().last().unwrap().0.domain, "shop.example");
}

#[tokio::test]
async fn the_contracts_two_parameters_are_enough_where_one_domain_is_verified() {
    let world = World::ready().await;
    for domain_name in [vec![], vec![String::new()]] {
        let ask = WalletSessionAsk { domain_name, ..ask(GOOD) };
        assert_eq!(world.start(None, &ask).await, Ok(session("shop.example")));
        assert_eq!(world.start(Some(ASSETS), &ask).await, Ok(session("shop.example")));
    }
}

#[tokio::test]
async fn no_spelling_but_the_published_one_makes_us_call() {
    let world = World::ready().await;
    let mut all: Vec<_> = hostile::HOSTILE.iter().map(|one| (*one).to_owned()).collect();
    all.extend(hostile::long());
    assert!(120 <= all.len(), "{}", all.len());
    for url in all {
        let refused = world.start(Some(PAGE), &ask(&url)).await.unwrap_err();
        assert_eq!(fields(refused), [("validationURL".to_owned(), "VALUE_NOT_ALLOWED")], "{url:?}");
    }
    let twice = WalletSessionAsk { validation_url: vec![GOOD.to_owned(); 2], ..ask(GOOD) };
    assert_eq!(
        fields(world.start(Some(PAGE), &twice).await.unwrap_err()),
        [("validationURL".to_owned(), "FIELD_INVALID")]
    );
    assert_eq!(world.calls(), 0);
    world.start(Some(PAGE), &ask(GOOD)).await.unwrap();
    assert_eq!(world.calls(), 1, "the right one does");
}

#[tokio::test]
async fn everything_else_that_is_wrong_is_told_at_once() {
    let world = World::ready().await;
    let nothing = world.start(None, &WalletSessionAsk::default()).await.unwrap_err();
    let expected = ["displayName", "validationURL"].map(|field| (field.to_owned(), "FIELD_MISSING"));
    assert_eq!(fields(nothing), expected);
    for (name, code) in [
        ("", "FIELD_MISSING"),
        ("a\u{fffd}", "FIELD_INVALID"),
        (&"x".repeat(65), "VALUE_TOO_LONG"),
        ("a\nb", "FIELD_INVALID"),
        ("a\u{202e}b", "FIELD_INVALID"),
        ("a\u{200b}b", "FIELD_INVALID"),
    ] {
        let wrong = WalletSessionAsk { display_name: vec![name.to_owned()], ..ask(GOOD) };
        let refused = world.start(Some(PAGE), &wrong).await.unwrap_err();
        assert_eq!(fields(refused), [("displayName".to_owned(), code)], "{name:?}");
    }
    assert_eq!(world.calls(), 0);
}

#[tokio::test]
async fn only_registered_and_verified_domains_show_the_button() {
    let world = World::ready().await;
    for stranger in ["https://evil.example", "https://books.example", "null", "https://shop.example.evil.example"] {
        assert_eq!(world.start(Some(stranger), &ask(GOOD)).await, Err(WalletSessionError::Origin), "{stranger}");
    }
    let of_bob = world.sessions.start(&world.bob, Some("https://books.example"), &ask(GOOD)).await;
    assert_eq!(of_bob, Err(WalletSessionError::Domain));
    world.setup.add_domain(world.bob.id, "books.example", "of Bob").await.unwrap();
    for _ in 0..2 {
        let unverified = world.sessions.start(&world.bob, Some("https://books.example"), &ask(GOOD)).await;
        assert_eq!(unverified, Err(WalletSessionError::Domain));
        let checked = world.setup.check_domain(world.bob.id, "books.example").await.unwrap();
        assert_eq!(checked.state(), DomainState::Failed, "Ana's file is found there");
    }
    *world.provider.file.lock().unwrap() = Some(Ok(b"of Bob".to_vec()));
    world.setup.check_domain(world.bob.id, "books.example").await.unwrap();
    let no_certificate = world.sessions.start(&world.bob, Some("https://books.example"), &ask(GOOD)).await;
    assert_eq!(no_certificate, Err(WalletSessionError::NoWallet));
    // Another file puts Ana's domain back to where it began.
    world.setup.add_domain(world.ana.id, "shop.example", "another").await.unwrap();
    assert_eq!(world.start(Some(PAGE), &ask(GOOD)).await, Err(WalletSessionError::Domain));
    assert_eq!(world.calls(), 0);
    let nobody = world.sessions.merchant(MerchantId::new(dropin_store_contract::fresh())).await;
    assert_eq!(nobody, Err(WalletSessionError::MerchantNotFound));
}

#[tokio::test]
async fn what_the_provider_says_wrong_is_not_passed_on() {
    let world = World::ready().await;
    let why = "its host leads into a private, local or reserved network";
    let not_public = Violation::new("validationURL", ViolationCode::NotAllowed, why);
    for (answer, refused) in [
        (Err(WalletFailure::Busy), WalletSessionError::Busy),
        (Err(WalletFailure::HostNotPublic), WalletSessionError::Invalid(vec![not_public])),
        (Err(WalletFailure::Provider("no".to_owned())), WalletSessionError::Provider("no".to_owned())),
    ] {
        *world.provider.answer.lock().unwrap() = Some(answer);
        assert_eq!(world.start(Some(PAGE), &ask(GOOD)).await, Err(refused));
    }
    for answer in [b"<html>".to_vec(), b"{}".to_vec(), session("evil.example"), vec![0xff]] {
        *world.provider.answer.lock().unwrap() = Some(Ok(answer));
        let refused = world.start(Some(PAGE), &ask(GOOD)).await;
        assert!(matches!(refused, Err(WalletSessionError::Provider(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_ended_ends_the_button() {
    let world = World::ready().await;
    let offers = WalletOffers::new(world.store.clone(), world.clock.clone(), "https://pay.example/".to_owned());
    let (catalogue, currencies) = (Catalogue::of_sandbox(), [Currency::Eur]);
    let all = catalogue.offers(&Ask {
        country: None,
        currencies: &currencies,
        amount: None,
        merchant: &MerchantMethods::default(),
        sandbox: true,
        recurring: false,
        capture_later: false,
        channel: SalesChannel::DropIn,
    });
    let entries = offers.of(&world.ana, &all).await.unwrap();
    let entry = serde_json::to_value(&entries[0]).unwrap();
    let parameters = &entry["Parameters"];
    assert_eq!(parameters["SupportedNetworks"], json!(["visa", "masterCard", "amex", "discover", "jcb"]));
    let url = format!("https://pay.example/v1/wallet/{}/session", world.ana.id);
    assert_eq!(parameters["PaymentSessionUrl"], json!(url));
    assert_eq!(offers.of(&world.bob, &all).await, Ok(vec![]));
    let [wallet, cards]: [Vec<_>; 2] =
        [true, false].map(|token| all.iter().filter(|one| one.is_token() == token).cloned().collect());
    assert_eq!(offers.of(&world.ana, &cards).await, Ok(vec![]), "without Apple Pay");
    assert_eq!(offers.of(&world.ana, &wallet).await, Ok(vec![]), "without a card");
    let watched = WalletCertificates { store: world.store.clone(), clock: world.clock.clone() };
    let left = async || {
        let told = watched.collect_metrics().await.unwrap();
        let [reading] = told[0].samples() else { panic!("{told:?}") };
        assert_eq!(reading.labels, [("merchant", world.ana.id.to_string().into())]);
        reading.value
    };
    assert_eq!((left().await, watched.warn().await), (31 * 86_400, Ok(0)));
    world.clock.0.fetch_add(DAY, Ordering::SeqCst);
    assert_eq!((left().await, watched.warn().await), (30 * 86_400, Ok(1)));
    world.clock.0.fetch_add(30 * DAY, Ordering::SeqCst);
    assert_eq!((left().await, watched.warn().await), (0, Ok(1)));
    assert_eq!(offers.of(&world.ana, &all).await, Ok(vec![]));
    assert_eq!(world.start(Some(PAGE), &ask(GOOD)).await, Err(WalletSessionError::NoWallet));
    assert_eq!(world.calls(), 0);
}

#[tokio::test]
async fn a_wallet_is_set_up_in_steps_that_say_what_is_missing() {
    let world = World::new().await;
    let invalid = |error: WalletSetupError| match error {
        WalletSetupError::Invalid(all) => all.into_iter().map(|one| one.field).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    for certificate in ["ended", "bad"] {
        let credentials = WalletCredentials { certificate: certificate.to_owned(), ..wanted().credentials };
        let wrong = SetWallet { identifier: "a b".to_owned(), country: "nl".to_owned(), credentials };
        let refused = world.setup.set(world.ana.id, wrong).await.unwrap_err();
        assert_eq!(invalid(refused), ["Certificate", "Country", "MerchantIdentifier"]);
    }
    let nobody = MerchantId::new(dropin_store_contract::fresh());
    assert!(matches!(world.setup.set(nobody, wanted()).await, Err(WalletSetupError::NoMerchant)));
    assert_eq!(world.setup.remove(world.ana.id).await, Err(WalletSetupError::NoWallet));
    let set = world.setup.set(world.ana.id, wanted()).await.unwrap();
    assert_eq!(world.setup.identity(world.ana.id).await, Ok(set.clone()));
    let stored = world.store.find_wallet(world.ana.id).await.unwrap().unwrap();
    assert!(!stored.sealed.0.windows(3).any(|bytes| bytes == b"key"), "the key is stored in the clear");
    let refused = world.setup.add_domain(world.ana.id, "10.0.0.1", "").await.unwrap_err();
    assert_eq!(invalid(refused), ["Domain", "File"]);
    let local = world.setup.add_domain(world.ana.id, "localhost:8081", "f").await.unwrap_err();
    assert_eq!(invalid(local), ["Domain"], "not in production");
    assert!(matches!(world.setup.add_domain(nobody, "shop.example", "f").await, Err(WalletSetupError::NoMerchant)));
    assert_eq!(world.setup.check_domain(world.ana.id, "shop.example").await, Err(WalletSetupError::NoDomain));
    world.setup.add_domain(world.ana.id, "Shop.example", "f").await.unwrap();
    let checked = world.setup.check_domain(world.ana.id, "shop.example").await.unwrap();
    assert_eq!(checked.check.unwrap().failure.as_deref(), Some("nobody is there"));
    assert_eq!(*world.provider.looked.lock().unwrap(), ["shop.example"]);
    assert_eq!(world.setup.domains(world.ana.id).await.unwrap().len(), 1);
    assert_eq!(world.setup.domains(world.bob.id).await, Ok(vec![]));
    world.setup.remove(world.ana.id).await.unwrap();
    assert_eq!(world.setup.identity(world.ana.id).await, Err(WalletSetupError::NoWallet));
}
