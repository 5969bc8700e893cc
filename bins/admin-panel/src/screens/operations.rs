//! Operations at the processor whose outcome is open.

use askama::Template;

use crate::guard::Answer;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

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
    let open = match request.merchants() {
        None => deps.payments.store.list_open_operations(MAX_LISTED).await?,
        Some(merchants) => deps.back_office.list_open_operations_of(merchants, MAX_LISTED).await?,
    };
    let now = deps.clock.now();
    let is_cut = u32::try_from(open.len()).is_ok_and(|read| MAX_LISTED <= read);
    let mut rows = Vec::new();
    for operation in open {
        rows.push(OpenRow {
            order: operation.order_id.to_string(),
            kind: show::words(operation.kind.as_str()),
            amount: show::money(&operation.amount),
            state: show::operation_badge(operation.state),
            created: show::instant(operation.created_at),
            due: show::instant(operation.due_at),
            tries: operation.tries,
            advice: operation.stuck(now).map(|stuck| sentence(&stuck.advice())).unwrap_or_default(),
        });
    }
    let page = OperationsPage { shell: request.shell(texts().open_operations), rows, is_cut };
    Ok(request.page(&page))
}
