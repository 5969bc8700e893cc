//! What follows an authorization, and what became of things.

use dropin_kernel::OpId;
use dropin_order::{DeclineReason, OpKind, ProcessorReference};
use dropin_ports::{
    CaptureRequest, CredentialDeletion, DeleteCredentialRequest, OperationQuery, ProcessorReply, RefundRequest,
    StatusReply, VoidRequest, Waiting,
};

use crate::amount::to_units;
use crate::asking::{Asking, Said};
use crate::names::{CAPTURE, CancellationReason, OPERATION, is_id};
use crate::object::{Intent, PaymentMethod, Refund, RefundList};
use crate::outcome::{Known, declined, is_refund, of_authorization, of_capture, of_refund, of_void, refused, unknown};
use crate::reference::{IntentKind, IntentReference};

/// Why nothing can be asked about an operation.
const NAMELESS: &str = "its authorization has no intent of Stripe's: was it made at another processor?";
/// Most refunds that a page of theirs has.
const PAGE_SIZE: usize = 100;
/// Most pages of one intent's refunds that are looked through.
const MAX_PAGES: usize = 20;

/// The intent that an operation is about.
fn intent_of(reference: Option<&ProcessorReference>) -> Option<IntentReference> {
    reference.and_then(IntentReference::of)
}

/// Reads an intent; why not, for the log. One that is missing is a fault of ours: its name was committed.
pub(crate) async fn read_intent(
    asking: &Asking<'_>,
    intent: &IntentReference,
    read: impl FnOnce(&Intent) -> Known,
) -> Result<Known, String> {
    match asking.get::<Intent>(&intent.path()).await {
        Said::Object(found) if found.id == intent.id() => Ok(read(&found)),
        Said::Object(_other) => Err("the answer is about another intent".to_owned()),
        said => Err(said.why()),
    }
}

/// Cancels an intent; it may be asked again, so it has no key.
pub(crate) async fn cancel(asking: &Asking<'_>, intent: &IntentReference, reason: CancellationReason) -> Said<Intent> {
    let fields = [("cancellation_reason", reason.as_str()), ("expand[0]", intent.kind.expanded())];
    asking.post(&intent.act("cancel"), None, &fields).await
}

/// Reads what became of an authorization. One that was declined is closed before anybody hears so: until then its page's address could confirm it anew.
async fn read_authorization(asking: &Asking<'_>, intent: &IntentReference, key: OpId) -> Result<Known, String> {
    let mut is_alive = false;
    let read = |found: &Intent| {
        is_alive = found.status == "requires_payment_method";
        of_authorization(found, key)
    };
    match read_intent(asking, intent, read).await? {
        Known::Reply(reply @ ProcessorReply::Declined { .. }) if is_alive => close(asking, intent, key, reply).await,
        known => Ok(known),
    }
}

/// Cancels an intent that was declined; `reply` stands for what became of it, unless it was paid meanwhile.
pub(crate) async fn close(
    asking: &Asking<'_>,
    intent: &IntentReference,
    key: OpId,
    reply: ProcessorReply,
) -> Result<Known, String> {
    match cancel(asking, intent, CancellationReason::Abandoned).await {
        Said::Object(found) if found.status == "canceled" => Ok(reply.into()),
        Said::Object(_other) => Err("it is not cancelled".to_owned()),
        Said::Refused { status: 400, .. } => {
            match read_intent(asking, intent, |found| of_authorization(found, key)).await? {
                // Cancelled before.
                Known::Reply(ProcessorReply::Declined { .. } | ProcessorReply::Abandoned) => Ok(reply.into()),
                known => Ok(known),
            }
        }
        said => Err(said.why()),
    }
}

/// A capture that cannot be as it was asked for; another one can.
fn declined_for_now() -> ProcessorReply {
    ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: true, credential: None }
}

fn reply(known: Known) -> ProcessorReply {
    match known {
        Known::Reply(reply) => reply,
        Known::Nothing => unknown("asked for, and nothing came of it"),
        Known::Senseless(why) => unknown(why),
    }
}

fn status_reply(known: Result<Known, String>) -> StatusReply {
    match known {
        Ok(Known::Reply(reply)) => StatusReply::Known(reply),
        Ok(Known::Nothing) => StatusReply::Absent,
        Ok(Known::Senseless(why)) => StatusReply::Unreachable { why: why.to_owned() },
        Err(why) => StatusReply::Unreachable { why },
    }
}

pub(crate) async fn capture(asking: &Asking<'_>, request: &CaptureRequest) -> ProcessorReply {
    let Some(intent) = intent_of(request.reference.as_ref()) else { return unknown(NAMELESS) };
    let Some(units) = to_units(&request.amount).filter(|_| intent.kind == IntentKind::Payment) else {
        return declined_for_now();
    };
    let (key, units) = (request.key.to_string(), units.to_string());
    let metadata = format!("metadata[{CAPTURE}]");
    let fields = [("amount_to_capture", units.as_str()), (metadata.as_str(), key.as_str())];
    let read = |intent: &Intent| of_capture(intent, request.authorization, request.key);
    match asking.post::<Intent>(&intent.act("capture"), Some(&format!("{key}-capture")), &fields).await {
        Said::Object(found) => reply(read(&found)),
        Said::Refused { error, .. } if error.is_of_type("card_error") => refused(&error, false),
        Said::Refused { status: 400, .. } => match read_intent(asking, &intent, read).await {
            // The same capture before this one is the answer; else it is refused for what it asks for, and the money is reserved still.
            Ok(Known::Nothing) => declined_for_now(),
            Ok(known) => reply(known),
            Err(why) => unknown(why),
        },
        Said::NotSent(_why) => ProcessorReply::NotSent,
        said => unknown(said.why()),
    }
}

pub(crate) async fn void(asking: &Asking<'_>, request: &VoidRequest) -> ProcessorReply {
    let Some(intent) = intent_of(request.reference.as_ref()) else { return unknown(NAMELESS) };
    let read = |intent: &Intent| of_void(intent, request.authorization);
    match cancel(asking, &intent, CancellationReason::Voided).await {
        Said::Object(found) => reply(read(&found)),
        Said::Refused { status: 400, .. } => match read_intent(asking, &intent, read).await {
            Ok(known) => reply(known),
            Err(why) => unknown(why),
        },
        Said::NotSent(_why) => ProcessorReply::NotSent,
        said => unknown(said.why()),
    }
}

pub(crate) async fn refund(asking: &Asking<'_>, request: &RefundRequest) -> ProcessorReply {
    let Some(intent) = intent_of(request.reference.as_ref()) else { return unknown(NAMELESS) };
    let Some(units) = to_units(&request.amount).filter(|_| intent.kind == IntentKind::Payment) else {
        return declined(DeclineReason::Generic);
    };
    let (key, units) = (request.key.to_string(), units.to_string());
    let metadata = format!("metadata[{OPERATION}]");
    let fields = [("payment_intent", intent.id()), ("amount", units.as_str()), (metadata.as_str(), key.as_str())];
    match asking.post::<Refund>("/v1/refunds", Some(&format!("{key}-refund")), &fields).await {
        Said::Object(made) => reply(of_refund(&made, intent.id(), request.key)),
        Said::Refused { status: 400 | 402, error } => match find_refund(asking, &intent, request.key).await {
            Ok(Known::Nothing) => refused(&error, false),
            Ok(known) => reply(known),
            Err(why) => unknown(why),
        },
        Said::NotSent(_why) => ProcessorReply::NotSent,
        said => unknown(said.why()),
    }
}

/// Looks through the refunds of an intent for the one under this key.
async fn find_refund(asking: &Asking<'_>, intent: &IntentReference, key: OpId) -> Result<Known, String> {
    let mut after = String::new();
    for _ in 0..MAX_PAGES {
        let path = format!("/v1/refunds?payment_intent={}&limit={PAGE_SIZE}{after}", intent.id());
        let page = match asking.get_page::<RefundList>(&path).await {
            Said::Object(page) => page,
            said => return Err(said.why()),
        };
        if let Some(found) = page.data.iter().find(|refund| is_refund(refund, key)) {
            return Ok(of_refund(found, intent.id(), key));
        }
        let last = page.data.last().map(|refund| refund.id.as_str());
        match last.filter(|_| page.has_more) {
            None => return Ok(Known::Nothing),
            Some(last) if is_id(last) => {
                after = format!("&starting_after={last}");
            }
            Some(_) => return Err("a refund has a name that makes no sense".to_owned()),
        }
    }
    Err("there are more refunds of one payment than are looked through".to_owned())
}

pub(crate) async fn status(asking: &Asking<'_>, question: &OperationQuery) -> StatusReply {
    let OperationQuery { key, kind, reference, .. } = question;
    let Some(intent) = intent_of(reference.as_ref()) else {
        return match (kind, reference) {
            // Nothing is confirmed whose name was not committed.
            (OpKind::Authorize, None) => StatusReply::Absent,
            _ => status_reply(Ok(Known::Senseless(NAMELESS))),
        };
    };
    match kind {
        OpKind::Authorize => status_reply(read_authorization(asking, &intent, *key).await),
        OpKind::Refund => status_reply(find_refund(asking, &intent, *key).await),
        OpKind::Capture | OpKind::Void => {
            let known = read_intent(asking, &intent, |found| {
                let Some(authorization) = found.metadata.get(OPERATION).and_then(|text| text.parse().ok()) else {
                    return Known::Senseless("the intent is none of ours");
                };
                match kind {
                    OpKind::Capture => of_capture(found, authorization, *key),
                    _ => of_void(found, authorization),
                }
            });
            status_reply(known.await)
        }
    }
}

pub(crate) async fn abandon(asking: &Asking<'_>, question: &OperationQuery) -> StatusReply {
    let Some(intent) = intent_of(question.reference.as_ref()) else {
        return match question.reference {
            // Nothing was confirmed, and nobody will: its name was not committed while it could be.
            None => StatusReply::Known(ProcessorReply::Abandoned),
            Some(_) => status_reply(Ok(Known::Senseless(NAMELESS))),
        };
    };
    let read = |found: &Intent| of_authorization(found, question.key);
    let known = read_authorization(asking, &intent, question.key).await;
    let can_be_paid =
        matches!(&known, Ok(Known::Nothing | Known::Reply(ProcessorReply::Pending(Waiting::Shopper { .. }))));
    if !can_be_paid {
        return status_reply(known);
    }
    match cancel(asking, &intent, CancellationReason::Abandoned).await {
        Said::Object(found) => status_reply(Ok(read(&found))),
        // It was paid, cancelled or begun in this moment.
        Said::Refused { status: 400, .. } => match read_intent(asking, &intent, read).await {
            Ok(Known::Nothing) => StatusReply::Unreachable { why: "Stripe refuses to cancel it for now".to_owned() },
            known => status_reply(known),
        },
        said => StatusReply::Unreachable { why: said.why() },
    }
}

pub(crate) async fn delete_credential(asking: &Asking<'_>, request: &DeleteCredentialRequest) -> CredentialDeletion {
    let unknown = |why: String| CredentialDeletion::Unknown { why };
    let method = request.credential.expose().split_once('/').map(|(_customer, method)| method);
    let Some(method) = method.filter(|method| is_id(method)) else {
        return unknown("it is none of Stripe's".to_owned());
    };
    let path = format!("/v1/payment_methods/{method}");
    match asking.post::<PaymentMethod>(&format!("{path}/detach"), None, &[]).await {
        Said::Object(_detached) => CredentialDeletion::Gone,
        // Detached before, which cannot be taken back; one that was never there is none of this account.
        Said::Refused { .. } => match asking.get::<PaymentMethod>(&path).await {
            Said::Object(method) if method.customer.is_none() => CredentialDeletion::Gone,
            said => unknown(said.why()),
        },
        Said::NotSent(_why) => CredentialDeletion::NotSent,
        Said::Unclear(why) => unknown(why),
    }
}
