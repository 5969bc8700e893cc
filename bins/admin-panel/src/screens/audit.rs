//! The audit log: who did what, when, from where and why.

use askama::Template;
use dropin_access::AuditAction;
use dropin_kernel::uuid::Uuid;
use dropin_ports::{AuditCursor, AuditEntry, AuditQuery, AuditScope};

use super::{
    Choice, MerchantNames, PAGE_ROWS, day, merchant_choices, read_position, visible_merchants, write_position,
};
use crate::guard::Answer;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::texts;

struct EntryRow {
    at: Html,
    who: String,
    from: String,
    action: String,
    subject: String,
    link: Option<String>,
    merchant: String,
    note: String,
    before: String,
    after: String,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditLogPage {
    shell: Shell,
    merchants: Vec<Choice>,
    actions: Vec<Choice>,
    actor: String,
    subject: String,
    since: String,
    until: String,
    rows: Vec<EntryRow>,
    wrong: Vec<String>,
    next: Option<String>,
}

/// A search, newest first. An operator of named merchants chooses one.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let fields = &request.fields;
    let mut wrong = Vec::new();
    let scope = match request.chosen_merchants()?.as_deref() {
        None => Some(AuditScope::All),
        Some([one]) => Some(AuditScope::Merchant(*one)),
        Some(_) => {
            wrong.push(texts().choose_a_merchant.to_owned());
            None
        }
    };
    let since = day(fields, "since", 0).map_err(|why| wrong.push(why)).unwrap_or_default();
    let until = day(fields, "until", 1).map_err(|why| wrong.push(why)).unwrap_or_default();
    let text = |name: &str| fields.text(name).to_owned();
    let chosen = text("action").to_ascii_uppercase();
    let query = AuditQuery {
        scope: scope.unwrap_or_default(),
        since,
        until,
        action: Some(chosen.clone()).filter(|action| !action.is_empty()),
        actor_name: fields.given("actor").map(str::to_owned),
        subject_id: fields.given("subject").map(str::to_owned),
        after: read_position(fields)?.map(|(at, position)| AuditCursor { at, position }),
        oldest_first: false,
        limit: PAGE_ROWS,
    };
    let (entries, next) = match wrong.is_empty() {
        true => {
            let page = request.deps.audit_log.search_audit_log(query).await?;
            (page.entries, page.next)
        }
        false => (Vec::new(), None),
    };
    let names = MerchantNames::of(&merchants);
    let page = AuditLogPage {
        shell: request.shell(texts().audit_log),
        merchants: merchant_choices(&merchants, fields.text("merchant")),
        actions: AuditAction::ALL
            .into_iter()
            .map(|action| Choice::new(action.as_str(), show::words(action.as_str()), &chosen))
            .collect(),
        actor: text("actor"),
        subject: text("subject"),
        since: text("since"),
        until: text("until"),
        rows: entries.iter().map(|entry| row(entry, &names)).collect(),
        wrong,
        next: next.map(|next| fields.next_page("/audit", &write_position(next.at, next.position))),
    };
    Ok(request.page(&page))
}

fn row(entry: &AuditEntry, names: &MerchantNames) -> EntryRow {
    let id = &entry.subject_id;
    let link = match entry.subject_kind.as_str() {
        "ORDER" => Some(format!("/orders/{id}")),
        "SESSION" => Some(format!("/sessions/{id}")),
        "MERCHANT" => Some(format!("/merchants/{id}")),
        "OPERATOR" => Some(format!("/operators/{id}")),
        _ => None,
    };
    EntryRow {
        at: show::instant(entry.at),
        who: show::actor(&entry.acting.actor),
        from: entry.acting.address.map(|address| address.to_string()).unwrap_or_default(),
        action: show::words(&entry.action),
        subject: format!("{} {id}", show::words(&entry.subject_kind)),
        link: link.filter(|_| id.parse::<Uuid>().is_ok()),
        merchant: entry.merchant_id.map(|id| names.name(id)).unwrap_or_default(),
        note: entry.acting.note.clone().unwrap_or_default(),
        before: entry.before.clone().unwrap_or_default(),
        after: entry.after.clone().unwrap_or_default(),
    }
}
