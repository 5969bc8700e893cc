use std::collections::BTreeSet;

use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{HashedVelocityKey, NewPaymentTry, ScreeningStore, VelocityHash};
use dropin_risk::{VelocityKey, VelocityWindow};
use dropin_store::Store;
use dropin_store_contract::{any_decision, fresh};

/// A try with one key that all tries of the merchant have, and three of its own.
pub(crate) fn new_try(merchant: MerchantId) -> NewPaymentTry {
    let key = |key, number: u128| {
        let mut hash = [0; 32];
        hash[..16].copy_from_slice(&number.to_le_bytes());
        HashedVelocityKey { key, hash: VelocityHash(hash), former: vec![] }
    };
    NewPaymentTry {
        order_id: OrderId::new(fresh()),
        merchant_id: merchant,
        at: Timestamp::from_micros(1_790_000_000_123_456),
        keys: vec![
            key(VelocityKey::Card, fresh().as_u128()),
            key(VelocityKey::Device, fresh().as_u128()),
            key(VelocityKey::Ip, merchant.uuid().as_u128()),
            key(VelocityKey::Session, fresh().as_u128()),
        ],
        amount_cents: 1,
    }
}

/// Tries that two programs count at once each hear of those before, whichever program counted them.
pub(crate) async fn is_counted_by_two_programs(one: &Store, two: &Store) {
    let merchant = MerchantId::new(fresh());
    let mut tries = vec![];
    for number in 0..64 {
        let store = if number % 2 == 0 { one.clone() } else { two.clone() };
        tries.push(tokio::spawn(
            async move { store.screen_try(new_try(merchant), any_decision()).await.unwrap().counted },
        ));
    }
    let mut heard = BTreeSet::new();
    for one in tries {
        let velocity = one.await.unwrap().velocity;
        let [sum, of_merchant] =
            [VelocityKey::Ip, VelocityKey::Merchant].map(|key| velocity.sum(key, VelocityWindow::Day).unwrap());
        assert_eq!((sum.counts.tries, of_merchant.counts.tries), (sum.cards, sum.cards));
        assert!(heard.insert(sum.cards), "two heard {sum:?}");
    }
    assert_eq!(heard, (1..=64).collect());
}
