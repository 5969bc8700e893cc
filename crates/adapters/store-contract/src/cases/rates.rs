use std::sync::Arc;

use dropin_access::{RateChange, RateForm, RateSettings};
use dropin_kernel::{MerchantId, RateOfferId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{
    AccountChanged, Applied, OfferSet, OffersInserted, OrderName, RateSourceCheck, RateSourceState, RatesInForce,
    Settled,
};
use dropin_rates::{Dated, ExchangeRate, Markup, Offer, OfferSetId, Quote, QuoteRefusal, RefusedQuote, Source, Table};
use time::macros::date;

use crate::Harness;
use crate::steps::{refund, refunded};
use crate::values::{at, audited, fresh, minor, sale_rate, terms_with};

fn quote(rate: &str, dated: Dated, source: Source) -> Quote {
    Quote { rate: rate.parse().unwrap(), dated, source }
}

/// A table with a quote of every sort.
pub(super) fn table(usd: &str) -> Table {
    let today = Dated::On(date!(2026 - 11 - 20));
    Table::from_iter([
        (Currency::Usd, quote(usd, today, Source::Primary)),
        (Currency::Rub, quote("117.201", Dated::On(date!(2022 - 03 - 01)), Source::Primary)),
        (Currency::Aed, quote("4.10285", today, Source::Supplement)),
        (Currency::Hrk, quote("7.5345", Dated::Always, Source::Fixed)),
        (Currency::Vnd, quote("999999999.999999", Dated::Always, Source::Sandbox)),
    ])
}

pub(super) fn state(now: Timestamp) -> RateSourceState {
    let refused = |why, former| RefusedQuote {
        currency: Currency::Try,
        why,
        former,
        offered: quote("0.00000001", Dated::On(date!(2026 - 11 - 21)), Source::Supplement),
    };
    RateSourceState {
        checked_at: now,
        next_at: now.plus(std::time::Duration::from_secs(900)),
        stale_at: Some(at(500_000)),
        left_behind: vec![Currency::Rub],
        problem: Some("supplement: \"it\" cannot be read ✂".to_owned()),
        refused: vec![
            refused(QuoteRefusal::Jump, Some(quote("55.1", Dated::On(date!(2026 - 11 - 20)), Source::Primary))),
            refused(QuoteRefusal::Future, None),
        ],
    }
}

fn quiet(now: Timestamp) -> RateSourceState {
    RateSourceState { stale_at: None, left_behind: vec![], problem: None, refused: vec![], ..state(now) }
}

pub async fn the_table_in_force_comes_back_whole(harness: Arc<Harness>) {
    assert_eq!(harness.rates.find_rates().await, Ok(None));
    // Nothing could be read yet.
    let nothing = RateSourceCheck { expected: 0, table: None, state: state(at(1)) };
    assert_eq!(harness.rates.record_source_check(nothing).await, Ok(Applied::Done));
    let board = RatesInForce { number: 0, table: Table::default(), state: state(at(1)) };
    assert_eq!(harness.rates.find_rates().await, Ok(Some(board)));
    let first = RateSourceCheck { expected: 0, table: Some(table("1.1172")), state: state(at(2)) };
    assert_eq!(harness.rates.record_source_check(first).await, Ok(Applied::Done));
    let board = harness.rates.find_rates().await.unwrap().unwrap();
    assert_eq!((&board.table, &board.state), (&table("1.1172"), &state(at(2))));
    let looked = RateSourceCheck { expected: board.number, table: None, state: quiet(at(3)) };
    assert_eq!(harness.rates.record_source_check(looked).await, Ok(Applied::Done));
    let same = RatesInForce { state: quiet(at(3)), ..board.clone() };
    assert_eq!(
        harness.rates.find_rates().await,
        Ok(Some(same)),
        "the table stays, what was found of the feed does not"
    );
    let next = RateSourceCheck { expected: board.number, table: Some(table("1.2")), state: quiet(at(4)) };
    assert_eq!(harness.rates.record_source_check(next).await, Ok(Applied::Done));
    let newest = harness.rates.find_rates().await.unwrap().unwrap();
    assert_eq!((newest.table, harness.count("rate_table", "1 = 1")), (table("1.2"), 2));
}

pub async fn of_many_checks_of_the_source_one_brings_a_table(harness: Arc<Harness>) {
    for round in 0..4 {
        let expected = harness.rates.find_rates().await.unwrap().map_or(0, |board| board.number);
        let racers: Vec<_> = (1..=8)
            .map(|racer| {
                let (rates, usd) = (harness.rates.clone(), format!("1.{round}{racer}"));
                let look = RateSourceCheck { expected, table: Some(table(&usd)), state: quiet(at(racer)) };
                tokio::spawn(async move { (rates.record_source_check(look).await.unwrap(), usd) })
            })
            .collect();
        let mut won = vec![];
        for racer in racers {
            match racer.await.unwrap() {
                (Applied::Done, usd) => won.push(usd),
                (Applied::Stale, _) => {}
            }
        }
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(harness.rates.find_rates().await.unwrap().unwrap().table, table(&won[0]));
    }
}

pub async fn rate_settings_are_set_in_parts(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    assert_eq!(harness.rates.find_rate_settings(merchant.id).await, Ok(RateSettings::default()));
    let markup = |points| Markup::from_basis_points(points).unwrap();
    let markups = [(Currency::Usd, markup(2_000)), (Currency::Brl, markup(1))];
    let change = RateChange { form: Some(RateForm::Guaranteed), settlement: None, markups: markups.into() };
    assert_eq!(
        harness.rates.change_rates(merchant.id, None, change.clone(), audited()).await,
        Ok(AccountChanged::Done)
    );
    let mut settings = RateSettings::default().changed(&change);
    assert_eq!(harness.rates.find_rate_settings(merchant.id).await, Ok(settings.clone()));
    let more =
        RateChange { form: None, settlement: Some(Currency::Jpy), markups: [(Currency::Usd, Markup::NONE)].into() };
    assert_eq!(harness.rates.change_rates(merchant.id, None, more.clone(), audited()).await, Ok(AccountChanged::Done));
    settings = settings.changed(&more);
    assert_eq!(harness.rates.find_rate_settings(merchant.id).await, Ok(settings));
    assert_eq!(harness.rates.find_rate_settings(other.id).await, Ok(RateSettings::default()));
    let nobody = MerchantId::new(fresh());
    assert_eq!(harness.rates.change_rates(nobody, None, change, audited()).await, Ok(AccountChanged::Missing));
}

pub async fn of_many_who_set_rates_as_they_saw_them_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let seen = harness.rates.find_rate_settings(merchant.id).await.unwrap();
    let racers: Vec<_> = (1..=8)
        .map(|points| {
            let (rates, id, seen) = (harness.rates.clone(), merchant.id, Some(seen.clone()));
            let markups = [(Currency::Usd, Markup::from_basis_points(points).unwrap())].into();
            let change = RateChange { markups, ..RateChange::default() };
            tokio::spawn(async move { (points, rates.change_rates(id, seen, change, audited()).await.unwrap()) })
        })
        .collect();
    let mut won = Vec::new();
    for racer in racers {
        match racer.await.unwrap() {
            (points, AccountChanged::Done) => won.push(points),
            (_, other) => assert_eq!(other, AccountChanged::Stale),
        }
    }
    let settings = harness.rates.find_rate_settings(merchant.id).await.unwrap();
    let kept: Vec<_> = settings.pricing.markups.values().map(|markup| markup.basis_points()).collect();
    assert_eq!(kept, won);
}

pub async fn of_many_who_set_rates_none_is_lost(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let some = [Currency::Usd, Currency::Brl, Currency::Jpy, Currency::Kwd, Currency::Vnd, Currency::Gbp];
    let racers: Vec<_> = (some.into_iter().zip(1..))
        .map(|(currency, points)| {
            let (rates, id) = (harness.rates.clone(), merchant.id);
            let markups = [(currency, Markup::from_basis_points(points).unwrap())].into();
            let change = RateChange { markups, ..RateChange::default() };
            tokio::spawn(async move { rates.change_rates(id, None, change, audited()).await })
        })
        .collect();
    for racer in racers {
        assert_eq!(racer.await.unwrap(), Ok(AccountChanged::Done));
    }
    let settings = harness.rates.find_rate_settings(merchant.id).await.unwrap();
    assert_eq!(settings.pricing.markups.len(), some.len());
}

/// A set with an offer for each of these.
fn set(merchant: MerchantId, number: i64, created: u64, rates: &[(Currency, &str)]) -> OfferSet {
    let (created_at, expires_at) = (at(created), at(created + 86_400));
    let offer = |(currency, rate): &(Currency, &str)| Offer {
        id: RateOfferId::new(fresh()),
        merchant_id: merchant,
        rate: ExchangeRate::new(Currency::Gbp, *currency, rate.parse().unwrap()).unwrap(),
        created_at,
        expires_at,
    };
    let id = OfferSetId { number, created_at };
    let offers = rates.iter().map(offer).collect();
    OfferSet { id, merchant_id: merchant, settlement: Currency::Gbp, expires_at, offers }
}

pub async fn offers_come_back_whole_and_stay(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    assert_eq!(harness.rates.find_newest_offers(merchant.id).await, Ok(None));
    let first = set(merchant.id, 1, 0, &[(Currency::Bhd, "0.000000010203040506"), (Currency::Vnd, "999999999.999999")]);
    let second = set(merchant.id, 2, 21_600, &[(Currency::Bhd, "0.5")]);
    let theirs = set(other.id, 1, 5, &[]);
    for made in [&first, &second, &theirs] {
        assert_eq!(harness.rates.insert_offers(made.clone()).await, Ok(OffersInserted::Done));
    }
    assert_eq!(
        harness.rates.find_newest_offers(merchant.id).await,
        Ok(Some(second.clone())),
        "the one with the highest number"
    );
    assert_eq!(harness.rates.find_newest_offers(other.id).await, Ok(Some(theirs)));
    for offer in first.offers.iter().chain(&second.offers) {
        assert_eq!(harness.sessions.find_rate_offer(merchant.id, offer.id).await, Ok(Some(offer.clone())));
        assert_eq!(harness.sessions.find_rate_offer(other.id, offer.id).await, Ok(None), "another merchant's");
    }
    assert_eq!(harness.sessions.find_rate_offer(merchant.id, RateOfferId::new(fresh())).await, Ok(None));
    let again = set(merchant.id, 2, 30_000, &[(Currency::Usd, "1")]);
    assert_eq!(harness.rates.insert_offers(again.clone()).await, Ok(OffersInserted::Taken));
    assert_eq!(
        harness.sessions.find_rate_offer(merchant.id, again.offers[0].id).await,
        Ok(None),
        "nothing was written"
    );
    for table in ["rate_offer", "rate_offer_set"] {
        for statement in [format!("DELETE FROM {table}"), format!("UPDATE {table} SET merchant_id = '{}'", other.id)] {
            let why = harness.raw.execute(&statement).expect_err(&statement);
            assert!(why.contains("append"), "{statement}: {why}");
        }
    }
}

pub async fn of_many_who_make_offers_one_does(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for number in 1..=4 {
        let racers: Vec<_> = (0..32)
            .map(|_| {
                let wanted = set(merchant.id, number, 7, &[(Currency::Usd, "1.1"), (Currency::Jpy, "180")]);
                let rates = harness.rates.clone();
                tokio::spawn(async move { (rates.insert_offers(wanted.clone()).await.unwrap(), wanted) })
            })
            .collect();
        let mut made = vec![];
        for racer in racers {
            match racer.await.unwrap() {
                (OffersInserted::Done, wanted) => made.push(wanted),
                (OffersInserted::Taken, _) => {}
            }
        }
        assert_eq!(made.len(), 1);
        let mut newest = harness.rates.find_newest_offers(merchant.id).await.unwrap().unwrap();
        newest.offers.sort_unstable_by_key(|offer| offer.rate.quote());
        made[0].offers.sort_unstable_by_key(|offer| offer.rate.quote());
        assert_eq!(newest, made[0]);
    }
    assert_eq!((harness.count("rate_offer_set", "1 = 1"), harness.count("rate_offer", "1 = 1")), (4, 8));
}

pub async fn an_order_tells_the_rate_of_its_sale(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let sold = terms_with(|terms| terms.rate = Some(sale_rate(terms.currency)));
    let session = harness.session_with(merchant.id, sold.clone()).await;
    let submitted = harness.submitted_with(&session).await;
    let payment = harness.settle_authorized(&submitted).await;
    let order_details =
        harness.payments.find_order_details(merchant.id, &OrderName::Id(payment.order.id)).await.unwrap().unwrap();
    assert_eq!(order_details.rate, sold.rate);
    let (_, session) = harness.payments.find_order_anywhere(payment.order.id).await.unwrap().unwrap();
    assert_eq!(session.unwrap().terms.rate, sold.rate);
    let plain = harness.authorized(merchant.id).await;
    let order_details =
        harness.payments.find_order_details(merchant.id, &OrderName::Id(plain.order.id)).await.unwrap().unwrap();
    assert_eq!(order_details.rate, None);
}

pub async fn a_refund_keeps_what_it_takes_from_the_settlement(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let mut asked = refund(&payment, "return-1", Some(&minor(Currency::Usd, 990)), at(40));
    let share = minor(Currency::Kwd, 7);
    asked.refund.as_mut().unwrap().settlement = Some(share);
    harness.ask(&asked).await.unwrap();
    let wished = asked.refund.clone().unwrap();
    let found = harness.payment(asked.operation.id).await.refund;
    assert_eq!(found.as_ref(), Some(&wished));
    let kept = harness.payments.find_refund(merchant.id, payment.order.id, wished.id).await.unwrap().unwrap();
    assert_eq!(kept.settlement, Some(share));
    // The processor settled it by another rate.
    let mut settlement = refunded(&harness.payment(asked.operation.id).await, true, at(50));
    let refund = settlement.refund.as_mut().unwrap();
    refund.settlement = Some(minor(Currency::Kwd, 6));
    let settled = refund.clone();
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    assert_eq!(harness.payment(asked.operation.id).await.refund, Some(settled));
    for damage in ["settlement_currency = NULL", "settlement_minor = NULL", "settlement_minor = -1"] {
        let refused = harness.raw.execute(&format!("UPDATE refund SET {damage}"));
        assert!(refused.is_err(), "{damage}");
    }
}
