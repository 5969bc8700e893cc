//! What happened lately, asked of the store once a second for all pages that are open, while any is.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dropin_kernel::{MerchantId, OperatorId, OrderId};
use dropin_ports::{ActivityStore, Clock, StoreError};
use tokio::sync::watch;

/// Time between two questions of a kind to the store.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Most pages of one operator that are live. Browsers keep six connections to an origin over HTTP/1.1, which other pages need too.
const MAX_OPERATOR_PAGES: usize = 4;
/// Most pages that are live.
const MAX_PAGES: usize = 200;
/// Orders under review that are looked at.
const MAX_HELD: u32 = 1_000;
/// Steps of the history that are looked at.
const MAX_STEPS: u32 = 5_000;
/// How far back notifications and tries are looked at: longer than a try takes, so that each is seen when it has ended.
const NOTIFICATION_SPAN: Duration = Duration::from_secs(15);

/// What a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Overview,
    Reviews,
    Notifications,
    Order(OrderId),
}

/// A number for what became of a merchant's things: another one when anything did.
type MerchantMarks = HashMap<MerchantId, u64>;

/// What the last questions came to; `None` of what nobody looks at.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    history: Option<MerchantMarks>,
    held: Option<MerchantMarks>,
    notifications: Option<MerchantMarks>,
    orders: HashMap<OrderId, u64>,
}

/// The same for the same value, in one process.
pub(super) fn digest(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// Adds what became of one thing of a merchant, in any order.
fn add(marks: &mut MerchantMarks, merchant: MerchantId, thing: impl Hash) {
    let mark = marks.entry(merchant).or_default();
    *mark = mark.wrapping_add(digest(thing));
}

impl Marks {
    /// A number for what a page shows of the merchants that it covers; `None` while that is not known.
    pub(super) fn of(&self, subject: Subject, covers: impl Fn(MerchantId) -> bool) -> Option<u64> {
        let of_merchants = |marks: &Option<MerchantMarks>| {
            let covered = marks.as_ref()?.iter().filter(|(merchant, _)| covers(**merchant));
            Some(covered.fold(0, |sum: u64, one| sum.wrapping_add(digest(one))))
        };
        match subject {
            Subject::Order(order) => self.orders.get(&order).copied(),
            // Tries of notifications park them, and make endpoints fail.
            Subject::Overview => Some(digest((of_merchants(&self.history)?, of_merchants(&self.notifications)?))),
            Subject::Reviews => of_merchants(&self.held),
            Subject::Notifications => of_merchants(&self.notifications),
        }
    }
}

/// Tells pages that are open when they show something else by now.
#[derive(Clone)]
pub(crate) struct LivePages(Arc<ActivityWatch>);

struct ActivityWatch {
    store: Arc<dyn ActivityStore>,
    clock: Arc<dyn Clock>,
    open: Mutex<OpenPages>,
    marks: watch::Sender<Arc<Marks>>,
}

/// The pages that are open, the oldest first.
#[derive(Default)]
struct OpenPages {
    pages: Vec<PageEntry>,
    opened: u64,
    is_polled: bool,
}

struct PageEntry {
    /// The how manieth page it is since the program began.
    number: u64,
    operator: OperatorId,
    subject: Subject,
    /// Ends its stream when it is dropped.
    _place: watch::Sender<()>,
}

impl LivePages {
    pub(crate) fn new(store: Arc<dyn ActivityStore>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(ActivityWatch { store, clock, open: Mutex::default(), marks: watch::Sender::default() }))
    }

    /// Takes a page; `None` when all together have as many as they may. An operator who has as many loses the oldest: a page that was left is not known to
    /// be gone until something is sent to it.
    pub(super) fn open(&self, operator: OperatorId, subject: Subject) -> Option<OpenPage> {
        let mut open = self.0.open();
        let mut own = open.pages.iter().enumerate().filter(|(_, page)| page.operator == operator);
        let oldest = own.next().map(|(place, _)| place).filter(|_| MAX_OPERATOR_PAGES <= own.count() + 1);
        match oldest {
            Some(place) => drop(open.pages.remove(place)),
            None if MAX_PAGES <= open.pages.len() => return None,
            None => {}
        }
        open.opened += 1;
        let (number, (place, replaced)) = (open.opened, watch::channel(()));
        open.pages.push(PageEntry { number, operator, subject, _place: place });
        if !std::mem::replace(&mut open.is_polled, true) {
            actix_web::rt::spawn(self.0.clone().poll());
        }
        drop(open);
        Some(OpenPage { activity: self.0.clone(), number, subject, replaced, marks: self.0.marks.subscribe() })
    }
}

impl ActivityWatch {
    fn open(&self) -> MutexGuard<'_, OpenPages> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is looked at; `None` once nothing is, which ends the questions.
    fn wanted(&self) -> Option<Vec<Subject>> {
        let mut open = self.open();
        open.is_polled = !open.pages.is_empty();
        open.is_polled.then(|| open.pages.iter().map(|page| page.subject).collect())
    }

    /// Asks until no page is open.
    async fn poll(self: Arc<Self>) {
        while let Some(wanted) = self.wanted() {
            let before = self.marks.borrow().clone();
            let marks = Arc::new(self.ask(&wanted, &before).await);
            self.marks.send_replace(marks);
            actix_web::rt::time::sleep(POLL_INTERVAL).await;
        }
        // Of a page that comes later nothing is known.
        self.marks.send_replace(Arc::default());
    }

    /// One question for each kind of page that is open. What cannot be answered now stays as it was.
    async fn ask(&self, wanted: &[Subject], before: &Marks) -> Marks {
        let mut marks = Marks::default();
        if wanted.contains(&Subject::Overview) {
            marks.history = answered(self.history().await, &before.history);
        }
        if wanted.contains(&Subject::Reviews) {
            marks.held = answered(self.held().await, &before.held);
        }
        if wanted.contains(&Subject::Notifications) || wanted.contains(&Subject::Overview) {
            marks.notifications = answered(self.notifications().await, &before.notifications);
        }
        let mut orders: Vec<OrderId> = wanted
            .iter()
            .filter_map(|subject| match subject {
                Subject::Order(order) => Some(*order),
                Subject::Overview | Subject::Reviews | Subject::Notifications => None,
            })
            .collect();
        orders.sort_unstable();
        orders.dedup();
        if !orders.is_empty() {
            let found = self.store.order_activity(orders).await;
            let found = found.map(|found| found.iter().map(|one| (one.order, digest(one))).collect());
            marks.orders = answered(found, &Some(before.orders.clone())).unwrap_or_default();
        }
        marks
    }

    async fn history(&self) -> Result<MerchantMarks, StoreError> {
        let steps = self.store.history_activity(MAX_STEPS).await?;
        Ok(steps.into_iter().map(|one| (one.merchant, digest(one.newest))).collect())
    }

    async fn held(&self) -> Result<MerchantMarks, StoreError> {
        let mut marks = MerchantMarks::new();
        for one in self.store.list_held_orders(MAX_HELD).await? {
            add(&mut marks, one.merchant, one);
        }
        Ok(marks)
    }

    /// What leaves the span is told once more. A notification that was committed late, behind newer ones, is seen by then.
    async fn notifications(&self) -> Result<MerchantMarks, StoreError> {
        let since = self.clock.now().minus(NOTIFICATION_SPAN);
        let found = self.store.notification_activity(since).await?;
        Ok(found.into_iter().map(|one| (one.merchant, digest(one))).collect())
    }
}

/// The answer, or that of before.
fn answered<T: Clone>(answer: Result<T, StoreError>, before: &Option<T>) -> Option<T> {
    match answer {
        Ok(found) => Some(found),
        Err(error) => {
            log::debug!("live pages of the admin panel hear of nothing new: {error}");
            before.clone()
        }
    }
}

/// A page that is open; it is not any more when this is dropped.
pub(super) struct OpenPage {
    activity: Arc<ActivityWatch>,
    number: u64,
    subject: Subject,
    replaced: watch::Receiver<()>,
    marks: watch::Receiver<Arc<Marks>>,
}

impl OpenPage {
    /// What the last questions came to.
    pub(super) fn marks(&mut self) -> Arc<Marks> {
        self.marks.borrow_and_update().clone()
    }

    /// Waits for the next answers, or until the page is replaced.
    pub(super) async fn changed(&mut self) {
        tokio::select! {
            Ok(()) = self.marks.changed() => {}
            Err(_) = self.replaced.changed() => {}
            else => std::future::pending::<()>().await,
        }
    }

    /// Whether a newer page of its operator took its place.
    pub(super) fn is_replaced(&self) -> bool {
        self.replaced.has_changed().is_err()
    }

    pub(super) fn subject(&self) -> Subject {
        self.subject
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let mut open = self.activity.open();
        open.pages.retain(|page| page.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merchant(number: u128) -> MerchantId {
        MerchantId::new(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn the_overview_shows_what_becomes_of_notifications_too() {
        let marks = |history, notifications| Marks {
            history: Some([(merchant(1), history)].into()),
            notifications: Some([(merchant(1), notifications)].into()),
            ..Marks::default()
        };
        let overview = |marks: Marks, covered| marks.of(Subject::Overview, |one| one == merchant(covered));
        let before = overview(marks(1, 1), 1);
        assert!(before.is_some() && before == overview(marks(1, 1), 1));
        assert_ne!(before, overview(marks(2, 1), 1), "a payment went on");
        assert_ne!(before, overview(marks(1, 2), 1), "a try parked a notification");
        assert_eq!(overview(marks(1, 1), 2), overview(marks(2, 2), 2), "of another merchant nothing is shown");
        let half = Marks { notifications: None, ..marks(1, 1) };
        assert_eq!(overview(half, 1), None, "not known yet");
    }
}
