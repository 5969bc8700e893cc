//! The contract: what a merchant is told of it (docs/SPECIFICATION.md#contracts).

use dropin_contract::{CardSummary, CloseReason, Consent, Contract, ContractOrigin, ContractState, SuspendReason};
use dropin_kernel::{OrderId, Timestamp};
use dropin_money::Amount;
use dropin_order::OrderState;
use dropin_validation::Text;
use serde::Serialize;
use utoipa::ToSchema;

use crate::checkout::{ActionBody, CheckoutBody};
use crate::error::{ErrorBody, ErrorCode};
use crate::number::ExactNumber;
use crate::schema;

/// A contract as its merchant sees it (docs/SPECIFICATION.md#contract-read).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Contract, description = "A contract as its merchant sees it.")]
pub struct ContractBody<'a> {
    #[schema(value_type = schema::Id)]
    contract_id: String,
    #[schema(value_type = schema::ContractStateName)]
    state: &'static str,
    /// Why it is SUSPENDED or CLOSED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::ContractStateReason)]
    state_reason: Option<&'static str>,
    #[schema(value_type = schema::ContractKindName)]
    kind: &'static str,
    #[schema(value_type = schema::MethodId)]
    payment_method: &'a str,
    /// Of every payment under it.
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    /// Once it was ACTIVE.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = StoredCardBody)]
    card: Option<StoredCardBody>,
    /// When it was sent, or the Session's billing profile has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    billing_profile_reference: Option<&'a str>,
    /// Where a Session opened it: the notifications of both are counted in one Sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    session_id: Option<String>,
    consent: ConsentBody<'a>,
    #[schema(value_type = schema::Moment)]
    created_at: String,
    #[schema(value_type = schema::Moment)]
    updated_at: String,
    /// When the contract is retrieved: the payments under it, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<ContractOrderBody>)]
    orders: Option<Vec<ContractOrderBody<'a>>>,
}

/// What may be shown of the card.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = StoredCard)]
struct StoredCardBody {
    #[schema(value_type = schema::CardSchemeName)]
    scheme: &'static str,
    /// The last four digits of its number.
    #[schema(pattern = "^[0-9]{4}$")]
    last4: String,
    /// The last month that it is good for, `yyyy-MM`.
    #[schema(pattern = "^20[0-9]{2}-(0[1-9]|1[0-2])$")]
    expiry: String,
}

impl From<&CardSummary> for StoredCardBody {
    fn from(card: &CardSummary) -> Self {
        let CardSummary { scheme, last_four, expiry } = card;
        Self { scheme: scheme.as_str(), last4: last_four.to_string(), expiry: expiry.to_string() }
    }
}

/// What the shopper agreed to.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Consent)]
struct ConsentBody<'a> {
    /// Which text was shown.
    text_version: &'a str,
    /// In which language.
    #[schema(value_type = schema::LocaleName)]
    locale: String,
    /// When the shopper agreed.
    #[schema(value_type = schema::Moment)]
    at: String,
}

impl<'a> From<&'a Consent> for ConsentBody<'a> {
    fn from(consent: &'a Consent) -> Self {
        let Consent { text_version, locale, at } = consent;
        Self { text_version: text_version.as_str(), locale: locale.to_string(), at: at.to_string() }
    }
}

/// A payment under a contract, as the contract lists it.
#[derive(Debug, Clone, Copy)]
pub struct ContractOrder<'a> {
    /// The Order.
    pub order_id: OrderId,
    /// The Session's MerchantReference, or the ReferenceId of the checkout.
    pub merchant_reference: &'a str,
    /// Where it stands.
    pub state: OrderState,
    /// What was to be paid.
    pub amount: Amount,
    /// When it was made.
    pub created_at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = ContractOrder, description = "A payment under a contract.")]
struct ContractOrderBody<'a> {
    #[schema(value_type = schema::Id)]
    order_id: String,
    /// The Session's, or the ReferenceId of a server-to-server checkout.
    merchant_reference: &'a str,
    #[schema(value_type = schema::OrderStateName)]
    state: &'static str,
    /// What was to be paid.
    #[schema(value_type = schema::Amount)]
    amount: ExactNumber,
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    #[schema(value_type = schema::Moment)]
    created_at: String,
}

impl<'a> From<ContractOrder<'a>> for ContractOrderBody<'a> {
    fn from(order: ContractOrder<'a>) -> Self {
        let ContractOrder { order_id, merchant_reference, state, amount, created_at } = order;
        Self {
            order_id: order_id.to_string(),
            merchant_reference,
            state: state.as_str(),
            amount: (&amount).into(),
            currency: amount.currency().code(),
            created_at: created_at.to_string(),
        }
    }
}

impl<'a> ContractBody<'a> {
    /// With every member but the payments: what notifications, lists and the answers to a query and a closeContract carry.
    pub fn new(contract: &'a Contract) -> Self {
        Self {
            contract_id: contract.id.to_string(),
            state: contract.state.kind().as_str(),
            state_reason: state_reason(contract.state),
            kind: contract.kind.as_str(),
            payment_method: &contract.payment_method,
            currency: contract.currency.code(),
            card: contract.card.as_ref().map(|card| (&card.summary).into()),
            billing_profile_reference: contract.billing_profile_reference.as_ref().map(Text::as_str),
            session_id: match &contract.origin {
                ContractOrigin::Session { session, .. } => Some(session.to_string()),
                ContractOrigin::Server { .. } => None,
            },
            consent: (&contract.consent).into(),
            created_at: contract.created_at.to_string(),
            updated_at: contract.updated_at.to_string(),
            orders: None,
        }
    }

    /// With the payments under it, oldest first: the answer to GET /v1/contract/{ContractId}.
    pub fn with_orders(contract: &'a Contract, orders: impl IntoIterator<Item = ContractOrder<'a>>) -> Self {
        Self { orders: Some(orders.into_iter().map(ContractOrderBody::from).collect()), ..Self::new(contract) }
    }
}

fn state_reason(state: ContractState) -> Option<&'static str> {
    match state {
        ContractState::Opening | ContractState::Active => None,
        ContractState::Suspended { reason } => Some(SuspendReason::as_str(reason)),
        ContractState::Closed { reason, failure: _ } => Some(CloseReason::as_str(reason)),
    }
}

/// The answer to GET /v1/contract?BillingProfileReference=.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Contracts, description = "The contracts of a billing profile.")]
pub struct ContractListBody<'a> {
    /// Oldest first; empty when there is none.
    contracts: Vec<ContractBody<'a>>,
}

/// The answer to GET /v1/contract?BillingProfileReference=; oldest first.
pub fn contract_list<'a>(contracts: impl IntoIterator<Item = &'a Contract>) -> ContractListBody<'a> {
    ContractListBody { contracts: contracts.into_iter().map(ContractBody::new).collect() }
}

/// The answer to a query that finds a contract (docs/SPECIFICATION.md#checkout-operations).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = FoundContract, description = "The contract that a query names.")]
pub struct FoundContractBody<'a> {
    contract: ContractBody<'a>,
}

impl<'a> FoundContractBody<'a> {
    /// As `contract` stands.
    pub fn new(contract: &'a Contract) -> Self {
        Self { contract: ContractBody::new(contract) }
    }
}

/// The answer to a query.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = QueryResult, description = "A payment, or the contract that the query names.")]
pub enum QueryBody<'a> {
    /// Of an OrderId, or the ReferenceId of a payment.
    Payment(CheckoutBody<'a>),
    /// Of a ContractId, or the ReferenceId that opened a contract.
    Contract(Box<FoundContractBody<'a>>),
}

/// How an openContract stands (docs/SPECIFICATION.md#open-contract).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = OpenedContract, description = "How an openContract stands.")]
pub struct OpenedContractBody<'a> {
    #[schema(value_type = schema::Id)]
    contract_id: String,
    /// OPENING: a notification tells how it ends.
    #[schema(value_type = schema::ContractStateName)]
    state: &'static str,
    /// When the shopper has to do something.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ActionBody)]
    action: Option<ActionBody<'a>>,
}

/// The body of the answer to an openContract that was taken on; `page` is where the shopper has to go, shown while the contract is OPENING.
pub fn opened_contract(contract: &Contract, page: Option<&str>) -> Vec<u8> {
    let waits = contract.state == ContractState::Opening;
    let action = page.filter(|_| waits).map(ActionBody::redirect);
    let body =
        OpenedContractBody { contract_id: contract.id.to_string(), state: contract.state.kind().as_str(), action };
    serde_json::to_vec(&body).expect("the answer has string keys only")
}

/// The body of the answer to an openContract that was refused: the Error object PAYMENT_DECLINED with ContractId
/// (docs/SPECIFICATION.md#open-contract-response). `reached`: whether the issuer was asked at all.
pub fn opening_declined(contract: &Contract, reached: bool) -> Vec<u8> {
    let message = if reached {
        "The card was refused and nothing was charged. Ask the shopper for another card and send a new ReferenceId."
    } else {
        "The card never reached the processor. Nothing is wrong with it: let the shopper try again later, with a new ReferenceId, and stash the card again."
    };
    let body = ErrorBody::new(ErrorCode::PaymentDeclined, message).with_contract(contract.id);
    serde_json::to_vec(&body).expect("an Error object has string keys only")
}

/// The body of the answer to a closeContract: the contract as it stands after it.
pub fn closed_contract(contract: &Contract) -> Vec<u8> {
    serde_json::to_vec(&ContractBody::new(contract)).expect("a contract has string keys only")
}
