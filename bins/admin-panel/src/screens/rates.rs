//! The exchange rates in force.

use askama::Template;
use dropin_rates::{QuoteRefusal, RefusedQuote};

use crate::guard::Answer;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::texts;

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

/// A quote that was not believed, and what stands in its place.
fn refused_in_words(refused: &RefusedQuote) -> String {
    let t = texts();
    let why = match refused.why {
        QuoteRefusal::Jump => t.quote_jump,
        QuoteRefusal::Older => t.quote_older,
        QuoteRefusal::Future => t.quote_future,
    };
    let former = refused.former.as_ref().map(|quote| t.quote_stays(quote.rate, quote.dated));
    let RefusedQuote { currency, offered, .. } = refused;
    t.quote_refused(currency.code(), offered.rate, offered.dated, why) + &former.unwrap_or_default()
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
        shell: request.shell(texts().rates),
        rows: rows.collect(),
        source: found.as_ref().map(|rates| SourceState {
            number: rates.number,
            checked: show::instant(rates.state.checked_at),
            next: show::instant(rates.state.next_at),
            stale: show::instant_or_dash(rates.state.stale_at),
            is_stale: rates.is_stale(now),
            problem: rates.state.problem.as_deref().map(|why| texts().domain(why)),
            refused: rates.state.refused.iter().map(refused_in_words).collect(),
        }),
    };
    Ok(request.page(&page))
}
