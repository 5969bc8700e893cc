//! The list of Orders, and what its filters mean.

use askama::Template;
use dropin_access::operator::PanelAction;
use dropin_card::LastFour;
use dropin_money::{Amount, Currency};
use dropin_order::{Order, OrderState};
use dropin_ports::{OrderSearch, SearchBounds, SearchFilter, SearchPage};

use crate::amounts;
use crate::fields::Fields;
use crate::guard::Answer;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::screens::{
    Choice, MerchantNames, PAGE_ROWS, day, merchant_choices, read_cursor, visible_merchants, write_cursor,
};
use crate::show::{self, Html};
use crate::texts::texts;

/// The fields of the list's filters.
pub(crate) const FILTERS: &[&str] = &[
    "merchant",
    "state",
    "method",
    "currency",
    "amount",
    "reference",
    "email",
    "last_four",
    "since",
    "until",
    "after",
    "held",
];

/// A row of the list.
pub(crate) struct OrderRow {
    pub(crate) path: String,
    pub(crate) created: Html,
    pub(crate) reference: String,
    pub(crate) merchant: String,
    pub(crate) method: String,
    pub(crate) total: String,
    pub(crate) state: Html,
}

impl OrderRow {
    pub(crate) fn new(order: &Order, names: &MerchantNames) -> Self {
        Self {
            path: format!("/orders/{}", order.id),
            created: show::instant(order.created_at),
            reference: order.merchant_reference.clone(),
            merchant: names.name(order.merchant_id),
            method: order.payment_method.clone(),
            total: show::money(&order.total),
            state: show::order_badges(order),
        }
    }
}

#[derive(Template)]
#[template(path = "orders.html")]
struct OrdersPage {
    shell: Shell,
    filters: Filters,
    rows: Vec<OrderRow>,
    wrong: Vec<String>,
    next: Option<String>,
    export: Option<String>,
    sessions: String,
    is_filtered: bool,
    is_continued: bool,
    cut: Option<u32>,
}

/// What was typed into the filters.
struct Filters {
    merchants: Vec<Choice>,
    states: Vec<Choice>,
    currencies: Vec<Choice>,
    method: String,
    amount: String,
    reference: String,
    email: String,
    last_four: String,
    since: String,
    until: String,
}

/// The list.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let names = MerchantNames::of(&merchants);
    let (page, wrong) = match search_of(&request, PAGE_ROWS)? {
        Ok(search) => (request.deps.back_office.search_orders(search).await?, Vec::new()),
        Err(wrong) => (SearchPage { found: Vec::new(), next: None, is_cut: false }, wrong),
    };
    let SearchPage { found, next, is_cut } = page;
    let fields = &request.fields;
    let text = |name: &str| fields.text(name).to_owned();
    let states = OrderState::ALL.into_iter();
    let filters = Filters {
        merchants: merchant_choices(&merchants, fields.text("merchant")),
        states: states
            .map(|state| Choice::new(state.as_str(), show::order_state(state).1, fields.text("state")))
            .collect(),
        currencies: Currency::ALL
            .iter()
            .map(|one| Choice::new(one.code(), one.code(), fields.text("currency")))
            .collect(),
        method: text("method"),
        amount: text("amount"),
        reference: text("reference"),
        email: text("email"),
        last_four: text("last_four"),
        since: text("since"),
        until: text("until"),
    };
    let may_export = crate::guard::may(&request.operator, PanelAction::ExportPayments);
    let page = OrdersPage {
        shell: request.shell(texts().orders),
        filters,
        rows: found.iter().map(|order| OrderRow::new(order, &names)).collect(),
        wrong,
        next: next.map(|cursor| fields.next_page("/orders", &write_cursor(&cursor))),
        export: may_export.then(|| format!("/orders.csv{}", fields.query(&["after"], &[]))),
        sessions: format!("/sessions{}", fields.query(&["after", "state", "method", "held", "last_four"], &[])),
        is_filtered: fields.is_narrowed(),
        is_continued: fields.given("after").is_some(),
        cut: is_cut.then_some(SearchBounds::default().found),
    };
    Ok(request.page(&page))
}

/// What the filters ask for; every one that makes no sense.
pub(crate) fn search_of(request: &PanelRequest, limit: u32) -> Result<Result<OrderSearch, Vec<String>>, Refusal> {
    let fields = &request.fields;
    let mut wrong = Vec::new();
    let filter = filter_of(request, &mut wrong)?;
    let state = fields
        .given("state")
        .and_then(|code| code.parse::<OrderState>().map_err(|_unknown| wrong.push(texts().no_order_state(code))).ok());
    let last_four = fields
        .given("last_four")
        .and_then(|text| text.parse::<LastFour>().map_err(|_wrong| wrong.push(texts().no_last_four(text))).ok());
    let search = OrderSearch {
        filter,
        state,
        last_four,
        under_review: fields.is_ticked("held"),
        payment_method: fields.given("method").map(str::to_ascii_uppercase),
        after: read_cursor(fields)?,
        limit,
        bounds: SearchBounds::default(),
    };
    Ok(if wrong.is_empty() { Ok(search) } else { Err(wrong) })
}

/// What the filters of Orders and Sessions have in common.
pub(crate) fn filter_of(request: &PanelRequest, wrong: &mut Vec<String>) -> Result<SearchFilter, Refusal> {
    let fields = &request.fields;
    let currency = fields
        .given("currency")
        .and_then(|code| code.parse::<Currency>().map_err(|_unknown| wrong.push(texts().no_currency(code))).ok());
    let totals = totals(fields, currency).map_err(|why| wrong.push(why)).unwrap_or_default();
    let since = day(fields, "since", 0).map_err(|why| wrong.push(why)).unwrap_or_default();
    let until = day(fields, "until", 1).map_err(|why| wrong.push(why)).unwrap_or_default();
    Ok(SearchFilter {
        merchants: request.chosen_merchants()?,
        currency,
        totals,
        since,
        until,
        reference: fields.given("reference").map(str::to_owned),
        email: fields.given("email").map(str::to_owned),
    })
}

/// The totals that a typed amount stands for.
fn totals(fields: &Fields, currency: Option<Currency>) -> Result<Option<Vec<Amount>>, String> {
    fields.given("amount").map(|text| amounts::typed_totals(text, currency)).transpose()
}
