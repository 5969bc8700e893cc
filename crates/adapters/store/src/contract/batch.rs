//! What payments change of contracts, as rows of the statements that prepare and settle them together.

use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use dropin_contract::{Contract, TryResult};
use dropin_ports::{ChargeOutcome, ConcludedCharge, ContractSettlement, CredentialChange};
use dropin_store_runtime::rows;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};

use super::rows::ContractRow;

rows! {
    /// A contract that is opened, or as it is after a change; `number` names the batched row that it belongs to.
    ContractRows of ContractColumns<'a> {
        number: i64 => BigInt,
        id: Id => SqlId,
        merchant_id: Id => SqlId,
        revision: i64 => BigInt,
        state: String => Text,
        suspend_reason: Option<String> => Nullable<Text>,
        close_reason: Option<String> => Nullable<Text>,
        failure: Option<String> => Nullable<Text>,
        kind: String => Text,
        session_id: Option<Id> => Nullable<SqlId>,
        order_id: Option<Id> => Nullable<SqlId>,
        reference: Option<String> => Nullable<Text>,
        payment_method: &'a str => Text,
        currency: String => Text,
        billing_profile_reference: Option<String> => Nullable<Text>,
        consent_text_version: String => Text,
        consent_locale: String => Text,
        consent_at: Instant => SqlInstant,
        card_scheme: Option<String> => Nullable<Text>,
        card_last_four: Option<String> => Nullable<Text>,
        card_expiry: Option<String> => Nullable<Text>,
        card_number_since: Option<Instant> => Nullable<SqlInstant>,
        card_updated_at: Option<Instant> => Nullable<SqlInstant>,
        card_expiry_told_at: Option<Instant> => Nullable<SqlInstant>,
        network_transaction_id: Option<String> => Nullable<Text>,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        due_at: Option<Instant> => Nullable<SqlInstant>,
    }
}

rows! {
    /// What becomes of a contract's credential: STORE, REPLACE, DISCARD (one that is only to be deleted) or DELETE; `number` names the batched row that
    /// it belongs to.
    CredentialRows of CredentialColumns<'a> {
        number: i64 => BigInt,
        change: &'a str => Text,
        key_id: Option<&'a str> => Nullable<Text>,
        sealed: Option<&'a [u8]> => Nullable<Binary>,
        at: Instant => SqlInstant,
    }
}

rows! {
    /// What is known of a charge; without a result the issuer was never asked. `number` names the batched row that it belongs to.
    TryRows of TryColumns<'a> {
        number: i64 => BigInt,
        order_id: Id => SqlId,
        result: Option<&'a str> => Nullable<Text>,
        category: Option<&'a str> => Nullable<Text>,
        asked_wait_micros: Option<i64> => Nullable<BigInt>,
    }
}

/// The row of a contract.
pub(crate) fn contract_row(number: i64, contract: &Contract) -> ContractColumns<'_> {
    let row = ContractRow::new(contract);
    ContractColumns {
        number,
        id: row.id,
        merchant_id: row.merchant_id,
        revision: row.revision,
        state: row.state,
        suspend_reason: row.suspend_reason,
        close_reason: row.close_reason,
        failure: row.failure,
        kind: row.kind,
        session_id: row.session_id,
        order_id: row.order_id,
        reference: row.reference,
        payment_method: &contract.payment_method,
        currency: row.currency,
        billing_profile_reference: row.billing_profile_reference,
        consent_text_version: row.consent_text_version,
        consent_locale: row.consent_locale,
        consent_at: row.consent_at,
        card_scheme: row.card_scheme,
        card_last_four: row.card_last_four,
        card_expiry: row.card_expiry,
        card_number_since: row.card_number_since,
        card_updated_at: row.card_updated_at,
        card_expiry_told_at: row.card_expiry_told_at,
        network_transaction_id: row.network_transaction_id,
        created_at: row.created_at,
        updated_at: row.updated_at,
        due_at: row.due_at,
    }
}

/// The row of what becomes of the credential at `at`; `None` when it stays.
pub(crate) fn credential_row(number: i64, settled: &ContractSettlement, at: Instant) -> Option<CredentialColumns<'_>> {
    let (change, sealed) = match &settled.credential {
        CredentialChange::Keep => return None,
        CredentialChange::Delete => ("DELETE", None),
        CredentialChange::Store(sealed) => ("STORE", Some(sealed)),
        CredentialChange::Replace(sealed) => ("REPLACE", Some(sealed)),
        CredentialChange::StoreToDelete(sealed) => ("DISCARD", Some(sealed)),
    };
    let key_id = sealed.map(|sealed| sealed.key_id.as_str());
    Some(CredentialColumns { number, change, key_id, sealed: sealed.map(|sealed| sealed.bytes.as_slice()), at })
}

/// The row of a charge whose outcome is known. Without a result its try is deleted: it was surely never asked.
pub(crate) fn try_row<'a>(number: i64, charge: ConcludedCharge) -> TryColumns<'a> {
    let (result, decline) = match charge.outcome {
        ChargeOutcome::Tried(TryResult::Unknown) => (Some("UNKNOWN"), None),
        ChargeOutcome::Tried(TryResult::Approved) => (Some("APPROVED"), None),
        ChargeOutcome::Tried(TryResult::Declined(decline)) => (Some("DECLINED"), Some(decline)),
        ChargeOutcome::NeverAsked => (None, None),
    };
    let wait = decline.and_then(|decline| decline.asked_wait);
    TryColumns {
        number,
        order_id: Id(charge.order.uuid()),
        result,
        category: decline.map(|decline| decline.category.as_str()),
        asked_wait_micros: wait.map(|wait| i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)),
    }
}
