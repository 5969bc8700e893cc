//! Orders and Sessions that somebody names: by a reference of the merchant's, or by the shopper's e-mail address.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use dropin_card::LastFour;
use dropin_kernel::Timestamp;
use dropin_ports::{SearchBounds, SearchFilter};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, json_list};
use dropin_store_runtime::{on_each, statement};

/// Which rows a name leads to, the newest of them.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Sessions; their Orders too.
    pub(super) sessions: Vec<Id>,
    /// Orders of server-to-server checkouts.
    pub(super) orders: Vec<Id>,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

statement! {
    Referenced<'a> { from: &'a str => Text, to: &'a str => Text, scanned: i64 => BigInt, limit: i64 => BigInt, }
    postgres include_str!("find_referenced.postgres.sql");
    sqlite include_str!("find_referenced.sqlite.sql");
    returns (Text, SqlId);
}

statement! {
    ReferencedOf<'a> {
        merchants: &'a str => Text,
        from: &'a str => Text,
        to: &'a str => Text,
        scanned: i64 => BigInt,
        limit: i64 => BigInt,
    }
    postgres include_str!("find_referenced_of.postgres.sql");
    sqlite include_str!("find_referenced_of.sqlite.sql");
    returns (Text, SqlId);
}

statement! {
    SessionsOf<'a> {
        email: &'a str => Text,
        any_merchant: bool => Bool,
        merchants: &'a str => Text,
        scanned: i64 => BigInt,
        limit: i64 => BigInt,
    }
    postgres include_str!("find_sessions_of_email.postgres.sql");
    sqlite include_str!("find_sessions_of_email.sqlite.sql");
    returns SqlId;
}

statement! {
    CheckoutsOf<'a> {
        email: &'a str => Text,
        any_merchant: bool => Bool,
        merchants: &'a str => Text,
        scanned: i64 => BigInt,
        limit: i64 => BigInt,
    }
    postgres include_str!("find_checkouts_of_email.postgres.sql");
    sqlite include_str!("find_checkouts_of_email.sqlite.sql");
    returns SqlId;
}

statement! {
    /// The newest Orders of a span of time whose card's number ends so.
    OfCard<'a> { last_four: &'a str => Text, since: Instant => SqlInstant, until: Instant => SqlInstant, limit: i64 => BigInt, }
    both OF_CARD;
    returns SqlId;
}

/// In the words of the partial index, so that this is used.
const OF_CARD: &str = "SELECT id FROM purchase_order WHERE card_last_four IS NOT NULL AND card_last_four = $1 AND created_at >= $2 AND created_at < $3 \
    ORDER BY created_at DESC, id DESC LIMIT $4";

statement! {
    OfCardOf<'a> {
        last_four: &'a str => Text,
        since: Instant => SqlInstant,
        until: Instant => SqlInstant,
        merchants: &'a str => Text,
        limit: i64 => BigInt,
    }
    postgres include_str!("find_orders_of_card_of.postgres.sql");
    sqlite include_str!("find_orders_of_card_of.sqlite.sql");
    returns SqlId;
}

/// Orders whose card's number ends so.
pub(super) fn by_card(
    connection: &mut AnyConnection,
    filter: &SearchFilter,
    bounds: SearchBounds,
    last_four: LastFour,
) -> Result<Named, Fault> {
    let limit = i64::from(bounds.found) + 1;
    // No Order is older than 1970.
    let since = Instant(filter.since.unwrap_or(Timestamp::from_micros(0)));
    let until = Instant(filter.until.unwrap_or(Timestamp::MAX));
    let last_four = last_four.to_string();
    let orders: QueryResult<Vec<Id>> = match filter.merchants.as_deref() {
        Some(merchants) => {
            let find = OfCardOf { last_four: &last_four, since, until, merchants: &json_list(merchants), limit };
            on_each!(connection, inner => find.load(inner))
        }
        None => {
            let find = OfCard { last_four: &last_four, since, until, limit };
            on_each!(connection, inner => find.load(inner))
        }
    };
    let mut orders = orders.in_table("purchase_order")?;
    let is_cut = cut(&mut orders, bounds);
    Ok(Named { sessions: Vec::new(), orders, is_cut })
}

/// What the filter names; `None` when it names nothing.
pub(super) fn find(
    connection: &mut AnyConnection,
    filter: &SearchFilter,
    bounds: SearchBounds,
) -> Result<Option<Named>, Fault> {
    let by_reference = filter.reference.as_deref().map(|reference| referenced(connection, filter, bounds, reference));
    let by_reference = by_reference.transpose()?;
    let by_email = filter.email.as_deref().map(|email| of_email(connection, filter, bounds, email)).transpose()?;
    Ok(match (by_reference, by_email) {
        (Some(mut named), Some(other)) => {
            named.sessions.retain(|id| other.sessions.contains(id));
            named.orders.retain(|id| other.orders.contains(id));
            named.is_cut |= other.is_cut;
            Some(named)
        }
        (named, None) | (None, named) => named,
    })
}

fn referenced(
    connection: &mut AnyConnection,
    filter: &SearchFilter,
    bounds: SearchBounds,
    reference: &str,
) -> Result<Named, Fault> {
    // No character comes behind this one.
    let (from, to) = (reference, format!("{reference}\u{10ffff}"));
    let (scanned, limit) = (i64::from(bounds.scanned), i64::from(bounds.found) + 1);
    let mut found: Vec<(String, Id)> = match filter.merchants.as_deref() {
        Some(merchants) => {
            let find = ReferencedOf { merchants: &json_list(merchants), from, to: &to, scanned, limit };
            on_each!(connection, inner => find.load(inner))
        }
        None => {
            let find = Referenced { from, to: &to, scanned, limit };
            on_each!(connection, inner => find.load(inner))
        }
    }
    .in_table("merchant_reference")?;
    let is_cut = cut(&mut found, bounds);
    let (sessions, orders): (Vec<_>, Vec<_>) = found.into_iter().partition(|(kind, _)| kind == "SESSION");
    let ids = |found: Vec<(String, Id)>| found.into_iter().map(|(_, id)| id).collect();
    Ok(Named { sessions: ids(sessions), orders: ids(orders), is_cut })
}

fn of_email(
    connection: &mut AnyConnection,
    filter: &SearchFilter,
    bounds: SearchBounds,
    email: &str,
) -> Result<Named, Fault> {
    let email = &email.to_ascii_lowercase();
    let merchants = &json_list(filter.merchants.as_deref().unwrap_or_default());
    let any_merchant = filter.merchants.is_none();
    let (scanned, limit) = (i64::from(bounds.scanned), i64::from(bounds.found) + 1);
    let sessions = SessionsOf { email, any_merchant, merchants, scanned, limit };
    let mut sessions: Vec<Id> = on_each!(connection, inner => sessions.load(inner)).in_table("billing_profile")?;
    let orders = CheckoutsOf { email, any_merchant, merchants, scanned, limit };
    let mut orders: Vec<Id> = on_each!(connection, inner => orders.load(inner)).in_table("checkout")?;
    let is_cut = cut(&mut sessions, bounds) | cut(&mut orders, bounds);
    Ok(Named { sessions, orders, is_cut })
}

/// Leaves the newest that may be found; whether there were more.
fn cut<T>(found: &mut Vec<T>, bounds: SearchBounds) -> bool {
    let most = usize::try_from(bounds.found).unwrap_or(usize::MAX);
    let is_cut = most < found.len();
    found.truncate(most);
    is_cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query_plan;

    #[test]
    fn cards_are_found_through_their_index() {
        let mut connection = query_plan::empty_database();
        for query in [OF_CARD, include_str!("find_orders_of_card_of.sqlite.sql")] {
            let plan = query_plan::of(&mut connection, query);
            let of_orders: Vec<_> = plan.iter().filter(|step| step.contains("purchase_order")).collect();
            let index = "purchase_order_by_card (card_last_four=? AND created_at>? AND created_at<?)";
            assert!(of_orders.len() == 1 && of_orders[0].contains(index), "{plan:?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "nothing is sorted: {plan:?}");
        }
    }
}
