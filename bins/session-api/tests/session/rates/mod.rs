//! Exchange rates over HTTP: getRates, Sessions that are priced by an offer, and what their refunds settle for (docs/SPECIFICATION.md#rates).

mod offers;
mod sales;
mod shown;

use std::time::Duration;

use crate::common::{Answer, Api, audited};
use actix_web::http::Method;
use dropin_access::{RateChange, RateForm};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{AccessStore, AccountChanged, Applied, Clock, RateSourceCheck, RateSourceState, RateStore};
use dropin_rates::{Dated, Markup, Quote, Source, Table};
use serde_json::Value;
use time::macros::date;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// The MerchantId of the merchant of that name.
pub(crate) async fn id_of(api: &Api, name: &str) -> MerchantId {
    let all = api.outbox.list_merchants().await.unwrap();
    all.into_iter().find(|merchant| merchant.name.starts_with(name)).unwrap().id
}

/// A table of one euro's price comes into force, which is looked at again after an hour; `stale_in` is when it is too old, if ever.
pub(crate) async fn publish_rates(api: &Api, rates: &[(Currency, &str)], stale_in: Option<Duration>) {
    let quote = |(currency, rate): &(Currency, &str)| {
        let dated = Dated::On(date!(2026 - 11 - 17));
        (*currency, Quote { rate: rate.parse().unwrap(), dated, source: Source::Primary })
    };
    let now = api.clock.now();
    let board = api.outbox.find_rates().await.unwrap();
    let look = RateSourceCheck {
        expected: board.map_or(0, |board| board.number),
        table: Some(rates.iter().map(quote).collect::<Table>()),
        state: RateSourceState {
            checked_at: now,
            next_at: now.plus(HOUR),
            stale_at: stale_in.map(|stale| now.plus(stale)),
            left_behind: vec![Currency::Rub],
            problem: None,
            refused: vec![],
        },
    };
    assert_eq!(api.outbox.record_source_check(look).await, Ok(Applied::Done));
}

pub(crate) const TODAY: &[(Currency, &str)] = &[
    (Currency::Usd, "1.1172"),
    (Currency::Gbp, "0.8338"),
    (Currency::Jpy, "180.25"),
    (Currency::Kwd, "0.34"),
    (Currency::Rub, "117.201"),
];

/// Ana gets guaranteed rates, settled in pounds, with one percent on dollars.
pub(crate) async fn guaranteed(api: &Api) -> MerchantId {
    let id = id_of(api, "Ana").await;
    let change = RateChange {
        form: Some(RateForm::Guaranteed),
        settlement: Some(Currency::Gbp),
        markups: [(Currency::Usd, Markup::from_basis_points(100).unwrap())].into(),
    };
    assert_eq!(api.outbox.change_rates(id, None, change, audited()).await, Ok(AccountChanged::Done));
    id
}

pub(crate) async fn get(api: &Api, query: &str) -> Answer {
    api.send(None, Method::GET, &format!("/v2.2/getRates{query}"), &[], "").await
}

pub(crate) async fn rates(api: &Api, merchant: MerchantId) -> Answer {
    get(api, &format!("?merchantId={merchant}")).await
}

/// The offer for `currency`: (Id, Expiry).
#[track_caller]
pub(crate) fn offer(answer: &Answer, currency: &str) -> (String, String) {
    let body = answer.json();
    let found = body["RateOffers"].as_array().unwrap_or_else(|| panic!("{answer:?}")).iter();
    let found: Vec<&Value> = found.filter(|offer| offer["Currency"] == currency).collect();
    let text = |name: &str| found[0][name].as_str().unwrap().to_owned();
    (text("Id"), text("Expiry"))
}

/// Asks until the answer is the wanted one; what a merchant is shown follows within two seconds.
pub(crate) async fn until(api: &Api, merchant: MerchantId, wanted: impl Fn(&Answer) -> bool) -> Answer {
    let start = std::time::Instant::now();
    loop {
        let answer = rates(api, merchant).await;
        if wanted(&answer) {
            return answer;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{answer:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(crate) fn shown(at: Timestamp) -> String {
    at.to_string()
}
