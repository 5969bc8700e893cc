use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use dropin_contract::{
    CardSummary, Consent, Contract, ContractOrigin, ContractParts, ContractState, ContractStateKind, StoredCard,
};
use dropin_kernel::{ContractId, MerchantId, OrderId, Revision, SessionId, Timestamp};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use crate::rows::{currency, missing, text};
use crate::schema::contract;

pub(super) const TABLE: &str = "contract";

/// A contract as it is stored. `due_at` is computed from the rest when it is written, and never read back.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = contract, treat_none_as_null = true)]
pub(crate) struct ContractRow {
    pub(super) id: Id,
    pub(super) merchant_id: Id,
    pub(super) revision: i64,
    pub(super) state: String,
    pub(super) suspend_reason: Option<String>,
    pub(super) close_reason: Option<String>,
    pub(super) failure: Option<String>,
    pub(super) kind: String,
    pub(super) session_id: Option<Id>,
    pub(super) order_id: Option<Id>,
    pub(super) reference: Option<String>,
    pub(super) payment_method: String,
    pub(super) currency: String,
    pub(super) billing_profile_reference: Option<String>,
    pub(super) consent_text_version: String,
    pub(super) consent_locale: String,
    pub(super) consent_at: Instant,
    pub(super) card_scheme: Option<String>,
    pub(super) card_last_four: Option<String>,
    pub(super) card_expiry: Option<String>,
    pub(super) card_number_since: Option<Instant>,
    pub(super) card_updated_at: Option<Instant>,
    pub(super) card_expiry_told_at: Option<Instant>,
    pub(super) network_transaction_id: Option<String>,
    pub(super) created_at: Instant,
    pub(super) updated_at: Instant,
    pub(super) due_at: Option<Instant>,
}

impl ContractRow {
    pub(crate) fn new(contract: &Contract) -> Self {
        let (mut suspend_reason, mut close_reason, mut failure) = (None, None, None);
        match contract.state {
            ContractState::Opening | ContractState::Active => {}
            ContractState::Suspended { reason } => suspend_reason = Some(reason.as_str().to_owned()),
            ContractState::Closed { reason, failure: why } => {
                close_reason = Some(reason.as_str().to_owned());
                failure = why.map(|why| why.as_str().to_owned());
            }
        }
        let (mut session_id, mut order_id, mut reference) = (None, None, None);
        match &contract.origin {
            ContractOrigin::Session { session, order } => {
                (session_id, order_id) = (Some(Id(session.uuid())), Some(Id(order.uuid())));
            }
            ContractOrigin::Server { reference: taken } => reference = Some(taken.to_string()),
        }
        let card = contract.card.as_ref();
        let summary = card.map(|card| card.summary);
        Self {
            id: Id(contract.id.uuid()),
            merchant_id: Id(contract.merchant_id.uuid()),
            revision: contract.revision.number(),
            state: contract.state.kind().as_str().to_owned(),
            suspend_reason,
            close_reason,
            failure,
            kind: contract.kind.as_str().to_owned(),
            session_id,
            order_id,
            reference,
            payment_method: contract.payment_method.clone(),
            currency: contract.currency.code().to_owned(),
            billing_profile_reference: contract.billing_profile_reference.as_ref().map(ToString::to_string),
            consent_text_version: contract.consent.text_version.to_string(),
            consent_locale: contract.consent.locale.to_string(),
            consent_at: Instant(contract.consent.at),
            card_scheme: summary.map(|card| card.scheme.as_str().to_owned()),
            card_last_four: summary.map(|card| card.last_four.to_string()),
            card_expiry: summary.map(|card| card.expiry.to_string()),
            card_number_since: card.map(|card| Instant(card.number_since)),
            card_updated_at: card.map(|card| Instant(card.updated_at)),
            card_expiry_told_at: card.and_then(|card| card.expiry_told_at).map(Instant),
            network_transaction_id: contract.network_transaction_id.as_ref().map(ToString::to_string),
            created_at: Instant(contract.created_at),
            updated_at: Instant(contract.updated_at),
            due_at: contract.due_at().map(Instant),
        }
    }

    pub(crate) fn restore(self) -> Result<Contract, Fault> {
        if self.revision < Revision::FIRST.number() {
            return Err(missing(TABLE, "revision"));
        }
        let (state, origin, card) = (self.state()?, self.origin()?, self.card()?);
        let network_transaction_id = self.network_transaction_id.as_deref().map(|id| parsed(id, "the network's id"));
        let profile = self.billing_profile_reference.as_deref();
        let contract = Contract::restore(ContractParts {
            id: ContractId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            revision: Revision::new(self.revision),
            state,
            kind: parsed(&self.kind, "the kind")?,
            origin,
            payment_method: self.payment_method,
            currency: currency(TABLE, &self.currency)?,
            billing_profile_reference: profile
                .map(|stored| text(TABLE, "the profile's reference", stored))
                .transpose()?,
            consent: Consent {
                text_version: text(TABLE, "the version of the consent's text", &self.consent_text_version)?,
                locale: parsed(&self.consent_locale, "the consent's locale")?,
                at: self.consent_at.0,
            },
            card,
            network_transaction_id: network_transaction_id.transpose()?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        });
        contract.map_err(|invalid| corrupt(TABLE, invalid.to_string()))
    }

    fn state(&self) -> Result<ContractState, Fault> {
        let reason = |stored: &Option<String>| stored.clone().ok_or_else(|| missing(TABLE, "the reason"));
        Ok(match parsed(&self.state, "the state")? {
            ContractStateKind::Opening => ContractState::Opening,
            ContractStateKind::Active => ContractState::Active,
            ContractStateKind::Suspended => {
                ContractState::Suspended { reason: parsed(&reason(&self.suspend_reason)?, "the reason")? }
            }
            ContractStateKind::Closed => ContractState::Closed {
                reason: parsed(&reason(&self.close_reason)?, "the reason")?,
                failure: self.failure.as_deref().map(|stored| parsed(stored, "the failure")).transpose()?,
            },
        })
    }

    fn origin(&self) -> Result<ContractOrigin, Fault> {
        match (self.session_id, self.order_id, self.reference.as_deref()) {
            (Some(session), Some(order), None) => {
                Ok(ContractOrigin::Session { session: SessionId::new(session.0), order: OrderId::new(order.0) })
            }
            (None, None, Some(reference)) => {
                Ok(ContractOrigin::Server { reference: text(TABLE, "the reference", reference)? })
            }
            _ => Err(missing(TABLE, "where it comes from")),
        }
    }

    fn card(&self) -> Result<Option<StoredCard>, Fault> {
        let told = self.card_expiry_told_at.map(|at| at.0);
        let instants = (self.card_number_since, self.card_updated_at);
        match (self.card_scheme.as_deref(), self.card_last_four.as_deref(), self.card_expiry.as_deref(), instants) {
            (None, None, None, (None, None)) if told.is_none() => Ok(None),
            (Some(scheme), Some(last_four), Some(expiry), (Some(since), Some(updated))) => {
                let summary = CardSummary {
                    scheme: parsed(scheme, "the card's scheme")?,
                    last_four: parsed(last_four, "the card's last digits")?,
                    expiry: parsed(expiry, "the card's expiry")?,
                };
                let (number_since, updated_at): (Timestamp, Timestamp) = (since.0, updated.0);
                Ok(Some(StoredCard { summary, number_since, updated_at, expiry_told_at: told }))
            }
            _ => Err(missing(TABLE, "the card")),
        }
    }
}

fn parsed<T: std::str::FromStr>(stored: &str, what: &str) -> Result<T, Fault> {
    stored.parse().map_err(|_unknown| corrupt(TABLE, format!("{what} is unknown")))
}
