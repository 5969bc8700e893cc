//! A Session's terms replaced entirely, with all that is written at once with them: the billing profile, the MerchantReference, the history row and
//! the answer to a request that carried a key.

use diesel::prelude::*;
use dropin_kernel::Change;
use dropin_ports::{ReplaceSession, Replaced};
use dropin_session::{BillingChoice, Session, SessionStateKind};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::Id;
use dropin_store_runtime::worker_pool::{TxOutcome, Work};

use super::reference::{Reference, take_reference};
use super::state::{check_revision, lock};
use crate::rows::{ProfileRow, TermsChange};
use crate::schema::{billing_profile, session};
use crate::{history, idempotency};

/// A replacement, as it is stored.
pub(crate) struct Replacement {
    pub(crate) replace: ReplaceSession,
    pub(crate) terms: TermsChange,
    /// `None` when the terms name one that exists already.
    pub(crate) profile: Option<ProfileRow>,
}

impl Replacement {
    /// Makes the rows on the caller's thread, so that the worker thread only sends them.
    pub(crate) fn new(replace: ReplaceSession) -> Result<Self, Fault> {
        check_revision(&replace.change)?;
        let next = &replace.change.next;
        let is_supplied = next.terms.billing_choice == BillingChoice::Supplied;
        let profile = is_supplied.then(|| ProfileRow::new(next.merchant_id, &next.terms.billing, next.updated_at));
        Ok(Self { terms: TermsChange::new(next)?, profile: profile.transpose()?, replace })
    }

    /// The Session as it is to be.
    pub(crate) fn next(&self) -> &Session {
        &self.replace.change.next
    }

    /// Whether the batched statement can write it; anything else runs in a transaction of its own.
    pub(crate) fn is_batch_eligible(&self) -> bool {
        let history = history::row(&self.replace.history);
        history.subject_kind == "SESSION"
            && history.subject_id == Id(self.next().id.uuid())
            && history.merchant_id == Id(self.next().merchant_id.uuid())
            && self.replace.response.as_ref().is_none_or(|kept| kept.key_use.key.merchant_id == self.next().merchant_id)
    }

    /// Whether the Session has these very terms since that very moment: a statement wrote them whose answer got lost.
    fn is_written(&self, connection: &mut AnyConnection) -> Result<bool, Fault> {
        let TermsChange { revision, currency, total_minor, billing_profile_id, terms, updated_at, expires_at } =
            &self.terms;
        let found: Option<Id> = session::table
            .find(Id(self.next().id.uuid()))
            .filter(session::merchant_id.eq(Id(self.next().merchant_id.uuid())))
            .filter(session::state.eq(SessionStateKind::Created.as_str()))
            .filter(session::revision.eq(revision))
            .filter(session::currency.eq(currency))
            .filter(session::total_minor.eq(total_minor))
            .filter(session::billing_profile_id.eq(billing_profile_id))
            .filter(session::terms.eq(terms))
            .filter(session::updated_at.eq(updated_at))
            .filter(session::expires_at.eq(expires_at))
            .select(session::id)
            .first(connection)
            .optional()?;
        Ok(found.is_some())
    }

    /// Why it cannot be written to a Session that is not as it was when this was decided.
    fn overtaken(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Replaced>, Fault> {
        let key_use = self.replace.response.as_ref().map(|response| &response.key_use);
        Ok(TxOutcome::Rollback(if idempotency::is_key_used(connection, key_use)? {
            Replaced::KeyTaken
        } else if self.is_written(connection)? {
            Replaced::Done
        } else {
            Replaced::Stale
        }))
    }
}

impl Work for Replacement {
    type Answer = Replaced;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Replaced>, Fault> {
        let Change { next, expected } = &self.replace.change;
        // The reference before the Session before the key, as the statement for many takes them: in one order everywhere, so that two never wait
        // for each other.
        let reference = take_reference(connection, next)?;
        if !lock(connection, &self.replace.change)? {
            return self.overtaken(connection);
        }
        // The profile before the Session, since that refers to it. All of it is undone when the Session turns out to have changed.
        if let Some(profile) = &self.profile {
            diesel::insert_into(billing_profile::table).values(profile).execute(connection)?;
        }
        let changed = diesel::update(session::table)
            .filter(session::id.eq(Id(next.id.uuid())))
            .filter(session::merchant_id.eq(Id(next.merchant_id.uuid())))
            .filter(session::revision.eq(expected.number()))
            .filter(session::state.eq(SessionStateKind::Created.as_str()))
            .set(&self.terms)
            .execute(connection)?;
        if changed == 0 {
            return Ok(TxOutcome::Rollback(Replaced::Stale));
        }
        if !idempotency::store_response(connection, self.replace.response.as_ref())? {
            return Ok(TxOutcome::Rollback(Replaced::KeyTaken));
        }
        if reference == Reference::Foreign {
            return Ok(TxOutcome::Rollback(Replaced::DuplicateReference));
        }
        history::append(connection, &self.replace.history)?;
        Ok(TxOutcome::Commit(Replaced::Done))
    }
}
