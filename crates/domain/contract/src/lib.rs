#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod card;
mod charge;
mod codes;
mod contract;
mod decline;
mod kind;
mod mark;
mod retry;
#[cfg(feature = "serde")]
mod serialized;
mod state;
mod step;

pub use card::{CardExpiry, CardSummary, InvalidCardExpiry};
pub use charge::ChargeRefused;
pub use codes::{ADVICE_CODES, AdviceCode, RESPONSE_CODES, ResponseCode};
pub use contract::{Consent, Contract, ContractOrigin, ContractParts, InvalidContract, NewContract, StoredCard};
pub use decline::{CredentialDecline, DECLINE_RULES, DeclineCategory, DeclineEffect, DeclineRule};
pub use dropin_card::{InvalidLastFour, LastFour};
pub use kind::{ContractKind, Initiator};
pub use mark::{
    InvalidNetworkTransactionId, MAX_NETWORK_TRANSACTION_ID_BYTES, NetworkTransactionId, PaymentMark,
    StoredCredentialUse,
};
pub use retry::{ChargeTry, TRY_LIMITS, TryDecision, TryLimit, TryResult, decide_try};
pub use state::{
    CloseReason, ContractEvent, ContractState, ContractStateKind, ContractTransition, ContractTrigger, SuspendReason,
    TRANSITIONS,
};
pub use step::{CardUpdateRefused, CloseRefused, ContractStep, WrongState};
