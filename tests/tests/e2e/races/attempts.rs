//! Attempts of one Session at once (docs/SPECIFICATION.md#session-attempts). Shoppers leave the page of the first attempt, come back from it and press its buttons, other
//! browsers submit other cards, and the merchant replaces and cancels: one attempt keeps its money at most, and the merchant is told of that one alone.

use std::time::Duration;

use dropin_tests::{Response, Stashed, World, cards, until};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, join_all};
use serde_json::{Value, json};

use super::settler::{Settler, with_settler};
use super::{CLIENTS, both_databases, only};
use crate::{PAID, head_start};

both_databases! {
    /// The page of the first attempt, every other way to pay, and the end of the Session.
    attempts_race_each_other: super::with_settler(super::AHEAD, super::attempts_race_each_other) => ["another attempt is paid", "none is paid", "the page is paid"]
}

/// Longer than a Session lives.
const AHEAD: Duration = Duration::from_secs(25 * 60 * 60);
/// How often a browser submits again when it is told that it cannot be done now.
const SUBMITS: usize = 25;
/// How long everything may take to come to rest.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(40);

/// What a client did, and what it was told.
pub(super) type Done = (&'static str, Response);
pub(super) type Client<'a> = LocalBoxFuture<'a, Done>;

/// A Session whose first attempt waits on a page.
pub(super) struct Opened {
    pub(super) session: String,
    pub(super) attempt: String,
    pub(super) order: String,
    /// The processor's last line of before.
    pub(super) before: i64,
    page: String,
    form: String,
    /// The button that pays.
    pay: &'static str,
    /// What the Session differs in from others, in PUTs too.
    change: Value,
}

impl Opened {
    /// In turn by a wallet, by a card with 3-D Secure, and by a bank that takes the money at once.
    pub(super) async fn new(world: &World, round: usize) -> Self {
        let before = world.journal().await.entries.last().map_or(0, |entry| entry.number);
        let change = if round % 3 == 2 { world.merchant.dutch() } else { json!({"AutoCapture": true}) };
        let session = world.merchant.create_session(change.clone()).await;
        let shopper = world.shopper(&session);
        let (attempt, submitted) = match round % 3 {
            0 => shopper.submit_method_as("PAYPAL").await,
            1 => {
                let stashed = shopper.stash("first", cards::CHALLENGED).await;
                (stashed.attempt.clone(), shopper.submit(1, &stashed).await)
            }
            _ => shopper.submit_method_as("IDEAL").await,
        };
        let progress = submitted.json();
        let page = progress["RedirectUrl"].as_str().unwrap_or_else(|| panic!("{progress}")).to_owned();
        let journal = world.journal_after(before).await;
        let order = journal.orders().first().map(|order| (*order).to_owned()).expect("the attempt's Order");
        let form = world.form_of(&page).await;
        let pay = if round % 3 == 1 { "succeed" } else { "pay" };
        Self { session, attempt, order, before, page, form, pay, change }
    }

    /// The shopper presses the button that pays.
    pub(super) fn pay<'a>(&'a self, world: &'a World) -> Client<'a> {
        self.press(world, self.pay)
    }

    fn press<'a>(&'a self, world: &'a World, choice: &'a str) -> Client<'a> {
        let pressed = async move { ("press", world.try_form(&self.page, &self.form, choice, None).await) };
        pressed.boxed_local()
    }

    /// The shopper follows the way back.
    pub(super) fn come_back<'a>(&'a self, world: &'a World) -> Client<'a> {
        let address = format!("{}/v1/return/{}", world.asset, self.order);
        async move { ("come back", world.open(&address, "document").await) }.boxed_local()
    }

    /// The shopper leaves the page to pay another way.
    pub(super) fn leave<'a>(&'a self, world: &'a World) -> Client<'a> {
        async move { ("leave", world.shopper(&self.session).pay_another_way(&self.attempt).await) }.boxed_local()
    }

    /// The merchant's PUT.
    pub(super) fn replace<'a>(&'a self, world: &'a World) -> Client<'a> {
        async move { ("replace", world.merchant.replace(&self.session, self.change.clone()).await) }.boxed_local()
    }

    /// The merchant's DELETE.
    pub(super) fn cancel<'a>(&'a self, world: &'a World) -> Client<'a> {
        async move { ("cancel", world.merchant.cancel(&self.session).await) }.boxed_local()
    }

    /// Each browser sends its attempt, and again until it was begun or the Session has ended; what it is shown may change at any time.
    pub(super) fn submit<'a>(&'a self, world: &'a World, stashed: &'a Stashed) -> Client<'a> {
        async move {
            let shopper = world.shopper(&self.session);
            for _ in 1..SUBMITS {
                let view = shopper.view().await;
                let answer = shopper.submit(view["Version"].as_i64().expect("a version"), stashed).await;
                let has_ended = ["COMPLETED", "CANCELLED", "FAILED"].map(Value::from).contains(&view["State"]);
                if answer.status == 200 || has_ended {
                    return ("submit", answer);
                }
                assert!(answer.status == 409 || answer.status == 503, "{}", answer.text());
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            let view = shopper.view().await;
            ("submit", shopper.submit(view["Version"].as_i64().expect("a version"), stashed).await)
        }
        .boxed_local()
    }

    /// A browser for each of these cards, each with its card stashed.
    pub(super) async fn browsers(&self, world: &World, numbers: &[&str]) -> Vec<Stashed> {
        let shopper = world.shopper(&self.session);
        join_all(numbers.iter().map(|number| shopper.stash("other", number))).await
    }
}

/// Lets all clients run at once, and checks that each was told what docs/SPECIFICATION.md#session-races allows.
pub(super) async fn run_all(clients: Vec<Client<'_>>) {
    assert_eq!(clients.len(), CLIENTS);
    let done = join_all(clients).await;
    let told = |kind| done.iter().filter(|one| one.0 == kind).map(|one| one.1.clone()).collect::<Vec<_>>();
    let states = ["CREATED", "PROCESSING", "REDIRECTED", "COMPLETED", "CANCELLED", "FAILED"];
    let shown = states.map(|state| (200, state));
    let busy = [(503, "SERVICE_UNAVAILABLE"), (503, "OUTCOME_UNKNOWN")];
    let refused = [(409, "INVALID_SESSION_STATE"), (409, "SESSION_CHANGED"), (409, "DUPLICATE_REQUEST")];
    only(&told("submit"), &[&shown[..], &busy, &refused[..2]].concat());
    only(&told("leave"), &[&shown[..], &busy].concat());
    only(&told("replace"), &[&shown[..1], &busy[..1], &refused].concat());
    only(&told("cancel"), &[&[(204, "")], &busy[..1], &refused[..1]].concat());
    for answer in told("come back").iter().chain(&told("press")) {
        assert!(answer.status == 303 || answer.status == 200, "{answer:?}");
    }
}

/// Waits until nothing is under way, and leaves the page that another attempt has opened.
pub(super) async fn rest(world: &World, session: &str) -> String {
    let shopper = world.shopper(session);
    until(&format!("{session} comes to rest"), SETTLE_TIMEOUT, async || {
        let progress = shopper.progress().await;
        match progress["State"].as_str().unwrap_or_default() {
            "PROCESSING" => None,
            "REDIRECTED" => {
                shopper.pay_another_way(progress["AttemptId"].as_str().expect("the attempt on its page")).await;
                None
            }
            state => Some(state.to_owned()),
        }
    })
    .await
}

/// What became of the attempts: of all of them, the one that completed the Session keeps its money, and no other. Says which one, counted from 0.
pub(super) async fn paid_attempt(world: &World, opened: &Opened, state: &str) -> Option<usize> {
    let reconciliation = world.check_reconciliation_of(&opened.session, opened.before).await;
    let shown = world.merchant.session(&opened.session).await;
    assert_eq!(shown["State"], state, "it was at rest");
    let order = shown["Order"]["OrderId"].as_str();
    assert_eq!(
        reconciliation.orders_with_money(),
        order.into_iter().collect::<Vec<_>>(),
        "Orders whose money is kept: {shown}"
    );
    assert_eq!(order.is_some(), state == "COMPLETED", "{shown}");
    let attempts = shown["Attempts"].as_array().cloned().unwrap_or_default();
    let count = |outcome| attempts.iter().filter(|attempt| attempt["Outcome"] == outcome).count();
    assert_eq!(
        (count("COMPLETED"), count("FAILED")),
        (usize::from(order.is_some()), attempts.len() - count("COMPLETED"))
    );
    assert!(attempts.len() <= 5 && (state == "FAILED") == (count("FAILED") == 5), "{shown}");
    let told: &[&str] = match state {
        "COMPLETED" => &PAID,
        "FAILED" => &["SESSION_FAILED"],
        _ => &[],
    };
    world.receiver.expect(&opened.session, told).await;
    attempts.iter().position(|attempt| attempt["Outcome"] == "COMPLETED")
}

async fn attempts_race_each_other(world: &World, settler: &Settler, round: usize) -> &'static str {
    let opened = Opened::new(world, round).await;
    let numbers =
        [cards::VISA, cards::DECLINED, cards::CHALLENGED, cards::NO_FUNDS, cards::MASTERCARD, cards::DECLINED];
    // One of each scheme is too good a chance for every round.
    let browsers = opened.browsers(world, &numbers[if round.is_multiple_of(2) { 0..6 } else { 1..4 }]).await;
    let end = round % 4;
    let mut clients: Vec<Client<'_>> = Vec::new();
    let first = |racer, client| async move {
        head_start(round, racer).await;
        client.await
    };
    clients.extend((0..6).map(|_| first(0, opened.pay(world)).boxed_local()));
    clients.extend((0..2).map(|_| first(0, opened.press(world, "cancel")).boxed_local()));
    clients.extend((0..10).map(|_| first(1, opened.leave(world)).boxed_local()));
    clients.extend((0..10).map(|_| opened.come_back(world)));
    clients.extend((0..8).map(|_| opened.replace(world)));
    if end == 1 {
        clients.extend((0..4).map(|_| opened.cancel(world)));
    }
    let again = browsers.iter().cycle().take(CLIENTS - clients.len());
    clients.extend(again.map(|stashed| opened.submit(world, stashed)));
    let sweeps = async {
        if end == 3 {
            for _ in 0..10 {
                settler.sessions.expire_due(10).await.expect("the deployment's database");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    futures_util::future::join(run_all(clients), sweeps).await;
    let state = rest(world, &opened.session).await;
    let paid = paid_attempt(world, &opened, &state).await;
    if state == "CREATED" {
        // So that no later round ends it.
        assert_eq!(world.merchant.cancel(&opened.session).await.status, 204);
    }
    match paid {
        None => "none is paid",
        Some(0) => "the page is paid",
        Some(_) => "another attempt is paid",
    }
}
