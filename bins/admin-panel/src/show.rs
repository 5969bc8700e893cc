//! How values are shown: instants, amounts, states. What these make is markup of ours around escaped text.

use std::fmt::Write as _;

use askama::filters::{Escaper as _, Safe};
use dropin_contract::ContractStateKind;
use dropin_kernel::Timestamp;
use dropin_money::{Amount, Currency};
use dropin_order::{DisputeState, OpState, Order, OrderState, RefundState};
use dropin_ports::{Actor, DeliveryState};
use dropin_risk::{Decision, ReasonCode};
use dropin_session::SessionStateKind;

use crate::escape::Visible;
use crate::texts::texts;

/// Markup.
pub(crate) type Html = Safe<String>;

/// A text as a part of markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Writing to a String cannot fail.
    let _ = Visible.write_escaped_str(&mut out, text);
    out
}

/// An instant to the second, as people read it; in UTC.
pub(crate) fn instant_text(at: Timestamp) -> String {
    let at = at.to_offset_date_time();
    let month = texts().months[usize::from(u8::from(at.month())) - 1];
    let time = format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second());
    texts().instant(at.day(), month, at.year(), time)
}

/// An instant, with the exact one behind it. Each page says once that instants are in UTC.
pub(crate) fn instant(at: Timestamp) -> Html {
    Safe(format!("<time datetime=\"{at}\" title=\"{at}\">{}</time>", instant_text(at)))
}

/// The same, or a dash.
pub(crate) fn instant_or_dash(at: Option<Timestamp>) -> Html {
    at.map_or_else(|| Safe("–".to_owned()), instant)
}

/// A number with its thousands apart. The point before decimals is that of the API and of what is typed, in every language.
pub(crate) fn grouped(number: &str) -> String {
    grouped_by(number, texts().thousands)
}

/// The same with what stands between thousands.
pub(crate) fn grouped_by(number: &str, between: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at != 0 && (whole.len() - at).is_multiple_of(3) {
            text += between;
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
pub(crate) fn order_state(state: OrderState) -> (&'static str, &'static str) {
    let t = texts();
    match state {
        OrderState::Processing => ("wait", t.badge_processing),
        OrderState::PaymentAuthorized => ("wait", t.authorized),
        OrderState::Processed => ("good", t.badge_processed),
        OrderState::ProcessingFailed => ("bad", t.failed),
        OrderState::Cancelled => ("", t.badge_cancelled),
        OrderState::Declined => ("bad", t.badge_declined),
        OrderState::CommitAccepted => ("wait", t.badge_commit_accepted),
    }
}

/// An Order's state, with what holds or changes it.
pub(crate) fn order_badges(order: &Order) -> Html {
    let t = texts();
    let (kind, word) = order_state(order.state);
    let mut html = badge(kind, word).0;
    let mut add = |kind: &str, word: &str| {
        let _ = write!(html, " {}", badge(kind, word).0);
    };
    if order.under_review {
        add("wait", t.badge_under_review);
    }
    if order.voiding.is_some() {
        add("wait", t.badge_being_voided);
    }
    let (refunded, captured) = (order.amounts.refunded(), order.amounts.captured());
    if !order.amounts.refund_pending().is_zero() {
        add("wait", t.badge_refund_pending);
    }
    if !refunded.is_zero() {
        add("", if refunded == captured { t.refunded } else { t.badge_partly_refunded });
    }
    Safe(html)
}

/// A Session's state.
pub(crate) fn session_badge(state: SessionStateKind) -> Html {
    let kind = match state {
        SessionStateKind::Created | SessionStateKind::Cancelled => "",
        SessionStateKind::Processing | SessionStateKind::Redirected => "wait",
        SessionStateKind::Completed => "good",
        SessionStateKind::Failed => "bad",
    };
    badge(kind, &words(state.as_str()))
}

/// The state of a notification at an endpoint.
pub(crate) fn delivery_badge(state: DeliveryState) -> Html {
    let kind = match state {
        DeliveryState::Pending => return badge("wait", texts().badge_waiting),
        DeliveryState::Parked => "bad",
        DeliveryState::Delivered => "good",
        DeliveryState::NotWanted | DeliveryState::Moved | DeliveryState::Discarded => "",
    };
    badge(kind, &words(state.as_str()))
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

/// The state of a dispute.
pub(crate) fn dispute_badge(state: DisputeState) -> Html {
    let kind = match state {
        DisputeState::NeedsResponse | DisputeState::UnderReview => "wait",
        DisputeState::Won => "good",
        DisputeState::Lost | DisputeState::Accepted => "bad",
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
    let t = texts();
    let (kind, words) = match decision {
        Decision::Allow => ("good", t.decision_allow),
        Decision::Challenge => ("wait", t.decision_challenge),
        Decision::Review => ("wait", t.decision_review),
        Decision::Block => ("bad", t.decision_block),
    };
    badge(kind, words)
}

/// A reason of screening, in words.
pub(crate) fn reason(code: &ReasonCode) -> String {
    let t = texts();
    match code {
        ReasonCode::Factor(factor) => words(factor.as_str()),
        ReasonCode::Velocity(name) => {
            t.too_many(t.part(name.measure.as_str()), t.part(name.key.as_str()), t.part(name.window.as_str()))
        }
        ReasonCode::Rule(name) => t.rule_named(name.as_str()),
        ReasonCode::BlockList(kind) => t.on_block_list(t.part(kind.as_str())),
        ReasonCode::AllowList(kind) => t.on_allow_list(t.part(kind.as_str())),
        other => words(&other.to_string()),
    }
}

/// A code as words: `CARD_REFUSED` is `Card refused`.
pub(crate) fn words(code: &str) -> String {
    texts().code(code)
}

/// Who caused something.
pub(crate) fn actor(actor: &Actor) -> String {
    match actor {
        Actor::Merchant(username) => texts().api_user_named(username),
        Actor::Shopper => texts().the_shopper.to_owned(),
        Actor::Operator(name) => texts().operator_named(name),
        Actor::CommandLine(name) => texts().command_by(name),
        Actor::System => "Dropin".to_owned(),
    }
}

/// A text of ours in which backticks mark what is typed into a terminal or a program.
pub(crate) fn marked(text: impl AsRef<str>) -> Html {
    let mut html = String::new();
    for (place, piece) in text.as_ref().split('`').enumerate() {
        let piece = escaped(piece);
        html += &if place.is_multiple_of(2) { piece } else { format!("<code>{piece}</code>") };
    }
    Safe(html)
}

/// A text of ours in which brackets mark what leads to `path`.
pub(crate) fn linked(text: &str, path: impl AsRef<str>) -> Html {
    let (before, rest) = text.split_once('[').unwrap_or((text, ""));
    let (link, after) = rest.split_once(']').unwrap_or((rest, ""));
    let [before, path, link, after] = [before, path.as_ref(), link, after].map(escaped);
    Safe(format!("{before}<a href=\"{path}\">{link}</a>{after}"))
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
    fn what_is_marked_in_a_text_is_code_or_a_link() {
        assert_eq!(marked("Run `dropin <x>`.").0, "Run <code>dropin &lt;x&gt;</code>.");
        assert_eq!(linked("Or [look \"there\"].", "/a?b&c").0, "Or <a href=\"/a?b&amp;c\">look &#34;there&#34;</a>.");
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
