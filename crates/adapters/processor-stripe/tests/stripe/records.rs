//! The stand-in's lists of payments and refunds, as the audit reads them.

use std::time::{Duration, SystemTime};

use actix_web::rt::System;
use dropin_card::Card;
use dropin_kernel::{OpId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, PaymentMethodData, Processor, ProcessorRecord, ProcessorRecords, ProcessorReply,
    RecordList, RecordSpan, RecordedMoney, RefundRequest, Registration, VoidRequest,
};
use uuid::Uuid;

use crate::contract::{Stripe, start};
use crate::naming::request;
use crate::stand_in::KEY;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn eur(minor: i64) -> Amount {
    Amount::from_minor(Currency::Eur, minor).unwrap()
}

fn key() -> OpId {
    OpId::new(Uuid::new_v4())
}

impl Stripe {
    async fn reserve(&self, number: &str) -> AuthorizeRequest {
        let card = PaymentMethodData::Card(Card::new("Ana", number, "123", "2031", "12"));
        let mut request = request(card, Currency::Eur, 10_00);
        let Registration::Registered(reference) = self.processor.register(&request).await else { panic!() };
        request.reference = Some(reference);
        let asked = copy(&request);
        assert!(matches!(self.processor.authorize(request).await, ProcessorReply::Approved { .. }));
        asked
    }

    async fn capture(&self, of: &AuthorizeRequest, minor: i64) -> OpId {
        let AuthorizeRequest { merchant_id, key: authorization, .. } = *of;
        let (reference, amount, capture) = (of.reference.clone(), eur(minor), key());
        let asked = CaptureRequest { processor: None, key: capture, merchant_id, authorization, reference, amount };
        assert!(matches!(self.processor.capture(asked).await, ProcessorReply::Approved { .. }));
        capture
    }

    async fn refund(&self, of: &AuthorizeRequest, minor: i64) -> OpId {
        let AuthorizeRequest { merchant_id, key: authorization, .. } = *of;
        let (reference, amount, refund) = (of.reference.clone(), eur(minor), key());
        let asked = RefundRequest { processor: None, key: refund, merchant_id, authorization, reference, amount };
        assert!(matches!(self.processor.refund(asked).await, ProcessorReply::Approved { .. }));
        refund
    }

    /// All of a list, and in how many pages.
    async fn all_of(&self, list: RecordList, span: RecordSpan) -> (Vec<ProcessorRecord>, usize) {
        let (mut all, mut pages, mut next) = (Vec::new(), 0, None);
        loop {
            let page = self.processor.list_records(list, span, next.as_deref()).await.unwrap();
            all.extend(page.records);
            pages += 1;
            next = page.next;
            if next.is_none() {
                return (all, pages);
            }
        }
    }
}

/// The same request without its card.
fn copy(request: &AuthorizeRequest) -> AuthorizeRequest {
    AuthorizeRequest {
        processor: None,
        key: request.key,
        merchant_id: request.merchant_id,
        reference: request.reference.clone(),
        order_id: request.order_id,
        amount: request.amount,
        method_data: PaymentMethodData::Method("IDEAL".to_owned()),
        scheme: None,
        store: None,
        merchant_reference: request.merchant_reference.clone(),
        payment_method: request.payment_method.clone(),
        payment_reference: None,
        return_url: None,
        country: None,
        postcode: None,
        challenge: false,
        exemption: None,
    }
}

#[test]
fn lists_of_the_stand_in_tell_what_each_payment_and_refund_came_to() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        let visa = "4242424242424242";
        let (reserved, captured, voided) =
            (stripe.reserve(visa).await, stripe.reserve("4000000000005126").await, stripe.reserve(visa).await);
        let capture = stripe.capture(&captured, 7_50).await;
        let AuthorizeRequest { merchant_id, key: authorization, .. } = voided;
        let reference = voided.reference.clone();
        let void = VoidRequest { processor: None, key: key(), merchant_id, authorization, reference };
        assert!(matches!(stripe.processor.void(void).await, ProcessorReply::Approved { .. }));
        let failed = stripe.refund(&captured, 2_50).await;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let now = Timestamp::from_micros(i64::try_from(now.as_micros()).unwrap());
        let span = RecordSpan { from: now.minus(HOUR), until: now.plus(HOUR) };
        let (payments, pages) = stripe.all_of(RecordList::Payments, span).await;
        assert_eq!(pages, 2, "the stand-in's pages have two entries");
        let told: Vec<_> =
            payments.iter().map(|record| (record.operation, record.order, record.money.clone())).collect();
        let expected = [
            (&voided, RecordedMoney::None),
            (&captured, RecordedMoney::Captured(eur(7_50))),
            (&reserved, RecordedMoney::Reserved(eur(10_00))),
        ];
        assert_eq!(told, expected.map(|(asked, money)| (Some(asked.key), Some(asked.order_id), money)));
        assert_eq!(payments[0].merchant, Some(merchant_id));
        let names = |record: &ProcessorRecord| (record.merchant_reference.clone(), record.payment_method.clone());
        assert!(payments.iter().all(|one| names(one) == (Some("order-1".to_owned()), Some("VISA".to_owned()))));
        let captures: Vec<_> = payments.iter().map(|record| record.capture).collect();
        assert_eq!(captures, [None, Some(capture), None]);
        assert_eq!(Some(payments[0].reference.as_str()), voided.reference.as_ref().map(|reference| reference.as_str()));
        let (refunds, _) = stripe.all_of(RecordList::Refunds, span).await;
        let told: Vec<_> =
            refunds.iter().map(|record| (record.operation, record.order, record.money.clone())).collect();
        assert_eq!(told, [(Some(failed), Some(captured.order_id), RecordedMoney::None)], "it failed afterwards");
        let before = RecordSpan { from: span.from, until: now.minus(HOUR / 2) };
        assert_eq!(stripe.all_of(RecordList::Payments, before).await.0, []);
        let foreign = stripe.processor.list_records(RecordList::Refunds, span, Some("re_1&limit=1")).await;
        assert!(foreign.is_err(), "{foreign:?}");
    });
}
