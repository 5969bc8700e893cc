use std::sync::Arc;

use dropin_access::{RateChange, RateForm, RateSettings};
use dropin_kernel::{MerchantId, RateOfferId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{AccountChanged, Applied, FeedLook, FeedState, OfferSet, OffersInserted, OrderName, RateBoard};
use dropin_rates::{Dated, Markup, Offer, OfferSetId, Quote, Refusal, RefusedQuote, Source, Table};
use time::macros::date;

use crate::Bench;
use crate::steps::refund;
use crate::values::{at, fresh, minor, sale_rate, terms};

fn quote(rate: &str, dated: Dated, source: Source) -> Quote {
    Quote { rate: rate.parse().unwrap(), dated, source }
}

/// A table with a quote of every sort.
fn table(usd: &str) -> Table {
    let today = Dated::On(date!(2026 - 11 - 20));
    Table::from_iter([
        (Currency::Usd, quote(usd, today, Source::Primary)),
        (Currency::Rub, quote("117.201", Dated::On(date!(2022 - 03 - 01)), Source::Primary)),
        (Currency::Aed, quote("4.10285", today, Source::Supplement)),
        (Currency::Hrk, quote("7.5345", Dated::Always, Source::Fixed)),
        (Currency::Vnd, quote("999999999.999999", Dated::Always, Source::Sandbox)),
    ])
}

fn state(now: Timestamp) -> FeedState {
    let refused = |why, former| RefusedQuote {
        currency: Currency::Try,
        why,
        former,
        offered: quote("0.00000001", Dated::On(date!(2026 - 11 - 21)), Source::Supplement),
    };
    FeedState {
        checked_at: now,
        next_at: now.plus(std::time::Duration::from_secs(900)),
        stale_at: Some(at(500_000)),
        left_behind: vec![Currency::Rub],
        problem: Some("supplement: \"it\" cannot be read ✂".to_owned()),
        refused: vec![
            refused(Refusal::Jump, Some(quote("55.1", Dated::On(date!(2026 - 11 - 20)), Source::Primary))),
            refused(Refusal::Future, None),
        ],
    }
}

fn quiet(now: Timestamp) -> FeedState {
    FeedState { stale_at: None, left_behind: vec![], problem: None, refused: vec![], ..state(now) }
}

pub async fn the_table_in_force_comes_back_whole(bench: Arc<Bench>) {
    assert_eq!(bench.rates.find_rates().await, Ok(None));
    // Nothing could be read yet.
    let nothing = FeedLook { expected: 0, table: None, state: state(at(1)) };
    assert_eq!(bench.rates.note_feed(nothing).await, Ok(Applied::Done));
    let board = RateBoard { number: 0, table: Table::default(), state: state(at(1)) };
    assert_eq!(bench.rates.find_rates().await, Ok(Some(board)));
    let first = FeedLook { expected: 0, table: Some(table("1.1172")), state: state(at(2)) };
    assert_eq!(bench.rates.note_feed(first).await, Ok(Applied::Done));
    let board = bench.rates.find_rates().await.unwrap().unwrap();
    assert_eq!((&board.table, &board.state), (&table("1.1172"), &state(at(2))));
    let looked = FeedLook { expected: board.number, table: None, state: quiet(at(3)) };
    assert_eq!(bench.rates.note_feed(looked).await, Ok(Applied::Done));
    let same = RateBoard { state: quiet(at(3)), ..board.clone() };
    assert_eq!(bench.rates.find_rates().await, Ok(Some(same)), "the table stays, what was found of the feed does not");
    let next = FeedLook { expected: board.number, table: Some(table("1.2")), state: quiet(at(4)) };
    assert_eq!(bench.rates.note_feed(next).await, Ok(Applied::Done));
    let newest = bench.rates.find_rates().await.unwrap().unwrap();
    assert_eq!((newest.table, bench.count("rate_table", "1 = 1")), (table("1.2"), 2));
}

pub async fn of_many_looks_at_the_feed_one_brings_a_table(bench: Arc<Bench>) {
    for round in 0..4 {
        let expected = bench.rates.find_rates().await.unwrap().map_or(0, |board| board.number);
        let racers: Vec<_> = (1..=8)
            .map(|racer| {
                let (rates, usd) = (bench.rates.clone(), format!("1.{round}{racer}"));
                let look = FeedLook { expected, table: Some(table(&usd)), state: quiet(at(racer)) };
                tokio::spawn(async move { (rates.note_feed(look).await.unwrap(), usd) })
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
        assert_eq!(bench.rates.find_rates().await.unwrap().unwrap().table, table(&won[0]));
    }
}

pub async fn rate_settings_are_set_in_parts(bench: Arc<Bench>) {
    let ((merchant, _), (other, _)) = (bench.merchant().await, bench.merchant().await);
    assert_eq!(bench.rates.find_rate_settings(merchant.id).await, Ok(RateSettings::default()));
    let markup = |points| Markup::from_basis_points(points).unwrap();
    let markups = [(Currency::Usd, markup(2_000)), (Currency::Brl, markup(1))];
    let change = RateChange { form: Some(RateForm::Guaranteed), settlement: None, markups: markups.into() };
    assert_eq!(bench.rates.change_rates(merchant.id, change.clone()).await, Ok(AccountChanged::Done));
    let mut settings = RateSettings::default().changed(&change);
    assert_eq!(bench.rates.find_rate_settings(merchant.id).await, Ok(settings.clone()));
    let more =
        RateChange { form: None, settlement: Some(Currency::Jpy), markups: [(Currency::Usd, Markup::NONE)].into() };
    assert_eq!(bench.rates.change_rates(merchant.id, more.clone()).await, Ok(AccountChanged::Done));
    settings = settings.changed(&more);
    assert_eq!(bench.rates.find_rate_settings(merchant.id).await, Ok(settings));
    assert_eq!(bench.rates.find_rate_settings(other.id).await, Ok(RateSettings::default()));
    let nobody = MerchantId::new(fresh());
    assert_eq!(bench.rates.change_rates(nobody, change).await, Ok(AccountChanged::Missing));
}

pub async fn of_many_who_set_rates_none_is_lost(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let some = [Currency::Usd, Currency::Brl, Currency::Jpy, Currency::Kwd, Currency::Vnd, Currency::Gbp];
    let racers: Vec<_> = (some.into_iter().zip(1..))
        .map(|(currency, points)| {
            let (rates, id) = (bench.rates.clone(), merchant.id);
            let markups = [(currency, Markup::from_basis_points(points).unwrap())].into();
            let change = RateChange { markups, ..RateChange::default() };
            tokio::spawn(async move { rates.change_rates(id, change).await })
        })
        .collect();
    for racer in racers {
        assert_eq!(racer.await.unwrap(), Ok(AccountChanged::Done));
    }
    let settings = bench.rates.find_rate_settings(merchant.id).await.unwrap();
    assert_eq!(settings.pricing.markups.len(), some.len());
}

/// A set with an offer for each of these.
fn set(merchant: MerchantId, number: i64, created: u64, rates: &[(Currency, &str)]) -> OfferSet {
    let (created_at, expires_at) = (at(created), at(created + 86_400));
    let offer = |(currency, rate): &(Currency, &str)| Offer {
        id: RateOfferId::new(fresh()),
        merchant_id: merchant,
        settlement: Currency::Gbp,
        currency: *currency,
        rate: rate.parse().unwrap(),
        created_at,
        expires_at,
    };
    let id = OfferSetId { number, created_at };
    let offers = rates.iter().map(offer).collect();
    OfferSet { id, merchant_id: merchant, settlement: Currency::Gbp, expires_at, offers }
}

pub async fn offers_come_back_whole_and_stay(bench: Arc<Bench>) {
    let ((merchant, _), (other, _)) = (bench.merchant().await, bench.merchant().await);
    assert_eq!(bench.rates.find_newest_offers(merchant.id).await, Ok(None));
    let first = set(merchant.id, 1, 0, &[(Currency::Bhd, "0.000000010203040506"), (Currency::Vnd, "999999999.999999")]);
    let second = set(merchant.id, 2, 21_600, &[(Currency::Bhd, "0.5")]);
    let theirs = set(other.id, 1, 5, &[]);
    for made in [&first, &second, &theirs] {
        assert_eq!(bench.rates.insert_offers(made.clone()).await, Ok(OffersInserted::Done));
    }
    assert_eq!(
        bench.rates.find_newest_offers(merchant.id).await,
        Ok(Some(second.clone())),
        "the one with the highest number"
    );
    assert_eq!(bench.rates.find_newest_offers(other.id).await, Ok(Some(theirs)));
    for offer in first.offers.iter().chain(&second.offers) {
        assert_eq!(bench.sessions.find_rate_offer(merchant.id, offer.id).await, Ok(Some(offer.clone())));
        assert_eq!(bench.sessions.find_rate_offer(other.id, offer.id).await, Ok(None), "another merchant's");
    }
    assert_eq!(bench.sessions.find_rate_offer(merchant.id, RateOfferId::new(fresh())).await, Ok(None));
    let again = set(merchant.id, 2, 30_000, &[(Currency::Usd, "1")]);
    assert_eq!(bench.rates.insert_offers(again.clone()).await, Ok(OffersInserted::Taken));
    assert_eq!(bench.sessions.find_rate_offer(merchant.id, again.offers[0].id).await, Ok(None), "nothing was written");
    for table in ["rate_offer", "rate_offer_set"] {
        for statement in [format!("DELETE FROM {table}"), format!("UPDATE {table} SET merchant_id = '{}'", other.id)] {
            let why = bench.raw.execute(&statement).expect_err(&statement);
            assert!(why.contains("append"), "{statement}: {why}");
        }
    }
}

pub async fn of_many_who_make_offers_one_does(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    for number in 1..=4 {
        let racers: Vec<_> = (0..32)
            .map(|_| {
                let wanted = set(merchant.id, number, 7, &[(Currency::Usd, "1.1"), (Currency::Jpy, "180")]);
                let rates = bench.rates.clone();
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
        let mut newest = bench.rates.find_newest_offers(merchant.id).await.unwrap().unwrap();
        newest.offers.sort_unstable_by_key(|offer| offer.currency);
        made[0].offers.sort_unstable_by_key(|offer| offer.currency);
        assert_eq!(newest, made[0]);
    }
    assert_eq!((bench.count("rate_offer_set", "1 = 1"), bench.count("rate_offer", "1 = 1")), (4, 8));
}

pub async fn an_order_tells_the_rate_of_its_sale(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let mut sold = terms();
    sold.rate = Some(sale_rate());
    let session = bench.session_with(merchant.id, sold.clone()).await;
    let submitted = bench.submitted_with(&session).await;
    let payment = bench.settle_authorized(&submitted).await;
    let dossier = bench.payments.find_dossier(merchant.id, &OrderName::Id(payment.order.id)).await.unwrap().unwrap();
    assert_eq!(dossier.rate, sold.rate);
    let (_, session) = bench.payments.find_order_anywhere(payment.order.id).await.unwrap().unwrap();
    assert_eq!(session.unwrap().terms.rate, sold.rate);
    let plain = bench.authorized(merchant.id).await;
    let dossier = bench.payments.find_dossier(merchant.id, &OrderName::Id(plain.order.id)).await.unwrap().unwrap();
    assert_eq!(dossier.rate, None);
}

pub async fn a_refund_keeps_what_it_takes_from_the_settlement(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.processed(merchant.id).await;
    let mut asked = refund(&payment, "return-1", Some(&minor(Currency::Usd, 990)), at(40));
    let share = minor(Currency::Kwd, 7);
    asked.refund.as_mut().unwrap().settlement = Some(share.clone());
    bench.ask(&asked).await.unwrap();
    let wished = asked.refund.clone().unwrap();
    let found = bench.payment(asked.operation.id).await.refund;
    assert_eq!(found.as_ref(), Some(&wished));
    let kept = bench.payments.find_refund(merchant.id, payment.order.id, wished.id).await.unwrap().unwrap();
    assert_eq!(kept.settlement, Some(share));
    for damage in ["settlement_currency = NULL", "settlement_minor = NULL", "settlement_minor = -1"] {
        let refused = bench.raw.execute(&format!("UPDATE refund SET {damage}"));
        assert!(refused.is_err(), "{damage}");
    }
}
