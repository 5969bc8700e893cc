//! The shop's purchases, and the notifications that move them. In memory and bounded; a real shop uses its database.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::{Mutex as AsyncMutex, watch};
use uuid::Uuid;

use super::checkout::Basket;
use super::webhook::Notification;

/// Purchases kept; the oldest are forgotten first.
const MAX_PURCHASES: usize = 500;
/// Charges without the shopper kept; the oldest are forgotten first.
const MAX_CHARGES: usize = 500;
/// Carts kept; the oldest are forgotten first.
const MAX_CARTS: usize = 500;
/// Notifications kept for the live view.
const MAX_NOTIFICATIONS: usize = 200;
/// `webhook-id`s remembered, so that a repeated delivery is seen as one.
const MAX_SEEN: usize = 5_000;

/// How far the shop is with a purchase. Moved by notifications alone, never by what the browser says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Stage {
    /// The Session exists; nothing is known about money.
    AwaitingPayment,
    /// The money is reserved. With AutoCapture false: pack it, ship it, then capture.
    Authorized,
    /// ORDER_PROCESSED came: this is paid.
    Paid,
    /// Declined, failed or cancelled; nothing will come of it.
    Over,
}

impl Stage {
    /// Where a notification puts a purchase; `None` for those that are only worth a line in the log.
    fn after(event_type: &str) -> Option<Self> {
        match event_type {
            "ORDER_AUTHORIZED" => Some(Self::Authorized),
            "ORDER_PROCESSED" => Some(Self::Paid),
            "SESSION_FAILED"
            | "SESSION_CANCELLED"
            | "ORDER_PROCESSING_FAILED"
            | "ORDER_CANCELLED"
            | "ORDER_DECLINED" => Some(Self::Over),
            _ => None,
        }
    }
}

/// What the shop knows about one payment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purchase {
    /// How far it is.
    pub(super) stage: Stage,
    /// The Order, once a notification named it.
    pub(super) order_id: Option<Uuid>,
    /// Sequence of the notification that put it there: an older one that arrives later changes nothing.
    sequence: u64,
}

impl Purchase {
    const NEW: Self = Self { stage: Stage::AwaitingPayment, order_id: None, sequence: 0 };

    fn apply(&mut self, notification: &Notification) {
        if let Some(order) = &notification.event.order {
            self.order_id = Some(order.order_id);
        }
        if let Some(stage) = Stage::after(&notification.event.event_type)
            && notification.sequence > self.sequence
        {
            self.stage = stage;
            self.sequence = notification.sequence;
        }
    }
}

/// The Session of a cart.
#[derive(Debug)]
pub(super) struct CartSession {
    pub(super) session: Uuid,
    /// What it was priced for; none when the shop has forgotten it.
    pub(super) basket: Option<Basket>,
}

/// The slot of a cart. The request that holds its lock alone decides whether the cart gets a Session.
pub(super) type CartSlot = Arc<AsyncMutex<Option<CartSession>>>;

/// A line of the live view.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Entry {
    /// Grows with every arrival, over restarts too.
    pub(super) number: u64,
    /// Milliseconds since 1970.
    received_at: u64,
    webhook_id: String,
    sequence: u64,
    signed_at: i64,
    event_type: String,
    state: String,
    merchant_reference: String,
    session_id: Option<Uuid>,
    order_id: Option<Uuid>,
    body: String,
}

/// What became of a delivery. Both are acknowledged with 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryOutcome {
    /// First time.
    Stored,
    /// Seen before; nothing was done.
    Duplicate,
}

#[derive(Debug, Default)]
struct PurchaseRecords {
    purchases: BTreeMap<Uuid, Purchase>,
    purchase_order: VecDeque<Uuid>,
    /// By Order: what was paid without a Session.
    charges: BTreeMap<Uuid, Purchase>,
    charge_order: VecDeque<Uuid>,
    /// Of subscriptions that are being charged or ended now.
    subscriptions: BTreeMap<Uuid, Weak<AsyncMutex<()>>>,
    /// References of customers whom the payment service knows.
    customers: BTreeSet<String>,
    carts: BTreeMap<Uuid, CartSlot>,
    cart_order: VecDeque<Uuid>,
    entries: VecDeque<Arc<Entry>>,
    seen: BTreeSet<String>,
    seen_order: VecDeque<String>,
}

/// The purchases, shared by all requests.
#[derive(Debug)]
pub(super) struct Purchases {
    records: Mutex<PurchaseRecords>,
    /// Number of the newest entry; the live views wait for it.
    newest: watch::Sender<u64>,
}

impl Default for Purchases {
    fn default() -> Self {
        Self { records: Mutex::default(), newest: watch::channel(now_ms() * 1000).0 }
    }
}

impl Purchases {
    /// The slot of a cart, empty for a new one.
    pub(super) fn cart(&self, cart: Uuid) -> CartSlot {
        let mut records = self.records();
        if let Some(known) = records.carts.get(&cart) {
            return known.clone();
        }
        let slot = CartSlot::default();
        records.carts.insert(cart, slot.clone());
        records.cart_order.push_back(cart);
        if records.cart_order.len() > MAX_CARTS
            && let Some(oldest) = records.cart_order.pop_front()
        {
            records.carts.remove(&oldest);
        }
        slot
    }

    /// Whether a Session of this customer was made before, so that the payment service knows them by this reference.
    pub(super) fn is_known(&self, customer: &str) -> bool {
        self.records().customers.contains(customer)
    }

    /// Remembers a customer of whom a Session was made.
    pub(super) fn remember(&self, customer: String) {
        self.records().customers.insert(customer);
    }

    /// Adds the purchase of a new Session; a known one stays as it is.
    pub(super) fn add(&self, session: Uuid) {
        let mut records = self.records();
        if records.purchases.contains_key(&session) {
            return;
        }
        records.purchases.insert(session, Purchase::NEW);
        records.purchase_order.push_back(session);
        if records.purchase_order.len() > MAX_PURCHASES
            && let Some(oldest) = records.purchase_order.pop_front()
        {
            records.purchases.remove(&oldest);
        }
    }

    /// The purchase, if the shop still remembers it.
    pub(super) fn purchase(&self, session: Uuid) -> Option<Purchase> {
        self.records().purchases.get(&session).copied()
    }

    /// How far the Order of a charge is, if a notification named it.
    pub(super) fn charge(&self, order: Uuid) -> Option<Stage> {
        self.records().charges.get(&order).map(|charge| charge.stage)
    }

    /// The lock of a purchase's subscription. Only the request that holds it charges or ends the subscription.
    pub(super) fn subscription(&self, session: Uuid) -> Arc<AsyncMutex<()>> {
        let mut records = self.records();
        records.subscriptions.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = records.subscriptions.get(&session).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        records.subscriptions.insert(session, Arc::downgrade(&lock));
        lock
    }

    /// Stores a believed notification once and moves its purchase.
    pub(super) fn receive(&self, notification: Notification) -> DeliveryOutcome {
        let mut records = self.records();
        if !records.seen.insert(notification.id.clone()) {
            return DeliveryOutcome::Duplicate;
        }
        records.seen_order.push_back(notification.id.clone());
        if records.seen_order.len() > MAX_SEEN
            && let Some(oldest) = records.seen_order.pop_front()
        {
            records.seen.remove(&oldest);
        }
        records.apply(&notification);
        let number = *self.newest.borrow() + 1;
        records.entries.push_back(Arc::new(Entry::new(number, notification)));
        if records.entries.len() > MAX_NOTIFICATIONS {
            records.entries.pop_front();
        }
        self.newest.send_replace(number);
        DeliveryOutcome::Stored
    }

    /// Entries with a number above `number`, oldest first.
    pub(super) fn entries_after(&self, number: u64) -> Vec<Arc<Entry>> {
        self.records().entries.iter().filter(|entry| entry.number > number).cloned().collect()
    }

    /// Changes whenever an entry was added.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    fn records(&self) -> MutexGuard<'_, PurchaseRecords> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PurchaseRecords {
    /// Deliveries of one payment may overtake each other after long trouble; `webhook-sequence` tells which is the newest.
    fn apply(&mut self, notification: &Notification) {
        match (notification.event.session_id(), &notification.event.order) {
            (Some(session), _) => {
                if let Some(purchase) = self.purchases.get_mut(&session) {
                    purchase.apply(notification);
                }
            }
            (None, Some(order)) => self.charge(order.order_id).apply(notification),
            (None, None) => {}
        }
    }

    /// The charge of an Order without a Session, a new one where it is not known.
    fn charge(&mut self, order: Uuid) -> &mut Purchase {
        if !self.charges.contains_key(&order) {
            self.charge_order.push_back(order);
            if self.charge_order.len() > MAX_CHARGES
                && let Some(oldest) = self.charge_order.pop_front()
            {
                self.charges.remove(&oldest);
            }
        }
        self.charges.entry(order).or_insert(Purchase::NEW)
    }
}

impl Entry {
    fn new(number: u64, notification: Notification) -> Self {
        let event = &notification.event;
        Self {
            number,
            received_at: now_ms(),
            sequence: notification.sequence,
            signed_at: notification.timestamp,
            event_type: event.event_type.clone(),
            state: event.state().to_owned(),
            merchant_reference: event.merchant_reference().to_owned(),
            session_id: event.session_id(),
            order_id: event.order.as_ref().map(|order| order.order_id),
            webhook_id: notification.id,
            body: notification.body,
        }
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis() as u64)
}
