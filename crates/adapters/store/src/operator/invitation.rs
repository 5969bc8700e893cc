use diesel::prelude::*;
use dropin_access::operator::{Operator, OperatorState};
use dropin_ports::{
    AcceptInvitation, FirstInvitation, Invitation, InvitationAccepted, NewInvitation, OperatorInvited, TokenHash,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use super::rows::OperatorRow;
use super::{account, recovery_codes, session};
use crate::schema::{operator, operator_invitation};

/// Key of the advisory lock of whoever invites or becomes the first operator ("operator" in ASCII).
const FIRST_OPERATOR_LOCK: i64 = 0x6f70_6572_6174_6f72;

/// Forgets the link of an operator.
pub(super) fn forget(connection: &mut AnyConnection, owner: Id) -> Result<(), Fault> {
    diesel::delete(operator_invitation::table.filter(operator_invitation::operator_id.eq(owner)))
        .execute(connection)?;
    Ok(())
}

/// Writes a link down, in place of the one that the operator had.
pub(super) fn write(connection: &mut AnyConnection, owner: Option<Id>, new: &NewInvitation) -> Result<(), Fault> {
    match owner {
        Some(id) => forget(connection, id)?,
        None => {
            diesel::delete(operator_invitation::table.filter(operator_invitation::operator_id.is_null()))
                .execute(connection)?;
        }
    }
    diesel::insert_into(operator_invitation::table)
        .values((
            operator_invitation::token_hash.eq(new.token.0.to_vec()),
            operator_invitation::operator_id.eq(owner),
            operator_invitation::expires_at.eq(Instant(new.expires_at)),
        ))
        .execute(connection)?;
    Ok(())
}

fn is_any_operator(connection: &mut AnyConnection) -> Result<bool, Fault> {
    let found: Option<Id> = operator::table.select(operator::id).limit(1).first(connection).optional()?;
    Ok(found.is_some())
}

/// Lets those who invite or become the first operator wait for each other. SQLite has one writer at a time anyway.
fn take_turns(connection: &mut AnyConnection) -> Result<(), Fault> {
    if let AnyConnection::Postgres(inner) = connection {
        diesel::sql_query(format!("SELECT pg_advisory_xact_lock({FIRST_OPERATOR_LOCK})")).execute(inner)?;
    }
    Ok(())
}

pub(super) fn invite_first(connection: &mut AnyConnection, new: &NewInvitation) -> Result<FirstInvitation, Fault> {
    take_turns(connection)?;
    if is_any_operator(connection)? {
        return Ok(FirstInvitation::OperatorsExist);
    }
    write(connection, None, new)?;
    Ok(FirstInvitation::Done)
}

pub(super) fn invite(
    connection: &mut AnyConnection,
    operator: &Operator,
    new: &NewInvitation,
) -> Result<OperatorInvited, Fault> {
    let row = OperatorRow::new(operator, None, None);
    let id = row.id;
    account::insert(connection, row)?;
    if !account::write_scope(connection, id, &operator.rights)? {
        return Ok(OperatorInvited::NoMerchant);
    }
    write(connection, Some(id), new)?;
    Ok(OperatorInvited::Done)
}

pub(super) fn find(connection: &mut AnyConnection, token: TokenHash) -> Result<Option<Invitation>, Fault> {
    let found: Option<(Option<Id>, Instant)> = operator_invitation::table
        .find(token.0.to_vec())
        .select((operator_invitation::operator_id, operator_invitation::expires_at))
        .first(connection)
        .optional()
        .in_table("operator_invitation")?;
    let Some((owner, expires_at)) = found else { return Ok(None) };
    let operator = match owner {
        Some(id) => {
            let account = account::find(connection, id)?;
            Some(account.ok_or_else(|| corrupt("operator_invitation", "its operator is missing"))?.operator)
        }
        None => None,
    };
    Ok(Some(Invitation { operator, expires_at: expires_at.0 }))
}

pub(super) fn accept(connection: &mut AnyConnection, accept: &AcceptInvitation) -> Result<InvitationAccepted, Fault> {
    let row = OperatorRow::new(&accept.operator, Some(&accept.password), accept.authenticator.as_ref());
    let id = row.id;
    // Whoever deletes the link has it.
    let links = operator_invitation::table
        .find(accept.token.0.to_vec())
        .filter(operator_invitation::expires_at.gt(Instant(accept.now)));
    let owner: Option<Option<Id>> =
        links.select(operator_invitation::operator_id).first(connection).optional().in_table("operator_invitation")?;
    let Some(owner) = owner else { return Ok(InvitationAccepted::Gone) };
    if owner.is_none() {
        take_turns(connection)?;
    }
    // Of an operator who was disabled meanwhile the link is of no use.
    if let Some(owner) = owner
        && !account::lock(connection, owner, OperatorState::Invited)?
    {
        return Ok(InvitationAccepted::Gone);
    }
    let link = operator_invitation::table.find(accept.token.0.to_vec());
    if diesel::delete(link).execute(connection)? == 0 {
        return Ok(InvitationAccepted::Gone);
    }
    match owner {
        Some(owner) if owner == id => {
            let changes = (
                operator::name.eq(accept.operator.name.as_str()),
                operator::state.eq(accept.operator.state.as_str()),
                operator::password.eq(Some(accept.password.0.clone())),
                operator::authenticator.eq(accept.authenticator.as_ref().map(|one| one.secret.0.clone())),
                operator::used_step.eq(accept.authenticator.as_ref().map(|one| one.used_step)),
            );
            diesel::update(operator::table.find(id)).set(changes).execute(connection)?;
        }
        None if !is_any_operator(connection)? => {
            account::insert(connection, row)?;
            account::write_scope(connection, id, &accept.operator.rights)?;
        }
        _ => return Ok(InvitationAccepted::Gone),
    }
    recovery_codes::write(connection, id, &accept.recovery_codes)?;
    session::insert(connection, &accept.session)?;
    Ok(InvitationAccepted::Done)
}
