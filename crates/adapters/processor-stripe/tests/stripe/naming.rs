//! What is asked of Stripe, in which order, and what is not asked at all.

use actix_web::rt::System;
use dropin_card::{Card, Wallet, WalletToken};
use dropin_kernel::{MerchantId, OpId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_order::OpKind;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, OperationQuery, PaymentMethodData, Processor, ProcessorReply, Registration,
    StatusReply,
};
use uuid::Uuid;

use crate::contract::{Stripe, start};
use crate::stand_in::KEY;

pub(crate) fn request(method_data: PaymentMethodData, currency: Currency, minor: i64) -> AuthorizeRequest {
    AuthorizeRequest {
        processor: None,
        key: OpId::new(Uuid::new_v4()),
        merchant_id: MerchantId::new(Uuid::new_v4()),
        reference: None,
        order_id: OrderId::new(Uuid::new_v4()),
        amount: Amount::from_minor(currency, minor).unwrap(),
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

pub(crate) fn card() -> PaymentMethodData {
    PaymentMethodData::Card(Card::new("Ana", "4242424242424242", "123", "2031", "12"))
}

fn asked(stripe: &Stripe) -> Vec<String> {
    let shorten = |line: String| line.trim_end_matches(" HTTP/1.1").to_owned();
    stripe.proxy.requests().into_iter().map(shorten).collect()
}

#[test]
fn an_intent_is_created_before_a_card_is_sent_and_confirmed_last() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        let mut request = request(card(), Currency::Eur, 10_00);
        let Registration::Registered(reference) = stripe.processor.register(&request).await else { panic!() };
        assert_eq!(asked(&stripe), ["POST /v1/payment_intents"]);
        let confirm = format!("POST /v1/payment_intents/{reference}/confirm");
        request.reference = Some(reference);
        assert!(matches!(stripe.processor.authorize(request).await, ProcessorReply::Approved { .. }));
        assert_eq!(asked(&stripe), ["POST /v1/payment_intents", "POST /v1/payment_methods", &confirm]);
    });
}

#[test]
fn without_a_name_that_was_kept_nothing_is_asked() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        let request = request(card(), Currency::Eur, 10_00);
        let (key, merchant_id) = (request.key, request.merchant_id);
        assert_eq!(stripe.processor.authorize(request).await, ProcessorReply::NotSent);
        let question = |reference: Option<&str>| OperationQuery {
            processor: None,
            key,
            merchant_id,
            kind: OpKind::Authorize,
            reference: reference.map(|text| text.parse().unwrap()),
        };
        assert_eq!(stripe.processor.status(question(None)).await, StatusReply::Absent);
        assert_eq!(stripe.processor.abandon(question(None)).await, StatusReply::Known(ProcessorReply::Abandoned));
        // A name of another processor's leads nowhere.
        let foreign = stripe.processor.status(question(Some("../balance"))).await;
        assert!(matches!(foreign, StatusReply::Unreachable { .. }), "{foreign:?}");
        let capture = CaptureRequest {
            processor: None,
            key,
            merchant_id,
            authorization: key,
            reference: None,
            amount: Amount::from_minor(Currency::Eur, 1).unwrap(),
        };
        assert!(matches!(stripe.processor.capture(capture).await, ProcessorReply::Unknown { .. }));
        assert_eq!(asked(&stripe), [""; 0]);
        // One that was committed and is not there is a fault, and no proof that nothing was done.
        let missing = stripe.processor.status(question(Some("pi_missing"))).await;
        assert!(matches!(missing, StatusReply::Unreachable { .. }), "{missing:?}");
    });
}

#[test]
fn what_stripe_cannot_be_asked_is_refused_here() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        let token = WalletToken::new(Wallet::ApplePay, "{}");
        for request in [
            request(card(), Currency::Kwd, 12_345),
            request(card(), Currency::Usd, 100_000_000),
            request(PaymentMethodData::WalletToken(token), Currency::Eur, 1_00),
            request(PaymentMethodData::Method("BANKTRANSFER".to_owned()), Currency::Eur, 1_00),
        ] {
            let registration = stripe.processor.register(&request).await;
            assert!(matches!(registration, Registration::Declined { retryable: false, .. }), "{registration:?}");
        }
        assert_eq!(asked(&stripe), [""; 0]);
    });
}
