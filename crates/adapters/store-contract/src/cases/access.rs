use std::sync::Arc;

use dropin_kernel::MerchantId;
use dropin_money::Currency;
use dropin_ports::{Credentials, MerchantInserted};

use crate::Bench;
use crate::values::{at, fresh, new_merchant};

pub async fn a_merchant_comes_back_whole(bench: Arc<Bench>) {
    let mut new = new_merchant(true);
    new.merchant.currencies = Currency::ALL.iter().rev().copied().collect();
    assert_eq!(bench.access.insert_merchant(new.clone()).await, Ok(MerchantInserted::Done));
    assert_eq!(bench.access.find_merchant(new.merchant.id).await, Ok(Some(new.merchant.clone())));
    let credentials = Credentials { user: new.user.clone(), merchant: new.merchant.clone() };
    assert_eq!(bench.access.find_credentials(&new.user.username).await, Ok(Some(credentials)));
    assert_eq!(bench.access.list_endpoints(new.merchant.id).await, Ok(new.endpoint.into_iter().collect()));
}

pub async fn a_user_name_is_taken_once(bench: Arc<Bench>) {
    let first = new_merchant(false);
    bench.access.insert_merchant(first.clone()).await.unwrap();
    let mut second = new_merchant(true);
    second.user.username = first.user.username.clone();
    assert_eq!(bench.access.insert_merchant(second.clone()).await, Ok(MerchantInserted::DuplicateUsername));
    assert_eq!(bench.access.find_merchant(second.merchant.id).await, Ok(None), "half a merchant was written");
    assert_eq!(bench.access.list_endpoints(second.merchant.id).await, Ok(vec![]));
    let found = bench.access.find_credentials(&first.user.username).await.unwrap().unwrap();
    assert_eq!(found.merchant, first.merchant);
}

pub async fn merchants_are_listed_oldest_first(bench: Arc<Bench>) {
    assert_eq!(bench.access.list_merchants().await, Ok(vec![]));
    let mut expected = vec![];
    for age in [30, 10, 20] {
        let mut new = new_merchant(age == 10);
        new.merchant.created_at = at(age);
        new.merchant.currencies.truncate(usize::try_from(age / 10).unwrap());
        new.merchant.origins.truncate(usize::try_from(age / 20).unwrap());
        bench.access.insert_merchant(new.clone()).await.unwrap();
        expected.push(new.merchant);
    }
    expected.sort_by_key(|merchant| merchant.created_at);
    assert_eq!(bench.access.list_merchants().await, Ok(expected));
}

pub async fn what_does_not_exist_is_not_found(bench: Arc<Bench>) {
    let nobody = MerchantId::new(fresh());
    assert_eq!(bench.access.find_merchant(nobody).await, Ok(None));
    assert_eq!(bench.access.find_credentials("nobody").await, Ok(None));
    assert_eq!(bench.access.list_endpoints(nobody).await, Ok(vec![]));
    // User names are compared exactly.
    let new = new_merchant(false);
    bench.access.insert_merchant(new.clone()).await.unwrap();
    assert_eq!(bench.access.find_credentials(&new.user.username.to_uppercase()).await, Ok(None));
}
