//! Orders as a file: comma-separated, streamed, and without a cell that a spreadsheet would run as a formula.

use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::web::Bytes;
use dropin_access::AuditAction;
use dropin_kernel::OrderId;
use dropin_order::Order;
use dropin_ports::{AuditSubject, NewAuditEntry, OrderSearch, SearchCursor, SearchPage};
use dropin_wire::audit_log::Document;
use futures_util::stream;

use super::acting;
use super::orders::search_of;
use crate::PanelDeps;
use crate::guard::Answer;
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::texts::{Texts, texts};

/// Rows that are read at once.
const CHUNK_ROWS: u32 = 500;
/// Most rows of one file.
const MAX_ROWS: usize = 1_000_000;

/// Where a file that is being written stands.
enum Position {
    Head(OrderSearch),
    Rows(OrderSearch, usize),
    End,
}

/// What comes behind the rows of a page.
#[derive(Debug, PartialEq, Eq)]
enum Rest {
    More(SearchCursor<OrderId>),
    Whole,
    Cut,
}

impl Rest {
    /// After `written` rows, with those of the page.
    fn of(page: &SearchPage<Order, OrderId>, written: usize) -> Self {
        match page.next {
            Some(next) if written < MAX_ROWS => Self::More(next),
            Some(_) => Self::Cut,
            None if page.is_cut => Self::Cut,
            None => Self::Whole,
        }
    }
}

/// The Orders that the filters of the list leave. That they were taken away is on the record before the first of them leaves.
pub(crate) async fn orders(request: PanelRequest) -> Answer {
    let search = search_of(&request, CHUNK_ROWS)?.map_err(|wrong| Refusal::Invalid(wrong.join(" ")))?;
    let deps = request.deps.clone().into_inner();
    // Each merchant's chain tells that its Orders were taken away, and of no other merchant.
    let chains = match &search.filter.merchants {
        Some(merchants) => merchants.iter().copied().map(Some).collect(),
        None => vec![None],
    };
    for merchant in chains {
        let subject = merchant.map_or_else(AuditSubject::deployment, AuditSubject::from);
        let (at, action) = (deps.clock.now(), AuditAction::DataExport);
        let entry = NewAuditEntry::new(deps.ids.ordered(), at, acting(&request), merchant, action, subject);
        deps.audit_log.append_audit_entry(entry.with_after(filters(&request, &search).finish())).await?;
    }
    // The language is that of the request; the rows are read after it.
    let rows = stream::unfold((deps, texts(), Position::Head(search)), |(deps, t, position)| async move {
        let (bytes, position) = next(&deps, t, position).await?;
        Some((bytes, (deps, t, position)))
    });
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/csv; charset=utf-8"))
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"orders.csv\""))
        .insert_header(("cache-control", "no-store"))
        .streaming(rows))
}

/// What was chosen, for the audit log. An e-mail address is a shopper's, and the log keeps what is in it for ever: only that one was given is told.
fn filters(request: &PanelRequest, search: &OrderSearch) -> Document {
    let filter = &search.filter;
    let mut document = match &filter.merchants {
        Some(merchants) => Document::new().number("OfMerchants", u64::try_from(merchants.len()).unwrap_or(u64::MAX)),
        None => Document::new().text("Of", "the whole deployment"),
    };
    for (member, field) in [
        ("State", "state"),
        ("PaymentMethod", "method"),
        ("Currency", "currency"),
        ("Amount", "amount"),
        ("MerchantReference", "reference"),
        ("Since", "since"),
        ("Until", "until"),
    ] {
        document =
            request.fields.given(field).into_iter().fold(document, |document, value| document.text(member, value));
    }
    document = filter.email.iter().fold(document, |document, _| document.flag("ByEmail", true));
    if search.under_review { document.flag("UnderReview", true) } else { document }
}

/// The next piece of the file. A failure breaks the answer off, so that nobody takes a part for the whole.
async fn next(deps: &PanelDeps, t: &Texts, position: Position) -> Option<(Result<Bytes, actix_web::Error>, Position)> {
    match position {
        Position::Head(search) => Some((Ok(Bytes::from(format!("{}\r\n", t.csv_columns))), Position::Rows(search, 0))),
        Position::End => None,
        Position::Rows(mut search, written) => match deps.back_office.search_orders(search.clone()).await {
            Ok(page) => {
                let text: String = page.found.iter().map(line).collect();
                let written = written + page.found.len();
                let (text, position) = match Rest::of(&page, written) {
                    Rest::More(next) => {
                        search.after = Some(next);
                        (text, Position::Rows(search, written))
                    }
                    Rest::Whole => (text, Position::End),
                    // So that nobody takes a part for the whole.
                    Rest::Cut => (format!("{text}\"{}\"\r\n", t.csv_incomplete), Position::End),
                };
                Some((Ok(Bytes::from(text)), position))
            }
            Err(error) => {
                log::error!("an export of Orders broke off: {error}");
                Some((Err(actix_web::error::ErrorServiceUnavailable("the export broke off")), Position::End))
            }
        },
    }
}

fn line(order: &Order) -> String {
    let amounts = &order.amounts;
    let cells = [
        order.id.to_string(),
        order.merchant_id.to_string(),
        cell(&order.merchant_reference),
        order.state.as_str().to_owned(),
        order.under_review.to_string(),
        cell(&order.payment_method),
        order.total.currency().code().to_owned(),
        order.total.to_string(),
        amounts.total_authorized().to_string(),
        amounts.captured().to_string(),
        amounts.refunded().to_string(),
        order.failure.map(|reason| reason.as_str().to_owned()).unwrap_or_default(),
        order.created_at.to_string(),
        order.updated_at.to_string(),
    ];
    cells.join(",") + "\r\n"
}

/// A text as a cell (RFC 4180). One that a spreadsheet would read as a formula begins with an apostrophe, which makes it text.
fn cell(text: &str) -> String {
    let is_formula =
        text.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    format!("\"{}\"", text.replace('"', "\"\"").replace(['\r', '\n'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;

    #[test]
    fn a_file_that_is_cut_says_so() {
        let next = SearchCursor { at: dropin_kernel::Timestamp::MIN, id: OrderId::new(uuid::Uuid::nil()) };
        let page = |next, is_cut| SearchPage::<Order, OrderId> { found: Vec::new(), next, is_cut };
        assert_eq!(Rest::of(&page(Some(next), false), MAX_ROWS - 1), Rest::More(next));
        assert_eq!(Rest::of(&page(Some(next), false), MAX_ROWS), Rest::Cut);
        assert_eq!(Rest::of(&page(None, true), 200), Rest::Cut);
        assert_eq!(Rest::of(&page(None, false), MAX_ROWS), Rest::Whole);
    }

    #[test]
    fn each_column_has_its_name_in_every_language() {
        for language in Language::ALL {
            assert_eq!(language.texts().csv_columns.split(',').count(), 14);
        }
    }

    #[test]
    fn no_cell_is_a_formula_or_ends_its_row() {
        assert_eq!(cell("order-1"), "\"order-1\"");
        assert_eq!(cell("say \"hi\", you"), "\"say \"\"hi\"\", you\"");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =cmd|'/C calc'!A0", "\t=1", "\u{ff1d}1"] {
            assert!(cell(formula).starts_with("\"'"), "{formula}");
        }
        assert_eq!(cell("a\r\nb"), "\"a  b\"");
    }
}
