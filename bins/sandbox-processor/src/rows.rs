//! The store's rows.

use diesel::prelude::*;
use dropin_kernel::OpId;
use dropin_money::Amount;

use crate::card::{SandboxCard, Verdict};
use crate::enums::{
    CardScheme, CredentialKind, CredentialUse, DisputeState, Exemption, Kind, Method, Outcome, Reason, Scenario, Stage,
};
use crate::store::{authorizations, credential_terms, credentials, disputes, journal, operations};

/// An operation that is about to be written.
#[derive(Debug, Insertable)]
#[diesel(table_name = operations, treat_none_as_default_value = false)]
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
    /// Of the authorization, also in what is done with it later.
    pub(crate) method: Option<Method>,
    pub(crate) return_url: Option<String>,
    pub(crate) shopper_country: Option<String>,
    pub(crate) review_allowed: bool,
    /// The caller asked that the shopper authenticate.
    pub(crate) challenge: bool,
    /// It asked that nobody do.
    pub(crate) exemption: Option<Exemption>,
    /// By which it shall pay, of a card that bears more than one.
    pub(crate) scheme: Option<CardScheme>,
    /// A verification code came along.
    pub(crate) has_code: bool,
    /// A postcode came along for the issuer to compare.
    pub(crate) has_postcode: bool,
    pub(crate) under_review: bool,
    /// While an authorization is pending.
    pub(crate) stage: Option<Stage>,
    /// The address of the page, where there is one.
    pub(crate) page_token: Option<String>,
    /// What the page's forms have to carry.
    pub(crate) form_token: Option<String>,
    /// What the shopper writes on a transfer.
    pub(crate) payment_reference: Option<String>,
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
            method: None,
            return_url: None,
            shopper_country: None,
            review_allowed: false,
            challenge: false,
            exemption: None,
            scheme: None,
            has_code: false,
            has_postcode: false,
            under_review: false,
            stage: None,
            page_token: None,
            form_token: None,
            payment_reference: None,
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
    /// Microseconds since 1970, while pending.
    pub(crate) due_at: Option<i64>,
    pub(crate) due_outcome: Option<Outcome>,
    /// Of the authorization, also in what was done with it later; none where nothing named one.
    pub(crate) method: Option<Method>,
    pub(crate) return_url: Option<String>,
    pub(crate) shopper_country: Option<String>,
    pub(crate) review_allowed: bool,
    /// The caller asked that the shopper authenticate.
    pub(crate) challenge: bool,
    /// It asked that nobody do.
    pub(crate) exemption: Option<Exemption>,
    /// By which it shall pay, of a card that bears more than one.
    pub(crate) scheme: Option<CardScheme>,
    /// A verification code came along.
    pub(crate) has_code: bool,
    /// A postcode came along for the issuer to compare.
    pub(crate) has_postcode: bool,
    pub(crate) under_review: bool,
    /// While an authorization is pending.
    pub(crate) stage: Option<Stage>,
    /// What has arrived of a bank transfer, in minor units of `currency`.
    pub(crate) received: i64,
    pub(crate) page_token: Option<String>,
    pub(crate) form_token: Option<String>,
    /// What the shopper writes on a transfer.
    pub(crate) payment_reference: Option<String>,
}

impl Operation {
    /// Whether an approved authorization of this method needs no capture.
    pub(crate) fn pays_at_once(&self) -> bool {
        self.method.is_some_and(Method::pays_at_once)
    }

    /// What becomes of a payment with a card once the shopper has authenticated; a wallet's token, of which no number is known, pays.
    pub(crate) fn authenticated(&self) -> Verdict {
        let card = self.last4.as_deref().and_then(SandboxCard::of_last4);
        card.map_or(Verdict::Approve(Scenario::Plain), |card| card.authenticated(self.review_allowed))
    }
}

/// The money of one approved authorization, in minor units of `currency`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
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
    /// The fresh account of an approved authorization of `amount`.
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

    /// The fresh account of an authorization that waited and was then approved; none for a verification, which reserves nothing.
    pub(crate) fn of(approved: &Operation) -> Option<Self> {
        let authorized = approved.amount.filter(|minor| 0 < *minor)?;
        let scenario = match approved.authenticated() {
            Verdict::Approve(scenario) => scenario,
            _ => Scenario::Plain,
        };
        Some(Self {
            key: approved.key.clone(),
            scenario,
            currency: approved.currency.clone()?,
            authorized,
            captured: if approved.pays_at_once() { authorized } else { 0 },
            capture_pending: 0,
            refunded: 0,
            refund_pending: 0,
            voided: false,
        })
    }
}

/// What an authorization said of a stored credential, and what the card's issuer said to it.
#[derive(Debug, Clone, PartialEq, Eq, Insertable, Queryable, Selectable)]
#[diesel(table_name = credential_terms)]
pub(crate) struct CredentialTerms {
    /// Of the authorization.
    pub(crate) key: String,
    pub(crate) merchant: String,
    /// What the card is stored for, where it is.
    pub(crate) store: Option<CredentialKind>,
    /// Of the card that is stored, as `2031-12`.
    pub(crate) expiry: Option<String>,
    /// The reference of what is paid with, where no card is.
    pub(crate) credential: Option<String>,
    pub(crate) credential_use: Option<CredentialUse>,
    /// The payment in which the shopper agreed, as the caller named it.
    pub(crate) linked_transaction_id: Option<String>,
    /// This payment's.
    pub(crate) network_transaction_id: String,
    /// ISO 8583 field 39, when the issuer declined at once.
    pub(crate) response_code: Option<String>,
    /// Mastercard's merchant advice.
    pub(crate) advice_code: Option<String>,
}

/// A card that may be charged again.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = credentials)]
pub(crate) struct Credential {
    pub(crate) number: i64,
    pub(crate) reference: String,
    /// Of the authorization that stored it.
    pub(crate) key: String,
    pub(crate) kind: CredentialKind,
    pub(crate) last4: String,
    /// As `2031-12`.
    pub(crate) expiry: String,
    /// Microseconds since 1970.
    pub(crate) stored_at: i64,
    pub(crate) deleted_at: Option<i64>,
}

/// Money that the shopper's bank takes back, in minor units of `currency`.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = disputes)]
pub(crate) struct Dispute {
    pub(crate) number: i64,
    pub(crate) reference: String,
    pub(crate) authorization_key: String,
    pub(crate) state: DisputeState,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    /// Microseconds since 1970, as all instants.
    pub(crate) opened_at: i64,
    pub(crate) due_at: i64,
    pub(crate) answer_key: Option<String>,
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
    pub(crate) method: Option<Method>,
    pub(crate) stage: Option<Stage>,
    /// Minor units of `currency`.
    pub(crate) received: i64,
}
