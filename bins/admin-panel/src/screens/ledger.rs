//! The ledger: comparing it with the processor's journal, and what came of it.

use actix_web::web;
use askama::Template;
use dropin_usecases::audit::Audit;

use crate::guard::Answer;
use crate::ledger_runs::{LedgerFailure, LedgerRun, LedgerRuns};
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::texts;

/// Findings that are shown in words.
const MAX_SHOWN: usize = 200;

struct FindingRow {
    what: String,
    order: Option<String>,
    operation: String,
    words: String,
}

/// What a comparison read and found.
struct Outcome {
    ended: Html,
    orders: u64,
    operations: u64,
    open: u64,
    journal: String,
    cards: String,
    found: u64,
    rows: Vec<FindingRow>,
    failure: Option<String>,
}

#[derive(Template)]
#[template(path = "ledger.html")]
struct LedgerPage {
    shell: Shell,
    began: Option<Html>,
    by: String,
    without_processor: bool,
    is_running: bool,
    outcome: Option<Outcome>,
}

fn runs(request: &PanelRequest) -> Result<&LedgerRuns, Refusal> {
    let runs = request.http.app_data::<web::Data<LedgerRuns>>();
    runs.map(|runs| &***runs).ok_or_else(|| Refusal::Internal("comparisons of the ledger are not mounted".to_owned()))
}

/// The last comparison.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let last = runs(&request)?.last();
    let page = LedgerPage {
        shell: request.shell(texts().ledger),
        began: last.as_ref().map(|run| show::instant(run.began)),
        by: last.as_ref().map(|run| run.by.clone()).unwrap_or_default(),
        without_processor: last.as_ref().is_some_and(|run| run.without_processor),
        is_running: last.as_ref().is_some_and(|run| run.outcome.is_none()),
        outcome: last.as_ref().and_then(outcome),
    };
    Ok(request.page(&page))
}

fn outcome(run: &LedgerRun) -> Option<Outcome> {
    let (ended, outcome) = run.outcome.as_ref()?;
    let ended = show::instant(*ended);
    let report = match outcome {
        Ok(report) => report.clone(),
        Err(failure) => {
            let t = texts();
            let failure = Some(match failure {
                LedgerFailure::TooLong => t.ledger_too_long.to_owned(),
                LedgerFailure::BrokeOff => t.ledger_broke_off.to_owned(),
                LedgerFailure::Failed(why) => t.domain(why),
            });
            return Some(Outcome { failure, ended, ..Outcome::nothing() });
        }
    };
    let number = |count: Option<u64>| {
        count.map_or_else(|| texts().left_out.to_owned(), |count| show::grouped(&count.to_string()))
    };
    Some(Outcome {
        ended,
        orders: report.orders,
        operations: report.operations,
        open: report.open,
        journal: number(report.journal_entries),
        cards: number(report.credentials),
        found: report.found,
        rows: report
            .findings
            .iter()
            .take(MAX_SHOWN)
            .map(|finding| FindingRow {
                what: show::words(finding.what.as_str()),
                order: finding.order.map(|id| id.to_string()),
                operation: finding.operation.map(|id| id.to_string()).unwrap_or_default(),
                words: texts().domain(&finding.words),
            })
            .collect(),
        failure: None,
    })
}

impl Outcome {
    fn nothing() -> Self {
        Self {
            ended: show::instant_or_dash(None),
            orders: 0,
            operations: 0,
            open: 0,
            journal: String::new(),
            cards: String::new(),
            found: 0,
            rows: Vec::new(),
            failure: None,
        }
    }
}

/// Begins one.
pub(crate) async fn start(request: PanelRequest) -> Answer {
    let audit = request.deps.ledger.clone();
    let audit = match request.fields.is_ticked("books") {
        true => Audit { journal: None, credentials: None, ..audit },
        false => audit,
    };
    let started = runs(&request)?.start(audit, request.actor());
    Ok(see(if started { "/ledger?done=comparing" } else { "/ledger?done=compares-already" }))
}
