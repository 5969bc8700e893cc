use std::sync::Arc;
use std::time::Duration;

use dropin_card::LastFour;
use dropin_kernel::{MerchantId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_order::{Order, OrderState};
use dropin_ports::{OrderSearch, SearchBounds, SearchFilter, SessionSearch, Settled};
use dropin_session::SessionStateKind;
use dropin_validation::Email;

use crate::Harness;
use crate::harness::approval;
use crate::steps::checkout;
use crate::values::{at, fresh, profile, terms};

fn all(filter: SearchFilter) -> OrderSearch {
    OrderSearch {
        filter,
        state: None,
        under_review: false,
        payment_method: None,
        last_four: None,
        after: None,
        limit: 100,
        bounds: SearchBounds::default(),
    }
}

async fn found(harness: &Harness, search: OrderSearch) -> Vec<OrderId> {
    let page = harness.back_office.search_orders(search).await.unwrap();
    assert_eq!(page.next, None, "all of it fits one page");
    page.found.iter().map(|order| order.id).collect()
}

async fn named(harness: &Harness, filter: SearchFilter) -> Vec<OrderId> {
    found(harness, all(filter)).await
}

pub async fn orders_come_newest_first_in_pages(harness: Arc<Harness>) {
    let ((one, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let mut known = Vec::new();
    for merchant in [one.id, other.id, one.id, one.id, other.id] {
        known.push(harness.submitted(merchant).await.order);
    }
    let reference = format!("later-{}", fresh());
    let later = checkout(one.id, &reference, at(50));
    harness.payments.prepare_authorization(later.clone()).await.unwrap();
    known.push(later.order);
    known.sort_by_key(|order| std::cmp::Reverse((order.created_at, order.id)));
    for merchants in [None, Some(vec![one.id]), Some(vec![one.id, other.id]), Some(vec![])] {
        let fits =
            |order: &&Order| merchants.as_ref().is_none_or(|all: &Vec<MerchantId>| all.contains(&order.merchant_id));
        let expected: Vec<_> = known.iter().filter(fits).map(|order| order.id).collect();
        let filter = SearchFilter { merchants: merchants.clone(), ..SearchFilter::default() };
        let (mut pages, mut search) = (Vec::new(), OrderSearch { limit: 2, ..all(filter) });
        loop {
            let page = harness.back_office.search_orders(search.clone()).await.unwrap();
            assert!(page.found.len() <= 2, "{page:?}");
            pages.extend(page.found.iter().map(|order| order.id));
            search.after = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(pages, expected, "{merchants:?}");
    }
}

pub async fn orders_fit_every_filter(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let processed = harness.processed(merchant.id).await.order;
    let waiting = harness.submitted(merchant.id).await.order;
    let both = found(&harness, all(SearchFilter::default())).await;
    assert_eq!(both.len(), 2);
    let with = |edit: fn(&mut OrderSearch)| {
        let mut search = all(SearchFilter::default());
        edit(&mut search);
        search
    };
    assert_eq!(found(&harness, with(|search| search.state = Some(OrderState::Processed))).await, [processed.id]);
    assert_eq!(found(&harness, with(|search| search.state = Some(OrderState::Processing))).await, [waiting.id]);
    assert_eq!(found(&harness, with(|search| search.state = Some(OrderState::Declined))).await, []);
    assert_eq!(found(&harness, with(|search| search.under_review = true)).await, []);
    assert_eq!(found(&harness, with(|search| search.payment_method = Some("NOBODY".to_owned()))).await, []);
    let method = processed.payment_method.clone();
    let by_method = OrderSearch { payment_method: Some(method), ..all(SearchFilter::default()) };
    assert_eq!(found(&harness, by_method).await, both);
    let currency = processed.total.currency();
    let in_currency = |currency| SearchFilter { currency: Some(currency), ..SearchFilter::default() };
    assert_eq!(named(&harness, in_currency(currency)).await, both);
    assert_eq!(named(&harness, in_currency(Currency::Try)).await, []);
    let total = |total: Amount| SearchFilter { totals: Some(vec![total]), ..SearchFilter::default() };
    assert_eq!(named(&harness, total(processed.total)).await, both);
    let elsewhere = Amount::from_minor(Currency::Try, processed.total.minor()).unwrap();
    assert_eq!(named(&harness, total(elsewhere)).await, [], "as many minor units of another currency");
    for (since, until, expected) in [(10, 11, 2), (11, 12, 0), (9, 10, 0), (0, 100, 2)] {
        let filter = SearchFilter { since: Some(at(since)), until: Some(at(until)), ..SearchFilter::default() };
        assert_eq!(named(&harness, filter).await.len(), expected, "{since} to {until}");
    }
    let under_review = format!("UPDATE purchase_order SET under_review = TRUE WHERE id = '{}'", waiting.id);
    harness.raw.execute(&under_review).unwrap();
    assert_eq!(found(&harness, with(|search| search.under_review = true)).await, [waiting.id]);
}

pub async fn orders_are_found_by_what_they_are_named_by(harness: Arc<Harness>) {
    let ((one, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let order = harness.submitted(one.id).await.order;
    let reference = order.merchant_reference.clone();
    let by = |reference: &str| SearchFilter { reference: Some(reference.to_owned()), ..SearchFilter::default() };
    assert_eq!(named(&harness, by(&reference)).await, [order.id]);
    let beginning: String = reference.chars().take(reference.chars().count() - 1).collect();
    assert!(named(&harness, by(&beginning)).await.contains(&order.id), "a beginning is enough");
    assert_eq!(named(&harness, by(&format!("{reference}x"))).await, []);
    assert_eq!(named(&harness, by("%")).await, [], "nothing in it is a pattern");
    let of_other = SearchFilter { merchants: Some(vec![other.id]), ..by(&reference) };
    assert_eq!(named(&harness, of_other).await, []);
    // A server-to-server checkout, whose consumer said an address.
    let taken = format!("checkout-{}", fresh());
    let mut prepare = checkout(other.id, &taken, at(20));
    let document = "{\"Consumer\": {\"Email\": \"Bob@Shop.example\"}}".to_owned();
    prepare.checkout.as_mut().unwrap().document = document;
    harness.payments.prepare_authorization(prepare.clone()).await.unwrap();
    assert_eq!(named(&harness, by(&taken)).await, [prepare.order.id]);
    let at_address = |email: &str| SearchFilter { email: Some(email.to_owned()), ..SearchFilter::default() };
    assert_eq!(named(&harness, at_address("bob@shop.EXAMPLE")).await, [prepare.order.id]);
    assert_eq!(named(&harness, at_address("bob@shop.example.org")).await, []);
    // The shopper of a Session.
    let mut ada = profile(None);
    ada.details.email = Email::parse("Email", "Ada@Shop.example").unwrap();
    let session = terms().edited(|parts| parts.billing = ada).unwrap();
    let session = harness.session_with(one.id, session).await;
    let paid = harness.submitted_with(&session).await.order;
    assert_eq!(named(&harness, at_address("ada@shop.example")).await, [paid.id]);
    let both = SearchFilter { email: Some("ada@shop.example".to_owned()), ..by(&reference) };
    assert_eq!(named(&harness, both).await, [], "of another reference");
    the_rest_has_to_fit_too(&harness, &order).await;
}

/// What is named by its reference is found only where everything else fits.
async fn the_rest_has_to_fit_too(harness: &Harness, order: &Order) {
    let (created_at, later) = (order.created_at, order.created_at.plus(Duration::from_secs(3600)));
    let another = Amount::from_minor(order.total.currency(), order.total.minor() + 1).unwrap();
    let by = || SearchFilter { reference: Some(order.merchant_reference.clone()), ..SearchFilter::default() };
    for (what, filter, is_found) in [
        ("its time", SearchFilter { since: Some(created_at), until: Some(later), ..by() }, true),
        ("later", SearchFilter { since: Some(later), ..by() }, false),
        ("before", SearchFilter { until: Some(created_at), ..by() }, false),
        ("its total", SearchFilter { totals: Some(vec![another, order.total]), ..by() }, true),
        ("another total", SearchFilter { totals: Some(vec![another]), ..by() }, false),
        ("another currency", SearchFilter { currency: Some(Currency::Try), ..by() }, false),
    ] {
        assert_eq!(named(harness, filter).await.len(), usize::from(is_found), "{what}");
    }
    let by_name = || all(by());
    for (state, is_found) in [(order.state, true), (OrderState::Declined, false)] {
        let search = OrderSearch { state: Some(state), ..by_name() };
        assert_eq!(found(harness, search).await.len(), usize::from(is_found), "{}", state.as_str());
    }
    for (method, is_found) in [(order.payment_method.as_str(), true), ("TRANSFER", false)] {
        let search = OrderSearch { payment_method: Some(method.to_owned()), ..by_name() };
        assert_eq!(found(harness, search).await.len(), usize::from(is_found), "{method}");
    }
    assert_eq!(found(harness, OrderSearch { under_review: true, ..by_name() }).await, []);
}

pub async fn orders_are_found_by_the_end_of_a_card(harness: Arc<Harness>) {
    let ((one, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let four = |digits: &str| digits.parse::<LastFour>().unwrap();
    let mut paid = Vec::new();
    for (merchant, digits) in [(one.id, "4242"), (one.id, "0341"), (other.id, "4242")] {
        let payment = harness.submitted(merchant).await;
        let mut settlement = approval(&payment);
        let change = settlement.order.as_mut().unwrap();
        change.next = change.next.clone().with_last_four(four(digits));
        assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
        let kept = harness.payment(payment.operation.id).await.order;
        assert_eq!(kept.last_four, Some(four(digits)), "it is kept");
        paid.push(kept);
    }
    harness.submitted(one.id).await;
    let ends = |digits, filter| OrderSearch { last_four: Some(four(digits)), ..all(filter) };
    let mut both = [paid[0].id, paid[2].id];
    both.sort_by_key(|id| std::cmp::Reverse(*id));
    assert_eq!(found(&harness, ends("4242", SearchFilter::default())).await, both);
    assert_eq!(found(&harness, ends("0341", SearchFilter::default())).await, [paid[1].id], "with its zero");
    assert_eq!(found(&harness, ends("9999", SearchFilter::default())).await, []);
    let of_one = SearchFilter { merchants: Some(vec![one.id]), ..SearchFilter::default() };
    assert_eq!(found(&harness, ends("4242", of_one.clone())).await, [paid[0].id]);
    let nobody = MerchantId::new(fresh());
    let of_two = SearchFilter { merchants: Some(vec![nobody, one.id]), ..SearchFilter::default() };
    let bounds = SearchBounds { found: 1, ..SearchBounds::default() };
    let search = OrderSearch { bounds, ..ends("4242", of_two) };
    assert_eq!(found(&harness, search).await, [paid[0].id], "among the merchants meant, however many others have");
    let reference = SearchFilter { reference: Some(paid[1].merchant_reference.clone()), ..of_one };
    assert_eq!(found(&harness, ends("4242", reference.clone())).await, [], "both have to fit");
    assert_eq!(found(&harness, ends("0341", reference)).await, [paid[1].id]);
    for (since, until, count) in [(10, 11, 2), (11, 12, 0), (9, 10, 0)] {
        let filter = SearchFilter { since: Some(at(since)), until: Some(at(until)), ..SearchFilter::default() };
        assert_eq!(found(&harness, ends("4242", filter)).await.len(), count, "{since} to {until}");
    }
    let wrong = format!("UPDATE purchase_order SET card_last_four = '42424' WHERE id = '{}'", paid[0].id);
    assert!(
        harness.raw.execute(&wrong).unwrap_err().contains("purchase_order_card_last_four_digits"),
        "no more than four digits"
    );
}

pub async fn sessions_are_searched_like_orders(harness: Arc<Harness>) {
    let ((one, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let created = harness.session(one.id).await;
    let submitted = harness.submitted(one.id).await.session.unwrap();
    let foreign = harness.session(other.id).await;
    let search =
        |filter, state| SessionSearch { filter, state, after: None, limit: 100, bounds: SearchBounds::default() };
    let ids = async |search: SessionSearch| {
        let page = harness.back_office.search_sessions(search).await.unwrap();
        assert_eq!(page.next, None);
        page.found.iter().map(|session| session.id).collect::<Vec<_>>()
    };
    let mut every = vec![created.id, submitted.id, foreign.id];
    every.sort_by_key(|id| std::cmp::Reverse(*id));
    assert_eq!(ids(search(SearchFilter::default(), None)).await, every);
    let of_one = SearchFilter { merchants: Some(vec![one.id]), ..SearchFilter::default() };
    assert_eq!(ids(search(of_one.clone(), Some(SessionStateKind::Created))).await, [created.id]);
    assert_eq!(ids(search(of_one.clone(), Some(SessionStateKind::Processing))).await, [submitted.id]);
    let reference = created.terms.merchant_reference.as_str().to_owned();
    let by_reference = SearchFilter { reference: Some(reference), ..of_one };
    assert_eq!(ids(search(by_reference.clone(), None)).await, [created.id]);
    assert_eq!(ids(search(by_reference.clone(), Some(SessionStateKind::Created))).await, [created.id]);
    assert_eq!(ids(search(by_reference.clone(), Some(SessionStateKind::Processing))).await, []);
    let later = SearchFilter { since: Some(created.created_at.plus(Duration::from_secs(1))), ..by_reference };
    assert_eq!(ids(search(later, None)).await, []);
    let mut pages = Vec::new();
    let mut next = SessionSearch { limit: 1, ..search(SearchFilter::default(), None) };
    loop {
        let page = harness.back_office.search_sessions(next.clone()).await.unwrap();
        pages.extend(page.found.iter().map(|session| session.id));
        next.after = page.next;
        if page.next.is_none() {
            break;
        }
    }
    assert_eq!(pages, every);
}

pub async fn orders_are_summed(harness: Arc<Harness>) {
    let ((one, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let processed = harness.processed(one.id).await.order;
    harness.submitted(one.id).await;
    harness.authorized(other.id).await;
    let totals = async |merchant, since, until| {
        let mut totals = harness.back_office.payment_totals(merchant, at(since), at(until)).await.unwrap();
        totals.sort_by_key(|one| (one.state.as_str(), one.captured_minor));
        totals.into_iter().map(|one| (one.state, one.is_approved, one.count, one.captured_minor)).collect::<Vec<_>>()
    };
    let total = processed.total.minor();
    let of_one = [(OrderState::Processed, true, 1, total), (OrderState::Processing, false, 1, 0)];
    assert_eq!(totals(Some(one.id), 0, 100).await, of_one);
    assert_eq!(totals(None, 0, 100).await.iter().map(|(_, _, count, _)| count).sum::<u64>(), 3);
    assert_eq!(totals(None, 11, 100).await, [], "before the span");
    assert_eq!(totals(None, 0, 10).await, [], "behind the span");
}

pub async fn a_name_is_looked_for_among_the_merchants_meant(harness: Arc<Harness>) {
    let ((one, _), (other, _), (crowd, _)) =
        (harness.merchant().await, harness.merchant().await, harness.merchant().await);
    let order = async |merchant, reference: String, second| {
        let mut prepare = checkout(merchant, &reference, at(second));
        prepare.checkout.as_mut().unwrap().document = "{\"Consumer\": {\"Email\": \"eve@shop.example\"}}".to_owned();
        harness.payments.prepare_authorization(prepare.clone()).await.unwrap();
        prepare.order.id
    };
    let bounds = SearchBounds { found: 3, scanned: 100 };
    let first = order(one.id, "z-named-1".to_owned(), 10).await;
    let wanted = vec![order(other.id, "z-named-2".to_owned(), 14).await, first];
    for second in 20..25 {
        order(crowd.id, format!("a-named-{second}"), second).await;
    }
    let email = || SearchFilter { email: Some("EVE@shop.example".to_owned()), ..SearchFilter::default() };
    let search = async |filter, bounds| {
        let page = harness.back_office.search_orders(OrderSearch { bounds, ..all(filter) }).await.unwrap();
        (page.found.iter().map(|order| order.id).collect::<Vec<_>>(), page.is_cut)
    };
    let two = Some(vec![one.id, other.id]);
    assert_eq!(search(SearchFilter { merchants: two.clone(), ..email() }, bounds).await, (wanted, false));
    let (newest, is_cut) = search(email(), bounds).await;
    let every = search(email(), SearchBounds::default()).await;
    assert_eq!((&newest[..], is_cut), (&every.0[..3], true), "the newest, and that there are more");
    assert_eq!((every.0.len(), every.1), (7, false));
    // The same by the beginning of a reference that all have.
    let mut of_all = Vec::new();
    for (merchant, second) in [(one.id, 40), (crowd.id, 41), (crowd.id, 42), (crowd.id, 43), (crowd.id, 44)] {
        of_all.push(order(merchant, format!("shared-{}", 99 - second), second).await);
    }
    let shared = || SearchFilter { reference: Some("shared-".to_owned()), ..SearchFilter::default() };
    assert_eq!(search(SearchFilter { merchants: two, ..shared() }, bounds).await, (vec![of_all[0]], false));
    assert_eq!(search(shared(), bounds).await, (vec![of_all[4], of_all[3], of_all[2]], true));
}

pub async fn addresses_fold_ascii_letters_alone(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut prepare = checkout(merchant.id, "folded", at(20));
    let document = "{\"Consumer\": {\"Email\": \"BJÖRN@shop.example\"}}";
    prepare.checkout.as_mut().unwrap().document = document.to_owned();
    harness.payments.prepare_authorization(prepare.clone()).await.unwrap();
    let at_address = |email: &str| SearchFilter { email: Some(email.to_owned()), ..SearchFilter::default() };
    assert_eq!(named(&harness, at_address("bjÖrn@SHOP.example")).await, [prepare.order.id]);
    assert_eq!(named(&harness, at_address("björn@shop.example")).await, []);
}

pub async fn a_search_goes_through_a_bounded_number_of_rows(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for number in 0..5 {
        let made = checkout(merchant.id, &format!("scanned-{number}"), at(50 + number));
        harness.payments.prepare_authorization(made).await.unwrap();
    }
    harness.session(merchant.id).await;
    harness.session(merchant.id).await;
    let rounds = async |since: u64| {
        let filter = SearchFilter { since: Some(at(since)), currency: Some(Currency::Try), ..SearchFilter::default() };
        let bounds = SearchBounds { found: 200, scanned: 3 };
        let (mut search, mut rounds) = (OrderSearch { bounds, ..all(filter) }, 1);
        loop {
            let page = harness.back_office.search_orders(search.clone()).await.unwrap();
            assert_eq!(page.found, []);
            search.after = page.next;
            if search.after.is_none() {
                return rounds;
            }
            rounds += 1;
        }
    };
    assert_eq!(rounds(0).await, 2, "three rows, then two");
    assert_eq!(rounds(53).await, 1, "the third row is before the beginning: there is nothing further back");
    let sessions = async |since: u64| {
        let filter = SearchFilter { since: Some(at(since)), currency: Some(Currency::Try), ..SearchFilter::default() };
        let bounds = SearchBounds { found: 200, scanned: 1 };
        let search = SessionSearch { filter, state: None, after: None, limit: 100, bounds };
        harness.back_office.search_sessions(search).await.unwrap().next.is_some()
    };
    assert_eq!((sessions(0).await, sessions(1_000).await), (true, false));
}

pub async fn open_operations_are_listed_for_their_merchants(harness: Arc<Harness>) {
    let ((one, _), (other, _), (third, _)) =
        (harness.merchant().await, harness.merchant().await, harness.merchant().await);
    let mut open = Vec::new();
    for merchant in [one.id, third.id, other.id, one.id] {
        open.push(harness.submitted(merchant).await.operation);
    }
    harness.authorized(one.id).await;
    let listed = async |merchants, limit| harness.back_office.list_open_operations_of(merchants, limit).await.unwrap();
    let both = [open[0].clone(), open[2].clone(), open[3].clone()];
    assert_eq!(listed(vec![one.id, other.id], 10).await, both);
    assert_eq!(listed(vec![one.id, other.id], 2).await, both[..2]);
    assert_eq!(listed(vec![], 10).await, []);
}
