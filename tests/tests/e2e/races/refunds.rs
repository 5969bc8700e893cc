//! Refunds of one Order at once (docs/SPECIFICATION.md#order-refund): never more than was captured, and one refund for one reference.

use std::collections::BTreeSet;

use dropin_tests::{Paid, Response, World, cards, thousandths_of};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{CLIENTS, both_databases, counted, race};
use crate::PAID;

both_databases! {
    /// 64 times 1.00 of 29.90. A round takes seconds: a request that cannot write its outcome under this load leaves that to the settler.
    refunds_race_refunds: super::refunds_race_refunds => ["29 refunds"], few 1
}
both_databases! {
    /// All that is left against 10.00.
    all_races_a_part: super::all_races_a_part => ["all", "a part and the rest"]
}
both_databases! {
    /// One RefundReference with two amounts.
    one_reference_is_one_refund: super::one_reference_is_one_refund => ["10.00", "20.00"]
}

async fn captured(world: &World) -> Paid {
    let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
    world.receiver.expect(&paid.session, &PAID).await;
    paid
}

/// What became of the refunds: each made one event, and the merchant's list and the Order tell the same.
async fn refunds(world: &World, paid: &Paid, made: usize, refunded: i64) -> Vec<Value> {
    let events = [&PAID[..], &vec!["REFUND_SUCCEEDED"; made]].concat();
    world.receiver.expect(&paid.session, &events).await;
    assert_eq!(thousandths_of(&world.merchant.order_text(&paid.order).await, "RefundedAmount"), refunded);
    let list = world.merchant.about("GET", &paid.order, "/refund", None).await.json();
    let list = list["Refunds"].as_array().unwrap_or_else(|| panic!("{list}")).clone();
    assert_eq!(list.iter().filter(|refund| refund["State"] == "SUCCEEDED").count(), made, "{list:?}");
    list
}

fn count_of(answers: &[Response], status: u16, code: &str) -> usize {
    let all = counted(answers);
    all.into_iter()
        .filter(|((one, text), _)| *one == status && (code.is_empty() || text == code))
        .map(|(_, count)| count)
        .sum()
}

/// Repeats the request after a 503, which is safe: the reference is the same.
async fn patiently(ask: impl AsyncFn() -> Response) -> Response {
    for _ in 0..CLIENTS {
        let answer = ask().await;
        if answer.status != 503 {
            return answer;
        }
        let code = answer.code();
        assert!(
            ["SERVICE_UNAVAILABLE", "OUTCOME_UNKNOWN"].contains(&&*code) && answer.header("retry-after").is_some(),
            "{}",
            answer.text()
        );
    }
    panic!("503 for {CLIENTS} times");
}

async fn refunds_race_refunds(world: &World, round: usize) -> &'static str {
    let paid = captured(world).await;
    let asks = (0..CLIENTS).map(|client| {
        let reference = format!("{round} {client}");
        let paid = &paid;
        async move { patiently(async || world.merchant.refund(&paid.order, &reference, Some("1.00")).await).await }
    });
    let answers = join_all(asks).await;
    // 200: made by a request of the same client that was answered 503.
    assert_eq!(count_of(&answers, 201, "") + count_of(&answers, 200, ""), 29, "{:?}", counted(&answers));
    assert_eq!(count_of(&answers, 409, "REFUND_EXCEEDS_CAPTURED"), CLIENTS - 29, "{:?}", counted(&answers));
    refunds(world, &paid, 29, 29_000).await;
    "29 refunds"
}

async fn all_races_a_part(world: &World, round: usize) -> &'static str {
    let paid = captured(world).await;
    let ask = |side: &'static str, amount: Option<&'static str>| {
        let paid = &paid;
        let one =
            move |client| async move { world.merchant.refund(&paid.order, &format!("{side} {client}"), amount).await };
        (0..CLIENTS / 2).map(one).collect()
    };
    let (rest, parts) = race(round, ask("rest", None), ask("part", Some("10.00"))).await;
    let (rests, tens) = (count_of(&rest, 201, ""), count_of(&parts, 201, ""));
    assert_eq!(count_of(&rest, 409, "REFUND_EXCEEDS_CAPTURED"), CLIENTS / 2 - rests, "{:?}", counted(&rest));
    assert_eq!(count_of(&parts, 409, "REFUND_EXCEEDS_CAPTURED"), CLIENTS / 2 - tens, "{:?}", counted(&parts));
    // The rest is refunded whenever somebody who asked for it is served.
    assert!(rests == 1 && tens <= 2, "{rests} asked for the rest, {tens} for a part");
    refunds(world, &paid, rests + tens, 29_900).await;
    if tens == 0 { "all" } else { "a part and the rest" }
}

async fn one_reference_is_one_refund(world: &World, round: usize) -> &'static str {
    let paid = captured(world).await;
    let ask = |amount| {
        let paid = &paid;
        let one = move |_| async move { world.merchant.refund(&paid.order, "the same", Some(amount)).await };
        (0..CLIENTS / 2).map(one).collect()
    };
    let (tens, twenties) = race(round, ask("10.00"), ask("20.00")).await;
    let (won, lost, amount, outcome) = match count_of(&tens, 201, "") {
        1 => (tens, twenties, 10_000, "10.00"),
        _ => (twenties, tens, 20_000, "20.00"),
    };
    assert_eq!((count_of(&won, 201, ""), count_of(&won, 200, "")), (1, CLIENTS / 2 - 1), "{:?}", counted(&won));
    assert_eq!(count_of(&lost, 409, "DUPLICATE_REFUND_REFERENCE"), CLIENTS / 2, "{:?}", counted(&lost));
    let ids: BTreeSet<_> = won.iter().map(|answer| answer.json()["RefundId"].to_string()).collect();
    assert_eq!(ids.len(), 1, "one refund: {ids:?}");
    let list = refunds(world, &paid, 1, amount).await;
    assert_eq!(list[0]["RefundId"].to_string(), ids.into_iter().next().unwrap());
    outcome
}
