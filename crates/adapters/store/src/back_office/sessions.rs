//! Looking for Sessions.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use dropin_kernel::{SessionId, Timestamp};
use dropin_ports::{SearchCursor, SearchPage, SessionSearch};
use dropin_session::Session;
use uuid::Uuid;

use super::named::{self, Named};
use super::scan::{self, Position, Table};
use crate::connection::{AnyConnection, MultiBackend};
use crate::fault::{Fault, InTable};
use crate::rows::{ProfileRow, SessionRow};
use crate::schema::{billing_profile, session};
use crate::sql::{Id, Instant, SqlId, SqlInstant};

const TABLE: &str = "session";

/// A page, as the database and the exact amounts leave it.
pub(super) fn search(
    connection: &mut AnyConnection,
    search: &SessionSearch,
) -> Result<SearchPage<Session, SessionId>, Fault> {
    let named = named::find(connection, &search.filter, search.bounds)?;
    let newest = (Instant(search.filter.until.unwrap_or(Timestamp::MAX)), Id(Uuid::nil()));
    let from = search.after.map_or(newest, |after| (Instant(after.at), Id(after.id.uuid())));
    let looks_at_all = named.is_some() || !narrows(search);
    let end =
        if looks_at_all { None } else { scan::end(connection, Table::Sessions, &search.filter, search.bounds, from)? };
    let mut rows = read(connection, search, named.as_ref(), from, end)?;
    let limit = usize::try_from(if named.is_some() { search.bounds.found } else { search.limit }).unwrap_or(usize::MAX);
    let is_full = limit <= rows.len();
    let is_cut = named.as_ref().is_some_and(|named| named.is_cut || limit < rows.len());
    rows.truncate(limit);
    let mut found = rows.into_iter().map(|(row, profile)| row.restore(&profile)).collect::<Result<Vec<_>, _>>()?;
    let last = found.last().map(|session| SearchCursor { at: session.created_at, id: session.id });
    let next = match (named, is_full, end) {
        (Some(_), ..) => None,
        (None, true, _) => last,
        (None, false, end) => end.map(|(at, id)| SearchCursor { at: at.0, id: SessionId::new(id.0) }),
    };
    let totals = search.filter.totals.as_ref();
    found.retain(|session| totals.is_none_or(|totals| totals.contains(&session.terms.total)));
    Ok(SearchPage { found, next, is_cut })
}

fn narrows(search: &SessionSearch) -> bool {
    let filter = &search.filter;
    let merchants_are_read_together = filter.merchants.as_ref().is_some_and(|merchants| merchants.len() != 1);
    merchants_are_read_together || filter.currency.is_some() || filter.totals.is_some() || search.state.is_some()
}

fn read(
    connection: &mut AnyConnection,
    search: &SessionSearch,
    named: Option<&Named>,
    (at, id): Position,
    end: Option<Position>,
) -> Result<Vec<(SessionRow, ProfileRow)>, Fault> {
    let filter = &search.filter;
    let mut sessions = session::table
        .inner_join(billing_profile::table)
        .select((SessionRow::as_select(), ProfileRow::as_select()))
        .order((session::created_at.desc(), session::id.desc()))
        .into_boxed::<MultiBackend>();
    sessions = match named {
        Some(named) => {
            sessions.limit(i64::from(search.bounds.found) + 1).filter(session::id.eq_any(named.sessions.clone()))
        }
        None => sessions.limit(i64::from(search.limit)).filter(
            sql::<Bool>("(session.created_at, session.id) < (")
                .bind::<SqlInstant, _>(at)
                .sql(", ")
                .bind::<SqlId, _>(id)
                .sql(")"),
        ),
    };
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
