//! The store's rows.

use diesel::prelude::*;
use dropin_kernel::OpId;
use dropin_money::Amount;

use crate::store::{authorizations, journal, operations};
use crate::words::{Kind, Outcome, Reason, Scenario};

/// An operation that is about to be written.
#[derive(Debug, Insertable)]
#[diesel(table_name = operations)]
pub(crate) struct NewOperation {
    pub(crate) key: String,
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<Reason>,
    pub(crate) retryable: Option<bool>,
    /// Minor units of `currency`.
    pub(crate) amount: Option<i64>,
    pub(crate) currency: Option<String>,
    pub(crate) order_id: Option<String>,
    pub(crate) authorization_key: Option<String>,
    pub(crate) last4: Option<String>,
    /// Microseconds since 1970, while pending.
    pub(crate) due_at: Option<i64>,
    pub(crate) due_outcome: Option<Outcome>,
}

impl NewOperation {
    /// What stands under a key that was abandoned before anything arrived. Only authorizations are abandoned.
    pub(crate) fn tombstone(key: OpId) -> Self {
        Self {
            key: key.to_string(),
            kind: Kind::Authorize,
            outcome: Outcome::Abandoned,
            reason: None,
            retryable: None,
            amount: None,
            currency: None,
            order_id: None,
            authorization_key: None,
            last4: None,
            due_at: None,
            due_outcome: None,
        }
    }
}

/// What became of a key.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = operations)]
pub(crate) struct Operation {
    pub(crate) key: String,
    pub(crate) reference: String,
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<Reason>,
    pub(crate) retryable: Option<bool>,
    /// Minor units of `currency`.
    pub(crate) amount: Option<i64>,
    pub(crate) currency: Option<String>,
    pub(crate) order_id: Option<String>,
    pub(crate) authorization_key: Option<String>,
    pub(crate) last4: Option<String>,
    pub(crate) due_outcome: Option<Outcome>,
}

/// The money of one approved authorization, in minor units of `currency`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = authorizations)]
pub(crate) struct Account {
    pub(crate) key: String,
    pub(crate) scenario: Scenario,
    pub(crate) currency: String,
    pub(crate) authorized: i64,
    pub(crate) captured: i64,
    pub(crate) capture_pending: i64,
    pub(crate) refunded: i64,
    pub(crate) refund_pending: i64,
    pub(crate) voided: bool,
}

impl Account {
    /// A fresh authorization of `amount`.
    pub(crate) fn open(key: OpId, scenario: Scenario, amount: &Amount) -> Self {
        Self {
            key: key.to_string(),
            scenario,
            currency: amount.currency().code().to_owned(),
            authorized: amount.minor(),
            captured: 0,
            capture_pending: 0,
            refunded: 0,
            refund_pending: 0,
            voided: false,
        }
    }
}

/// One line of the journal.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = journal)]
pub(crate) struct Entry {
    pub(crate) number: i64,
    /// Microseconds since 1970.
    pub(crate) at: i64,
    pub(crate) key: String,
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    /// Minor units of `currency`.
    pub(crate) amount: Option<i64>,
    pub(crate) currency: Option<String>,
    pub(crate) order_id: Option<String>,
    pub(crate) authorization_key: Option<String>,
    pub(crate) last4: Option<String>,
}
