//! The exchange rates in force.

use askama::Template;

use crate::guard::Answer;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};

struct QuoteRow {
    currency: String,
    rate: String,
    dated: String,
    source: String,
    behind: bool,
}

struct SourceState {
    number: u64,
    checked: Html,
    next: Html,
    stale: Html,
    is_stale: bool,
    problem: Option<String>,
    refused: Vec<String>,
}

#[derive(Template)]
#[template(path = "rates.html")]
struct RatesPage {
    shell: Shell,
    source: Option<SourceState>,
    rows: Vec<QuoteRow>,
}

/// What one euro costs.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let found = request.deps.rates.find_rates().await?;
    let now = request.deps.clock.now();
    let rows = found.iter().flat_map(|rates| {
        rates.table.quotes().map(|(currency, quote)| QuoteRow {
            currency: currency.code().to_owned(),
            rate: quote.rate.to_string(),
            dated: quote.dated.to_string(),
            source: show::words(quote.source.as_str()),
            behind: rates.state.left_behind.contains(&currency),
        })
    });
    let page = RatesPage {
        shell: request.shell("Rates"),
        rows: rows.collect(),
        source: found.as_ref().map(|rates| SourceState {
            number: rates.number,
            checked: show::instant(rates.state.checked_at),
            next: show::instant(rates.state.next_at),
            stale: show::instant_or_dash(rates.state.stale_at),
            is_stale: rates.is_stale(now),
            problem: rates.state.problem.clone(),
            refused: rates.state.refused.iter().map(|one| format!("{one:?}")).collect(),
        }),
    };
    Ok(request.page(&page))
}
