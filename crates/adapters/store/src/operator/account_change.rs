//! Changes of an operator's account by an owner.

use diesel::prelude::*;
use dropin_access::operator::{Operator, OperatorState};
use dropin_kernel::OperatorId;
use dropin_ports::{OperatorAccount, OperatorChange, OperatorChanged};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::Id;

use super::account::{list, write_scope};
use super::{invitation, recovery_codes, session};
use crate::schema::operator;

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
            recovery_codes::forget(connection, id)?;
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
