//! Subscriptions: the merchant's server charges the contract that a payment opened, without the shopper, and ends it.
//!
//! What a month costs is what the Session says that it was sold at. Which charge is the next one follows from the payments under the contract. The shop
//! itself remembers nothing, so that a restart changes nothing; and the charge's number in its ReferenceId keeps it from being made twice.

use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::api::{ApiClient, ApiError, Contract, ContractOrder, Session};
use super::catalogue::Product;
use super::customers::{Consumer, Country};
use super::purchases::{Purchases, Stage};
use super::refusal::Refusal;
use super::routes::{Api, Shop, missing_session, session_id};

/// What the page shows of a subscription.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Subscription {
    contract_id: Uuid,
    state: String,
    state_reason: Option<String>,
    /// What a month costs.
    monthly: Vec<MonthlyPrice>,
    /// Number of the charge that comes next. The first payment is 1.
    next_charge: usize,
    /// The payments after the first, oldest first.
    charges: Vec<Charge>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct MonthlyPrice {
    description: String,
    /// Text, so that no float comes near it.
    price: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Charge {
    order_id: Uuid,
    reference: String,
    /// What the API says now.
    state: String,
    amount: String,
    /// What the shop believes, from notifications alone; absent as long as none came.
    stage: Option<Stage>,
}

/// What the page asks to charge: the charge that it showed as the next one. No price and no card.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct NextCharge {
    number: usize,
}

/// The body of `POST /v2.21` for a contract.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct ChargeRequest<'a> {
    merchant_id: &'a str,
    reference_id: String,
    consumer_currency: &'a str,
    capture: bool,
    contract_id: Uuid,
    consumer: Consumer,
    items: Vec<ChargeItem>,
}

/// Here `Quantity` multiplies `ConsumerPrice`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct ChargeItem {
    description: String,
    consumer_price: Box<RawValue>,
    quantity: u32,
}

/// The body of `POST /v2.21/closeContract`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct CloseRequest<'a> {
    merchant_id: &'a str,
    contract_id: Uuid,
}

/// The answer to the page: the charge, and whether its money is taken. Whether it is paid, a notification tells.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct ChargeResponse {
    order_id: Uuid,
    reference: String,
    captured: bool,
    /// Whether it had been made before; nothing was charged now.
    repeated: bool,
}

/// The answer to the page once a subscription is over.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct EndResponse {
    contract_id: Uuid,
    state: String,
}

impl Subscription {
    fn new(session: &Session, contract: Contract, purchases: &Purchases) -> Self {
        let next_charge = next(session, &contract);
        let monthly = monthly(session).into_iter();
        let first = session.order.as_ref().map(|order| order.order_id);
        let later = contract.orders.into_iter().filter(|order| Some(order.order_id) != first);
        Self {
            contract_id: contract.contract_id,
            state: contract.state,
            state_reason: contract.state_reason,
            monthly: monthly.map(MonthlyPrice::from).collect(),
            next_charge,
            charges: later.map(|order| Charge::new(order, purchases)).collect(),
        }
    }
}

impl From<ChargeItem> for MonthlyPrice {
    fn from(item: ChargeItem) -> Self {
        Self { description: item.description, price: item.consumer_price.get().to_owned() }
    }
}

impl Charge {
    fn new(order: ContractOrder, purchases: &Purchases) -> Self {
        Self {
            stage: purchases.charge(order.order_id),
            order_id: order.order_id,
            reference: order.merchant_reference,
            state: order.state,
            amount: order.amount.get().to_owned(),
        }
    }
}

/// What the shop knows of a payment's subscription. The payment is shown without it while the service does not tell.
pub(super) async fn read(shop: &Shop, api: &ApiClient, session: &Session) -> Option<Subscription> {
    let id = contract_id(session)?;
    match api.contract(id).await {
        Ok(contract) => Some(Subscription::new(session, contract, &shop.purchases)),
        Err(error) => {
            log::warn!("contract {id} cannot be shown: {error}");
            None
        }
    }
}

/// Charges the next month, once: two clicks come one after the other, and the second finds the charge of the first.
pub(super) async fn charge(
    shop: Shop,
    api: Api,
    session: web::Path<String>,
    wanted: web::Json<NextCharge>,
) -> Result<HttpResponse, Refusal> {
    let id = session_id(&session)?;
    let lock = shop.purchases.subscription(id);
    let _alone = lock.lock().await;
    let (session, contract) = opened(&api, id).await?;
    let number = wanted.number;
    let reference = format!("{}-{number}", session.merchant_reference);
    if let Some(made) = contract.orders.iter().find(|order| order.merchant_reference == reference) {
        let (order_id, captured) = (made.order_id, made.state == "PROCESSED");
        return Ok(HttpResponse::Ok().json(ChargeResponse { order_id, reference, captured, repeated: true }));
    }
    if number != next(&session, &contract) {
        return Err(Refusal::OutdatedCharge);
    }
    let billing = session.billing_profile.as_ref().and_then(|billing| billing.address.as_ref());
    let country = billing.and_then(|address| Country::find(Some(&address.country)));
    let consumer = country.ok_or(Refusal::NoSubscription)?.customer().into();
    let items = monthly(&session);
    let request = ChargeRequest {
        merchant_id: &shop.merchant_id,
        reference_id: reference.clone(),
        consumer_currency: &session.currency,
        capture: true,
        contract_id: contract.contract_id,
        consumer,
        items,
    };
    let charged = api.charge(&request).await.map_err(refused_charge)?;
    let (order_id, captured) = (charged.order_id, charged.captured);
    Ok(HttpResponse::Ok().json(ChargeResponse { order_id, reference, captured, repeated: false }))
}

/// Ends the subscription: nothing more can be charged, and the card is deleted. One that is over stays so.
pub(super) async fn end(shop: Shop, api: Api, session: web::Path<String>) -> Result<HttpResponse, Refusal> {
    let id = session_id(&session)?;
    let lock = shop.purchases.subscription(id);
    let _alone = lock.lock().await;
    let (_, contract) = opened(&api, id).await?;
    let contract = if contract.state == "CLOSED" {
        contract
    } else {
        let request = CloseRequest { merchant_id: &shop.merchant_id, contract_id: contract.contract_id };
        api.close_contract(&request).await?
    };
    Ok(HttpResponse::Ok().json(EndResponse { contract_id: contract.contract_id, state: contract.state }))
}

/// The Session, and the contract that it opened.
async fn opened(api: &ApiClient, id: Uuid) -> Result<(Session, Contract), Refusal> {
    let session = api.session(id).await.map_err(missing_session)?;
    let contract = contract_id(&session).ok_or(Refusal::NoSubscription)?;
    let contract = api.contract(contract).await?;
    Ok((session, contract))
}

/// The contract of a subscription; that of a saved card is none.
fn contract_id(session: &Session) -> Option<Uuid> {
    let is_subscription = session.items.iter().any(|item| Product::is_monthly(&item.name));
    session.order.as_ref().and_then(|order| order.contract_id).filter(|_| is_subscription)
}

/// Number of the next charge. A declined one counts: another try needs a ReferenceId of its own. Not all charges are listed, but the newest are.
fn next(session: &Session, contract: &Contract) -> usize {
    let prefix = format!("{}-", session.merchant_reference);
    let number = |order: &ContractOrder| order.merchant_reference.strip_prefix(&prefix)?.parse::<usize>().ok();
    contract.orders.iter().filter_map(number).max().unwrap_or(1).saturating_add(1)
}

/// What was sold for each month, at the prices of then.
fn monthly(session: &Session) -> Vec<ChargeItem> {
    let sold = session.items.iter().filter(|item| Product::is_monthly(&item.name));
    sold.map(|item| ChargeItem {
        description: match item.quantity {
            1 => item.name.clone(),
            several => format!("{several} × {}", item.name),
        },
        consumer_price: item.amount.clone(),
        quantity: 1,
    })
    .collect()
}

/// What to do about a charge that was not made, or whose answer was lost.
fn refused_charge(error: ApiError) -> Refusal {
    let advice = match (&error, error.code()) {
        (ApiError::Refused(..), "PAYMENT_DECLINED") => {
            "Nothing was charged. Try again in some days, with a new charge."
        }
        (ApiError::Refused(..), "SHOPPER_AUTHENTICATION_REQUIRED") => {
            "Nothing was charged. End this subscription, and have the shopper subscribe anew."
        }
        (ApiError::Refused(..), "INVALID_CONTRACT_STATE") => "Nothing was charged.",
        (ApiError::Unreachable(_) | ApiError::UnexpectedResponse(_) | ApiError::Unavailable(_), _)
        | (ApiError::Refused(500.., _), _) => return Refusal::UnknownCharge,
        _ => return error.into(),
    };
    Refusal::Subscription(error, advice)
}
