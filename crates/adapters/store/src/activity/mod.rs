//! Whether anything happened, for pages that stay open: a few numbers in place of what they count.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_kernel::{MerchantId, OrderId, Revision, Timestamp};
use dropin_ports::{ActivityStore, HeldOrder, HistoryActivity, NotificationActivity, OrderActivity, StoreError};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use crate::store::Store;

/// Most notifications, and most tries, that are counted at once.
const MAX_COUNTED: i64 = 20_000;

statement! {
    Orders<'a> { orders: &'a str => Text, }
    postgres include_str!("orders.postgres.sql");
    sqlite include_str!("orders.sqlite.sql");
    returns (SqlId, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt);
}

type OrderRow = (Id, i64, i64, i64, i64, i64, i64, i64);

statement! {
    /// The newest Orders that our own review holds.
    Held { limit: i64 => BigInt, }
    both HELD;
    returns (SqlId, SqlId, BigInt);
}

const HELD: &str = "SELECT id, merchant_id, revision FROM purchase_order WHERE under_review ORDER BY created_at DESC, id DESC LIMIT $1";

statement! {
    Notifications { since: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres include_str!("notifications.postgres.sql");
    sqlite include_str!("notifications.sqlite.sql");
    returns (SqlId, SqlInstant, BigInt);
}

statement! {
    /// How far the newest steps of the history have come.
    Steps { limit: i64 => BigInt, }
    both STEPS;
    returns (SqlId, BigInt);
}

const STEPS: &str = "SELECT merchant_id, max(position) FROM ( \
        SELECT merchant_id, position FROM history ORDER BY position DESC LIMIT $1) AS newest GROUP BY merchant_id";

#[async_trait]
impl ActivityStore for Store {
    async fn order_activity(&self, orders: Vec<OrderId>) -> Result<Vec<OrderActivity>, StoreError> {
        self.read(move |connection| of_orders(connection, &orders)).await
    }

    async fn list_held_orders(&self, limit: u32) -> Result<Vec<HeldOrder>, StoreError> {
        self.read(move |connection| {
            let held = Held { limit: i64::from(limit) };
            let rows: Vec<(Id, Id, i64)> =
                on_each!(connection, inner => held.load(inner)).in_table("purchase_order")?;
            let rows = rows.into_iter().map(|(order, merchant, revision)| HeldOrder {
                order: OrderId::new(order.0),
                merchant: MerchantId::new(merchant.0),
                revision: Revision::new(revision),
            });
            Ok(rows.collect())
        })
        .await
    }

    async fn notification_activity(&self, since: Timestamp) -> Result<Vec<NotificationActivity>, StoreError> {
        self.read(move |connection| of_notifications(connection, since)).await
    }

    async fn history_activity(&self, limit: u32) -> Result<Vec<HistoryActivity>, StoreError> {
        self.read(move |connection| {
            let steps = Steps { limit: i64::from(limit) };
            let rows: Vec<(Id, i64)> = on_each!(connection, inner => steps.load(inner)).in_table("history")?;
            let rows = rows.into_iter();
            Ok(rows.map(|(id, newest)| HistoryActivity { merchant: MerchantId::new(id.0), newest }).collect())
        })
        .await
    }
}

fn of_orders(connection: &mut AnyConnection, orders: &[OrderId]) -> Result<Vec<OrderActivity>, Fault> {
    // Ids need no quoting.
    let listed: Vec<_> = orders.iter().map(|order| format!("\"{order}\"")).collect();
    let listed = format!("[{}]", listed.join(","));
    let find = Orders { orders: &listed };
    let rows: Vec<OrderRow> = on_each!(connection, inner => find.load(inner)).in_table("purchase_order")?;
    let number = |count: i64| u32::try_from(count).map_err(|_beyond| corrupt("purchase_order", "a count"));
    let restore = |(id, revision, operations, operation_tries, notifications, tries, asked, waiting): OrderRow| {
        Ok(OrderActivity {
            order: OrderId::new(id.0),
            revision: Revision::new(revision),
            operations: number(operations)?,
            operation_tries: number(operation_tries)?,
            notifications: number(notifications)?,
            notification_tries: number(tries)?,
            money_requests: number(asked)?,
            money_requests_waiting: number(waiting)?,
        })
    };
    rows.into_iter().map(restore).collect()
}

fn of_notifications(connection: &mut AnyConnection, since: Timestamp) -> Result<Vec<NotificationActivity>, Fault> {
    let find = Notifications { since: Instant(since), limit: MAX_COUNTED };
    let rows: Vec<(Id, Instant, i64)> = on_each!(connection, inner => find.load(inner)).in_table("outbox_attempt")?;
    let restore = |(merchant, newest, count): (Id, Instant, i64)| {
        let count = u64::try_from(count).map_err(|_negative| corrupt("outbox_attempt", "less than no rows"))?;
        Ok(NotificationActivity { merchant: MerchantId::new(merchant.0), newest: newest.0, count })
    };
    rows.into_iter().map(restore).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query_plan;

    /// A panel asks these every second, whatever the tables hold.
    #[test]
    fn no_table_that_grows_is_read_whole() {
        let mut connection = query_plan::empty_database();
        let orders = include_str!("orders.sqlite.sql");
        let notifications = include_str!("notifications.sqlite.sql");
        for query in [orders, HELD, notifications, STEPS] {
            let plan = query_plan::of(&mut connection, query);
            let grows =
                ["purchase_order", "processor_op", "outbox_event", "outbox_attempt", "money_request", "history"];
            let whole = plan.iter().filter(|step| {
                let is_newest = query == STEPS && *step == "SCAN history";
                step.starts_with("SCAN")
                    && !step.contains("USING")
                    && !is_newest
                    && grows.iter().any(|table| step.contains(table))
            });
            assert_eq!(whole.count(), 0, "{query}: {plan:?}");
        }
    }
}
