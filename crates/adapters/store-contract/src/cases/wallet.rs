use std::sync::Arc;

use dropin_access::{
    DomainCheck, DomainState, MerchantIdentifier, RegisteredDomain, SealedSecret, WalletDomain, WalletIdentity,
};
use dropin_kernel::MerchantId;
use dropin_ports::AccountChanged::{Done, Missing};

use crate::Harness;
use crate::values::{at, audited, fresh};

fn identity(merchant: MerchantId, ends: u64) -> WalletIdentity {
    WalletIdentity {
        merchant_id: merchant,
        identifier: MerchantIdentifier::parse("merchant.example.shop").unwrap(),
        country: "NL".to_owned(),
        sealed: SealedSecret(vec![0, 1, 255]),
        expires_at: at(ends),
        set_at: at(1),
    }
}

fn domain(merchant: MerchantId, name: &str, registered: u64) -> RegisteredDomain {
    RegisteredDomain {
        merchant_id: merchant,
        domain: WalletDomain::parse(name, true).unwrap(),
        file: format!("file of {name}\nof {registered}\n"),
        check: None,
        registered_at: at(registered),
    }
}

pub async fn an_identity_is_replaced_and_removed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    assert_eq!(harness.wallets.find_wallet(merchant.id).await, Ok(None));
    assert_eq!(harness.wallets.remove_wallet(merchant.id, audited()).await, Ok(Missing));
    for ends in [50, 40] {
        let identity = identity(merchant.id, ends);
        assert_eq!(harness.wallets.put_wallet(identity.clone(), audited()).await, Ok(Done));
        assert_eq!(harness.wallets.find_wallet(merchant.id).await, Ok(Some(identity)));
    }
    assert_eq!(harness.wallets.remove_wallet(merchant.id, audited()).await, Ok(Done));
    assert_eq!(harness.wallets.find_wallet(merchant.id).await, Ok(None));
    assert_eq!(harness.wallets.put_wallet(identity(MerchantId::new(fresh()), 1), audited()).await, Ok(Missing));
}

pub async fn certificates_that_end_first_come_first(harness: Arc<Harness>) {
    let mut expected = vec![];
    for ends in [30, 10, 20] {
        let (merchant, _) = harness.merchant().await;
        harness.wallets.put_wallet(identity(merchant.id, ends), audited()).await.unwrap();
        expected.push((merchant.id, at(ends)));
    }
    expected.sort_by_key(|(_, ends)| *ends);
    assert_eq!(harness.wallets.wallet_expiries(2).await, Ok(expected[..2].to_vec()));
    assert_eq!(harness.wallets.wallet_expiries(9).await, Ok(expected));
}

pub async fn a_domain_is_registered_checked_and_registered_anew(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let first = domain(merchant.id, "shop.example", 1);
    assert_eq!(harness.wallets.put_wallet_domain(first.clone(), audited()).await, Ok(Done));
    assert_eq!(harness.wallets.find_wallet_domain(merchant.id, &first.domain).await, Ok(Some(first.clone())));
    for failure in [Some("404".to_owned()), None] {
        let check = DomainCheck { at: at(5), failure };
        assert_eq!(harness.wallets.check_wallet_domain(&first, check.clone()).await, Ok(Done));
        let found = harness.wallets.find_wallet_domain(merchant.id, &first.domain).await.unwrap().unwrap();
        assert_eq!(found, RegisteredDomain { check: Some(check), ..first.clone() });
    }
    let second = domain(merchant.id, "shop.example", 2);
    harness.wallets.put_wallet_domain(second.clone(), audited()).await.unwrap();
    let late = harness.wallets.check_wallet_domain(&first, DomainCheck { at: at(6), failure: None }).await;
    assert_eq!(late, Ok(Missing), "what was found of another file says nothing of this one");
    let found = harness.wallets.find_wallet_domain(merchant.id, &second.domain).await.unwrap().unwrap();
    assert_eq!((found.state(), found), (DomainState::Registered, second));
    let nobodys = domain(MerchantId::new(fresh()), "shop.example", 3);
    assert_eq!(harness.wallets.put_wallet_domain(nobodys.clone(), audited()).await, Ok(Missing));
    let check = DomainCheck { at: at(6), failure: None };
    assert_eq!(harness.wallets.check_wallet_domain(&nobodys, check).await, Ok(Missing));
}

pub async fn domains_are_the_merchants_own(harness: Arc<Harness>) {
    let ((ana, _), (bob, _)) = (harness.merchant().await, harness.merchant().await);
    let [b, a, of_bob] =
        [domain(ana.id, "b.example", 1), domain(ana.id, "a.example", 2), domain(bob.id, "b.example", 3)];
    for one in [&b, &a, &of_bob] {
        harness.wallets.put_wallet_domain(one.clone(), audited()).await.unwrap();
    }
    assert_eq!(harness.wallets.list_wallet_domains(ana.id).await, Ok(vec![a.clone(), b.clone()]));
    assert_eq!(harness.wallets.find_wallet_domain(bob.id, &a.domain).await, Ok(None));
    // The file that is served under our own name is the one that came last.
    assert_eq!(harness.wallets.association_file(&b.domain).await, Ok(Some(of_bob.file)));
    assert_eq!(harness.wallets.association_file(&WalletDomain::parse("c.example", false).unwrap()).await, Ok(None));
}
