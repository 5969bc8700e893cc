//! `dropin ledger …`

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use dropin_boot::{Failure, SystemClock};
use dropin_kernel::{ProcessorId, Timestamp};
use dropin_ports::{ProcessorJournal, ProcessorRecords, RecordSpan, StoredCredentialList};
use dropin_store::Store;
use dropin_usecases::audit::{Audit, AuditError, Finding, RecordAudit, Report};
use serde_json::{Map, Value, json};

use super::ledger_import::ImportRecords;
use super::notification::moment;
use super::processor::{self, ProcessorFlags};
use super::{Cli, Output, say};

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Compare Orders, operations, refunds and ledger with each other and with the processor's journal
    ///
    /// Changes nothing and runs beside services. Exit status 0: everything fits; 1: something does not; 2: it could not be compared.
    Verify(VerifyLedger),
    /// Take up what a processor has done and is not here, after an old backup was put back
    ///
    /// Without --yes it only tells what is missing. What is taken up can be captured, refunded and shown like any Order, its merchant is notified, and its
    /// reference is used up. No money is moved. Exit status 0: nothing is missing any more; 1: something still is; 2: it could not be read.
    Import(ImportRecords),
}

#[derive(Debug, Args)]
pub(crate) struct VerifyLedger {
    /// Leave the processor's journal out
    #[arg(long)]
    pub(crate) without_processor: bool,
    /// Compare with this processor's own lists of payments and refunds, in place of the journal; by its name
    #[arg(long, value_name = "NAME", requires_all = ["from", "until"], conflicts_with = "without_processor")]
    pub(crate) of: Option<ProcessorId>,
    /// What was created from this moment on, for example 2026-11-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "of")]
    pub(crate) from: Option<Timestamp>,
    /// What was created before this moment
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "of")]
    pub(crate) until: Option<Timestamp>,
    #[command(flatten)]
    pub(crate) processor: ProcessorFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Exit status: something does not fit.
pub(super) const DIFFERS: u8 = 1;
/// Exit status: it could not be compared.
pub(super) const NOT_COMPARED: u8 = 2;

/// Verifies the ledger.
pub(super) async fn verify(cli: &Cli, store: &Store, wanted: &VerifyLedger) -> Result<ExitCode, Failure> {
    if let (Some(of), Some(from), Some(until)) = (&wanted.of, wanted.from, wanted.until) {
        let report = compare_lists(cli, store, wanted, of, RecordSpan { from, until }).await?;
        say(&if wanted.output.json { of_report(&report).to_string() } else { in_words(&report) })?;
        return Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) });
    }
    let processor = match wanted.without_processor {
        true => None,
        false => Some(Arc::new(processor::open_journal(cli, &wanted.processor).map_err(advise)?)),
    };
    let journal = processor.clone().map(|processor| processor as Arc<dyn ProcessorJournal>);
    let credentials = processor.map(|processor| processor as Arc<dyn StoredCredentialList>);
    let audit = Audit { store: Arc::new(store.clone()), journal, credentials, clock: Arc::new(SystemClock) };
    let report = audit.verify().await.map_err(|error| match error {
        AuditError::Journal(_) | AuditError::Credentials(_) | AuditError::Records(_) => {
            advise(not_answered(cli, wanted, &error))
        }
        AuditError::Store(_) => error.into(),
    })?;
    say(&if wanted.output.json { of_report(&report).to_string() } else { in_words(&report) })?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) })
}

/// Compares what was created in a span of time with a processor's own lists.
async fn compare_lists(
    cli: &Cli,
    store: &Store,
    wanted: &VerifyLedger,
    of: &ProcessorId,
    span: RecordSpan,
) -> Result<Report, Failure> {
    let (records, is_main) = lists(cli, store, &wanted.processor, of).await?;
    let (store, processor, clock) = (Arc::new(store.clone()), of.clone(), Arc::new(SystemClock));
    Ok(RecordAudit { store, records, processor, is_main, clock }.verify(span).await?)
}

/// The lists of one of the deployment's processors, or of a merchant's account at one, and whether it is the main one.
pub(super) async fn lists(
    cli: &Cli,
    store: &Store,
    flags: &ProcessorFlags,
    of: &ProcessorId,
) -> Result<(Arc<dyn ProcessorRecords>, bool), Failure> {
    let router = processor::open_all(cli, flags, store)?;
    if of.is_account() {
        return Ok((router.named_processor(of).await?.client.records(), false));
    }
    let names = || router.all().map(|one| one.id.as_str()).collect::<Vec<_>>().join(", ");
    let found = router.all().enumerate().find(|(_, one)| one.id == *of);
    let (place, named) = found.ok_or_else(|| format!("the deployment has no processor {of}; it has {}", names()))?;
    Ok((named.client.records(), place == 0))
}

/// Names who was asked: a service on another port, or another deployment's, answers wrongly or not at all.
fn not_answered(cli: &Cli, wanted: &VerifyLedger, error: &AuditError) -> Failure {
    match processor::address(cli, &wanted.processor) {
        Ok(address) => {
            format!("{error}; asked at {address}: name another with --processor-url, or the service's address with DROPIN_LISTEN").into()
        }
        Err(_unknown) => error.to_string().into(),
    }
}

fn advise(failure: Failure) -> Failure {
    format!("{failure}; --without-processor compares our own books alone").into()
}

fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn in_words(report: &Report) -> String {
    let mut lines: Vec<_> = report.findings.iter().map(line).collect();
    let shown = lines.len() as u64;
    if shown < report.found {
        lines.push(format!("… and {} more", report.found - shown));
    }
    let journal = match report.journal_entries {
        Some(1) => "1 entry of the processor's journal or lists".to_owned(),
        Some(entries) => format!("{entries} entries of the processor's journal or lists"),
        None => "without the processor's journal".to_owned(),
    };
    let cards = report.credentials.map(|cards| format!(", {}", counted(cards, "stored card"))).unwrap_or_default();
    let (orders, operations) = (counted(report.orders, "Order"), counted(report.operations, "operation"));
    lines.push(format!("Read {orders} with {operations}, {journal}{cards}."));
    if 0 < report.open {
        let open = counted(report.open, "operation");
        lines.push(format!("Open and therefore not compared: {open}; `dropin op list` shows them."));
    }
    lines.push(match report.found {
        0 => "Everything fits.".to_owned(),
        1 => "1 disagreement; `dropin order show ID` shows what is known of an Order.".to_owned(),
        found => format!("{found} disagreements; `dropin order show ID` shows what is known of an Order."),
    });
    lines.join("\n")
}

fn line(finding: &Finding) -> String {
    let mut line = finding.what.as_str().to_owned();
    if let Some(order) = finding.order {
        line += &format!("  order {order}");
    }
    if let Some(operation) = finding.operation {
        line += &format!("  operation {operation}");
    }
    format!("{line}  {}", finding.words)
}

fn of_report(report: &Report) -> Value {
    let findings = report.findings.iter().map(|finding| {
        let mut shown = Map::new();
        shown.insert("What".to_owned(), finding.what.as_str().into());
        if let Some(order) = finding.order {
            shown.insert("OrderId".to_owned(), order.to_string().into());
        }
        if let Some(operation) = finding.operation {
            shown.insert("OperationId".to_owned(), operation.to_string().into());
        }
        shown.insert("Message".to_owned(), finding.words.clone().into());
        Value::from(shown)
    });
    json!({
        "Clean": report.is_clean(),
        "Orders": report.orders,
        "Operations": report.operations,
        "OpenOperations": report.open,
        "JournalEntries": report.journal_entries,
        "StoredCards": report.credentials,
        "Disagreements": report.found,
        "Findings": Value::from_iter(findings),
    })
}

#[cfg(test)]
mod tests {
    use dropin_usecases::audit::Disagreement;

    use super::*;

    #[test]
    fn what_is_found_is_said_before_what_was_read() {
        let mut report = Report { orders: 3, operations: 5, open: 1, ..Report::default() };
        let clean = in_words(&report);
        assert!(clean.starts_with("Read 3 Orders with 5 operations, without"), "{clean}");
        assert!(clean.ends_with("Everything fits.") && clean.contains("not compared: 1 "), "{clean}");
        let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        report.findings = vec![Finding {
            what: Disagreement::MissingLocally,
            order: id.parse().ok(),
            operation: id.parse().ok(),
            words: "both sides".to_owned(),
        }];
        (report.found, report.journal_entries) = (1_001, Some(7));
        let told = in_words(&report);
        assert!(
            told.starts_with(&format!("MISSING_LOCALLY  order {id}  operation {id}  both sides\n… and 1000 more\n")),
            "{told}"
        );
        assert!(told.contains("7 entries") && told.contains("1001 disagreements"), "{told}");
        let json = of_report(&report);
        assert_eq!((&json["Clean"], &json["Findings"][0]["OrderId"]), (&json!(false), &json!(id)));
    }
}
