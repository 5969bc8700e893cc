//! `dropin ledger import`

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use dropin_boot::Failure;
use dropin_kernel::{MerchantId, OpId, ProcessorId, Timestamp};
use dropin_order::Order;
use dropin_ports::RecordSpan;
use dropin_store::Store;
use dropin_usecases::payments::{ImportRefused, MissingName, MissingNames, MissingRecord, Payments, RecordImport};
use dropin_validation::Text;
use serde_json::{Value, json};

use super::notification::moment;
use super::processor::ProcessorFlags;
use super::{Cli, Output, acting, ledger, order, say};

#[derive(Debug, Args)]
pub(crate) struct ImportRecords {
    /// The processor, by its name
    #[arg(long, value_name = "NAME")]
    pub(crate) of: ProcessorId,
    /// What was created there from this moment on, for example 2026-11-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) from: Timestamp,
    /// What was created there before this moment
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) until: Timestamp,
    /// Only the Order of this operation, as `dropin ledger verify` names it
    #[arg(long, value_name = "ID")]
    pub(crate) operation: Option<OpId>,
    /// The merchant, where the processor's list does not say whose it is
    #[arg(long, value_name = "ID", requires = "operation")]
    pub(crate) merchant: Option<MerchantId>,
    /// The merchant's reference, where the processor's list does not say it, or says one that is taken here
    #[arg(long, value_name = "REFERENCE", requires = "operation")]
    pub(crate) reference: Option<String>,
    /// The payment method, where the processor's list does not say it, for example VISA
    #[arg(long, value_name = "METHOD", requires = "operation")]
    pub(crate) method: Option<String>,
    /// Take it up
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) processor: ProcessorFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What became of something that is missing.
enum Outcome {
    /// It was only listed.
    Listed,
    /// It is here now, in this Order.
    TakenUp(Box<Order>),
    /// It is not, and why.
    Refused(String),
}

/// Takes up what a processor has and is not here, or tells what that is.
pub(super) async fn import(cli: &Cli, store: &Store, wanted: &ImportRecords) -> Result<ExitCode, Failure> {
    let payments = order::payments(cli, store, &wanted.processor)?;
    let names = names(&payments, wanted)?;
    let (records, _is_main) = ledger::lists(cli, store, &wanted.processor, &wanted.of).await?;
    let (audit, access) = (Arc::new(store.clone()), Arc::new(store.clone()));
    let import = RecordImport { payments, audit, access, records, processor: wanted.of.clone() };
    let mut missing = import.find_missing(RecordSpan { from: wanted.from, until: wanted.until }).await?;
    if let Some(operation) = wanted.operation {
        let named = missing.iter().find(|one| one.operation == operation || one.record.operation == Some(operation));
        let of = named.map(|one| one.record.order).ok_or_else(|| {
            format!(
                "{} has nothing under the key {operation} in that span that is not here; `dropin ledger verify --of {0}` names what is missing",
                wanted.of
            )
        })?;
        missing.retain(|one| one.operation == operation || (of.is_some() && one.record.order == of));
    }
    let by = acting(cli)?;
    let mut all = Vec::with_capacity(missing.len());
    for one in missing {
        let outcome = match wanted.yes {
            false => Outcome::Listed,
            true => match import.take_up(&one, &names, &by).await {
                Ok(order) => Outcome::TakenUp(Box::new(order)),
                Err(refused) => Outcome::Refused(advise(&refused)),
            },
        };
        all.push((one, outcome));
    }
    let left = all.iter().filter(|(_, outcome)| !matches!(outcome, Outcome::TakenUp(_))).count();
    let shown = match wanted.output.json {
        true => Value::from_iter(all.iter().map(|(one, outcome)| of_missing(one, outcome))).to_string(),
        false => in_words(&all, wanted.yes),
    };
    say(&shown)?;
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::from(ledger::DIFFERS) })
}

fn names(payments: &Payments, wanted: &ImportRecords) -> Result<MissingNames, Failure> {
    let ImportRecords { merchant, reference, method, .. } = wanted;
    let reference = reference.as_deref().map(|reference| Text::parse("--reference", reference)).transpose();
    let reference = reference.map_err(|violation| format!("--reference {}", violation.message))?;
    if let Some(unknown) = method.as_ref().filter(|method| payments.catalogue.method(method).is_none()) {
        return Err(format!("there is no payment method {unknown} in the catalogue").into());
    }
    Ok(MissingNames { merchant: *merchant, reference: reference.map(Text::into_string), method: method.clone() })
}

fn advise(refused: &ImportRefused) -> String {
    let advice = match refused {
        ImportRefused::Unnamed(name) => {
            let option = match name {
                MissingName::Merchant => "--merchant",
                MissingName::Reference => "--reference",
                MissingName::Method => "--method",
            };
            format!("name it with --operation and {option}")
        }
        ImportRefused::Undecided => {
            "run this again when it has; until then nobody may ask for the same again under another key".to_owned()
        }
        ImportRefused::NoOrder | ImportRefused::NothingHeld | ImportRefused::NotItsOrder(_) => "see what it is at the processor".to_owned(),
        ImportRefused::ReferenceTaken(_) => {
            "`dropin order show` or the merchant's Sessions tell by what. Cancel a Session that waits under it, so that nobody pays twice, then take this up with --operation under another --reference".to_owned()
        }
        ImportRefused::CaptureFollows => {
            "take the capture up first; where it is of another amount, run this again once the services run and say that it was captured under another key: then the Order waits for `dropin order review`"
                .to_owned()
        }
        ImportRefused::UnderReview => "decide it with `dropin order review`, then run this again".to_owned(),
        ImportRefused::WrongState(_) | ImportRefused::Exceeds(_) | ImportRefused::RefundTaken(_) => {
            "compare `dropin order show` with the processor's books".to_owned()
        }
        ImportRefused::NoMerchant(_) | ImportRefused::OrderMissing(_) => return refused.to_string(),
        ImportRefused::Unanswered(_) | ImportRefused::InFlight | ImportRefused::Store(_) => "try again".to_owned(),
    };
    format!("{refused}: {advice}")
}

fn in_words(all: &[(MissingRecord, Outcome)], is_done: bool) -> String {
    let mut lines: Vec<_> = all.iter().map(|(one, outcome)| line(one, outcome)).collect();
    let taken = all.iter().filter(|(_, outcome)| matches!(outcome, Outcome::TakenUp(_))).count();
    lines.push(match (all.len(), is_done) {
        (0, _) => "Nothing is missing here.".to_owned(),
        (missing, false) => format!("{missing} missing here. --yes takes them up."),
        (missing, true) => format!("{taken} of {missing} taken up."),
    });
    lines.join("\n")
}

fn line(one: &MissingRecord, outcome: &Outcome) -> String {
    let record = &one.record;
    let amount = record.money.amount().map(|amount| format!("  {amount} {}", amount.currency())).unwrap_or_default();
    let order = record.order.map(|order| format!("  order {order}")).unwrap_or_default();
    let merchant = record.merchant.map(|merchant| format!("  merchant {merchant}")).unwrap_or_default();
    // The processor's list has what anybody may have written there.
    let named = record.merchant_reference.as_ref().map(|named| format!("  reference {}", named.escape_debug()));
    let named = named.unwrap_or_default();
    let (kind, operation, reference) = (one.kind.as_str(), one.operation, record.reference.escape_debug());
    let became = match outcome {
        Outcome::Listed => String::new(),
        Outcome::TakenUp(order) => format!("  taken up: {}", order.state.as_str()),
        Outcome::Refused(why) => format!("  NOT taken up: {why}"),
    };
    format!("{kind:<9}{amount}{order}  operation {operation}  ({reference}){merchant}{named}{became}")
}

fn of_missing(one: &MissingRecord, outcome: &Outcome) -> Value {
    let record = &one.record;
    let (state, message, became) = match outcome {
        Outcome::Listed => (None, None, "MISSING"),
        Outcome::TakenUp(order) => (Some(order.state.as_str()), None, "TAKEN_UP"),
        Outcome::Refused(why) => (None, Some(why), "REFUSED"),
    };
    let amount = record.money.amount();
    let mut shown = json!({
        "Kind": one.kind.as_str(),
        "OperationId": one.operation.to_string(),
        "OrderId": record.order.map(|id| id.to_string()),
        "MerchantId": record.merchant.map(|id| id.to_string()),
        "MerchantReference": record.merchant_reference,
        "PaymentMethod": record.payment_method,
        "Amount": amount.map(ToString::to_string),
        "Currency": amount.map(|amount| amount.currency().code()),
        "ProcessorReference": record.reference,
        "CreatedAt": record.created_at.to_string(),
        "Outcome": became,
        "State": state,
        "Message": message,
    });
    if let Value::Object(members) = &mut shown {
        members.retain(|_name, value| !value.is_null());
    }
    shown
}
