//! A new Session with all that is written at once with it: its MerchantReference, its billing profile, its first history row and the answer
//! to a request that carried a key.

use diesel::RunQueryDsl;
use dropin_ports::{Inserted, NewSession};
use dropin_session::{BillingChoice, SessionState};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::worker_pool::{TxOutcome, Work};

use super::create_sqlite;
use super::reference::{Reference, take_reference};
use crate::rows::{ProfileRow, SessionRow};
use crate::schema::{billing_profile, session};
use crate::{history, idempotency};

/// A Session to insert, as it is stored.
pub(crate) struct Creation {
    pub(crate) new: NewSession,
    pub(crate) session: SessionRow,
    /// `None` when the Session names one that exists already.
    pub(crate) profile: Option<ProfileRow>,
}

impl Creation {
    /// Makes the rows on the caller's thread, so that the worker thread only sends them.
    pub(crate) fn new(new: NewSession) -> Result<Self, Fault> {
        let session = SessionRow::new(&new.session)?;
        let terms = &new.session.terms;
        let supplied = terms.billing_choice == BillingChoice::Supplied;
        let profile =
            supplied.then(|| ProfileRow::new(new.session.merchant_id, &terms.billing, new.session.created_at));
        Ok(Self { session, profile: profile.transpose()?, new })
    }

    /// The MerchantReference.
    pub(crate) fn reference(&self) -> &str {
        self.new.session.terms.merchant_reference.as_str()
    }

    /// Whether the batched statement can insert it; anything else runs in a transaction of its own.
    pub(crate) fn is_batch_eligible(&self) -> bool {
        let history = history::row(&self.new.history);
        self.new.session.state == SessionState::Created
            && self.new.session.attempts.failed() == 0
            && history.subject_kind == "SESSION"
            && history.subject_id == self.session.id
            && history.merchant_id == self.session.merchant_id
            && history.state_before.is_none()
    }
}

impl Work for Creation {
    type Answer = Inserted;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Inserted>, Fault> {
        // The reference before the key, as the statement for many takes them: in one order everywhere, so that two never wait for each other.
        let reference = take_reference(connection, &self.new.session)?;
        if !idempotency::store_response(connection, self.new.response.as_ref())? {
            return Ok(TxOutcome::Rollback(Inserted::KeyTaken));
        }
        match reference {
            Reference::Taken => {}
            Reference::Foreign => return Ok(TxOutcome::Rollback(Inserted::DuplicateReference)),
            // All of it is written at once, so all of it is there: by a statement whose answer got lost.
            Reference::Own => return Ok(TxOutcome::Commit(Inserted::Done)),
        }
        match connection {
            AnyConnection::Postgres(connection) => {
                if let Some(profile) = &self.profile {
                    diesel::insert_into(billing_profile::table).values(profile).execute(connection)?;
                }
                diesel::insert_into(session::table).values(&self.session).execute(connection)?;
            }
            AnyConnection::Sqlite(connection) => {
                create_sqlite::insert(connection, &self.session, self.profile.as_ref())?
            }
        }
        history::append(connection, &self.new.history)?;
        Ok(TxOutcome::Commit(Inserted::Done))
    }
}
