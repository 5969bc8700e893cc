//! The first page: how payments go by day, method and reason, and what waits or is stuck.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use actix_web::web;
use askama::Template;
use askama::filters::Safe;
use dropin_access::operator::PanelAction;
use dropin_kernel::{MerchantId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{OrderSearch, PaymentTotals, SearchBounds, SearchFilter};

use super::{Choice, merchant_choices, visible_merchants};
use crate::fields::query;
use crate::guard::{Answer, may};
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::texts;
use crate::totals::{DAY, DayTotals, day_of};

/// Spans that are offered, in days.
const SPANS: &[u32] = &[7, 14, LONGEST_SPAN_DAYS];
/// The longest of them.
pub(crate) const LONGEST_SPAN_DAYS: u32 = 30;
/// Most merchants whose sums an overview of named ones adds up.
const MAX_SUMMED_MERCHANTS: usize = 20;
/// Most Orders under review, open operations, parked notifications and failing endpoints that are told by number.
const COUNT_LIMIT: u32 = 500;

/// Something that somebody should look after.
struct Task {
    path: String,
    count: String,
    text: &'static str,
    kind: &'static str,
}

/// Sums of one currency.
#[derive(Default, Clone)]
struct Sum {
    tried: u64,
    approved: u64,
    volume_minor: i64,
    captured_minor: i64,
    refunded_minor: i64,
}

impl Sum {
    fn add(&mut self, totals: &PaymentTotals) {
        self.tried += totals.count;
        if totals.is_approved {
            self.approved += totals.count;
            self.volume_minor = self.volume_minor.saturating_add(totals.total_minor);
        }
        self.captured_minor = self.captured_minor.saturating_add(totals.captured_minor);
        self.refunded_minor = self.refunded_minor.saturating_add(totals.refunded_minor);
    }

    /// In tenths of a percent; `None` without a try.
    fn rate(&self) -> Option<u64> {
        (self.tried != 0).then(|| self.approved * 1000 / self.tried)
    }
}

fn percent(rate: Option<u64>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{}.{} %", rate / 10, rate % 10))
}

struct DayRow {
    day: String,
    path: String,
    volume: String,
    approved: u64,
    tried: u64,
    rate: String,
}

struct MethodRow {
    method: String,
    path: String,
    volume: String,
    approved: u64,
    tried: u64,
    rate: String,
    tenths: u64,
}

struct ReasonRow {
    reason: String,
    count: u64,
    share: String,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    merchants: Vec<Choice>,
    spans: Vec<Choice>,
    currencies: Vec<Choice>,
    currency: String,
    tasks: Vec<Task>,
    volume: String,
    captured: String,
    refunded: String,
    approved: u64,
    tried: u64,
    rate: String,
    chart: Html,
    days: Vec<DayRow>,
    methods: Vec<MethodRow>,
    reasons: Vec<ReasonRow>,
    is_empty: bool,
    is_cut: bool,
}

/// The overview.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let fields = &request.fields;
    let span =
        fields.given("days").and_then(|days| days.parse().ok()).filter(|days| SPANS.contains(days)).unwrap_or(14);
    let chosen = request.chosen_merchants()?;
    let is_cut = chosen.as_ref().is_some_and(|all| MAX_SUMMED_MERCHANTS < all.len());
    let days = read(&request, chosen.as_deref(), span).await?;
    let currency = currency(fields.given("currency"), &days);
    let mut by_method = BTreeMap::<String, Sum>::new();
    let mut reasons = BTreeMap::<String, u64>::new();
    let mut all = Sum::default();
    let mut by_day = Vec::new();
    for (day, totals) in &days {
        let mut sum = Sum::default();
        for one in totals.iter().filter(|one| one.currency == currency) {
            sum.add(one);
            all.add(one);
            by_method.entry(one.payment_method.clone()).or_default().add(one);
            if let Some(reason) = one.failure {
                *reasons.entry(show::words(reason.as_str())).or_default() += one.count;
            }
        }
        by_day.push((*day, sum));
    }
    let failed: u64 = reasons.values().sum();
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut known: Vec<Currency> = days.iter().flat_map(|(_, totals)| totals.iter().map(|one| one.currency)).collect();
    known.push(currency);
    known.sort();
    known.dedup();
    let merchant = fields.text("merchant");
    let orders = |pairs: &[(&str, &str)]| {
        let all = pairs.iter().copied().chain([("merchant", merchant), ("currency", currency.code())]);
        format!("/orders{}", query(all.filter(|(_, value)| !value.is_empty())))
    };
    let page = OverviewPage {
        shell: request.shell(texts().overview),
        merchants: merchant_choices(&merchants, merchant),
        spans: SPANS
            .iter()
            .map(|days| Choice::new(days.to_string(), texts().days_shown(days), &span.to_string()))
            .collect(),
        currencies: known.iter().map(|one| Choice::new(one.code(), one.code(), currency.code())).collect(),
        currency: currency.code().to_owned(),
        tasks: tasks(&request, chosen.as_deref()).await?,
        volume: show::minor_units(all.volume_minor, currency),
        captured: show::minor_units(all.captured_minor, currency),
        refunded: show::minor_units(all.refunded_minor, currency),
        approved: all.approved,
        tried: all.tried,
        rate: percent(all.rate()),
        chart: chart(&by_day, currency),
        days: by_day
            .iter()
            .rev()
            .map(|(day, sum)| {
                let iso = iso_day(*day);
                DayRow {
                    path: orders(&[("since", &iso), ("until", &iso)]),
                    day: iso,
                    volume: show::minor_units(sum.volume_minor, currency),
                    approved: sum.approved,
                    tried: sum.tried,
                    rate: percent(sum.rate()),
                }
            })
            .collect(),
        methods: by_method
            .into_iter()
            .map(|(method, sum)| MethodRow {
                path: orders(&[("method", &method)]),
                volume: show::minor_units(sum.volume_minor, currency),
                approved: sum.approved,
                tried: sum.tried,
                rate: percent(sum.rate()),
                tenths: sum.rate().unwrap_or_default(),
                method,
            })
            .collect(),
        reasons: reasons
            .into_iter()
            .map(|(reason, count)| ReasonRow {
                reason,
                count,
                share: percent((failed != 0).then(|| count * 1000 / failed)),
            })
            .collect(),
        is_empty: days.iter().all(|(_, totals)| totals.is_empty()),
        is_cut,
    };
    Ok(request.page(&page))
}

/// The sums of each day, oldest first.
async fn read(
    request: &PanelRequest,
    merchants: Option<&[MerchantId]>,
    span: u32,
) -> Result<Vec<(Timestamp, Vec<PaymentTotals>)>, Refusal> {
    let sums = request.http.app_data::<web::Data<DayTotals>>();
    let sums = sums.ok_or_else(|| Refusal::Internal("the sums of days are not mounted".to_owned()))?;
    let today = day_of(request.deps.clock.now());
    let mut days = Vec::new();
    for back in (0..span).rev() {
        let day = today.minus(DAY * back);
        let mut totals = Vec::new();
        match merchants {
            None => totals.extend(sums.read(None, day, today).await?.iter().cloned()),
            Some(merchants) => {
                for merchant in merchants.iter().take(MAX_SUMMED_MERCHANTS) {
                    totals.extend(sums.read(Some(*merchant), day, today).await?.iter().cloned());
                }
            }
        }
        days.push((day, totals));
    }
    Ok(days)
}

/// The currency that was chosen, else the one that most was paid in.
fn currency(chosen: Option<&str>, days: &[(Timestamp, Vec<PaymentTotals>)]) -> Currency {
    let mut counts = BTreeMap::<Currency, u64>::new();
    for one in days.iter().flat_map(|(_, totals)| totals) {
        *counts.entry(one.currency).or_default() += one.count;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(currency, _)| currency);
    chosen.and_then(|code| code.parse().ok()).or(most).unwrap_or(Currency::Eur)
}

fn iso_day(day: Timestamp) -> String {
    day.to_string().chars().take(10).collect()
}

/// What waits for somebody.
async fn tasks(request: &PanelRequest, merchants: Option<&[MerchantId]>) -> Result<Vec<Task>, Refusal> {
    let (deps, operator) = (&request.deps, &request.operator);
    let count =
        |found: usize| if COUNT_LIMIT as usize <= found { texts().or_more(COUNT_LIMIT) } else { found.to_string() };
    let kind = |found: usize, kind| if found == 0 { "" } else { kind };
    let t = texts();
    let mut tasks = Vec::new();
    if may(operator, PanelAction::ReviewOrder) {
        let search = OrderSearch {
            filter: SearchFilter { merchants: merchants.map(<[_]>::to_vec), ..SearchFilter::default() },
            state: None,
            under_review: true,
            payment_method: None,
            last_four: None,
            after: None,
            limit: COUNT_LIMIT,
            bounds: SearchBounds::default(),
        };
        let held = deps.back_office.search_orders(search).await?.found.len();
        tasks.push(Task {
            path: "/review".to_owned(),
            count: count(held),
            text: t.task_held,
            kind: kind(held, "wait"),
        });
    }
    if operator.operator.rights.scope.is_deployment() {
        let now = deps.clock.now();
        let open = deps.payments.store.list_open_operations(COUNT_LIMIT).await?;
        let stuck = open.iter().filter(|one| one.stuck(now).is_some()).count();
        tasks.push(Task { path: "/operations".to_owned(), count: count(open.len()), text: t.task_open, kind: "" });
        tasks.push(Task {
            path: "/operations".to_owned(),
            count: count(stuck),
            text: t.task_stuck,
            kind: kind(stuck, "bad"),
        });
    }
    if may(operator, PanelAction::ViewNotifications) {
        let troubles = deps.back_office.count_delivery_troubles(merchants.map(<[_]>::to_vec)).await?;
        let [parked, failing] =
            [troubles.parked, troubles.failing_endpoints].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let path = "/notifications?state=PARKED".to_owned();
        tasks.push(Task { path, count: count(parked), text: t.task_parked, kind: kind(parked, "bad") });
        tasks.push(Task {
            path: "/merchants".to_owned(),
            count: count(failing),
            text: t.task_failing,
            kind: kind(failing, "bad"),
        });
    }
    Ok(tasks)
}

/// Bars of each day: what was approved, above what was not. The table behind says the same in numbers.
fn chart(days: &[(Timestamp, Sum)], currency: Currency) -> Html {
    const WIDTH: u64 = 720;
    const HEIGHT: u64 = 160;
    let most = days.iter().map(|(_, sum)| sum.tried).max().unwrap_or_default().max(1);
    let step = WIDTH / u64::try_from(days.len().max(1)).unwrap_or(1);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">\
        <line class=\"axis\" x1=\"0\" y1=\"{HEIGHT}\" x2=\"{WIDTH}\" y2=\"{HEIGHT}\"/>",
        HEIGHT + 20,
        show::escaped(&texts().chart_label(currency)),
    );
    let every = days.len().div_ceil(8).max(1);
    for (number, (day, sum)) in days.iter().enumerate() {
        let x = u64::try_from(number).unwrap_or_default() * step;
        let (tall, good) = (sum.tried * (HEIGHT - 8) / most, sum.approved * (HEIGHT - 8) / most);
        let width = step.saturating_sub(step / 4).max(1);
        let at = x + step / 8;
        let label = show::escaped(&texts().chart_day(iso_day(*day), sum.approved, sum.tried));
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            "<g><title>{label}</title>\
            <rect class=\"bar lost\" x=\"{at}\" y=\"{}\" width=\"{width}\" height=\"{}\"/>\
            <rect class=\"bar\" x=\"{at}\" y=\"{}\" width=\"{width}\" height=\"{good}\"/></g>",
            HEIGHT - tall,
            tall - good,
            HEIGHT - good,
        );
        if number.is_multiple_of(every) {
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x + step / 2,
                HEIGHT + 15,
                &iso_day(*day)[5..]
            );
        }
    }
    Safe(svg + "</svg>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_what_was_approved_of_what_was_tried() {
        let sum = Sum { tried: 3, approved: 2, ..Sum::default() };
        assert_eq!(percent(sum.rate()), "66.6 %");
        assert_eq!(percent(Sum::default().rate()), "–");
    }
}
