use std::collections::BTreeSet;

use dropin_access::RateChange;
use dropin_ports::{Clock, MerchantSettings, RateStore};

use super::{Currency, HOUR, TODAY, guaranteed, offer, publish_rates, rates, shown, until};
use crate::common::{Api, audited};

#[actix_web::test]
async fn offers_are_made_once_in_a_period_and_hold_for_a_day() {
    let api = Api::start().await;
    publish_rates(&api, TODAY, None).await;
    let ana = guaranteed(&api).await;
    let start = api.clock.now();
    let first = rates(&api, ana).await;
    let (dollars, expiry) = offer(&first, "USD");
    assert_eq!(expiry, shown(start.plus(24 * HOUR)));
    // 1.1172 / 0.8338 × 1.01, and pounds at 1, whatever.
    assert!(first.text.contains(r#""Rate":1.353288558}"#) && first.text.contains(r#""Rate":1}"#), "{first:?}");
    assert_eq!(first.header("cache-control"), "public, max-age=21600");
    api.clock.advance(6 * HOUR - HOUR / 60);
    publish_rates(&api, &[(Currency::Usd, "1.2"), (Currency::Gbp, "0.8")], None).await;
    let same = rates(&api, ana).await;
    assert_eq!((&same.text, same.header("cache-control")), (&first.text, "public, max-age=60"));
    api.clock.advance(HOUR / 60);
    let second = rates(&api, ana).await;
    assert!(second.text.contains(r#""Rate":1.515}"#), "{second:?}");
    let (later, expiry) = offer(&second, "USD");
    assert_ne!(later, dollars);
    assert_eq!(expiry, shown(start.plus(30 * HOUR)));
    // Once nobody has asked for days, the next one who does gets a set of that moment.
    api.clock.advance(100 * HOUR);
    assert_eq!(offer(&rates(&api, ana).await, "USD").1, shown(start.plus(130 * HOUR)));
}

#[actix_web::test]
async fn of_many_who_ask_at_once_all_see_the_same_offers() {
    let api = Api::start().await;
    publish_rates(&api, TODAY, None).await;
    let ana = guaranteed(&api).await;
    for _ in 0..3 {
        let all = futures_util::future::join_all((0..32).map(|_| rates(&api, ana))).await;
        let ids: BTreeSet<_> = all.iter().map(|answer| offer(answer, "USD").0).collect();
        assert_eq!(ids.len(), 1);
        api.clock.advance(6 * HOUR);
    }
}

#[actix_web::test]
async fn a_new_setting_counts_from_the_next_set_on() {
    let api = Api::start().await;
    publish_rates(&api, TODAY, None).await;
    let ana = guaranteed(&api).await;
    let first = rates(&api, ana).await;
    let change = RateChange { settlement: Some(Currency::Eur), ..RateChange::default() };
    api.outbox.change_rates(ana, None, change, audited()).await.unwrap();
    let currencies = Some(vec![Currency::Usd, Currency::Jpy]);
    api.merchants.set(ana, MerchantSettings { currencies, ..MerchantSettings::default() }).await.unwrap();
    // What is not enabled any more is not shown; what is new has no offer yet.
    let left = until(&api, ana, |answer| !answer.text.contains("KWD")).await;
    assert_eq!(offer(&left, "USD"), offer(&first, "USD"));
    assert!(!left.text.contains("JPY"), "{left:?}");
    api.clock.advance(6 * HOUR);
    let next = rates(&api, ana).await;
    // In euros now, with one percent on dollars.
    assert!(next.text.contains(r#""Rate":1.128372}"#) && next.text.contains(r#""Rate":180.25}"#), "{next:?}");
}
