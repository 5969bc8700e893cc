//! Disputes and events of an account that a merchant has of its own, at a stand-in of ours for Stripe: localstripe has neither.

use std::time::Duration;

use dropin_boot::SystemClock;
use dropin_order::Account;
use dropin_ports::{AuditStore, Clock, DisputeStore};
use dropin_processor_stripe::API_VERSION;
use dropin_tests::{Paid, Topology, World, until};
use serde_json::{Value, json};

use crate::disputes::{disputed, form, hand_in, path, then};
use crate::processors::Deployment;
use crate::stripe::stand_in::KEY;
use crate::stripe::{KeyFile, send_event};

/// What events of merchants' own accounts are signed with.
const SECRET_OF_ANA: &str = "whsec_of_ana";
const SECRET_OF_BO: &str = "whsec_of_bo";
const KEY_OF_ANA: &str = "sk_test_own_ana_1";
const KEY_OF_BO: &str = "sk_test_own_bo_1";

/// The merchant's account is `acquirer.ana`; `acquirer.bo` is another one, that no rule names.
async fn start(topology: Topology) -> Deployment {
    let deployment = Deployment::start(topology).await;
    let world = &deployment.world;
    for (name, key, secret) in [("acquirer.ana", KEY_OF_ANA, SECRET_OF_ANA), ("acquirer.bo", KEY_OF_BO, SECRET_OF_BO)] {
        let (key, events) = (KeyFile::new(key), KeyFile::new(secret));
        let (key, events) = (key.path.display().to_string(), events.path.display().to_string());
        let line = ["merchant", "credentials", "set", &world.merchant.id, name, "--key-file", &key, "--events-file"];
        let file = ["--processors", deployment.file.as_str()];
        world.programs.run_dropin(&[&file[..], &line, &[events.as_str()]].concat());
    }
    deployment.route(&["acquirer.ana"], false).await;
    deployment
}

impl Deployment {
    /// Asks the stand-in as the holder of a key does.
    async fn ask(&self, method: &str, path: &str, key: &str) -> Value {
        let request = awc::Client::default().request(method.parse().unwrap(), format!("{}/v1/{path}", self.stripe));
        let request = request.bearer_auth(key).insert_header(("Stripe-Version", API_VERSION));
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn listed(&self, key: &str) -> Vec<Value> {
        self.ask("GET", "disputes?limit=100", key).await["data"].as_array().unwrap().clone()
    }
}

/// What the ledger has in the accounts of disputes, in cents.
async fn ledger(world: &World, paid: &Paid) -> [i64; 2] {
    let order = paid.order["OrderId"].as_str().unwrap().parse().unwrap();
    let trail = crate::open_store(world).find_audit_trail(order).await.unwrap().unwrap();
    [Account::Disputed, Account::ChargedBack].map(|account| {
        let found = trail.records.balances.iter().filter(|balance| balance.account == account);
        found.map(|balance| balance.minor).sum()
    })
}

/// How the merchant's own API shows the only dispute of an Order.
async fn shown(world: &World, paid: &Paid) -> Value {
    world.merchant.about("GET", &paid.order, "/dispute", None).await.json()["Disputes"][0].clone()
}

/// A dispute at a merchant's own account is the merchant's: seen there and at no other account, shown, told, accepted or answered with evidence, posted.
async fn disputes_of_an_own_account_in_a_stand_in(topology: Topology) {
    let deployment = start(topology).await;
    let (world, id) = (&deployment.world, deployment.world.merchant.id.as_str());
    let (accepted, dispute) = disputed(world).await;
    let [there] = &deployment.listed(KEY_OF_ANA).await[..] else { panic!("it is the account's") };
    assert_eq!(there["status"], "needs_response");
    assert_eq!((deployment.listed(KEY).await, deployment.listed(KEY_OF_BO).await), (vec![], vec![]));
    assert_eq!(ledger(world, &accepted).await, [2_990, 0]);
    let answer = world.merchant.about("POST", &accepted.order, &path(&dispute, "accept"), None).await;
    assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("ACCEPTED")), "{}", answer.text());
    world.receiver.expect(&accepted.session, &then(&["DISPUTE_OPENED", "DISPUTE_CLOSED"])).await;
    assert_eq!(deployment.listed(KEY_OF_ANA).await[0]["status"], "lost");
    assert_eq!(ledger(world, &accepted).await, [0, 2_990]);
    let (won, dispute) = disputed(world).await;
    let answer = hand_in(world, &won, &dispute, form("winning_evidence"), "evidence").await;
    assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("UNDER_REVIEW")), "{}", answer.text());
    let events = then(&["DISPUTE_OPENED", "DISPUTE_UPDATED", "DISPUTE_CLOSED"]);
    let told = world.receiver.expect(&won.session, &events).await;
    assert_eq!(told[events.len() - 1].body["Dispute"]["State"], "WON");
    assert_eq!((ledger(world, &won).await, &shown(world, &won).await["State"]), ([0, 0], &json!("WON")));
    let listed = world.programs.run_dropin(&["dispute", "list", "--merchant", id, "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let states: Vec<_> = listed.iter().map(|one| [one["Processor"].clone(), one["State"].clone()]).collect();
    assert_eq!(states, [["acquirer.ana", "WON"], ["acquirer.ana", "ACCEPTED"]], "{listed:?}");
    // The deployment's own key and the other account were shown none that would be nobody's.
    assert!(!world.programs.logged().contains("cannot be taken up"));
    world.programs.run_dropin(&["ledger", "verify", "--without-processor"]);
    deployment.world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn disputes_of_an_own_account_in_a_stand_in_by_all_in_one_on_sqlite() {
    disputes_of_an_own_account_in_a_stand_in(Topology::AllInOne).await;
}

#[actix_web::test]
async fn disputes_of_an_own_account_in_a_stand_in_by_every_program_on_postgresql() {
    disputes_of_an_own_account_in_a_stand_in(Topology::Split).await;
}

/// Has the settler look at a dispute in an hour, and not before. A look that is under way sets the time once more.
async fn postpone_look(world: &World, dispute: &Value) {
    let (store, id) = (crate::open_store(world), dispute["DisputeId"].as_str().unwrap().parse().unwrap());
    let in_an_hour = SystemClock.now().plus(Duration::from_secs(3_600));
    store.look_again(id, in_an_hour).await.unwrap();
    // Of two disputes that are taken up after that, the second one's round began when a look that was under way had ended.
    for _ in 0..2 {
        disputed(world).await;
    }
    store.look_again(id, in_an_hour).await.unwrap();
}

/// An event that is signed with the account's own secret has the dispute asked about at once. One that is signed with the secret of another account, or for
/// another account, changes nothing.
async fn events_of_an_own_account_in_a_stand_in(topology: Topology) {
    let deployment = start(topology).await;
    let world = &deployment.world;
    let (paid, dispute) = disputed(world).await;
    let reference = deployment.listed(KEY_OF_ANA).await[0]["id"].clone();
    postpone_look(world, &dispute).await;
    // Somebody accepts it in Stripe's dashboard.
    deployment.ask("POST", &format!("disputes/{}/close", reference.as_str().unwrap()), KEY_OF_ANA).await;
    let hint = json!({"id": reference, "object": "dispute", "status": "won"});
    for (name, secret, age, status) in [
        ("acquirer.ana", SECRET_OF_BO, 0, 400),
        ("acquirer.ana", SECRET_OF_ANA, 301, 400),
        ("acquirer.bo", SECRET_OF_ANA, 0, 400),
        // It is genuine, and there is no such dispute at that account.
        ("acquirer.bo", SECRET_OF_BO, 0, 200),
        ("acquirer", SECRET_OF_ANA, 0, 404),
    ] {
        assert_eq!(send_event(world, name, secret, age, &hint).await, status, "{name} {secret} {age}");
    }
    // The settler takes these up in two rounds, the second of which began after the events.
    for _ in 0..2 {
        disputed(world).await;
    }
    assert_eq!(shown(world, &paid).await["State"], "NEEDS_RESPONSE");
    for _ in 0..2 {
        assert_eq!(send_event(world, "acquirer.ana", SECRET_OF_ANA, 0, &hint).await, 200);
    }
    // Stripe is asked, and the event is not believed.
    let decided = until("the dispute is asked about", Duration::from_secs(10), async || {
        let state = shown(world, &paid).await["State"].clone();
        (state != "NEEDS_RESPONSE").then_some(state)
    })
    .await;
    assert_eq!((decided, ledger(world, &paid).await), (json!("LOST"), [0, 2_990]));
    world.receiver.expect(&paid.session, &then(&["DISPUTE_OPENED", "DISPUTE_CLOSED"])).await;
    deployment.world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn events_of_an_own_account_in_a_stand_in_by_all_in_one_on_sqlite() {
    events_of_an_own_account_in_a_stand_in(Topology::AllInOne).await;
}

#[actix_web::test]
async fn events_of_an_own_account_in_a_stand_in_by_every_program_on_postgresql() {
    events_of_an_own_account_in_a_stand_in(Topology::Split).await;
}
