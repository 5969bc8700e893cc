use diesel::prelude::*;
use dropin_ports::RecoveryCodeHash;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::Id;

use crate::schema::operator_recovery_code;

pub(super) fn forget(connection: &mut AnyConnection, id: Id) -> Result<(), Fault> {
    diesel::delete(operator_recovery_code::table.filter(operator_recovery_code::operator_id.eq(id)))
        .execute(connection)?;
    Ok(())
}

pub(super) fn write(connection: &mut AnyConnection, id: Id, codes: &[RecoveryCodeHash]) -> Result<(), Fault> {
    forget(connection, id)?;
    for RecoveryCodeHash(hash) in codes {
        diesel::insert_into(operator_recovery_code::table)
            .values((operator_recovery_code::operator_id.eq(id), operator_recovery_code::code_hash.eq(hash)))
            .execute(connection)?;
    }
    Ok(())
}

/// Uses a recovery code up; whether it was there.
pub(super) fn use_up(
    connection: &mut AnyConnection,
    id: Id,
    RecoveryCodeHash(hash): &RecoveryCodeHash,
) -> Result<bool, Fault> {
    let used = diesel::delete(operator_recovery_code::table.find((id, hash))).execute(connection)?;
    Ok(used == 1)
}
