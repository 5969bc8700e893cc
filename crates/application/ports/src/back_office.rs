use async_trait::async_trait;
use dropin_card::LastFour;
use dropin_kernel::{ContractId, MerchantId, OrderId, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::{FailureReason, Operation, Order, OrderState};
use dropin_session::{Session, SessionStateKind};

use crate::store::StoreError;

/// Where a search goes on: behind the last row that it looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchCursor<I> {
    /// When that was created.
    pub at: Timestamp,
    /// Its id.
    pub id: I,
}

/// What of an Order or a Session is looked for besides its state; everything that is `None` leaves the choice open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Of one of these merchants; of none when it is empty.
    pub merchants: Option<Vec<MerchantId>>,
    /// In that currency.
    pub currency: Option<Currency>,
    /// Of exactly one of these totals.
    pub totals: Option<Vec<Amount>>,
    /// Created then or later.
    pub since: Option<Timestamp>,
    /// Created before then.
    pub until: Option<Timestamp>,
    /// That took a MerchantReference which begins so. What is found by it is found at once, at most [`SearchBounds::found`].
    pub reference: Option<String>,
    /// Whose shopper has that e-mail address, whatever the case of its ASCII letters; at most [`SearchBounds::found`].
    pub email: Option<String>,
}

impl SearchFilter {
    /// Whether an Order or a Session fits, but for its references and its shopper.
    #[must_use]
    pub fn fits(&self, merchant: MerchantId, created_at: Timestamp, total: &Amount) -> bool {
        self.merchants.as_ref().is_none_or(|merchants| merchants.contains(&merchant))
            && self.currency.is_none_or(|currency| total.currency() == currency)
            && self.totals.as_ref().is_none_or(|totals| totals.contains(total))
            && self.since.is_none_or(|since| since <= created_at)
            && self.until.is_none_or(|until| created_at < until)
    }
}

/// How much one search looks at, so that no filter makes it long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchBounds {
    /// Most that a search by reference or e-mail address finds.
    pub found: u32,
    /// Most rows that a search goes through, whatever its filter leaves of them.
    pub scanned: u32,
}

impl Default for SearchBounds {
    fn default() -> Self {
        Self { found: 200, scanned: 20_000 }
    }
}

/// Which Orders are looked for, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderSearch {
    /// What they have in common with Sessions.
    pub filter: SearchFilter,
    /// In that state.
    pub state: Option<OrderState>,
    /// Only those that our own review holds.
    pub under_review: bool,
    /// Paid by that method.
    pub payment_method: Option<String>,
    /// Whose card's number ends so. What is found by it alone is found at once, the newest [`SearchBounds::found`] of the span of time.
    pub last_four: Option<LastFour>,
    /// Those behind this one.
    pub after: Option<SearchCursor<OrderId>>,
    /// At most so many.
    pub limit: u32,
    /// How much is looked at.
    pub bounds: SearchBounds,
}

/// Which Sessions are looked for, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSearch {
    /// What they have in common with Orders.
    pub filter: SearchFilter,
    /// In that state, as it is written down.
    pub state: Option<SessionStateKind>,
    /// Those behind this one.
    pub after: Option<SearchCursor<SessionId>>,
    /// At most so many.
    pub limit: u32,
    /// How much is looked at.
    pub bounds: SearchBounds,
}

/// A part of what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPage<T, I> {
    /// In their order.
    pub found: Vec<T>,
    /// Where to go on; `None` at the end. A page may be short, or empty, before the end: a search goes through a bounded number of rows.
    pub next: Option<SearchCursor<I>>,
    /// Whether a reference or an e-mail address leads to more than is found; what is found is the newest.
    pub is_cut: bool,
}

/// Orders of a span of time that have these things in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentTotals {
    /// Paid, or tried, in that currency.
    pub currency: Currency,
    /// By that method.
    pub payment_method: String,
    /// Now in that state.
    pub state: OrderState,
    /// Whether money was ever reserved or paid.
    pub is_approved: bool,
    /// Why they failed; of Orders that failed only.
    pub failure: Option<FailureReason>,
    /// How many.
    pub count: u64,
    /// Sum of their totals, in minor units.
    pub total_minor: i64,
    /// What was captured of them, in minor units.
    pub captured_minor: i64,
    /// What was given back of that, in minor units.
    pub refunded_minor: i64,
}

/// What keeps notifications from arriving.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryTroubles {
    /// Notifications that were given up and not sent again since, up to [`STATUS_COUNT_LIMIT`](crate::STATUS_COUNT_LIMIT).
    pub parked: u32,
    /// Endpoints whose newest try at what waits failed.
    pub failing_endpoints: u32,
}

/// Looks through Orders and Sessions of all merchants, shown or not, for those who run the deployment. Reads only, and takes no locks.
#[async_trait]
pub trait BackOfficeStore: Send + Sync {
    /// Looks for Orders.
    async fn search_orders(&self, search: OrderSearch) -> Result<SearchPage<Order, OrderId>, StoreError>;

    /// Looks for Sessions.
    async fn search_sessions(&self, search: SessionSearch) -> Result<SearchPage<Session, SessionId>, StoreError>;

    /// Orders that were created from `since` to before `until`, of one merchant or of all, put together by what they have in common, in any order.
    async fn payment_totals(
        &self,
        merchant: Option<MerchantId>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<PaymentTotals>, StoreError>;

    /// Open operations of the Orders of these merchants, oldest first, at most `limit`.
    async fn list_open_operations_of(
        &self,
        merchants: Vec<MerchantId>,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreError>;

    /// Whose a contract is that its merchant knows of.
    async fn find_contract_merchant(&self, id: ContractId) -> Result<Option<MerchantId>, StoreError>;

    /// What keeps notifications from the endpoints of these merchants that were not removed, or of all merchants. Reads a bounded number of rows for
    /// each endpoint.
    async fn count_delivery_troubles(&self, merchants: Option<Vec<MerchantId>>)
    -> Result<DeliveryTroubles, StoreError>;
}
