//! Sessions that are priced by a rate offer (docs/SPECIFICATION.md#session-rate).

use std::time::Duration;

use dropin_kernel::{AttemptId, RateOfferId, SessionId};
use dropin_money::{Amount, Currency};
use dropin_order::OpKind;
use dropin_ports::{ProcessorReply, SessionStore, Waiting};
use dropin_session::{SaleRate, SaleRateParts, SessionStateKind};
use dropin_store_contract::{fresh, insertable_with};
use dropin_usecases::payments::{ReturnDestination, Submit, SubmitError, Submitted};
use dropin_wire::shopper::SubmitMeans;

use super::script::{approved, declined};
use super::world::{World, usd};

const HOUR: Duration = Duration::from_secs(3_600);

/// A Session of 29.90 USD at 1.5 dollars for a pound, guaranteed for another hour.
async fn priced(world: &World) -> SessionId {
    let parts = SaleRateParts {
        offer_id: RateOfferId::new(fresh()),
        rate: "GBP/USD 1.5".parse().unwrap(),
        settlement: Amount::from_minor(Currency::Gbp, 1_993).unwrap(),
        expires_at: world.now().plus(HOUR),
    };
    let rate = SaleRate::restore(parts).unwrap();
    let new = insertable_with(world.caller.merchant.id, |terms| terms.rate = Some(rate));
    let id = new.session.id;
    world.store.insert_session(new).await.unwrap();
    id
}

async fn submit(world: &World, id: SessionId) -> Result<Submitted, SubmitError> {
    let version = world.store.find_session_for_shopper(id).await.unwrap().unwrap().session.revision;
    let means = SubmitMeans::Method("PAYPAL".to_owned());
    let submit = Submit {
        version,
        attempt: AttemptId::new(fresh()),
        means,
        fingerprint: "browser".to_owned(),
        consent: None,
        postcode: None,
    };
    world.shopper.submit(id, submit).await
}

fn page() -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None })
}

#[tokio::test]
async fn nobody_pays_at_a_rate_that_is_not_guaranteed_any_more() {
    let world = World::new().await;
    let id = priced(&world).await;
    world.advance(HOUR);
    assert_eq!(submit(&world, id).await.map(drop), Err(SubmitError::RateExpired));
    let session = world.store.find_session_for_shopper(id).await.unwrap().unwrap();
    assert_eq!((session.session.state.kind(), session.order), (SessionStateKind::Created, None), "to be priced anew");
}

#[tokio::test]
async fn an_attempt_that_was_begun_in_time_holds_to_its_last_refund() {
    let world = World::new().await;
    let id = priced(&world).await;
    world.script.say(OpKind::Authorize, page());
    world.advance(HOUR - Duration::from_micros(1));
    submit(&world, id).await.unwrap();
    world.advance(HOUR / 60);
    world.script.know(approved(&usd(2_990)));
    let order = world.store.find_session_for_shopper(id).await.unwrap().unwrap().order.unwrap().id;
    let back = world.shopper.return_shopper(order, Duration::ZERO).await.unwrap();
    assert_eq!(back, ReturnDestination::To(format!("https://shop.example/paid?session={id}")));
    world.capture(order, None).await.unwrap();
    assert_eq!(world.state(order).await, "PROCESSED");
    world.refund(order, "first", Some("10.00")).await.unwrap();
    world.script.say(OpKind::Refund, declined(false));
    world.refund(order, "failed", Some("5.00")).await.unwrap();
    world.refund(order, "rest", None).await.unwrap();
    let pence = |refund: &dropin_order::Refund| refund.settlement.as_ref().map(Amount::minor);
    let all = world.refunds(order).await;
    // 6.67 for ten dollars; fifteen would have been ten pounds; all of it is 19.93.
    assert_eq!(all.iter().map(pence).collect::<Vec<_>>(), [Some(667), Some(333), Some(1_326)]);
}
