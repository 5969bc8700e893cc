//! Operations at the processor whose outcome is open.

use askama::Template;

use crate::guard::Answer;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};

/// Most that are shown; more than these are a sign of a processor that is away.
const MAX_LISTED: u32 = 500;

struct OpenRow {
    order: String,
    kind: String,
    amount: String,
    state: Html,
    created: Html,
    due: Html,
    tries: u32,
    advice: String,
}

#[derive(Template)]
#[template(path = "operations.html")]
struct OperationsPage {
    shell: Shell,
    rows: Vec<OpenRow>,
    is_cut: bool,
}

/// Oldest first.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let deps = &request.deps;
    let open = deps.payments.store.list_open_operations(MAX_LISTED).await?;
    let (now, scope) = (deps.clock.now(), &request.operator.operator.rights.scope);
    let is_cut = u32::try_from(open.len()).is_ok_and(|read| MAX_LISTED <= read);
    let mut rows = Vec::new();
    for operation in open {
        if !scope.is_deployment() {
            let found = deps.payments.store.find_order_anywhere(operation.order_id).await?;
            if !found.is_some_and(|(order, _)| scope.covers(order.merchant_id)) {
                continue;
            }
        }
        rows.push(OpenRow {
            order: operation.order_id.to_string(),
            kind: show::words(operation.kind.as_str()),
            amount: show::money(&operation.amount),
            state: show::operation_badge(operation.state),
            created: show::instant(operation.created_at),
            due: show::instant(operation.due_at),
            tries: operation.tries,
            advice: operation.stuck(now).map(|stuck| super::orders::sentence(&stuck.advice())).unwrap_or_default(),
        });
    }
    let page = OperationsPage { shell: request.shell("Open operations"), rows, is_cut };
    Ok(request.page(&page))
}
