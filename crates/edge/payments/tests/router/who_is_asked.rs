//! What is asked of whom, and what is said of a processor that is gone.

use actix_web::rt::System;
use dropin_boot::ProcessorKind;
use dropin_card::Card;
use dropin_contract::ContractKind;
use dropin_kernel::{MerchantId, OpId, OrderId, ProcessorId};
use dropin_money::{Amount, Currency};
use dropin_order::{OpKind, ProcessorReference};
use dropin_payments::ProcessorRouter;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, MetricSource, OperationQuery,
    PaymentMethodData, Processor, ProcessorReply, Readiness, RefundRequest, Registration, StatusReply,
    StoredCredential, VoidRequest,
};
use uuid::Uuid;

use crate::contract::named;
use crate::stand_in::{KEY, StandIn};

fn merchant() -> MerchantId {
    MerchantId::new(Uuid::from_u128(1))
}

fn id(text: &str) -> Option<ProcessorId> {
    text.parse().ok()
}

pub(crate) fn amount() -> Amount {
    Amount::from_minor(Currency::Eur, 9_90).unwrap()
}

/// The main processor is nowhere, `acquirer` is a stand-in, and `closed` is one that refuses our key.
async fn router() -> ProcessorRouter {
    let url = format!("http://{}", StandIn::start().await);
    let main = named("sandbox", ProcessorKind::Sandbox, "http://127.0.0.1:1", "a key");
    let acquirer = named("acquirer", ProcessorKind::Stripe, &url, KEY);
    let closed = named("closed", ProcessorKind::Stripe, &url, "sk_test_revoked");
    ProcessorRouter::new(main, vec![acquirer, closed])
}

fn card() -> PaymentMethodData {
    PaymentMethodData::Card(Card::new("Ana", "4242424242424242", "123", "2031", "12"))
}

/// An authorization at the processor of this name.
fn authorization(processor: &str, merchant_id: MerchantId) -> AuthorizeRequest {
    AuthorizeRequest {
        key: OpId::new(Uuid::new_v4()),
        processor: id(processor),
        merchant_id,
        reference: None,
        order_id: OrderId::new(Uuid::new_v4()),
        amount: amount(),
        method_data: card(),
        scheme: None,
        store: None,
        merchant_reference: "order-1".to_owned(),
        payment_method: "VISA".to_owned(),
        payment_reference: None,
        return_url: None,
        country: None,
        postcode: None,
        challenge: false,
        exemption: None,
    }
}

/// Asks for it; its key, the processor's own name for it, and the reply.
async fn asked(router: &ProcessorRouter, mut request: AuthorizeRequest) -> (OpId, ProcessorReference, ProcessorReply) {
    let Registration::Registered(reference) = router.register(&request).await else { panic!("it was not registered") };
    request.reference = Some(reference.clone());
    (request.key, reference, router.authorize(request).await)
}

/// An approved payment at the processor of this name: its key, and the processor's own name for it.
pub(crate) async fn authorized(
    router: &ProcessorRouter,
    processor: &str,
    merchant: MerchantId,
) -> (OpId, ProcessorReference) {
    let (key, reference, reply) = asked(router, authorization(processor, merchant)).await;
    assert!(matches!(reply, ProcessorReply::Approved { .. }), "{reply:?}");
    (key, reference)
}

/// Stores a card at the processor of this name; what it is charged by from now on.
async fn store(router: &ProcessorRouter, processor: &str) -> StoredCredential {
    let store = Some(ContractKind::Recurring);
    match asked(router, AuthorizeRequest { store, ..authorization(processor, merchant()) }).await.2 {
        ProcessorReply::Approved { credential: Some(approval), .. } => approval.stored.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stored_card_is_charged_and_deleted_where_it_is() {
    System::new().block_on(async {
        let router = router().await;
        let stored = store(&router, "acquirer").await;
        assert!(stored.expose().starts_with("acquirer:cus_"), "{}", stored.expose());
        let (holder, known) = router.holder(stored.clone());
        assert_eq!((holder, known.expose()), (id("acquirer"), stored.expose().strip_prefix("acquirer:").unwrap()));
        // One of the time when there was no other processor.
        let (holder, known) = router.holder("crd_1".parse().unwrap());
        assert_eq!((holder, known.expose()), (id("sandbox"), "crd_1"));
        let delete = async |credential: &StoredCredential| {
            let credential = credential.clone();
            let key = OpId::new(Uuid::new_v4());
            router.delete_credential(DeleteCredentialRequest { key, merchant_id: merchant(), credential }).await
        };
        assert_eq!(delete(&stored).await, CredentialDeletion::Gone);
        assert_eq!(delete(&known).await, CredentialDeletion::NotSent, "the main processor is asked, which is nowhere");
        let gone = delete(&"gone:cus_1/pm_1".parse().unwrap()).await;
        assert!(matches!(&gone, CredentialDeletion::Unknown { why } if why.contains("no processor gone")), "{gone:?}");
    });
}

/// A colon is part of what a processor gives, unless another processor's name stands before it.
#[test]
fn a_card_of_the_only_processor_is_its_own_whatever_it_looks_like() {
    let main = named("sandbox", ProcessorKind::Sandbox, "http://127.0.0.1:1", "a key");
    let alone = ProcessorRouter::new(main, Vec::new());
    for given in ["crd_1", "tok:abc", "acquirer:cus_1/pm_1"] {
        let (holder, known) = alone.holder(given.parse().unwrap());
        assert_eq!((holder, known.expose()), (id("sandbox"), given));
    }
}

#[test]
fn each_is_as_ready_as_it_is() {
    System::new().block_on(async {
        let router = router().await;
        for (name, readiness) in [
            ("acquirer", Readiness::Ready),
            ("closed", Readiness::Unusable),
            ("gone", Readiness::Unusable),
            ("sandbox", Readiness::Ready),
        ] {
            assert_eq!(router.readiness(id(name).as_ref()).await, readiness, "{name}");
        }
        assert_eq!(router.readiness(None).await, Readiness::Ready, "nobody answers, and no call is held back yet");
    });
}

#[test]
fn what_a_processor_that_is_gone_did_is_unknown_and_not_undone_elsewhere() {
    System::new().block_on(async {
        let router = router().await;
        let (key, authorization, merchant_id, processor) =
            (OpId::new(Uuid::new_v4()), OpId::new(Uuid::new_v4()), merchant(), id("gone"));
        let amount = amount();
        let reference = "pi_1".parse().ok();
        let capture = CaptureRequest { key, processor, merchant_id, authorization, reference, amount };
        let CaptureRequest { processor, reference, .. } = capture.clone();
        let void = VoidRequest { key, processor, merchant_id, authorization, reference };
        let VoidRequest { processor, reference, .. } = void.clone();
        let refund = RefundRequest { key, processor, merchant_id, authorization, reference, amount };
        for reply in [router.capture(capture).await, router.void(void).await, router.refund(refund).await] {
            assert!(matches!(&reply, ProcessorReply::Unknown { why } if why.contains("--processors")), "{reply:?}");
        }
        let question =
            OperationQuery { key, processor: id("gone"), merchant_id, kind: OpKind::Authorize, reference: None };
        for reply in [router.status(question.clone()).await, router.abandon(question).await] {
            assert!(matches!(&reply, StatusReply::Unreachable { .. }), "{reply:?}");
        }
    });
}

#[test]
fn metrics_tell_the_processors_apart() {
    System::new().block_on(async {
        let metrics = router().await.collect_metrics().await.unwrap();
        let breaker: Vec<_> = metrics.iter().filter(|metric| metric.name == "dropin_processor_breaker").collect();
        let [breaker] = &breaker[..] else { panic!("{breaker:?}") };
        let closed = breaker.samples().iter().filter(|sample| sample.labels[0].1 == "closed" && sample.value == 1);
        let names: Vec<_> = closed.map(|sample| sample.labels[1].clone()).collect();
        assert_eq!(
            names,
            [("processor", "sandbox".into()), ("processor", "acquirer".into()), ("processor", "closed".into())]
        );
    });
}
