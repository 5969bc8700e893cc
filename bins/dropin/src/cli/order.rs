//! `dropin order …`

use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use dropin_boot::{Failure, SystemClock, SystemIds};
use dropin_kernel::OrderId;
use dropin_order::{Operation, Order, Refund};
use dropin_ports::{Actor, AuditStore, OrderAuditTrail, ScreeningStore, StoredHistoryEntry};
use dropin_risk::Screening;
use dropin_store::Store;
use dropin_usecases::access::KnownMerchants;
use dropin_usecases::payments::{Payments, ReviewError, ReviewOutcome, Timing};
use dropin_usecases::screening::PaymentScreening;
use dropin_validation::Text;
use serde_json::{Map, Value, json};

use super::processor::{self, ProcessorFlags};
use super::{Cli, Output, acting, operations, say};

#[derive(Debug, Subcommand)]
pub(crate) enum OrderCommand {
    /// Show an Order of any merchant with its refunds, operations and life
    Show {
        /// OrderId
        id: OrderId,
        #[command(flatten)]
        output: Output,
    },
    /// Decide about an Order that is held for review
    Review(ReviewOrder),
}

#[derive(Debug, Args)]
pub(crate) struct ReviewOrder {
    /// OrderId
    pub(crate) id: OrderId,
    /// What becomes of it
    #[arg(value_enum)]
    pub(crate) decision: Decision,
    /// Who decides; kept in the Order's history [default: $USER]
    #[arg(long = "as", value_name = "NAME", env = "USER", hide_env = true)]
    pub(crate) operator: Option<String>,
    #[command(flatten)]
    pub(crate) processor: ProcessorFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decision {
    /// It may be captured; what was to be captured already is captured now
    Approve,
    /// Its authorization is voided
    Decline,
}

/// Everything that is kept about one Order.
pub(super) async fn show(store: &Store, id: OrderId, output: Output) -> Result<(), Failure> {
    let file = store.find_audit_trail(id).await?.ok_or_else(|| unknown(id))?;
    let screening = store.find_screening(file.records.order.merchant_id, id).await?;
    let screening = screening.as_ref();
    say(&if output.json { of(&file, screening).to_string() } else { in_words(&file, screening) })
}

fn unknown(id: OrderId) -> Failure {
    format!("there is no Order {id} here; notifications, `GET /v1/session/…` and `dropin op list` name them").into()
}

/// Decides about an Order that is held for review.
pub(super) async fn review(cli: &Cli, store: &Store, wanted: &ReviewOrder) -> Result<(), Failure> {
    let name = wanted.operator.as_deref().filter(|name| !name.trim().is_empty());
    let name = name.ok_or("say who decides with --as NAME: it goes into the Order's history, and USER is not set")?;
    let operator =
        Text::parse("--as", name).map_err(|violation| format!("the name that --as gives {}", violation.message))?;
    let approve = wanted.decision == Decision::Approve;
    let payments = payments(cli, store, &wanted.processor)?;
    let outcome = payments.review(wanted.id, approve, operator.as_str(), &acting(cli)?).await;
    let ReviewOutcome { order, pending } = outcome.map_err(|error| explain(wanted.id, error))?;
    if wanted.output.json {
        let id = order.id.to_string();
        let (state, under_review) = (order.state.as_str(), order.under_review);
        let shown = json!({ "OrderId": id, "State": state, "UnderReview": under_review, "Pending": pending });
        return say(&shown.to_string());
    }
    let decided = if approve { "Approved" } else { "Declined" };
    let state = order.state.as_str();
    say(&match pending {
        false => format!("{decided}. The Order is {state}."),
        true => format!(
            "{decided}. The Order is {state}; the processor has still to do its part, and the settler sees to it."
        ),
    })
}

/// Payments at the processor, for what an operator decides.
pub(super) fn payments(cli: &Cli, store: &Store, processor: &ProcessorFlags) -> Result<Payments, Failure> {
    let catalogue = Arc::new(cli.serve.methods.known()?);
    let processor = Arc::new(processor::open_all(cli, processor, store)?);
    let (store, clock, ids) = (Arc::new(store.clone()), Arc::new(SystemClock), Arc::new(SystemIds));
    let merchants = KnownMerchants::new(store.clone());
    let screening = PaymentScreening::new(store.clone(), store.clone(), merchants, clock.clone());
    let timing = Timing::default();
    Ok(Payments {
        store,
        processor,
        clock,
        ids,
        credentials: None,
        catalogue,
        processors: Arc::default(),
        timing,
        screening,
        authorizations: Arc::default(),
    })
}

fn explain(id: OrderId, error: ReviewError) -> Failure {
    match error {
        ReviewError::NotFound => unknown(id),
        ReviewError::Store(error) => error.into(),
        ReviewError::Changed | ReviewError::Refused(_) | ReviewError::MoneyMoved | ReviewError::NotAcceptable(_) => {
            format!("{error}; `dropin order show {id}` shows what is known of it").into()
        }
    }
}

fn in_words(file: &OrderAuditTrail, screening: Option<&Screening>) -> String {
    let mut lines = about(&file.records.order);
    let ledger = file.records.balances.iter();
    lines.extend(ledger.map(|balance| {
        format!("Ledger        {:<10}  {} minor units {}", balance.account.as_str(), balance.minor, balance.currency)
    }));
    let mut list = |name: &str, of: Vec<String>| {
        if !of.is_empty() {
            lines.push(format!("\n{name}"));
            lines.extend(of.into_iter().map(|line| format!("  {line}")));
        }
    };
    list("Screening", screening.map(screening_lines).unwrap_or_default());
    list("Refunds", file.records.refunds.iter().map(refund_line).collect());
    list("Operations", file.records.operations.iter().map(|placed| operation_line(&placed.operation)).collect());
    list("Life", file.history.iter().map(step_line).collect());
    list("Checkout", file.checkout.iter().map(|checkout| checkout.document.clone()).collect());
    lines.join("\n")
}

fn about(order: &Order) -> Vec<String> {
    let money = |amount: &dropin_money::Amount| format!("{amount} {}", amount.currency());
    let asked = |amount: &dropin_money::Amount| match amount.is_zero() {
        true => String::new(),
        false => format!(", {} asked for", money(amount)),
    };
    let amounts = &order.amounts;
    let mut state = order.state.as_str().to_owned();
    if order.under_review {
        state += ", under review";
    }
    if let Some(cause) = order.voiding {
        state += &format!(", being voided ({})", cause.as_str());
    }
    if order.page.is_some() {
        state += ", the shopper is on a hosted page";
    }
    if order.bank_details.is_some() && !order.state.is_final() {
        state += ", a transfer is awaited";
    }
    if !order.shown {
        state += ", never shown to the merchant";
    }
    let mut lines = vec![
        format!("Order         {}", order.id),
        format!("Merchant      {}", order.merchant_id),
        order
            .session_id
            .map_or_else(|| "Session       none: a checkout".to_owned(), |id| format!("Session       {id}")),
        format!("Reference     {}", order.merchant_reference),
        format!("State         {state}"),
        format!("Method        {}", order.payment_method),
        format!("Total         {}", money(&order.total)),
        format!("Authorized    {}", money(amounts.total_authorized())),
        format!("Captured      {}{}", money(amounts.captured()), asked(amounts.capture_pending())),
        format!("Refunded      {}{}", money(amounts.refunded()), asked(amounts.refund_pending())),
        format!("Created       {}", order.created_at),
        format!("Changed       {}", order.updated_at),
    ];
    if let Some(promised) = &order.capture_promised {
        lines.push(format!("Promised      {} will be captured", money(promised)));
    }
    if let Some(end) = order.expires_at {
        lines.push(format!("Ends          {end}, by itself"));
    }
    lines
}

fn screening_lines(screening: &Screening) -> Vec<String> {
    let decided = format!("{}  score {} of 100", screening.decision(), screening.score());
    let exemption = screening.exemption().map(|exemption| format!("asked for the exemption {exemption}"));
    [decided].into_iter().chain(screening.reasons().iter().map(ToString::to_string)).chain(exemption).collect()
}

fn refund_line(refund: &Refund) -> String {
    let Refund { id, reference, amount, created_at, .. } = refund;
    let (state, currency) = (refund.state.as_str(), amount.currency());
    format!("{id}  {created_at}  {amount} {currency}  {state}  {reference}")
}

fn operation_line(operation: &Operation) -> String {
    let Operation { id, kind, amount, state, tries, created_at, due_at, .. } = operation;
    let due = if state.is_open() { format!("  {tries} tries, due {due_at}") } else { String::new() };
    let (kind, currency, state) = (kind.as_str(), amount.currency(), state.as_str());
    format!("{id}  {created_at}  {kind:<9}  {amount} {currency}  {state}{due}")
}

fn step_line(step: &StoredHistoryEntry) -> String {
    let StoredHistoryEntry { at, what, after, .. } = step;
    let before = step.before.as_deref().filter(|before| !before.is_empty()).map(|before| format!("{before} -> "));
    let who = match &step.actor {
        Actor::Merchant(username) => format!("merchant's user {username}"),
        Actor::Shopper => "shopper".to_owned(),
        Actor::Operator(name) | Actor::CommandLine(name) => format!("operator {name}"),
        Actor::System => "system".to_owned(),
    };
    format!("{at}  {what}  {}{after}  by {who}", before.unwrap_or_default())
}

fn of(file: &OrderAuditTrail, screening: Option<&Screening>) -> Value {
    let mut shown = of_order(&file.records.order);
    if let Some(screening) = screening {
        shown.insert("Screening".to_owned(), of_screening(screening));
    }
    let refunds = file.records.refunds.iter().map(of_refund);
    shown.insert("Refunds".to_owned(), Value::from_iter(refunds));
    let operations = file.records.operations.iter().map(|placed| Value::from(operations::of(&placed.operation)));
    shown.insert("Operations".to_owned(), Value::from_iter(operations));
    let ledger = file.records.balances.iter().map(|balance| {
        json!({ "Account": balance.account.as_str(), "Currency": balance.currency.code(), "MinorUnits": balance.minor })
    });
    shown.insert("Ledger".to_owned(), Value::from_iter(ledger));
    shown.insert("History".to_owned(), Value::from_iter(file.history.iter().map(of_step)));
    if let Some(checkout) = &file.checkout {
        let document =
            serde_json::from_str(&checkout.document).unwrap_or_else(|_no_json| checkout.document.clone().into());
        shown.insert("Checkout".to_owned(), document);
    }
    shown.into()
}

fn of_order(order: &Order) -> Map<String, Value> {
    let amounts = &order.amounts;
    let shown = json!({
        "OrderId": order.id.to_string(),
        "MerchantId": order.merchant_id.to_string(),
        "SessionId": order.session_id.map(|id| id.to_string()),
        "MerchantReference": order.merchant_reference,
        "State": order.state.as_str(),
        "UnderReview": order.under_review,
        "Shown": order.shown,
        "PaymentMethod": order.payment_method,
        "AutoCapture": order.auto_capture,
        "Currency": order.total.currency().code(),
        "TotalAmount": order.total.to_string(),
        "AuthorizedAmount": amounts.total_authorized().to_string(),
        "CapturedAmount": amounts.captured().to_string(),
        "CapturePendingAmount": amounts.capture_pending().to_string(),
        "RefundedAmount": amounts.refunded().to_string(),
        "RefundPendingAmount": amounts.refund_pending().to_string(),
        "CapturePromised": order.capture_promised.as_ref().map(ToString::to_string),
        "Voiding": order.voiding.map(|cause| cause.as_str()),
        "CreatedAt": order.created_at.to_string(),
        "UpdatedAt": order.updated_at.to_string(),
        "ExpiresAt": order.expires_at.map(|end| end.to_string()),
    });
    match shown {
        Value::Object(mut shown) => {
            shown.retain(|_name, value| !value.is_null());
            shown
        }
        _ => Map::new(),
    }
}

fn of_screening(screening: &Screening) -> Value {
    let reasons = screening.reasons().iter();
    let mut shown = json!({
        "Decision": screening.decision().as_str(),
        "Score": screening.score().value(),
        "Reasons": Value::from_iter(reasons.map(|one| json!({ "Code": one.code.to_string(), "Points": one.points }))),
    });
    if let Some(exemption) = screening.exemption() {
        shown["Exemption"] = exemption.as_str().into();
    }
    shown
}

fn of_refund(refund: &Refund) -> Value {
    json!({
        "RefundId": refund.id.to_string(),
        "RefundReference": refund.reference,
        "State": refund.state.as_str(),
        "Amount": refund.amount.to_string(),
        "Currency": refund.amount.currency().code(),
        "CreatedAt": refund.created_at.to_string(),
        "UpdatedAt": refund.updated_at.to_string(),
    })
}

fn of_step(step: &StoredHistoryEntry) -> Value {
    let (kind, name) = match &step.actor {
        Actor::Merchant(username) => ("MERCHANT", Some(username)),
        Actor::Shopper => ("SHOPPER", None),
        Actor::Operator(name) | Actor::CommandLine(name) => ("OPERATOR", Some(name)),
        Actor::System => ("SYSTEM", None),
    };
    let mut shown = Map::new();
    for (member, value) in [
        ("At", Some(step.at.to_string())),
        ("What", Some(step.what.clone())),
        ("Before", step.before.clone().filter(|before| !before.is_empty())),
        ("After", Some(step.after.clone())),
        ("By", Some(kind.to_owned())),
        ("Name", name.cloned()),
    ] {
        if let Some(value) = value {
            shown.insert(member.to_owned(), value.into());
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Cli, Command};
    use super::*;

    const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let cli = Cli::try_parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()))?;
        Ok(cli.command.unwrap())
    }

    #[test]
    fn a_review_names_its_order_and_its_decision() {
        let line = format!("order review {ID} decline --as ada --processor-url http://127.0.0.1:1 --json");
        let Ok(Command::Order(OrderCommand::Review(review))) = parse(&line) else { panic!() };
        assert_eq!((review.decision, review.operator.as_deref()), (Decision::Decline, Some("ada")));
        assert_eq!(review.processor.processor_url.as_deref(), Some("http://127.0.0.1:1"));
        assert!(review.output.json);
        for wrong in [format!("order review {ID}"), format!("order review {ID} maybe"), "order show 1".to_owned()] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
    }
}
