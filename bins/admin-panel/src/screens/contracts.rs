//! A contract with its charges.

use askama::Template;
use dropin_access::operator::PanelAction;
use dropin_contract::{Contract, TryResult};
use dropin_kernel::ContractId;
use dropin_ports::{ContractName, StoredResponse};
use dropin_usecases::contracts::ContractError;
use dropin_usecases::idempotency::Reply;

use super::orders::OrderRow;
use super::{MerchantNames, merchant_act, required_note};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

/// Most Orders and tries that are shown.
const MAX_LISTED: u32 = 100;

struct TryRow {
    at: Html,
    result: String,
}

#[derive(Template)]
#[template(path = "contract.html")]
struct ContractPage {
    shell: Shell,
    id: String,
    state: Html,
    kind: String,
    merchant: String,
    merchant_id: String,
    method: String,
    currency: String,
    card: String,
    profile: String,
    consent: String,
    consented: Html,
    created: Html,
    updated: Html,
    orders: Vec<OrderRow>,
    tries: Vec<TryRow>,
    may_close: bool,
    note: String,
    wrong: Option<String>,
}

async fn load(request: &PanelRequest) -> Result<Contract, Refusal> {
    let id: ContractId = request.id("contract")?;
    let merchant = request.fields.id("merchant", "contract")?;
    request.own(merchant, "contract")?;
    let found = request.deps.contracts.store.find_contract(merchant, &ContractName::Id(id)).await?;
    found.ok_or(Refusal::NotFound("contract"))
}

async fn page_of(request: &PanelRequest, contract: &Contract, wrong: Option<String>) -> Result<ContractPage, Refusal> {
    let store = &request.deps.contracts.store;
    let orders = store.list_contract_orders(contract.merchant_id, contract.id, MAX_LISTED).await?;
    let tries = store.list_charge_tries(contract.id, MAX_LISTED).await?;
    let merchant = request.deps.access.find_merchant(contract.merchant_id).await?;
    let names = MerchantNames::of(merchant.as_slice());
    let card = contract.card.as_ref().map(|card| {
        let summary = &card.summary;
        texts().card_ending_in(summary.scheme.as_str(), summary.last_four, summary.expiry)
    });
    Ok(ContractPage {
        shell: request.shell(texts().contract),
        id: contract.id.to_string(),
        state: show::contract_badge(contract.state.kind()),
        kind: show::words(contract.kind.as_str()),
        merchant: names.name(contract.merchant_id),
        merchant_id: contract.merchant_id.to_string(),
        method: contract.payment_method.clone(),
        currency: contract.currency.code().to_owned(),
        card: card.unwrap_or_else(|| texts().none_yet.to_owned()),
        profile: contract.billing_profile_reference.as_ref().map(|one| one.as_str().to_owned()).unwrap_or_default(),
        consent: contract.consent.text_version.as_str().to_owned(),
        consented: show::instant(contract.consent.at),
        created: show::instant(contract.created_at),
        updated: show::instant(contract.updated_at),
        orders: orders.iter().map(|order| OrderRow::new(order, &names)).collect(),
        tries: tries
            .iter()
            .map(|one| TryRow { at: show::instant(one.at), result: result_in_words(&one.result) })
            .collect(),
        may_close: request.may(PanelAction::CloseContract, contract.merchant_id)
            && contract.close_by_merchant(request.deps.clock.now()).is_ok(),
        note: request.fields.text("note").to_owned(),
        wrong,
    })
}

/// What a try to charge the card came to.
fn result_in_words(result: &TryResult) -> String {
    let t = texts();
    match result {
        TryResult::Approved => t.approved.to_owned(),
        TryResult::Unknown => t.try_unknown.to_owned(),
        TryResult::Declined(decline) => {
            let wait = decline.asked_wait.map(|wait| t.asked_to_wait(wait.as_secs()));
            t.try_declined(show::words(decline.category.as_str())) + &wait.unwrap_or_default()
        }
    }
}

/// One contract.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let contract = load(&request).await?;
    let page = page_of(&request, &contract, None).await?;
    Ok(request.page(&page))
}

/// Closes it, for ever.
pub(crate) async fn close(request: PanelRequest) -> Answer {
    let contract = load(&request).await?;
    let wrong = match required_note(&request.fields) {
        Err(why) => why,
        Ok(()) => {
            let nothing = |_: &Contract| StoredResponse { status: 200, etag: None, body: Vec::new() };
            let reply = Reply { render: nothing, key_use: None };
            match request.deps.contracts.close(&merchant_act(&request, contract.merchant_id), contract.id, reply).await
            {
                Ok(_) => {
                    return Ok(see(format!(
                        "/contracts/{}?merchant={}&done=closed",
                        contract.id, contract.merchant_id
                    )));
                }
                Err(ContractError::Store(error)) => return Err(error.into()),
                Err(error) => sentence(&error),
            }
        }
    };
    let page = page_of(&request, &contract, Some(wrong)).await?;
    Ok(request.rejected(&page))
}
