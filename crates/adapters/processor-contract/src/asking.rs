//! What is asked, as the use cases ask it: an authorization is registered before it is asked for.

use std::time::{Duration, Instant};

use actix_web::rt::time::sleep;
use dropin_card::Card;
use dropin_contract::{ContractKind, PaymentMark, StoredCredentialUse};
use dropin_kernel::{MerchantId, OpId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_order::{DeclineReason, OpKind, ProcessorReference};
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialApproval, OperationQuery, PaymentMethodData, ProcessorReply,
    RefundRequest, Registration, StatusReply, StoredCredentialPayment, VoidRequest, Waiting,
};
use uuid::Uuid;

use crate::harness::{Choice, ProcessorHarness, ProcessorStep};
use crate::proxy::ProxyFault;

/// Authorized and captured.
pub(crate) const PLAIN: &str = "4242424242424242";
/// Its shopper authenticates at every payment.
pub(crate) const ALWAYS_ASKS: &str = "4000002760003184";
/// Its shopper authenticates.
pub(crate) const CHALLENGED: &str = "4000000000003220";

pub(crate) fn eur(minor: i64) -> Amount {
    Amount::from_minor(Currency::Eur, minor).unwrap()
}

pub(crate) fn key() -> OpId {
    OpId::new(Uuid::new_v4())
}

pub(crate) fn card(number: &str) -> PaymentMethodData {
    PaymentMethodData::Card(Card::new("Ana", number, "123", "2031", "12"))
}

/// An authorization of this much, whose shopper can be sent to a page.
pub(crate) fn request(method_data: PaymentMethodData, amount: Amount) -> AuthorizeRequest {
    AuthorizeRequest {
        processor: None,
        key: key(),
        merchant_id: MerchantId::new(Uuid::new_v4()),
        reference: None,
        order_id: OrderId::new(Uuid::new_v4()),
        amount,
        method_data,
        scheme: None,
        store: None,
        merchant_reference: "order-1".to_owned(),
        payment_method: "VISA".to_owned(),
        payment_reference: None,
        return_url: Some("https://shop.example/back".to_owned()),
        country: Some("NL".to_owned()),
        postcode: None,
        challenge: false,
        exemption: None,
    }
}

/// An authorization that was asked for, by its names.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) key: OpId,
    pub(crate) merchant_id: MerchantId,
    pub(crate) reference: Option<ProcessorReference>,
}

/// Has it written down at the processor, where that names such things itself.
pub(crate) async fn register(harness: &dyn ProcessorHarness, request: &mut AuthorizeRequest) -> Asked {
    request.reference = match harness.processor().register(request).await {
        Registration::Unneeded => None,
        Registration::Registered(reference) => Some(reference),
        other => panic!("{other:?}"),
    };
    Asked { key: request.key, merchant_id: request.merchant_id, reference: request.reference.clone() }
}

pub(crate) async fn authorize(
    harness: &dyn ProcessorHarness,
    mut request: AuthorizeRequest,
) -> (Asked, ProcessorReply) {
    let asked = register(harness, &mut request).await;
    let reply = harness.processor().authorize(request).await;
    (asked, reply)
}

/// A card's authorization that was approved.
pub(crate) async fn authorized(harness: &dyn ProcessorHarness, minor: i64) -> Asked {
    let (asked, reply) = authorize(harness, request(card(PLAIN), eur(minor))).await;
    assert_eq!(approved(&reply), Some((eur(minor), false)), "{reply:?}");
    asked
}

/// The same, captured whole.
pub(crate) async fn captured(harness: &dyn ProcessorHarness, minor: i64) -> Asked {
    let asked = authorized(harness, minor).await;
    let reply = harness.processor().capture(asked.capture(minor)).await;
    assert_eq!(approved(&reply).map(|(amount, _)| amount), Some(eur(minor)), "{reply:?}");
    asked
}

/// Begins an authorization that sends the shopper to a page, and gives the page.
pub(crate) async fn on_page(harness: &dyn ProcessorHarness, request: AuthorizeRequest) -> (Asked, String) {
    let (asked, reply) = authorize(harness, request).await;
    let ProcessorReply::Pending(Waiting::Shopper { page, .. }) = reply else { panic!("{reply:?}") };
    (asked, page)
}

impl Asked {
    pub(crate) fn query(&self) -> OperationQuery {
        self.query_of(self.key, OpKind::Authorize)
    }

    pub(crate) fn query_of(&self, key: OpId, kind: OpKind) -> OperationQuery {
        OperationQuery { processor: None, key, merchant_id: self.merchant_id, kind, reference: self.reference.clone() }
    }

    pub(crate) fn capture(&self, minor: i64) -> CaptureRequest {
        let Self { key: authorization, merchant_id, reference } = self.clone();
        CaptureRequest { processor: None, key: key(), merchant_id, authorization, reference, amount: eur(minor) }
    }

    pub(crate) fn void(&self) -> VoidRequest {
        let Self { key: authorization, merchant_id, reference } = self.clone();
        VoidRequest { processor: None, key: key(), merchant_id, authorization, reference }
    }

    pub(crate) fn refund(&self, minor: i64) -> RefundRequest {
        let Self { key: authorization, merchant_id, reference } = self.clone();
        RefundRequest { processor: None, key: key(), merchant_id, authorization, reference, amount: eur(minor) }
    }

    /// What became of it, once it waits for the shopper no longer.
    pub(crate) async fn outcome(&self, harness: &dyn ProcessorHarness) -> ProcessorReply {
        let begun = Instant::now();
        loop {
            match harness.processor().status(self.query()).await {
                StatusReply::Known(ProcessorReply::Pending(_)) => {}
                StatusReply::Known(reply) => return reply,
                other => panic!("{other:?}"),
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "still pending");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// How much a yes is about, and whether the money is taken already.
pub(crate) fn approved(reply: &ProcessorReply) -> Option<(Amount, bool)> {
    match reply {
        ProcessorReply::Approved { amount, captured, under_review: false, .. } => {
            amount.map(|amount| (amount, *captured))
        }
        _ => None,
    }
}

pub(crate) fn is_approved(reply: &ProcessorReply) -> bool {
    matches!(reply, ProcessorReply::Approved { .. })
}

pub(crate) fn is_unknown(reply: &ProcessorReply) -> bool {
    matches!(reply, ProcessorReply::Unknown { .. })
}

/// Why it was refused.
pub(crate) fn declined(reply: &ProcessorReply) -> Option<DeclineReason> {
    match reply {
        ProcessorReply::Declined { reason, .. } => Some(*reason),
        _ => None,
    }
}

/// What is known of it.
pub(crate) fn known(status: StatusReply) -> ProcessorReply {
    match status {
        StatusReply::Known(reply) => reply,
        other => panic!("{other:?}"),
    }
}

/// Does this to the next request by which `step` is done.
pub(crate) fn fault(harness: &dyn ProcessorHarness, step: ProcessorStep, fault: ProxyFault) {
    harness.proxy().fault(harness.lines(step), fault);
}

/// What there is to know of a stored card.
pub(crate) fn stored(reply: ProcessorReply) -> CredentialApproval {
    match reply {
        ProcessorReply::Approved { credential: Some(credential), .. } => *credential,
        other => panic!("{other:?}"),
    }
}

/// Stores a card for this much, on its page where it has one; what it was asked as, and what is known of the card.
pub(crate) async fn store(
    harness: &dyn ProcessorHarness,
    number: &str,
    kind: ContractKind,
    minor: i64,
) -> (Asked, CredentialApproval) {
    let opening = AuthorizeRequest { store: Some(kind), ..request(card(number), eur(minor)) };
    let (asked, reply) = authorize(harness, opening).await;
    let reply = match reply {
        ProcessorReply::Pending(Waiting::Shopper { page, .. }) => {
            harness.press(&page, Choice::Pay).await;
            asked.outcome(harness).await
        }
        reply => reply,
    };
    (asked, stored(reply))
}

/// A payment of 9.90 by the merchant with what was stored.
pub(crate) fn charge(
    opening: &Asked,
    card: &CredentialApproval,
    credential_use: StoredCredentialUse,
) -> AuthorizeRequest {
    let network_transaction_id = card.network_transaction_id.clone();
    let mark = PaymentMark { credential_use, network_transaction_id };
    let payment = StoredCredentialPayment::new(card.stored.clone().unwrap(), mark);
    let method_data = PaymentMethodData::StoredCredential(Box::new(payment));
    AuthorizeRequest { merchant_id: opening.merchant_id, return_url: None, ..request(method_data, eur(9_90)) }
}
