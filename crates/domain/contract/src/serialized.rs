//! Serialized forms before they are checked: parts that have to belong together.

use dropin_order::FailureReason;
use serde::{Deserialize, Serialize};

use crate::mark::{NetworkTransactionId, PaymentMark, StoredCredentialUse};
use crate::state::{CloseReason, ContractState, ContractStateKind, SuspendReason};

/// A state by its name, with what belongs to it. A flat form, since serde lets a state without members have any.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredState {
    state: ContractStateKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suspend_reason: Option<SuspendReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    close_reason: Option<CloseReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure_reason: Option<FailureReason>,
}

impl From<ContractState> for StoredState {
    fn from(state: ContractState) -> Self {
        let (suspend_reason, close_reason, failure_reason) = match state {
            ContractState::Opening | ContractState::Active => (None, None, None),
            ContractState::Suspended { reason } => (Some(reason), None, None),
            ContractState::Closed { reason, failure } => (None, Some(reason), failure),
        };
        Self { state: state.kind(), suspend_reason, close_reason, failure_reason }
    }
}

impl TryFrom<StoredState> for ContractState {
    type Error = &'static str;

    fn try_from(stored: StoredState) -> Result<Self, Self::Error> {
        use ContractStateKind::{Active, Closed, Opening, Suspended};
        match (stored.state, stored.suspend_reason, stored.close_reason, stored.failure_reason) {
            (Opening, None, None, None) => Ok(Self::Opening),
            (Active, None, None, None) => Ok(Self::Active),
            (Suspended, Some(reason), None, None) => Ok(Self::Suspended { reason }),
            (Closed, None, Some(reason), failure) => Ok(Self::Closed { reason, failure }),
            _ => Err("has other members than its State has"),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredMark {
    credential_use: StoredCredentialUse,
    network_transaction_id: Option<NetworkTransactionId>,
}

impl TryFrom<StoredMark> for PaymentMark {
    type Error = &'static str;

    fn try_from(stored: StoredMark) -> Result<Self, Self::Error> {
        let StoredMark { credential_use, network_transaction_id } = stored;
        if credential_use == StoredCredentialUse::First && network_transaction_id.is_some() {
            return Err("a FIRST payment names none before it");
        }
        Ok(Self { credential_use, network_transaction_id })
    }
}
