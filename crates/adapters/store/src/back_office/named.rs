//! Orders and Sessions that somebody names: by a reference of the merchant's, or by the shopper's e-mail address.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_ports::{MAX_FOUND, SearchFilter};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::schema::session;
use crate::sql::{Id, SqlId};
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
