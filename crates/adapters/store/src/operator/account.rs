use std::collections::HashMap;

use diesel::prelude::*;
use dropin_access::operator::{Operator, OperatorRights, OperatorState};
use dropin_kernel::OperatorId;
use dropin_ports::{OperatorAccount, OperatorChange, OperatorChanged};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Id;
use uuid::Uuid;

use super::rows::{OperatorRow, Parts};
use super::{invitation, session};
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

/// The operators, locked so that of two who change them at once the second one sees what the first one did.
fn lock_all(connection: &mut AnyConnection) -> Result<(), Fault> {
    let all = operator::table.order(operator::id).select(operator::id);
    let _locked: Vec<Id> = match connection {
        AnyConnection::Postgres(connection) => all.for_no_key_update().load(connection)?,
        AnyConnection::Sqlite(connection) => all.load(connection)?,
    };
    Ok(())
}

pub(super) fn change(
    connection: &mut AnyConnection,
    id: Id,
    change: &OperatorChange,
) -> Result<OperatorChanged, Fault> {
    lock_all(connection)?;
    let before = list(connection)?;
    let Some(account) = before.iter().find(|account| account.operator.id == OperatorId::new(id.0)) else {
        return Ok(OperatorChanged::Missing);
    };
    let next = after(account, change);
    let Some(next) = next else { return Ok(OperatorChanged::WrongState) };
    let is_owner =
        |operator: &Operator| operator.state == OperatorState::Active && operator.rights.is_owner_of_deployment();
    let others = before.iter().any(|other| other.operator.id != next.id && is_owner(&other.operator));
    let may_be_none = matches!(change, OperatorChange::Reset { even_the_last_owner: true, .. });
    if is_owner(&account.operator) && !is_owner(&next) && !others && !may_be_none {
        return Ok(OperatorChanged::LastOwner);
    }
    let state = operator::state.eq(next.state.as_str());
    let row = operator::table.find(id);
    match change {
        OperatorChange::Rights(rights) => {
            let roles = (
                operator::roles.eq(rights.roles.to_string()),
                operator::is_of_deployment.eq(rights.scope.is_deployment()),
            );
            diesel::update(row).set(roles).execute(connection)?;
            if !write_scope(connection, id, rights)? {
                return Ok(OperatorChanged::NoMerchant);
            }
        }
        OperatorChange::Disabled => {
            diesel::update(row).set(state).execute(connection)?;
            session::end_all(connection, id)?;
            invitation::forget(connection, id)?;
        }
        OperatorChange::Enabled => {
            diesel::update(row).set(state).execute(connection)?;
        }
        OperatorChange::Reset { invitation, .. } => {
            let nothing = (
                state,
                operator::password.eq(None::<String>),
                operator::authenticator.eq(None::<Vec<u8>>),
                operator::used_step.eq(None::<i64>),
            );
            diesel::update(row).set(nothing).execute(connection)?;
            super::credentials::forget_recovery_codes(connection, id)?;
            session::end_all(connection, id)?;
            invitation::write(connection, Some(id), invitation)?;
        }
    }
    Ok(OperatorChanged::Done)
}

/// The operator after a change; `None` when its state does not allow it.
fn after(account: &OperatorAccount, change: &OperatorChange) -> Option<Operator> {
    let operator = account.operator.clone();
    let state = match (change, operator.state) {
        (OperatorChange::Rights(rights), _) => return Some(Operator { rights: rights.clone(), ..operator }),
        (OperatorChange::Disabled, _) => OperatorState::Disabled,
        (OperatorChange::Enabled, OperatorState::Disabled) if account.credentials.password.is_some() => {
            OperatorState::Active
        }
        (OperatorChange::Enabled, OperatorState::Disabled) => OperatorState::Invited,
        (OperatorChange::Reset { .. }, OperatorState::Active | OperatorState::Invited) => OperatorState::Invited,
        _ => return None,
    };
    Some(Operator { state, ..operator })
}
