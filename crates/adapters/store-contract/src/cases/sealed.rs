use std::sync::Arc;

use dropin_access::{Endpoint, MerchantIdentifier, SealedSecret, WalletIdentity};
use dropin_kernel::{EndpointId, MerchantId};
use dropin_ports::AccountChanged::Done;
use dropin_ports::{Applied, EndpointChange, SealedCredential, SealedKind, SealedValue, StoreError};

use super::contract::opened;
use crate::Harness;
use crate::values::{at, audited, fresh, new_endpoint};

/// An endpoint with a previous secret, and a wallet's certificate, of a merchant of their own.
async fn merchant_with_secrets(harness: &Harness) -> (MerchantId, Endpoint, WalletIdentity) {
    let (merchant, _) = harness.merchant().await;
    let endpoint = new_endpoint(merchant.id);
    harness.access.insert_endpoint(endpoint.clone(), audited()).await.unwrap();
    let change = EndpointChange::Secret { new: SealedSecret(vec![7, 0, 255]), old_until: Some(at(9)) };
    assert_eq!(harness.access.change_endpoint(endpoint.id, change, audited()).await, Ok(Done));
    let identity = WalletIdentity {
        merchant_id: merchant.id,
        identifier: MerchantIdentifier::parse("merchant.example.shop").unwrap(),
        country: "NL".to_owned(),
        sealed: SealedSecret(vec![0, 1, 255]),
        expires_at: at(50),
        set_at: at(1),
    };
    harness.wallets.put_wallet(identity.clone(), audited()).await.unwrap();
    (merchant.id, endpoint_now(harness, merchant.id, endpoint.id).await, identity)
}

async fn endpoint_now(harness: &Harness, merchant: MerchantId, id: EndpointId) -> Endpoint {
    let all = harness.access.list_endpoints(merchant).await.unwrap();
    all.into_iter().find(|endpoint| endpoint.id == id).unwrap()
}

/// Every sealed value of that endpoint and merchant.
fn values(endpoint: &Endpoint, identity: &WalletIdentity) -> [SealedValue; 3] {
    let previous = endpoint.previous.clone().unwrap().credential;
    [
        SealedValue::WebhookSecret { endpoint: endpoint.id, sealed: endpoint.secret.clone() },
        SealedValue::PreviousWebhookSecret { endpoint: endpoint.id, sealed: previous },
        SealedValue::WalletCertificate { merchant: identity.merchant_id, sealed: identity.sealed.clone() },
    ]
}

/// Every sealed value of the kind, read `limit` at a time.
async fn list(harness: &Harness, kind: SealedKind, limit: u32) -> Vec<SealedValue> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = harness.sealed.list_sealed(kind, after, limit).await.unwrap();
        let Some(last) = page.last() else { return all };
        assert!(page.len() <= limit as usize && page.iter().all(|value| value.kind() == kind));
        after = Some(last.row());
        all.extend(page);
    }
}

fn with(value: &SealedValue, sealed: SealedSecret) -> SealedValue {
    match *value {
        SealedValue::WebhookSecret { endpoint, .. } => SealedValue::WebhookSecret { endpoint, sealed },
        SealedValue::PreviousWebhookSecret { endpoint, .. } => SealedValue::PreviousWebhookSecret { endpoint, sealed },
        SealedValue::WalletCertificate { merchant, .. } => SealedValue::WalletCertificate { merchant, sealed },
        SealedValue::OperatorAuthenticator { operator, .. } => SealedValue::OperatorAuthenticator { operator, sealed },
        SealedValue::ProcessorAccount { id, merchant, ref processor, .. } => {
            SealedValue::ProcessorAccount { id, merchant, processor: processor.clone(), sealed }
        }
        SealedValue::DisputeEvidence { answer, .. } => SealedValue::DisputeEvidence { answer, sealed },
        SealedValue::ContractCredential { merchant, contract, discarded, .. } => {
            let sealed = SealedCredential { key_id: "1732406401-0badcafe".to_owned(), bytes: sealed.0 };
            SealedValue::ContractCredential { merchant, contract, discarded, sealed }
        }
    }
}

pub async fn sealed_values_of_every_kind_are_listed_in_pages(harness: Arc<Harness>) {
    for kind in SealedKind::ALL {
        assert_eq!(harness.sealed.list_sealed(kind, None, 9).await, Ok(vec![]));
    }
    let mut expected = [vec![], vec![], vec![]];
    for _ in 0..5 {
        let (merchant, endpoint, identity) = merchant_with_secrets(&harness).await;
        for (all, value) in expected.iter_mut().zip(values(&endpoint, &identity)) {
            all.push(value);
        }
        // The one that the merchant was made with: it never had another secret.
        let mut plain = harness.access.list_endpoints(merchant).await.unwrap();
        plain.retain(|other| other.id != endpoint.id);
        let [plain] = plain.try_into().unwrap();
        expected[0].push(SealedValue::WebhookSecret { endpoint: plain.id, sealed: plain.secret });
        let removed = merchant_with_secrets(&harness).await;
        for endpoint in harness.access.list_endpoints(removed.0).await.unwrap() {
            harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(3)), audited()).await.unwrap();
        }
        harness.wallets.remove_wallet(removed.0, audited()).await.unwrap();
    }
    for (kind, mut expected) in SealedKind::ALL.into_iter().zip(expected) {
        expected.sort_by_key(SealedValue::row);
        for limit in [1, 3, 100] {
            assert_eq!(list(&harness, kind, limit).await, expected, "{kind:?} by {limit}");
        }
    }
}

pub async fn stored_credentials_are_listed_in_pages_and_sealed_anew(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut expected = Vec::new();
    for number in 0..5 {
        let contract = opened(&harness, merchant.id, &format!("contract-{number}"), at(1)).await.id;
        let sealed = harness.contracts.find_credential(contract).await.unwrap().unwrap();
        expected.push(SealedValue::ContractCredential { merchant: merchant.id, contract, discarded: None, sealed });
    }
    expected.sort_by_key(SealedValue::row);
    for limit in [1, 3, 100] {
        assert_eq!(list(&harness, SealedKind::ContractCredential, limit).await, expected);
    }
    let old = expected[0].clone();
    let SealedValue::ContractCredential { contract, .. } = old else { panic!("{old:?}") };
    let new = with(&old, SealedSecret(vec![9, 0]));
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(Applied::Done));
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(Applied::Stale), "it is not there any more");
    let now = harness.contracts.find_credential(contract).await.unwrap().unwrap();
    assert_eq!((now.key_id.as_str(), now.bytes), ("1732406401-0badcafe", vec![9, 0]));
    expected[0] = new;
    assert_eq!(list(&harness, SealedKind::ContractCredential, 2).await, expected, "the others stay");
    let mixed = harness.sealed.replace_sealed(&expected[0], &expected[1]).await;
    assert!(matches!(mixed, Err(StoreError::Refused(_))), "{mixed:?}");
}

pub async fn a_sealed_value_is_replaced_and_nothing_else(harness: Arc<Harness>) {
    let (merchant, mut endpoint, mut identity) = merchant_with_secrets(&harness).await;
    let (_, other_endpoint, other_identity) = merchant_with_secrets(&harness).await;
    let new = [vec![2, 1], vec![2, 2], vec![2, 3]].map(SealedSecret);
    let old = values(&endpoint, &identity);
    for (old, new) in old.iter().zip(new.clone()) {
        let new = with(old, new);
        assert_eq!(harness.sealed.replace_sealed(old, &new).await, Ok(Applied::Done));
        assert_eq!(harness.sealed.replace_sealed(old, &new).await, Ok(Applied::Stale), "it is not there any more");
        assert_eq!(harness.sealed.replace_sealed(&new, &new).await, Ok(Applied::Done));
    }
    let [secret, previous, certificate] = new;
    (endpoint.secret, identity.sealed) = (secret, certificate);
    endpoint.previous.as_mut().unwrap().credential = previous;
    assert_eq!(endpoint_now(&harness, merchant, endpoint.id).await, endpoint);
    assert_eq!(harness.wallets.find_wallet(merchant).await, Ok(Some(identity)));
    for value in values(&other_endpoint, &other_identity) {
        assert!(list(&harness, value.kind(), 9).await.contains(&value), "another merchant's stays");
        for old in &old {
            if (old.kind(), old.row()) != (value.kind(), value.row()) {
                let mixed = harness.sealed.replace_sealed(&value, old).await;
                assert!(matches!(mixed, Err(StoreError::Refused(_))), "{mixed:?}");
            }
        }
    }
    let unknown = SealedValue::WalletCertificate { merchant: MerchantId::new(fresh()), sealed: SealedSecret(vec![]) };
    assert_eq!(harness.sealed.replace_sealed(&unknown, &unknown).await, Ok(Applied::Stale));
}

pub async fn a_change_of_the_merchants_wins_over_a_replacement(harness: Arc<Harness>) {
    let (merchant, endpoint, identity) = merchant_with_secrets(&harness).await;
    let old = values(&endpoint, &identity);
    let change = EndpointChange::Secret { new: SealedSecret(vec![8]), old_until: Some(at(11)) };
    harness.access.change_endpoint(endpoint.id, change, audited()).await.unwrap();
    let identity = WalletIdentity { sealed: SealedSecret(vec![9]), ..identity };
    harness.wallets.put_wallet(identity.clone(), audited()).await.unwrap();
    for old in &old {
        let late = harness.sealed.replace_sealed(old, &with(old, SealedSecret(vec![2, 1]))).await;
        assert_eq!(late, Ok(Applied::Stale), "{:?}", old.kind());
    }
    let now = endpoint_now(&harness, merchant, endpoint.id).await;
    assert_eq!(now.secret, SealedSecret(vec![8]));
    assert_eq!(now.previous.unwrap().credential, endpoint.secret);
    assert_eq!(harness.wallets.find_wallet(merchant).await, Ok(Some(identity)));
}

pub async fn of_many_replacements_of_a_sealed_value_one_wins(harness: Arc<Harness>) {
    let (_, endpoint, identity) = merchant_with_secrets(&harness).await;
    for old in values(&endpoint, &identity) {
        let tries = (0..8_u8).map(|number| {
            let (harness, old) = (harness.clone(), old.clone());
            tokio::spawn(async move {
                let new = with(&old, SealedSecret(vec![2, number]));
                harness.sealed.replace_sealed(&old, &new).await.unwrap() == Applied::Done
            })
        });
        let tries: Vec<_> = tries.collect();
        let mut won = 0;
        for one in tries {
            won += u32::from(one.await.unwrap());
        }
        assert_eq!(won, 1, "{:?}", old.kind());
    }
}
