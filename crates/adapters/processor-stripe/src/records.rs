//! Stripe's lists of PaymentIntents and refunds (docs.stripe.com/api/pagination), by the time of their creation.

use std::collections::BTreeMap;
use std::str::FromStr;

use dropin_kernel::Timestamp;
use dropin_ports::{
    ProcessorRecord, ProcessorRecordPage, ProcessorRecordsUnavailable, RecordList, RecordSpan, RecordedMoney,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::amount::from_units;
use crate::asking::{Asking, Said};
use crate::names::{CAPTURE, MERCHANT, METHOD, OPERATION, ORDER, REFERENCE, is_id};
use crate::object::Expandable;

/// Entries of one page.
const PAGE_SIZE: usize = 100;

type Metadata = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Page<T> {
    data: Vec<T>,
    has_more: bool,
}

#[derive(Deserialize)]
struct Payment {
    id: String,
    created: i64,
    status: String,
    amount: i64,
    amount_received: Option<i64>,
    currency: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Refund {
    id: String,
    created: i64,
    status: Option<String>,
    amount: i64,
    currency: String,
    #[serde(default)]
    metadata: Metadata,
    payment_intent: Option<Expandable<RefundedIntent>>,
}

#[derive(Deserialize)]
struct RefundedIntent {
    #[serde(default)]
    metadata: Metadata,
}

/// What both lists are made of.
trait Entry: DeserializeOwned {
    /// Where the list is, and what it shows in full.
    const LIST: &'static str;

    fn id(&self) -> &str;

    /// `Ok(None)` for what is none of ours.
    fn record(&self) -> Result<Option<ProcessorRecord>, ProcessorRecordsUnavailable>;
}

fn unavailable(why: impl Into<String>) -> ProcessorRecordsUnavailable {
    ProcessorRecordsUnavailable(why.into())
}

fn named<T: FromStr>(metadata: &Metadata, name: &str) -> Option<T> {
    metadata.get(name)?.parse().ok()
}

/// A record; the audit must not compare guesses, so that an amount that makes no sense ends it.
fn record(
    (id, created): (&str, i64),
    operation: &Metadata,
    payment: &Metadata,
    money: Option<RecordedMoney>,
) -> Result<ProcessorRecord, ProcessorRecordsUnavailable> {
    let senseless = || unavailable(format!("{id} makes no sense"));
    Ok(ProcessorRecord {
        reference: Some(id).filter(|id| is_id(id)).ok_or_else(senseless)?.to_owned(),
        created_at: created.checked_mul(1_000_000).map(Timestamp::from_micros).ok_or_else(senseless)?,
        operation: named(operation, OPERATION),
        order: named(payment, ORDER),
        merchant: named(payment, MERCHANT),
        merchant_reference: payment.get(REFERENCE).cloned(),
        payment_method: payment.get(METHOD).cloned(),
        capture: named(payment, CAPTURE),
        money: money.ok_or_else(senseless)?,
    })
}

impl Entry for Payment {
    const LIST: &'static str = "/v1/payment_intents?";

    fn id(&self) -> &str {
        &self.id
    }

    fn record(&self) -> Result<Option<ProcessorRecord>, ProcessorRecordsUnavailable> {
        if !self.metadata.contains_key(OPERATION) {
            return Ok(None);
        }
        let money = match self.status.as_str() {
            "requires_capture" => from_units(&self.currency, self.amount).map(RecordedMoney::Reserved),
            "succeeded" => {
                self.amount_received.and_then(|units| from_units(&self.currency, units)).map(RecordedMoney::Captured)
            }
            "processing" => Some(RecordedMoney::Open),
            "requires_payment_method" | "requires_confirmation" | "requires_action" | "canceled" => {
                Some(RecordedMoney::None)
            }
            _ => None,
        };
        record((&self.id, self.created), &self.metadata, &self.metadata, money).map(Some)
    }
}

impl Entry for Refund {
    const LIST: &'static str = "/v1/refunds?expand[0]=data.payment_intent&";

    fn id(&self) -> &str {
        &self.id
    }

    fn record(&self) -> Result<Option<ProcessorRecord>, ProcessorRecordsUnavailable> {
        let payment = self.payment_intent.as_ref().and_then(Expandable::object);
        let Some(payment) = payment.filter(|payment| payment.metadata.contains_key(OPERATION)) else { return Ok(None) };
        let money = match self.status.as_deref() {
            Some("succeeded") => from_units(&self.currency, self.amount).map(RecordedMoney::Refunded),
            Some("pending" | "requires_action") => Some(RecordedMoney::Open),
            Some("failed" | "canceled") => Some(RecordedMoney::None),
            _ => None,
        };
        record((&self.id, self.created), &self.metadata, &payment.metadata, money).map(Some)
    }
}

/// Reads a page.
pub(crate) async fn list(
    asking: &Asking<'_>,
    list: RecordList,
    span: RecordSpan,
    next: Option<&str>,
) -> Result<ProcessorRecordPage, ProcessorRecordsUnavailable> {
    match list {
        RecordList::Payments => page::<Payment>(asking, span, next).await,
        RecordList::Refunds => page::<Refund>(asking, span, next).await,
    }
}

async fn page<T: Entry>(
    asking: &Asking<'_>,
    span: RecordSpan,
    next: Option<&str>,
) -> Result<ProcessorRecordPage, ProcessorRecordsUnavailable> {
    let (from, until) = (span.from.unix_seconds(), span.until.unix_seconds());
    let place = match next {
        Some(id) if is_id(id) => format!("&starting_after={id}"),
        Some(_foreign) => return Err(unavailable("the place in the list is none of Stripe's")),
        None => String::new(),
    };
    let path = format!("{}created[gte]={from}&created[lt]={until}&limit={PAGE_SIZE}{place}", T::LIST);
    let page = match asking.get_page::<Page<T>>(&path).await {
        Said::Object(page) if page.data.len() <= PAGE_SIZE => page,
        Said::Object(_longer) => return Err(unavailable("the answer is another page than the one asked for")),
        said => return Err(unavailable(said.why())),
    };
    let last = page.data.last().map(|entry| entry.id().to_owned());
    let records = page.data.iter().filter_map(|entry| entry.record().transpose()).collect::<Result<_, _>>()?;
    Ok(ProcessorRecordPage { records, next: last.filter(|_| page.has_more) })
}
