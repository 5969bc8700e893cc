//! `dropin audit …`: the log of acts. Not the audit of the ledger, which is `dropin ledger verify`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use dropin_access::AuditAction;
use dropin_boot::{Failure, SystemClock};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_keyring::AuditKeys;
use dropin_ports::{AuditEntry, AuditLog, AuditQuery, AuditScope, AuditSealStore, AuditSealer};
use dropin_store::Store;
use dropin_usecases::audit_log::{
    AuditExport, AuditReport, AuditVerification, KnownHead, actor_words, chain_name, entry_body, hex,
};
use serde_json::{Value, json};

use super::notification::moment;
use super::{Cli, Output, acting, say, say_lines};

/// Exit status: the log is not what was written.
const DIFFERS: u8 = 1;
/// Entries that are read at once.
const PAGE: u32 = 500;
/// What stands before an Ed25519 public key in SubjectPublicKeyInfo (RFC 8410).
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show who changed what, newest first
    List(ListAudit),
    /// Prove that no entry was altered, deleted or inserted; exit status 1 where it breaks or entries wait too long for their seal
    Verify(VerifyAudit),
    /// Print the last seal of each chain: kept elsewhere, it proves later that no end was cut off
    Head(Output),
    /// Write a range as JSON lines, with its hash and a signature in files beside it
    Export(ExportAudit),
    /// Print the public key that exports are signed with, as PEM
    Key,
}

#[derive(Debug, Args)]
pub(crate) struct ListAudit {
    /// Of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<MerchantId>,
    /// That happened then or later: a time such as 2026-11-21T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// That happened before then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
    /// Of this action, such as ORDER_REFUND
    #[arg(long, value_name = "ACTION")]
    action: Option<AuditAction>,
    /// About this Order, endpoint, user name or other subject
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// By the API user, operator or OS user of this name
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    limit: u32,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyAudit {
    /// A line that `dropin audit head` printed before; may be given several times
    #[arg(long = "head", value_name = "HEAD")]
    heads: Vec<KnownHead>,
    /// A file of such lines
    #[arg(long, value_name = "FILE")]
    heads_file: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ExportAudit {
    /// From then on: a time such as 2026-01-01T00:00:00Z, or how long ago, such as 30d
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Timestamp,
    /// Before then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Timestamp,
    /// Of this merchant alone
    #[arg(long, value_name = "ID")]
    merchant: Option<MerchantId>,
    /// The file to make; FILE.sha256 and FILE.sha256.sig are made beside it
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &AuditCommand) -> Result<ExitCode, Failure> {
    match command {
        AuditCommand::List(wanted) => list(store, wanted).await?,
        AuditCommand::Verify(wanted) => return verify(cli, store, wanted).await,
        AuditCommand::Head(output) => head(store, *output).await?,
        AuditCommand::Export(wanted) => export(cli, store, wanted).await?,
        AuditCommand::Key => say(&pem(&keys(cli)?.sign_export(b"")?.public_key))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn keys(cli: &Cli) -> Result<Arc<AuditKeys>, Failure> {
    Ok(Arc::new(AuditKeys::open(&cli.keys.folder(&cli.store.data))?))
}

async fn list(store: &Store, wanted: &ListAudit) -> Result<(), Failure> {
    let mut query = AuditQuery {
        scope: wanted.merchant.map_or(AuditScope::All, AuditScope::Merchant),
        since: wanted.since,
        until: wanted.until,
        action: wanted.action.map(|action| action.as_str().to_owned()),
        actor_name: wanted.by.clone(),
        subject_id: wanted.subject.clone(),
        ..AuditQuery::default()
    };
    let mut found: Vec<AuditEntry> = Vec::new();
    loop {
        let left = wanted.limit.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        query.limit = left.min(PAGE);
        if left == 0 {
            break;
        }
        let page = store.search_audit_log(query.clone()).await?;
        found.extend(page.entries);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    if wanted.output.json {
        let lines: Vec<_> = found.iter().map(|entry| entry_body(entry, None).line()).collect();
        return say(&format!("[{}]", lines.join(",")));
    }
    let more = query.after.map(|after| format!("There are more: --until {} shows older ones.", after.at));
    say_lines(found.iter().map(line).chain(more), "There is no such entry.")
}

fn line(entry: &AuditEntry) -> String {
    let (kind, name) = actor_words(&entry.acting.actor);
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let from = entry.acting.address.map(|address| format!(" from {address}")).unwrap_or_default();
    let merchant = entry.merchant_id.map(|id| format!("  merchant {id}")).unwrap_or_default();
    let told = |what: &str, text: Option<&String>| text.map(|text| format!("\n    {what} {text}")).unwrap_or_default();
    format!(
        "{}  {}  {} {}{merchant}  by {kind}{name}{from}{}{}{}",
        entry.at,
        entry.action,
        entry.subject_kind,
        entry.subject_id,
        told("before", entry.before.as_ref()),
        told("after ", entry.after.as_ref()),
        told("why   ", entry.acting.note.as_ref()),
    )
}

async fn head(store: &Store, output: Output) -> Result<(), Failure> {
    let heads = store.list_audit_heads().await?;
    if output.json {
        let shown = heads.iter().map(|head| {
            json!({
                "Chain": chain_name(head.chain), "Sequence": head.sequence, "Mac": hex(&head.mac),
                "SealedAt": head.sealed_at.to_string(), "Head": KnownHead::from(head).to_string(),
            })
        });
        return say(&Value::from_iter(shown).to_string());
    }
    say_lines(heads.iter().map(|head| KnownHead::from(head).to_string()), "Nothing is sealed yet: does a settler run?")
}

async fn verify(cli: &Cli, store: &Store, wanted: &VerifyAudit) -> Result<ExitCode, Failure> {
    let mut known = wanted.heads.clone();
    if let Some(path) = &wanted.heads_file {
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            known.push(line.parse().map_err(|invalid| format!("{}: a line {invalid}", path.display()))?);
        }
    }
    let store = Arc::new(store.clone());
    let verification = AuditVerification { store, sealer: keys(cli)?, clock: Arc::new(SystemClock) };
    let report = verification.verify(&known).await?;
    say(&if wanted.output.json { of(&report).to_string() } else { in_words(&report, known.len()) })?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) })
}

fn of(report: &AuditReport) -> Value {
    let chains = report.chains.iter().map(|chain| {
        json!({ "Chain": chain_name(chain.head.chain), "Seals": chain.seals, "Head": KnownHead::from(&chain.head).to_string() })
    });
    json!({
        "Whole": report.findings.is_empty(),
        "Chains": Value::from_iter(chains),
        "Findings": Value::from_iter(report.findings.iter().map(ToString::to_string)),
        "Waiting": report.waiting,
        "Overdue": report.overdue,
    })
}

fn in_words(report: &AuditReport, known: usize) -> String {
    let seals: u64 = report.chains.iter().map(|chain| chain.seals).sum();
    let mut lines: Vec<String> = report.findings.iter().map(|finding| format!("BROKEN  {finding}")).collect();
    if 0 < report.overdue {
        lines
            .push(format!("{} entries have waited for their seal for over a minute: start a settler.", report.overdue));
    }
    let waiting = match report.waiting {
        0 => String::new(),
        count => format!(" {count} wait for their seal."),
    };
    let chains = report.chains.len();
    lines.push(match report.findings.len() {
        0 => format!("The audit log is whole: {seals} seals in {chains} chains.{waiting}"),
        count => format!("The audit log is NOT whole: {count} findings in {seals} seals of {chains} chains.{waiting}"),
    });
    if known == 0 {
        lines.push(
            "Whether an end was cut off, or cut off and sealed anew, shows only against heads that were kept elsewhere (--head)."
                .to_owned(),
        );
    }
    lines.join("\n")
}

async fn export(cli: &Cli, store: &Store, wanted: &ExportAudit) -> Result<(), Failure> {
    let store = Arc::new(store.clone());
    let keys = keys(cli)?;
    // Before anything is written: without a key nothing can be signed.
    keys.check()?;
    let export = AuditExport { log: store.clone(), seals: store, sealer: keys, writer: acting::writer(cli)? };
    let name = wanted.output.file_name().and_then(|name| name.to_str()).ok_or("--output must name a file")?;
    let mut file = BufWriter::new(create(&wanted.output)?);
    let scope = wanted.merchant.map_or(AuditScope::All, AuditScope::Merchant);
    let summary = export.run(scope, wanted.from, wanted.to, |line| file.write_all(line)).await?;
    file.into_inner().map_err(|error| format!("cannot write the export: {error}"))?.sync_all()?;
    let manifest = format!("{}  {name}\n", summary.sha256);
    let signed = export.sign(&manifest)?;
    let beside = |ending: &str| wanted.output.with_file_name(format!("{name}.{ending}"));
    let (hash, signature) = (beside("sha256"), beside("sha256.sig"));
    create(&hash)?.write_all(manifest.as_bytes())?;
    create(&signature)?.write_all(&signed.signature)?;
    say(&format!(
        "{} entries are in {}. Its hash is in {}, signed in {} with key {}; `dropin audit key` prints the public key.",
        summary.entries,
        wanted.output.display(),
        hash.display(),
        signature.display(),
        signed.key_id
    ))
}

/// Makes a file for its owner alone, and replaces none.
fn create(path: &Path) -> Result<File, Failure> {
    let made = File::options().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| format!("cannot make {}: {error}", path.display()).into())
}

fn pem(public_key: &[u8; 32]) -> String {
    let mut spki = ED25519_SPKI.to_vec();
    spki.extend_from_slice(public_key);
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", STANDARD.encode(spki))
}
