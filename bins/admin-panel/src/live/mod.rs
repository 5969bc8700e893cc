//! Pages that show at once what changes while they are open. The server says that something did; the page asks for itself again, and shows what comes.

mod pages;

use std::time::{Duration, Instant};

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use dropin_access::operator::OperatorRights;
use dropin_kernel::{MerchantId, OrderId};
use dropin_usecases::operators::SessionError;
use futures_util::stream;

use crate::PanelDeps;
use crate::fields::query;
use crate::guard::{Answer, token_of};
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::routes::PanelRoute;

pub(crate) use pages::LivePages;
use pages::{OpenPage, Subject, digest};

/// Below this stand the streams.
const STREAMS: &str = "/live/";
/// The header by which a page says that it asks for itself again, and nobody pressed a key.
const REFRESH: &str = "dropin-live";
/// How often a stream looks whether its operator's session goes on, with the same rights.
const SESSION_INTERVAL: Duration = Duration::from_secs(5);
/// So often something is sent, so that no proxy takes a quiet stream for a dead one, and a reader that left is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// So often the overview is asked for again for what becomes stuck by the time alone, in microseconds.
const STUCK_INTERVAL_MICROS: i64 = 60_000_000;

/// Pages that are live, by their routes, with their streams.
const PAGES: &[(&str, &str)] = &[
    ("/", "/live/overview"),
    ("/review", "/live/review"),
    ("/notifications", "/live/notifications"),
    ("/orders/{id}", "/live/orders/{id}"),
];

/// Whether a request is made by a page that is only left open: it does not keep the operator's session alive.
pub(crate) fn asks_by_itself(http: &HttpRequest, route: &PanelRoute) -> bool {
    route.method == Method::GET && (route.path.starts_with(STREAMS) || http.headers().contains_key(REFRESH))
}

/// The address of the stream of a request's page; `None` of a page that is not live.
pub(crate) fn stream_of(request: &PanelRequest) -> Option<String> {
    let shows = request.route.method == Method::GET;
    let (_, stream) = PAGES.iter().filter(|_| shows).find(|(page, _)| *page == request.route.path)?;
    if stream.contains('{') {
        return request.id::<OrderId>("Order").ok().map(|id| stream.replace("{id}", &id.to_string()));
    }
    let merchant = request.fields.given("merchant").map(|merchant| ("merchant", merchant));
    Some(format!("{stream}{}", query(merchant)))
}

/// The stream of the overview.
pub(crate) async fn overview(request: PanelRequest) -> Answer {
    let merchants = request.chosen_merchants()?;
    open(&request, Subject::Overview, merchants)
}

/// That of the review queue.
pub(crate) async fn reviews(request: PanelRequest) -> Answer {
    let merchants = request.chosen_merchants()?;
    open(&request, Subject::Reviews, merchants)
}

/// That of the notifications.
pub(crate) async fn notifications(request: PanelRequest) -> Answer {
    let merchants = request.chosen_merchants()?;
    open(&request, Subject::Notifications, merchants)
}

/// That of one Order.
pub(crate) async fn order(request: PanelRequest) -> Answer {
    let id = request.id("Order")?;
    let found = request.deps.payments.store.find_order_anywhere(id).await?;
    let (order, _) = found.ok_or(Refusal::NotFound("Order"))?;
    request.own(order.merchant_id, "Order")?;
    open(&request, Subject::Order(id), Some(vec![order.merchant_id]))
}

/// A stream of server-sent events, as long as the operator's session goes on with the same rights, and until the operator opens too many others; 204,
/// which keeps a browser from asking again by itself, when there are too many of all operators.
fn open(request: &PanelRequest, subject: Subject, merchants: Option<Vec<MerchantId>>) -> Answer {
    let pages = request.http.app_data::<Data<LivePages>>();
    let pages = pages.ok_or_else(|| Refusal::Internal("the registry of live pages is not mounted".to_owned()))?;
    let mut response = HttpResponse::Ok();
    response
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        .insert_header((CACHE_CONTROL, "no-store"))
        // What proxies that keep answers back go by.
        .insert_header((HeaderName::from_static("x-accel-buffering"), "no"));
    if request.http.method() == Method::HEAD {
        return Ok(response.finish());
    }
    let operator = &request.operator.operator;
    let Some(page) = pages.open(operator.id, subject) else { return Ok(HttpResponse::NoContent().finish()) };
    let reader = Reader {
        deps: request.deps.clone(),
        token: token_of(&request.http).unwrap_or_default(),
        rights: operator.rights.clone(),
        merchants,
        page,
        seen: None,
        told_at: None,
        sent_at: Instant::now(),
        checked_at: Instant::now(),
        stage: Stage::Opening,
    };
    Ok(response.streaming(stream::unfold(reader, next)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Open,
    Over,
}

/// Who reads a stream.
struct Reader {
    deps: Data<PanelDeps>,
    token: String,
    /// With which the page was opened.
    rights: OperatorRights,
    /// Of which the page is; `None` is all.
    merchants: Option<Vec<MerchantId>>,
    page: OpenPage,
    /// What the page was told of.
    seen: Option<u64>,
    told_at: Option<Instant>,
    sent_at: Instant,
    checked_at: Instant,
    stage: Stage,
}

impl Reader {
    /// Least time between two changes that are told: a page of many payments is asked for no oftener, whatever happens.
    fn pace(&self) -> Duration {
        Duration::from_secs(match self.page.subject() {
            Subject::Overview => 5,
            Subject::Reviews | Subject::Notifications => 2,
            Subject::Order(_) => 1,
        })
    }

    /// Whether the page shows something else by now. At first it does: what happened between the page and its stream is not known.
    fn has_changed(&mut self) -> bool {
        if self.told_at.is_some_and(|at| at.elapsed() < self.pace()) {
            return false;
        }
        let covers = |merchant| self.merchants.as_ref().is_none_or(|all| all.contains(&merchant));
        let subject = self.page.subject();
        let mut mark = self.page.marks().of(subject, covers);
        // Nothing happens to an operation that becomes stuck.
        if subject == Subject::Overview && self.rights.scope.is_deployment() {
            let now = self.deps.clock.now().micros();
            mark = mark.map(|mark| digest((mark, now.div_euclid(STUCK_INTERVAL_MICROS))));
        }
        if mark.is_none() || mark == self.seen {
            return false;
        }
        (self.seen, self.told_at) = (mark, Some(Instant::now()));
        true
    }

    /// Whether the operator is signed in as when the page was opened. While that cannot be found out it goes on: the page asks for itself as anybody does.
    async fn may_go_on(&mut self) -> bool {
        if self.checked_at.elapsed() < SESSION_INTERVAL {
            return true;
        }
        self.checked_at = Instant::now();
        match self.deps.operators.peek(&self.token).await {
            Ok(current) => current.operator.rights == self.rights,
            Err(SessionError::Store(_)) => true,
            Err(_) => false,
        }
    }
}

/// The next thing to send.
async fn next(mut reader: Reader) -> Option<(Result<Bytes, actix_web::Error>, Reader)> {
    let sent = match reader.stage {
        Stage::Over => return None,
        // At once, so that the page knows that it is connected.
        Stage::Opening => {
            reader.stage = Stage::Open;
            "retry: 5000\n\n"
        }
        Stage::Open => wait(&mut reader).await?,
    };
    reader.sent_at = Instant::now();
    Some((Ok(Bytes::from_static(sent.as_bytes())), reader))
}

async fn wait(reader: &mut Reader) -> Option<&'static str> {
    let mut stop = reader.deps.stop.clone();
    loop {
        if reader.page.is_replaced() {
            reader.stage = Stage::Over;
            return Some("event: replaced\ndata: 1\n\n");
        }
        if !reader.may_go_on().await {
            reader.stage = Stage::Over;
            return Some("event: ended\ndata: 1\n\n");
        }
        if reader.has_changed() {
            return Some("event: changed\ndata: 1\n\n");
        }
        if HEARTBEAT <= reader.sent_at.elapsed() {
            return Some(": still here\n\n");
        }
        tokio::select! {
            () = reader.page.changed() => {}
            _ = stop.wait_for(|stop| *stop) => return None,
            () = actix_web::rt::time::sleep(SESSION_INTERVAL) => {}
        }
    }
}
