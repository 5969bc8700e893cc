//! What must be absent. The search for card numbers over data folder, logs and database dump, and the comparison of the processor's journal with what
//! merchants are told, run at the end of every case (World::finish); these prove that both can find something.

use dropin_tests::{Topology, World, cards};
use serde_json::json;

/// The search would notice: a number planted in the data folder fails it.
#[actix_web::test]
#[should_panic(expected = "the number ending in 4242")]
async fn the_search_finds_a_planted_number() {
    let world = World::start(Topology::AllInOne).await;
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    world.pay(&session, cards::VISA).await;
    std::fs::write(world.data.join("planted.txt"), format!("card={}", cards::VISA)).unwrap();
    world.finish().await;
}

/// The comparison would notice: money held for an Order of nobody's, until it is given up.
#[actix_web::test]
async fn the_audit_finds_money_that_is_nobodys() {
    let world = World::start(Topology::AllInOne).await;
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    world.pay(&session, cards::VISA).await;
    world.receiver.expect(&session, &["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
    world.check_reconciliation().await;
    let (authorization, stray) = (uuid::Uuid::new_v4().to_string(), uuid::Uuid::new_v4().to_string());
    let card = json!({"Number": cards::VISA, "VerificationCode": "123", "ExpiryYear": "2031", "ExpiryMonth": "12", "Name": "Ada"});
    let body = json!({"Amount": 1, "Currency": "USD", "OrderId": stray, "Card": card});
    let made = world.effect_past_the_service("/v1/authorizations", &authorization, &body).await;
    assert_eq!(made["Outcome"], "APPROVED");
    let discrepancies = world.reconciliation().await.discrepancies();
    assert!(
        discrepancies.len() == 1 && discrepancies[0].contains(&format!("{stray} is shown to nobody")),
        "{discrepancies:?}"
    );
    let unpaid = world.merchant.create_session(json!({})).await;
    assert_eq!(world.journal_of(&unpaid).await.len(), 1, "it might be that Session's");
    let void = uuid::Uuid::new_v4().to_string();
    world.effect_past_the_service("/v1/voids", &void, &json!({"AuthorizationKey": authorization})).await;
    assert_eq!(world.reconciliation().await.discrepancies(), Vec::<String>::new(), "given up");
    // The operator's own audit is stricter: nobody here asked for either.
    let said = world.programs.try_dropin(&["ledger", "verify"]).expect_err("it does not fit");
    assert!([&authorization, &void].iter().all(|key| said.contains(*key)), "{said}");
}

/// No log line holds a credential or a webhook secret.
#[actix_web::test]
async fn no_credential_in_the_logs() {
    let world = World::start(Topology::Split).await;
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    world.pay(&session, cards::VISA).await;
    world.receiver.expect(&session, &["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
    let logged = world.programs.logged();
    assert!(logged.contains("/v1/session"), "there is something to search: {logged}");
    for secret in [world.merchant.password(), world.merchant.authorization(), "whsec_".to_owned()] {
        assert!(!logged.contains(&secret), "a credential stands in a log");
    }
    world.finish().await;
}

/// The programs of one deployment can be started with the example files as they are: all are accepted, and they mean the same database.
#[test]
fn every_example_file_is_accepted_and_they_fit_together() {
    let services = ["session-api", "checkout-api", "stash-api", "notifier", "settler"];
    let databases = services.map(|service| {
        let report = dropin_tests::world::check_example(service);
        report.lines().find(|line| line.starts_with("database_url = ")).map(str::to_owned)
    });
    assert!(databases[0].as_ref().is_some_and(|line| line.contains("postgres://")), "{databases:?}");
    assert!(databases.iter().all(|database| *database == databases[0]), "{databases:?}");
}
