//! Orders and Sessions that somebody names: by a reference of the merchant's, or by the shopper's e-mail address.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_card::LastFour;
use dropin_kernel::Timestamp;
use dropin_ports::{MAX_FOUND, SearchFilter};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::schema::session;
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};

/// Which rows a name leads to.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Sessions; their Orders too.
    pub(super) sessions: Vec<Id>,
    /// Orders of server-to-server checkouts.
    pub(super) orders: Vec<Id>,
}

statement! {
    /// What took a reference that begins so, in the order of references.
    Referenced<'a> { from: &'a str => Text, to: &'a str => Text, limit: i64 => BigInt, }
    postgres "SELECT owner_kind, owner_id FROM merchant_reference WHERE reference COLLATE \"C\" >= ? AND reference COLLATE \"C\" < ? \
        ORDER BY reference COLLATE \"C\" LIMIT ?";
    sqlite "SELECT owner_kind, owner_id FROM merchant_reference WHERE reference >= ? AND reference < ? ORDER BY reference LIMIT ?";
    returns (Text, SqlId);
}

statement! {
    /// The same of one merchant.
    ReferencedOf<'a> { merchant: Id => SqlId, from: &'a str => Text, to: &'a str => Text, limit: i64 => BigInt, }
    postgres "SELECT owner_kind, owner_id FROM merchant_reference \
        WHERE merchant_id = ? AND reference COLLATE \"C\" >= ? AND reference COLLATE \"C\" < ? ORDER BY reference COLLATE \"C\" LIMIT ?";
    sqlite "SELECT owner_kind, owner_id FROM merchant_reference \
        WHERE merchant_id = ? AND reference >= ? AND reference < ? ORDER BY reference LIMIT ?";
    returns (Text, SqlId);
}

statement! {
    /// Billing profiles with that e-mail address, newest first.
    ProfilesOf<'a> { email: &'a str => Text, limit: i64 => BigInt, }
    postgres "SELECT id FROM billing_profile WHERE lower(details ->> 'email') = lower(?) ORDER BY position DESC LIMIT ?";
    sqlite "SELECT id FROM billing_profile WHERE lower(json_extract(details, '$.email')) = lower(?) ORDER BY position DESC LIMIT ?";
    returns SqlId;
}

statement! {
    /// Checkouts whose consumer has that e-mail address.
    CheckoutsOf<'a> { email: &'a str => Text, limit: i64 => BigInt, }
    postgres "SELECT order_id FROM checkout WHERE lower(document -> 'Consumer' ->> 'Email') = lower(?) LIMIT ?";
    sqlite "SELECT order_id FROM checkout WHERE lower(json_extract(document, '$.Consumer.Email')) = lower(?) LIMIT ?";
    returns SqlId;
}

statement! {
    /// The newest Orders of a span of time whose card's number ends so.
    OfCard<'a> { last_four: &'a str => Text, since: Instant => SqlInstant, until: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres OF_CARD;
    sqlite OF_CARD;
    returns SqlId;
}

/// In the words of the partial index, so that this is used.
const OF_CARD: &str = "SELECT id FROM purchase_order WHERE card_last_four IS NOT NULL AND card_last_four = ? AND created_at >= ? AND created_at < ? \
    ORDER BY created_at DESC, id DESC LIMIT ?";

statement! {
    /// The same of one merchant.
    OfCardOf<'a> {
        last_four: &'a str => Text,
        since: Instant => SqlInstant,
        until: Instant => SqlInstant,
        merchant: Id => SqlId,
        limit: i64 => BigInt,
    }
    postgres "SELECT id FROM purchase_order WHERE card_last_four IS NOT NULL AND card_last_four = ? AND created_at >= ? AND created_at < ? \
        AND merchant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?";
    sqlite OF_CARD_OF;
    returns SqlId;
}

/// The plus keeps SQLite from the merchant's index: far more Orders are the merchant's than have a card that ends so.
const OF_CARD_OF: &str = "SELECT id FROM purchase_order WHERE card_last_four IS NOT NULL AND card_last_four = ? AND created_at >= ? \
    AND created_at < ? AND +merchant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?";

/// Orders whose card's number ends so.
pub(super) fn by_card(
    connection: &mut AnyConnection,
    filter: &SearchFilter,
    last_four: LastFour,
) -> Result<Named, Fault> {
    let limit = i64::from(MAX_FOUND);
    let since = Instant(filter.since.unwrap_or(Timestamp::MIN));
    let until = Instant(filter.until.unwrap_or(Timestamp::MAX));
    let last_four = last_four.to_string();
    let orders = match filter.merchants.as_deref() {
        Some([merchant]) => {
            let find = OfCardOf { last_four: &last_four, since, until, merchant: Id(merchant.uuid()), limit };
            on_each!(connection, inner => find.load(inner))
        }
        _ => {
            let find = OfCard { last_four: &last_four, since, until, limit };
            on_each!(connection, inner => find.load(inner))
        }
    };
    Ok(Named { sessions: Vec::new(), orders: orders.in_table("purchase_order")? })
}

/// What the filter names; `None` when it names nothing.
pub(super) fn find(connection: &mut AnyConnection, filter: &SearchFilter) -> Result<Option<Named>, Fault> {
    let by_reference = filter.reference.as_deref().map(|reference| referenced(connection, filter, reference));
    let by_reference = by_reference.transpose()?;
    let by_email = filter.email.as_deref().map(|email| of_email(connection, email)).transpose()?;
    Ok(match (by_reference, by_email) {
        (Some(mut named), Some(other)) => {
            named.sessions.retain(|id| other.sessions.contains(id));
            named.orders.retain(|id| other.orders.contains(id));
            Some(named)
        }
        (named, None) | (None, named) => named,
    })
}

fn referenced(connection: &mut AnyConnection, filter: &SearchFilter, reference: &str) -> Result<Named, Fault> {
    // No character comes behind this one.
    let (from, to, limit) = (reference, format!("{reference}\u{10ffff}"), i64::from(MAX_FOUND));
    let found: Vec<(String, Id)> = match filter.merchants.as_deref() {
        Some([merchant]) => {
            let find = ReferencedOf { merchant: Id(merchant.uuid()), from, to: &to, limit };
            on_each!(connection, inner => find.load(inner))
        }
        _ => {
            let find = Referenced { from, to: &to, limit };
            on_each!(connection, inner => find.load(inner))
        }
    }
    .in_table("merchant_reference")?;
    let (sessions, orders): (Vec<_>, Vec<_>) = found.into_iter().partition(|(kind, _)| kind == "SESSION");
    let ids = |found: Vec<(String, Id)>| found.into_iter().map(|(_, id)| id).collect();
    Ok(Named { sessions: ids(sessions), orders: ids(orders) })
}

fn of_email(connection: &mut AnyConnection, email: &str) -> Result<Named, Fault> {
    let limit = i64::from(MAX_FOUND);
    let profiles: Vec<Id> =
        on_each!(connection, inner => ProfilesOf { email, limit }.load(inner)).in_table("billing_profile")?;
    let sessions: Vec<Id> = session::table
        .filter(session::billing_profile_id.eq_any(profiles))
        .select(session::id)
        .order(session::created_at.desc())
        .limit(limit)
        .load(connection)
        .in_table("session")?;
    let orders: Vec<Id> =
        on_each!(connection, inner => CheckoutsOf { email, limit }.load(inner)).in_table("checkout")?;
    Ok(Named { sessions, orders })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(QueryableByName)]
    struct Step {
        #[diesel(sql_type = Text)]
        detail: String,
    }

    #[test]
    fn cards_are_found_through_their_index() {
        let mut connection = SqliteConnection::establish(":memory:").unwrap();
        crate::migrate::sqlite(&mut connection).unwrap();
        for query in [OF_CARD, OF_CARD_OF] {
            let plan: Vec<Step> =
                diesel::sql_query(format!("EXPLAIN QUERY PLAN {query}")).load(&mut connection).unwrap();
            let plan: Vec<_> = plan.into_iter().map(|step| step.detail).collect();
            assert!(
                plan.len() == 1
                    && plan[0].contains("purchase_order_by_card (card_last_four=? AND created_at>? AND created_at<?)"),
                "{plan:?}"
            );
        }
    }
}
