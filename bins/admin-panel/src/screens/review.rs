//! Orders that wait for a reviewer.

use askama::Template;
use dropin_ports::{OrderSearch, SearchBounds, SearchFilter};
use dropin_usecases::payments::ReviewError;

use super::orders::{OrderRow, review_again, review_changed, reviewed};
use super::{
    Choice, MerchantNames, PAGE_ROWS, acting, merchant_choices, read_cursor, required_note, visible_merchants,
    write_cursor,
};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::texts::{sentence, texts};

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewPage {
    shell: Shell,
    merchants: Vec<Choice>,
    rows: Vec<OrderRow>,
    next: Option<String>,
}

/// The queue.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let search = OrderSearch {
        filter: SearchFilter { merchants: request.chosen_merchants()?, ..SearchFilter::default() },
        state: None,
        under_review: true,
        payment_method: None,
        last_four: None,
        after: read_cursor(&request.fields)?,
        limit: PAGE_ROWS,
        bounds: SearchBounds::default(),
    };
    let found = request.deps.back_office.search_orders(search).await?;
    let names = MerchantNames::of(&merchants);
    let fields = &request.fields;
    let page = ReviewPage {
        shell: request.shell(texts().reviews),
        merchants: merchant_choices(&merchants, fields.text("merchant")),
        rows: found.found.iter().map(|order| OrderRow::new(order, &names)).collect(),
        next: found.next.map(|cursor| fields.next_page("/review", &write_cursor(&cursor))),
    };
    Ok(request.page(&page))
}

/// Approves or declines.
pub(crate) async fn decide(request: PanelRequest) -> Answer {
    let (id, seen) = reviewed(&request).await?;
    let approve = match request.fields.text("decision") {
        "approve" => true,
        "decline" => false,
        _ => return Err(Refusal::Invalid(texts().choose_approve_decline.to_owned())),
    };
    if let Err(why) = required_note(&request.fields) {
        return review_again(&request, why).await;
    }
    let (payments, by, name) = (request.deps.payments.clone(), acting(&request), request.actor());
    let flow = async move { payments.review_as_seen(seen, id, approve, &name, &by).await };
    let outcome = match request.deps.flows.run(flow).await? {
        Ok(outcome) => outcome,
        Err(ReviewError::Store(error)) => return Err(error.into()),
        Err(ReviewError::Changed) => return review_changed(&request).await,
        Err(refused) => return review_again(&request, sentence(&refused)).await,
    };
    let done = match (outcome.pending, approve) {
        (true, _) => "review-pending",
        (false, true) => "review-approved",
        (false, false) => "review-declined",
    };
    Ok(see(format!("/orders/{id}?done={done}")))
}
