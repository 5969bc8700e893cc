//! The cases of every adapter, against localstripe: a stand-in for Stripe that others wrote.

use std::time::Duration;

use actix_web::rt::System;
use dropin_card::Card;
use dropin_money::Currency;
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{OperationQuery, PaymentMethodData, Processor, ProcessorReply, Registration, StatusReply};
use dropin_processor_contract::{Exceptions, FaultProxy, ProcessorHarness, all_cases};
use dropin_processor_stripe::StripeProcessor;
use dropin_processor_transport::ProcessorConfig;

use crate::at_stand_in::AtStandIn;
use crate::localstripe;
use crate::naming::request;

const EXCEPTIONS: Exceptions<6> = [
    (
        "declines_say_why",
        "localstripe tells no reason of a decline, and declines these numbers only when they are stored",
    ),
    ("a_yes_tells_where_a_card_is_from_and_how_it_is_funded", "to localstripe every card is a French credit card"),
    ("a_challenge_that_is_asked_for_is_shown", "localstripe challenges by the card's number alone"),
    ("a_hosted_page_is_paid", "localstripe has no method without a card that is paid on a page"),
    ("a_hosted_page_is_cancelled", "localstripe has no method without a card that is paid on a page"),
    (
        "a_page_that_is_given_up_can_no_longer_be_paid",
        "localstripe has no method without a card that is paid on a page",
    ),
];

all_cases!(open, except EXCEPTIONS);

async fn start() -> AtStandIn<StripeProcessor> {
    let proxy = FaultProxy::start(localstripe::start().await).await;
    let config = ProcessorConfig::new(&proxy.base(), localstripe::KEY.to_owned(), Duration::from_secs(2)).unwrap();
    AtStandIn { processor: StripeProcessor::start(config).unwrap(), proxy }
}

async fn open() -> Box<dyn ProcessorHarness> {
    Box::new(start().await)
}

/// A card that localstripe declines when it is charged.
const DECLINED_WHEN_CHARGED: &str = "4000000000000341";

#[test]
fn a_charge_that_localstripe_declines_is_declined_and_closed() {
    System::new().block_on(async {
        let stripe = start().await;
        let card = PaymentMethodData::Card(Card::new("Ana", DECLINED_WHEN_CHARGED, "123", "2031", "12"));
        let mut request = request(card, Currency::Eur, 10_00);
        let Registration::Registered(reference) = stripe.processor.register(&request).await else { panic!() };
        request.reference = Some(reference);
        let (key, merchant_id, reference) = (request.key, request.merchant_id, request.reference.clone());
        let declined = ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: false, credential: None };
        assert_eq!(stripe.processor.authorize(request).await, declined);
        let question = OperationQuery { processor: None, key, merchant_id, kind: OpKind::Authorize, reference };
        assert_eq!(stripe.processor.status(question).await, StatusReply::Known(declined));
    });
}

/// For `cargo xtask bench payments --processor stripe`, which ends it, and for who tries docs/GO-LIVE.md.
#[test]
#[ignore = "serves until it is ended"]
fn localstripe_serves_until_it_is_ended() {
    System::new().block_on(async {
        let address = localstripe::start().await.to_string();
        let file = std::env::var_os("LOCALSTRIPE_ADDRESS_FILE").unwrap();
        let next = std::path::Path::new(&file).with_extension("next");
        std::fs::write(&next, address).unwrap();
        std::fs::rename(next, file).unwrap();
        std::future::pending::<()>().await;
    });
}
