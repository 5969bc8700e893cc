//! A returning shopper pays with a saved card (docs/SPECIFICATION.md#saved-card-payment): what the processor is given, and what becomes of the card.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dropin_card::{Card, Scheme, StashedData};
use dropin_contract::{CardSummary, Contract, ContractStateKind, StoredCredentialUse};
use dropin_kernel::{AttemptId, ContractId, MerchantId, SessionId};
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{
    AccessStore, ContractName, ContractStore, CredentialApproval, CredentialVault, IssuerChecks, KeyringError,
    MerchantSettings, ProcessorReply, SealedCredential, SessionStore, StoredCredential, StoredResponse,
};
use dropin_session::{BillingChoice, Session, SessionStateKind, SessionTermsParts};
use dropin_store_contract::{audited, fresh, insertable_with};
use dropin_usecases::idempotency::Reply;
use dropin_usecases::payments::{Shopper, Submit, SubmitError, Submitted};
use dropin_usecases::sessions::{CreateSessionError, Sessions};
use dropin_validation::{BillingProfile, UrlPolicy};
use dropin_wire::RequestError;
use dropin_wire::checkout::ConsentRequest;
use dropin_wire::shopper::SubmitMeans;

use super::script::PaidByCredential;
use super::world::{World, usd};

const CUSTOMER: &str = "customer-1";

/// A ring of keys that can be away.
#[derive(Default)]
struct Ring {
    is_away: AtomicBool,
}

impl Ring {
    fn there(&self) -> Result<(), KeyringError> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Err(KeyringError::Unavailable("the folder is not mounted".to_owned())),
            false => Ok(()),
        }
    }
}

impl CredentialVault for Ring {
    fn seal(&self, _: MerchantId, _: ContractId, one: &StoredCredential) -> Result<SealedCredential, KeyringError> {
        self.there()?;
        Ok(SealedCredential { key_id: "plain".to_owned(), bytes: one.expose().as_bytes().to_vec() })
    }

    fn open(&self, _: MerchantId, _: ContractId, sealed: &SealedCredential) -> Result<StoredCredential, KeyringError> {
        self.there()?;
        Ok(std::str::from_utf8(&sealed.bytes).unwrap().parse().unwrap())
    }

    fn current_key_id(&self) -> Result<String, KeyringError> {
        self.there().map(|()| "plain".to_owned())
    }

    fn check(&self) -> Result<(), KeyringError> {
        self.there()
    }
}

/// A shop whose customer has saved a card, and comes back.
struct Shop {
    world: World,
    shopper: Shopper,
    ring: Arc<Ring>,
    profile: BillingProfile,
    contract: ContractId,
}

impl Shop {
    async fn new() -> Self {
        Self::with(|terms| terms.allow_contract = Some(true)).await
    }

    async fn with(agree: impl FnOnce(&mut SessionTermsParts)) -> Self {
        let (world, ring) = (World::new().await, Arc::new(Ring::default()));
        let settings = MerchantSettings { saved_cards_offered: Some(true), ..MerchantSettings::default() };
        world.store.set_merchant(world.caller.merchant.id, settings, audited()).await.unwrap();
        let mut shopper = world.shopper.clone();
        shopper.payments.credentials = Some(ring.clone());
        let new = insertable_with(world.caller.merchant.id, |terms| {
            agree(terms);
            terms.billing.details.reference = Some(CUSTOMER.parse().unwrap());
        });
        let (session, profile) = (new.session.id, new.session.terms.billing.clone());
        world.store.insert_session(new).await.unwrap();
        let card = CardSummary {
            scheme: Scheme::Visa,
            last_four: "4242".parse().unwrap(),
            expiry: "2031-12".parse().unwrap(),
        };
        let credential = CredentialApproval {
            stored: Some("pm_7".parse().unwrap()),
            card: Some(card),
            network_transaction_id: "483297487231504".parse().ok(),
        };
        let approved = ProcessorReply::Approved {
            amount: Some(usd(2_990)),
            captured: false,
            under_review: false,
            credential: Some(Box::new(credential)),
            checks: IssuerChecks::default(),
        };
        world.script.say(OpKind::Authorize, approved);
        let stash_id = world.stash(StashedData::Card(Card::new("Ana", "4242424242424242", "123", "2099", "12"))).await;
        let submit = Submit {
            version: world.stored(session).await.revision,
            attempt: AttemptId::new(fresh()),
            means: SubmitMeans::Stash { stash_id, scheme: None },
            fingerprint: "browser".to_owned(),
            consent: Some(ConsentRequest {
                text_version: "2026-11".parse().unwrap(),
                locale: "de_AT".parse().unwrap(),
            }),
            postcode: None,
        };
        shopper.submit(session, submit).await.unwrap();
        let order = world.stored(session).await.state.order().unwrap();
        let contract = world.order(order).await.contract_id.unwrap();
        Self { world, shopper, ring, profile, contract }
    }

    /// The customer is back.
    async fn session(&self) -> SessionId {
        let new = insertable_with(self.world.caller.merchant.id, |terms| {
            terms.billing = self.profile.clone();
            terms.billing_choice = BillingChoice::ByReference(CUSTOMER.parse().unwrap());
        });
        let id = new.session.id;
        self.world.store.insert_session(new).await.unwrap();
        id
    }

    async fn pay(&self, session: SessionId) -> Result<Submitted, SubmitError> {
        let code = StashedData::Card(Card::new("", "", "123", "", ""));
        let means = SubmitMeans::SavedCard { contract: self.contract, stash_id: self.world.stash(code).await };
        let (version, attempt) = (self.world.stored(session).await.revision, AttemptId::new(fresh()));
        let submit =
            Submit { version, attempt, means, fingerprint: "browser".to_owned(), consent: None, postcode: None };
        self.shopper.submit(session, submit).await
    }

    async fn contract(&self) -> Contract {
        let name = ContractName::Id(self.contract);
        self.world.store.find_contract(self.world.caller.merchant.id, &name).await.unwrap().unwrap()
    }

    async fn listed(&self, session: SessionId) -> usize {
        self.shopper.view(session).await.unwrap().saved_cards.len()
    }

    fn declines(&self, reason: DeclineReason) {
        let reply = ProcessorReply::Declined { reason, retryable: false, credential: None };
        self.world.script.say(OpKind::Authorize, reply);
    }
}

/// A Session request of the merchant's server that names the contract and a billing profile; the fields that are wrong.
async fn wrong_fields(shop: &Shop, billing: &str) -> Vec<(String, String)> {
    let contracts = Arc::new(shop.world.store.clone());
    let (clock, ids) = (shop.world.payments.clock.clone(), shop.world.payments.ids.clone());
    let sessions = Sessions { store: contracts.clone(), contracts, clock, ids, url_policy: UrlPolicy::Sandbox };
    let body = format!(
        r#"{{"MerchantReference": "{}", "CompleteUrl": "https://shop.example/paid", "CancelUrl": "https://shop.example/cart",
            "AutoCapture": true, "Currency": "USD", "Items": [{{"Name": "Blue mug", "Amount": 29.9, "Quantity": 1}}], "ContractId": "{}", {billing}}}"#,
        fresh(),
        shop.contract
    );
    let nothing = |_: &Session| StoredResponse { status: 200, etag: None, body: Vec::new() };
    let created = sessions.create(&shop.world.caller, body.as_bytes(), Reply { render: nothing, key_use: None }).await;
    match created {
        Ok(_) => Vec::new(),
        Err(CreateSessionError::Request(RequestError::Fields(wrong))) => {
            wrong.iter().map(|one| (one.field.as_str().to_owned(), one.code.as_str().to_owned())).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_contract_brings_its_own_customer_back() {
    let shop = Shop::with(|terms| terms.open_contract = Some(true)).await;
    assert_eq!(wrong_fields(&shop, &format!("\"BillingProfileReference\": \"{CUSTOMER}\"")).await, []);
    let supplied = |reference: &str| {
        format!(
            r#""BillingProfile": {{"Name": "Ana", "Email": "ana@shop.example", {reference}
                "Address": {{"Street": "Example Street 1", "City": "Berlin", "Country": "DE", "Postcode": "10115"}}}}"#
        )
    };
    assert_eq!(wrong_fields(&shop, &supplied("")).await, [], "a profile without a reference is nobody else's");
    let other = supplied("\"BillingProfileReference\": \"customer-2\",");
    let conflict = |field: &str| (field.to_owned(), "CONFLICT".to_owned());
    let expected = [conflict("BillingProfile.BillingProfileReference"), conflict("ContractId")];
    assert_eq!(wrong_fields(&shop, &other).await, expected);
}

#[track_caller]
fn is_not_offered(answer: Result<Submitted, SubmitError>) {
    let Err(SubmitError::SavedCard(violation)) = answer else { panic!("{answer:?}") };
    assert_eq!((violation.field.as_str(), violation.code.as_str()), ("ContractId", "NOT_FOUND"));
}

#[tokio::test]
async fn the_processor_is_given_the_card_its_mark_and_the_code() {
    let shop = Shop::new().await;
    let session = shop.session().await;
    shop.pay(session).await.unwrap();
    let paid = shop.world.script.paid_by_credential();
    let expected = PaidByCredential {
        credential: "pm_7".to_owned(),
        credential_use: StoredCredentialUse::OneClick,
        linked: Some("483297487231504".to_owned()),
        code: Some("123".to_owned()),
    };
    assert_eq!(paid, [expected]);
    assert_eq!(shop.world.stored(session).await.state.kind(), SessionStateKind::Completed);
    assert_eq!(shop.world.store.list_charge_tries(shop.contract, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn while_the_keys_are_away_nothing_is_written_and_no_code_is_used_up() {
    let shop = Shop::new().await;
    let session = shop.session().await;
    let (before, of_contract) = (shop.world.stored(session).await, shop.contract().await);
    shop.ring.is_away.store(true, Ordering::SeqCst);
    let refused = shop.pay(session).await;
    assert!(matches!(refused, Err(SubmitError::Keyring(_))), "{refused:?}");
    assert_eq!((shop.world.stored(session).await, shop.contract().await), (before, of_contract));
    assert_eq!(shop.world.script.paid_by_credential(), []);
    shop.ring.is_away.store(false, Ordering::SeqCst);
    shop.pay(session).await.unwrap();
}

#[tokio::test]
async fn a_mistyped_code_is_not_held_against_the_card() {
    let shop = Shop::new().await;
    let session = shop.session().await;
    shop.declines(DeclineReason::InvalidCard);
    shop.pay(session).await.unwrap();
    assert_eq!(shop.contract().await.state.kind(), ContractStateKind::Active);
    assert_eq!(shop.listed(session).await, 1);
    shop.pay(session).await.unwrap();
    assert_eq!(shop.world.stored(session).await.state.kind(), SessionStateKind::Completed);
}

#[tokio::test]
async fn a_card_that_is_declined_for_good_is_offered_no_more() {
    let shop = Shop::new().await;
    let session = shop.session().await;
    shop.declines(DeclineReason::DoNotTryAgain);
    shop.pay(session).await.unwrap();
    assert_eq!(shop.contract().await.state.kind(), ContractStateKind::Suspended);
    assert_eq!(shop.listed(session).await, 0);
    is_not_offered(shop.pay(session).await);
    assert_eq!(shop.world.stored(session).await.attempts.failed(), 1);
}
