//! A key that Stripe does not accept.

use actix_web::rt::System;
use dropin_money::Currency;
use dropin_ports::{Processor, ProcessorReply, Registration};
use dropin_processor_transport::KeyVerdict;

use crate::contract::start;
use crate::naming::{card, request};
use crate::stand_in::KEY;

#[test]
fn a_key_that_is_refused_is_told_apart_and_spoils_no_payment() {
    System::new().block_on(async {
        let stripe = start("sk_test_revoked").await;
        assert_eq!(stripe.processor.check_key().await, KeyVerdict::Refused);
        let mut request = request(card(), Currency::Eur, 10_00);
        let registration = stripe.processor.register(&request).await;
        assert!(matches!(registration, Registration::NotRegistered { .. }), "{registration:?}");
        // It was revoked between the two steps: nothing was confirmed.
        request.reference = Some("pi_1".parse().unwrap());
        assert_eq!(stripe.processor.authorize(request).await, ProcessorReply::NotSent);
        assert_eq!(start(KEY).await.processor.check_key().await, KeyVerdict::Accepted);
    });
}
