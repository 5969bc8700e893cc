//! How values are shown: instants, amounts, states. What these make is markup of ours around escaped text.

use std::fmt::Write as _;

use askama::filters::{Escaper as _, Safe};
use dropin_contract::ContractStateKind;
use dropin_kernel::Timestamp;
use dropin_money::{Amount, Currency};
use dropin_order::{OpState, Order, OrderState, RefundState};
use dropin_ports::{Actor, DeliveryState};
use dropin_risk::{Decision, ReasonCode, VelocityWindow};
use dropin_session::SessionStateKind;

use crate::escape::Visible;

/// Markup.
pub(crate) type Html = Safe<String>;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Writing to a String cannot fail.
    let _ = Visible.write_escaped_str(&mut out, text);
    out
}

/// An instant to the second, as people read it; in UTC.
pub(crate) fn instant_text(at: Timestamp) -> String {
    let at = at.to_offset_date_time();
    let month = MONTHS[usize::from(u8::from(at.month())) - 1];
    format!("{} {month} {}, {:02}:{:02}:{:02}", at.day(), at.year(), at.hour(), at.minute(), at.second())
}

/// An instant, with the exact one behind it. Each page says once that instants are in UTC.
pub(crate) fn instant(at: Timestamp) -> Html {
    Safe(format!("<time datetime=\"{at}\" title=\"{at}\">{}</time>", instant_text(at)))
}

/// The same, or a dash.
pub(crate) fn instant_or_dash(at: Option<Timestamp>) -> Html {
    at.map_or_else(|| Safe("–".to_owned()), instant)
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at != 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text += fraction;
    }
    text
}

/// An amount in its currency's own decimals, with its code.
pub(crate) fn money(amount: &Amount) -> String {
    format!("{} {}", grouped(&amount.to_string()), amount.currency())
}

/// A sum in minor units, with its currency's code. A sum may be more than an amount can be.
pub(crate) fn minor_units(minor: i64, currency: Currency) -> String {
    let exponent = usize::from(currency.exponent());
    let digits = format!("{:0>width$}", minor.unsigned_abs(), width = exponent + 1);
    let (whole, fraction) = digits.split_at(digits.len() - exponent);
    let sign = if minor < 0 { "-" } else { "" };
    let point = if exponent == 0 { "" } else { "." };
    format!("{} {currency}", grouped(&format!("{sign}{whole}{point}{fraction}")))
}

/// A word with the colour of what it means.
pub(crate) fn badge(kind: &str, word: &str) -> Html {
    Safe(format!("<span class=\"badge {kind}\">{}</span>", escaped(word)))
}

/// How an Order's state reads, and how it is coloured.
pub(crate) const fn order_state(state: OrderState) -> (&'static str, &'static str) {
    match state {
        OrderState::Processing => ("wait", "Processing"),
        OrderState::PaymentAuthorized => ("wait", "Authorized"),
        OrderState::Processed => ("good", "Processed"),
        OrderState::ProcessingFailed => ("bad", "Failed"),
        OrderState::Cancelled => ("", "Cancelled"),
        OrderState::Declined => ("bad", "Declined"),
        OrderState::CommitAccepted => ("wait", "Under provider's review"),
    }
}

/// An Order's state, with what holds or changes it.
pub(crate) fn order_badges(order: &Order) -> Html {
    let (kind, word) = order_state(order.state);
    let mut html = badge(kind, word).0;
    let mut add = |kind: &str, word: &str| {
        let _ = write!(html, " {}", badge(kind, word).0);
    };
    if order.under_review {
        add("wait", "Under review");
    }
    if order.voiding.is_some() {
        add("wait", "Being voided");
    }
    let (refunded, captured) = (order.amounts.refunded(), order.amounts.captured());
    if !order.amounts.refund_pending().is_zero() {
        add("wait", "Refund pending");
    }
    if !refunded.is_zero() {
        add("", if refunded == captured { "Refunded" } else { "Partly refunded" });
    }
    Safe(html)
}

/// A Session's state.
pub(crate) fn session_badge(state: SessionStateKind) -> Html {
    let (kind, word) = match state {
        SessionStateKind::Created => ("", "Created"),
        SessionStateKind::Processing => ("wait", "Processing"),
        SessionStateKind::Redirected => ("wait", "Redirected"),
        SessionStateKind::Completed => ("good", "Completed"),
        SessionStateKind::Cancelled => ("", "Cancelled"),
        SessionStateKind::Failed => ("bad", "Failed"),
    };
    badge(kind, word)
}

/// The state of a notification at an endpoint.
pub(crate) fn delivery_badge(state: DeliveryState) -> Html {
    let (kind, word) = match state {
        DeliveryState::Pending => ("wait", "Waiting"),
        DeliveryState::Parked => ("bad", "Parked"),
        DeliveryState::Delivered => ("good", "Delivered"),
        DeliveryState::NotWanted => ("", "Not wanted"),
        DeliveryState::Moved => ("", "Moved"),
        DeliveryState::Discarded => ("", "Discarded"),
    };
    badge(kind, word)
}

/// The state of an operation at the processor.
pub(crate) fn operation_badge(state: OpState) -> Html {
    let kind = match state {
        OpState::Approved => "good",
        OpState::Declined | OpState::Abandoned => "bad",
        _ => "wait",
    };
    badge(kind, &words(state.as_str()))
}

/// The state of a refund.
pub(crate) fn refund_badge(state: RefundState) -> Html {
    let kind = match state {
        RefundState::InProgress => "wait",
        RefundState::Failed => "bad",
        _ => "good",
    };
    badge(kind, &words(state.as_str()))
}

/// The state of a contract.
pub(crate) fn contract_badge(state: ContractStateKind) -> Html {
    let kind = match state.as_str() {
        "ACTIVE" => "good",
        "SUSPENDED" => "bad",
        _ => "",
    };
    badge(kind, &words(state.as_str()))
}

/// What screening decided.
pub(crate) fn decision_badge(decision: Decision) -> Html {
    let (kind, words) = match decision {
        Decision::Allow => ("good", "Allowed"),
        Decision::Challenge => ("wait", "Had to authenticate"),
        Decision::Review => ("wait", "For a person to review"),
        Decision::Block => ("bad", "Blocked, the processor was not asked"),
    };
    badge(kind, words)
}

/// A reason of screening, in words.
pub(crate) fn reason(code: &ReasonCode) -> String {
    match code {
        ReasonCode::Factor(factor) => words(factor.as_str()),
        ReasonCode::Velocity(name) => {
            format!(
                "Too many {} by {} in {}",
                lower(name.measure.as_str()),
                lower(name.key.as_str()),
                span(name.window)
            )
        }
        ReasonCode::Rule(name) => format!("Rule {}", name.as_str()),
        ReasonCode::BlockList(kind) => format!("On the block list of {}", lower(kind.as_str())),
        ReasonCode::AllowList(kind) => format!("On the allow list of {}", lower(kind.as_str())),
        other => words(&other.to_string()),
    }
}

fn lower(code: &str) -> String {
    words(code).to_lowercase()
}

fn span(window: VelocityWindow) -> String {
    match window {
        VelocityWindow::Hour => "an hour".to_owned(),
        VelocityWindow::Day => "a day".to_owned(),
        other => lower(other.as_str()),
    }
}

/// A code as words: `CARD_REFUSED` is `Card refused`.
pub(crate) fn words(code: &str) -> String {
    let lower = code.replace('_', " ").to_ascii_lowercase();
    let mut letters = lower.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// Who caused something.
pub(crate) fn actor(actor: &Actor) -> String {
    match actor {
        Actor::Merchant(username) => format!("API user {username}"),
        Actor::Shopper => "the shopper".to_owned(),
        Actor::Operator(name) => format!("operator {name}"),
        Actor::CommandLine(name) => format!("command by {name}"),
        Actor::System => "Dropin".to_owned(),
    }
}

/// Bytes that came from elsewhere, as text.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_their_currencys_decimals() {
        let amount = |currency, minor| money(&Amount::from_minor(currency, minor).unwrap());
        assert_eq!(amount(Currency::Eur, 12_345_678), "123,456.78 EUR");
        assert_eq!(amount(Currency::Jpy, 1_000), "1,000 JPY");
        assert_eq!(amount(Currency::Eur, 5), "0.05 EUR");
        assert_eq!(minor_units(-123_456, Currency::Eur), "-1,234.56 EUR");
        assert_eq!(minor_units(7, Currency::Eur), "0.07 EUR");
        assert_eq!(minor_units(0, Currency::Jpy), "0 JPY");
        assert_eq!(grouped("999"), "999");
    }

    #[test]
    fn instants_are_readable_and_exact() {
        let at = Timestamp::from_micros(1_795_640_705_123_456);
        let shown = instant(at).0;
        assert!(shown.contains(&format!("datetime=\"{at}\"")) && shown.ends_with("</time>"), "{shown}");
    }

    #[test]
    fn an_actor_is_shown_in_words() {
        let shown = [Actor::CommandLine("root".to_owned()), Actor::Operator("ana".to_owned()), Actor::System];
        assert_eq!(shown.map(|one| actor(&one)), ["command by root", "operator ana", "Dropin"]);
    }

    #[test]
    fn reasons_of_screening_are_words() {
        let shown = |code: &str| reason(&code.parse().unwrap());
        assert_eq!(shown("NEW_SHOPPER"), "New shopper");
        assert_eq!(shown("DEVICE_CARDS_HOUR"), "Too many cards by device in an hour");
        assert_eq!(shown("SESSION_TRIES_TEN_MINUTES"), "Too many tries by session in ten minutes");
        assert_eq!(shown("RULE_LARGE_ABROAD"), "Rule LARGE_ABROAD");
        assert_eq!(shown("BLOCK_EMAIL_DOMAINS"), "On the block list of email domains");
    }

    #[test]
    fn what_a_badge_says_is_escaped() {
        assert_eq!(badge("", "<b>").0, "<span class=\"badge \">&lt;b&gt;</span>");
        assert_eq!(words("CARD_REFUSED"), "Card refused");
    }
}
