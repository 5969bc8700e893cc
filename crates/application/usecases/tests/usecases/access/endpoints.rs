use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dropin_access::{Endpoint, EndpointSettings};
use dropin_kernel::{EndpointId, MerchantId};
use dropin_ports::{AccessStore, Clock, Secrets};
use dropin_usecases::access::{AccountError, EndpointUpdate, MerchantAccount};
use uuid::Uuid;

use super::harness::{Harness, fields};

fn shown(secret: &str) -> Vec<u8> {
    STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap()
}

fn opened(harness: &Harness, endpoint: &Endpoint) -> Vec<u8> {
    harness.secrets.open_secret(&endpoint.id.to_string(), &endpoint.secret).unwrap()
}

fn at(url: &str) -> EndpointUpdate {
    EndpointUpdate { url: Some(url.to_owned()), ..EndpointUpdate::default() }
}

#[tokio::test]
async fn the_webhook_secret_is_32_bytes_and_kept_sealed() {
    let harness = Harness::new();
    let made = harness.create(Some("https://shop.example/hook")).await;
    let secret = shown(&made.webhook_secret.unwrap());
    assert_eq!(secret.len(), 32);
    let endpoints = harness.store.list_endpoints(made.merchant_id).await.unwrap();
    assert_eq!(endpoints.len(), 1);
    assert!(!endpoints[0].secret.0.windows(16).any(|part| secret.starts_with(part)));
    assert_eq!(opened(&harness, &endpoints[0]), secret);
}

#[tokio::test]
async fn endpoints_come_move_and_go() {
    let harness = Harness::new();
    let (made, merchants) = (harness.create(None).await, &harness.merchants);
    let added = merchants.add_endpoint(made.merchant_id, "http://shop.example", EndpointSettings::default()).await;
    let added = added.map_err(|error| error.to_string()).unwrap();
    assert_eq!(added.url, "http://shop.example", "as given, http in a sandbox");
    let listed = merchants.endpoints(made.merchant_id).await.unwrap();
    assert_eq!((listed.len(), opened(&harness, &listed[0])), (1, shown(&added.webhook_secret)));
    merchants.set_endpoint(added.endpoint_id, at("https://elsewhere.example/")).await.unwrap();
    assert_eq!(merchants.endpoints(made.merchant_id).await.unwrap()[0].url, "https://elsewhere.example/");
    for wrong in ["", "elsewhere", "ftp://elsewhere.example"] {
        assert_eq!(fields(merchants.set_endpoint(added.endpoint_id, at(wrong)).await), ["Url"], "{wrong}");
        let added = merchants.add_endpoint(made.merchant_id, wrong, EndpointSettings::default()).await;
        assert_eq!(fields(added), ["Url"], "{wrong}");
    }
    assert_eq!(merchants.remove_endpoint(added.endpoint_id).await, Ok(0));
    assert_eq!(merchants.remove_endpoint(added.endpoint_id).await, Ok(0), "again, for what may have been left");
    assert_eq!(merchants.endpoints(made.merchant_id).await, Ok(vec![]));
    let late = merchants.set_endpoint(added.endpoint_id, at("https://late.example/")).await;
    assert_eq!(late, Err(AccountError::Removed));
    assert_eq!(merchants.rotate_secret(added.endpoint_id, Duration::ZERO).await.err(), Some(AccountError::Removed));
}

#[tokio::test]
async fn an_endpoint_has_settings_of_its_own() {
    let harness = Harness::new();
    let (made, merchants) = (harness.create(None).await, &harness.merchants);
    let events = |text: &str| Some(text.parse().expect("a filter"));
    let settings = EndpointSettings { events: events("ORDER_*,SESSION_FAILED"), retry: "5s;1d".parse().ok() };
    let url = "https://shop.example/";
    let added = merchants.add_endpoint(made.merchant_id, url, settings.clone()).await;
    let id = added.map_err(|error| error.to_string()).unwrap().endpoint_id;
    let stands = async || merchants.endpoints(made.merchant_id).await.unwrap().remove(0).settings;
    assert_eq!(stands().await, settings);
    let update = EndpointUpdate { events: Some(events("REFUND_*,CONTRACT_*")), ..EndpointUpdate::default() };
    merchants.set_endpoint(id, update).await.unwrap();
    assert_eq!(
        stands().await,
        EndpointSettings { events: events("REFUND_*,CONTRACT_*"), ..settings },
        "the rest stays"
    );
    let update = EndpointUpdate { events: Some(None), retry: Some(None), ..at("https://elsewhere.example/") };
    merchants.set_endpoint(id, update).await.unwrap();
    assert_eq!(stands().await, EndpointSettings::default());
    let wrong = EndpointSettings { events: events("ORDER_*,ORDER_PROCESED"), retry: None };
    let refused = merchants.add_endpoint(made.merchant_id, "here", wrong.clone()).await;
    assert_eq!(fields(refused), ["Url", "Events"], "all of it at once");
    let refused =
        merchants.set_endpoint(id, EndpointUpdate { events: Some(wrong.events), ..EndpointUpdate::default() });
    let message = refused.await.unwrap_err().to_string();
    assert!(message.contains("ORDER_PROCESED") && message.contains("ORDER_PROCESSED,"), "{message}");
}

#[tokio::test]
async fn the_secret_of_before_signs_too_until_it_ends() {
    let harness = Harness::new();
    let (made, merchants) = (harness.create(Some("https://shop.example/hook")).await, &harness.merchants);
    let id = merchants.endpoints(made.merchant_id).await.unwrap()[0].id;
    let rotated =
        merchants.rotate_secret(id, Duration::from_secs(60)).await.map_err(|error| error.to_string()).unwrap();
    let endpoint = merchants.endpoints(made.merchant_id).await.unwrap().remove(0);
    assert_eq!(opened(&harness, &endpoint), shown(&rotated.webhook_secret));
    let previous = endpoint.previous.unwrap();
    assert_eq!(Some(previous.until), rotated.old_until);
    let old = previous.at(harness.clock.now()).expect("it still signs");
    let opened = harness.secrets.open_secret(&id.to_string(), old).unwrap();
    assert_eq!(opened, shown(&made.webhook_secret.unwrap()));
    harness.clock.advance(Duration::from_secs(60));
    assert_eq!(previous.at(harness.clock.now()), None);
    merchants.rotate_secret(id, Duration::ZERO).await.map_err(|error| error.to_string()).unwrap();
    assert_eq!(merchants.endpoints(made.merchant_id).await.unwrap()[0].previous, None);
    assert_eq!(fields(merchants.rotate_secret(id, Duration::from_secs(31 * 86_400)).await), ["Overlap"]);
}

#[tokio::test]
async fn what_does_not_exist_is_said_so() {
    let harness = Harness::new();
    let (merchants, nothing) = (&harness.merchants, Uuid::from_u128(u128::MAX));
    let (nobody, nowhere) = (MerchantId::new(nothing), EndpointId::new(nothing));
    let url = "https://shop.example/";
    assert_eq!(
        merchants.add_endpoint(nobody, url, EndpointSettings::default()).await.err(),
        Some(AccountError::NoMerchant)
    );
    assert_eq!(merchants.endpoints(nobody).await, Err(AccountError::NoMerchant));
    assert_eq!(MerchantAccount::load(&harness.store, nobody).await, Err(AccountError::NoMerchant));
    assert_eq!(merchants.set_endpoint(nowhere, at(url)).await, Err(AccountError::NoEndpoint));
    assert_eq!(merchants.remove_endpoint(nowhere).await, Err(AccountError::NoEndpoint));
    assert_eq!(merchants.rotate_secret(nowhere, Duration::ZERO).await.err(), Some(AccountError::NoEndpoint));
}
