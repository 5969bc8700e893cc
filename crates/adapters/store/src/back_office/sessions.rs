//! Looking for Sessions.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use dropin_kernel::{SessionId, Timestamp};
use dropin_ports::{SearchCursor, SearchPage, SessionSearch};
use dropin_session::Session;
use dropin_store_runtime::connection::{AnyConnection, MultiBackend};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use uuid::Uuid;

use super::named::{self, Named};
use super::scan::{self, Position, Table};
use crate::rows::{ProfileRow, SessionRow};
use crate::schema::{billing_profile, session};

const TABLE: &str = "session";

/// A page, as the database and the exact amounts leave it.
pub(super) fn search(
    connection: &mut AnyConnection,
    search: &SessionSearch,
) -> Result<SearchPage<Session, SessionId>, Fault> {
    if let Some(named) = named::find(connection, &search.filter, search.bounds)? {
        return of_named(connection, search, &named);
    }
    let newest = (Instant(search.filter.until.unwrap_or(Timestamp::MAX)), Id(Uuid::nil()));
    let from = search.after.map_or(newest, |after| (Instant(after.at), Id(after.id.uuid())));
    let end = match narrows(search) {
        true => scan::end(connection, Table::Sessions, &search.filter, search.bounds, from)?,
        false => None,
    };
    let rows = read(connection, search, from, end)?;
    let is_full = usize::try_from(search.limit).is_ok_and(|limit| limit <= rows.len());
    let mut found = restored(rows)?;
    let last = found.last().map(|session| SearchCursor { at: session.created_at, id: session.id });
    let next = match (is_full, end) {
        (true, _) => last,
        (false, end) => end.map(|(at, id)| SearchCursor { at: at.0, id: SessionId::new(id.0) }),
    };
    found.retain(|session| fits(search, session));
    Ok(SearchPage { found, next, is_cut: false })
}

/// Of the Sessions that a name leads to those that fit. They are few: were the filter in the statement, a database might go through an index of it instead.
fn of_named(
    connection: &mut AnyConnection,
    search: &SessionSearch,
    named: &Named,
) -> Result<SearchPage<Session, SessionId>, Fault> {
    let rows = session::table
        .inner_join(billing_profile::table)
        .select((SessionRow::as_select(), ProfileRow::as_select()))
        .order((session::created_at.desc(), session::id.desc()))
        .filter(session::id.eq_any(named.sessions.clone()))
        .load(connection)
        .in_table(TABLE)?;
    let mut found = restored(rows)?;
    found.retain(|session| fits(search, session));
    Ok(SearchPage { found, next: None, is_cut: named.is_cut })
}

fn restored(rows: Vec<(SessionRow, ProfileRow)>) -> Result<Vec<Session>, Fault> {
    rows.into_iter().map(|(row, profile)| row.restore(&profile)).collect()
}

/// What is looked for; minor units count in their currency only.
fn fits(search: &SessionSearch, session: &Session) -> bool {
    search.filter.fits(session.merchant_id, session.created_at, &session.terms.total)
        && search.state.is_none_or(|state| session.state.kind() == state)
}

fn narrows(search: &SessionSearch) -> bool {
    let filter = &search.filter;
    let merchants_are_read_together = filter.merchants.as_ref().is_some_and(|merchants| merchants.len() != 1);
    merchants_are_read_together || filter.currency.is_some() || filter.totals.is_some() || search.state.is_some()
}

fn read(
    connection: &mut AnyConnection,
    search: &SessionSearch,
    (at, id): Position,
    end: Option<Position>,
) -> Result<Vec<(SessionRow, ProfileRow)>, Fault> {
    let filter = &search.filter;
    let mut sessions = session::table
        .inner_join(billing_profile::table)
        .select((SessionRow::as_select(), ProfileRow::as_select()))
        .order((session::created_at.desc(), session::id.desc()))
        .limit(i64::from(search.limit))
        .filter(
            sql::<Bool>("(session.created_at, session.id) < (")
                .bind::<SqlInstant, _>(at)
                .sql(", ")
                .bind::<SqlId, _>(id)
                .sql(")"),
        )
        .into_boxed::<MultiBackend>();
    if let Some((at, id)) = end {
        sessions = sessions.filter(
            sql::<Bool>("(session.created_at, session.id) >= (")
                .bind::<SqlInstant, _>(at)
                .sql(", ")
                .bind::<SqlId, _>(id)
                .sql(")"),
        );
    }
    if let Some(merchants) = &filter.merchants {
        sessions = match merchants.as_slice() {
            [one] => sessions.filter(session::merchant_id.eq(Id(one.uuid()))),
            several => {
                let ids: Vec<_> = several.iter().map(|one| Id(one.uuid())).collect();
                sessions.filter(session::merchant_id.eq_any(ids))
            }
        };
    }
    if let Some(since) = filter.since {
        sessions = sessions.filter(session::created_at.ge(Instant(since)));
    }
    if let Some(until) = filter.until {
        sessions = sessions.filter(session::created_at.lt(Instant(until)));
    }
    if let Some(currency) = filter.currency {
        sessions = sessions.filter(session::currency.eq(currency.code()));
    }
    if let Some(totals) = &filter.totals {
        let minors: Vec<i64> = totals.iter().map(|total| total.minor()).collect();
        sessions = sessions.filter(session::total_minor.eq_any(minors));
    }
    if let Some(state) = search.state {
        sessions = sessions.filter(session::state.eq(state.as_str()));
    }
    sessions.load(connection).in_table(TABLE)
}
