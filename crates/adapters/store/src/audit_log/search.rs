use diesel::prelude::*;
use dropin_ports::{AuditCursor, AuditPage, AuditQuery, AuditScope};
use dropin_store_runtime::connection::{AnyConnection, MultiBackend};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant};

use super::rows::EntryRow;
use crate::schema::audit_log;

/// A page of entries by time, and by position within one microsecond.
pub(super) fn search(connection: &mut AnyConnection, query: &AuditQuery) -> Result<AuditPage, Fault> {
    // One more, to know whether there is one.
    let wanted = i64::from(query.limit) + 1;
    let mut found = audit_log::table.select(EntryRow::as_select()).limit(wanted).into_boxed::<MultiBackend>();
    found = match query.scope {
        AuditScope::All => found,
        AuditScope::Deployment => found.filter(audit_log::merchant_id.is_null()),
        AuditScope::Merchant(merchant) => found.filter(audit_log::merchant_id.eq(Id(merchant.uuid()))),
    };
    if let Some(since) = query.since {
        found = found.filter(audit_log::happened_at.ge(Instant(since)));
    }
    if let Some(until) = query.until {
        found = found.filter(audit_log::happened_at.lt(Instant(until)));
    }
    if let Some(action) = &query.action {
        found = found.filter(audit_log::action.eq(action));
    }
    if let Some(name) = &query.actor_name {
        found = found.filter(audit_log::actor_name.eq(name));
    }
    if let Some(subject) = &query.subject_id {
        found = found.filter(audit_log::subject_id.eq(subject));
    }
    if let Some(AuditCursor { at, position }) = query.after {
        let at = Instant(at);
        let same = audit_log::happened_at.eq(at);
        found = match query.oldest_first {
            true => found.filter(audit_log::happened_at.gt(at).or(same.and(audit_log::position.gt(position)))),
            false => found.filter(audit_log::happened_at.lt(at).or(same.and(audit_log::position.lt(position)))),
        };
        // Beside the condition above, which no index serves by itself.
        found = match query.oldest_first {
            true => found.filter(audit_log::happened_at.ge(at)),
            false => found.filter(audit_log::happened_at.le(at)),
        };
    }
    found = match query.oldest_first {
        true => found.order((audit_log::happened_at.asc(), audit_log::position.asc())),
        false => found.order((audit_log::happened_at.desc(), audit_log::position.desc())),
    };
    let mut rows: Vec<EntryRow> = found.load(connection).in_table("audit_log")?;
    let more = i64::try_from(rows.len()) == Ok(wanted);
    if more {
        rows.pop();
    }
    let last = rows.last().map(|row| AuditCursor { at: row.happened_at.0, position: row.position });
    let entries = rows.into_iter().map(EntryRow::restore).collect::<Result<_, _>>()?;
    Ok(AuditPage { entries, next: last.filter(|_| more) })
}
