//! `dropin rates …`

use clap::Subcommand;
use dropin_boot::{Failure, SystemClock};
use dropin_kernel::Timestamp;
use dropin_money::Currency;
use dropin_ports::{Clock, RateStore, RatesInForce};
use dropin_rates::{Dated, Quote, RefusedQuote};
use dropin_store::Store;
use serde_json::{Value, json};

use super::{Output, say};

#[derive(Debug, Subcommand)]
pub(crate) enum RatesCommand {
    /// Show the rates in force, how old they are, and which were not believed
    Show(Output),
}

/// The rates in force.
pub(super) async fn show(store: &Store, output: Output) -> Result<(), Failure> {
    let now = SystemClock.now();
    match (store.find_rates().await?, output.json) {
        (None, true) => say("null"),
        (None, false) => say(
            "The feed was never looked at. The settler does so: let it run, in production with --rates-feed PATH or URL.",
        ),
        (Some(board), true) => say(&as_json(&board, now).to_string()),
        (Some(board), false) => say(&as_text(&board, now)),
    }
}

fn day(quote: &Quote) -> Option<String> {
    match quote.dated {
        Dated::On(day) => Some(day.to_string()),
        Dated::Always => None,
    }
}

fn as_json(board: &RatesInForce, now: Timestamp) -> Value {
    let state = &board.state;
    let quote = |(currency, quote): (Currency, Quote)| {
        json!({
            "Currency": currency.code(),
            "Rate": quote.rate.to_string(),
            "Day": day(&quote),
            "Source": quote.source.as_str(),
            "LeftBehind": state.left_behind.contains(&currency),
        })
    };
    let refused = |quote: &RefusedQuote| {
        json!({
            "Currency": quote.currency.code(),
            "Reason": quote.why.as_str(),
            "Offered": quote.offered.rate.to_string(),
            "Kept": quote.former.map(|former| former.rate.to_string()),
        })
    };
    json!({
        "Day": board.table.date().map(|day| day.to_string()),
        "Stale": board.is_stale(now),
        "StaleAt": state.stale_at.map(|at| at.to_string()),
        "CheckedAt": state.checked_at.to_string(),
        "NextCheckAt": state.next_at.to_string(),
        "Problem": state.problem,
        "PerEuro": Value::from_iter(board.table.quotes().map(quote)),
        "Refused": Value::from_iter(state.refused.iter().map(refused)),
    })
}

fn as_text(board: &RatesInForce, now: Timestamp) -> String {
    let state = &board.state;
    let mut lines = Vec::new();
    let of = board.table.date().map_or_else(|| "without a day".to_owned(), |day| format!("of {day}"));
    lines.push(match (board.is_stale(now), state.stale_at) {
        (true, _) => format!("Rates {of}: TOO OLD, guaranteed rates are refused."),
        (false, Some(at)) => format!("Rates {of}; too old from {at} on."),
        (false, None) => format!("Rates {of}; they never grow old."),
    });
    lines.push(format!("Looked at {}, again at {}.", state.checked_at, state.next_at));
    lines.extend(state.problem.iter().map(|problem| format!("Cannot be read: {problem}.")));
    for quote in &state.refused {
        let kept = quote.former.map_or_else(|| "nothing".to_owned(), |former| former.rate.to_string());
        let (code, offered, why) = (quote.currency.code(), quote.offered.rate, quote.why.as_str());
        lines.push(format!(
            "NOT BELIEVED ({why}): {offered} {code}; {kept} stays. If it is right: --rates-confirm {code}."
        ));
    }
    for (currency, quote) in board.table.quotes() {
        let day = day(&quote).unwrap_or_else(|| "always".to_owned());
        let mark = if state.left_behind.contains(&currency) { "  LEFT BEHIND, not used" } else { "" };
        lines.push(format!("1 EUR = {} {currency}  {day}  {}{mark}", quote.rate, quote.source.as_str()));
    }
    lines.join("\n")
}
