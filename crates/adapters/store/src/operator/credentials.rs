use diesel::prelude::*;
use dropin_ports::{CredentialsChange, NewOperatorSession, RecoveryCodeHash, SessionOpened};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::Id;

use super::session;
use crate::schema::{operator, operator_recovery_code};

pub(super) fn forget_recovery_codes(connection: &mut AnyConnection, id: Id) -> Result<(), Fault> {
    diesel::delete(operator_recovery_code::table.filter(operator_recovery_code::operator_id.eq(id)))
        .execute(connection)?;
    Ok(())
}

pub(super) fn write_recovery_codes(
    connection: &mut AnyConnection,
    id: Id,
    codes: &[RecoveryCodeHash],
) -> Result<(), Fault> {
    forget_recovery_codes(connection, id)?;
    for RecoveryCodeHash(hash) in codes {
        diesel::insert_into(operator_recovery_code::table)
            .values((operator_recovery_code::operator_id.eq(id), operator_recovery_code::code_hash.eq(hash)))
            .execute(connection)?;
    }
    Ok(())
}

/// Uses a recovery code up; whether it was there.
pub(super) fn use_recovery_code(
    connection: &mut AnyConnection,
    id: Id,
    RecoveryCodeHash(hash): &RecoveryCodeHash,
) -> Result<bool, Fault> {
    let used = diesel::delete(operator_recovery_code::table.find((id, hash))).execute(connection)?;
    Ok(used == 1)
}

pub(super) fn change(
    connection: &mut AnyConnection,
    change: &CredentialsChange,
    new: &NewOperatorSession,
) -> Result<SessionOpened, Fault> {
    let id = Id(new.session.operator.uuid());
    let active = operator::table.find(id).filter(operator::state.eq("ACTIVE"));
    let written = match change {
        CredentialsChange::Password { old, new } => {
            diesel::update(active.filter(operator::password.eq(old.0.as_str())))
                .set(operator::password.eq(new.0.as_str()))
                .execute(connection)?
        }
        CredentialsChange::Authenticator { authenticator, recovery_codes } => {
            let columns = (
                operator::authenticator.eq(authenticator.secret.0.clone()),
                operator::used_step.eq(authenticator.used_step),
            );
            let written = diesel::update(active).set(columns).execute(connection)?;
            if written == 1 {
                write_recovery_codes(connection, id, recovery_codes)?;
            }
            written
        }
    };
    if written == 0 {
        return Ok(SessionOpened::Changed);
    }
    session::end_all(connection, id)?;
    session::insert(connection, new)?;
    Ok(SessionOpened::Done)
}
