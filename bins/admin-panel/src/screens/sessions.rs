//! Sessions: the list, and one with its attempts.

use askama::Template;
use dropin_kernel::SessionId;
use dropin_money::Currency;
use dropin_order::Order;
use dropin_ports::{SearchBounds, SearchPage, SessionSearch};
use dropin_session::{Session, SessionStateKind};

use super::{Choice, MerchantNames, PAGE_ROWS, merchant_choices, read_cursor, visible_merchants, write_cursor};
use crate::guard::Answer;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::screens::orders::{OrderRow, filter_of};
use crate::show::{self, Html};
use crate::texts::texts;

/// The fields of the list's filters.
pub(crate) const FILTERS: &[&str] =
    &["merchant", "state", "currency", "amount", "reference", "email", "since", "until", "after"];

struct SessionRow {
    path: String,
    created: Html,
    reference: String,
    merchant: String,
    shopper: String,
    total: String,
    state: Html,
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    shell: Shell,
    merchants: Vec<Choice>,
    states: Vec<Choice>,
    currencies: Vec<Choice>,
    amount: String,
    reference: String,
    email: String,
    since: String,
    until: String,
    rows: Vec<SessionRow>,
    wrong: Vec<String>,
    next: Option<String>,
    is_filtered: bool,
    is_continued: bool,
    cut: Option<u32>,
}

/// The list.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let names = MerchantNames::of(&merchants);
    let fields = &request.fields;
    let mut wrong = Vec::new();
    let filter = filter_of(&request, &mut wrong)?;
    let state = fields.given("state").and_then(|code| {
        code.parse::<SessionStateKind>().map_err(|_unknown| wrong.push(texts().no_session_state(code))).ok()
    });
    let bounds = SearchBounds::default();
    let search = SessionSearch { filter, state, after: read_cursor(fields)?, limit: PAGE_ROWS, bounds };
    let SearchPage { found, next, is_cut } = match wrong.is_empty() {
        true => request.deps.back_office.search_sessions(search).await?,
        false => SearchPage { found: Vec::new(), next: None, is_cut: false },
    };
    let text = |name: &str| fields.text(name).to_owned();
    let states = SessionStateKind::ALL.into_iter();
    let page = SessionsPage {
        shell: request.shell(texts().sessions),
        merchants: merchant_choices(&merchants, fields.text("merchant")),
        states: states
            .map(|state| Choice::new(state.as_str(), show::words(state.as_str()), fields.text("state")))
            .collect(),
        currencies: Currency::ALL
            .iter()
            .map(|one| Choice::new(one.code(), one.code(), fields.text("currency")))
            .collect(),
        amount: text("amount"),
        reference: text("reference"),
        email: text("email"),
        since: text("since"),
        until: text("until"),
        rows: found.iter().map(|session| row(session, &names)).collect(),
        wrong,
        next: next.map(|cursor| fields.next_page("/sessions", &write_cursor(&cursor))),
        is_filtered: fields.is_narrowed(),
        is_continued: fields.given("after").is_some(),
        cut: is_cut.then_some(bounds.found),
    };
    Ok(request.page(&page))
}

fn row(session: &Session, names: &MerchantNames) -> SessionRow {
    SessionRow {
        path: format!("/sessions/{}", session.id),
        created: show::instant(session.created_at),
        reference: session.terms.merchant_reference.as_str().to_owned(),
        merchant: names.name(session.merchant_id),
        shopper: session.terms.billing.details.email.as_str().to_owned(),
        total: show::money(&session.terms.total),
        state: show::session_badge(session.state.kind()),
    }
}

struct ItemRow {
    name: String,
    quantity: String,
    amount: String,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    shell: Shell,
    id: String,
    reference: String,
    total: String,
    state: Html,
    merchant: String,
    created: Html,
    updated: Html,
    expires: Html,
    attempts_failed: u32,
    attempts_allowed: u32,
    auto_capture: bool,
    opens_contract: bool,
    complete_url: String,
    cancel_url: String,
    name: String,
    email: String,
    phone: String,
    profile: String,
    address: Vec<String>,
    items: Vec<ItemRow>,
    attempts: Vec<OrderRow>,
    notifications: String,
}

/// One Session.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let id: SessionId = request.id("Session")?;
    let found = request.deps.sessions.find_session_for_shopper(id).await?.ok_or(Refusal::NotFound("Session"))?;
    let session = found.session;
    request.own(session.merchant_id, "Session")?;
    let attempts: Vec<Order> = request.deps.sessions.list_attempts(id).await?;
    let merchant = request.deps.access.find_merchant(session.merchant_id).await?;
    let names = MerchantNames::of(merchant.as_slice());
    let terms = &session.terms;
    let details = &terms.billing.details;
    let address = &details.address;
    let lines =
        [Some(address.street.as_str()), Some(address.city.as_str()), address.postcode.as_ref().map(|one| one.as_str())];
    let lines = lines.into_iter().flatten().map(str::to_owned).chain([address.country.code().to_owned()]);
    let mut items: Vec<_> = terms
        .items
        .iter()
        .map(|item| ItemRow {
            name: item.name.as_str().to_owned(),
            quantity: item.quantity.to_string(),
            amount: show::money(&item.amount),
        })
        .collect();
    let more = [
        terms.shipping.as_ref().map(|shipping| ("Shipping", shipping.shipping_amount)),
        terms.tax.map(|tax| ("Tax", tax)),
    ];
    for (name, amount) in more.into_iter().flatten() {
        items.push(ItemRow { name: name.to_owned(), quantity: String::new(), amount: show::money(&amount) });
    }
    for discount in terms.discounts.iter().flatten() {
        items.push(ItemRow {
            name: discount.name.as_str().to_owned(),
            quantity: String::new(),
            amount: format!("-{}", show::money(&discount.amount)),
        });
    }
    let page = SessionPage {
        shell: request.shell(texts().session_titled(terms.merchant_reference.as_str())),
        id: id.to_string(),
        reference: terms.merchant_reference.as_str().to_owned(),
        total: show::money(&terms.total),
        state: show::session_badge(session.state.kind()),
        merchant: names.name(session.merchant_id),
        created: show::instant(session.created_at),
        updated: show::instant(session.updated_at),
        expires: show::instant(session.expires_at),
        attempts_failed: session.attempts.failed(),
        attempts_allowed: session.attempts.allowed(),
        auto_capture: terms.auto_capture,
        opens_contract: session.opens_contract(),
        complete_url: terms.complete_url.as_str().to_owned(),
        cancel_url: terms.cancel_url.as_str().to_owned(),
        name: details.name.as_str().to_owned(),
        email: details.email.as_str().to_owned(),
        phone: details.phone.as_ref().map(|phone| phone.as_str().to_owned()).unwrap_or_default(),
        profile: details.reference.as_ref().map(|reference| reference.as_str().to_owned()).unwrap_or_default(),
        address: lines.collect(),
        items,
        attempts: attempts.iter().map(|order| OrderRow::new(order, &names)).collect(),
        notifications: format!("/notifications?payment={}&merchant={}", session.payment_id(), session.merchant_id),
    };
    Ok(request.page(&page))
}
