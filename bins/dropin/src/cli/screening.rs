//! `dropin screening …`: files of rules, the rules that a merchant has of its own, and what other rules would have decided.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use dropin_boot::{Failure, SystemClock, read_screening_rules};
use dropin_kernel::{MerchantId, OrderId};
use dropin_ports::{AccessStore, Clock};
use dropin_risk::{Decision, DryRun, Mistakes, Rules, RulesFile, ScreeningChange, ScreeningReport};
use dropin_store::Store;
use dropin_usecases::access::ScreeningRulesError;
use dropin_usecases::screening::{MAX_DRY_RUN, MAX_REPORTED, dry_run_screening, report_screening};
use serde_json::{Value, json};

use super::{Cli, Output, merchant, say};

#[derive(Debug, Subcommand)]
pub(crate) enum ScreeningCommand {
    /// Check a file of rules: every mistake, with its line and column
    ///
    /// Needs no database. Exit status 0: there is none; 1: there are some; 2: it could not be checked.
    Check(CheckRules),
    /// Show, set or take away the rules that a merchant has of its own; running services follow within two seconds
    Rules(MerchantRules),
    /// Screen a merchant's past payments again by a file of rules, and tell which would be decided on otherwise; changes nothing
    DryRun(DryRunRules),
    /// Tell how well each reason told fraud from legitimate payments, by what people decided about those that were held for them
    Report(ReportRules),
}

#[derive(Debug, Args)]
pub(crate) struct CheckRules {
    /// The file
    file: PathBuf,
    /// Whose it is to be: the deployment's lies over the built-in rules, a merchant's over the deployment's (DROPIN_SCREENING_RULES)
    #[arg(long = "for", value_name = "OWNER", value_enum, default_value_t = RulesOwner::Deployment)]
    owner: RulesOwner,
    #[command(flatten)]
    output: Output,
}

/// Whose rules they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesOwner {
    Deployment,
    Merchant,
}

#[derive(Debug, Args)]
pub(crate) struct MerchantRules {
    /// MerchantId
    id: MerchantId,
    #[command(flatten)]
    act: RulesAct,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct RulesAct {
    /// Show them as they were set
    #[arg(long)]
    show: bool,
    /// Set those of this file, in place of all that it has
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Take them away: its payments are screened by the deployment's
    #[arg(long)]
    clear: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DryRunRules {
    /// MerchantId
    id: MerchantId,
    /// The file
    file: PathBuf,
    /// Whose it is to be: a merchant's takes the place of the merchant's own rules, a deployment's lies below them
    #[arg(long = "for", value_name = "OWNER", value_enum, default_value_t = RulesOwner::Merchant)]
    owner: RulesOwner,
    /// How many days back; payments whose facts are gone are left out
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=366))]
    since: u32,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ReportRules {
    /// MerchantId
    id: MerchantId,
    /// How many days back; payments whose facts are gone are left out
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
    since: u32,
    #[command(flatten)]
    output: Output,
}

/// Most payments that are listed one by one, unless JSON is printed.
const MAX_LISTED: usize = 20;

/// Exit status: the file has mistakes.
const MISTAKES: u8 = 1;
/// Exit status: the file could not be checked.
pub(super) const NOT_CHECKED: u8 = 2;

/// Checks a file.
pub(super) fn check(cli: &Cli, wanted: &CheckRules) -> Result<ExitCode, Failure> {
    let text = read_screening_rules(&wanted.file)?;
    let below = match wanted.owner {
        RulesOwner::Deployment => Rules::built_in(),
        RulesOwner::Merchant => cli.serve.screening.read()?,
    };
    let checked = RulesFile::parse(&text).and_then(|file| below.with(&file));
    let shown = match (&checked, wanted.output.json) {
        (Ok(rules), true) => json!({ "Fingerprint": rules.fingerprint().to_string(), "Mistakes": [] }).to_string(),
        (Ok(rules), false) => format!("No mistake. Rules {}.", rules.fingerprint()),
        (Err(mistakes), true) => json!({ "Fingerprint": null, "Mistakes": of_mistakes(mistakes) }).to_string(),
        (Err(mistakes), false) => mistakes.to_string(),
    };
    say(&shown)?;
    Ok(if checked.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(MISTAKES) })
}

fn of_mistakes(mistakes: &Mistakes) -> Value {
    let all = mistakes.iter();
    Value::from_iter(all.map(|one| json!({ "Line": one.at.line, "Column": one.at.column, "Message": one.message })))
}

/// Shows or changes a merchant's rules.
pub(super) async fn rules(cli: &Cli, store: &Store, wanted: &MerchantRules) -> Result<(), Failure> {
    let of_deployment = cli.serve.screening.read()?;
    let text = match &wanted.act {
        RulesAct { set: Some(file), .. } => Some(read_screening_rules(file)?),
        RulesAct { clear: true, .. } => None,
        RulesAct { .. } => return show(store, wanted, &of_deployment).await,
    };
    let merchants = merchant::open(cli, store, false).await?;
    let explain = |error| explain(error, wanted.act.set.as_deref());
    let before = merchants.screening_rules(wanted.id).await.map_err(explain)?;
    let has_text = text.is_some();
    let set = merchants.set_screening_rules(wanted.id, before.revision, text, &of_deployment).await.map_err(explain)?;
    let (revision, fingerprint) = (set.revision, set.fingerprint.to_string());
    say(&if wanted.output.json {
        json!({ "MerchantId": wanted.id.to_string(), "Revision": revision, "Fingerprint": fingerprint }).to_string()
    } else if has_text {
        format!("Its payments are screened by rules {fingerprint} within two seconds, where its screening is on.")
    } else {
        format!("It has no rules of its own: the deployment's, {fingerprint}, hold within two seconds.")
    })
}

async fn show(store: &Store, wanted: &MerchantRules, of_deployment: &Rules) -> Result<(), Failure> {
    let no_merchant = || explain(ScreeningRulesError::NoMerchant, None);
    let merchant = store.find_merchant(wanted.id).await?.ok_or_else(no_merchant)?;
    let own = store.find_screening_rules(wanted.id).await?.ok_or_else(no_merchant)?;
    let text = own.text.as_deref();
    let laid_over = text.map(|text| RulesFile::parse(text).and_then(|file| of_deployment.with(&file))).transpose();
    let in_force = laid_over.as_ref().ok().and_then(Option::as_ref).unwrap_or(of_deployment).fingerprint();
    if wanted.output.json {
        return say(&json!({
            "MerchantId": wanted.id.to_string(),
            "Screening": merchant.screening.on,
            "Revision": own.revision,
            "Fingerprint": in_force.to_string(),
            "Rules": text,
            "Mistakes": laid_over.as_ref().err().map_or(Value::Array(Vec::new()), of_mistakes),
        })
        .to_string());
    }
    if let Err(mistakes) = &laid_over {
        log::warn!("these rules cannot be used, and the deployment's hold: {mistakes}");
    }
    say(text.map_or("It has no rules of its own.", str::trim_end))
}

/// Tells what a file of rules would have decided.
pub(super) async fn dry_run(cli: &Cli, store: &Store, wanted: &DryRunRules) -> Result<(), Failure> {
    let no_merchant = || explain(ScreeningRulesError::NoMerchant, None);
    let own = store.find_screening_rules(wanted.id).await?.ok_or_else(no_merchant)?.text;
    let text = read_screening_rules(&wanted.file)?;
    let lay_over = |below: &Rules, text: &str| RulesFile::parse(text).and_then(|file| below.with(&file));
    let in_file = |mistakes| explain(ScreeningRulesError::Mistakes(mistakes), Some(&wanted.file));
    let rules = match (wanted.owner, own) {
        (RulesOwner::Merchant, _) => lay_over(&cli.serve.screening.read()?, &text).map_err(in_file)?,
        (RulesOwner::Deployment, None) => lay_over(&Rules::built_in(), &text).map_err(in_file)?,
        (RulesOwner::Deployment, Some(own)) => {
            let below = lay_over(&Rules::built_in(), &text).map_err(in_file)?;
            // As the service does with rules that do not fit.
            lay_over(&below, &own).unwrap_or_else(|mistakes| {
                log::warn!("the merchant's own rules do not fit over these, which would hold alone: {mistakes}");
                below
            })
        }
    };
    let run = dry_run_screening(store, wanted.id, wanted.since, SystemClock.now(), &rules).await?;
    say(&if wanted.output.json { of_run(&run).to_string() } else { run_in_words(&run, wanted.since) })
}

fn counts(run: &DryRun<OrderId>) -> impl Iterator<Item = (Decision, Decision, usize)> {
    let pairs = Decision::ALL.into_iter().flat_map(|before| Decision::ALL.map(|after| (before, after)));
    pairs.map(|(before, after)| (before, after, run.count(before, after))).filter(|(.., payments)| *payments != 0)
}

fn reasons(change: &ScreeningChange<OrderId>) -> Vec<String> {
    change.after.reasons().iter().map(ToString::to_string).collect()
}

fn of_run(run: &DryRun<OrderId>) -> Value {
    json!({
        "Screened": run.screened,
        "Changed": run.changes.len(),
        "Counts": Value::from_iter(counts(run).map(|(before, after, payments)| {
            json!({ "Before": before.as_str(), "After": after.as_str(), "Payments": payments })
        })),
        "Changes": Value::from_iter(run.changes.iter().map(|change| json!({
            "OrderId": change.id.to_string(),
            "Before": change.before.as_str(),
            "After": change.after.decision().as_str(),
            "Score": change.after.score().value(),
            "Reasons": reasons(change),
        }))),
    })
}

fn run_in_words(run: &DryRun<OrderId>, days: u32) -> String {
    let changed = run.changes.len();
    let mut lines = vec![match run.screened {
        0 => format!("No payment of the last {days} days was screened, or its facts are gone."),
        screened => format!("{changed} of {screened} payments of the last {days} days would be decided on otherwise."),
    }];
    if u64::from(MAX_DRY_RUN) <= run.screened {
        lines.push("There are more: these are the newest.".to_owned());
    }
    lines.extend(counts(run).map(|(before, after, payments)| format!("{payments:>7}  {before} -> {after}")));
    lines.extend(run.changes.iter().take(MAX_LISTED).map(|change| {
        let (after, score) = (change.after.decision(), change.after.score());
        format!("{}  {} -> {after}  score {score}: {}", change.id, change.before, reasons(change).join(", "))
    }));
    if MAX_LISTED < changed {
        lines.push(format!("… and {} more; --json lists all of them", changed - MAX_LISTED));
    }
    lines.join("\n")
}

/// Tells precision and recall of each reason.
pub(super) async fn report(store: &Store, wanted: &ReportRules) -> Result<(), Failure> {
    let no_merchant = || explain(ScreeningRulesError::NoMerchant, None);
    store.find_merchant(wanted.id).await?.ok_or_else(no_merchant)?;
    let report = report_screening(store, wanted.id, wanted.since, SystemClock.now()).await?;
    say(&if wanted.output.json { of_report(&report).to_string() } else { report_in_words(&report, wanted.since) })
}

fn of_report(report: &ScreeningReport) -> Value {
    json!({
        "Fraud": report.fraud,
        "Legitimate": report.legitimate,
        "Reasons": Value::from_iter(report.reasons.iter().map(|reason| json!({
            "Code": reason.code.to_string(),
            "Fraud": reason.fraud,
            "Legitimate": reason.legitimate,
            "PrecisionPercent": reason.precision(),
            "RecallPercent": report.recall(reason),
        }))),
    })
}

fn report_in_words(report: &ScreeningReport, days: u32) -> String {
    let decided = report.fraud + report.legitimate;
    if decided == 0 {
        return format!("Nobody has decided about a screened payment of the last {days} days, or the facts are gone.");
    }
    let mut lines = vec![format!(
        "Of {decided} payments of the last {days} days about which people decided, {} were declined.",
        report.fraud
    )];
    if u64::from(MAX_REPORTED) <= decided {
        lines.push("There are more: these are the newest.".to_owned());
    }
    lines.push("declined approved precision recall  reason".to_owned());
    lines.extend(report.reasons.iter().map(|reason| {
        let (fraud, legitimate) = (reason.fraud, reason.legitimate);
        let (precision, recall) = (reason.precision(), report.recall(reason));
        format!("{fraud:>8} {legitimate:>8} {precision:>7} % {recall:>4} %  {}", reason.code)
    }));
    lines.join("\n")
}

fn explain(error: ScreeningRulesError, file: Option<&Path>) -> Failure {
    match error {
        ScreeningRulesError::NoMerchant => format!("{error}; `dropin merchant list` shows them all").into(),
        ScreeningRulesError::Mistakes(mistakes) => {
            let file = file.map(|file| file.display().to_string()).unwrap_or_default();
            format!("{file} cannot be used:\n{mistakes}").into()
        }
        ScreeningRulesError::Changed | ScreeningRulesError::Store(_) => error.into(),
    }
}
