//! A merchant's settings: name, currencies and Sessions; payment methods; rates. One form for each, so that saving one touches nothing of the others.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::http::StatusCode;
use askama::Template;
use dropin_access::{Merchant, RateChange, RateForm, RateSettings, SavedCardKind};
use dropin_boot::{parse_adjustments, write_adjustments};
use dropin_catalogue::{Adjustment, AdjustmentParts, Catalogue, MerchantMethods, MethodsChange, PayLaterRegion};
use dropin_kernel::{parse_span, write_span};
use dropin_money::Currency;
use dropin_ports::{MerchantSettings, ProcessorAccount};
use dropin_rates::Markup;
use dropin_usecases::access::AccountError;
use dropin_usecases::audit_log::hex;
use dropin_usecases::rates::set_rates;
use sha2::{Digest, Sha256};

use super::markups::{read_markups, write_markups};
use super::{CurrencyBox, currency_boxes, load, merchants, refusal, routing};
use crate::guard::Answer;
use crate::page::{self, see};
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::screens::{Choice, in_words};
use crate::show::Html;
use crate::texts::{Texts, texts};

/// The fields of the form for name, currencies, Sessions and saved cards.
pub(crate) const FIELDS: &[&str] =
    &["csrf", "seen", "name", "currency[]", "lifetime", "attempts", "saved_cards", "saved_card_kind", "note"];
/// The fields of the form for payment methods: `method[]` is an id, a colon and `on`, `off` or nothing.
pub(crate) const METHOD_FIELDS: &[&str] = &["csrf", "seen", "method[]", "client_eu", "client_na", "client_oc", "note"];
/// The fields of the form for what is particular about methods: a file as the command line takes it.
pub(crate) const METHOD_LIMIT_FIELDS: &[&str] = &["csrf", "seen", "method_limits", "note"];
/// The fields of the form for rates.
pub(crate) const RATE_FIELDS: &[&str] = &["csrf", "seen", "form", "settlement", "markups", "note"];

struct MethodRow {
    id: String,
    name: String,
    choices: Vec<Choice>,
    narrowed: bool,
}

struct ClientRow {
    field: &'static str,
    region: &'static str,
    id: String,
}

#[derive(Template)]
#[template(path = "merchant_settings.html")]
pub(super) struct SettingsPage {
    shell: Shell,
    id: String,
    merchant: String,
    seen: String,
    name: String,
    currencies: Vec<CurrencyBox>,
    lifetime: String,
    attempts: String,
    saved_cards: bool,
    kinds: Vec<Choice>,
    methods: Vec<MethodRow>,
    method_limits: String,
    clients: Vec<ClientRow>,
    forms: Vec<Choice>,
    settlements: Vec<Choice>,
    markups: String,
    processors: String,
    processor_rules: String,
    accounts: Vec<AccountRow>,
    may_route: bool,
    wrong: Vec<String>,
}

/// An account that the merchant has of its own, without its key.
struct AccountRow {
    name: String,
    account: String,
    set_at: Html,
}

impl AccountRow {
    fn new(account: &ProcessorAccount) -> Self {
        let ProcessorAccount { processor, account, set_at, .. } = account;
        Self { name: processor.to_string(), account: account.clone(), set_at: crate::show::instant(*set_at) }
    }
}

/// What the page is about, as it is now.
pub(super) struct Current {
    pub(super) merchant: Merchant,
    pub(super) accounts: Vec<ProcessorAccount>,
    rates: RateSettings,
    /// Tells this state of the settings from any other one.
    digest: String,
}

pub(super) async fn current(request: &PanelRequest) -> Result<Current, Refusal> {
    let merchant = load(request).await?.merchant;
    let rates = request.deps.rates.find_rate_settings(merchant.id).await?;
    let mut accounts = request.deps.processor_accounts.list_processor_accounts(Some(merchant.id)).await?;
    accounts.retain(|account| account.removed_at.is_none());
    let settings = (&merchant.name, &merchant.currencies, merchant.session_lifetime, merchant.attempts_allowed);
    let text =
        format!("{settings:?} {:?} {:?} {:?} {rates:?}", merchant.saved_cards, merchant.methods, merchant.processors);
    let digest = hex(&Sha256::digest(text.as_bytes())[..16]);
    Ok(Current { merchant, accounts, rates, digest })
}

/// Whether a form is of a page that shows what is there still. What is written is compared with it once more, in the transaction that writes.
pub(super) fn is_seen(request: &PanelRequest, current: &Current) -> bool {
    request.fields.text("seen") == current.digest
}

/// The page as it is now, with what was typed, because somebody else changed the merchant: nothing was saved, and it may be saved from here.
pub(super) async fn changed(request: &PanelRequest) -> Answer {
    let current = current(request).await?;
    let page = page_of(request, &current, vec![texts().settings_changed.to_owned()]);
    Ok(page::html(StatusCode::CONFLICT, &page))
}

/// The page.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    Ok(request.page(&page_of(&request, &current, Vec::new())))
}

/// The page; of a form that was not accepted it keeps what was typed.
pub(super) fn page_of(request: &PanelRequest, current: &Current, wrong: Vec<String>) -> SettingsPage {
    let (fields, merchant, rates) = (&request.fields, &current.merchant, &current.rates);
    let typed = |name: &str, kept: String| {
        if fields.pairs().iter().any(|(known, _)| known == name) { fields.text(name).to_owned() } else { kept }
    };
    let is_posted = fields.pairs().iter().any(|(name, _)| name == "name");
    let ticked: Vec<&str> = match is_posted {
        true => fields.all("currency[]").collect(),
        false => merchant.currencies.iter().map(|one| one.code()).collect(),
    };
    let t = texts();
    let form = typed("form", rates.form.as_str().to_owned());
    let settlement = typed("settlement", rates.pricing.settlement.code().to_owned());
    let kind = typed("saved_card_kind", merchant.saved_cards.kind.as_str().to_owned());
    SettingsPage {
        shell: request.shell(t.settings_of(&merchant.name)),
        id: merchant.id.to_string(),
        merchant: merchant.name.clone(),
        seen: current.digest.clone(),
        name: typed("name", merchant.name.clone()),
        currencies: currency_boxes(&ticked),
        lifetime: typed("lifetime", write_span(merchant.session_lifetime)),
        attempts: typed("attempts", merchant.attempts_allowed.to_string()),
        saved_cards: if is_posted { fields.is_ticked("saved_cards") } else { merchant.saved_cards.offered },
        kinds: [
            (SavedCardKind::OneClick, t.saved_card_one_click),
            (SavedCardKind::Unscheduled, t.saved_card_unscheduled),
        ]
        .map(|(one, words)| Choice::new(one.as_str(), words, &kind))
        .into(),
        methods: method_rows(
            &request.deps.payments.catalogue,
            &merchant.methods,
            &fields.all("method[]").collect::<Vec<_>>(),
        ),
        method_limits: typed("method_limits", write_adjustments(&merchant.methods.adjustments)),
        clients: CLIENTS
            .iter()
            .map(|&(region, field, words)| ClientRow {
                field,
                region: words(t),
                id: typed(field, merchant.methods.pay_later_clients.get(&region).cloned().unwrap_or_default()),
            })
            .collect(),
        forms: [(RateForm::Spot, t.rates_spot), (RateForm::Guaranteed, t.rates_guaranteed)]
            .map(|(one, words)| Choice::new(one.as_str(), words, &form))
            .into(),
        settlements: Currency::ALL.iter().map(|one| Choice::new(one.code(), one.code(), &settlement)).collect(),
        markups: typed("markups", write_markups(&rates.pricing.markups)),
        processors: routing::names(request, current),
        processor_rules: typed("processor_rules", merchant.processors.to_string()),
        accounts: current.accounts.iter().map(AccountRow::new).collect(),
        may_route: request.merchants().is_none(),
        wrong,
    }
}

/// A region with the field of its id, and its name.
type ClientField = (PayLaterRegion, &'static str, fn(&Texts) -> &'static str);

const CLIENTS: &[ClientField] = &[
    (PayLaterRegion::Europe, "client_eu", |t| t.europe),
    (PayLaterRegion::NorthAmerica, "client_na", |t| t.north_america),
    (PayLaterRegion::Oceania, "client_oc", |t| t.oceania),
];

fn method_rows(catalogue: &Catalogue, methods: &MerchantMethods, typed: &[&str]) -> Vec<MethodRow> {
    let t = texts();
    let rows = catalogue.known().map(|method| {
        let id = method.id();
        let adjustment = methods.adjustments.of(id);
        let kept = match adjustment.and_then(|one| one.offered) {
            None => "",
            Some(true) => "on",
            Some(false) => "off",
        };
        let chosen = typed.iter().find_map(|one| one.strip_prefix(id)?.strip_prefix(':')).unwrap_or(kept);
        let choices = [("", t.method_as_deployment), ("on", t.method_offered), ("off", t.method_not_offered)].map(
            |(code, words)| Choice { value: format!("{id}:{code}"), name: words.to_owned(), chosen: code == chosen },
        );
        let narrowed = adjustment.is_some_and(|one| {
            let parts = AdjustmentParts { offered: None, ..one.clone().into_parts() };
            parts != AdjustmentParts::default()
        });
        MethodRow { id: id.to_owned(), name: method.name().to_owned(), choices: choices.into(), narrowed }
    });
    rows.collect()
}

/// Where a saved form leads to.
pub(super) fn saved(current: &Current) -> Answer {
    Ok(see(format!("/merchants/{}/settings?done=saved", current.merchant.id)))
}

/// The page again with what is wrong, or why there is none.
pub(super) async fn again(request: &PanelRequest, current: &Current, error: AccountError) -> Answer {
    match error {
        AccountError::Invalid(violations) => Ok(request.rejected(&page_of(request, current, in_words(&violations)))),
        AccountError::Changed => changed(request).await,
        error => Err(refusal(error)),
    }
}

/// Sets name, currencies, what Sessions are allowed, and saved cards.
pub(crate) async fn set(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    if !is_seen(&request, &current) {
        return changed(&request).await;
    }
    let fields = &request.fields;
    let before = &current.merchant;
    let mut wrong = Vec::new();
    let mut currencies = Vec::new();
    for code in fields.all("currency[]") {
        match code.parse::<Currency>() {
            Ok(currency) => currencies.push(currency),
            Err(_unknown) => wrong.push(texts().no_currency(code)),
        }
    }
    let lifetime: Duration = parse_span(fields.text("lifetime")).unwrap_or_else(|| {
        wrong.push(texts().write_lifetime.to_owned());
        before.session_lifetime
    });
    let attempts: u32 = fields.text("attempts").parse().unwrap_or_else(|_no_number| {
        wrong.push(texts().write_attempts.to_owned());
        before.attempts_allowed
    });
    let kind = SavedCardKind::ALL.into_iter().find(|kind| kind.as_str() == fields.text("saved_card_kind"));
    let kind = kind.unwrap_or_else(|| {
        wrong.push(texts().choose_saved_card_kind.to_owned());
        before.saved_cards.kind
    });
    if !wrong.is_empty() {
        return Ok(request.rejected(&page_of(&request, &current, wrong)));
    }
    let offered = fields.is_ticked("saved_cards");
    let same = |list: &[Currency]| list.len() == currencies.len() && list.iter().all(|one| currencies.contains(one));
    let change = MerchantSettings {
        name: Some(fields.text("name").to_owned()).filter(|name| *name != before.name),
        currencies: Some(currencies.clone()).filter(|_| !same(&before.currencies)),
        session_lifetime: Some(lifetime).filter(|lifetime| *lifetime != before.session_lifetime),
        attempts_allowed: Some(attempts).filter(|attempts| *attempts != before.attempts_allowed),
        saved_cards_offered: Some(offered).filter(|offered| *offered != before.saved_cards.offered),
        saved_card_kind: Some(kind).filter(|kind| *kind != before.saved_cards.kind),
        decided_on: Some(before.clone()),
        ..MerchantSettings::default()
    };
    match merchants(&request).set(before.id, change).await {
        Ok(_) => saved(&current),
        Err(error) => again(&request, &current, error).await,
    }
}

/// Sets which methods are offered, and the ids with the pay-later provider. What else is particular about a method stays.
pub(crate) async fn set_methods(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    if !is_seen(&request, &current) {
        return changed(&request).await;
    }
    let before = &current.merchant.methods;
    let catalogue = &request.deps.payments.catalogue;
    let mut adjustments = before.adjustments.clone();
    let mut wrong = Vec::new();
    for typed in request.fields.all("method[]") {
        let (id, code) = typed.split_once(':').unwrap_or((typed, "?"));
        let offered = match code {
            "" => Some(None),
            "on" => Some(Some(true)),
            "off" => Some(Some(false)),
            _ => None,
        };
        let (Some(method), Some(offered)) = (catalogue.method(id), offered) else {
            wrong.push(texts().no_method_choice(typed));
            continue;
        };
        let parts = adjustments.of(id).cloned().unwrap_or_default().into_parts();
        match Adjustment::new(AdjustmentParts { offered, ..parts }) {
            Ok(adjustment) => adjustments.set(method, adjustment),
            Err(error) => wrong.push(format!("{id}: {}.", texts().domain(&error.to_string()))),
        }
    }
    let mut clients = Vec::new();
    for (region, field, words) in CLIENTS {
        let id = request.fields.text(field);
        if !is_client_id(id) {
            wrong.push(texts().wrong_client_id(words(texts())));
        }
        clients.push((*region, Some(id.to_owned()).filter(|id| !id.is_empty())));
    }
    if !wrong.is_empty() {
        return Ok(request.rejected(&page_of(&request, &current, wrong)));
    }
    let change =
        MethodsChange { adjustments: Some(adjustments), pay_later_clients: clients, ..MethodsChange::default() };
    let methods = before.clone().changed(change);
    let change = MerchantSettings {
        methods: Some(methods).filter(|methods| methods != before),
        decided_on: Some(current.merchant.clone()),
        ..MerchantSettings::default()
    };
    match merchants(&request).set(current.merchant.id, change).await {
        Ok(_) => saved(&current),
        Err(error) => again(&request, &current, error).await,
    }
}

/// Sets all that is particular about methods: whether they are offered, and their limits to countries, currencies and amounts.
pub(crate) async fn set_method_limits(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    if !is_seen(&request, &current) {
        return changed(&request).await;
    }
    let typed = parse_adjustments(request.fields.text("method_limits"), &request.deps.payments.catalogue);
    let adjustments = match typed {
        Ok(adjustments) => adjustments,
        Err(why) => {
            return Ok(request.rejected(&page_of(&request, &current, vec![format!("{}.", texts().domain(&why))])));
        }
    };
    let before = &current.merchant.methods;
    let methods = MerchantMethods { adjustments, ..before.clone() };
    let change = MerchantSettings {
        methods: Some(methods).filter(|methods| methods != before),
        decided_on: Some(current.merchant.clone()),
        ..MerchantSettings::default()
    };
    match merchants(&request).set(current.merchant.id, change).await {
        Ok(_) => saved(&current),
        Err(error) => again(&request, &current, error).await,
    }
}

/// As the command line takes it; empty for none.
fn is_client_id(id: &str) -> bool {
    id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Sets the form of rates, the currency of settlement, and the markups.
pub(crate) async fn set_rates_of(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    if !is_seen(&request, &current) {
        return changed(&request).await;
    }
    let (fields, before) = (&request.fields, &current.rates);
    let mut wrong = Vec::new();
    let form = RateForm::ALL.into_iter().find(|form| form.as_str() == fields.text("form"));
    if form.is_none() {
        wrong.push(texts().choose_rate_form.to_owned());
    }
    let settlement = fields.text("settlement").parse::<Currency>().ok();
    if settlement.is_none() {
        wrong.push(texts().choose_settlement.to_owned());
    }
    let markups = read_markups(fields.text("markups"), &before.pricing.markups).unwrap_or_else(|why| {
        wrong.extend(why);
        BTreeMap::new()
    });
    if !wrong.is_empty() {
        return Ok(request.rejected(&page_of(&request, &current, wrong)));
    }
    let kept = |code: &Currency| before.pricing.markups.get(code).copied().unwrap_or(Markup::NONE);
    let change = RateChange {
        form: form.filter(|form| *form != before.form),
        settlement: settlement.filter(|one| *one != before.pricing.settlement),
        markups: markups.into_iter().filter(|(code, markup)| kept(code) != *markup).collect(),
    };
    let writer = merchants(&request).writer();
    match set_rates(&*request.deps.rates, &writer, current.merchant.id, Some(before.clone()), change).await {
        Ok(_) => saved(&current),
        Err(error) => again(&request, &current, error).await,
    }
}
