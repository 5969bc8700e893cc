use diesel::prelude::*;
use dropin_access::operator::{OperatorSession, OperatorState, SessionStage};
use dropin_kernel::{OperatorId, OperatorSessionId, Timestamp};
use dropin_ports::{
    AccountChanged, NewOperatorSession, OperatorAccount, PhcHash, SecondFactor, SecondFactorUsed, SessionOpened,
    SessionsToEnd, TokenHash,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use super::rows::SessionRow;
use super::{account, recovery_codes};
use crate::schema::{operator, operator_session};

pub(super) fn insert(connection: &mut AnyConnection, new: &NewOperatorSession) -> Result<(), Fault> {
    diesel::insert_into(operator_session::table).values(SessionRow::new(new)).execute(connection)?;
    Ok(())
}

pub(super) fn end_all(connection: &mut AnyConnection, operator: Id) -> Result<(), Fault> {
    diesel::delete(operator_session::table.filter(operator_session::operator_id.eq(operator))).execute(connection)?;
    Ok(())
}

pub(super) fn open(
    connection: &mut AnyConnection,
    new: &NewOperatorSession,
    password: &PhcHash,
    rehashed: Option<&PhcHash>,
    over: Timestamp,
) -> Result<SessionOpened, Fault> {
    let id = Id(new.session.operator.uuid());
    let same = operator::table
        .find(id)
        .filter(operator::state.eq("ACTIVE"))
        .filter(operator::password.eq(password.0.as_str()));
    // An update also where nothing changes: it holds the row, so that nobody is disabled or reset between this and the insert.
    let kept = rehashed.unwrap_or(password);
    if diesel::update(same).set(operator::password.eq(kept.0.as_str())).execute(connection)? == 0 {
        return Ok(SessionOpened::Changed);
    }
    let old = operator_session::table
        .filter(operator_session::operator_id.eq(id))
        .filter(operator_session::created_at.le(Instant(over)));
    diesel::delete(old).execute(connection)?;
    insert(connection, new)?;
    Ok(SessionOpened::Done)
}

pub(super) fn use_second_factor(
    connection: &mut AnyConnection,
    old: OperatorSessionId,
    new: &NewOperatorSession,
    factor: &SecondFactor,
) -> Result<SecondFactorUsed, Fault> {
    let id = Id(new.session.operator.uuid());
    if !account::lock(connection, id, OperatorState::Active)? {
        return Ok(SecondFactorUsed::SessionGone);
    }
    let pending = operator_session::table
        .find(Id(old.uuid()))
        .filter(operator_session::operator_id.eq(id))
        .filter(operator_session::stage.eq(SessionStage::SecondFactor.as_str()));
    if diesel::delete(pending).execute(connection)? == 0 {
        return Ok(SecondFactorUsed::SessionGone);
    }
    let is_usable = match factor {
        SecondFactor::Code { step } => {
            let unused = operator::table.find(id).filter(operator::used_step.lt(*step));
            diesel::update(unused).set(operator::used_step.eq(*step)).execute(connection)? == 1
        }
        SecondFactor::RecoveryCode(hash) => recovery_codes::use_up(connection, id, hash)?,
    };
    if !is_usable {
        return Ok(SecondFactorUsed::NotUsable);
    }
    insert(connection, new)?;
    Ok(SecondFactorUsed::Done)
}

pub(super) fn count_wrong_code(
    connection: &mut AnyConnection,
    session: OperatorSessionId,
    allowed: u32,
) -> Result<(), Fault> {
    let row = operator_session::table.find(Id(session.uuid()));
    diesel::update(row).set(operator_session::wrong_codes.eq(operator_session::wrong_codes + 1)).execute(connection)?;
    let most = i32::try_from(allowed).unwrap_or(i32::MAX);
    diesel::delete(row.filter(operator_session::wrong_codes.ge(most))).execute(connection)?;
    Ok(())
}

pub(super) fn find(
    connection: &mut AnyConnection,
    token: TokenHash,
) -> Result<Option<(OperatorSession, OperatorAccount)>, Fault> {
    let found: Option<SessionRow> = operator_session::table
        .filter(operator_session::token_hash.eq(token.0.to_vec()))
        .select(SessionRow::as_select())
        .first(connection)
        .optional()
        .in_table("operator_session")?;
    let Some(row) = found else { return Ok(None) };
    let account = account::find(connection, row.operator_id)?;
    let account = account.ok_or_else(|| corrupt("operator_session", "its operator is missing"))?;
    Ok(Some((row.restore()?, account)))
}

pub(super) fn touch(connection: &mut AnyConnection, id: OperatorSessionId, seen_at: Timestamp) -> Result<(), Fault> {
    let older = operator_session::table.find(Id(id.uuid())).filter(operator_session::seen_at.lt(Instant(seen_at)));
    diesel::update(older).set(operator_session::seen_at.eq(Instant(seen_at))).execute(connection)?;
    Ok(())
}

pub(super) fn list(connection: &mut AnyConnection, operator: OperatorId) -> Result<Vec<OperatorSession>, Fault> {
    let rows: Vec<SessionRow> = operator_session::table
        .filter(operator_session::operator_id.eq(Id(operator.uuid())))
        .order((operator_session::created_at.desc(), operator_session::id))
        .select(SessionRow::as_select())
        .load(connection)
        .in_table("operator_session")?;
    rows.into_iter().map(SessionRow::restore).collect()
}

pub(super) fn end(
    connection: &mut AnyConnection,
    operator: OperatorId,
    sessions: SessionsToEnd,
) -> Result<AccountChanged, Fault> {
    let own = operator_session::table.filter(operator_session::operator_id.eq(Id(operator.uuid())));
    let ended = match sessions {
        SessionsToEnd::One(id) => {
            diesel::delete(own.filter(operator_session::id.eq(Id(id.uuid())))).execute(connection)?
        }
        SessionsToEnd::AllBut(id) => {
            diesel::delete(own.filter(operator_session::id.ne(Id(id.uuid())))).execute(connection)?
        }
    };
    Ok(if ended == 0 { AccountChanged::Missing } else { AccountChanged::Done })
}
