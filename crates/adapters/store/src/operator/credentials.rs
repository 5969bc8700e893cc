use diesel::prelude::*;
use dropin_ports::{CredentialsChange, NewOperatorSession, SessionOpened};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::Id;

use super::{recovery_codes, session};
use crate::schema::operator;

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
                recovery_codes::write(connection, id, recovery_codes)?;
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
