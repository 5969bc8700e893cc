use std::collections::HashMap;

use diesel::prelude::*;
use dropin_access::operator::{OperatorRights, OperatorState};
use dropin_ports::OperatorAccount;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Id;
use uuid::Uuid;

use super::rows::{OperatorRow, Parts};
use crate::schema::{merchant, operator, operator_merchant, operator_recovery_code, operator_refund_limit};

pub(super) fn is_taken(fault: &Fault) -> bool {
    fault.breaks("operator_email_key", "operator.email_key")
}

pub(super) fn find_by_email(connection: &mut AnyConnection, key: &str) -> Result<Option<OperatorAccount>, Fault> {
    let found: Option<OperatorRow> = operator::table
        .filter(operator::email_key.eq(key))
        .select(OperatorRow::as_select())
        .first(connection)
        .optional()
        .in_table("operator")?;
    with_rights(connection, found)
}

pub(super) fn find(connection: &mut AnyConnection, id: Id) -> Result<Option<OperatorAccount>, Fault> {
    let found: Option<OperatorRow> =
        operator::table.find(id).select(OperatorRow::as_select()).first(connection).optional().in_table("operator")?;
    with_rights(connection, found)
}

/// The operator with what belongs to it. What belongs to nobody is looked for as well, so that an unknown operator takes as long.
fn with_rights(connection: &mut AnyConnection, row: Option<OperatorRow>) -> Result<Option<OperatorAccount>, Fault> {
    let id = row.as_ref().map_or(Id(Uuid::nil()), |row| row.id);
    let merchants = operator_merchant::table
        .filter(operator_merchant::operator_id.eq(id))
        .select(operator_merchant::merchant_id)
        .load(connection)
        .in_table("operator_merchant")?;
    let limits = operator_refund_limit::table
        .filter(operator_refund_limit::operator_id.eq(id))
        .select((operator_refund_limit::currency, operator_refund_limit::limit_minor))
        .load(connection)
        .in_table("operator_refund_limit")?;
    let codes: i64 = operator_recovery_code::table
        .filter(operator_recovery_code::operator_id.eq(id))
        .count()
        .get_result(connection)
        .in_table("operator_recovery_code")?;
    let parts = Parts { merchants, limits, recovery_codes: u32::try_from(codes).unwrap_or(u32::MAX) };
    row.map(|row| row.restore(parts)).transpose()
}

pub(super) fn list(connection: &mut AnyConnection) -> Result<Vec<OperatorAccount>, Fault> {
    let rows: Vec<OperatorRow> = operator::table
        .order((operator::created_at, operator::id))
        .select(OperatorRow::as_select())
        .load(connection)
        .in_table("operator")?;
    let mut parts: HashMap<Id, Parts> = HashMap::new();
    let merchants: Vec<(Id, Id)> = operator_merchant::table
        .select((operator_merchant::operator_id, operator_merchant::merchant_id))
        .load(connection)
        .in_table("operator_merchant")?;
    for (id, merchant) in merchants {
        parts.entry(id).or_default().merchants.push(merchant);
    }
    let limits: Vec<(Id, String, i64)> = operator_refund_limit::table
        .select((
            operator_refund_limit::operator_id,
            operator_refund_limit::currency,
            operator_refund_limit::limit_minor,
        ))
        .load(connection)
        .in_table("operator_refund_limit")?;
    for (id, currency, minor) in limits {
        parts.entry(id).or_default().limits.push((currency, minor));
    }
    let codes: Vec<Id> = operator_recovery_code::table
        .select(operator_recovery_code::operator_id)
        .load(connection)
        .in_table("operator_recovery_code")?;
    for id in codes {
        parts.entry(id).or_default().recovery_codes += 1;
    }
    let mut with_rights = |row: OperatorRow| {
        let own = parts.remove(&row.id).unwrap_or_default();
        row.restore(own)
    };
    rows.into_iter().map(&mut with_rights).collect()
}

/// Writes what belongs to an operator beside its row, in place of what did; whether every merchant of its scope exists.
pub(super) fn write_scope(connection: &mut AnyConnection, id: Id, rights: &OperatorRights) -> Result<bool, Fault> {
    diesel::delete(operator_merchant::table.filter(operator_merchant::operator_id.eq(id))).execute(connection)?;
    diesel::delete(operator_refund_limit::table.filter(operator_refund_limit::operator_id.eq(id)))
        .execute(connection)?;
    if let dropin_access::operator::OperatorScope::Merchants(merchants) = &rights.scope {
        for one in merchants {
            let key = Id(one.uuid());
            let found: Option<Id> = merchant::table.find(key).select(merchant::id).first(connection).optional()?;
            if found.is_none() {
                return Ok(false);
            }
            diesel::insert_into(operator_merchant::table)
                .values((operator_merchant::operator_id.eq(id), operator_merchant::merchant_id.eq(key)))
                .execute(connection)?;
        }
    }
    for limit in rights.refund_limits.iter() {
        diesel::insert_into(operator_refund_limit::table)
            .values((
                operator_refund_limit::operator_id.eq(id),
                operator_refund_limit::currency.eq(limit.currency().code()),
                operator_refund_limit::limit_minor.eq(limit.minor()),
            ))
            .execute(connection)?;
    }
    Ok(true)
}

pub(super) fn insert(connection: &mut AnyConnection, row: OperatorRow) -> Result<(), Fault> {
    diesel::insert_into(operator::table).values(row).execute(connection)?;
    Ok(())
}

/// Locks an operator's row, which is done before its links and sessions are touched; whether it is there in that state.
pub(super) fn lock(connection: &mut AnyConnection, id: Id, state: OperatorState) -> Result<bool, Fault> {
    let row = operator::table.find(id).filter(operator::state.eq(state.as_str())).select(operator::id);
    let locked: Option<Id> = match connection {
        AnyConnection::Postgres(connection) => row.for_no_key_update().first(connection).optional()?,
        AnyConnection::Sqlite(connection) => row.first(connection).optional()?,
    };
    Ok(locked.is_some())
}
