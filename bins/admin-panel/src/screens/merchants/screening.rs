//! How a merchant's payments are screened: on or off, and its own rules, which are tried on past payments before they are saved.

use askama::Template;
use dropin_kernel::{MerchantId, OrderId};
use dropin_ports::MerchantScreeningRules;
use dropin_risk::{Decision, Mistakes, Rules, RulesFile, ScreeningReport};
use dropin_usecases::access::{MerchantAccount, MerchantScreening, ScreeningRulesError};
use dropin_usecases::screening::{MAX_DRY_RUN, MAX_REPORTED, dry_run_screening, report_screening};

use super::{load, merchants};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::screens::Choice;
use crate::show::{self, Html};
use crate::texts::texts;

/// The fields of the form. One button saves it, another tries its rules.
pub(crate) const FIELDS: &[&str] = &["csrf", "seen", "was_on", "screening", "rules", "days", "note"];
/// Largest form, in bytes: the longest rules, with every byte written as three.
pub(crate) const MAX_FORM_BYTES: usize = 4 * RulesFile::MAX_BYTES;

/// How far back rules may be tried, in days.
const DAYS: &[u32] = &[1, 7, 30, 90];
/// How far back it is told how well each reason did, in days.
const REPORTED_DAYS: u32 = 90;
/// Most payments that are listed one by one.
const MAX_LISTED: usize = 20;

/// A payment that would be decided on otherwise.
struct ChangeRow {
    order: OrderId,
    before: Html,
    after: Html,
    score: u8,
    reasons: String,
}

struct CountRow {
    before: Html,
    after: Html,
    payments: usize,
}

/// What other rules would have changed.
struct Tried {
    screened: u64,
    changed: usize,
    days: String,
    is_cut: bool,
    counts: Vec<CountRow>,
    rows: Vec<ChangeRow>,
}

/// How well each reason told fraud from legitimate payments.
struct Measured {
    told: String,
    is_cut: bool,
    rows: Vec<MeasuredRow>,
}

struct MeasuredRow {
    reason: String,
    fraud: u64,
    legitimate: u64,
    precision: u64,
    recall: u64,
}

#[derive(Template)]
#[template(path = "merchant_screening.html")]
struct ScreeningPage {
    shell: Shell,
    id: MerchantId,
    merchant: String,
    seen: u64,
    on: bool,
    /// Whether it is on by now, whatever the form says.
    was_on: &'static str,
    rules: String,
    days: Vec<Choice>,
    /// Of the rules that hold now.
    fingerprint: String,
    /// What is wrong with the text that is kept: the deployment's rules hold.
    unusable: Vec<String>,
    /// The text that is kept, where it is not the one in the form.
    kept: Option<String>,
    tried: Option<Tried>,
    measured: Measured,
    wrong: Vec<String>,
}

/// What the page is about, as it is now.
struct Current {
    account: MerchantAccount,
    own: MerchantScreeningRules,
    of_deployment: std::sync::Arc<Rules>,
    report: ScreeningReport,
}

async fn current(request: &PanelRequest) -> Result<Current, Refusal> {
    let account = load(request).await?;
    let own = request.deps.access.find_screening_rules(account.merchant.id).await?;
    let own = own.ok_or(Refusal::NotFound("merchant"))?;
    let deps = &request.deps;
    let report = report_screening(&*deps.screenings, account.merchant.id, REPORTED_DAYS, deps.clock.now()).await?;
    Ok(Current { account, own, of_deployment: deps.screening_rules.of_deployment(), report })
}

impl Current {
    fn laid_over(&self, text: &str) -> Result<Rules, Mistakes> {
        RulesFile::parse(text).and_then(|file| self.of_deployment.with(&file))
    }
}

/// The rules as they were typed, whole: a mistake's line is counted in them. `None` where nothing but spaces stands.
fn typed(request: &PanelRequest) -> Option<String> {
    let mut pairs = request.fields.pairs().iter();
    let text = pairs.rfind(|(name, _)| name == "rules").map(|(_, text)| text.clone());
    text.filter(|text| !text.trim().is_empty())
}

/// The page; of a form it shows what was typed.
fn page_of(request: &PanelRequest, current: &Current, tried: Option<Tried>, wrong: Vec<String>) -> ScreeningPage {
    let Current { account, own, of_deployment, report } = current;
    let merchant = &account.merchant;
    let is_posted = request.fields.pairs().iter().any(|(name, _)| name == "rules");
    let text = if is_posted { typed(request) } else { own.text.clone() };
    let in_force = own.text.as_deref().map(|text| current.laid_over(text)).transpose();
    let (fingerprint, unusable) = match &in_force {
        Ok(rules) => (rules.as_ref().unwrap_or(of_deployment).fingerprint(), Vec::new()),
        Err(mistakes) => (of_deployment.fingerprint(), in_words(mistakes)),
    };
    let days = if is_posted { request.fields.text("days") } else { "7" };
    ScreeningPage {
        shell: request.shell(texts().screening_of(&merchant.name)),
        id: merchant.id,
        merchant: merchant.name.clone(),
        seen: own.revision,
        on: if is_posted { request.fields.is_ticked("screening") } else { merchant.screening.on },
        was_on: switch(merchant.screening.on),
        kept: own.text.clone().filter(|kept| text.as_ref() != Some(kept)),
        rules: text.unwrap_or_default(),
        days: DAYS.iter().map(|one| Choice::new(one.to_string(), texts().days_shown(one), days)).collect(),
        fingerprint: fingerprint.to_string(),
        unusable,
        tried,
        measured: measured(report),
        wrong,
    }
}

fn measured(report: &ScreeningReport) -> Measured {
    let (decided, days) = (report.fraud + report.legitimate, texts().days_shown(REPORTED_DAYS));
    let told = match decided {
        0 => texts().reasons_measured_none(days),
        decided => texts().reasons_measured_of(decided, days, report.fraud),
    };
    let rows = report.reasons.iter().map(|reason| MeasuredRow {
        reason: show::reason(&reason.code),
        fraud: reason.fraud,
        legitimate: reason.legitimate,
        precision: reason.precision(),
        recall: report.recall(reason),
    });
    Measured { told, is_cut: u64::from(MAX_REPORTED) <= decided, rows: rows.collect() }
}

const fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn in_words(mistakes: &Mistakes) -> Vec<String> {
    mistakes.iter().map(|one| texts().mistake_at(one.at.line, one.at.column, texts().domain(&one.message))).collect()
}

/// The page.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    Ok(request.page(&page_of(&request, &current, None, Vec::new())))
}

/// Switches screening on or off and sets the rules, or neither.
pub(crate) async fn set(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    let rejected = |current: &Current, wrong| Ok(request.rejected(&page_of(&request, current, None, wrong)));
    let switched =
        request.fields.given("was_on").is_some_and(|was| was != switch(current.account.merchant.screening.on));
    if switched || request.fields.text("seen") != current.own.revision.to_string() {
        return rejected(&current, vec![texts().rules_changed.to_owned()]);
    }
    let merchant = &current.account.merchant;
    let on = Some(request.fields.is_ticked("screening")).filter(|on| *on != merchant.screening.on);
    let wanted = MerchantScreening { text: typed(&request), on };
    let merchants = merchants(&request);
    match merchants.set_screening(merchant.id, current.own.revision, wanted, &current.of_deployment).await {
        Ok(_) => Ok(see(format!("/merchants/{}/screening?done=saved", merchant.id))),
        Err(ScreeningRulesError::Mistakes(mistakes)) => rejected(&current, in_words(&mistakes)),
        Err(ScreeningRulesError::Changed) => {
            rejected(&self::current(&request).await?, vec![texts().rules_changed.to_owned()])
        }
        Err(ScreeningRulesError::NoMerchant) => Err(Refusal::NotFound("merchant")),
        Err(ScreeningRulesError::Store(error)) => Err(error.into()),
    }
}

/// Screens past payments again by the rules of the form. Changes nothing.
pub(crate) async fn test(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    let rules = match typed(&request) {
        Some(text) => current.laid_over(&text),
        None => Ok((*current.of_deployment).clone()),
    };
    let rules = match rules {
        Ok(rules) => rules,
        Err(mistakes) => return Ok(request.rejected(&page_of(&request, &current, None, in_words(&mistakes)))),
    };
    let Some(days) = DAYS.iter().copied().find(|one| one.to_string() == request.fields.text("days")) else {
        let wrong = vec![texts().choose_days.to_owned()];
        return Ok(request.rejected(&page_of(&request, &current, None, wrong)));
    };
    let deps = &request.deps;
    let merchant = current.account.merchant.id;
    let run = dry_run_screening(&*deps.screenings, merchant, days, deps.clock.now(), &rules).await?;
    let counts = Decision::ALL.into_iter().flat_map(|before| Decision::ALL.map(|after| (before, after)));
    let counts = counts.map(|(before, after)| (before, after, run.count(before, after)));
    let tried = Tried {
        screened: run.screened,
        changed: run.changes.len(),
        days: texts().days_shown(days),
        is_cut: u64::from(MAX_DRY_RUN) <= run.screened,
        counts: counts
            .filter(|(.., payments)| *payments != 0)
            .map(|(before, after, payments)| CountRow { before: badge(before), after: badge(after), payments })
            .collect(),
        rows: run
            .changes
            .iter()
            .take(MAX_LISTED)
            .map(|change| ChangeRow {
                order: change.id,
                before: badge(change.before),
                after: badge(change.after.decision()),
                score: change.after.score().value(),
                reasons: change.after.reasons().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            })
            .collect(),
    };
    Ok(request.page(&page_of(&request, &current, Some(tried), Vec::new())))
}

fn badge(decision: Decision) -> Html {
    let kind = match decision {
        Decision::Allow => "good",
        Decision::Challenge | Decision::Review => "wait",
        Decision::Block => "bad",
    };
    show::badge(kind, &show::words(decision.as_str()))
}
