//! One file for each screen: what it reads, what its forms do, and what its page shows.

pub(crate) mod accept;
pub(crate) mod account;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod bulk;
pub(crate) mod contracts;
pub(crate) mod disputes;
pub(crate) mod export;
pub(crate) mod ledger;
pub(crate) mod merchants;
pub(crate) mod notifications;
pub(crate) mod operations;
pub(crate) mod operators;
pub(crate) mod orders;
pub(crate) mod overview;
pub(crate) mod rates;
pub(crate) mod review;
pub(crate) mod search;
pub(crate) mod secret;
pub(crate) mod sessions;
pub(crate) mod sign_in;

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};
use dropin_access::Merchant;
use dropin_kernel::{MerchantId, Timestamp, Violation};
use dropin_ports::{Acting, Actor, SearchCursor, StoreError};
use dropin_usecases::audit_log::MerchantAct;

use crate::fields::Fields;
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::texts::{in_language_of, texts};

/// Rows of one page of a list.
const PAGE_ROWS: u32 = 50;

/// Most merchants that a list is offered to choose from.
const MAX_CHOICES: usize = 200;

/// There is no page under this address.
pub(crate) async fn no_page(http: HttpRequest) -> HttpResponse {
    in_language_of(&http, async { Refusal::NotFound("page").response(&http, &Fields::default()) }).await
}

/// Something to choose in a list.
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) name: String,
    pub(crate) chosen: bool,
}

impl Choice {
    pub(crate) fn new(value: impl Into<String>, name: impl Into<String>, chosen: &str) -> Self {
        let value = value.into();
        Self { chosen: value == chosen, name: name.into(), value }
    }
}

/// The merchants that the operator sees, by their ids.
pub(crate) async fn visible_merchants(request: &PanelRequest) -> Result<Vec<Merchant>, StoreError> {
    let all = request.deps.access.list_merchants().await?;
    let scope = &request.operator.operator.rights.scope;
    Ok(all.into_iter().filter(|merchant| scope.covers(merchant.id)).collect())
}

/// The names of merchants.
pub(crate) struct MerchantNames(HashMap<MerchantId, String>);

impl MerchantNames {
    pub(crate) fn of(merchants: &[Merchant]) -> Self {
        Self(merchants.iter().map(|merchant| (merchant.id, merchant.name.clone())).collect())
    }

    pub(crate) fn name(&self, id: MerchantId) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}

/// Merchants to choose from.
pub(crate) fn merchant_choices(merchants: &[Merchant], chosen: &str) -> Vec<Choice> {
    let shown = merchants.iter().filter(|merchant| merchant.id.to_string() == chosen).chain(merchants);
    let mut choices: Vec<Choice> = Vec::new();
    for merchant in shown.take(MAX_CHOICES + 1) {
        let choice = Choice::new(merchant.id.to_string(), merchant.name.clone(), chosen);
        if !choices.iter().any(|known| known.value == choice.value) {
            choices.push(choice);
        }
    }
    choices
}

/// Who acts and why, for the audit log.
pub(crate) fn acting(request: &PanelRequest) -> Acting {
    let note = request.fields.given("note").map(|note| note.chars().take(Acting::MAX_NOTE_CHARACTERS).collect());
    Acting { actor: Actor::Operator(request.actor()), address: request.address(), note }
}

/// The same, about a merchant's affair.
pub(crate) fn merchant_act(request: &PanelRequest, merchant: MerchantId) -> MerchantAct {
    MerchantAct { merchant, by: acting(request) }
}

/// The note that an act of money has to have.
pub(crate) fn required_note(fields: &Fields) -> Result<(), String> {
    match fields.text("note").chars().count() {
        0 => Err(texts().say_why.to_owned()),
        count if Acting::MAX_NOTE_CHARACTERS < count => Err(texts().note_too_long(count, Acting::MAX_NOTE_CHARACTERS)),
        _ => Ok(()),
    }
}

/// What is wrong with what was typed: each field by its name of the API.
pub(crate) fn in_words(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(|one| format!("{} {}.", one.field, texts().domain(&one.message))).collect()
}

/// A position in a list that goes by time, as it stands in an address.
pub(crate) fn write_position(at: Timestamp, id: impl Display) -> String {
    format!("{}.{id}", at.micros())
}

/// The position that an address names.
pub(crate) fn read_position<I: FromStr>(fields: &Fields) -> Result<Option<(Timestamp, I)>, Refusal> {
    let Some(text) = fields.given("after") else { return Ok(None) };
    let position = text.split_once('.').and_then(|(at, id)| {
        let at = Timestamp::from_micros(at.parse().ok()?);
        Some((Some(at).filter(|at| (Timestamp::MIN..=Timestamp::MAX).contains(at))?, id.parse().ok()?))
    });
    position.map(Some).ok_or_else(|| Refusal::Invalid(texts().list_address_damaged.to_owned()))
}

/// The same of a search.
pub(crate) fn write_cursor<I: Display>(cursor: &SearchCursor<I>) -> String {
    write_position(cursor.at, &cursor.id)
}

/// The cursor that an address names.
pub(crate) fn read_cursor<I: FromStr>(fields: &Fields) -> Result<Option<SearchCursor<I>>, Refusal> {
    Ok(read_position(fields)?.map(|(at, id)| SearchCursor { at, id }))
}

/// The beginning of a day that was typed, in UTC; `days` later.
pub(crate) fn day(fields: &Fields, name: &str, days: u64) -> Result<Option<Timestamp>, String> {
    let Some(text) = fields.given(name) else { return Ok(None) };
    let at: Timestamp = format!("{text}T00:00:00.000000Z").parse().map_err(|_no_day| texts().no_day(text))?;
    Ok(Some(at.plus(Duration::from_secs(days * 24 * 60 * 60))))
}
