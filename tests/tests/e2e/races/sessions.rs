//! A merchant changes a Session while shoppers submit it (docs/SPECIFICATION.md#session-races): one wins, and nobody pays a total that was not shown.

use dropin_tests::{Response, Stashed, World, cards};
use serde_json::json;

use super::{CLIENTS, both_databases, only, race};
use crate::{CHARGED, PAID};

/// Browsers with an attempt of their own.
const BROWSERS: usize = 4;

both_databases! {
    /// PUT against submit.
    replaces_race_submits: super::replaces_race_submits => ["paid", "replaced"]
}
both_databases! {
    /// DELETE against submit.
    cancels_race_submits: super::cancels_race_submits => ["paid", "cancelled"]
}

async fn replaces_race_submits(world: &World, round: usize) -> &'static str {
    let (session, attempts) = opened(world).await;
    let change = json!({"AutoCapture": true, "Items": [{"Name": "Dearer", "Amount": 99, "Quantity": 1}]});
    let puts = (0..CLIENTS / 2).map(|_| world.merchant.replace(&session, change.clone()));
    let (paid, replaced) = race(round, submits(world, &session, &attempts), puts.collect()).await;
    only(&paid, &[(200, "COMPLETED"), (200, "PROCESSING"), (409, "SESSION_CHANGED"), (409, "INVALID_SESSION_STATE")]);
    only(&replaced, &[(200, "CREATED"), (409, "DUPLICATE_REQUEST"), (409, "INVALID_SESSION_STATE")]);
    let has_won = |answers: &[Response]| answers.iter().any(|answer| answer.status == 200);
    assert!(has_won(&paid) != has_won(&replaced), "one side alone");
    if has_won(&paid) {
        is_paid_once(world, &session, &paid).await;
        return "paid";
    }
    assert_eq!(world.merchant.session(&session).await["State"], "CREATED");
    "replaced"
}

async fn cancels_race_submits(world: &World, round: usize) -> &'static str {
    let (session, attempts) = opened(world).await;
    let deletes = (0..CLIENTS / 2).map(|_| world.merchant.cancel(&session));
    let (paid, cancelled) = race(round, submits(world, &session, &attempts), deletes.collect()).await;
    only(&paid, &[(200, "COMPLETED"), (200, "PROCESSING"), (409, "INVALID_SESSION_STATE")]);
    only(&cancelled, &[(204, ""), (409, "INVALID_SESSION_STATE")]);
    let cancels = cancelled.iter().filter(|answer| answer.status == 204).count();
    if cancels == 0 {
        is_paid_once(world, &session, &paid).await;
        return "paid";
    }
    assert!(cancels == 1 && paid.iter().all(|answer| answer.status == 409), "{cancels} cancels");
    assert_eq!(world.merchant.session(&session).await["State"], "CANCELLED");
    "cancelled"
}

/// A Session that some browsers show, each with its card stashed.
async fn opened(world: &World) -> (String, Vec<Stashed>) {
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    let shopper = world.shopper(&session);
    let mut attempts = Vec::new();
    for browser in 0..BROWSERS {
        attempts.push(shopper.stash(&format!("browser-{browser}"), cards::VISA).await);
    }
    (session, attempts)
}

/// Half of the clients: every browser sends its attempt several times.
fn submits<'a>(
    world: &'a World,
    session: &'a str,
    attempts: &'a [Stashed],
) -> Vec<impl Future<Output = Response> + use<'a>> {
    let again = attempts.iter().cycle().take(CLIENTS / 2);
    again.map(|attempt| async move { world.shopper(session).submit(1, attempt).await }).collect()
}

/// One attempt was paid, every repeat of it was told so, and the other attempts were refused.
async fn is_paid_once(world: &World, session: &str, submits: &[Response]) {
    let attempts =
        (0..BROWSERS).filter(|browser| submits.iter().skip(*browser).step_by(BROWSERS).any(|one| one.status == 200));
    assert_eq!(attempts.count(), 1, "attempts that were accepted");
    world.receiver.expect(session, &PAID).await;
    world.journal_has(session, &CHARGED).await;
}
