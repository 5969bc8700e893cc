//! Pages that stay open: what they hear of, and when they hear no more.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{Panel, World, request};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::Service;
use actix_web::http::{Method, StatusCode};
use dropin_access::operator::OperatorRole;
use dropin_kernel::{OrderId, Timestamp};
use dropin_ports::Clock;
use dropin_usecases::operators::{Operators, PasswordCost, SecondFactorPolicy, SessionError};
use tokio::time::timeout;

/// Longer than the slowest page is told of a change.
const SOON: Duration = Duration::from_secs(8);

/// What a browser keeps open.
struct Stream(BoxBody);

impl Stream {
    async fn open(app: &impl Panel, session: &str, path: &str) -> Result<Self, StatusCode> {
        let response = app.call(request(Method::GET, path, Some(session)).to_request()).await.unwrap();
        if response.status() != StatusCode::OK {
            return Err(response.status());
        }
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!((header("content-type"), header("cache-control")), ("text/event-stream".into(), "no-store".into()));
        assert_eq!(header("x-accel-buffering"), "no", "no proxy keeps it back");
        Ok(Self(response.into_body()))
    }

    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let bytes = std::future::poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await?;
        Some(String::from_utf8(bytes.unwrap_or_default().to_vec()).unwrap())
    }

    /// Waits for that event; what else comes is not heard.
    async fn hears(&mut self, event: &str) {
        let wanted = format!("event: {event}\ndata: 1\n\n");
        let heard = async {
            while let Some(text) = self.next().await {
                if text == wanted {
                    return true;
                }
            }
            false
        };
        assert_eq!(timeout(SOON, heard).await, Ok(true), "{event}");
    }

    /// Hears of no event for a while.
    async fn is_quiet(&mut self, span: Duration) {
        let end = Instant::now() + span;
        while let Ok(text) = timeout(end.saturating_duration_since(Instant::now()), self.next()).await {
            let text = text.expect("the stream goes on");
            assert!(text.starts_with(':'), "{text}");
        }
    }
}

impl World {
    /// An operator gives a part of a payment back.
    async fn refund_through(&self, app: &impl Panel, session: &str, order: OrderId) {
        let path = format!("/orders/{order}");
        let key = self.get_of(app, session, &path).await.field("key");
        let fields = [("key", key.as_str()), ("amount", "1.00"), ("note", "lost")];
        let page = self.post_of(app, session, &format!("{path}/refund"), &fields).await;
        assert_eq!(page.location(), format!("{path}?done=refunded"), "{}", page.text);
    }
}

#[actix_web::test]
async fn an_open_page_hears_of_what_it_shows_alone() {
    let world = World::new().await;
    let app = world.app().await;
    let (owner, of_ana) =
        (world.operator(OperatorRole::Owner, None).await, world.operator(OperatorRole::Owner, Some(world.ana)).await);
    let order = format!("/orders/{}", world.order_of_ana);
    let page = world.get_of(&app, &of_ana, &order).await;
    assert!(page.text.contains(&format!("data-live=\"/live{order}\"")), "{}", page.text);
    let open = async |path: &str| Stream::open(&app, &of_ana, path).await.unwrap();
    let (mut of_order, mut overview) = (open(&format!("/live{order}")).await, open("/live/overview").await);
    let (mut reviews, mut notifications) = (open("/live/review").await, open("/live/notifications").await);
    assert_eq!(of_order.next().await.as_deref(), Some("retry: 5000\n\n"), "at once");
    // What happened between the page and its stream is not known.
    of_order.hears("changed").await;
    overview.hears("changed").await;
    reviews.hears("changed").await;
    notifications.hears("changed").await;
    world.refund_through(&app, &owner, world.order_of_bob).await;
    world.harness.held(world.bob).await;
    let quiet = Duration::from_millis(5_500);
    tokio::join!(
        of_order.is_quiet(quiet),
        overview.is_quiet(quiet),
        reviews.is_quiet(quiet),
        notifications.is_quiet(quiet)
    );
    world.refund_through(&app, &owner, world.order_of_ana).await;
    world.harness.held(world.ana).await;
    of_order.hears("changed").await;
    overview.hears("changed").await;
    reviews.hears("changed").await;
    notifications.hears("changed").await;
}

#[actix_web::test]
async fn an_operator_has_few_streams_and_they_end_with_the_session_or_the_panel() {
    let world = World::new().await;
    let app = world.app().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(Stream::open(&app, &session, "/live/overview").await.unwrap());
    }
    let other = world.operator(OperatorRole::Viewer, None).await;
    let mut of_other = Stream::open(&app, &other, "/live/overview").await.unwrap();
    // Whoever goes from page to page keeps the newest ones.
    let mut last = Stream::open(&app, &session, "/live/review").await.unwrap();
    let mut oldest = open.remove(0);
    oldest.hears("replaced").await;
    assert_eq!(oldest.next().await, None, "at most four");
    drop(oldest);
    open[0].hears("changed").await;
    let mut newest = Stream::open(&app, &session, "/live/notifications").await.unwrap();
    open[0].hears("replaced").await;
    newest.hears("changed").await;
    last.hears("changed").await;
    let head = app.call(request(Method::HEAD, "/live/overview", Some(&other)).to_request()).await.unwrap();
    assert_eq!(head.status(), StatusCode::OK);
    world.post_of(&app, &session, "/sign-out", &[]).await;
    last.hears("ended").await;
    assert_eq!(last.next().await, None);
    of_other.hears("changed").await;
    world.stop.send_replace(true);
    let end = async { while of_other.next().await.is_some() {} };
    assert_eq!(timeout(SOON, end).await, Ok(()), "a stop waits for no page");
}

/// The clock of somebody who came back later.
struct Later(Duration);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        dropin_boot::SystemClock.now().plus(self.0)
    }
}

#[actix_web::test]
async fn a_page_that_is_left_open_keeps_no_session_alive() {
    let mut world = World::new().await;
    let session = world.operator(OperatorRole::Viewer, None).await;
    let cost = PasswordCost { memory_kib: 8, passes: 1, lanes: 1 };
    let policy = SecondFactorPolicy::Optional;
    let store = Arc::new(world.store.clone());
    let ids = world.deps.ids.clone();
    let secrets = world.secrets.clone();
    let later = |minutes: u64| {
        let clock = Arc::new(Later(Duration::from_secs(minutes * 60)));
        Operators::new(store.clone(), secrets.clone(), clock, ids.clone(), policy, cost)
    };
    // After ten minutes the page asks for itself.
    world.deps.operators = later(10);
    let app = world.app().await;
    let refresh = request(Method::GET, "/", Some(&session)).insert_header(("dropin-live", "refresh"));
    assert_eq!(app.call(refresh.to_request()).await.unwrap().status(), StatusCode::OK);
    Stream::open(&app, &session, "/live/overview").await.unwrap();
    let ended = later(16).peek(&session).await.map(drop);
    assert!(matches!(ended, Err(SessionError::Idle)), "{ended:?}");
    // The operator does.
    assert_eq!(world.get_of(&app, &session, "/").await.status, StatusCode::OK);
    assert!(later(16).peek(&session).await.is_ok());
}
