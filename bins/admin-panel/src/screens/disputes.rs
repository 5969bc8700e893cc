//! Disputes that wait for an answer or for the bank's decision.

use askama::Template;
use dropin_order::DisputeState;
use dropin_ports::AnsweredDispute;

use super::{Choice, MerchantNames, merchant_choices, visible_merchants};
use crate::guard::Answer;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::texts;

/// Most that are shown.
const MAX_LISTED: u32 = 500;

struct OpenDisputeRow {
    order: String,
    merchant: String,
    reason: String,
    amount: String,
    state: Html,
    due: Html,
    processor: String,
}

#[derive(Template)]
#[template(path = "disputes.html")]
struct DisputesPage {
    shell: Shell,
    merchants: Vec<Choice>,
    rows: Vec<OpenDisputeRow>,
    is_cut: bool,
}

/// Those that are due first; what is overdue leads.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let names = MerchantNames::of(&merchants);
    let open = request.deps.disputes.list_open(request.chosen_merchants()?, MAX_LISTED).await?;
    let is_cut = u32::try_from(open.len()).is_ok_and(|read| MAX_LISTED <= read);
    let now = request.deps.clock.now();
    let row = |AnsweredDispute { dispute, is_pending }: &AnsweredDispute| OpenDisputeRow {
        order: dispute.order_id.to_string(),
        merchant: names.name(dispute.merchant_id),
        reason: show::words(dispute.reason.as_str()),
        amount: show::money(&dispute.amount),
        state: match dispute.state {
            _ if *is_pending => show::badge("wait", texts().answer_on_its_way),
            DisputeState::NeedsResponse if dispute.check_answerable(now).is_err() => {
                show::badge("bad", texts().badge_overdue)
            }
            state => show::dispute_badge(state),
        },
        due: show::instant_or_dash(dispute.due_at),
        processor: dispute.processor.to_string(),
    };
    let page = DisputesPage {
        shell: request.shell(texts().disputes),
        merchants: merchant_choices(&merchants, request.fields.text("merchant")),
        rows: open.iter().map(row).collect(),
        is_cut,
    };
    Ok(request.page(&page))
}
